#include "lib/opencl/cl_kernel_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mgpu {
namespace {

// Returns `otherwise` where a driver does not answer: the limits of the device then hold.
template <class Value, class Query>
Value answer_of(const Query& query, Value otherwise) {
  try {
    return static_cast<Value>(query());
  } catch (const cl::Error&) {
    return otherwise;
  }
}

GroupLimits limits_of(const cl::Kernel& kernel, const cl::Device& device, const Device& facts) {
  GroupLimits limits;
  if (facts.max_work_group > 0) limits.all = facts.max_work_group;
  const std::size_t own = answer_of(
      [&] { return kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device); }, limits.all);
  // NVIDIA answers 256 for a kernel that demands 512, and runs it. Groups of 256 fit whatever the
  // kernel, as a work-item has at most 255 of 65,536 registers.
  if (own > 0 && !facts.compute_capability) limits.all = std::min(limits.all, own);
  using Sizes = std::vector<cl::size_type>;
  const auto sizes =
      answer_of<Sizes>([&] { return device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>(); }, Sizes{});
  for (std::size_t i = 0; i < limits.each.size() && i < sizes.size(); ++i)
    if (sizes[i] > 0) limits.each[i] = sizes[i];
  return limits;
}

Bytes local_bytes_of(const cl::Kernel& kernel, const cl::Device& device) {
  return answer_of([&] { return kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(device); },
                   Bytes{0});
}

std::string size_text(const std::array<std::size_t, 3>& local) {
  std::string text = std::to_string(local[0]);
  for (std::size_t i = 1; i < 3 && local[1] * local[2] > 1; ++i)
    if (i == 1 || local[2] > 1) text += " x " + std::to_string(local[i]);
  return text;
}

}  // namespace

std::unique_ptr<ClKernel> kernel_with_limits(cl::Kernel object, const std::string& name,
                                             const std::string& file, const cl::Device& device,
                                             const Device& facts) {
  using Sizes = std::array<cl::size_type, 3>;
  const Sizes demanded = answer_of<Sizes>(
      [&] { return object.getWorkGroupInfo<CL_KERNEL_COMPILE_WORK_GROUP_SIZE>(device); }, Sizes{});
  const std::array<std::size_t, 3> group{demanded[0], demanded[1], demanded[2]};
  const bool demands = group[0] != 0;
  const GroupLimits limits = limits_of(object, device, facts);
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::unsupported, fmt::format("kernel {} of {} {}", name, file, what));
  };
  if (demands && !limits.allow(group))
    refuse(fmt::format("needs work-groups of {} work-items; it can have up to {}", size_text(group),
                       limits.all));
  // NVIDIA's compiler refuses such kernels itself, and its figure may include what it reserves.
  if (const Bytes local = facts.compute_capability ? 0 : local_bytes_of(object, device);
      local > facts.local_memory)
    refuse(fmt::format("needs {} bytes of local memory; it can have up to {}", local,
                       facts.local_memory));
  return std::make_unique<ClKernel>(std::move(object), name, limits, demands);
}

Error launch_failure(ClKernel& kernel, const Grid& grid, const cl::Device& device,
                     const Device& facts, cl_int status) {
  const std::string what = "kernel " + kernel.name().text() + " on " + facts.id;
  // The arguments may have added local memory since the kernel was made. A device that is lost
  // answers CL_OUT_OF_RESOURCES too.
  const Bytes local =
      status == CL_OUT_OF_RESOURCES ? local_bytes_of(kernel.object(), device) : Bytes{0};
  if (local > facts.local_memory)
    return Error(ErrorKind::unsupported,
                 fmt::format("{} needs {} bytes of local memory; it can have up to {}", what, local,
                             facts.local_memory));
  if (status == CL_INVALID_WORK_GROUP_SIZE || status == CL_INVALID_WORK_ITEM_SIZE)
    return cl_failure(fmt::format("{} in work-groups of {}", what, size_text(grid.local)), status);
  return cl_failure(what, status);
}

}  // namespace mgpu
