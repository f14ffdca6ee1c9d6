// Kernels that are not the tool's own, and what a compiler reports about their parameters.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/cl_kernel_limits.hpp"
#include "lib/opencl/cl_objects.hpp"

namespace mgpu {
namespace {

// Returns `otherwise` when a query is refused: a program from a binary knows no names, for example.
template <class Query>
auto known(const Query& query, decltype(query()) otherwise) {
  try {
    return query();
  } catch (const cl::Error&) {
    return otherwise;
  }
}

KernelParameter::Space space_of(cl_kernel_arg_address_qualifier qualifier) {
  switch (qualifier) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
      return KernelParameter::Space::global;
    case CL_KERNEL_ARG_ADDRESS_CONSTANT:
      return KernelParameter::Space::constant;
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
      return KernelParameter::Space::local;
    default:
      return KernelParameter::Space::value;
  }
}

std::string plain(std::string text) {
  text = text.c_str();  // some drivers include the zero byte
  std::erase(text, ' ');
  return text;
}

}  // namespace

std::optional<std::vector<KernelParameter>> ClKernel::parameters() const {
  const DriverCall inside;
  const cl_uint count = known([&] { return object_.getInfo<CL_KERNEL_NUM_ARGS>(); }, ~cl_uint{0});
  if (count == ~cl_uint{0}) return std::nullopt;
  std::vector<KernelParameter> all(count);
  for (cl_uint i = 0; i < count; ++i) {
    KernelParameter& one = all[i];
    one.name = plain(known([&] { return object_.getArgInfo<CL_KERNEL_ARG_NAME>(i); }, {}));
    one.type = plain(known([&] { return object_.getArgInfo<CL_KERNEL_ARG_TYPE_NAME>(i); }, {}));
    one.space =
        space_of(known([&] { return object_.getArgInfo<CL_KERNEL_ARG_ADDRESS_QUALIFIER>(i); },
                       cl_kernel_arg_address_qualifier{CL_KERNEL_ARG_ADDRESS_PRIVATE}));
    one.is_const = (known([&] { return object_.getArgInfo<CL_KERNEL_ARG_TYPE_QUALIFIER>(i); },
                          cl_kernel_arg_type_qualifier{CL_KERNEL_ARG_TYPE_NONE}) &
                    CL_KERNEL_ARG_TYPE_CONST) != 0;
  }
  return all;
}

std::unique_ptr<Kernel> ClDevice::foreign_kernel(const KernelSource& source, std::string_view entry,
                                                 const std::string& given) {
  constexpr std::size_t kLogLines = 100;
  const Nanos begin = host_now();
  const std::string options = own_options(given + " -cl-kernel-arg-info"),
                    key = source.text + '\0' + options, name(entry);
  const DriverCall inside(this);
  try {
    auto found = std::find_if(programs_.begin(), programs_.end(),
                              [&](const ClBuiltProgram& built) { return built.key == key; });
    if (found == programs_.end()) {
      const WaitLimits& limits = backend_.limits();
      const auto build = [context = context_, device = device_, source, options] {
        return build_cl_program(context, device, source.name, source.text, options, kLogLines);
      };
      programs_.push_back({key, driver_result("building " + source.name + " on " + this->name(),
                                              limits.build, limits.stop, build)});
      found = std::prev(programs_.end());
    }
    cl::Kernel object(found->program, name.c_str());
    setup_.build += host_now() - begin;
    return kernel_with_limits(std::move(object), name, source.name, device_, facts_);
  } catch (const cl::Error& error) {
    if (error.err() == CL_INVALID_KERNEL_NAME)
      throw Error(
          ErrorKind::unsupported,
          fmt::format("{}: the compiler made no kernel \"{}\" of it; if that is the name of "
                      "a function of OpenCL C, such as dot or length, rename the kernel",
                      source.name, name));
    throw cl_failure("kernel " + name + " of " + source.name + " on " + facts_.id, error.err());
  }
}

std::unique_ptr<Buffer> ClDevice::part(Buffer& whole, Bytes offset, Bytes size) {
  const DriverCall inside(this);
  try {
    const cl_buffer_region region{offset, size};
    cl::Buffer memory = memory_of(whole);
    return adopt(memory.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region),
                 size, false);
  } catch (const cl::Error& error) {
    throw cl_failure("a part of a buffer of " + facts_.id, error.err());
  }
}

}  // namespace mgpu
