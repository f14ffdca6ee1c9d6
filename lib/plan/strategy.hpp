// Strategy: turns a PlanRequest into a SliceSource. The table of all strategies is written by CMake
// from the files in lib/plan/strategies, so that a missing one is a link error.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Result of an earlier sample of the same case, for strategies that learn between samples. A
// History has the oldest sample first.
struct SampleShare {
  std::vector<Items> items;  // by device
  std::vector<Nanos> busy;   // by device
  Nanos makespan{};
  std::vector<Items> first = {};  // SliceSource::first_shares; empty: none
};
using History = std::vector<SampleShare>;

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Begins a sample. The same request and history always give a source with the same answers.
  // Throws Error(unsupported) if the work cannot be placed at all (no device can take even one
  // granule).
  virtual std::unique_ptr<SliceSource> begin(const PlanRequest& request,
                                             const History& history) const = 0;
};

// Parameter of a strategy: a number, `-s dynamic:chunks=32`, or one of several names, `-s
// guided:variant=factoring`.
struct StrategyParam {
  std::string name;
  double standard = 0, min = 0, max = 0;  // default value and valid range, both ends included
  std::string help;
  bool whole = false;  // only whole numbers are valid
  // Names, if it has any: the value is a position in this list, and is written as its name.
  std::vector<std::string> choices = {};
  std::string text(double value) const;
};
// Makes a parameter that is one of these names; the first is the default.
StrategyParam named_param(std::string name, std::vector<std::string> choices, std::string help);
// Complete: every parameter of the strategy has a value.
using StrategyParams = std::map<std::string, double>;

// Properties of a strategy that other code needs. Code that looks for a trait finds every strategy
// that has it, whatever its name.
struct StrategyTraits {
  bool fixed_shares = false;  // shares are known at begin(); devices are only handed them in pieces
  // Everything goes to the device that is fastest alone: the base of every speed-up. Exactly one
  // strategy has this trait.
  bool single_device = false;
  // The split of a program without this tool: others are compared with it, and noise is measured
  // with it. Exactly one strategy has this trait.
  bool equal_shares = false;
  bool by_rate = false;  // shares follow measured rates; of a chain of stages, those of chain.hpp
  bool learns = false;   // shares follow earlier samples of the case
  // `auto` also tries it on other numbers of devices than the closed forms would use.
  bool any_count = false;
  // It simulates other strategies to choose one, and is given the network between nodes as it is,
  // not the bandwidth that it leaves a device.
  bool simulates = false;
  // Returns the seconds from begin to end in closed form. Needed only if seconds_of_shares does not
  // apply, because the strategy sets its own pieces. `rates` are items/s, all known.
  double (*seconds)(const PlanRequest& request, std::span<const double> rates) = nullptr;
};

struct StrategyInfo {
  std::string name, summary;
  std::vector<StrategyParam> params;
  std::unique_ptr<Strategy> (*make)(const StrategyParams&) = nullptr;
  StrategyTraits traits = {};
};

// Returns every strategy, in the order of `-s all`: single, equal, proportional, dynamic, then by
// name.
std::span<const StrategyInfo> all_strategies();

// A strategy as requested: name and complete parameters.
struct StrategyChoice {
  const StrategyInfo* info = nullptr;
  StrategyParams params;
  // "dynamic", or "dynamic:chunks=32" if a parameter differs from its default.
  std::string label() const;
};

// Returns the one strategy that has this trait, with default parameters.
StrategyChoice strategy_with(bool StrategyTraits::*trait);

// Parses "all", or names separated by commas, each with its parameters after colons:
// "equal,dynamic:chunks=32". Throws Error(usage) naming the unknown name, parameter or value out of
// range, and what is expected. Repeats (same label) are dropped; `repeated` gets the labels that
// were given twice by name.
std::vector<StrategyChoice> parse_strategies(std::string_view text,
                                             std::vector<std::string>* repeated = nullptr);

}  // namespace mgpu
