// kernels/lbm.cl for devices of the fake backend: the file itself, compiled as C++, once for each
// flow. A work-item comes after another, so that what only a wrong order of devices breaks, a put
// among them, is found every time.
#pragma once

#include <array>
#include <bit>
#include <utility>

#include "lib/exec/fake_backend.hpp"
#include "suites/lbm/problem.hpp"
#include "tests/support/copy_part.hpp"

namespace mgpu::test::lbm_cl {

using uint = std::uint32_t;
using ulong = std::uint64_t;
struct float4 {
  float x, y, z, w;
};
inline thread_local std::array<uint, 3> work_item, work_items;
inline uint get_global_id(unsigned axis) { return work_item[axis]; }
inline uint get_global_size(unsigned axis) { return work_items[axis]; }
inline uint popcount(uint bits) { return static_cast<uint>(std::popcount(bits)); }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define __kernel inline
#define __global
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
#undef __global
#undef __kernel
#pragma GCC diagnostic pop

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
      kernel(argument<Parameters>(given[i])...);
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

}  // namespace mgpu::test::lbm_cl

namespace mgpu::test {

#define MGPU_LBM_KERNELS(flow)                                                              \
  {                                                                                         \
    {"step_between", code_of(lbm_cl::flow::step_between)},                                  \
        {"step_across", code_of(lbm_cl::flow::step_across)},                                \
        {"step_within", code_of(lbm_cl::flow::step_within)},                                \
        {"begin", code_of(lbm_cl::flow::begin)}, {"look", code_of(lbm_cl::flow::look)},     \
        {"take_crossed", code_of(lbm_cl::flow::take_crossed)},                              \
        {"pack", code_of(lbm_cl::flow::pack)}, {"unpack", code_of(lbm_cl::flow::unpack)}, { \
      "copy_part", copy_part_code()                                                         \
    }                                                                                       \
  }

inline FakeKernels lbm_kernels(lbm::Flow flow) {
  using lbm_cl::code_of;
  if (flow == lbm::Flow::cavity) return MGPU_LBM_KERNELS(cavity);
  if (flow == lbm::Flow::channel) return MGPU_LBM_KERNELS(channel);
  return MGPU_LBM_KERNELS(taylor_green);
}

#undef MGPU_LBM_KERNELS

}  // namespace mgpu::test
