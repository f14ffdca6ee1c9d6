// Tests of the OpenCL backend on any devices, also throttled ones: PoCL is enough, and its
// sub-devices serve as several. Only lower bounds of times are checked, because those hold on a
// busy machine.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/opencl/cl_backend.hpp"
#include "lib/opencl/cl_program_cache.hpp"
#include "lib/session/session.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sum_workload.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::test {
namespace {

using testing::test_devices;

// The sum, the kernel that slows a GPU down, and one that does not build.
const std::vector<EmbeddedText> kBackendKernels = [] {
  std::vector<EmbeddedText> kernels{
      kSumKernel,
      {"grow.cl",
       "__kernel void grow(__global uint* x, uint by) { x[0] = 3 * x[0] + by; }\n"
       "__kernel void grow_late(__global uint* x, uint by) {\n"
       "  uint y = by;\n"
       "  for (uint i = 0; i < 5000000; ++i) y = (y ^ i) * 1664525u + 1013904223u;\n"
       "  x[0] = 3 * x[0] + by + (y == 7u);\n"
       "}\n"},
      {"fixed.cl",
       "__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void fixed(__global uint* x) "
       "{\n"
       "  x[get_global_id(0)] = get_local_size(0);\n"
       "}\n"},
      {"groups.cl",
       "__kernel void groups(__global uint* x) { x[get_global_id(0)] = get_local_size(0); }\n"},
      {"broken.cl", "__kernel void broken(__global int* x) { x[0] = nonsense; }\n"}};
  for (const EmbeddedText& each : embedded_kernels())
    if (each.file == "spin.cl") kernels.push_back(each);
  return kernels;
}();

struct ProgramFolder {
  ProgramFolder()
      : path(std::filesystem::temp_directory_path() / ("mgpu-test-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~ProgramFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("backend: devices are described and listed best first") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const auto found = backend->enumerate();
  REQUIRE_FALSE(found.devices.empty());
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    const Device& device = found.devices[i];
    CHECK_FALSE(device.name.empty());
    CHECK(device.global_memory > 0);
    CHECK(device.compute_units > 0);
    CHECK(device.score > 0);
    if (i > 0) CHECK(device.score <= found.devices[i - 1].score);
  }
}

TEST_CASE("backend: a device cannot be split into more parts than it has units") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const Device device = backend->enumerate().devices.front();
  CHECK_THROWS_AS(backend->split(device, device.compute_units + 1), Error);
  CHECK_THROWS_AS(backend->split(device, 0), Error);
}

TEST_CASE(
    "backend: a kernel that does not build is unsupported, in the compiler's words on one line") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const auto open = backend->open(backend->enumerate().devices.front());
  const std::string what =
      refusal([&] { open->resources().kernel("broken.cl", "broken", ""); }, ErrorKind::unsupported);
  CHECK((has(what, "broken.cl") && has(what, "nonsense") && !has(what, "\n")));
  CHECK(open->resources().kernel("sum.cl", "sum_slice", "") != nullptr);
  CHECK_THROWS_AS(open->resources().kernel("missing.cl", "x", ""), Error);
  CHECK_THROWS_AS(open->resources().kernel("sum.cl", "no_such_entry", ""), Error);
}

TEST_CASE("backend: a kernel for larger work-groups than the device has is unsupported") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const Device device = backend->enumerate().devices.front();
  const auto open = backend->open(device);
  const std::size_t most = device.max_work_group;
  const auto fixed = [&](std::size_t group) {
    return open->resources().kernel("fixed.cl", "fixed", " -DGROUP=" + std::to_string(group));
  };
  CHECK(fixed(1)->group_limits().allow({1, 1, 1}));
  const std::string what = refusal([&] { fixed(2 * most); }, ErrorKind::unsupported);
  CAPTURE(what);
  CHECK(has(what, "fixed"));
  const auto any = open->resources().kernel("grow.cl", "grow", "");
  CHECK(any->group_limits().all <= most);
  CHECK_FALSE(any->group_limits().allow({most + 1, 1, 1}));
}

TEST_CASE("backend: a launch that does not suit is unsupported, and the device goes on") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const Device device = backend->enumerate().devices.front();
  const auto open = backend->open(device);
  DeviceResources& resources = open->resources();
  const auto kernel = resources.kernel("grow.cl", "grow", "");
  const auto number = resources.allocate(sizeof(std::uint32_t));
  const std::size_t large = 2 * device.max_work_group;
  const std::string what = refusal(
      [&] {
        resources.try_out([&](Stream& stream) {
          stream.begin_series(2);
          stream.launch(*kernel, {{large, 1, 1}, {large, 1, 1}}, {number.get(), std::uint32_t{1}});
        });
      },
      ErrorKind::unsupported);
  CHECK(has(what, std::to_string(large)));
  const std::uint32_t one = 1;
  std::uint32_t seen = 0;
  resources.try_out([&](Stream& stream) {
    stream.upload(*number, 0, std::as_bytes(std::span(&one, 1)));
    stream.launch(*kernel, {{1, 1, 1}, {1, 1, 1}}, {number.get(), std::uint32_t{4}});
    stream.download(*number, 0, std::as_writable_bytes(std::span(&seen, 1)));
  });
  CHECK(seen == 7);
}

TEST_CASE("backend: a CPU's driver chooses work-groups of few small grids, or compiles for each") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const auto open = backend->open(test_devices(*backend).front());
  if (!open->resources().traits().cpu) return;
  DeviceResources& resources = open->resources();
  const auto kernel = resources.kernel("groups.cl", "groups", "");
  const auto sizes = resources.allocate(64 * sizeof(std::uint32_t));
  std::vector<std::uint32_t> seen;
  for (const std::size_t items : {23, 29, 31, 37, 41, 43, 47, 23}) {
    resources.try_out([&](Stream& stream) {
      stream.launch(*kernel, {{items, 1, 1}, {0, 0, 0}}, {sizes.get()});
      stream.download(*sizes, 0, std::as_writable_bytes(std::span(&seen.emplace_back(), 1)));
    });
  }
  CHECK(std::vector(seen.begin() + 4, seen.end() - 1) == std::vector<std::uint32_t>{1, 1, 1});
  CHECK(seen.back() == seen.front());
}

TEST_CASE("backend: a compiler that refuses a hint to another one does not get it") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const auto open = backend->open(backend->enumerate().devices.front());
  for (const char* limit : {"64", "32"})  // before and after the first refusal
    CHECK(open->resources().kernel("grow.cl", "grow",
                                   std::string(" -cl-nv-maxrregcount=") + limit) != nullptr);
  CHECK(refusal([&] { open->resources().kernel("broken.cl", "broken", " -cl-nv-verbose"); },
                ErrorKind::unsupported)
            .find("nonsense") != std::string::npos);
}

TEST_CASE("backend: a series of launches is one command, with what each of them was given") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const auto open = backend->open(backend->enumerate().devices.front());
  DeviceResources& resources = open->resources();
  const auto kernel = resources.kernel("grow.cl", "grow", "");
  const auto number = resources.allocate(sizeof(std::uint32_t));
  const std::uint32_t zero = 0;
  std::uint32_t seen = 0;
  const auto run = [&](unsigned series, std::initializer_list<std::uint32_t> values) {
    Stream& stream = open->stream();
    stream.upload(*number, 0, std::as_bytes(std::span(&zero, 1)));
    stream.begin_series(series);
    for (const std::uint32_t by : values)
      stream.launch(*kernel, {{1, 1, 1}, {1, 1, 1}}, {number.get(), by});
    stream.download(*number, 0, std::as_writable_bytes(std::span(&seen, 1)));
    const BatchId batch = open->submit();
    while (!open->complete(batch)) std::this_thread::yield();
    std::vector<RawCommand> kernels;
    for (RawCommand& command : open->take(batch)) {
      CHECK(command.started <= command.ended);
      if (command.kind == CommandKind::compute) kernels.push_back(std::move(command));
    }
    return kernels;
  };
  const std::vector<RawCommand> together = run(5, {1, 1, 2, 2, 1});
  CHECK(seen == 81 + 27 + 18 + 6 + 1);
  REQUIRE(together.size() == 1);
  CHECK(together.front().label.text() == "grow");
  CHECK(run(0, {2, 2}).size() == 2);
  CHECK(seen == 8);
  CHECK(run(2, {1, 2, 3}).size() == 2);  // the last one by itself
  CHECK(seen == 9 + 6 + 3);
}

TEST_CASE(
    "backend: launches side by side are one command, after those before and before later ones") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const auto open = backend->open(backend->enumerate().devices.front());
  DeviceResources& resources = open->resources();
  const auto kernel = resources.kernel("grow.cl", "grow", "");
  const auto slow = resources.kernel("grow.cl", "grow_late", "");  // takes milliseconds
  constexpr unsigned count = 11;                                   // more than there are queues
  std::vector<std::unique_ptr<Buffer>> numbers;
  while (numbers.size() < count) numbers.push_back(resources.allocate(sizeof(std::uint32_t)));
  Stream& stream = open->stream();
  const auto grow = [&](unsigned which, std::uint32_t by, bool late = false) {
    stream.launch(late ? *slow : *kernel, {{1, 1, 1}, {1, 1, 1}}, {numbers[which].get(), by});
  };
  std::vector<std::uint32_t> values(count), seen(count);
  for (unsigned turn = 0; turn < 3; ++turn) {
    for (unsigned i = 0; i < count; ++i) values[i] = i + turn;
    for (unsigned i = 0; i < count; ++i)
      stream.upload(*numbers[i], 0, std::as_bytes(std::span(&values[i], 1)));
    grow(0, 1, true);
    stream.begin_side_by_side(count);
    for (unsigned i = 0; i < count; ++i) grow(i, i, i + 1 == count);
    grow(0, 2);
    grow(count - 1, 3);
    for (unsigned i = 0; i < count; ++i)
      stream.download(*numbers[i], 0, std::as_writable_bytes(std::span(&seen[i], 1)));
    const BatchId batch = open->submit();
    while (!open->complete(batch)) std::this_thread::yield();
    std::vector<std::string> labels;
    std::uint64_t ended = 0;
    for (const RawCommand& command : open->take(batch)) {
      if (command.kind != CommandKind::compute) continue;
      labels.push_back(command.label.text());
      CHECK(command.started >= ended);
      CHECK(command.ended >= command.started);
      ended = command.ended;
    }
    REQUIRE(labels.size() == 4);
    CHECK(labels[1] == "grow|grow|grow|grow|grow|grow|grow|grow|grow|grow|grow_late");
    CHECK(seen[0] == 3 * (3 * (3 * turn + 1)) + 2);
    for (unsigned i = 1; i + 1 < count; ++i) CHECK(seen[i] == 3 * (i + turn) + i);
    CHECK(seen[count - 1] == 3 * (3 * (count - 1 + turn) + count - 1) + 3);
  }
}

TEST_CASE("backend: an allocation beyond the device is refused as out of memory") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  const Device device = backend->enumerate().devices.front();
  const auto open = backend->open(device);
  CHECK(kind_of_error([&] { open->resources().allocate(device.max_allocation + 1); }) ==
        ErrorKind::out_of_memory);
}

TEST_CASE("backend: a driver that has no memory is distinguished from one that fails") {
  CHECK(allocation_failure("allocating", CL_OUT_OF_RESOURCES).kind() == ErrorKind::out_of_memory);
  CHECK(allocation_failure("allocating", CL_MEM_OBJECT_ALLOCATION_FAILURE).kind() ==
        ErrorKind::out_of_memory);
  CHECK(allocation_failure("allocating", CL_INVALID_CONTEXT).kind() == ErrorKind::device);
  CHECK(cl_failure("a kernel", CL_OUT_OF_RESOURCES).kind() == ErrorKind::device);
  CHECK(cl_failure("a kernel", -9999).kind() == ErrorKind::device);
  CHECK(
      has(allocation_failure("allocating", CL_INVALID_CONTEXT).what(), "CL_INVALID_CONTEXT (-34)"));
}

TEST_CASE(
    "backend: a device notifies when a batch is complete, and when a handicap's hold begins") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  Handicap handicap;
  handicap.delay = std::chrono::milliseconds(50);
  for (const Device& device : test_devices(*backend)) {
    const auto open = backend->open(device, handicap);
    CHECK(open->notifies() == device.is_cpu());
    if (!open->notifies()) continue;
    constexpr Nanos far_too_long = std::chrono::minutes(1);
    const std::vector<std::uint64_t> values{3, 4};
    const auto in = open->resources().allocate(16), out = open->resources().allocate(8);
    const auto kernel = open->resources().kernel("sum.cl", "sum_slice", "");

    std::uint64_t epoch = open->notifier().epoch();
    open->stream().upload(*in, 0, std::as_bytes(std::span(values)));
    BatchId batch = open->submit();
    open->notifier().wait(epoch, far_too_long);  // no thread polls
    CHECK(open->notifier().epoch() == epoch + 1);
    CHECK(open->complete(batch));
    open->take(batch);

    epoch = open->notifier().epoch();
    open->begin_slice();
    open->stream().launch(*kernel, {{1, 1, 1}, {1, 1, 1}},
                          {in.get(), std::uint64_t{0}, std::uint64_t{2}, out.get(), 0u});
    batch = open->submit();
    open->notifier().wait(epoch, far_too_long);
    CHECK_FALSE(open->complete(batch));
    REQUIRE(open->due());
    std::this_thread::sleep_for(handicap.delay);
    epoch = open->notifier().epoch();
    open->complete(batch);  // releases it
    CHECK_FALSE(open->due());
    open->notifier().wait(epoch, far_too_long);
    CHECK(open->complete(batch));
    CHECK(open->take(batch).size() == 2);
  }
}

TEST_CASE("backend: built programs are kept, a damaged file is replaced") {
  const ProgramFolder folder;
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> devices;
  platforms.front().getDevices(CL_DEVICE_TYPE_ALL, &devices);
  const cl::Device& device = devices.front();
  const cl::Context context(device);
  // Tests the backend's own cache, which it does not use for PoCL's devices: PoCL caches its
  // programs itself.
  const ClProgramCache cache(folder.path);
  const auto build = [&](const char* options = "-DUNUSED=1", const char* end = "") {
    cache.build(context, device, "sum.cl", std::string(kSumKernel.text) + end, options);
  };
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path),
                         std::filesystem::directory_iterator());
  };
  build();
  REQUIRE(files() == 1);
  const std::filesystem::path file = std::filesystem::directory_iterator(folder.path)->path();
  const auto size = std::filesystem::file_size(file);
  build();
  CHECK(std::filesystem::file_size(file) == size);
  std::filesystem::resize_file(file, size - 100);  // the key is whole, the binary is truncated
  build();
  CHECK(std::filesystem::file_size(file) == size);
  std::ofstream(file) << "garbage";
  build();
  CHECK(std::filesystem::file_size(file) == size);
  // The cached file belongs to one platform, device, driver, text and set of options.
  std::ifstream kept(file, std::ios::binary);
  std::vector<std::string> lines(6);
  for (std::string& line : lines) std::getline(kept, line);
  const auto text = [](const std::string& info) { return std::string(info.c_str()); };
  CHECK(lines[1] == text(platforms.front().getInfo<CL_PLATFORM_VERSION>()));
  CHECK(lines[2] == text(device.getInfo<CL_DEVICE_NAME>()));
  CHECK(lines[3] == text(device.getInfo<CL_DEVICE_VERSION>()));
  CHECK(lines[4] == text(device.getInfo<CL_DRIVER_VERSION>()));
  CHECK(lines[5] == "-DUNUSED=1");
  build("-DUNUSED=2");
  CHECK(files() == 2);
  build("-DUNUSED=1", "\n");
  CHECK(files() == 3);
}

namespace {

using namespace std::chrono_literals;

Nanos length(const RawCommand& command) {
  return Nanos{static_cast<std::int64_t>(command.ended - command.started)};
}

// A device with a resident sum workload, driven by hand.
struct SlowedDevice {
  explicit SlowedDevice(const Handicap& handicap)
      : backend(make_cl_backend({kBackendKernels, {}})), workload(1 << 20) {
    open = backend->open(test_devices(*backend).front(), handicap);
    program = workload.program(open->resources(), Mode::resident,
                               workload.capacity(open->resources().traits(), Mode::resident));
    program->load(open->stream());
    finish(open->submit());
    program->prepare(open->stream());
  }

  BatchId slice(Items begin, Items end) {
    open->begin_slice();
    program->enqueue({begin, end}, 0, open->stream());
    return open->submit();
  }

  std::vector<RawCommand> finish(BatchId batch) {
    while (!open->complete(batch)) std::this_thread::yield();
    return open->take(batch);
  }

  std::unique_ptr<Backend> backend;
  SumWorkload workload;
  std::unique_ptr<OpenDevice> open;
  std::unique_ptr<DeviceProgram> program;
};

}  // namespace

TEST_CASE("handicap: a slowed device stands still after kernels, and the next slice waits") {
  Handicap handicap;
  handicap.slow = 3;
  SlowedDevice bench(handicap);
  const BatchId first = bench.slice(0, 1 << 19), second = bench.slice(1 << 19, 1 << 20);
  while (!bench.open->complete(first)) std::this_thread::yield();
  const DeviceSpan span = bench.open->span(first);
  const auto a = bench.finish(first), b = bench.finish(second);
  for (const auto& commands : {a, b}) {
    REQUIRE(commands.size() == 2);
    CHECK(commands[0].label == "sum_slice");
    CHECK(commands[1].label == "slow-down");
    CHECK(commands[1].kind == CommandKind::compute);
    CHECK(commands[1].started >= commands[0].ended);
    CHECK(commands[1].queued <= commands[1].submitted);
    CHECK(commands[1].submitted <= commands[1].started);
    CHECK(length(commands[1]) >= 1.9 * length(commands[0]));
  }
  CHECK(b[0].started >= a[1].ended);
  CHECK(span.started == a[0].started);
  CHECK(span.ended == a[1].ended);
}

TEST_CASE("handicap: a slow-down that has not begun holds nothing back, and begins at its share") {
  Handicap handicap;
  handicap.slow = 100;
  handicap.slow_from_fraction = 0.5;
  SlowedDevice bench(handicap);
  bench.open->slow_down().begin_sample(bench.backend->now());
  bool held = true;  // a busy machine may look late, but not every time
  for (int i = 0; held && i < 20; ++i) {
    const auto before = bench.finish(bench.slice(0, 1 << 20));
    REQUIRE(before.size() == 2);
    held = length(before[1]) >= 50 * length(before[0]);
  }
  CHECK_FALSE(held);
  bench.open->slow_down().reached(0.5, bench.backend->now());
  const auto after = bench.finish(bench.slice(0, 1 << 20));
  CHECK(length(after[1]) > 90 * length(after[0]));
}

TEST_CASE("handicap: a delayed device begins each slice later, its transfers do not wait") {
  Handicap handicap;
  handicap.delay = 20ms;
  SlowedDevice bench(handicap);
  const auto commands = bench.finish(bench.slice(0, 1 << 10));
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].label == "delay");
  CHECK(length(commands[0]) >= 19ms);
  CHECK(commands[1].started >= commands[0].ended);
  bench.program->collect(bench.open->stream());
  CHECK(bench.finish(bench.open->submit()).size() == 1);  // no slice, no delay
}

TEST_CASE(
    "handicap: a device that is closed, abandoned or allocated from while held does not hang") {
  Handicap handicap;
  handicap.delay = 1h;
  handicap.slow = 1000;
  {
    SlowedDevice closed(handicap);
    closed.slice(0, 1 << 20);
    closed.slice(0, 1 << 20);
  }
  SlowedDevice abandoned(handicap);
  const BatchId batch = abandoned.slice(0, 1 << 10);
  CHECK_FALSE(abandoned.open->complete(batch));
  abandoned.open->abandon();
  abandoned.slice(0, 1 << 10);
  const auto buffer = abandoned.open->resources().allocate(64);
  CHECK(buffer->size() == 64);
  CHECK(abandoned.open->complete(batch));
}

TEST_CASE("backend: a session is right under every strategy, in both modes, also when slowed") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  static SuiteInfo suite;
  suite.name = "sum";
  suite.size_name = "items";
  suite.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
    return std::make_unique<SumWorkload>(params.size);
  };
  SessionOptions options;
  SuiteParams params;
  params.size = 1 << 20;
  options.problems = {{&suite, params}};
  options.modes = {Mode::resident, Mode::end_to_end};
  options.strategies = parse_strategies("all");
  options.devices = test_devices(*backend);
  options.device_counts = {options.devices.size()};
  options.stop.exactly = 2;
  for (const bool slowed : {false, true}) {
    if (slowed) {
      options.handicaps.resize(options.devices.size());
      options.handicaps.front().slow = 3;
      options.handicaps.back().delay = 100us;
    }
    QuietObserver observer;
    const Report report = run_session(*backend, options, {}, observer);
    CHECK(report.devices.front().handicap.slow == (slowed ? 3 : 1));
    REQUIRE(report.runs.size() == 2 * all_strategies().size());
    for (const RunRecord& run : report.runs) {
      INFO(run.strategy, " ", to_string(run.mode), slowed ? " slowed" : "");
      CHECK(run.status == Status::ok);
      CHECK(run.verify.status == VerifyStatus::passed);
      Items items = 0;
      for (const PerDevice& device : run.per_device) items += device.parts.items;
      CHECK(items == params.size);
      Nanos kernels{}, waited{};
      for (const Command& command : run.timeline.commands) {
        if (command.device != DeviceIndex{0}) continue;
        if (command.label == "sum_slice") kernels += command.ended - command.started;
        if (command.label == "slow-down") waited += command.ended - command.started;
      }
      CHECK((!slowed || waited >= 1.9 * kernels));
    }
  }
}

TEST_CASE("backend: a device with a memory pool reuses freed buffers, and frees them for others") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  constexpr Bytes mib = 1 << 20;
  Handicap pool;
  pool.keeps_freed = true;
  pool.memory_cap = 8 * mib;
  const auto device = backend->open(test_devices(*backend).front(), pool);
  DeviceResources& resources = device->resources();
  const auto is_free = [&] { return device->free_memory(); };
  const Bytes before = is_free();  // a part of the cap, as that also holds other programs
  CHECK((before > 6 * mib && before <= 8 * mib));
  for (unsigned i = 0; i < 3; ++i) {
    const auto buffer = resources.allocate(3 * mib);
    const std::vector<std::uint32_t> ours(3 * mib / 4, 17 + i);
    std::vector<std::uint32_t> back(ours.size());
    device->stream().upload(*buffer, 0, std::as_bytes(std::span(ours)));
    device->stream().download(*buffer, 0, std::as_writable_bytes(std::span(back)));
    finish_batch(*backend, *device, device->submit());
    CHECK(back == ours);
    CHECK(is_free() == before - 3 * mib);
  }
  CHECK(is_free() == before);
  auto second = resources.allocate(2 * mib);
  const MemoryPeak reused = device->take_setup_cost().memory;
  CHECK(reused.reused == 2);
  CHECK(reused.evicted == 0);
  CHECK(reused.bytes == 5 * mib);
  const auto large = resources.allocate(6 * mib);  // needs the memory that is kept
  const MemoryPeak evicted = device->take_setup_cost().memory;
  CHECK(evicted.evicted == 1);
  CHECK(evicted.bytes == 8 * mib);
  CHECK_THROWS_AS(resources.allocate(mib), Error);
  second.reset();
  CHECK(is_free() <= 2 * mib);
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("backend: sessions with a memory pool hold no more memory than the first ones") {
  const auto backend = make_cl_backend({kBackendKernels, {}});
  static SuiteInfo suite;
  suite.name = "sum";
  suite.size_name = "items";
  suite.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
    return std::make_unique<SumWorkload>(params.size);
  };
  SessionOptions options;
  SuiteParams params;
  params.size = 1 << 20;  // 8 MiB of values on every device
  options.problems = {{&suite, params}, {&suite, params}};
  options.modes = {Mode::resident};
  options.strategies = parse_strategies("equal");
  options.devices = test_devices(*backend);
  options.device_counts = {options.devices.size()};
  options.handicaps.resize(options.devices.size());
  for (Handicap& handicap : options.handicaps) handicap.keeps_freed = true;
  options.stop.exactly = 1;
  const auto held_after = [&](int sessions) {
    for (int i = 0; i < sessions; ++i) {
      QuietObserver observer;
      const Report report = run_session(*backend, options, {}, observer);
      REQUIRE(report.runs.size() == 2);
      CHECK(report.runs[1].verify.status == VerifyStatus::passed);
      CHECK(report.runs[1].per_device[0].pool.value().reused >= 2);
    }
    Bytes pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages >> pages;  // the second number is what is in memory
    return pages * 4096;
  };
  // A session has 32 MiB of values on two devices. What is held varies by 20 MiB.
  const int first = testing::is_thorough() ? 10 : 3;
  const Bytes few = held_after(first), many = held_after(2 * first);
  CHECK(many <= few + (64 << 20));
}
#endif

}  // namespace mgpu::test
