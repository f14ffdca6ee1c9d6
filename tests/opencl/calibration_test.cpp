// Calibration on any devices: the kernels compute what they should, the figures are possible,
// memory is counted.
#include "lib/measure/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/machine.hpp"

namespace mgpu::testing {
namespace {

struct Opened {
  std::unique_ptr<Backend> backend = make_cl_backend({embedded_kernels(), {}});
  std::vector<Device> facts = test_devices(*backend);
  std::vector<std::unique_ptr<OpenDevice>> open = [this] {
    std::vector<std::unique_ptr<OpenDevice>> made;
    for (const Device& device : facts) made.push_back(backend->open(device));
    return made;
  }();
};

template <class T>
std::vector<T> read_all(OpenDevice& device, Buffer& from) {
  std::vector<T> values(from.size() / sizeof(T));
  device.stream().download(from, 0, std::as_writable_bytes(std::span(values)));
  wait_for(device);
  return values;
}

constexpr const char* kVectors = "-DFLOATS=float4 -DUINTS=uint4 -DDOUBLES=double2 -DLINEAR";
constexpr const char* kScalars = "-DFLOATS=float -DUINTS=uint -DDOUBLES=double";

}  // namespace

TEST_CASE("calibration: the integer kernel does all the multiply-adds that are counted") {
  Opened devices;
  OpenDevice& device = *devices.open.front();
  constexpr std::size_t items = 8, most_lanes = 4;
  const auto out = device.resources().allocate(items * most_lanes * sizeof(std::uint32_t));
  for (const std::size_t lanes : {most_lanes, std::size_t{1}}) {
    const auto kernel =
        device.resources().kernel(kCalibrationKernels, "int32", lanes == 1 ? kScalars : kVectors);
    device.stream().launch(*kernel, {{items, 1, 1}, {1, 1, 1}},
                           {out.get(), std::uint32_t{3}, std::uint32_t{12345}});
    const auto found = read_all<std::uint32_t>(device, *out);
    for (std::uint32_t item = 0; item < items; ++item) {
      std::uint32_t expected = 0;
      for (std::uint32_t chain = 0; chain < 8; ++chain) {
        std::uint32_t x = item + chain;
        for (unsigned step = 0; step < 3 * kCalibrationMultiplyAdds / 8; ++step) x = x * x + 12345;
        expected ^= x;
      }
      for (std::size_t lane = 0; lane < lanes; ++lane)
        CHECK(found[item * lanes + lane] == expected);
    }
  }
}

TEST_CASE("calibration: the floating-point kernels do all the multiply-adds that are counted") {
  Opened devices;
  OpenDevice& device = *devices.open.front();
  constexpr std::size_t items = 8;
  const auto out = device.resources().allocate(items * sizeof(double));
  // x * 0.5 + 0 leaves x / 2^48 of every chain after one loop: an exact number, which 47 or 49
  // steps would not give.
  const auto expected = [](std::size_t item) {
    return std::ldexp(8.0 * static_cast<double>(item) + 28, -48);
  };
  const auto fp32 = device.resources().kernel(kCalibrationKernels, "fp32", kScalars);
  device.stream().launch(*fp32, {{items, 1, 1}, {1, 1, 1}},
                         {out.get(), std::uint32_t{1}, 0.5f, 0.0f});
  const auto singles = read_all<float>(device, *out);
  for (std::size_t item = 0; item < items; ++item)
    CHECK(static_cast<double>(singles[item]) == expected(item));
  if (!device.resources().traits().fp64) return;
  const auto fp64 = device.resources().kernel(kCalibrationKernels, "fp64", kScalars);
  device.stream().launch(*fp64, {{items, 1, 1}, {1, 1, 1}},
                         {out.get(), std::uint32_t{1}, 0.5, 0.0});
  const auto doubles = read_all<double>(device, *out);
  for (std::size_t item = 0; item < items; ++item) CHECK(doubles[item] == expected(item));
}

TEST_CASE("calibration: the copy kernel moves every element, in ranges and interleaved") {
  Opened devices;
  OpenDevice& device = *devices.open.front();
  constexpr std::uint32_t items = 16, each = 8;
  std::vector<std::uint32_t> values(items * each *
                                    4);  // both variants move 16 bytes per element here
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint32_t>(i * 2654435761u);
  for (const char* options : {kVectors, kScalars}) {
    CAPTURE(options);
    const auto from = device.resources().allocate(values.size() * 4),
               to = device.resources().allocate(values.size() * 4);
    const auto kernel = device.resources().kernel(kCalibrationKernels, "copy", options);
    device.stream().upload(*from, 0, std::as_bytes(std::span(values)));
    device.stream().launch(*kernel, {{items, 1, 1}, {1, 1, 1}}, {from.get(), to.get(), each});
    CHECK(read_all<std::uint32_t>(device, *to) == values);
  }
}

TEST_CASE("calibration: every figure of a real device is there and possible") {
  Opened devices;
  const Capability found = measure_capability(*devices.backend, *devices.open.front());
  for (const double rate :
       {found.fp32_flops, found.int32_ops, found.memory_bytes_per_s, found.pinned_up,
        found.pinned_down, found.pageable_up, found.pageable_down}) {
    CHECK((rate > 1e6 && rate < 1e15));
  }
  CHECK((found.fp64_flops > 1e6) == devices.facts.front().fp64);
  CHECK(found.launch > Nanos{});
  CHECK(found.next_launch > Nanos{});
  CHECK(found.next_launch < std::chrono::seconds(1));
}

TEST_CASE("calibration: devices that copy together are measured together") {
  Opened devices;
  std::vector<OpenDevice*> open;
  for (const auto& device : devices.open) open.push_back(device.get());
  const LinkCapability link = measure_link(*devices.backend, open);
  for (const double rate : {link.up.all(), link.down.all()}) CHECK((rate > 1e6 && rate < 1e15));
}

TEST_CASE("calibration: free memory shrinks with what is allocated, and parts of a CPU share it") {
  Opened devices;
  OpenDevice& first = *devices.open.front();
  const Bytes before = first.free_memory(), taken = Bytes{64} << 20;
  CHECK(before > 0);
  CHECK(before <= devices.facts.front().global_memory);
  if (!devices.facts.front().is_cpu()) return;  // drivers of GPUs report memory with delay
  const auto buffer = devices.open.back()->resources().allocate(taken);
  CHECK(first.free_memory() == before - taken / devices.open.size());
  const auto count = devices.open.size();
  devices.open.resize(
      1);  // the others release their share; allocated memory stays until it is freed
  CHECK(first.free_memory() >= before * count - taken);
  CHECK(first.free_memory() < before * count - taken + count);  // the total may not divide evenly
}

}  // namespace mgpu::testing
