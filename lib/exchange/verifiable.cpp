#include "lib/exchange/verifiable.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace mgpu {
namespace {

constexpr std::uint32_t kGolden =
    0x9e3779b9;  // 2^32 / golden ratio: consecutive multiples spread evenly

// Returns a number below 256: the upper bits of a product, which depend on all lower ones.
std::uint32_t small_number(std::uint32_t device, std::uint64_t element, std::uint64_t seed) {
  std::uint64_t x = element + (std::uint64_t{device} << 40) + (seed << 52);
  x *= 0x9e3779b97f4a7c15;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9;
  return static_cast<std::uint32_t>(x >> 56);
}

// Returns f(T{}), where T is the C++ type of the elements.
template <class F>
auto of_type(Element element, const F& f) {
  switch (element) {
    case Element::u32:
      return f(std::uint32_t{});
    case Element::u64:
      return f(std::uint64_t{});
    case Element::f32:
      return f(float{});
    case Element::f64:
      break;
  }
  return f(double{});
}

struct Origin {  // an element of some device's input
  std::uint32_t device = 0;
  std::uint64_t element = 0;
};

// Returns the combination of all devices' values of an element.
std::uint32_t combined(Reduction reduction, std::size_t devices, std::uint64_t element,
                       std::uint64_t seed) {
  std::uint32_t all = small_number(0, element, seed);
  for (std::uint32_t k = 1; k < devices; ++k) {
    const std::uint32_t one = small_number(k, element, seed);
    all = reduction == Reduction::sum   ? all + one
          : reduction == Reduction::min ? std::min(all, one)
                                        : std::max(all, one);
  }
  return all;
}

// Returns the source of element `i` of the device's output, for a call that only copies; none: the
// call does not write the element.
std::optional<Origin> origin(const CollectiveCall& call, std::size_t devices, DeviceIndex device,
                             std::uint64_t i) {
  const auto part = [&](std::size_t k) { return part_of(call.count, call.element, devices, k); };
  switch (call.collective) {
    case Collective::broadcast:
      return Origin{call.root.value, i};
    case Collective::all_gather: {
      std::uint32_t k = 0;
      while (part(k).end <= i) ++k;
      return Origin{k, i - part(k).begin};
    }
    case Collective::all_to_all: {
      const Part mine = part(device.value);
      return Origin{static_cast<std::uint32_t>(i / mine.size()), mine.begin + i % mine.size()};
    }
    case Collective::neighbours:
      if (i < call.count)
        return device.value > 0 ? std::optional(Origin{device.value - 1, call.count + i})
                                : std::nullopt;
      return device.value + 1 < devices ? std::optional(Origin{device.value + 1, i - call.count})
                                        : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

void fill_input(const CollectiveCall& call, DeviceIndex device, std::uint64_t begin,
                std::uint64_t seed, std::span<std::byte> to) {
  of_type(call.element, [&](auto zero) {
    using T = decltype(zero);
    for (std::uint64_t i = 0; i < to.size() / sizeof(T); ++i) {
      const T value = static_cast<T>(small_number(device.value, begin + i, seed));
      std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

std::uint64_t count_wrong(const CollectiveCall& call, std::size_t devices, DeviceIndex device,
                          std::uint64_t begin, std::uint64_t seed,
                          std::span<const std::byte> output) {
  return of_type(call.element, [&](auto zero) {
    using T = decltype(zero);
    std::array<std::byte, sizeof(T)> expected{}, poison{};
    poison.fill(kPoison);
    const std::uint64_t offset =
        call.collective == Collective::reduce_scatter
            ? part_of(call.count, call.element, devices, device.value).begin
            : 0;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < output.size() / sizeof(T); ++i) {
      T value{};
      if (reduces(call.collective)) {
        value = static_cast<T>(combined(call.reduction, devices, offset + begin + i, seed));
        std::memcpy(expected.data(), &value, sizeof(T));
      } else if (const auto from = origin(call, devices, device, begin + i)) {
        value = static_cast<T>(small_number(from->device, from->element, seed));
        std::memcpy(expected.data(), &value, sizeof(T));
      } else {
        expected = poison;
      }
      wrong += std::memcmp(expected.data(), output.data() + i * sizeof(T), sizeof(T)) != 0 ? 1 : 0;
    }
    return wrong;
  });
}

void fill_words(std::uint32_t key, std::span<std::byte> to) {
  std::uint32_t word = key * kGolden;
  for (std::size_t i = 0; i + sizeof word <= to.size(); i += sizeof word, word += 2 * kGolden)
    std::memcpy(to.data() + i, &word, sizeof word);
}

std::uint64_t count_wrong_words(std::uint32_t key, std::span<const std::byte> words) {
  std::uint64_t wrong = 0;
  std::uint32_t expected = key * kGolden, word = 0;
  for (std::size_t i = 0; i + sizeof word <= words.size();
       i += sizeof word, expected += 2 * kGolden) {
    std::memcpy(&word, words.data() + i, sizeof word);
    wrong += word != expected ? 1 : 0;
  }
  return wrong;
}

}  // namespace mgpu
