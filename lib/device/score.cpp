// The static score. Vendors and platforms are known by the names their drivers report; nothing is
// measured here.
#include "lib/device/score.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace mgpu {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Does one of the words (lower case) stand in `text` as a word of its own? "Intel(R)" has intel,
// "intelligent" has not.
bool has_word(std::string_view text, std::initializer_list<std::string_view> words) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), lower);
  for (const std::string_view word : words) {
    for (std::size_t at = low.find(word); at != std::string::npos; at = low.find(word, at + 1)) {
      const bool begins = at == 0 || !is_word_char(low[at - 1]);
      const bool ends = at + word.size() == low.size() || !is_word_char(low[at + word.size()]);
      if (begins && ends) return true;
    }
  }
  return false;
}

constexpr std::string_view kNvidia = "nvidia", kAmd = "amd", kAmdLong = "advanced micro devices",
                           kIntel = "intel";

double type_points(const Device& device) {
  if (device.is_cpu()) return 10;  // a virtual machine's CPU is still a CPU
  if (device.virtualised || device.type != DeviceType::gpu) return 30;
  return device.host_unified_memory ? 50 : 100;
}

double backend_points(const Device& device) {
  // The platform decides, not the device: PoCL shows NVIDIA and Intel devices too, and names them
  // in its device fields only.
  const auto portable = {std::string_view("portable computing language"), std::string_view("pocl"),
                         std::string_view("rusticl"), std::string_view("clvk"),
                         std::string_view("oclgrind")};
  if (has_word(device.platform, portable) || has_word(device.platform_vendor, portable)) return 50;
  const auto vendors = {kNvidia, kAmd, kAmdLong, kIntel};
  return has_word(device.platform_vendor, vendors) || has_word(device.platform, vendors) ? 100 : 50;
}

double lanes_of_unit(const Device& device) {
  if (!device.is_cpu()) {
    if (has_word(device.vendor, {kNvidia})) {
      const std::uint32_t capability =
          device.compute_capability.value_or(86);  // unknown: as the current ones
      return capability < 86 && capability != 61 ? 64 : 128;
    }
    if (has_word(device.vendor, {kAmd, kAmdLong})) return 64;
  }
  return device.native_float_width;
}

}  // namespace

double static_score(const Device& device) {
  const double gib = static_cast<double>(device.global_memory) / 0x1p30;
  const double memory = std::min(100.0, 10 * gib);
  const double compute = std::min(100.0, device.compute_units * lanes_of_unit(device) / 20);
  return 0.4 * type_points(device) + 0.2 * backend_points(device) + 0.2 * memory + 0.2 * compute;
}

}  // namespace mgpu
