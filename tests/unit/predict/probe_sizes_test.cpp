// Probes: the number of items and iterations that each takes, and what devices probed together
// reveal about each other.
#include <doctest/doctest.h>

#include "lib/predict/predictor.hpp"
#include "lib/predict/probe.hpp"
#include "tests/support/fake_backend.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using std::chrono::microseconds;

namespace {

FakeDevice plain_device(const std::string& id = "0:0", double ops_per_s = 0) {
  FakeDevice device;
  device.facts.id = id;
  device.facts.global_memory = device.facts.max_allocation = Bytes{1} << 30;
  if (ops_per_s > 0) device.ops_per_s = ops_per_s;
  return device;
}

std::vector<FakeDevice> two_devices() { return {plain_device("0:0"), plain_device("0:1")}; }

// Opened devices with the programs of a workload.
struct OpenedPrograms {
  OpenedPrograms(FakeBackend& in, Workload& workload, Mode mode, bool loads = true)
      : backend(in), executor(in, in.enumerate().devices.size()), of(workload) {
    for (const Device& device : backend.enumerate().devices) {
      open.push_back(backend.open(device));
      const Capacity capacity = workload.capacity(open.back()->resources().traits(), mode);
      programs.push_back(workload.program(open.back()->resources(), mode, capacity));
      if (loads && mode == Mode::resident) programs.back()->load(open.back()->stream());
      finish_batch(backend, *open.back(), open.back()->submit());
      participants.push_back({open.back().get(), programs.back().get()});
    }
  }
  Probe probe(double share, Items fits, std::vector<KnownCosts> known = {}) {
    return run_probe(backend, executor, of, participants, {share, fits, std::move(known)});
  }

  FakeBackend& backend;
  Executor executor;
  Workload& of;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<Participant> participants;
};

// Iterative work: 128 items in a thousand iterations, each of which computes the same sum.
class InRounds final : public Workload, public IterativeWorkload {
 public:
  WorkloadInterfaces interfaces() override { return {.iterative = this}; }
  void set_partition(std::span<const Owner>) override {}
  InRounds(Items fills, std::uint32_t rounds_of_probe, ResultPolicy result_policy)
      : result_policy_(result_policy) {
    shape_.items = 128;
    shape_.rounds = 1000;
    shape_.fills_gpu = fills;
    shape_.probe_rounds = rounds_of_probe;
  }
  const Shape& shape() const override { return shape_; }
  Capacity capacity(const DeviceTraits&, Mode) const override { return {128, 128, 0, ""}; }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode, const Capacity&) override {
    return std::make_unique<Program>(device, result_policy_);
  }
  std::span<const std::byte> transfer_memory() const override { return {}; }
  void begin_sample() override {}
  void merge() override {}
  std::string digest() const override { return ""; }
  Verdict verify(VerifyLevel, std::uint64_t) override { return {}; }
  void write_result(const std::filesystem::path&) const override {}

 private:
  class Program final : public DeviceProgram, public IterativeProgram {
   public:
    ProgramInterfaces interfaces() override { return {.iterative = this}; }
    Program(DeviceResources& device, ResultPolicy result_policy)
        : result_policy_(result_policy),
          kernel_(device.kernel("sum.cl", "sum_slice", "")),
          in_(device.allocate(1024)),
          out_(device.allocate(8)) {}
    void load(Stream&) override {}
    void prepare(Stream&) override {}
    void enqueue(const Slice& slice, unsigned, Stream& stream) override {
      enqueue_round(slice, 0, stream);
    }
    void enqueue_round(const Slice& slice, std::uint32_t, Stream& stream) override {
      stream.launch(*kernel_, {{1, 1, 1}, {1, 1, 1}},
                    {in_.get(), slice.begin, slice.size(), out_.get(), 0U});
    }
    ResultPolicy result_policy() const override { return result_policy_; }

   private:
    ResultPolicy result_policy_;
    std::unique_ptr<Kernel> kernel_;
    std::unique_ptr<Buffer> in_, out_;
  };
  Shape shape_;
  ResultPolicy result_policy_;
};

}  // namespace

TEST_CASE("a probe takes a power of two of granules, and no more than its share") {
  for (const auto& [of, most] :
       {std::pair<Items, Items>{1000, 32}, {1280, 64}, {1279, 32}, {60, 2}, {30, 1}, {3, 1}}) {
    const Items items = of;  // CAPTURE is a lambda, and clang 14 captures no structured binding
    CAPTURE(items);
    FakeBackend backend({plain_device("0:0", 1e6)}, test::sum_kernels());
    test::SumWorkload workload(items);
    OpenedPrograms opened(backend, workload, Mode::resident);
    const Probe probe = opened.probe(0.05, items);
    CHECK(probe.items == most);
    REQUIRE(probe.devices.size() == 1);
    if (most >= 4)
      CHECK(probe.devices[0].compute.per_item_s == doctest::Approx(1e-6).epsilon(1e-3));
    CHECK(opened.probe(1, items).items == items);  // if all items are requested, all are executed
  }
}

TEST_CASE("a probe of a GPU is of as many items as fill it, and as many rounds, as work says") {
  std::map<Items, std::size_t> launched;  // key: number of items
  FakeKernels kernels = test::sum_kernels();
  kernels["sum_slice"].run = [&](const Grid&, std::span<const FakeArg> args) {
    ++launched[std::get<std::uint64_t>(args[2])];
  };
  // Up to 64 items take as long as 64.
  kernels["sum_slice"].ops = [](const Grid&, std::span<const FakeArg> args) {
    return std::max(64.0, static_cast<double>(std::get<std::uint64_t>(args[2])));
  };
  struct Expected {
    DeviceType type;
    Items fills;
    std::uint32_t rounds;
    ResultPolicy result_policy;
    Items items;
    std::size_t launches;  // launches of these items: those of iterations, and one before
  };
  const auto gpu = DeviceType::gpu, cpu = DeviceType::cpu;
  for (const Expected& expected : {Expected{gpu, 0, 0, ResultPolicy::publish, 4, 257},
                                   {gpu, 0, 0, ResultPolicy::slice, 4, 1001},
                                   {gpu, 128, 20, ResultPolicy::publish, 128, 21},
                                   {gpu, 128, 20, ResultPolicy::slice, 128, 21},
                                   {gpu, 1000, 5000, ResultPolicy::publish, 128, 1001},
                                   {cpu, 128, 20, ResultPolicy::publish, 4, 257}}) {
    CAPTURE(expected.items);
    CAPTURE(expected.launches);
    launched.clear();
    FakeDevice device = plain_device("0:0", 1e6);
    device.facts.type = expected.type;
    FakeBackend backend({device}, kernels);
    InRounds workload(expected.fills, expected.rounds, expected.result_policy);
    const Probe probe = OpenedPrograms(backend, workload, Mode::resident)
                            .probe(0.05, 128, {{.full_per_item_s = 1000 * 1e-6}});
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

TEST_CASE("a probe of several GPUs takes no more than a share for each, even to fill them") {
  for (const auto& [fills, items] : {std::pair<Items, Items>{128, 64}, {32, 32}}) {
    std::vector<FakeDevice> devices = two_devices();
    for (FakeDevice& device : devices) device.facts.type = DeviceType::gpu;
    FakeBackend backend(devices, test::sum_kernels());
    InRounds workload(fills, 20, ResultPolicy::publish);
    const Probe probe = OpenedPrograms(backend, workload, Mode::resident).probe(0.05, 128);
    CHECK(probe.items == items);
  }
}

TEST_CASE("a slice that does not fit ends the probe, and no device is lost for it") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    for (const Items too_many :
         {Items{0}, Items{20}, Items{63}}) {  // all slices; all but the small ones; the large one
      FakeBackend backend(two_devices(), test::sum_kernels(), time);
      test::SumWorkload workload(1280, {{}, too_many});
      OpenedPrograms opened(backend, workload, Mode::resident, false);
      const Probe probe = opened.probe(0.05, 1280);
      CHECK(probe.refused);
      CHECK(probe.faults.empty());
      CHECK(probe.devices.empty());
      for (const auto& each : opened.open) CHECK(try_drain(backend, *each));
    }
  }
}

TEST_CASE("with slices of one size, a CPU repeats what a full GPU would not need") {
  Probe probe;
  probe.devices.push_back({{},
                           fit_stage(10, microseconds(100), 10, microseconds(100), 100, 4e-6),
                           {},
                           {10, 10, microseconds(100), microseconds(100)}});
  const DeviceEstimate cpu = estimate_of(probe, 0, {}, Mode::resident, {1, 0, 0}),
                       gpu = estimate_of(probe, 0, {}, Mode::resident, {});
  CHECK(cpu.items_per_s == doctest::Approx(250e3));
  CHECK(cpu.launch == microseconds(60));
  CHECK(cpu.minimum_slice == Nanos{});
  CHECK(gpu.launch == Nanos{});
  CHECK(gpu.minimum_slice == microseconds(100));
}

namespace {

// Probes both devices at once, with 5 % of the items.
Probe probe_of(FakeBackend& backend, Mode mode, Items items = 1280,
               std::vector<Slice>* given = nullptr) {
  test::SumFaults notes;
  notes.given = given;
  test::SumWorkload workload(items, notes);
  return OpenedPrograms(backend, workload, mode).probe(0.05, items);
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
    CHECK(device.down == 0);  // a few bytes reveal no rate
  }
}

TEST_CASE("no two devices send the same piece at once") {
  FakeBackend backend(two_devices(), test::sum_kernels());
  std::vector<Slice> given;
  probe_of(backend, Mode::end_to_end, 1280,
           &given);  // a small slice, four pieces and a large one each
  REQUIRE(given.size() >= 12);
  CHECK(std::vector(given.begin(), given.begin() + 2) == std::vector<Slice>{{0, 16}, {0, 16}});
  for (std::size_t n = 2; n < 10; n += 2) CHECK(given[n] != given[n + 1]);
  CHECK(std::vector(given.begin() + 10, given.begin() + 12) ==
        std::vector<Slice>{{0, 64}, {0, 64}});
  given.clear();
  probe_of(backend, Mode::end_to_end, 30, &given);  // a single granule each
  CHECK(std::vector(given.begin(), given.begin() + 2) == std::vector<Slice>{{0, 1}, {1, 2}});
}
