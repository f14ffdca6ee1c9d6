// The lanes of a device's units, by vendor and generation.
#include "lib/device/score.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mgpu {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

using Words = std::initializer_list<std::string_view>;

// Returns whether `text` has one of the words (lower case) as a word of its own: "Intel(R)" has
// intel, "intelligent" has not.
bool has_word(std::string_view text, Words words) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const std::string low = in_lower_case(text);
  for (const std::string_view word : words) {
    for (std::size_t at = low.find(word); at != std::string::npos; at = low.find(word, at + 1)) {
      const bool begins = at == 0 || !is_part(low[at - 1]);
      const bool ends = at + word.size() == low.size() || !is_part(low[at + word.size()]);
      if (begins && ends) return true;
    }
  }
  return false;
}

// Returns whether the text has one of the parts (lower case) anywhere.
bool has_part(std::string_view text, Words parts) {
  const std::string low = in_lower_case(text);
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return low.find(part) != std::string::npos; });
}

constexpr std::string_view kNvidia = "nvidia", kAmd = "amd", kAmdLong = "advanced micro devices",
                           kIntel = "intel", kApple = "apple", kArm = "arm", kQualcomm = "qualcomm";

bool is_of(const Device& device, Words vendors) {
  return has_word(device.vendor, vendors) || has_word(device.name, vendors);
}

bool has_portable_platform(const Device& device) {
  const auto portable = {std::string_view("portable computing language"), std::string_view("pocl"),
                         std::string_view("rusticl"), std::string_view("clvk"),
                         std::string_view("oclgrind")};
  return has_word(device.platform, portable) || has_word(device.platform_vendor, portable);
}

double type_points(const Device& device) {
  if (device.is_cpu()) return 10;  // a virtual machine's CPU is still a CPU
  if (device.virtualised || device.type != DeviceType::gpu) return 30;
  return device.host_unified_memory ? 50 : 100;
}

double backend_points(const Device& device) {
  // The platform decides, not the device: PoCL shows NVIDIA and Intel devices too, and names
  // their vendors only in its device fields.
  if (has_portable_platform(device)) return 50;
  const auto vendors = {kNvidia, kAmd, kAmdLong, kIntel, kApple, kArm, kQualcomm};
  return has_word(device.platform_vendor, vendors) || has_word(device.platform, vendors) ? 100 : 50;
}

// Lanes of a unit, and how many times as many multiply-adds it starts per clock if two are packed
// into one instruction.
struct Unit {
  double lanes = 1, packed = 1;
};

Unit nvidia_unit(const Device& device) {
  const std::uint32_t capability =
      device.compute_capability.value_or(86);  // unknown: assumed to be a current one
  return {capability < 86 && capability != 61 ? 64.0 : 128.0};
}

// Returns '7' for a Radeon RX 7900; 0 for other names, also for RX 580, which is older.
char radeon_series(std::string_view name) {
  const std::string low = in_lower_case(name);
  const std::size_t at = low.find("rx ");
  if (at == std::string::npos) return 0;
  const std::string_view model = std::string_view(low).substr(at + 3);
  const std::size_t digits = std::min(model.find_first_not_of("0123456789"), model.size());
  return digits == 4 ? model.front() : '\0';
}

// A compute unit has 64 lanes. CDNA 2 and 3 pack two operations (AMD's white papers of CDNA 2 and
// 3), RDNA 3 and 4 issue two at once (RDNA 3 instruction set, "VOPD"). AMD's own OpenCL counts
// pairs of RDNA's compute units (ROCm/clr, rocdevice.cpp: enableWgpMode_), rusticl single ones.
Unit amd_unit(const Device& device) {
  if (has_part(device.name, {"gfx90a", "gfx94", "gfx95", "mi2", "mi3"})) return {64, 2};
  const char series = radeon_series(device.name);
  const bool twice =
      series == '7' || series == '9' || has_part(device.name, {"gfx11", "gfx12", "pro w7"});
  const bool rdna = twice || series == '5' || series == '6' ||
                    has_part(device.name, {"gfx10", "pro w5", "pro w6"});
  return {rdna && !has_portable_platform(device) ? 128.0 : 64.0, twice ? 2.0 : 1.0};
}

// Intel's own OpenCL counts vector engines (compute-runtime, EUCount): 8 lanes of Xe-LP, Xe-HPG and
// before, 16 of Ponte Vecchio and Xe2 (Intel's "oneAPI GPU Optimization Guide", Xe architecture).
// rusticl counts Xe cores (Mesa, intel_device_info_subslice_total): 128 lanes of either kind.
Unit intel_unit(const Device& device) {
  if (has_portable_platform(device)) return {128};
  const bool wide = has_part(device.name, {"gpu max", "arc(tm) b", "arc(tm) pro b", "arc(tm) 130v",
                                           "arc(tm) 140v", "battlemage", "lunar lake"});
  return {wide ? 16.0 : 8.0};
}

// Multiply-adds per clock and core (Arm GPU Datasheet, "FP32 operations/clock", halved).
Unit mali_unit(const Device& device) {
  if (has_word(device.name, {"mali-g71", "mali-g72"})) return {12};
  if (has_word(device.name, {"mali-g31"})) return {8};
  if (has_word(device.name, {"mali-g51"})) return {12};
  if (has_word(device.name, {"mali-g52", "mali-g76"})) return {24};
  if (has_word(device.name, {"mali-g57", "mali-g68", "mali-g77", "mali-g78"})) return {32};
  if (has_word(device.name, {"mali-g310", "mali-g510", "mali-g610", "mali-g710"})) return {64};
  if (has_part(device.name, {"mali-g", "immortalis"})) return {128};
  return {static_cast<double>(device.native_float_width)};  // Midgard and before
}

Unit unit_of(const Device& device) {
  const Unit by_width{static_cast<double>(device.native_float_width)};
  if (device.is_cpu()) return by_width;
  if (has_word(device.vendor, {kNvidia})) return nvidia_unit(device);
  if (has_word(device.vendor, {kAmd, kAmdLong})) return amd_unit(device);
  // FPGAs of Intel, and software that has the vendor of the CPU that it runs on.
  if (device.type != DeviceType::gpu || device.virtualised) return by_width;
  if (is_of(device, {kIntel})) return intel_unit(device);
  // The 8 cores of the M1 have 128 execution units of 8 lanes (Apple, November 2020: 2.6 TFLOP/s).
  if (is_of(device, {kApple})) return {128};
  if (has_part(device.name, {"mali", "immortalis"})) return mali_unit(device);
  // Qualcomm publishes none. The six shader processors of an X1-85 have two parts of 128 lanes each
  // (4.6 TFLOP/s at 1.5 GHz); older ones are assumed to be alike.
  if (has_part(device.name, {"adreno"})) return {256};
  return by_width;
}

}  // namespace

double static_score(const Device& device) {
  const double gib = static_cast<double>(device.global_memory) / 0x1p30;
  const double memory = std::min(100.0, 10 * gib);
  const double compute = std::min(100.0, device.compute_units * unit_of(device).lanes / 20);
  return 0.4 * type_points(device) + 0.2 * backend_points(device) + 0.2 * memory + 0.2 * compute;
}

double nominal_fp32(const Device& device) {
  const Unit unit = unit_of(device);
  return 2.0 * device.compute_units * unit.lanes * unit.packed * device.clock_mhz * 1e6;
}

bool ranks_before(const Device& a, const Device& b) {
  return a.score != b.score ? a.score > b.score : nominal_fp32(a) > nominal_fp32(b);
}

}  // namespace mgpu
