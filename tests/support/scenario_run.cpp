#include "tests/support/scenario_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include "lib/base/error.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/tree_cuts.hpp"
#include "lib/workload/result_file.hpp"

namespace mgpu {
namespace {

// Returns the index of a device, from the number that devices_of() gave it.
std::size_t index_of(const DeviceTraits& device) {
  return std::stoul(device.id.substr(device.id.find(':') + 1));
}

// Sums of 1, i and i^2 over a set of items, modulo 2^64.
struct Sums {
  std::uint64_t items = 0, numbers = 0, squares = 0;
  void operator+=(const Sums& other) {
    items += other.items;
    numbers += other.numbers;
    squares += other.squares;
  }
};

// Returns the sums over 0..n-1: n (n-1) / 2 and n (n-1) (2n-1) / 6, divided before anything
// overflows; n is at most 2^62.
Sums sums_below(std::uint64_t n) {
  if (n == 0) return {};
  std::uint64_t half = (n % 2 == 0 ? n : n - 1) / 2, odd = n % 2 == 0 ? n - 1 : n,
                third = 2 * n - 1;
  Sums sums{n, half * odd, 0};
  for (std::uint64_t* factor : {&half, &odd, &third}) {
    if (*factor % 3 != 0) continue;
    *factor /= 3;
    break;
  }
  sums.squares = half * odd * third;
  return sums;
}

// Returns the same sums by another way, for verification: the sums over n items yield those over 2n
// and 2n + 1.
Sums sums_by_doubling(std::uint64_t n) {
  Sums s;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t m = s.items;
    s = {2 * m, 2 * s.numbers + m * m, 2 * s.squares + 2 * m * s.numbers + m * m * m};
    if (((n >> bit) & 1) == 0) continue;
    s.numbers += s.items;
    s.squares += s.items * s.items;
    ++s.items;
  }
  return s;
}

std::string digest_of(const Sums& s) {
  return fmt::format("{:016x}{:016x}{:016x}", s.items, s.numbers, s.squares);
}

Bytes bytes_of(double per_item, Items items) {
  return static_cast<Bytes>(std::llround(per_item * static_cast<double>(items)));
}

// Joins slices that follow one another. Accepts slices that a faulty program computes twice, which
// IntervalSet refuses.
std::vector<Slice> joined(std::vector<Slice> slices) {
  std::sort(slices.begin(), slices.end());
  std::vector<Slice> ranges;
  for (const Slice& slice : slices) {
    if (ranges.empty() || slice.begin != ranges.back().end) ranges.push_back(slice);
    ranges.back().end = slice.end;
  }
  return ranges;
}

// Returns the kernels of scenarios. "sum" adds the sums over a slice to those on the device. "first
// sum" does so too; it, "collect" and "round" take as long as their last argument says. All
// iterations of "round" but the last pass no slice.
FakeKernels scenario_kernels() {
  FakeKernelCode sum, first_sum, collect;
  sum.run = [](const Grid&, std::span<const FakeArg> args) {
    const auto held = std::get<std::span<std::byte>>(args[0]);
    Sums sums, below = sums_below(std::get<std::uint64_t>(args[1])),
               upto = sums_below(std::get<std::uint64_t>(args[2]));
    std::memcpy(&sums, held.data(), sizeof sums);
    sums += {upto.items - below.items, upto.numbers - below.numbers, upto.squares - below.squares};
    std::memcpy(held.data(), &sums, sizeof sums);
  };
  sum.ops = [](const Grid&, std::span<const FakeArg> args) {
    return static_cast<double>(std::get<std::uint64_t>(args[2]) - std::get<std::uint64_t>(args[1]));
  };
  const auto as_given = [](std::span<const FakeArg> args) {
    return Nanos{static_cast<std::int64_t>(std::get<std::uint64_t>(args.back()))};
  };
  first_sum = {sum.run, sum.ops, as_given};
  collect.run = [](const Grid&, std::span<const FakeArg>) {};
  collect.time = as_given;
  return {{"sum", sum}, {"first sum", first_sum}, {"round", first_sum}, {"collect", collect}};
}

class ScenarioWorkload final : public Workload, public IterativeWorkload, public PeerExchange {
 public:
  WorkloadInterfaces interfaces() override {
    return {.iterative = shape_.rounds > 0 ? this : nullptr, .exchange = this};
  }
  ScenarioWorkload(const Scenario& scenario, FakeBackend& backend)
      : scenario_(scenario), backend_(backend) {
    const ScenarioWork& work = scenario.work;
    shape_.items = work.items;
    shape_.granularity = work.granularity;
    shape_.cost = work.cost;
    shape_.ops = work.cost.ops * static_cast<double>(work.items);
    shape_.rate_unit = work.rate_unit;
    shape_.rounds = work.rounds;
    shape_.bytes_in = bytes_of(work.cost.in_bytes, work.items) + work.cost.replicated;
    shape_.bytes_out = bytes_of(work.cost.out_bytes, work.items);
  }

  const Shape& shape() const override { return shape_; }

  // Computes how much fits: everything at once or nothing if resident, two slices if end to end.
  Capacity capacity(const DeviceTraits& device, Mode mode) const override {
    const ScenarioWork& work = scenario_.work;
    Holds holds = held_by(work, device.global_memory, mode, scenario_.devices.size());
    if (holds.fits == 0) return {0, 0, 0, std::move(holds.why_not)};
    if (mode == Mode::resident)
      return {holds.fits, holds.pipeline, shape_.bytes_in + shape_.bytes_out, {}};
    const double item = work.cost.in_bytes + work.cost.out_bytes;
    return {
        holds.fits, holds.pipeline, bytes_of(2 * item, holds.pipeline) + work.cost.replicated, {}};
  }

  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity&) override {
    return std::make_unique<Program>(*this, device, mode);
  }

  std::span<const std::byte> transfer_memory() const override { return {}; }
  Exchanged exchanged(Mode mode) const override {
    const ExchangeEstimate& exchange = scenario_.exchange;
    if (!exchange.any()) return {};
    return {exchange.gathers && mode.transfers() && scenario_.work.cost.replicated > 0,
            exchange.combines, exchange.rounds, exchange.halo};
  }
  void connect(PeerGroup& group) override { group_ = &group; }
  void disconnect() override { group_ = nullptr; }
  bool combines() const override { return group_ != nullptr && scenario_.exchange.combines > 0; }
  void exchange_among(std::span<const DeviceIndex> participants) override {
    members_.assign(participants.begin(), participants.end());
  }
  void set_partition(std::span<const Owner> owners) override {
    owners_.assign(owners.begin(), owners.end());
  }
  void begin_sample() override {
    sums_ = {};
    combined_ = false;
    taken_.assign(scenario_.devices.size(), {});
    taking_part_ = 0;
  }
  void merge() override {
    std::size_t parts = 0;
    for (const std::vector<Slice>& taken : taken_)
      parts += parts_of(joined(taken), shape_.items, scenario_.work.merge);
    if (!combined_) backend_.spend(scenario_.work.merge.of(parts));
  }
  std::string digest() const override { return digest_of(sums_); }
  Verdict verify(VerifyLevel, std::uint64_t) override {
    const std::string right = digest_of(sums_by_doubling(shape_.items));
    Verdict verdict{Verdict::Status::passed, "sums over the items' numbers", {}};
    if (digest() != right)
      verdict = {Verdict::Status::failed, verdict.method,
                 "sums " + digest() + " instead of " + right};
    return verdict;
  }
  void write_result(const std::filesystem::path& file) const override {
    write_result_file(file, [&](std::ostream& out) { out << digest() << '\n'; });
  }

 private:
  class Program final : public DeviceProgram, public IterativeProgram, public CombiningProgram {
   public:
    ProgramInterfaces interfaces() override { return {.iterative = this, .combining = this}; }
    Program(ScenarioWorkload& workload, DeviceResources& device, Mode mode)
        : workload_(workload),
          index_(index_of(device.traits())),
          given_(workload.scenario_.devices.at(index_)),
          end_to_end_(mode == Mode::end_to_end),
          sum_(device.kernel("", "sum", "")),
          first_sum_(device.kernel("", "first sum", "")),
          round_(device.kernel("", "round", "")),
          collect_(device.kernel("", "collect", "")),
          held_(device.allocate(sizeof(Sums))),
          peer_(workload.group_ != nullptr ? device.peer() : nullptr) {}

    void load(Stream&) override {}
    void prepare(Stream& stream) override {
      hold({});
      uncollected_ = {};
      any_yet_ = false;
      if (!end_to_end_ || cost().replicated == 0) return;
      if (exchanges() && gather(stream)) return;
      fake_transfer(stream, CommandKind::upload, cost().replicated);
    }
    void enqueue(const Slice& slice, unsigned, Stream& stream) override {
      transfer(stream, CommandKind::upload, bytes_of(cost().in_bytes, slice.size()));
      const bool first = !std::exchange(any_yet_, true);
      if (first) ++workload_.taking_part_;
      uncollected_.push_back(slice);
      if (rounds() > 0) return;
      if (first && given_.estimate.first_slice_discount > Nanos{}) {
        const auto time = static_cast<std::uint64_t>(time_of_first(slice.size()).count());
        stream.launch(*first_sum_, {},
                      {held_.get(), std::uint64_t{slice.begin}, std::uint64_t{slice.end}, time});
      } else {
        stream.launch(*sum_, {},
                      {held_.get(), std::uint64_t{slice.begin}, std::uint64_t{slice.end}});
      }
      transfer(stream, CommandKind::download, bytes_of(cost().out_bytes, slice.size()));
    }
    std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first, std::uint32_t most,
                                 Stream& stream) override {
      for (std::uint32_t k = 0; k < most; ++k) enqueue_round(slice, first + k, stream);
      return most;
    }
    // Enqueues an iteration. All iterations take equally long, to the nanosecond; only the last one
    // computes the sums of the items.
    void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override {
      const auto all = static_cast<std::uint64_t>(time_of_first(slice.size()).count());
      const bool last = round + 1 == rounds();
      const std::uint64_t begin = last ? slice.begin : slice.end,
                          time = all / rounds() + (round < all % rounds() ? 1 : 0);
      stream.launch(*round_, {}, {held_.get(), begin, std::uint64_t{slice.end}, time});
      if (last)
        return transfer(stream, CommandKind::download, bytes_of(cost().out_bytes, slice.size()));
      const ExchangeEstimate& exchange = workload_.scenario_.exchange;
      const auto exchanged = [&](std::uint64_t done) {
        return done * exchange.rounds / (rounds() - 1);
      };  // spread evenly
      const std::vector<DeviceIndex> with = neighbours();
      if (with.empty() || exchanged(round) == exchanged(round + 1)) return;
      for (const DeviceIndex to : with) fake_put(*peer_, to, exchange.halo);
      peer_->sync(with, with);
    }
    Completion collect(Stream& stream) override {
      const std::size_t together =
          exchanges() && (gathers() || workload_.combines()) ? workload_.members_.size() : 1;
      const Nanos fixed = fixed_of(given_.estimate, workload_.taking_part_,
                                   workload_.scenario_.devices.size(), together);
      if (fixed > Nanos{})
        stream.launch(*collect_, {}, {static_cast<std::uint64_t>(fixed.count())});
      return [this] { collected(); };
    }
    void collected() {
      Sums sums;
      std::memcpy(&sums, fake_data(*held_).data(), sizeof sums);
      hold({});
      const std::lock_guard lock(workload_.mutex_);
      workload_.sums_ += sums;
      std::vector<Slice>& taken = workload_.taken_[index_];
      taken.insert(taken.end(), uncollected_.begin(), uncollected_.end());
      uncollected_.clear();
    }

    // Puts the other devices' elements of each part to them, as devices do that combine their
    // parts.
    Completion bring(bool together, Stream&) override {
      if (!together || !exchanges()) return {};
      const std::vector<DeviceIndex>& participants = workload_.members_;
      const ScenarioWork& work = workload_.scenario_.work;
      const std::size_t parts = parts_of(joined(workload_.taken_[index_]), work.items, work.merge);
      for (std::size_t k = 0; k < participants.size(); ++k) {
        if (participants[k] == peer_->self()) continue;
        const Bytes size =
            part_of_bytes({0, workload_.scenario_.exchange.combines}, participants.size(), k)
                .size();
        for (std::size_t part = 0; part < parts; ++part) fake_put(*peer_, participants[k], size);
      }
      meet();
      workload_.combined_ = true;
      return {};
    }

   private:
    bool exchanges() const {
      const auto& participants = workload_.members_;
      return peer_ != nullptr && std::find(participants.begin(), participants.end(),
                                           peer_->self()) != participants.end();
    }
    std::vector<DeviceIndex> others() const { return others_of(workload_.members_, peer_->self()); }
    bool gathers() const {
      const std::vector<DeviceIndex> to = others();
      const bool direct = std::all_of(
          to.begin(), to.end(), [&](DeviceIndex i) { return peer_->path(i) == PeerPath::direct; });
      return end_to_end_ && workload_.scenario_.exchange.gathers &&
             is_gathered(cost().replicated, direct);
    }
    // Returns the devices that own the items before and after its own.
    std::vector<DeviceIndex> neighbours() const {
      std::vector<DeviceIndex> found;
      const std::vector<Owner>& owners = workload_.owners_;
      for (std::size_t k = 0; peer_ != nullptr && k < owners.size(); ++k) {
        if (owners[k].device != peer_->self()) continue;
        if (k > 0) found.push_back(owners[k - 1].device);
        if (k + 1 < owners.size()) found.push_back(owners[k + 1].device);
      }
      return found;
    }
    std::uint32_t rounds() const { return workload_.shape_.rounds; }
    void meet() {
      const std::vector<DeviceIndex> with = others();
      peer_->sync(with, with);
    }
    // Gathers as ReplicatedInput does, without data.
    bool gather(Stream& stream) {
      if (!gathers()) return false;
      const std::vector<DeviceIndex>& participants = workload_.members_;
      const auto at = static_cast<std::size_t>(
          std::find(participants.begin(), participants.end(), peer_->self()) -
          participants.begin());
      const ByteRange part = part_of_bytes({0, cost().replicated}, participants.size(), at);
      for (std::size_t i = 0; i < kGatherPieces; ++i) {
        const Bytes size = part_of_bytes(part, kGatherPieces, i).size();
        if (size == 0) continue;
        fake_transfer(stream, CommandKind::upload, size);
        for (const DeviceIndex to : others()) fake_put(*peer_, to, size);
      }
      meet();
      return true;
    }
    Nanos time_of_first(Items items) const {
      const DeviceEstimate& e = given_.estimate;
      const Nanos time =
          std::max(e.minimum_slice, e.launch - e.first_slice_discount +
                                        from_seconds(static_cast<double>(items) / e.items_per_s));
      return from_seconds(seconds(time) * given_.slow);
    }
    const ItemCost& cost() const { return workload_.shape_.cost; }
    void hold(const Sums& sums) { std::memcpy(fake_data(*held_).data(), &sums, sizeof sums); }
    void transfer(Stream& stream, CommandKind kind, Bytes bytes) {
      if (end_to_end_ && bytes > 0) fake_transfer(stream, kind, bytes);
    }

    ScenarioWorkload& workload_;
    const std::size_t index_;
    const ScenarioDevice& given_;
    bool any_yet_ = false;  // whether it got slices in this sample
    bool end_to_end_;
    std::unique_ptr<Kernel> sum_, first_sum_, round_, collect_;
    std::unique_ptr<Buffer> held_;
    Peer* peer_;  // null: it exchanges nothing
    std::vector<Slice> uncollected_;
  };

  Scenario scenario_;
  FakeBackend& backend_;
  Shape shape_;
  std::mutex mutex_;
  Sums sums_;
  std::atomic<std::size_t> taking_part_ = 0;  // number of devices in this sample
  std::vector<std::vector<Slice>> taken_;     // one list per device
  PeerGroup* group_ = nullptr;
  std::vector<DeviceIndex> members_;    // devices of the group in this sample
  std::vector<Owner> owners_;           // owners of the items, in an iterative sample
  std::atomic<bool> combined_ = false;  // whether the devices combined their parts
};

}  // namespace

std::unique_ptr<FakeBackend> make_scenario_backend(const Scenario& scenario) {
  std::vector<FakeDevice> devices;
  const std::vector<Device> facts = devices_of(scenario);
  for (std::size_t i = 0; i < scenario.devices.size(); ++i) {
    const ScenarioDevice& given = scenario.devices[i];
    FakeDevice device;
    device.facts = facts[i];
    device.ops_per_s = given.estimate.items_per_s / given.slow;
    device.launch = from_seconds(seconds(given.estimate.launch) * given.slow);
    device.minimum_kernel = from_seconds(seconds(given.estimate.minimum_slice) * given.slow);
    device.transfer = given.estimate.transfer;
    device.up = given.estimate.up;
    device.down = given.estimate.down;
    devices.push_back(std::move(device));
  }
  return std::make_unique<FakeBackend>(
      std::move(devices), scenario_kernels(), FakeTime::is_virtual,
      FakeLink{scenario.link_up, scenario.link_down, scenario.network, scenario.exchange.links});
}

std::unique_ptr<Workload> make_scenario_workload(const Scenario& scenario, FakeBackend& backend) {
  return std::make_unique<ScenarioWorkload>(scenario, backend);
}

}  // namespace mgpu
