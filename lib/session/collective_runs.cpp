#include "lib/session/collective_runs.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "lib/base/quantity.hpp"
#include "lib/base/stats.hpp"
#include "lib/exchange/verifiable.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu {
namespace {

constexpr std::uint64_t kLeastQueued = 4;
constexpr Bytes kWindow = Bytes{16} << 20;
// Size of the blocks of outputs that do not fit into one piece of shared memory.
constexpr Bytes kBlock = Bytes{256} << 20;
constexpr Bytes kChunk = Bytes{1} << 18;  // bytes compared by one thread at a time

CollectiveCall call_of(Collective op, Element element, Reduction reduction, Bytes size) {
  return {op, element, reduction, op == Collective::barrier ? 0 : size / bytes_of(element), {0}};
}

// Memory for the calls of one size, on the device that needs most.
struct Needed {
  Bytes input = 0, output = 0;
};

Needed needed_for(std::span<const Collective> ops, Element element, Bytes size,
                  std::size_t devices) {
  Needed needed;
  for (const Collective op : ops) {
    const CollectiveCall call = call_of(op, element, Reduction::sum, size);
    needed.input = std::max(needed.input, largest_input(call, devices));
    needed.output = std::max(needed.output, largest_output(call, devices));
  }
  return needed;
}

// Returns the size of the landing memory that lib/exchange/collectives.cpp allocates.
Bytes landing_for(Bytes size, std::size_t devices) { return size + (Bytes{256} << 10) * devices; }

}  // namespace

Bytes shared_by_call(LinkSet& set, std::span<const Collective> ops, Element element, Bytes size) {
  return std::max(needed_for(ops, element, size, set.size()).output, landing_for(size, set.size()));
}

LargestCall largest_call(LinkSet& set, std::span<const Collective> ops, Element element) {
  constexpr Bytes kSmallest = 4096;
  constexpr double kShare = 0.8;
  LargestCall least{~Bytes{0}, {}};
  for (const DeviceIndex device : set.all()) {
    const auto free =
        static_cast<Bytes>(static_cast<double>(set.device(device).free_memory()) * kShare);
    const auto fits = [&](Bytes size) {
      const Needed needed = needed_for(ops, element, size, set.size());
      const Bytes landing = landing_for(size, set.size());
      return needed.input + needed.output + landing <= free &&
             std::max({needed.input, needed.output, landing}) <= set.traits(device).max_allocation;
    };
    Bytes size = kSmallest;
    while (size < (Bytes{1} << 40) && fits(2 * size)) size *= 2;
    if (size < least.size) least = {size, set.traits(device).id};
  }
  return least;
}

CollectiveRuns::CollectiveRuns(LinkSet& set, std::span<const Collective> ops, Element element,
                               Reduction reduction, Bytes largest, const Repetitions& repetitions)
    : set_(set), element_(element), reduction_(reduction), repetitions_(repetitions) {
  constexpr Bytes kLeast = 64;  // an allocation of 0 bytes fails
  const Needed needed = needed_for(ops, element, largest, set.size());
  std::vector<DeviceResources*> resources;
  for (const DeviceIndex device : set.all()) {
    resources.push_back(&set.device(device).resources());
    inputs_.push_back(&set.hold(resources.back()->allocate(std::max(kLeast, needed.input))));
  }
  Bytes block = std::max(kLeast, needed.output);
  if (block > set.group().most_shared()) block = kBlock;
  std::vector<std::unique_ptr<SharedMemory>> blocks;
  for (Bytes at = 0; at == 0 || at < needed.output; at += block)
    blocks.push_back(set.group().allocate(block));
  outputs_ =
      &set.hold(std::make_unique<std::vector<std::unique_ptr<SharedMemory>>>(std::move(blocks)));
  windows_ = &set.host_memory(std::min(kWindow, std::max({kLeast, needed.input, needed.output})) *
                              set.size());
  collectives_ = &set.hold(std::make_unique<Collectives>(set.group(), resources, largest));
}

InShared CollectiveRuns::output() const {
  return {outputs_->front().get(), 0, std::span(*outputs_).subspan(1)};
}

// Returns the block that has an offset of the outputs, which is a multiple of a window, and where
// it is there.
InBuffer CollectiveRuns::output_at(DeviceIndex device, Bytes offset) const {
  const Bytes block = outputs_->front()->size();
  return {&(*outputs_)[offset / block]->piece(device), offset % block};
}

std::span<std::byte> CollectiveRuns::window(DeviceIndex device) {
  const Bytes size = windows_->bytes().size() / set_.size();
  return windows_->bytes().subspan(device.value * size, size);
}

// Goes through all inputs or outputs in steps of a window per device, and calls each(begin, parts)
// with one part per device.
template <class F>
void CollectiveRuns::each_window(const CollectiveCall& call,
                                 Bytes (*bytes)(const CollectiveCall&, std::size_t, DeviceIndex),
                                 const F& each) {
  Bytes most = 0;
  for (const DeviceIndex device : set_.all())
    most = std::max(most, bytes(call, set_.size(), device));
  const Bytes step = window({0}).size() / 16 * 16;
  for (Bytes begin = 0; begin < most; begin += step) {
    std::vector<std::span<std::byte>> parts;
    for (const DeviceIndex device : set_.all()) {
      const Bytes all = bytes(call, set_.size(), device);
      parts.push_back(window(device).first(begin < all ? std::min(step, all - begin) : 0));
    }
    each(begin, parts);
  }
}

void CollectiveRuns::upload_inputs(const CollectiveCall& call, std::uint64_t seed) {
  each_window(call, input_bytes, [&](Bytes begin, const std::vector<std::span<std::byte>>& parts) {
    parallel_for(parts.size(), std::thread::hardware_concurrency(), [&](std::uint64_t i) {
      fill_input(call, {static_cast<std::uint32_t>(i)}, begin / bytes_of(element_), seed, parts[i]);
    });
    set_.once(set_.all(), [this, parts, begin](DeviceIndex device) {
      const auto part = parts[device.value];
      if (!part.empty()) set_.device(device).stream().upload(*inputs_[device.value], begin, part);
    });
  });
}

void CollectiveRuns::poison() {
  std::fill(windows_->bytes().begin(), windows_->bytes().end(), kPoison);
  set_.once(set_.all(), [this](DeviceIndex device) {
    const auto poisoned = window(device);
    for (Bytes at = 0; at < output_; at += poisoned.size()) {
      const InBuffer to = output_at(device, at);
      set_.device(device).stream().upload(*to.buffer, to.offset,
                                          poisoned.first(std::min(poisoned.size(), output_ - at)));
    }
  });
}

std::uint64_t CollectiveRuns::count_wrong(const CollectiveCall& call, std::uint64_t seed) {
  std::atomic<std::uint64_t> wrong = 0;
  each_window(call, output_bytes, [&](Bytes begin, const std::vector<std::span<std::byte>>& parts) {
    set_.once(set_.all(), [this, parts, begin](DeviceIndex device) {
      const auto part = parts[device.value];
      if (part.empty()) return;
      const InBuffer from = output_at(device, begin);
      set_.device(device).stream().download(*from.buffer, from.offset, part);
    });
    const Bytes chunks = (window({0}).size() + kChunk - 1) / kChunk;
    parallel_for(parts.size() * chunks, std::thread::hardware_concurrency(), [&](std::uint64_t k) {
      const DeviceIndex device{static_cast<std::uint32_t>(k / chunks)};
      const auto part = parts[device.value];
      const Bytes at = k % chunks * kChunk;
      if (at >= part.size()) return;
      wrong += mgpu::count_wrong(call, set_.size(), device, (begin + at) / bytes_of(element_), seed,
                                 part.subspan(at, std::min(kChunk, part.size() - at)));
    });
  });
  return wrong;
}

void CollectiveRuns::measure(Collective op, Bytes size, Report& report) {
  const CollectiveCall call = call_of(op, element_, reduction_, size);
  const std::uint64_t seed = ++calls_;
  LinkRecord link;
  link.bytes = call.count * bytes_of(element_);
  link.path = set_.path_among(set_.all());

  const auto one_call = [this, call](DeviceIndex device) {
    collectives_->enqueue(device, call, {inputs_[device.value], 0}, output(),
                          set_.device(device).stream());
  };
  output_ = largest_output(call, set_.size());
  collectives_->build(call, output());
  upload_inputs(call, seed);
  poison();
  const std::vector<Nanos> isolated =
      whole_times(set_.together().measure(set_.all(), repetitions_, one_call));
  // The number of nccl-tests, unless these calls would take long.
  const Nanos limit = 4 * repetitions_.budget, time = summarise(isolated).median;
  const std::uint64_t calls = std::clamp<std::uint64_t>(
      time > Nanos{} ? static_cast<std::uint64_t>(limit / time) : kQueuedCalls, kLeastQueued,
      kQueuedCalls);
  Repetitions queued = repetitions_;
  queued.warmup = std::min(repetitions_.warmup, 1u);
  const std::vector<Nanos> together = whole_times(set_.together().measure(
      set_.all(), queued, [this, call, one_call, calls](DeviceIndex device) {
        if (const std::size_t launches = collectives_->launches(call, output()); launches > 0)
          set_.device(device).stream().begin_series(static_cast<unsigned>(calls * launches));
        for (std::uint64_t k = 0; k < calls; ++k) one_call(device);
      }));
  link.wrong = count_wrong(call, seed);
  poison();
  collectives_->begin_count();
  set_.once(set_.all(), one_call);
  const Traffic traffic = collectives_->end_count();
  link.steps = traffic.steps;
  link.sent = traffic.sent;
  link.wrong += count_wrong(call, seed);
  const auto add = [&](const char* mode, std::uint64_t at_once, std::vector<Nanos> samples) {
    link.calls = at_once;
    RunRecord& run = report.runs.emplace_back(
        link_case(std::string(to_string(op)), format_count(link.bytes) + " B", mode,
                  set_.ids(set_.all()), link, std::move(samples), bus_factor(op, set_.size())));
    run.work.items = call.count;
    run.params["type"] = std::string(to_string(element_));
    if (reduces(op)) run.params["redop"] = std::string(to_string(reduction_));
  };
  add("back_to_back", calls, together);
  add("isolated", 1, isolated);
}

}  // namespace mgpu
