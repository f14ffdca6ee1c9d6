// The kernels of kernels/lbm.cl for devices of the fake backend: the file itself, compiled as C++
// for each flow. Work-items run one after another, so a put that comes too late is found every
// time.
#pragma once

#include <array>
#include <bit>
#include <utility>

#include "suites/lbm/problem.hpp"
#include "tests/support/copy_part.hpp"
#include "tests/support/fake_backend.hpp"

#pragma GCC system_header  // C++ warnings do not apply to the pragmas and unused names of OpenCL C

namespace mgpu::test::lbm_cl {

using uint = std::uint32_t;
using ulong = std::uint64_t;
struct float4 {
  float x, y, z, w;
};
inline thread_local std::array<uint, 3> work_item, work_items;
inline uint get_global_id(unsigned axis) { return work_item[axis]; }
inline uint get_global_size(unsigned axis) { return work_items[axis]; }
using ushort = std::uint16_t;
using half = _Float16;
inline void vstore_half_rte(float value, ulong at, half* to) { to[at] = static_cast<half>(value); }
inline float vload_half(ulong at, const half* from) { return static_cast<float>(from[at]); }
inline uint popcount(uint bits) { return static_cast<uint>(std::popcount(bits)); }

#define __kernel inline
#define __global
#define SENDS
namespace taylor_green {
#include "kernels/lbm.cl"
}
#undef OUTSIDE_X
#undef OUTSIDE_Y
#undef DRAG
#define WALL_X
#define WALL_Y
namespace cavity {
#include "kernels/lbm.cl"
}
#undef OUTSIDE_X
#undef LIFTED
#undef WALL_X
#define FORCED
namespace channel {
#include "kernels/lbm.cl"
}
#undef WALL_Y
#undef FORCED
#undef HALF_ARGUMENTS
#undef HALVE
#define HALVED
namespace halved {  // taylor_green with --halos half
#include "kernels/lbm.cl"
}
#undef HALVED
#undef HALF_ARGUMENTS
#undef HALVE
#undef PACKED
#undef UNPACKED
#undef PTX_TYPE
#undef PTX_REGISTER
#define HALF_STORAGE
namespace half_storage {  // taylor_green with --storage fp16
#include "kernels/lbm.cl"
}
#undef HALF_STORAGE
#undef SENDS
#undef SEND_ARGUMENTS
#undef SEND
#undef SEND_ACROSS
#undef HALF_SCALE
#undef PACKED
#undef UNPACKED
#undef PTX_TYPE
#undef PTX_REGISTER
#undef HALF_ARGUMENTS
#undef HALVE
#undef __global
#undef __kernel
// Undefines the macros that the file defines for itself.
#undef POPULATIONS
#undef STORE_AT
#undef load_from
#undef EACH_POPULATION
#undef WEIGHT_OF_STILL
#undef WEIGHT_OF_AXIS
#undef WEIGHT_OF_EDGE
#undef VELOCITY
#undef EVEN
#undef ODD
#undef LIFTED
#undef RELAX
#undef OUTSIDE_X
#undef OUTSIDE_Y
#undef OUTSIDE
#undef SOURCE
#undef SOURCE_PLANE
#undef AROUND
#undef DRAG
#undef PLANES
#undef PLACE
#undef SET

template <class Parameter>
Parameter argument(const FakeArg& given) {
  if constexpr (std::is_pointer_v<Parameter>) {
    return reinterpret_cast<Parameter>(std::get<std::span<std::byte>>(given).data());
  } else {
    return std::get<Parameter>(given);
  }
}

template <class... Parameters>
FakeKernelCode code_of(void (*kernel)(Parameters...)) {
  FakeKernelCode code;
  code.run = [kernel](const Grid& grid, std::span<const FakeArg> given) {
    for (std::size_t i = 0; i < 3; ++i) work_items[i] = static_cast<uint>(grid.global[i]);
    const auto call = [&]<std::size_t... i>(std::index_sequence<i...>) {
      // Without neighbours, programs leave out the arguments for SENDS.
      kernel((i < given.size() ? argument<Parameters>(given[i]) : Parameters{})...);
    };
    for (work_item[2] = 0; work_item[2] < work_items[2]; ++work_item[2])
      for (work_item[1] = 0; work_item[1] < work_items[1]; ++work_item[1])
        for (work_item[0] = 0; work_item[0] < work_items[0]; ++work_item[0])
          call(std::index_sequence_for<Parameters...>{});
  };
  code.ops = [](const Grid& grid, std::span<const FakeArg>) {
    return static_cast<double>(grid.global[0] * grid.global[1] * grid.global[2]);
  };
  return code;
}

#define MGPU_KERNEL(name) \
  { #name, code_of(flow::name) }
#define MGPU_KERNELS                                                                      \
  {                                                                                       \
    {"copy_part", copy_part_code()}, MGPU_KERNEL(step_between), MGPU_KERNEL(step_across), \
        MGPU_KERNEL(step_within), MGPU_KERNEL(begin), MGPU_KERNEL(look),                  \
        MGPU_KERNEL(take_crossed), MGPU_KERNEL(pack), MGPU_KERNEL(unpack)                 \
  }
inline FakeKernels kernels_of(lbm::Flow asked) {
  if (asked == lbm::Flow::cavity) {
    namespace flow = cavity;
    return MGPU_KERNELS;
  }
  if (asked == lbm::Flow::channel) {
    namespace flow = channel;
    return MGPU_KERNELS;
  }
  namespace flow = taylor_green;
  return MGPU_KERNELS;
}
inline FakeKernels kernels_of(const lbm::Problem& problem) {
  if (problem.half_storage) {
    namespace flow = half_storage;
    return MGPU_KERNELS;
  }
  if (problem.half_block == 0) return kernels_of(problem.flow);
  namespace flow = halved;
  FakeKernels kernels = MGPU_KERNELS;
  kernels.insert({MGPU_KERNEL(pack_half), MGPU_KERNEL(unpack_half)});
  return kernels;
}
#undef MGPU_KERNEL
#undef MGPU_KERNELS

}  // namespace mgpu::test::lbm_cl
