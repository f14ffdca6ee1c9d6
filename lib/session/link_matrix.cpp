#include "lib/session/link_matrix.hpp"

#include <algorithm>

#include "lib/exchange/verifiable.hpp"

namespace mgpu {
namespace {

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
                       bool in_use, LinksReport& report)
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
LinkMoves LinkMatrix::move(std::span<const Way> ways, Bytes piece, std::vector<LinkShare>* shares) {
  std::vector<Flow> flows;
  std::vector<DeviceIndex> who;
  std::vector<Bytes> used(set_.size());
  for (const Way& way : ways) {
    const bool shares_target = way.from && way.to;
    flows.push_back({way, shares_target ? used[way.to->value] : 0, piece});
    if (shares_target) used[way.to->value] += piece;
    for (const auto& end : {way.from, way.to})
      if (end && std::find(who.begin(), who.end(), *end) == who.end()) who.push_back(*end);
  }
  poison(flows);
  const auto samples = set_.together().measure(
      who, repetitions_, [this, flows](DeviceIndex device) { enqueue(device, flows); });
  LinkMoves moves{piece * amounts_.pieces * ways.size(), whole_times(samples), count_wrong(flows)};
  if (shares == nullptr) return moves;
  for (std::size_t i = 0; i < who.size(); ++i) {
    LinkShare& share = shares->emplace_back();
    share.device = set_.traits(who[i]).id;
    for (const Way& way : ways)
      if (way.from == who[i] || (!way.from && way.to == who[i]))
        share.bytes += piece * amounts_.pieces;
    for (const TogetherSample& sample : samples)
      share.samples.push_back(sample[i].end - sample[i].begin);
  }
  return moves;
}

void LinkMatrix::host() {
  for (const DeviceIndex device : set_.all()) {
    const std::string id = set_.traits(device).id;
    const Way up{{}, device}, down{device, {}};
    const Way both[] = {up, down};
    report_.transfers.push_back({LinkTraffic::one_way,
                                 kLinksHost,
                                 id,
                                 {},
                                 true,
                                 move(std::span(&up, 1), amounts_.piece, nullptr)});
    report_.transfers.push_back({LinkTraffic::one_way,
                                 id,
                                 kLinksHost,
                                 {},
                                 true,
                                 move(std::span(&down, 1), amounts_.piece, nullptr)});
    report_.transfers.push_back(
        {LinkTraffic::both_ways, kLinksHost, id, {}, true, move(both, amounts_.piece, nullptr)});
  }
  if (set_.size() < 2) return;
  for (const LinkCrowd crowd : {LinkCrowd::up, LinkCrowd::down, LinkCrowd::up_and_down}) {
    std::vector<Way> ways;
    for (const DeviceIndex device : set_.all()) {
      if (crowd != LinkCrowd::down) ways.push_back({{}, device});
      if (crowd != LinkCrowd::up) ways.push_back({device, {}});
    }
    LinkAtOnce& row = report_.at_once.emplace_back();
    row.crowd = crowd;
    row.moves = move(ways, amounts_.piece, &row.devices);
  }
}

void LinkMatrix::pairs() {
  std::vector<Way> every;
  for (const DeviceIndex from : set_.all()) {
    for (const DeviceIndex to : set_.all()) {
      if (from == to) continue;
      const Way way{from, to}, both[] = {way, {to, from}};
      const std::string one = set_.traits(from).id, other = set_.traits(to).id;
      const PeerPath path = set_.peer(from).path(to);
      report_.transfers.push_back({LinkTraffic::one_way, one, other, path, in_use_,
                                   move(std::span(&way, 1), amounts_.piece, nullptr)});
      if (from < to)
        report_.transfers.push_back({LinkTraffic::both_ways, one, other, path, in_use_,
                                     move(both, amounts_.piece, nullptr)});
    }
  }
  // Each device begins with the next one, so that not all of them send to the same one first.
  for (std::uint32_t step = 1; step < set_.size(); ++step)
    for (const DeviceIndex from : set_.all())
      every.push_back(
          {from, DeviceIndex{static_cast<std::uint32_t>((from.value + step) % set_.size())}});
  if (every.empty()) return;
  LinkAtOnce& row = report_.at_once.emplace_back();
  row.crowd = LinkCrowd::devices;
  row.path = set_.path_among(set_.all());
  row.in_use = in_use_;
  constexpr Bytes kPage = 4096;
  row.moves = move(every, std::max(kPage, amounts_.piece / (set_.size() - 1) / kPage * kPage),
                   &row.devices);
}

LinkLatency LinkMatrix::latency_of(std::span<const DeviceIndex> who) {
  const auto exchange = [this, all = std::vector(who.begin(), who.end())](DeviceIndex device) {
    const std::vector<DeviceIndex> others = others_of(all, device);
    set_.peer(device).sync(others, others);
  };
  const auto queued = [exchange](DeviceIndex device) {
    for (std::uint64_t k = 0; k < kQueuedCalls; ++k) exchange(device);
  };
  LinkLatency latency;
  latency.devices = set_.ids(who);
  latency.path = set_.path_among(who);
  latency.in_use = in_use_;
  latency.alone = whole_times(set_.together().measure(who, repetitions_, exchange));
  latency.queued = whole_times(set_.together().measure(who, repetitions_, queued));
  latency.queued_calls = kQueuedCalls;
  return latency;
}

void LinkMatrix::short_form() {
  for (const DeviceIndex one : set_.all()) {
    for (const DeviceIndex other : set_.all()) {
      if (!(one < other)) continue;
      const Way both[] = {{one, other}, {other, one}};
      const DeviceIndex pair[] = {one, other};
      report_.transfers.push_back({LinkTraffic::both_ways, set_.traits(one).id,
                                   set_.traits(other).id, set_.peer(one).path(other), in_use_,
                                   move(both, amounts_.piece, nullptr)});
      report_.latencies.push_back(latency_of(pair));
    }
  }
}

void LinkMatrix::latency() {
  for (const DeviceIndex one : set_.all()) {
    for (const DeviceIndex other : set_.all()) {
      const DeviceIndex pair[] = {one, other};
      if (one < other) report_.latencies.push_back(latency_of(pair));
    }
  }
  if (set_.size() > 2) report_.latencies.push_back(latency_of(set_.all()));
}

}  // namespace mgpu
