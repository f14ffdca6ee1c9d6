// A tiny discrete-event driver of a SliceSource: devices with fixed rates compute their slices in
// order, with two in flight each. It checks every rule of the interface as it goes (each item once,
// granularity, limits, no deadlock, Done only at the end). It can make devices fail, reject slices,
// return and slow down. There are no transfers and no fixed costs except a slice's own, so the
// makespan results from the decisions alone.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu::test {

struct DrivenDevice {
  double rate = 1;    // true items per second
  Items fits = 0;     // true capacity: larger slices are rejected; at most the estimate's `fits`
  double launch = 0;  // seconds a slice takes beyond its items
  double slow = 1;    // its items take this many times as long ...
  double slow_at = std::numeric_limits<double>::infinity();  // ... from this time on
};

// Probabilities of faults, which are drawn from `seed`; all are off by default.
struct Trouble {
  std::uint64_t seed = 0;
  // Probability, after each finished slice, that some device fails, unless it is the last one left.
  double loss = 0;
  double rejoin = 0;  // probability, after each finished slice, that a failed device returns
  double newcomer =
      0;  // probability, after each finished slice, that an unknown device is added (at most two)
  // Probability that a device fails after everything is finished, with results not yet on the host.
  double late_loss = 0;
};

struct Driven {
  std::string failure;                     // the first broken rule; empty if none was broken
  double makespan = 0;                     // seconds
  std::vector<Items> items;                // finished, per device
  std::vector<std::vector<Slice>> slices;  // finished, per device, in order
  std::string log;                         // every answer: equal logs are equal behaviour
  unsigned losses = 0, rejections = 0;
};

class PlanDriver {
 public:
  PlanDriver(SliceSource& source, const PlanRequest& request, std::vector<DrivenDevice> devices,
             const Trouble& trouble)
      : source_(source),
        request_(request),
        trouble_(trouble),
        random_(trouble.seed),
        holder_(request.items, kNobody) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices_.push_back({devices[i], request.devices[i].fits, true, 0, {}, {}});
    }
  }

  Driven run() {
    try {
      while (result_.failure.empty()) {
        ask_everyone();
        if (!result_.failure.empty()) break;
        if (finished_ < request_.items) {
          if (!finish_next()) fail("every device waits and nothing is in flight");
        } else if (!trouble_.late_loss || !chance(trouble_.late_loss) || !lose_one()) {
          break;
        }
      }
    } catch (const Error& error) {
      fail(error.what());
    }
    for (const Unit& unit : devices_) {
      result_.slices.push_back(unit.done);
      result_.items.push_back(0);
      for (const Slice& slice : unit.done) result_.items.back() += slice.size();
    }
    return result_;
  }

 private:
  struct Flight {
    Slice slice;
    double begin = 0, end = 0;
  };
  struct Unit {
    DrivenDevice real;
    Items told = 0;  // most items that the source may offer
    bool alive = true;
    double free_at = 0;
    std::deque<Flight> flights;
    std::vector<Slice> done;
  };
  static constexpr unsigned kMostLosses = 12;
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  void fail(const std::string& why) {
    if (result_.failure.empty()) result_.failure = why;
  }

  // Asks the devices in turn for one slice each, like workers that start together, until none gets
  // any.
  void ask_everyone() {
    for (bool any = true; any && result_.failure.empty();) {
      any = false;
      for (std::uint32_t i = 0; i < devices_.size(); ++i) {
        if (devices_[i].alive && devices_[i].flights.size() < 2 && result_.failure.empty())
          any = ask(i) || any;
      }
    }
  }

  bool ask(std::uint32_t i) {
    const Answer answer = source_.next({i});
    const Slice* slice = std::get_if<Slice>(&answer);
    if (slice == nullptr) {
      const bool done = std::holds_alternative<Done>(answer);
      result_.log += std::to_string(i) + (done ? " done;" : " wait;");
      if (done != (finished_ == request_.items))
        fail(done ? "Done before every item is finished" : "Wait though all is finished");
      return false;
    }
    result_.log += std::to_string(i) + " " + std::to_string(slice->begin) + "-" +
                   std::to_string(slice->end) + ";";
    take(i, *slice);
    return true;
  }

  void take(std::uint32_t i, const Slice& slice) {
    Unit& unit = devices_[i];
    const Items granularity = request_.granularity;
    if (slice.begin >= slice.end || slice.end > request_.items)
      return fail("an empty slice, or one beyond the end");
    if (slice.begin % granularity != 0 ||
        (slice.end % granularity != 0 && slice.end != request_.items))
      return fail("off the granules");
    if (slice.size() > unit.told) return fail("a slice above what the device said it takes");
    if (is_out_of_turn(i)) return fail("work for a device in reserve though another is there");
    for (Items k = slice.begin; k < slice.end; ++k) {
      if (holder_[k] != kNobody) return fail("item " + std::to_string(k) + " given out twice");
    }
    if (slice.size() > unit.real.fits) {
      unit.told = unit.real.fits;
      ++result_.rejections;
      source_.rejected({i}, slice, unit.real.fits);
      return;
    }
    std::fill(holder_.begin() + static_cast<std::ptrdiff_t>(slice.begin),
              holder_.begin() + static_cast<std::ptrdiff_t>(slice.end), i);
    const double begin = std::max(now_, unit.free_at);
    unit.free_at = end_of(unit.real, begin, slice);
    unit.flights.push_back({slice, begin, unit.free_at});
  }

  // Returns true if the device is a spare and another device could do the work.
  bool is_out_of_turn(std::uint32_t i) const {
    if (!is_reserve(i)) return false;
    const Items least = std::min(request_.granularity, request_.items);
    for (std::uint32_t j = 0; j < devices_.size(); ++j) {
      if (!is_reserve(j) && devices_[j].alive && devices_[j].told >= least) return true;
    }
    return false;
  }
  bool is_reserve(std::uint32_t i) const {
    return i < request_.devices.size() && request_.devices[i].reserve;
  }

  static double end_of(const DrivenDevice& real, double begin, const Slice& slice) {
    const double from = begin + real.launch;
    const double full_speed = static_cast<double>(slice.size()) / real.rate;
    const double before = std::clamp(real.slow_at - from, 0.0, full_speed);
    return from + before + (full_speed - before) * real.slow;
  }

  bool finish_next() {
    std::uint32_t first = kNobody;
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].flights.empty()) continue;
      if (first == kNobody || devices_[i].flights.front().end < devices_[first].flights.front().end)
        first = i;
    }
    if (first == kNobody) return false;
    Unit& unit = devices_[first];
    const Flight flight = unit.flights.front();
    unit.flights.pop_front();
    now_ = flight.end;
    result_.makespan = now_;
    unit.done.push_back(flight.slice);
    finished_ += flight.slice.size();
    source_.finished({first}, flight.slice, from_seconds(flight.end - flight.begin));
    if (trouble_.loss && chance(trouble_.loss)) lose_one();
    if (trouble_.rejoin && chance(trouble_.rejoin)) rejoin_one();
    if (trouble_.newcomer && chance(trouble_.newcomer) &&
        devices_.size() < request_.devices.size() + 2)
      add_one();
    return true;
  }

  // Makes a device fail that is not the only one that can still do the work. The number of failures
  // is limited: if devices failed faster than they compute, work would never end.
  bool lose_one() {
    const auto i = static_cast<std::uint32_t>(random_() % devices_.size());
    const auto works = [&](const Unit& unit) {
      return unit.alive && unit.told > 0 && unit.real.fits >= request_.granularity;
    };
    const auto left = std::count_if(devices_.begin(), devices_.end(), works);
    Unit& unit = devices_[i];
    if (result_.losses == kMostLosses || !unit.alive || left - (works(unit) ? 1 : 0) < 1)
      return false;
    unit.alive = false;
    std::vector<Slice> lost, kept;
    for (const Slice& slice : unit.done) (chance(0.5) ? lost : kept).push_back(slice);
    for (const Slice& slice : lost) finished_ -= slice.size();
    for (const Flight& flight : unit.flights) lost.push_back(flight.slice);
    for (const Slice& slice : lost) {
      for (Items k = slice.begin; k < slice.end; ++k) holder_[k] = kNobody;
    }
    unit.done = kept;
    unit.flights.clear();
    ++result_.losses;
    result_.log += std::to_string(i) + " lost;";
    source_.lost({i}, lost);
    return true;
  }

  void rejoin_one() {
    const auto i = static_cast<std::uint32_t>(random_() % devices_.size());
    Unit& unit = devices_[i];
    if (unit.alive) return;
    unit.alive = true;
    unit.told = i < request_.devices.size() ? request_.devices[i].fits : request_.items;
    unit.free_at = now_;
    source_.joined({i});
  }

  void add_one() {
    devices_.push_back(
        {{devices_.front().real.rate, request_.items, 0}, request_.items, true, now_, {}, {}});
    source_.joined({static_cast<std::uint32_t>(devices_.size() - 1)});
  }

  SliceSource& source_;
  const PlanRequest& request_;
  Trouble trouble_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> holder_;  // device that has each item, in flight or finished
  std::vector<Unit> devices_;
  Items finished_ = 0;
  double now_ = 0;
  Driven result_;
};

inline Driven drive(const Strategy& strategy, const PlanRequest& request,
                    std::vector<DrivenDevice> devices, const Trouble& trouble = {},
                    const History& history = {}) {
  const std::unique_ptr<SliceSource> source = strategy.begin(request, history);
  return PlanDriver(*source, request, std::move(devices), trouble).run();
}

// Fills in the standard values of the strategy's parameters that are not given.
inline StrategyParams complete(const StrategyInfo& info, StrategyParams params) {
  for (const StrategyParam& param : info.params) params.emplace(param.name, param.standard);
  return params;
}
inline std::unique_ptr<Strategy> make_strategy(const StrategyInfo& info,
                                               StrategyParams params = {}) {
  return info.make(complete(info, std::move(params)));
}
inline std::unique_ptr<Strategy> make_strategy(std::string_view name, StrategyParams params = {}) {
  for (const StrategyInfo& info : all_strategies()) {
    if (info.name == name) return make_strategy(info, std::move(params));
  }
  throw Error(ErrorKind::usage, "no strategy of that name");
}

}  // namespace mgpu::test
