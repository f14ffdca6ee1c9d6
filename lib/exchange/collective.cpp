#include "lib/exchange/collective.hpp"

#include <algorithm>
#include <array>

namespace mgpu {
namespace {

constexpr std::array kCollectives{Collective::barrier,    Collective::broadcast,
                                  Collective::reduce,     Collective::all_reduce,
                                  Collective::all_gather, Collective::reduce_scatter,
                                  Collective::all_to_all, Collective::neighbours};
constexpr std::array kElements{Element::u32, Element::u64, Element::f32, Element::f64};
constexpr std::array kReductions{Reduction::sum, Reduction::min, Reduction::max};

constexpr Bytes kGranule = 16;  // alignment of parts: kernels load this many bytes at once

template <class Each>
Bytes largest(std::size_t devices, const Each& each) {
  Bytes most = 0;
  for (std::uint32_t i = 0; i < devices; ++i) most = std::max(most, each(DeviceIndex{i}));
  return most;
}

}  // namespace

std::string_view to_string(Collective collective) {
  constexpr std::array<std::string_view, 8> names{"barrier",    "broadcast",  "reduce",
                                                  "all-reduce", "all-gather", "reduce-scatter",
                                                  "all-to-all", "neighbours"};
  return names[static_cast<std::size_t>(collective)];
}

std::string_view to_string(Element element) {
  constexpr std::array<std::string_view, 4> names{"u32", "u64", "f32", "f64"};
  return names[static_cast<std::size_t>(element)];
}

std::string_view to_string(Reduction reduction) {
  constexpr std::array<std::string_view, 3> names{"sum", "min", "max"};
  return names[static_cast<std::size_t>(reduction)];
}

std::span<const Collective> all_collectives() { return kCollectives; }
std::span<const Element> all_elements() { return kElements; }
std::span<const Reduction> all_reductions() { return kReductions; }

Bytes bytes_of(Element element) {
  return element == Element::u64 || element == Element::f64 ? 8 : 4;
}

bool reduces(Collective collective) {
  return collective == Collective::reduce || collective == Collective::all_reduce ||
         collective == Collective::reduce_scatter;
}

Part part_of(std::uint64_t count, Element element, std::size_t parts, std::size_t i) {
  const std::uint64_t granule = kGranule / bytes_of(element), granules = count / granule;
  const auto begin = [&](std::uint64_t k) {
    // The last part also has the elements that are less than a granule.
    if (k == parts) return count;
    return (granules / parts * k + std::min<std::uint64_t>(k, granules % parts)) * granule;
  };
  return {begin(i), begin(i + 1)};
}

Part own_part(const CollectiveCall& call, std::size_t devices, DeviceIndex device) {
  const bool served = devices > 2 && (call.collective == Collective::broadcast ||
                                      call.collective == Collective::reduce);
  if (!served) return part_of(call.count, call.element, devices, device.value);
  if (device == call.root) return {};
  return part_of(call.count, call.element, devices - 1,
                 device.value - (device > call.root ? 1u : 0u));
}

Segment first_segment(const CollectiveCall& call, std::size_t devices, DeviceIndex from,
                      DeviceIndex to, bool in_parts) {
  const auto part = [&](DeviceIndex of) {
    const Part own = own_part(call, devices, of);
    return Segment{own.begin, own.size(), own.begin};
  };
  const Segment whole{0, call.count, 0};
  switch (call.collective) {
    case Collective::barrier:
      return {};
    case Collective::broadcast:
      if (from != call.root) return {};
      return in_parts && to != call.root ? part(to) : whole;
    case Collective::reduce:
      if (in_parts) return part(to);
      return to == call.root ? whole : Segment{};
    case Collective::all_reduce:
      return in_parts ? part(to) : whole;
    case Collective::all_gather:
      return {0, part(from).size, part(from).to};
    case Collective::reduce_scatter:
      return {part(to).begin, part(to).size, 0};
    case Collective::all_to_all:
      return {part(to).begin, part(to).size, from.value * part(to).size};
    case Collective::neighbours:
      // The first half of the input goes to the device before, where it arrives in the second
      // half of the output, as coming from the device after; and vice versa.
      if (to.value + 1 == from.value) return {0, call.count, call.count};
      if (from.value + 1 == to.value) return {call.count, call.count, 0};
      return {};
  }
  return {};
}

std::uint64_t longest_segment(const CollectiveCall& call, std::size_t devices, bool in_parts) {
  const Collective each = call.collective;
  if (each == Collective::barrier) return 0;
  if (each == Collective::neighbours ||
      (!in_parts && (each == Collective::broadcast || each == Collective::reduce ||
                     each == Collective::all_reduce)))
    return call.count;
  return largest(devices,
                 [&](DeviceIndex device) { return own_part(call, devices, device).size(); });
}

Bytes input_bytes(const CollectiveCall& call, std::size_t devices, DeviceIndex device) {
  const Bytes size = bytes_of(call.element), all = call.count * size;
  switch (call.collective) {
    case Collective::barrier:
      return 0;
    case Collective::broadcast:
      return device == call.root ? all : 0;
    case Collective::reduce:
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return all;
    case Collective::all_gather:
      return part_of(call.count, call.element, devices, device.value).size() * size;
    case Collective::neighbours:
      return 2 * all;
  }
  return 0;
}

Bytes output_bytes(const CollectiveCall& call, std::size_t devices, DeviceIndex device) {
  const Bytes size = bytes_of(call.element), all = call.count * size;
  const Bytes part = part_of(call.count, call.element, devices, device.value).size() * size;
  switch (call.collective) {
    case Collective::barrier:
      return 0;
    case Collective::broadcast:
    case Collective::all_reduce:
    case Collective::all_gather:
      return all;
    case Collective::reduce:
      return device == call.root ? all : 0;
    case Collective::reduce_scatter:
      return part;
    case Collective::all_to_all:
      return devices * part;
    case Collective::neighbours:
      return 2 * all;
  }
  return 0;
}

Bytes largest_input(const CollectiveCall& call, std::size_t devices) {
  return largest(devices, [&](DeviceIndex device) { return input_bytes(call, devices, device); });
}

Bytes largest_output(const CollectiveCall& call, std::size_t devices) {
  return largest(devices, [&](DeviceIndex device) { return output_bytes(call, devices, device); });
}

double bus_factor(Collective collective, std::size_t devices) {
  const auto n = static_cast<double>(devices);
  switch (collective) {
    case Collective::barrier:
      return 0;
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::neighbours:
      return 1;
  }
  return 0;
}

}  // namespace mgpu
