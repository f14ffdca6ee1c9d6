// Queries and builds of devices that pretend to be others, and what they refuse.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/layer/calls.hpp"

namespace fault {
namespace {

// The platform of a device that pretends. A driver's handle begins with its table of calls, which a
// loader may look at.
struct LiedPlatform {
  void* calls;
  cl_platform_id real;
  std::shared_ptr<const Lie> lie;
};

// Platforms that devices have reported. They stay, as a program may keep their handles.
class LiedPlatforms {
 public:
  cl_platform_id of(cl_platform_id real, const std::shared_ptr<const Lie>& lie) {
    const std::lock_guard lock(mutex_);
    auto& made = platforms_[{real, lie.get()}];
    if (!made)
      made =
          std::make_unique<LiedPlatform>(LiedPlatform{*reinterpret_cast<void**>(real), real, lie});
    return reinterpret_cast<cl_platform_id>(made.get());
  }
  // Returns null for a platform that is none of these.
  const LiedPlatform* find(cl_platform_id platform) {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, made] : platforms_)
      if (reinterpret_cast<cl_platform_id>(made.get()) == platform) return made.get();
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<cl_platform_id, const Lie*>, std::unique_ptr<LiedPlatform>> platforms_;
};
LiedPlatforms& lied_platforms = *new LiedPlatforms;

cl_int give(const Answer& answer, size_t size, void* value, size_t* size_told) {
  if (value != nullptr && size < answer.size()) return CL_INVALID_VALUE;
  if (value != nullptr) std::copy(answer.begin(), answer.end(), static_cast<unsigned char*>(value));
  if (size_told != nullptr) *size_told = answer.size();
  return CL_SUCCESS;
}

template <class Value>
Answer bytes_of(const Value& value) {
  const auto* from = reinterpret_cast<const unsigned char*>(&value);
  return {from, from + sizeof value};
}

// Returns what a device answers in place of the real one.
std::optional<Answer> reported(const Place& place, const std::shared_ptr<const Lie>& lie,
                               cl_device_info what) {
  if (what == CL_DEVICE_PLATFORM) return bytes_of(lied_platforms.of(place.device->platform, lie));
  const bool is_part = place.device->id.find('.') != std::string::npos;
  if (is_part && (what == CL_DEVICE_MAX_COMPUTE_UNITS || what == CL_DEVICE_PARTITION_PROPERTIES ||
                  what == CL_DEVICE_PARTITION_MAX_SUB_DEVICES))
    return std::nullopt;
  if (const auto found = lie->device.find(what); found != lie->device.end()) return found->second;
  if (what == CL_DEVICE_DOUBLE_FP_CONFIG && !lie->has("cl_khr_fp64"))
    return bytes_of(cl_device_fp_config{0});
  return std::nullopt;
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size,
                                   void* value, size_t* size_told) {
  using Real = Plain<"clGetDeviceInfo", &cl_icd_dispatch::clGetDeviceInfo>;
  const Place place = place_of(objects, device);
  const auto lie = lie_of(place);
  const auto answer = lie ? reported(place, lie, what) : std::nullopt;
  if (!lie || (!answer && lie->knows(what)))
    return Real::call(device, what, size, value, size_told);
  const Fault fault = consider("clGetDeviceInfo", place);
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  return answer ? give(*answer, size, value, size_told) : CL_INVALID_VALUE;
}

// Returns the file that all devices of a platform pretend to be of, or null.
std::shared_ptr<const Lie> lie_of_all(cl_platform_id platform) {
  cl_uint count = 0;
  if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS)
    return nullptr;
  std::vector<cl_device_id> devices(count);
  cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  learn(platform);
  std::shared_ptr<const Lie> first;
  for (cl_device_id device : devices) {
    const auto lie = lie_of(place_of(objects, device));
    if (!lie || (first && lie->file != first->file)) return nullptr;
    first = lie;
  }
  return first;
}

cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info what, size_t size,
                                     void* value, size_t* size_told) {
  const LiedPlatform* lied = lied_platforms.find(platform);
  const auto lie = lied != nullptr ? lied->lie : script.has_lies() ? lie_of_all(platform) : nullptr;
  if (lie) {
    if (const auto found = lie->platform.find(what); found != lie->platform.end())
      return give(found->second, size, value, size_told);
  }
  return cl->clGetPlatformInfo(real_platform(platform), what, size, value, size_told);
}

// Returns the largest group of a kernel, by the real device and by the one that it pretends to be.
size_t most_in_group(const Lie& lie, const std::string& kernel, size_t real) {
  const Lie::Limits limits = lie.limits(kernel);
  return std::min({real, lie.get(CL_DEVICE_MAX_WORK_GROUP_SIZE, real),
                   limits.group != 0 ? limits.group : real});
}

cl_int CL_API_CALL get_kernel_work_group_info(cl_kernel kernel, cl_device_id device,
                                              cl_kernel_work_group_info what, size_t size,
                                              void* value, size_t* size_told) {
  using Real = Plain<"clGetKernelWorkGroupInfo", &cl_icd_dispatch::clGetKernelWorkGroupInfo>;
  const cl_int status = Real::call(kernel, device, what, size, value, size_told);
  const KernelState state = objects.kernels.get(kernel);
  const auto lie = lie_of(device != nullptr ? place_of(objects, device) : state.place);
  if (status != CL_SUCCESS || !lie || value == nullptr) return status;
  auto& told = *static_cast<size_t*>(value);
  if (what == CL_KERNEL_WORK_GROUP_SIZE) {
    told = most_in_group(*lie, state.name, told);
  } else if (what == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) {
    const size_t own = lie->limits(state.name).multiple;
    told = own != 0 ? own : lie->get(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, told);
  }
  return status;
}

bool begins_with_one_of(const std::string& option, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return option.starts_with(prefix); });
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id* devices,
                                 const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                                 void* data) {
  using Real = Plain<"clBuildProgram", &cl_icd_dispatch::clBuildProgram>;
  const auto lie = lie_of(count > 0 && devices != nullptr ? place_of(objects, devices[0])
                                                          : place_of(objects, program));
  if (!lie) return Real::call(program, count, devices, options, notify, data);
  if (lie->get(CL_DEVICE_COMPILER_AVAILABLE, cl_bool{CL_TRUE}) == CL_FALSE) {
    objects.refused.put(program, std::string());
    return CL_COMPILER_NOT_AVAILABLE;
  }
  std::string kept;
  std::istringstream words(options != nullptr ? options : "");
  for (std::string word; words >> word;) {
    if (begins_with_one_of(word, lie->refused_options)) {
      objects.refused.put(program, "error: unknown build option " + word);
      return CL_INVALID_BUILD_OPTIONS;
    }
    if (!begins_with_one_of(word, lie->accepted_options)) kept += (kept.empty() ? "" : " ") + word;
  }
  objects.refused.put(program, std::nullopt);
  return Real::call(program, count, devices, kept.c_str(), notify, data);
}

cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id device,
                                  cl_program_build_info what, size_t size, void* value,
                                  size_t* size_told) {
  const auto log = objects.refused.get(program);
  if (log && what == CL_PROGRAM_BUILD_LOG)
    return give({log->c_str(), log->c_str() + log->size() + 1}, size, value, size_told);
  if (log && what == CL_PROGRAM_BUILD_STATUS)
    return give(bytes_of(cl_build_status{CL_BUILD_ERROR}), size, value, size_told);
  return Plain<"clGetProgramBuildInfo", &cl_icd_dispatch::clGetProgramBuildInfo>::call(
      program, device, what, size, value, size_told);
}

// A device that pretends has no binaries.
cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info what, size_t size,
                                    void* value, size_t* size_told) {
  using Real = Plain<"clGetProgramInfo", &cl_icd_dispatch::clGetProgramInfo>;
  if (lie_of(place_of(objects, program))) {
    if (what == CL_PROGRAM_BINARY_SIZES) return give(bytes_of(size_t{0}), size, value, size_told);
    if (what == CL_PROGRAM_BINARIES) return CL_SUCCESS;
  }
  return Real::call(program, what, size, value, size_told);
}

// Calls of later versions than 1.1, as far as the layer wraps them.
constexpr std::pair<std::string_view, unsigned> kCallsSince[] = {
    {"clCreateSubDevices", 12},           {"clEnqueueFillBuffer", 12},
    {"clEnqueueMigrateMemObjects", 12},   {"clEnqueueMarkerWithWaitList", 12},
    {"clEnqueueBarrierWithWaitList", 12}, {"clCreateCommandQueueWithProperties", 20},
    {"clCreateBufferWithProperties", 30},
};

}  // namespace

cl_int refusal_of(const Lie& lie, std::string_view call, const Place& place, std::size_t bytes) {
  for (const auto& [name, version] : kCallsSince)
    if (call == name && lie.version < version) return CL_INVALID_OPERATION;
  if (call == "clCreateContext" && lie.get(CL_DEVICE_AVAILABLE, cl_bool{CL_TRUE}) == CL_FALSE)
    return CL_DEVICE_NOT_AVAILABLE;
  if (!in_group(call, "allocate")) return CL_SUCCESS;
  if (bytes > lie.get(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong{bytes})) return CL_INVALID_BUFFER_SIZE;
  const cl_ulong all = place.device->allocated + bytes;
  return all > lie.get(CL_DEVICE_GLOBAL_MEM_SIZE, all) ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                                                       : CL_SUCCESS;
}

cl_int refusal_of_launch(const Lie& lie, cl_command_queue queue, cl_kernel kernel,
                         cl_uint dimensions, const size_t* local) {
  cl_device_id device = nullptr;
  cl->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  const auto ask = [&](cl_kernel_work_group_info what, auto& value) {
    cl->clGetKernelWorkGroupInfo(kernel, device, what, sizeof value, &value, nullptr);
  };
  size_t most = SIZE_MAX;
  ask(CL_KERNEL_WORK_GROUP_SIZE, most);
  size_t sizes[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX}, group = 1;
  if (const auto found = lie.device.find(CL_DEVICE_MAX_WORK_ITEM_SIZES);
      found != lie.device.end() && found->second.size() == sizeof sizes)
    std::memcpy(sizes, found->second.data(), sizeof sizes);
  for (cl_uint i = 0; local != nullptr && i < std::min(dimensions, 3u); ++i) {
    if (local[i] > sizes[i]) return CL_INVALID_WORK_ITEM_SIZE;
    group *= local[i];
  }
  if (group > most_in_group(lie, kernel_of(objects, kernel), most))
    return CL_INVALID_WORK_GROUP_SIZE;
  cl_ulong memory = 0;
  ask(CL_KERNEL_LOCAL_MEM_SIZE, memory);
  return memory > lie.get(CL_DEVICE_LOCAL_MEM_SIZE, memory) ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

cl_platform_id real_platform(cl_platform_id platform) {
  const LiedPlatform* lied = lied_platforms.find(platform);
  return lied != nullptr ? lied->real : platform;
}

void wrap_lie_calls(cl_icd_dispatch& table) {
  table.clGetDeviceInfo = get_device_info;
  table.clGetPlatformInfo = get_platform_info;
  table.clGetKernelWorkGroupInfo = get_kernel_work_group_info;
  table.clBuildProgram = build_program;
  table.clGetProgramBuildInfo = get_build_info;
  table.clGetProgramInfo = get_program_info;
}

}  // namespace fault
