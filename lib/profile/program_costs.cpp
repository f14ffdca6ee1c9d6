// Replays a program without one cost at a time, and names the one whose removal helps most.
#include "lib/profile/program_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "lib/profile/metrics.hpp"
#include "lib/profile/program_replay.hpp"

namespace mgpu {

namespace {

constexpr double kLeastSaved = 0.01;  // share of the time that is worth naming
// A remedy that is easier than the largest saving is named if it saves at least this part of it.
constexpr double kMostOfIt = 0.8, kHalfOfIt = 0.5;

constexpr ProgramCostInfo kProgramCosts[] = {
    {"perfect_balance", "balance", "devices finish together"},
    {"full_overlap", "serial transfers", "transfers run next to kernels"},
    {"fewer_copies", "small copies", "small copies move as fast as large ones"},
    {"pinned_copies", "pageable memory", "transfers are from and to pinned memory"},
    {"free_transfers", "transfers", "uploads and downloads take no time"},
    {"free_launches", "launches", "kernels begin at once"},
    {"free_waits", "host waits", "calls do not wait for commands"},
    {"free_host_work", "host work", "the host does nothing between calls"},
    {"free_builds", "builds", "kernels are built before the first command"}};

bool is_transfer(const ProgramCommand& c) {
  return c.kind == CommandKind::upload || c.kind == CommandKind::download;
}

Nanos length_of(const ProgramCommand& c) { return c.ended - c.started; }

std::vector<Nanos> lengths_of(const ProgramRecord& record) {
  std::vector<Nanos> lengths;
  for (const ProgramCommand& c : record.commands) lengths.push_back(length_of(c));
  return lengths;
}

// Returns the commands that the predicate selects as those that begin at once.
template <typename F>
std::vector<bool> those(const ProgramRecord& record, F selects) {
  std::vector<bool> all;
  for (const ProgramCommand& c : record.commands) all.push_back(!c.marker && selects(c));
  return all;
}

// Tells whether a device is a part of another of the record, or that other of it.
bool are_nested(const Device& a, const Device& b) {
  return a.id.starts_with(b.id + '.') || b.id.starts_with(a.id + '.');
}

// The work of one kernel, by device.
struct KernelWork {
  std::vector<Nanos> time;
  std::vector<double> items;
};

class Balance {
 public:
  explicit Balance(const ProgramRecord& record) : record_(record), used_(record.devices.size()) {
    for (const ProgramCommand& c : record.commands) {
      if (c.marker || !c.stamped || c.kind != CommandKind::compute || c.label.empty()) continue;
      KernelWork& work = kernels_[c.label.text()];
      work.time.resize(record.devices.size());
      work.items.resize(record.devices.size());
      work.time[c.device.value] += length_of(c);
      work.items[c.device.value] += static_cast<double>(c.items);
      used_[c.device.value] = true;
    }
  }

  // Returns the change to perfect balance; none: no kernel could be balanced.
  std::optional<ProgramChange> change(std::vector<ProgramShare>& shares) const {
    std::vector<double> now(record_.devices.size()), then(record_.devices.size());
    std::map<std::string, std::vector<double>> factors;
    for (const auto& [name, work] : kernels_)
      if (auto found = factors_of(work, now, then)) factors[name] = std::move(*found);
    if (factors.empty()) return std::nullopt;
    add_shares(now, then, shares);
    ProgramChange change;
    change.lengths = lengths_of(record_);
    for (std::size_t k = 0; k < record_.commands.size(); ++k) {
      const ProgramCommand& c = record_.commands[k];
      double factor = 1;
      if (is_transfer(c)) {  // the data of more or less work
        if (now[c.device.value] > 0) factor = then[c.device.value] / now[c.device.value];
      } else if (const auto found = factors.find(c.label.text());
                 c.kind == CommandKind::compute && found != factors.end()) {
        factor = found->second[c.device.value];
      }
      change.lengths[k] = from_seconds(seconds(length_of(c)) * factor);
    }
    return change;
  }

 private:
  // Tells whether a device that ran nothing could do what another one does as fast.
  bool could_help(std::size_t idle, std::size_t busy) const {
    const Device &a = record_.devices[idle].device, &b = record_.devices[busy].device;
    if (used_[idle] || !same_kind(a, b)) return false;
    for (std::size_t d = 0; d < used_.size(); ++d)
      if (used_[d] && are_nested(a, record_.devices[d].device)) return false;
    return true;
  }

  // Returns by device what the times of a kernel are multiplied by, and adds what its work is and
  // would be to `now` and `then`, in seconds of the device with the highest rate; none: one device.
  std::optional<std::vector<double>> factors_of(const KernelWork& work, std::vector<double>& now,
                                                std::vector<double>& then) const {
    const std::size_t n = record_.devices.size();
    std::vector<std::size_t> first_of_kind(n);
    std::vector<double> time(n), items(n);  // by kind, at its first device
    std::vector<bool> helps(n);
    for (std::size_t d = 0; d < n; ++d) {
      first_of_kind[d] = d;
      for (std::size_t e = 0; e < d && first_of_kind[d] == d; ++e)
        if (same_kind(record_.devices[d].device, record_.devices[e].device)) first_of_kind[d] = e;
      time[first_of_kind[d]] += seconds(work.time[d]);
      items[first_of_kind[d]] += work.items[d];
      helps[d] = work.time[d] > Nanos{};
      for (std::size_t e = 0; e < n && !helps[d]; ++e)
        helps[d] = work.time[e] > Nanos{} && could_help(d, e);
    }
    if (std::count(helps.begin(), helps.end(), true) < 2) return std::nullopt;
    std::vector<double> rate(n);
    double rates = 0, all = 0;
    std::size_t kinds = 0;
    for (std::size_t d = 0; d < n; ++d) kinds += time[d] > 0 ? 1 : 0;
    for (std::size_t d = 0; d < n; ++d) {
      if (!helps[d]) continue;
      const std::size_t kind = first_of_kind[d];
      if (time[kind] <= 0 || (kinds > 1 && items[kind] <= 0)) return std::nullopt;
      rate[d] = kinds > 1 ? items[kind] / time[kind] : 1;
      rates += rate[d];
      all += seconds(work.time[d]) * rate[d];
    }
    const double balanced = all / rates;
    const double fastest = *std::max_element(rate.begin(), rate.end());
    std::vector<double> factors(n, 1);
    for (std::size_t d = 0; d < n; ++d) {
      if (work.time[d] > Nanos{}) factors[d] = balanced / seconds(work.time[d]);
      now[d] += seconds(work.time[d]) * rate[d] / fastest;
      then[d] += balanced * rate[d] / fastest;
    }
    return factors;
  }

  void add_shares(const std::vector<double>& now, const std::vector<double>& then,
                  std::vector<ProgramShare>& shares) const {
    const double before = std::accumulate(now.begin(), now.end(), 0.0),
                 after = std::accumulate(then.begin(), then.end(), 0.0);
    for (std::uint32_t d = 0; d < now.size(); ++d)
      if (then[d] > 0) shares.push_back({{d}, now[d] / before, then[d] / after});
  }

  const ProgramRecord& record_;
  std::vector<bool> used_;
  std::map<std::string, KernelWork> kernels_;
};

ProgramChange without_transfers(const ProgramRecord& record) {
  ProgramChange change{lengths_of(record), those(record, is_transfer)};
  for (std::size_t k = 0; k < record.commands.size(); ++k)
    if (is_transfer(record.commands[k])) change.lengths[k] = Nanos{};
  return change;
}

// Returns the bandwidth measured on a device, in bytes/s; 0: not known.
double measured_rate(const ProgramRecord& record, const ProgramCommand& c, bool pinned) {
  const Capability& of = record.devices[c.device.value].capability;
  if (c.kind == CommandKind::upload) return pinned ? of.pinned_up : of.pageable_up;
  return pinned ? of.pinned_down : of.pageable_down;
}

// Returns the change to pinned memory; none: nothing is pageable, or no rate is known.
std::optional<ProgramChange> with_pinned_copies(const ProgramRecord& record) {
  const auto could_be = [&](const ProgramCommand& c) {
    return is_transfer(c) && c.pageable && measured_rate(record, c, true) > 0;
  };
  ProgramChange change{lengths_of(record), those(record, could_be)};
  for (std::size_t k = 0; k < record.commands.size(); ++k) {
    const ProgramCommand& c = record.commands[k];
    if (!change.at_once[k]) continue;
    const double time = static_cast<double>(c.bytes) / measured_rate(record, c, true);
    change.lengths[k] = std::min(change.lengths[k], from_seconds(time));
  }
  if (std::find(change.at_once.begin(), change.at_once.end(), true) == change.at_once.end())
    return std::nullopt;
  return change;
}

ProgramChange without_launches(const ProgramRecord& record) {
  const auto is_launched = [](const ProgramCommand& c) {
    return c.kind == CommandKind::compute && !c.first_launch;
  };
  ProgramChange change{lengths_of(record), those(record, is_launched)};
  std::map<std::uint32_t, Nanos> began;  // the last command of each queue
  for (std::size_t k = 0; k < record.commands.size(); ++k) {
    const ProgramCommand& c = record.commands[k];
    const auto before = began.find(c.queue);
    const bool waited = before != began.end() && c.submitted < before->second;
    began[c.queue] = c.started;
    if (!change.at_once[k] || c.items == 0) continue;
    const Capability& measured = record.devices[c.device.value].capability;
    const Nanos least = waited && measured.least_waiting_kernel > Nanos{}
                            ? measured.least_waiting_kernel
                            : measured.least_kernel;
    change.lengths[k] = std::max(change.lengths[k] - least, Nanos{});
  }
  return change;
}

// Returns the change to copies that are as fast as the fastest, and counts those that are small.
ProgramChange with_fewer_copies(const ProgramRecord& record, std::uint64_t& small) {
  const auto is_small = [](const ProgramCommand& c) {
    return is_transfer(c) && c.bytes < kSmallCopy;
  };
  std::map<std::pair<std::uint32_t, CommandKind>, double> fastest;  // bytes/s
  for (const ProgramCommand& c : record.commands)
    if (is_transfer(c) && length_of(c) > Nanos{}) {
      double& most = fastest[{c.device.value, c.kind}];
      most = std::max({most, static_cast<double>(c.bytes) / seconds(length_of(c)),
                       measured_rate(record, c, !c.pageable)});
    }
  ProgramChange change{lengths_of(record), those(record, is_small)};
  for (std::size_t k = 0; k < record.commands.size(); ++k) {
    const ProgramCommand& c = record.commands[k];
    if (!change.at_once[k]) continue;
    ++small;
    const auto rate = fastest.find({c.device.value, c.kind});
    if (rate != fastest.end() && rate->second > 0)
      change.lengths[k] =
          std::min(change.lengths[k], from_seconds(static_cast<double>(c.bytes) / rate->second));
  }
  return change;
}

// Adds the time without a cost, unless a clock error makes it impossible.
void add_cost(ProgramCosts& costs, const ProgramRecord& record, const char* name,
              const ProgramChange& change) {
  const Nanos time = replay(record, change);
  if (time >= Nanos{}) costs.costs.push_back({name, std::min(time, record.makespan)});
}

Nanos saved_by(const ProgramCosts& costs, const ProgramRecord& record, std::string_view name) {
  for (const ProgramCost& cost : costs.costs)
    if (cost.name == name) return record.makespan - cost.time;
  return {};
}

// Names the cost that saves most, or a part of it with an easier remedy.
void name_largest_cost(ProgramCosts& costs, const ProgramRecord& record, double noise) {
  Nanos most{};
  for (const ProgramCost& cost : costs.costs) {
    const Nanos saved = record.makespan - cost.time;
    if (saved <= most) continue;
    most = saved;
    costs.held_back_by = cost.name;
  }
  if (seconds(most) < std::max(kLeastSaved, noise) * seconds(record.makespan)) {
    costs.held_back_by = "none";
    return;
  }
  struct Easier {
    const char *than, *name;
    double part;
  };
  static constexpr Easier easier[] = {
      {"free_transfers", "fewer_copies", kHalfOfIt}, {"free_transfers", "pinned_copies", kHalfOfIt},
      {"free_transfers", "full_overlap", kHalfOfIt}, {"full_overlap", "pinned_copies", kMostOfIt},
      {"full_overlap", "fewer_copies", kMostOfIt},   {"full_overlap", "free_waits", kMostOfIt}};
  for (const Easier& e : easier)
    if (costs.held_back_by == e.than &&
        seconds(saved_by(costs, record, e.name)) >= e.part * seconds(most))
      costs.held_back_by = e.name;
}

}  // namespace

std::span<const ProgramCostInfo> all_program_costs() { return kProgramCosts; }

const ProgramCostInfo& program_cost(const std::string& name) {
  return *std::find_if(std::begin(kProgramCosts), std::end(kProgramCosts) - 1,
                       [&](const ProgramCostInfo& cost) { return cost.name == name; });
}

ProgramCosts find_costs(const ProgramRecord& record, double noise) {
  ProgramCosts costs;
  if (record.makespan <= Nanos{} || record.commands.empty()) return costs;
  const std::vector<std::string> impossible = impossible_stamps(timeline_of(record));
  if (std::any_of(impossible.begin(), impossible.end(),
                  [](const std::string& why) { return !why.empty(); })) {
    costs.held_back_by = "unknown";
    return costs;
  }
  for (const ProgramCommand& c : record.commands)
    costs.pageable += is_transfer(c) && c.pageable ? 1 : 0;
  if (const auto balanced = Balance(record).change(costs.shares))
    add_cost(costs, record, "perfect_balance", *balanced);
  if (std::any_of(record.commands.begin(), record.commands.end(), is_transfer)) {
    add_cost(costs, record, "full_overlap", {.no_waits = true, .engines = true});
    const ProgramChange fewer = with_fewer_copies(record, costs.small_copies);
    if (costs.small_copies > 0) add_cost(costs, record, "fewer_copies", fewer);
    if (const auto pinned = with_pinned_copies(record))
      add_cost(costs, record, "pinned_copies", *pinned);
    add_cost(costs, record, "free_transfers", without_transfers(record));
  }
  add_cost(costs, record, "free_launches", without_launches(record));
  const auto any_call = [&](auto has) {
    return std::any_of(record.calls.begin(), record.calls.end(), has);
  };
  if (any_call([](const HostCall& call) { return !call.waited.empty(); }))
    add_cost(costs, record, "free_waits", {.no_waits = true});
  add_cost(costs, record, "free_host_work", {.no_host_work = true});
  if (any_call([](const HostCall& call) { return call.kind == CallKind::build; }))
    add_cost(costs, record, "free_builds",
             {.at_once = those(record, [](const ProgramCommand& c) { return c.first_launch; }),
              .no_builds = true});
  name_largest_cost(costs, record, noise);
  return costs;
}

}  // namespace mgpu
