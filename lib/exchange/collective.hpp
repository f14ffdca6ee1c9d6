// What a collective is: which of them there are, on what data, and the arithmetic of their sizes
// and bandwidths.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

// n devices; `count` elements in all.
enum class Collective {
  barrier,         // nobody goes on before all are there
  broadcast,       // the root's `count` elements go to all
  reduce,          // the combination of everybody's `count` elements goes to the root
  all_reduce,      // and to all
  all_gather,      // device i's part i goes to all, who then have `count` elements
  reduce_scatter,  // part i of the combination goes to device i
  all_to_all,      // part j of device i goes to device j, as its i-th
  neighbours,  // `count` elements to the device before and as many to the one after; the ends have
               // one neighbour
};
enum class Element { u32, u64, f32, f64 };
enum class Reduction { sum, min, max };

// "all-reduce", "f32", "sum": as options name them, as printed and as in JSON.
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
  DeviceIndex root{};  // of broadcast and reduce
};

// Elements [begin, end).
struct Part {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};
// Part `i` of `parts` of `count` elements: equal to 16 bytes, in order, all of them together
// everything.
Part part_of(std::uint64_t count, Element element, std::size_t parts, std::size_t i);

// Bytes that a device's input and output of a call have; 0: it needs none.
Bytes input_bytes(const CollectiveCall& call, std::size_t devices, DeviceIndex device);
Bytes output_bytes(const CollectiveCall& call, std::size_t devices, DeviceIndex device);
// The largest of all devices.
Bytes largest_input(const CollectiveCall& call, std::size_t devices);
Bytes largest_output(const CollectiveCall& call, std::size_t devices);

// As nccl-tests defines them (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md). The size of a
// call: bytes of `count` elements. The algorithm bandwidth is size / time; the bus bandwidth is
// that times this factor, which makes it comparable with what a link carries, whatever the
// collective and the number of devices. 0: none is defined (a barrier moves nothing). Neighbours
// counts what a device in the middle sends and receives on one side: 1.
double bus_factor(Collective collective, std::size_t devices);

}  // namespace mgpu
