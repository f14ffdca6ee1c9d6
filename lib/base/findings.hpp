// What a result is worth beyond being right: figures, what was reached after how many rounds, and
// how a number went from round to round. A suite finds them when it verifies; they are recorded
// with the verification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

struct Findings {
  struct Figure {
    std::string name;  // "relative L2 error"
    double value = 0;
    bool operator==(const Figure&) const = default;
  };
  struct Milestone {
    std::string name;  // "relative L2 error 0.01"
    std::uint32_t rounds = 0;
    Nanos time{};  // the part of the median sample's time that so many of its rounds are
    bool operator==(const Milestone&) const = default;
  };
  struct Curve {
    std::string name;                   // "loss"
    std::vector<std::uint32_t> rounds;  // done when the value of the same place was found
    std::vector<double> values;
    bool operator==(const Curve&) const = default;
  };
  std::vector<std::string> warnings;  // what is right and yet not what anybody wanted; they go to
                                      // the warnings of the run
  std::vector<Figure> figures;
  std::vector<Milestone> milestones;
  std::vector<Curve> curves;
  bool empty() const { return figures.empty() && milestones.empty() && curves.empty(); }
  bool operator==(const Findings&) const = default;
};

}  // namespace mgpu
