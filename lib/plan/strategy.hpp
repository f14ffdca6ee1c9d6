// Strategy: how a PlanRequest becomes a SliceSource, and the table of all of them (written by CMake
// from the files in lib/plan/strategies, so that one that is missing is a link error).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// What earlier samples of the same case showed, oldest first; strategies that learn between samples
// read it.
struct SampleShare {
  std::vector<Items> items;  // per device
  std::vector<Nanos> busy;   // per device
  Nanos makespan{};
  std::vector<Items> first = {};  // SliceSource::first_shares; empty: none
};
using History = std::vector<SampleShare>;

class Strategy {
 public:
  virtual ~Strategy() = default;
  // The same request and history always give a source that answers alike. Throws Error(unsupported)
  // when the work cannot be placed at all (no device can take even one granule).
  virtual std::unique_ptr<SliceSource> begin(const PlanRequest& request,
                                             const History& history) const = 0;
};

// What a strategy can be tuned by: a number, `-s dynamic:chunks=32`, or one of several names, `-s
// guided:variant=factoring`.
struct StrategyParam {
  std::string name;
  double standard = 0, min = 0, max = 0;  // default value and accepted range, both ends included
  std::string help;
  bool whole = false;  // only whole numbers make sense
  std::vector<std::string> choices =
      {};  // names, if it has any: the value is a position in this list, and is written as its name
  std::string text(double value) const;
};
// A parameter that is one of these names; the first is the default.
StrategyParam named_param(std::string name, std::vector<std::string> choices, std::string help);
using StrategyParams =
    std::map<std::string, double>;  // complete: every parameter of the strategy has a value

// What others need to know of a strategy. Whoever asks for a trait finds every strategy that has
// it, whatever its name.
struct StrategyTraits {
  bool fixed_shares = false;   // known at begin(); devices are only handed them in pieces
  bool single_device = false;  // everything goes to the device that is fastest alone: the base of
                               // every speed-up. One has it
  bool equal_shares = false;   // what one would do without this tool: others are compared with it,
                               // noise is measured with it. One
  bool by_rate = false;  // shares by what was measured: of a chain of stages, those of chain.hpp
  bool learns = false;   // shares follow what earlier samples of the case showed
  bool any_count =
      false;  // `auto` tries it on other numbers of devices too than the closed forms would use
  bool simulates = false;  // others, to choose one: it is given the network between nodes as it is,
                           // not what it leaves a device
  // Seconds from begin to end, in closed form, where those of its shares (seconds_of_shares) would
  // not do as its pieces are its own; `rates` are items/s, all known.
  double (*seconds)(const PlanRequest& request, std::span<const double> rates) = nullptr;
};

struct StrategyInfo {
  std::string name, summary;
  std::vector<StrategyParam> params;
  std::unique_ptr<Strategy> (*make)(const StrategyParams&) = nullptr;
  StrategyTraits traits = {};
};

// Every strategy, in the order of `-s all`: single, equal, proportional, dynamic, then by name.
std::span<const StrategyInfo> all_strategies();

// A strategy as asked for: name and complete parameters.
struct StrategyChoice {
  const StrategyInfo* info = nullptr;
  StrategyParams params;
  std::string label()
      const;  // "dynamic", or "dynamic:chunks=32" when a parameter differs from its default
};

// The one strategy that has this trait, with default parameters.
StrategyChoice strategy_with(bool StrategyTraits::*trait);

// "all", or names separated by commas, each with its parameters after colons:
// "equal,dynamic:chunks=32". Throws Error(usage) naming the unknown name, parameter or value out of
// range, and what is accepted. Repeats (same label) are dropped.
std::vector<StrategyChoice> parse_strategies(std::string_view text);

}  // namespace mgpu
