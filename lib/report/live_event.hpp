// Describes what a sample under way did in an interval: a line of `run --json-lines`, and words for
// the progress line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/live_figure.hpp"
#include "lib/base/units.hpp"
#include "lib/plan/mode.hpp"

namespace mgpu {

struct LiveEvent {
  std::string suite;
  Mode mode = Mode::resident;
  std::string strategy;
  std::vector<std::string> devices;  // ids of the sample's devices
  std::uint64_t sample = 0;          // counts from 1; 0: a warm-up
  Nanos elapsed{}, interval{};       // since the sample's begin, and since the event before
  bool ended = false;                // the sample is over
  std::string unit;                  // what is counted: "iterations", or the items of the suite
  std::uint64_t done = 0, total = 0;
  double rate = 0;        // in the interval
  std::string rate_unit;  // "points/s"
  std::vector<double> shares;
  std::optional<double> imbalance_percent;  // none: fewer than two devices computed
  std::vector<LiveFigure> figures;          // of the suite
};

// Returns one line of JSON, with its end.
std::string to_json_line(const LiveEvent& event);
std::string event_schema();

// Returns "iteration 120 of 1000, 3.2 M points/s, shares 0.52 / 0.48, imbalance 1.2 %, loss 0.31".
std::string words_of(const LiveEvent& event);

}  // namespace mgpu
