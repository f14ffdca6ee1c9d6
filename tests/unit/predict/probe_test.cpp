// Lines through probes, and estimates made of them.
#include "lib/predict/probe.hpp"

#include <doctest/doctest.h>

#include "lib/exec/fake_backend.hpp"
#include "lib/predict/predictor.hpp"
#include "lib/predict/probe_reading.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using std::chrono::microseconds;

TEST_CASE("a line goes through both medians") {
  const StageCost cost = fit_stage(10, microseconds(120), 40, microseconds(180), 1000, 0);  // 100 + 2 k
  CHECK(cost.fixed == microseconds(100));
  CHECK(cost.per_item_s == doctest::Approx(2e-6));
}

TEST_CASE("a queue with nothing to do costs nothing") { CHECK(fit_stage(10, Nanos{}, 40, Nanos{}, 1000, 0).per_item_s == 0); }

TEST_CASE("one point makes a line through zero") {
  const StageCost cost = fit_stage(10, microseconds(100), 10, microseconds(100), 1000, 0);
  CHECK(cost.fixed == Nanos{});
  CHECK(cost.per_item_s == doctest::Approx(10e-6));
}

TEST_CASE("where a slice leaves the device idle, the slope is that of a full device") {
  const StageCost cost = fit_stage(10, microseconds(100), 40, microseconds(101), 1000, 0.5e-6);
  CHECK(cost.per_item_s == doctest::Approx(0.5e-6));
  CHECK(cost.fixed == microseconds(81));
  // Neither below it nor a little above, as small slices make less of a device ...
  CHECK(fit_stage(10, microseconds(100), 40, microseconds(160), 1000, 3e-6).per_item_s == doctest::Approx(3e-6));
  CHECK(fit_stage(10, microseconds(100), 40, microseconds(160), 1000, 1.5e-6).per_item_s == doctest::Approx(1.5e-6));
  // ... but far above, the device is slower than it was.
  CHECK(fit_stage(10, microseconds(100), 40, microseconds(160), 1000, 1e-6).per_item_s == doctest::Approx(2e-6));
}

TEST_CASE("a line that falls is taken for latency") {
  const StageCost cost = fit_stage(10, microseconds(110), 40, microseconds(100), 1000, 0);
  CHECK(cost.per_item_s == doctest::Approx(100e-6 / 1000));
  CHECK(cost.fixed.count() > 0);
}

TEST_CASE("an estimate in end-to-end mode knows the links; a CPU's folds its copies into the computing") {
  Probe probe;
  probe.fixed = microseconds(7);
  probe.replicated = microseconds(2);
  const SmallSlices slices{10, 40, microseconds(30), microseconds(60), microseconds(15), 0.6e-6, microseconds(2)};
  probe.devices.push_back({{microseconds(10), 2e-9}, {microseconds(20), 1e-6}, {microseconds(5), 5e-9}, slices, microseconds(3)});
  ItemCost cost;
  cost.in_bytes = 1000;
  cost.out_bytes = 100;
  const DeviceEstimate gpu = estimate_of(probe, 0, cost, Mode::end_to_end, {});
  CHECK(gpu.items_per_s == doctest::Approx(1e6));
  CHECK(gpu.up == doctest::Approx(5e8));
  CHECK(gpu.down == doctest::Approx(2e8));
  CHECK(gpu.launch == microseconds(17));  // what does not grow, and contention
  CHECK(gpu.minimum_slice == microseconds(62));
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {0, 0, 20}).minimum_slice ==
        microseconds(42));  // on the line between the sizes
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {0, 0, 5}).minimum_slice == microseconds(32));
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {0, 0, 400}).minimum_slice == microseconds(62));
  CHECK(gpu.transfer == microseconds(10));
  CHECK(gpu.fixed == microseconds(5));                      // without the replicated inputs, whose bytes are counted
  probe.devices.front().kernels.grows_per_item_s = 0.2e-6;  // those that grow are not what an item costs a full device
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {}).launch == microseconds(2));
  const DeviceEstimate cpu = estimate_of(probe, 0, cost, Mode::end_to_end, {1, 0, 0});
  CHECK(cpu.items_per_s == doctest::Approx(1 / 3.5e-6));
  CHECK(cpu.up == 0);
  CHECK(cpu.launch == microseconds(3));
  CHECK(cpu.fixed == microseconds(7 + 35 - 3));
  // Of 1000 items in pieces of 100, eight cores are seen to upload for 0.55 of 2 us and to download for 0.1 of 0.5, the rest on
  // one.
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {8, 1000, 100}).items_per_s == doctest::Approx(1 / (2.15e-6 + 1.35e-6 / 8)));
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {8, 100, 100}).items_per_s == doctest::Approx(1 / 3.5e-6));  // one piece
  const DeviceEstimate resident = estimate_of(probe, 0, cost, Mode::resident, {});
  CHECK(resident.launch == microseconds(3));
  CHECK(resident.first_slice_discount == Nanos{});
  probe.devices.front().next_slice = microseconds(50);  // more than the only one took besides its items: 42 us
  const DeviceEstimate meeting = estimate_of(probe, 0, cost, Mode::resident, {});
  CHECK(meeting.launch == microseconds(50));
  CHECK(meeting.first_slice_discount == microseconds(8));
  CHECK(meeting.fixed == Nanos{});
  CHECK(estimate_of({}, 0, cost, Mode::resident, {}).items_per_s == 0);
}

TEST_CASE("what kernels wait for their own uploads is not a work of theirs, other gaps are") {
  RawBatch batch;
  const auto add = [&](CommandKind kind, std::uint64_t started, std::uint64_t ended) {
    batch.commands.emplace_back();
    batch.commands.back().kind = kind;
    batch.commands.back().started = started;
    batch.commands.back().ended = ended;
  };
  add(CommandKind::upload, 0, 10);
  add(CommandKind::compute, 12, 20);
  add(CommandKind::upload, 10, 90);
  add(CommandKind::compute, 95, 120);  // 70 of 75 ns it waited for bytes
  add(CommandKind::compute, 125, 200);
  CHECK(kernels_of(batch) == Nanos{200 - 12 - 70});
  CHECK(kernels_of({}) == Nanos{});
}

TEST_CASE("a device that waits for what is not enqueued yet is late; waiting for its own work is not") {
  const auto at = [](CommandKind kind, std::uint64_t queued, std::uint64_t started, std::uint64_t ended) {
    RawCommand command;
    command.kind = kind;
    command.queued = queued;
    command.started = started;
    command.ended = ended;
    return command;
  };
  const DeviceIndex mine{1};
  const RawBatch slice{mine,
                       0,
                       {at(CommandKind::upload, 10, 20, 30), at(CommandKind::compute, 45, 50, 60),  // 15 late
                        at(CommandKind::compute, 70, 75, 80),                                       // part of what kernels take
                        at(CommandKind::compute, 55, 85, 90)}};
  const RawBatch collect{mine,
                         kCollect,
                         {at(CommandKind::upload, 58, 66, 68),        // in time
                          at(CommandKind::compute, 92, 95, 100),      // 2 late
                          at(CommandKind::download, 99, 110, 112)}};  // in time
  const RawBatch of_another{DeviceIndex{0}, 0, {at(CommandKind::upload, 0, 1, 2), at(CommandKind::compute, 50, 51, 52)}};
  const std::vector<RawBatch> batches{of_another, collect, slice};
  CHECK(enqueue_delay_in(batches, mine) == Nanos(17));
  CHECK(enqueue_delay_in(batches, {0}) == Nanos(48));
  CHECK(enqueue_delay_in(batches, {2}) == Nanos{});

  RawSample sample;
  sample.begin = Nanos(1000);
  sample.end = Nanos(1130);
  sample.batches = batches;
  for (const std::uint32_t device : {0u, 1u}) {
    SliceRecord& record = sample.slices.emplace_back();
    record.device = {device};
    record.finished = Nanos(1060 + 40 * device);
  }
  const Execution execution = read_execution(sample, 2);
  CHECK(execution.collecting == std::vector<Nanos>{Nanos{}, Nanos(5)});
  CHECK(execution.afterwards == Nanos(30));
  CHECK(execution.rest == Nanos(130 - 10 - 40));  // device 1: an upload of 10, kernels from 50 to 90
  CHECK(execution.enqueue_delay == Nanos(17));
  sample.end = Nanos(1060);
  CHECK(read_execution(sample, 2).enqueue_delay == Nanos(10));  // no more than the rest
}

TEST_CASE("longer slices than those of a probe hide that the host is late") {
  Probe probe;
  probe.items = 100;
  probe.fixed = microseconds(90);
  probe.enqueue_delay = microseconds(30);
  ProbedDevice& device = probe.devices.emplace_back();
  device.kernels = {25, 100, microseconds(40), microseconds(50), Nanos{}, 0, Nanos{}};
  device.compute = {Nanos{}, 50e-9};
  device.upload = {Nanos{}, 1e-9};  // per byte
  ItemCost cost;
  cost.in_bytes = 10;
  const auto fixed = [&](const Share& share, Mode mode) { return estimate_of(probe, 0, cost, mode, share).fixed; };
  CHECK(fixed({}, Mode::end_to_end) == microseconds(90));           // how many items is not known
  CHECK(fixed({0, 100, 0}, Mode::end_to_end) == microseconds(90));  // as many
  CHECK(fixed({0, 200, 0}, Mode::end_to_end) == microseconds(84));  // 5 us of kernels and 1 us of copies longer
  CHECK(fixed({0, 200, 150}, Mode::end_to_end) == microseconds(90) - Nanos(5500));
  CHECK(fixed({0, 200, 0}, Mode::resident) == microseconds(85));
  CHECK(fixed({0, 5000, 0}, Mode::end_to_end) == microseconds(60));  // no more than it was late
  CHECK(fixed({2, 5000, 0}, Mode::end_to_end) == microseconds(90));  // host threads of a CPU share its cores
  device.per_doubling = microseconds(3);
  CHECK(fixed({0, 400, 0}, Mode::resident) == microseconds(75));  // 6 us of collecting, which hide as well, and 15 of kernels
  CHECK(fixed({0, 6400, 0}, Mode::resident) == microseconds(90 + 18 - 30));
  CHECK(fixed({0, 50, 0}, Mode::resident) == microseconds(90));
}

TEST_CASE("short slices of a CPU are not believed, long ones are") {
  const StageCost known = fit_compute(10, microseconds(100), 40, microseconds(700), 1000, 5e-6, microseconds(1000));
  CHECK(known.per_item_s == doctest::Approx(5e-6));
  CHECK(known.fixed == microseconds(500));
  CHECK(fit_compute(10, microseconds(100), 40, microseconds(700), 1000, 5e-6, microseconds(600)).per_item_s ==
        doctest::Approx(20e-6));
  CHECK(fit_compute(10, microseconds(100), 40, microseconds(700), 1000, 0, microseconds(1000)).per_item_s ==
        doctest::Approx(20e-6));
  // As far as the slice allows: it took no longer than that.
  CHECK(fit_compute(10, microseconds(100), 40, microseconds(120), 1000, 5e-6, microseconds(1000)).per_item_s ==
        doctest::Approx(3e-6));
  const StageCost whole = fit_compute(10, microseconds(100), 40, microseconds(120), 1000, 5e-6, Nanos::max());
  CHECK(whole.per_item_s == doctest::Approx(5e-6));  // the work is superlinear
  CHECK(whole.fixed == Nanos{});
}

TEST_CASE("where work is superlinear, a share is on the line through problems executed whole, or on the way there") {
  const KnownLine known{1000, microseconds(350), {microseconds(100), 0.25e-6}};
  const auto beyond = fit_line(10, microseconds(150), 50, microseconds(160), known, 4000);
  REQUIRE(beyond);
  CHECK(beyond->fixed == microseconds(100));
  CHECK(beyond->per_item_s == doctest::Approx(0.25e-6));
  // From 160 us for 50 items to 350 for 1000.
  const auto before = fit_line(10, microseconds(150), 50, microseconds(160), known, 500);
  REQUIRE(before);
  CHECK(before->per_item_s == doctest::Approx(0.2e-6));
  CHECK(before->fixed == microseconds(150));
  // Slower than it was: nothing known holds.
  CHECK_FALSE(fit_line(50, microseconds(350), 50, microseconds(350), known, 4000));
  CHECK_FALSE(fit_line(10, microseconds(120), 50, microseconds(160), known, 4000));  // 1 us an item
  CHECK(fit_line(50, microseconds(160), 50, microseconds(160), known, 4000));        // but one size: nothing says so
  // A probe of more than that, of a share of less, has its own two sizes.
  CHECK_FALSE(fit_line(500, microseconds(290), 1000, microseconds(300), known, 900));
}

TEST_CASE("a probe takes a power of two of granules, and no more than its share") {
  FakeDevice device;
  device.facts.id = "0:0";
  device.facts.global_memory = device.facts.max_allocation = Bytes{1} << 30;
  device.ops_per_s = 1e6;
  FakeBackend backend({device}, test::sum_kernels());
  Executor executor(backend, 1);
  for (const auto& [items, most] : {std::pair<Items, Items>{1000, 32}, {1280, 64}, {1279, 32}, {60, 2}, {30, 1}, {3, 1}}) {
    CAPTURE(items);
    test::SumWorkload workload(items);
    const auto open = backend.open(backend.enumerate().devices.front());
    const Capacity capacity = workload.capacity(open->resources().traits(), Mode::resident);
    const auto program = workload.program(open->resources(), Mode::resident, capacity);
    program->load(open->stream());
    finish_batch(backend, *open, open->submit());
    const Member member{open.get(), program.get()};
    const Probe probe = run_probe(backend, executor, workload, {&member, 1}, {0.05, capacity.fits, {}});
    CHECK(probe.items == most);
    REQUIRE(probe.devices.size() == 1);
    if (most >= 4) CHECK(probe.devices[0].compute.per_item_s == doctest::Approx(1e-6).epsilon(1e-3));
    // Where all is asked for, all is executed.
    CHECK(run_probe(backend, executor, workload, {&member, 1}, {1, capacity.fits, {}}).items == items);
  }
}

namespace {

// 128 items in a thousand rounds, each of which is the same sum.
class InRounds final : public Workload {
 public:
  InRounds(Items fills, std::uint32_t rounds_of_probe, Brings brings) : brings_(brings) {
    shape_.items = 128;
    shape_.rounds = 1000;
    shape_.fills_gpu = fills;
    shape_.probe_rounds = rounds_of_probe;
  }
  const Shape& shape() const override { return shape_; }
  Capacity capacity(const DeviceTraits&, Mode) const override { return {128, 128, 0, ""}; }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode, const Capacity&) override {
    return std::make_unique<Program>(device, brings_);
  }
  std::span<const std::byte> transfer_memory() const override { return {}; }
  void begin_sample() override {}
  void merge() override {}
  std::string digest() const override { return ""; }
  Verdict verify(VerifyLevel, std::uint64_t) override { return {}; }
  void write_result(const std::filesystem::path&) const override {}

 private:
  class Program final : public DeviceProgram {
   public:
    Program(DeviceResources& device, Brings brings)
        : brings_(brings),
          kernel_(device.kernel("sum.cl", "sum_slice", "")),
          in_(device.allocate(1024)),
          out_(device.allocate(8)) {}
    void load(Stream&) override {}
    void prepare(Stream&) override {}
    void enqueue(const Slice& slice, unsigned, Stream& stream) override { enqueue_round(slice, 0, stream); }
    void enqueue_round(const Slice& slice, std::uint32_t, Stream& stream) override {
      stream.launch(*kernel_, {{1, 1, 1}, {1, 1, 1}}, {in_.get(), slice.begin, slice.size(), out_.get(), 0U});
    }
    Brings brings() const override { return brings_; }

   private:
    Brings brings_;
    std::unique_ptr<Kernel> kernel_;
    std::unique_ptr<Buffer> in_, out_;
  };
  Shape shape_;
  Brings brings_;
};

}  // namespace

TEST_CASE("a probe of a GPU is of as many items as fill it, where the work says so, and of as many rounds") {
  std::map<Items, std::size_t> launched;  // by items
  FakeKernels kernels = test::sum_kernels();
  kernels["sum_slice"].run = [&](const Grid&, std::span<const FakeArg> args) { ++launched[std::get<std::uint64_t>(args[2])]; };
  // Up to 64 items take as long as 64.
  kernels["sum_slice"].ops = [](const Grid&, std::span<const FakeArg> args) {
    return std::max(64.0, static_cast<double>(std::get<std::uint64_t>(args[2])));
  };
  struct Expected {
    DeviceType type;
    Items fills;
    std::uint32_t rounds;
    Brings brings;
    Items items;
    std::size_t launches;  // of these: of rounds, and one before
  };
  const auto gpu = DeviceType::gpu, cpu = DeviceType::cpu;
  for (const Expected& expected : {Expected{gpu, 0, 0, Brings::publish, 4, 257},
                                   {gpu, 0, 0, Brings::slice, 4, 1001},
                                   {gpu, 128, 20, Brings::publish, 128, 21},
                                   {gpu, 128, 20, Brings::slice, 128, 21},
                                   {gpu, 1000, 5000, Brings::publish, 128, 1001},
                                   {cpu, 128, 20, Brings::publish, 4, 257}}) {
    CAPTURE(expected.items);
    CAPTURE(expected.launches);
    launched.clear();
    FakeDevice device;
    device.facts.id = "0:0";
    device.facts.type = expected.type;
    device.facts.global_memory = device.facts.max_allocation = Bytes{1} << 30;
    device.ops_per_s = 1e6;
    FakeBackend backend({device}, kernels);
    Executor executor(backend, 1);
    InRounds workload(expected.fills, expected.rounds, expected.brings);
    const auto open = backend.open(backend.enumerate().devices.front());
    const auto program = workload.program(open->resources(), Mode::resident, {128, 128, 0, ""});
    const Member member{open.get(), program.get()};
    const Probe probe = run_probe(backend, executor, workload, {&member, 1}, {0.05, 128, {{.full_per_item_s = 1000 * 1e-6}}});
    CHECK(probe.items == expected.items);
    CHECK(launched[expected.items] > 0);
    CHECK(launched[expected.items] % expected.launches == 0);
    REQUIRE(probe.devices.size() == 1);
    if (expected.type == cpu || expected.items < 128) continue;
    const StageCost& compute = probe.devices[0].compute;
    const double all = seconds(compute.fixed) + 128 * compute.per_item_s;
    CHECK(all == doctest::Approx(1000 * (128e-6 + seconds(device.launch))).epsilon(0.06));
  }
}

TEST_CASE("a slice that does not fit ends the probe, and no device is lost for it") {
  FakeDevice device;
  device.facts.id = "0:0";
  device.facts.global_memory = device.facts.max_allocation = Bytes{1} << 30;
  FakeDevice other = device;
  other.facts.id = "0:1";
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    for (const Items too_many : {Items{0}, Items{20}, Items{63}}) {  // every slice, all but the small ones, the large one
      FakeBackend backend({device, other}, test::sum_kernels(), time);
      Executor executor(backend, 2);
      test::SumWorkload workload(1280, {{}, too_many});
      std::vector<std::unique_ptr<OpenDevice>> open;
      std::vector<std::unique_ptr<DeviceProgram>> programs;
      std::vector<Member> members;
      for (std::uint32_t i = 0; i < 2; ++i) {
        open.push_back(backend.open(backend.enumerate().devices[i]));
        const Capacity capacity = workload.capacity(open[i]->resources().traits(), Mode::resident);
        programs.push_back(workload.program(open[i]->resources(), Mode::resident, capacity));
        members.push_back({open[i].get(), programs[i].get()});
      }
      const Probe probe = run_probe(backend, executor, workload, members, {0.05, 1280, {}});
      CHECK(probe.refused);
      CHECK(probe.faults.empty());
      CHECK(probe.devices.empty());
      for (const auto& each : open) CHECK(try_drain(backend, *each));
    }
  }
}

TEST_CASE("with slices of one size, a CPU repeats what a full device would not need, a GPU is idle meanwhile") {
  Probe probe;
  probe.devices.push_back(
      {{}, fit_stage(10, microseconds(100), 10, microseconds(100), 100, 4e-6), {}, {10, 10, microseconds(100), microseconds(100)}});
  const DeviceEstimate cpu = estimate_of(probe, 0, {}, Mode::resident, {1, 0, 0}),
                       gpu = estimate_of(probe, 0, {}, Mode::resident, {});
  CHECK(cpu.items_per_s == doctest::Approx(250e3));
  CHECK(cpu.launch == microseconds(60));
  CHECK(cpu.minimum_slice == Nanos{});
  CHECK(gpu.launch == Nanos{});
  CHECK(gpu.minimum_slice == microseconds(100));
}

namespace {

// A probe of both devices at once, of 5 % of the items.
Probe probe_of(FakeBackend& backend, Mode mode, Items items = 1280, std::vector<Slice>* given = nullptr) {
  Executor executor(backend, 2);
  test::SumFaults notes;
  notes.given = given;
  test::SumWorkload workload(items, notes);
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<Member> members;
  for (const Device& device : backend.enumerate().devices) {
    open.push_back(backend.open(device));
    const Capacity capacity = workload.capacity(open.back()->resources().traits(), mode);
    programs.push_back(workload.program(open.back()->resources(), mode, capacity));
    if (mode == Mode::resident) programs.back()->load(open.back()->stream());
    finish_batch(backend, *open.back(), open.back()->submit());
    members.push_back({open.back().get(), programs.back().get()});
  }
  return run_probe(backend, executor, workload, members, {0.05, items, {}});
}

std::vector<FakeDevice> two_devices() {
  std::vector<FakeDevice> devices(2);
  for (FakeDevice& device : devices) device.facts.global_memory = device.facts.max_allocation = Bytes{1} << 30;
  devices[0].facts.id = "0:0";
  devices[1].facts.id = "0:1";
  return devices;
}

}  // namespace

TEST_CASE("each device is given its own marginal cost per slice") {
  std::vector<FakeDevice> devices = two_devices();
  devices[0].ops_per_s = 1e6;
  devices[0].launch = microseconds(10);
  devices[1].ops_per_s = 0.5e6;
  devices[1].launch = microseconds(400);
  FakeBackend backend(devices, test::sum_kernels());
  const Probe probe = probe_of(backend, Mode::resident);
  REQUIRE(probe.devices.size() == 2);
  CHECK(seconds(probe.devices[0].next_slice) == doctest::Approx(10e-6).epsilon(0.05));
  CHECK(seconds(probe.devices[1].next_slice) == doctest::Approx(400e-6).epsilon(0.05));
}

TEST_CASE("devices that share a link are seen to") {
  std::vector<FakeDevice> devices = two_devices();
  for (FakeDevice& device : devices) device.up = 0.5e6;  // pieces of 256 us
  FakeBackend backend(devices, test::sum_kernels(), FakeTime::is_virtual, {0.75e6, 0});
  const Probe probe = probe_of(backend, Mode::end_to_end);
  REQUIRE(probe.devices.size() == 2);
  for (const ProbedDevice& device : probe.devices) {
    CHECK(device.up == doctest::Approx(0.375e6).epsilon(0.05));
    CHECK(device.down == 0);  // of a few bytes nothing is known
  }
}

TEST_CASE("no two devices send the same piece at once") {
  FakeBackend backend(two_devices(), test::sum_kernels());
  std::vector<Slice> given;
  probe_of(backend, Mode::end_to_end, 1280, &given);  // a small one, four pieces and a large one each
  REQUIRE(given.size() >= 12);
  CHECK(std::vector(given.begin(), given.begin() + 2) == std::vector<Slice>{{0, 16}, {0, 16}});
  for (std::size_t n = 2; n < 10; n += 2) CHECK(given[n] != given[n + 1]);
  CHECK(std::vector(given.begin() + 10, given.begin() + 12) == std::vector<Slice>{{0, 64}, {0, 64}});
  given.clear();
  probe_of(backend, Mode::end_to_end, 30, &given);  // a single granule each
  CHECK(std::vector(given.begin(), given.begin() + 2) == std::vector<Slice>{{0, 1}, {1, 2}});
}
