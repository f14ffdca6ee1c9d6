#include "lib/session/link_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/add_once.hpp"
#include "lib/exchange/verifiable.hpp"

namespace mgpu {
namespace {

constexpr const char* kAtOnce = "all_at_once";
constexpr std::uint32_t kHostKey = 0;
std::uint32_t key_of(const std::optional<DeviceIndex>& source) {
  return source ? source->value + 1 : kHostKey;
}

}  // namespace

// A way with its place in memory; each repetition moves the same bytes `pieces` times.
struct LinkMatrix::Flow {
  Way way;
  Bytes offset = 0, size = 0;  // range in the target; the source's begins at 0
};

LinkMatrix::LinkMatrix(LinkSet& set, const LinkAmounts& amounts, const Repetitions& repetitions,
                       bool in_use, Report& report)
    : set_(set), amounts_(amounts), repetitions_(repetitions), in_use_(in_use), report_(report) {
  memory_ = &set.host_memory(amounts.piece * (set.size() + 2));
  shared_ = &set.hold(set.group().allocate(amounts.piece));
  for (const DeviceIndex device : set.all()) {
    sources_.push_back(&set.hold(set.device(device).resources().allocate(amounts.piece)));
    targets_.push_back(&set.hold(set.device(device).resources().allocate(amounts.piece)));
  }
}

void LinkMatrix::fill() {
  for (const DeviceIndex device : set_.all()) {
    const auto words = host_region(device.value + 1);
    fill_words(key_of(device), words);
    const DeviceIndex only[] = {device};
    set_.once(only, [this, words](DeviceIndex d) {
      set_.device(d).stream().upload(*sources_[d.value], 0, words);
    });
  }
  fill_words(kHostKey, host_region(0));
}

void LinkMatrix::enqueue(DeviceIndex device, std::span<const Flow> flows) {
  Stream& stream = set_.device(device).stream();
  std::vector<DeviceIndex> to, from;
  const auto each_piece = [&](const auto& enqueue_one) {
    for (unsigned k = 0; k < amounts_.pieces; ++k)
      std::for_each(flows.begin(), flows.end(), enqueue_one);
  };
  // Downloads come first: a download waits for uploads that were enqueued before it.
  each_piece([&](const Flow& flow) {
    if (!flow.way.to && flow.way.from == device)
      stream.download(*sources_[device.value], 0, host_region(device.value + 1).first(flow.size));
  });
  each_piece([&](const Flow& flow) {
    if (!flow.way.from && flow.way.to == device)
      stream.upload(*targets_[device.value], flow.offset, host_region(0).first(flow.size));
  });
  each_piece([&](const Flow& flow) {
    if (flow.way.from == device && flow.way.to)
      set_.peer(device).put(*sources_[device.value], 0, *shared_, *flow.way.to, flow.offset,
                            flow.size);
  });
  for (const auto& [way, offset, size] : flows) {
    if (!way.from || !way.to) continue;
    if (*way.from == device) to.push_back(*way.to);
    if (*way.to == device) from.push_back(*way.from);
  }
  if (!to.empty() || !from.empty()) set_.peer(device).sync(to, from);
}

Buffer& LinkMatrix::target(const Flow& flow) {
  return flow.way.from ? shared_->piece(*flow.way.to) : *targets_[flow.way.to->value];
}

void LinkMatrix::poison(std::span<const Flow> flows) {
  const auto poisoned = host_region(set_.size() + 1);
  std::fill(poisoned.begin(), poisoned.end(), kPoison);
  for (const Flow& flow : flows) {
    if (!flow.way.to) {
      const auto here = host_region(flow.way.from->value + 1);
      std::fill(here.begin(), here.end(), kPoison);
      continue;
    }
    const DeviceIndex only[] = {*flow.way.to};
    set_.once(only, [this, flow, poisoned](DeviceIndex d) {
      set_.device(d).stream().upload(target(flow), flow.offset, poisoned.first(flow.size));
    });
  }
}

std::uint64_t LinkMatrix::count_wrong(std::span<const Flow> flows) {
  std::uint64_t wrong = 0;
  for (const Flow& flow : flows) {
    std::span<const std::byte> arrived;
    if (flow.way.to) {
      const auto fetched = host_region(set_.size() + 1).first(flow.size);
      const DeviceIndex only[] = {*flow.way.to};
      set_.once(only, [this, flow, fetched](DeviceIndex d) {
        set_.device(d).stream().download(target(flow), flow.offset, fetched);
      });
      arrived = fetched;
    } else {
      arrived = host_region(flow.way.from->value + 1).first(flow.size);
    }
    wrong += count_wrong_words(key_of(flow.way.from), arrived);
  }
  return wrong;
}

// Measures the ways at once. `piece`: bytes that each way moves per command; ways into the same
// device have a part of its memory each.
void LinkMatrix::move(std::string label, const char* mode, LinkRecord link,
                      std::span<const Way> ways, Bytes piece) {
  std::vector<Flow> flows;
  std::vector<DeviceIndex> who;
  std::vector<Bytes> used(set_.size());
  for (const Way& way : ways) {
    const bool shares_target = way.from && way.to;
    flows.push_back({way, shares_target ? used[way.to->value] : 0, piece});
    if (shares_target) used[way.to->value] += piece;
    for (const auto& end : {way.from, way.to})
      if (end) add_once(who, *end);
  }
  poison(flows);
  const auto samples = set_.together().measure(
      who, repetitions_, [this, flows](DeviceIndex device) { enqueue(device, flows); });
  link.bytes = piece * amounts_.pieces * ways.size();
  link.wrong = count_wrong(flows);
  for (std::size_t i = 0; link.from.empty() && i < who.size(); ++i) {
    LinkRecord::Share& share = link.devices.emplace_back();
    share.device = set_.traits(who[i]).id;
    for (const Way& way : ways)
      if (way.from == who[i] || (!way.from && way.to == who[i]))
        share.bytes += piece * amounts_.pieces;
    for (const TogetherSample& sample : samples)
      share.samples.push_back(sample[i].end - sample[i].begin);
  }
  add(std::move(label), mode, who, std::move(link), whole_times(samples));
}

void LinkMatrix::add(std::string label, const std::string& mode, std::span<const DeviceIndex> who,
                     LinkRecord link, std::vector<Nanos> samples) {
  report_.runs.push_back(link_case("links", std::move(label), in_use_ ? mode : mode + "_staged",
                                   set_.ids(who), std::move(link), std::move(samples)));
}

void LinkMatrix::transfer(const Way& way, bool both_ways) {
  const auto name = [&](const std::optional<DeviceIndex>& end) {
    return end ? set_.traits(*end).id : kLinksHost;
  };
  LinkRecord link;
  link.from = name(way.from);
  link.to = name(way.to);
  if (way.from && way.to) link.path = to_string(set_.peer(*way.from).path(*way.to));
  const std::string label = link.from + " to " + link.to;
  const Way ways[] = {way, {way.to, way.from}};
  move(label, both_ways ? "both_ways" : "one_way", std::move(link),
       std::span(ways).first(both_ways ? 2 : 1), amounts_.piece);
}

void LinkMatrix::host() {
  for (const DeviceIndex device : set_.all()) {
    transfer({{}, device}, false);
    transfer({device, {}}, false);
    transfer({{}, device}, true);
  }
  if (set_.size() < 2) return;
  for (const char* crowd : {"up", "down", "up-and-down"}) {
    const std::string_view which = crowd;
    std::vector<Way> ways;
    for (const DeviceIndex device : set_.all()) {
      if (which != "down") ways.push_back({{}, device});
      if (which != "up") ways.push_back({device, {}});
    }
    move(crowd, kAtOnce, {}, ways, amounts_.piece);
  }
}

void LinkMatrix::pairs() {
  std::vector<Way> every;
  for (const DeviceIndex from : set_.all()) {
    for (const DeviceIndex to : set_.all()) {
      if (from == to) continue;
      transfer({from, to}, false);
      if (from < to) transfer({from, to}, true);
    }
  }
  // Each device begins with the next one, so that not all of them send to the same one first.
  for (std::uint32_t step = 1; step < set_.size(); ++step)
    for (const DeviceIndex from : set_.all())
      every.push_back(
          {from, DeviceIndex{static_cast<std::uint32_t>((from.value + step) % set_.size())}});
  if (every.empty()) return;
  LinkRecord link;
  link.path = set_.path_among(set_.all());
  constexpr Bytes kPage = 4096;
  move("devices", kAtOnce, std::move(link), every,
       std::max(kPage, amounts_.piece / (set_.size() - 1) / kPage * kPage));
}

void LinkMatrix::latency_of(std::span<const DeviceIndex> who) {
  const auto exchange = [this, all = std::vector(who.begin(), who.end())](DeviceIndex device) {
    const std::vector<DeviceIndex> others = others_of(all, device);
    set_.peer(device).sync(others, others);
  };
  const auto queued = [exchange](DeviceIndex device) {
    for (std::uint64_t k = 0; k < kQueuedCalls; ++k) exchange(device);
  };
  const std::string label = fmt::format("{}", fmt::join(set_.ids(who), " and "));
  LinkRecord link;
  link.path = set_.path_among(who);
  add(label, "latency_isolated", who, link,
      whole_times(set_.together().measure(who, repetitions_, exchange)));
  link.calls = kQueuedCalls;
  add(label, "latency_back_to_back", who, link,
      whole_times(set_.together().measure(who, repetitions_, queued)));
}

void LinkMatrix::latency() {
  for (const DeviceIndex one : set_.all()) {
    for (const DeviceIndex other : set_.all()) {
      const DeviceIndex pair[] = {one, other};
      if (one < other) latency_of(pair);
    }
  }
  if (set_.size() > 2) latency_of(set_.all());
}

}  // namespace mgpu
