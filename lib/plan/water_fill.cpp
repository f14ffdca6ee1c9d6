// Implements water-filling by dropping late starters and filling full ones.
#include "lib/plan/water_fill.hpp"

#include <algorithm>

namespace mgpu {
namespace {

enum class Part : char { open, late, full };

// Returns the common end of the open devices, after dropping all that would start later: each drop
// lowers it, so none comes back. The earliest always stays: if the work is too small to change a
// double, all would be dropped otherwise. `speeds`: items/s of each.
double water_level(double work, std::span<const WaterTerm> terms, std::span<const double> speeds,
                   std::vector<Part>& parts) {
  std::size_t earliest = terms.size();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (parts[i] == Part::full) continue;
    parts[i] = Part::open;
    if (earliest == terms.size() || terms[i].start < terms[earliest].start) earliest = i;
  }
  for (;;) {
    double owed = work, speed = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (parts[i] != Part::open) continue;
      owed += terms[i].start * speeds[i];
      speed += speeds[i];
    }
    const double end = owed / speed;
    bool dropped = false;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i == earliest || parts[i] != Part::open || terms[i].start < end) continue;
      parts[i] = Part::late;
      dropped = true;
    }
    if (!dropped) return end;
  }
}

}  // namespace

WaterLevel water_fill(double work, std::span<const WaterTerm> terms) {
  WaterLevel level{0, std::vector<double>(terms.size(), 0)};
  std::vector<Part> parts(terms.size(), Part::open);
  std::vector<double> speeds(terms.size());  // one division per term, not per iteration
  std::transform(terms.begin(), terms.end(), speeds.begin(),
                 [](const WaterTerm& term) { return 1 / term.per_item; });
  const auto is_full = [](Part part) { return part == Part::full; };
  for (bool again = true; again && work > 0 && !std::all_of(parts.begin(), parts.end(), is_full);) {
    again = false;
    const double end = water_level(work, terms, speeds, parts);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (parts[i] == Part::full) continue;
      const double amount =
          parts[i] == Part::open ? std::max(0.0, (end - terms[i].start) / terms[i].per_item) : 0;
      level.amounts[i] = std::min(amount, terms[i].most);
      if (amount < terms[i].most) continue;
      // The device is full: the level of the others rises, which may bring late starters back.
      parts[i] = Part::full;
      work -= terms[i].most;
      again = true;
    }
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (level.amounts[i] > 0)
      level.end = std::max(level.end, terms[i].start + terms[i].per_item * level.amounts[i]);
  }
  return level;
}

}  // namespace mgpu
