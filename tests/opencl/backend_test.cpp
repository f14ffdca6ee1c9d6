// The OpenCL backend on whatever devices there are: PoCL is enough, its sub-devices make several.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/exec/cl_backend.hpp"
#include "lib/exec/cl_program_cache.hpp"
#include "lib/session/session.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;
namespace fs = std::filesystem;

using mgpu::testing::test_devices;

namespace {

constexpr EmbeddedText kKernels[] = {
    kSumKernel,
    {"grow.cl", "__kernel void grow(__global uint* x, uint by) { x[0] = 3 * x[0] + by; }\n"},
    {"broken.cl", "__kernel void broken(__global int* x) { x[0] = nonsense; }\n"}};

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("mgpu-test-" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

}  // namespace

TEST_CASE("devices are described and listed best first") {
  const auto backend = make_cl_backend({kKernels, {}});
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

TEST_CASE("a device cannot be split into more parts than it has units") {
  const auto backend = make_cl_backend({kKernels, {}});
  const Device device = backend->enumerate().devices.front();
  CHECK_THROWS_AS(backend->split(device, device.compute_units + 1), Error);
  CHECK_THROWS_AS(backend->split(device, 0), Error);
}

TEST_CASE(
    "a kernel that does not build is unsupported, in the compiler's words on one line, and the "
    "device lives on") {
  const auto backend = make_cl_backend({kKernels, {}});
  const auto open = backend->open(backend->enumerate().devices.front());
  try {
    open->resources().kernel("broken.cl", "broken", "");
    FAIL("it built");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    const std::string what = error.what();
    CHECK(what.find("broken.cl") != std::string::npos);
    CHECK(what.find("nonsense") != std::string::npos);
    CHECK(what.find('\n') == std::string::npos);
  }
  CHECK(open->resources().kernel("sum.cl", "sum_slice", "") != nullptr);
  CHECK_THROWS_AS(open->resources().kernel("missing.cl", "x", ""), Error);
  CHECK_THROWS_AS(open->resources().kernel("sum.cl", "no_such_entry", ""), Error);
}

TEST_CASE(
    "a series of launches is one command, with what each of them was given, and what comes after "
    "waits for all of it") {
  const auto backend = make_cl_backend({kKernels, {}});
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

TEST_CASE("an allocation beyond the device is refused as out of memory") {
  const auto backend = make_cl_backend({kKernels, {}});
  const Device device = backend->enumerate().devices.front();
  const auto open = backend->open(device);
  try {
    open->resources().allocate(device.max_allocation + 1);
    FAIL("it was allocated");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::out_of_memory);
  }
}

TEST_CASE(
    "a driver that has no memory is told from one that fails, which reports a full device as out "
    "of resources") {
  CHECK(allocation_failure("allocating", CL_OUT_OF_RESOURCES).kind() == ErrorKind::out_of_memory);
  CHECK(allocation_failure("allocating", CL_MEM_OBJECT_ALLOCATION_FAILURE).kind() ==
        ErrorKind::out_of_memory);
  CHECK(allocation_failure("allocating", CL_INVALID_CONTEXT).kind() == ErrorKind::device);
  CHECK(cl_failure("a kernel", CL_OUT_OF_RESOURCES).kind() == ErrorKind::device);
  CHECK(cl_failure("a kernel", -9999).kind() == ErrorKind::device);
  CHECK(std::string(allocation_failure("allocating 1 byte", CL_INVALID_CONTEXT).what()) ==
        "allocating 1 byte: CL_INVALID_CONTEXT (-34)");
}

TEST_CASE(
    "a device that notifies does so when a batch is complete, and when a handicap's hold begins") {
  const auto backend = make_cl_backend({kKernels, {}});
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
    open->notifier().wait(epoch, far_too_long);  // nobody polls
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

TEST_CASE("built programs are kept, and a damaged file is replaced") {
  const Folder folder;
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> devices;
  platforms.front().getDevices(CL_DEVICE_TYPE_ALL, &devices);
  const cl::Context context(devices.front());
  const ClProgramCache cache(folder.path);  // the backend's own, but for PoCL's devices: those keep
                                            // their programs themselves
  const auto build = [&] {
    cache.build(context, devices.front(), "sum.cl", kSumKernel.text, "-DUNUSED=1");
  };
  build();
  REQUIRE(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
  const fs::path file = fs::directory_iterator(folder.path)->path();
  const auto size = fs::file_size(file);
  build();
  CHECK(fs::file_size(file) == size);
  fs::resize_file(file, size - 100);  // the key is whole, the binary is not
  build();
  CHECK(fs::file_size(file) == size);
  std::ofstream(file) << "garbage";
  build();
  CHECK(fs::file_size(file) == size);
}

TEST_CASE("a kept program is that of one platform, device, driver, text and set of options") {
  const Folder folder;
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> devices;
  platforms.front().getDevices(CL_DEVICE_TYPE_ALL, &devices);
  const cl::Device& device = devices.front();
  const cl::Context context(device);
  const ClProgramCache cache(folder.path);
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder.path), fs::directory_iterator());
  };
  cache.build(context, device, "sum.cl", kSumKernel.text, "-DUNUSED=1");
  std::ifstream file(fs::directory_iterator(folder.path)->path(), std::ios::binary);
  std::vector<std::string> lines(6);
  for (std::string& line : lines) std::getline(file, line);
  const auto text = [](const std::string& info) { return std::string(info.c_str()); };
  CHECK(lines[1] == text(platforms.front().getInfo<CL_PLATFORM_VERSION>()));
  CHECK(lines[2] == text(device.getInfo<CL_DEVICE_NAME>()));
  CHECK(lines[3] == text(device.getInfo<CL_DEVICE_VERSION>()));
  CHECK(lines[4] == text(device.getInfo<CL_DRIVER_VERSION>()));
  CHECK(lines[5] == "-DUNUSED=1");
  cache.build(context, device, "sum.cl", kSumKernel.text, "-DUNUSED=2");
  CHECK(files() == 2);
  cache.build(context, device, "sum.cl", std::string(kSumKernel.text) + "\n", "-DUNUSED=1");
  CHECK(files() == 3);
}

TEST_CASE(
    "a session on real devices: right under every strategy, in both modes, with parts that add "
    "up") {
  const auto backend = make_cl_backend({kKernels, {}});
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
  options.stop.exactly = 3;
  QuietObserver observer;
  const Report report = run_session(*backend, options, {}, observer);
  for (const std::string& warning : observer.warnings) MESSAGE(warning);
  REQUIRE(report.runs.size() == 2 * all_strategies().size());
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.strategy);
    CAPTURE(to_string(run.mode));
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::passed);
    Items items = 0;
    for (const PerDevice& device : run.per_device) items += device.parts.items;
    CHECK(items == params.size);
  }
}
