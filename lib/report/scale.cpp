#include "lib/report/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mgpu {

namespace {

// Returns the decimals that give the smallest value three significant digits, at most four.
int decimals_for(double smallest) {
  if (!(smallest > 0)) return 2;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(smallest))), 0, 4);
}

}  // namespace

std::string Scale::format(double value) const {
  return fmt::format("{:.{}f}", value * factor, decimals);
}

Scale time_scale(double smallest_ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr std::array<Unit, 4> units = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  const auto unit = std::find_if(units.begin(), units.end() - 1,
                                 [&](const Unit& u) { return smallest_ns >= u.ns; });
  return {1 / unit->ns, unit->name, unit->ns == 1 ? 0 : decimals_for(smallest_ns / unit->ns)};
}

Scale energy_scale(double smallest_j) {
  struct Unit {
    double joules;
    const char* name;
  };
  static constexpr std::array<Unit, 5> units = {
      {{1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}, {1e-12, "pJ"}}};
  const auto unit = std::find_if(units.begin(), units.end() - 1,
                                 [&](const Unit& u) { return smallest_j >= u.joules; });
  return {1 / unit->joules, unit->name, decimals_for(smallest_j / unit->joules)};
}

Scale rate_scale(double smallest, double largest) {
  struct Unit {
    double value;
    const char* name;
  };
  static constexpr std::array<Unit, 6> units = {
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
  const auto unit = std::find_if(units.begin(), units.end() - 1,
                                 [&](const Unit& u) { return largest >= u.value; });
  return {1 / unit->value, unit->name, decimals_for(smallest / unit->value)};
}

std::string number_cell(const std::optional<double>& value, int decimals, double factor) {
  return value && std::isfinite(*value) ? fmt::format("{:.{}f}", *value * factor, decimals) : "-";
}

}  // namespace mgpu
