// A figure of a sample under way.
#pragma once

#include <cstdint>
#include <string>

namespace mgpu {

struct LiveFigure {
  std::string name;  // "loss"
  double value = 0;
  std::uint32_t rounds = 0;  // iterations done at this value
};

}  // namespace mgpu
