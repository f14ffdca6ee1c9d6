// Executes probes. A probe is a sample without a merge, so that threads, queues and polling are
// those of a case.
#include "lib/predict/probe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "lib/base/stats.hpp"
#include "lib/exec/wait.hpp"
#include "lib/predict/probe_reading.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kFewest = 3, kMost = 60;
constexpr Nanos kEnough = std::chrono::milliseconds(60);
// Time of a probe of several devices with a CPU. On CPUs samples of the same work differ by 10 %,
// and a few of them say little about relative speeds. A probe of a single device is not extended,
// or eight sub-devices would take seconds before their first sample.
constexpr Nanos kEnoughOfCpus = std::chrono::milliseconds(240),
                kMostOfCpus = std::chrono::seconds(1);
// Most iterations of a probe: work with thousands, repeated several times, would take longer than a
// sample.
constexpr std::uint32_t kRounds = 256;
// Time after which one turn is enough: long executions differ little.
constexpr Nanos kLong = std::chrono::milliseconds(250);
// If four times the work takes only this fraction longer, most of it is latency.
constexpr double kHardlyLonger = 0.2;
// A line steeper than this factor is not a peculiarity of small slices (msm: up to 1.31).
constexpr double kSlowerThanCached = 1.5;
// If the kernels that grow with the slice explain at least this fraction of what an item costs a
// full device, the others are assumed to be constant. On an H200 the fraction is 0.57 or more for
// msm (once below 0.5, for 2^16 terms) and 0 for merkle, matrix and fisher.
constexpr double kExplained = 0.25;
// Shortest copies that show the rate of a shared link. Pieces of 1 MiB to four H200 took 42 us
// each, at 99 GB/s in total, while long copies reach 155.
constexpr Nanos kShortBesideOthers = std::chrono::microseconds(200);

struct Sizes {
  Items small = 0, large = 0;
};

Sizes sizes_of(const Shape& shape, const ProbeSize& size, bool gpus, std::size_t devices) {
  const Items granule = std::max<Items>(shape.granularity, 1);
  const auto whole = [&](double items) {
    return std::max(granule, static_cast<Items>(items) / granule * granule);
  };
  const Items most = size.most > 0 ? size.most : std::numeric_limits<Items>::max();
  // A share of 1 takes all items, including the last ones, which may be less than a granule.
  Items large =
      size.share >= 1 && most >= shape.items
          ? shape.items
          : std::min({whole(static_cast<double>(shape.items) * size.share), most, shape.items});
  // Partial results of a power of two granules are one tree, as those of large slices nearly are;
  // of three blocks, fisher makes two.
  if (size.share < 1 && large > granule) large = std::bit_floor(large / granule) * granule;
  if (gpus)
    large = std::max(large, std::min({whole(static_cast<double>(shape.fills_gpu)), most,
                                      whole(static_cast<double>(shape.items / devices))}));
  return {std::min(large, whole(static_cast<double>(large) / 4)), large};
}

std::uint32_t rounds_of(const Shape& shape, const ProbeSize& size, bool gpus,
                        std::span<const Participant> participants) {
  if (size.all_rounds) return shape.rounds;
  if (gpus && shape.probe_rounds > 0) return std::min(shape.rounds, shape.probe_rounds);
  // If devices do not keep results, the last round downloads them, so that all rounds are needed.
  const auto keeps = [](const Participant& participant) {
    return participant.program->result_policy() == ResultPolicy::publish;
  };
  return std::all_of(participants.begin(), participants.end(), keeps)
             ? std::min(shape.rounds, kRounds)
             : shape.rounds;
}

// Gives each device the same items in slices of a given size, where each device begins one slice
// after the previous device; or gives each device its own slice, as long as there are `places` for
// them. Copies to two H200 from the same memory are slower than from different memory (86 GB/s
// instead of 105).
class ProbeSource final : public SliceSource {
 public:
  ProbeSource(Items items, Items slice, std::size_t devices, Items places)
      : items_(items),
        slice_(slice),
        pieces_((items + slice - 1) / slice),
        places_(places),
        devices_(devices) {}

  Answer next(DeviceIndex device) override {
    State& state = devices_[device.value];
    if (state.given < pieces_) {
      const Items first = device.value % places_ * items_;
      const Items begin = (state.given++ + device.value) % pieces_ * slice_;
      const Slice slice{first + begin, first + std::min(items_, begin + slice_)};
      state.taken += slice.size();
      return slice;
    }
    const auto over = [&](const State& s) {
      return s.given == pieces_ && s.finished + s.dropped == s.taken;
    };
    if (std::all_of(devices_.begin(), devices_.end(), over)) return Done{};
    return Wait{true};
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos) override {
    devices_[device.value].finished += slice.size();
  }
  // Ends the probe: what does not fit is not probed. All devices finish the work under way, and
  // refused() reports it.
  void rejected(DeviceIndex device, const Slice& slice, Items) override {
    refused_ = true;
    for (State& state : devices_) state.given = pieces_;
    devices_[device.value].dropped += slice.size();
  }
  void lost(DeviceIndex device, std::span<const Slice>) override {
    devices_[device.value] = {pieces_};
  }
  void joined(DeviceIndex) override {}
  bool refused() const { return refused_; }  // whether a device had no memory for its slice

 private:
  struct State {
    Items given = 0;                             // in pieces
    Items taken = 0, finished = 0, dropped = 0;  // in items
  };
  Items items_, slice_, pieces_, places_;
  std::vector<State> devices_;
  bool refused_ = false;
};

Nanos median_of(const std::vector<Execution>& executions,
                const std::function<Nanos(const Execution&)>& what) {
  std::vector<Nanos> times;
  for (const Execution& execution : executions) times.push_back(what(execution));
  return summarise(times).median;
}

// Returns the lower quartile. Interference only makes samples longer, so for small differences
// lower quartiles are more precise than medians.
Nanos lower_quartile(const std::vector<Execution>& executions,
                     const std::function<Nanos(const Execution&)>& what) {
  std::vector<Nanos> times;
  for (const Execution& execution : executions) times.push_back(what(execution));
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

double slope_of(Items few, Nanos at_few, Items many, Nanos at_many) {
  return seconds(at_many - at_few) / static_cast<double>(many - few);
}

bool is_latency(Nanos shorter, Nanos longer) {
  return seconds(longer - shorter) < kHardlyLonger * seconds(longer);
}

// Returns whether an item clearly costs more than is known. Always false if the two sizes show
// little more than latency.
bool is_slower(Items small, Nanos at_small, Items large, Nanos at_large, double full_per_item_s) {
  return small < large && !is_latency(at_small, at_large) &&
         slope_of(small, at_small, large, at_large) >= kSlowerThanCached * full_per_item_s;
}

SmallSlices small_slices(std::size_t device, Items small, const std::vector<Execution>& of_small,
                         Items large, const std::vector<Execution>& of_large,
                         const std::vector<Execution>& in_pieces) {
  const auto whole = [&](const Execution& e) {
    return e.stages[device][static_cast<std::size_t>(CommandKind::compute)];
  };
  SmallSlices slices;
  slices.small = small;
  slices.large = large;
  slices.at_small = median_of(of_small, whole);
  slices.at_large = median_of(of_large, whole);
  if (!in_pieces.empty()) {
    const Nanos contended =
        median_of(in_pieces, [&](const Execution& e) { return e.contended[device]; });
    slices.contention = std::max(Nanos{}, contended - slices.at_small);
  }
  const std::size_t count = of_large.front().kernels[device].size();
  const bool alike =
      std::all_of(of_small.begin(), of_small.end(),
                  [&](const auto& e) { return e.kernels[device].size() == count; }) &&
      std::all_of(of_large.begin(), of_large.end(),
                  [&](const auto& e) { return e.kernels[device].size() == count; });
  if (!alike || small == large) return slices;
  Nanos grown{};
  for (std::size_t n = 0; n < count; ++n) {
    const auto at = [&](const Execution& e) { return e.kernels[device][n]; };
    const Nanos shorter = median_of(of_small, at), longer = median_of(of_large, at);
    if (is_latency(shorter, longer)) continue;
    grown += longer;
    slices.grows_per_item_s += seconds(longer - shorter) / static_cast<double>(large - small);
  }
  slices.flat = std::max(Nanos{}, slices.at_large - grown);
  return slices;
}

// Returns the visible time of an item's copies if the cores that compute also copy. One core does
// one thing after the other. Several cores start an upload when the running kernel has no
// work-groups left: as two slices are in flight, every other upload overlaps with kernels. All
// downloads but the last overlap. The hidden time occupies one of the cores.
double seen_of_copies(double up_s, double down_s, const Share& share) {
  if (share.cores <= 1) return up_s + down_s;
  const double pieces = share.piece > 0 ? std::max(1.0, std::ceil(static_cast<double>(share.items) /
                                                                  static_cast<double>(share.piece)))
                                        : 1;
  const double seen = up_s * (0.5 + 0.5 / pieces) + down_s / pieces;
  return seen + (up_s + down_s - seen) / share.cores;
}

// Returns how often `few` must be doubled to become `many`; 0 if `many` is no larger.
double doublings(Items few, Items many) {
  return many > few && few > 0 ? std::log2(static_cast<double>(many) / static_cast<double>(few))
                               : 0;
}

// Returns the time of the kernels of a slice of `piece` items: on the line between the two sizes,
// and that of the larger size beyond.
Nanos least_of(const SmallSlices& slices, Items piece) {
  if (piece == 0 || piece >= slices.large || slices.small == slices.large) return slices.at_large;
  const double part = (static_cast<double>(piece) - static_cast<double>(slices.small)) /
                      static_cast<double>(slices.large - slices.small);
  return std::max(
      Nanos{}, slices.at_small +
                   from_seconds(std::max(0.0, part) * seconds(slices.at_large - slices.at_small)));
}

// Additional time of a device for its share relative to the probe's items, on its own link: of its
// kernels and the copies of its first piece, and of collecting.
struct Longer {
  Nanos working{}, collecting{};
};

Longer longer_than_probe(const Probe& probe, const ProbedDevice& device, const ItemCost& cost,
                         Mode mode, const Share& share) {
  const auto more = [&](Items items) {
    return std::max(0.0, static_cast<double>(items) - static_cast<double>(probe.items));
  };
  double working = more(share.items) * device.compute.per_item_s;
  const Items piece = share.piece > 0 ? std::min(share.items, share.piece) : share.items;
  if (mode.transfers()) working += more(piece) * cost.in_bytes * device.upload.per_item_s;
  return {from_seconds(working),
          from_seconds(seconds(device.per_doubling) * doublings(probe.items, share.items))};
}

}  // namespace

StageCost fit_stage(Items small, Nanos at_small, Items large, Nanos at_large, Items items,
                    double full_per_item_s) {
  if (at_large <= Nanos{} || large == 0) return {};
  const double longer = seconds(at_large);
  double slope = longer / static_cast<double>(large);
  if (large == small &&
      full_per_item_s > 0) {  // one granule, which may leave most of a device idle
    slope = std::min(slope, full_per_item_s);
  } else if (large > small) {
    slope = slope_of(small, at_small, large, at_large);
    if (full_per_item_s > 0 && !is_slower(small, at_small, large, at_large, full_per_item_s))
      slope = full_per_item_s;
    if (!(slope > 0)) slope = longer / static_cast<double>(std::max<Items>(items, 1));
  }
  const double fixed = longer - slope * static_cast<double>(large);
  if (fixed > 0) return {from_seconds(fixed), slope};
  return {Nanos{}, longer / static_cast<double>(large)};
}

StageCost fit_compute(Items small, Nanos at_small, Items large, Nanos at_large, Items items,
                      double full_per_item_s, Nanos believed) {
  if (full_per_item_s > 0 && believed == Nanos::max()) return {Nanos{}, full_per_item_s};
  if (full_per_item_s > 0 && at_large - at_small < believed)
    return fit_stage(large, at_large, large, at_large, items, full_per_item_s);
  return fit_stage(small, at_small, large, at_large, items, 0);
}

std::optional<StageCost> fit_line(Items small, Nanos at_small, Items large, Nanos at_large,
                                  const KnownLine& line, Items share) {
  if (at_large >= line.whole || is_slower(small, at_small, large, at_large, line.beyond.per_item_s))
    return std::nullopt;
  if (share >= line.items) return line.beyond;
  if (large >= line.items) return std::nullopt;
  const double slope = slope_of(large, at_large, line.items, line.whole);
  return StageCost{std::max(Nanos{}, at_large - from_seconds(slope * static_cast<double>(large))),
                   slope};
}

void merge_after_probe(Backend& backend, OpenDevice& device, Workload& workload,
                       DeviceProgram& program) {
  DeviceMerge* const merge = workload.device_merge();
  if (merge == nullptr || merge->merges_on_host()) return workload.merge();
  complete(backend, device, program.interfaces().merging->merge(device.stream()));
}

Probe run_probe(Backend& backend, Executor& executor, Workload& workload,
                std::span<const Participant> participants, const ProbeSize& size) {
  const Shape& shape = workload.shape();
  Probe probe;
  const auto is_cpu = [](const Participant& participant) {
    return participant.device->resources().traits().cpu;
  };
  const bool gpus = std::none_of(participants.begin(), participants.end(), is_cpu);
  if (shape.items == 0 || participants.empty()) return probe;
  const auto [small, large] = sizes_of(shape, size, gpus, participants.size());
  probe.items = large;

  constexpr std::size_t at_small = 0, at_large = 1, in_pieces = 2;
  std::array<std::vector<Execution>, 3> seen;
  const bool shared_by_cpus = participants.size() > 1 && !gpus;
  const Items pieces = (large + small - 1) / small, places = pieces == 1 ? shape.items / large : 1;
  const std::uint32_t rounds = rounds_of(shape, size, gpus, participants);
  const Nanos begin = backend.now();
  const auto is_enough = [&](std::size_t turns) {
    const Nanos spent = backend.now() - begin;
    if (turns == kMost) return true;
    if (size.most_turns > 0 && turns >= size.most_turns) return true;
    if (turns < kFewest) return turns > 0 && spent >= kLong;
    if (!shared_by_cpus) return spent >= kEnough;
    return spent >= (turns < size.turns ? kMostOfCpus : kEnoughOfCpus);
  };
  for (std::size_t turn = 0; !is_enough(turn); ++turn) {
    // The largest size comes last: its result may be looked at, and for iterative work pieces
    // produce no result.
    for (const std::size_t which : {at_small, in_pieces, at_large}) {
      if (which != at_large && small == large) continue;
      ProbeSource source(which == at_small ? small : large, which == at_large ? large : small,
                         participants.size(), places);
      SampleRequest request{&workload,
                            &source,
                            {participants.begin(), participants.end()},
                            DeviceIndex{0},
                            backend.limits().answer,
                            false};
      request.most_rounds = rounds;
      request.stop = backend.limits().stop;
      const RawSample sample = executor.run(request);
      if (sample.failure || !sample.faults.empty()) {
        probe.faults = sample.faults;
        return probe;
      }
      if (source.refused()) {
        probe.refused = true;
        return probe;
      }
      seen[which].push_back(read_execution(sample, participants.size()));
      if (rounds < shape.rounds)
        stretch(seen[which].back(), static_cast<double>(shape.rounds) / rounds);
    }
  }
  probe.fixed =
      median_of(seen[at_large], [](const Execution& execution) { return execution.rest; });
  probe.enqueue_delay =
      median_of(seen[at_large], [](const Execution& execution) { return execution.enqueue_delay; });
  const auto& of_small = seen[at_small].empty() ? seen[at_large] : seen[at_small];
  for (std::size_t i = 0; i < participants.size(); ++i) {
    const auto time_of = [&](const std::vector<Execution>& executions, CommandKind kind) {
      return median_of(executions, [&](const Execution& execution) {
        return execution.stages[i][static_cast<std::size_t>(kind)];
      });
    };
    const auto copy = [&, large = large](CommandKind kind) {
      const auto bytes_of = [&](const Execution& execution) {
        return execution.bytes[i][static_cast<std::size_t>(kind)];
      };
      const Bytes fewer = bytes_of(of_small.front()), more = bytes_of(seen[at_large].front());
      return fit_stage(fewer, time_of(of_small, kind), more, time_of(seen[at_large], kind),
                       more / large * shape.items, 0);
    };
    const KnownCosts known = i < size.known.size() ? size.known[i] : KnownCosts{};
    const Nanos shorter = time_of(of_small, CommandKind::compute),
                longer = time_of(seen[at_large], CommandKind::compute);
    StageCost compute = known.believed ? fit_compute(small, shorter, large, longer, shape.items,
                                                     known.full_per_item_s, *known.believed)
                                       : fit_stage(small, shorter, large, longer, shape.items,
                                                   known.full_per_item_s);
    if (known.line)
      compute = fit_line(small, shorter, large, longer, *known.line, known.share).value_or(compute);
    compute.fixed = std::max(compute.fixed, known.least_slice);
    probe.fixed = std::max(probe.fixed, known.least_rest);
    probe.devices.push_back(
        {copy(CommandKind::upload), compute, copy(CommandKind::download),
         small_slices(i, small, of_small, large, seen[at_large], seen[in_pieces])});
  }
  for (std::size_t i = 0; small < large && i < participants.size(); ++i) {
    const auto same_bytes = [&](CommandKind kind) {
      const auto at = static_cast<std::size_t>(kind);
      const Bytes more = seen[at_large].front().bytes[i][at];
      return seen[at_small].front().bytes[i][at] == more ? more : 0;
    };
    probe.devices[i].same_up = same_bytes(CommandKind::upload);
    probe.devices[i].same_down = same_bytes(CommandKind::download);
    const auto collecting = [&](const Execution& execution) { return execution.collecting[i]; };
    const Nanos longer =
        median_of(seen[at_large], collecting) - median_of(seen[at_small], collecting);
    probe.devices[i].per_doubling =
        std::max(Nanos{}, from_seconds(seconds(longer) / doublings(small, large)));
  }
  if (!seen[in_pieces].empty()) {
    const auto more = [&](const std::function<Nanos(const Execution&)>& what) {
      return lower_quartile(seen[in_pieces], what) - lower_quartile(seen[at_large], what);
    };
    const Nanos afterwards = more([](const Execution& execution) { return execution.afterwards; });
    const auto slices_more = static_cast<std::int64_t>(pieces) - 1;
    for (std::size_t i = 0; i < participants.size(); ++i) {
      const Nanos until_then =
          more([&](const Execution& execution) { return execution.finished[i]; });
      probe.devices[i].next_slice = std::max(Nanos{}, (until_then + afterwards) / slices_more);
    }
  }
  const auto& apart = seen[in_pieces].empty() ? seen[at_large] : seen[in_pieces];
  for (std::size_t i = 0; i < participants.size(); ++i) {
    const auto rate = [&](CommandKind kind, Nanos fixed) {
      const auto at = static_cast<std::size_t>(kind);
      const Nanos time = median_of(apart, [&](const Execution& e) { return e.copying[i][at]; });
      const auto count = static_cast<std::int64_t>(pieces);
      if (time <= kShortBesideOthers * count) return 0.0;
      return static_cast<double>(apart.front().copied[i][at]) /
             seconds(time - std::min(fixed * count, time / 10));
    };
    probe.devices[i].up = rate(CommandKind::upload, probe.devices[i].upload.fixed);
    probe.devices[i].down = rate(CommandKind::download, probe.devices[i].download.fixed);
  }
  probe.replicated =
      median_of(seen[at_large], [](const Execution& execution) { return execution.replicated; });
  probe.bringing =
      median_of(seen[at_large], [](const Execution& execution) { return execution.bringing; });
  return probe;
}

DeviceEstimate estimate_of(const Probe& probe, std::size_t index, const ItemCost& cost, Mode mode,
                           const Share& share) {
  DeviceEstimate estimate;
  if (index >= probe.devices.size()) return estimate;
  const ProbedDevice& device = probe.devices[index];
  const bool copies_with_cores = share.cores > 0;
  Nanos fixed = probe.fixed;
  if (!copies_with_cores) {
    const Longer longer = longer_than_probe(probe, device, cost, mode, share);
    fixed += longer.collecting - std::min(probe.enqueue_delay, longer.working + longer.collecting);
  }
  double per_item = device.compute.per_item_s;
  if (!mode.transfers() || copies_with_cores) {
    // The samples themselves show the marginal cost of a slice, including the host's part. The
    // first slice keeps its time.
    const auto per_item_of = [](const StageCost& copy, Bytes same, double bytes) {
      return same > 0 ? 0 : copy.per_item_s * bytes;
    };
    const auto once_of = [](const StageCost& copy, Bytes same) {
      return copy.fixed + from_seconds(copy.per_item_s * static_cast<double>(same));
    };
    per_item +=
        seen_of_copies(per_item_of(device.upload, device.same_up, cost.in_bytes),
                       per_item_of(device.download, device.same_down, cost.out_bytes), share);
    estimate.launch = device.next_slice;
    // Shows nothing of a launch.
    const bool one_size = device.kernels.small == device.kernels.large;
    if (one_size && copies_with_cores) {
      // A CPU leaves no core idle, so this is work that each slice repeats.
      estimate.launch = std::max(estimate.launch, device.compute.fixed);
    } else if (one_size) {
      estimate.minimum_slice = device.kernels.at_large;
    }
    const Nanos compute = one_size ? Nanos{} : device.compute.fixed;
    // Includes the launch of the only slice.
    const Nanos once = fixed + once_of(device.upload, device.same_up) + compute +
                       once_of(device.download, device.same_down);
    estimate.fixed = std::max(Nanos{}, once - device.next_slice);
    estimate.first_slice_discount = std::max(Nanos{}, device.next_slice - once);
  } else {
    const auto bytes_per_s = [](const StageCost& copy) {
      return copy.per_item_s > 0 ? 1 / copy.per_item_s : 0;
    };
    // Predictions add replicated inputs by their bytes.
    estimate.fixed = std::max(Nanos{}, fixed - probe.replicated);
    const SmallSlices& small = device.kernels;
    const bool flat_stay = small.grows_per_item_s >= kExplained * device.compute.per_item_s;
    estimate.launch =
        small.contention + (flat_stay ? std::min(small.flat, device.compute.fixed) : Nanos{});
    estimate.minimum_slice =
        small.contention +
        least_of(small, share.items > 0 ? std::min(share.piece, share.items) : share.piece);
    estimate.up = bytes_per_s(device.upload);
    if (!(estimate.up > 0) && probe.replicated > Nanos{})  // slices upload nothing
      estimate.up = static_cast<double>(cost.replicated) / seconds(probe.replicated);
    estimate.down = bytes_per_s(device.download);
    estimate.transfer = std::max(device.upload.fixed, device.download.fixed);
  }
  estimate.items_per_s = per_item > 0 ? 1 / per_item : 0;
  return estimate;
}

}  // namespace mgpu
