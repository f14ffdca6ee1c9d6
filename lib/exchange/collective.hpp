// Describes collectives: their kinds, their data, and the arithmetic of their sizes and bandwidths.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

// Collectives of n devices; `count` is the number of elements of the whole call.
enum class Collective {
  barrier,         // no device continues before all have arrived
  broadcast,       // the root's `count` elements go to all devices
  reduce,          // all devices' `count` elements are combined; the root gets the result
  all_reduce,      // the same, but all devices get the result
  all_gather,      // device i's part i goes to all devices, which then have `count` elements
  reduce_scatter,  // device i gets part i of the combination
  all_to_all,      // part j of device i goes to device j, as its part i
  // Each device sends `count` elements to the device before it and another `count` to the one
  // after it. The first and last device have one neighbour.
  neighbours,
};
enum class Element { u32, u64, f32, f64 };
enum class Reduction { sum, min, max };

// Returns "all-reduce", "f32" or "sum", the names in options, in print and in JSON.
std::string_view to_string(Collective collective);
std::string_view to_string(Element element);
std::string_view to_string(Reduction reduction);
std::span<const Collective> all_collectives();
std::span<const Element> all_elements();
std::span<const Reduction> all_reductions();

Bytes bytes_of(Element element);
bool reduces(Collective collective);

struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  Element element = Element::f32;
  Reduction reduction = Reduction::sum;
  std::uint64_t count = 0;
  DeviceIndex root{};  // used by broadcast and reduce
};

// Elements [begin, end) of a call.
struct Part {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};
// Returns part `i` of `parts` of `count` elements. The parts are in order, cover everything, and
// have equal sizes up to 16 bytes.
Part part_of(std::uint64_t count, Element element, std::size_t parts, std::size_t i);

// Elements that a device sends to another one, or keeps: of its input, and where they begin in the
// output of the receiver.
struct Segment {
  std::uint64_t begin = 0, size = 0, to = 0;
};
// Returns what `from` sends to `to` first. `in_parts`: data that all devices need, or that is
// combined, is sent in parts, one to each device that has a part of its own (own_part), which
// passes it on, or combines it; otherwise it is sent whole.
Segment first_segment(const CollectiveCall& call, std::size_t devices, DeviceIndex from,
                      DeviceIndex to, bool in_parts);
// Returns the part of a call in parts that a device passes on or combines. A root that all the
// others serve has none, as its link carries everything already.
Part own_part(const CollectiveCall& call, std::size_t devices, DeviceIndex device);

// Returns the most elements that a device sends to another one first.
std::uint64_t longest_segment(const CollectiveCall& call, std::size_t devices, bool in_parts);

// Return the bytes of a device's input and output of a call; 0: it has none.
Bytes input_bytes(const CollectiveCall& call, std::size_t devices, DeviceIndex device);
Bytes output_bytes(const CollectiveCall& call, std::size_t devices, DeviceIndex device);
// Return the largest input and output of any device.
Bytes largest_input(const CollectiveCall& call, std::size_t devices);
Bytes largest_output(const CollectiveCall& call, std::size_t devices);

// Returns the factor from algorithm bandwidth to bus bandwidth, as nccl-tests defines it
// (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md). The algorithm bandwidth is the bytes of
// `count` elements / time. The bus bandwidth is comparable with the bandwidth of a link, for any
// collective and number of devices. 0: none is defined (a barrier moves nothing). Neighbours counts
// what a device in the middle sends and receives on one side: 1.
double bus_factor(Collective collective, std::size_t devices);

}  // namespace mgpu
