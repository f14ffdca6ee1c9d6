// Devices of the fake backend with stated speeds, and the kernels of kernels/calibrate.cl as costs:
// a calibration must measure those speeds.
#pragma once

#include <string>

#include "lib/measure/calibration.hpp"
#include "tests/support/fake_backend.hpp"

namespace mgpu::test {

inline constexpr double kFakeOps = 1e12;    // 32-bit operations/s
inline constexpr double kFakeMemory = 5e9;  // bytes/s read and written
// Rates of transfers in bytes/s. They are low because the fake really copies for as long as the
// calibration takes.
inline constexpr double kFakeUp = 2e9, kFakeDown = 1e9;

inline FakeDevice calibration_device(const std::string& id, DeviceType type = DeviceType::gpu) {
  FakeDevice device;
  device.facts.id = id;
  device.facts.name = "Fake " + id;
  device.facts.platform = "fake";
  device.facts.driver_version = "1.0";
  device.facts.type = type;
  device.facts.compute_units = 4;
  device.facts.native_float_width = type == DeviceType::cpu ? 8 : 1;
  device.facts.max_work_group = 256;
  device.facts.fp64 = true;
  device.facts.global_memory = Bytes{1} << 30;
  device.facts.max_allocation = Bytes{16} << 20;
  device.facts.score = 50;
  device.ops_per_s = kFakeOps;
  device.up = kFakeUp;
  device.down = kFakeDown;
  return device;
}

inline FakeKernels calibration_kernels() {
  const auto does_nothing = [](const Grid&, std::span<const FakeArg>) {};
  const auto takes_nothing = [](const Grid&, std::span<const FakeArg>) { return 0.0; };
  // In these kernels every lane of every work-item leaves one result in the first argument.
  const auto arithmetic = [](std::size_t lane_bytes, double cost) {
    return [=](const Grid&, std::span<const FakeArg> args) {
      const auto lanes =
          static_cast<double>(std::get<std::span<std::byte>>(args[0]).size() / lane_bytes);
      return cost * 2 * kCalibrationMultiplyAdds * lanes * std::get<std::uint32_t>(args[1]);
    };
  };
  const auto copy = [](const Grid&, std::span<const FakeArg> args) {
    return 2 * static_cast<double>(std::get<std::span<std::byte>>(args[0]).size()) / kFakeMemory *
           kFakeOps;
  };
  return {{"fp32", {does_nothing, arithmetic(4, 1)}},  {"fp64", {does_nothing, arithmetic(8, 2)}},
          {"int32", {does_nothing, arithmetic(4, 4)}}, {"copy", {does_nothing, copy}},
          {"nothing", {does_nothing, takes_nothing}},  {"least", {does_nothing, takes_nothing}}};
}

}  // namespace mgpu::test
