// Facts about the quality of a correct result: figures, milestones with the iterations they took,
// and curves over iterations. A suite computes them when it verifies; they are recorded with the
// verification.
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
    Nanos time{};  // the median sample's time times their share of all iterations
    bool operator==(const Milestone&) const = default;
  };
  struct Curve {
    std::string name;                   // "loss"
    std::vector<std::uint32_t> rounds;  // iterations done at the value of the same index
    std::vector<double> values;
    bool operator==(const Curve&) const = default;
  };
  // Reasons why a correct result is probably not what the user wanted; copied to the warnings of
  // the run.
  std::vector<std::string> warnings;
  std::vector<Figure> figures;
  std::vector<Milestone> milestones;
  std::vector<Curve> curves;
  bool empty() const { return figures.empty() && milestones.empty() && curves.empty(); }
  bool operator==(const Findings&) const = default;
};

}  // namespace mgpu
