// Tests of devices that pretend to be others: answers come from a file of facts, and what the file
// claims is enforced.
#include "tests/layer/lie.hpp"

#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <stdexcept>

#include "tests/layer/rig.hpp"

using namespace mgpu::test;

namespace {

// Writes a file of facts and removes it again.
class FactsFile {
 public:
  explicit FactsFile(const std::string& text)
      : path_(log_file().string() + std::to_string(++count_) + ".toml") {
    std::ofstream(path_) << text;
  }
  ~FactsFile() { std::filesystem::remove(path_); }
  std::string script() const { return "be=" + path_; }
  const std::string& path() const { return path_; }

 private:
  inline static int count_ = 0;
  std::string path_;
};

// Returns a file with a device of OpenCL 1.2 without extensions, and these lines.
std::string facts(const std::string& device, const std::string& rest = {}) {
  return "[platform]\nname = \"Elsewhere\"\n[device]\nversion = \"OpenCL 1.2 test\"\n"
         "extensions = []\n" +
         device + "\n" + rest;
}

template <class Value>
Value told(cl_device_info what) {
  Value value{};
  REQUIRE(clGetDeviceInfo(device(), what, sizeof value, &value, nullptr) == CL_SUCCESS);
  return value;
}

std::string text_of(cl_device_info what) {
  std::array<char, 256> text{};
  REQUIRE(clGetDeviceInfo(device(), what, text.size(), text.data(), nullptr) == CL_SUCCESS);
  return text.data();
}

std::string name_of(cl_platform_id of) {
  std::array<char, 256> text{};
  REQUIRE(clGetPlatformInfo(of, CL_PLATFORM_NAME, text.size(), text.data(), nullptr) == CL_SUCCESS);
  return text.data();
}

cl_int status_of_query(cl_device_info what) {
  std::array<char, 4096> text{};
  return clGetDeviceInfo(device(), what, text.size(), text.data(), nullptr);
}

// Returns the status of a build, and its log.
std::pair<cl_int, std::string> build(const Rig& rig, const char* source, const char* options) {
  cl_program program = clCreateProgramWithSource(rig.context, 1, &source, nullptr, nullptr);
  REQUIRE(program != nullptr);
  const cl_device_id own = device();
  const cl_int status = clBuildProgram(program, 1, &own, options, nullptr, nullptr);
  std::string log(4096, '\0');
  REQUIRE(clGetProgramBuildInfo(program, own, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                                nullptr) == CL_SUCCESS);
  return {status, log.c_str()};
}

cl_int launch(const Rig& rig, std::size_t local) {
  return clEnqueueNDRangeKernel(rig.queue, rig.kernel, 1, nullptr, &kSize, &local, 0, nullptr,
                                nullptr);
}

cl_int allocate(const Rig& rig, std::size_t bytes, cl_mem& made) {
  cl_int status = CL_SUCCESS;
  made = clCreateBuffer(rig.context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
  return status;
}

TEST_CASE("a device answers by its file, in the form of each query") {
  const FactsFile file(facts(R"(
name = "Pretender"
type = "accelerator"
max_compute_units = 304
global_mem_size = 206141652992
max_work_item_sizes = [256, 128, 64]
single_fp_config = ["round_to_nearest", "fma"]
local_mem_type = "global"
endian_little = false
uuid_khr = "00112233-4455-6677-8899-aabbccddeeff"
pci_bus_info_khr = "0001:03:1f.7"
topology_amd = "0000:83:1f.7")"));
  set_script(file.script().c_str());
  CHECK(text_of(CL_DEVICE_NAME) == "Pretender");
  CHECK(told<cl_device_type>(CL_DEVICE_TYPE) == CL_DEVICE_TYPE_ACCELERATOR);
  CHECK(told<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS) == 304);
  CHECK(told<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE) == 206141652992);
  CHECK(told<std::array<std::size_t, 3>>(CL_DEVICE_MAX_WORK_ITEM_SIZES) ==
        std::array<std::size_t, 3>{256, 128, 64});
  CHECK(told<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG) ==
        (CL_FP_ROUND_TO_NEAREST | CL_FP_FMA));
  CHECK(told<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) == 0);
  CHECK(told<cl_device_local_mem_type>(CL_DEVICE_LOCAL_MEM_TYPE) == CL_GLOBAL);
  CHECK(told<cl_bool>(CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE);
  const auto uuid = told<std::array<unsigned char, 16>>(CL_DEVICE_UUID_KHR);
  for (unsigned i = 0; i < 16; ++i) CHECK(uuid[i] == i * 0x11);
  CHECK(told<std::array<cl_uint, 4>>(0x410F) == std::array<cl_uint, 4>{1, 3, 31, 7});
  const auto amd = told<cl_device_topology_amd>(CL_DEVICE_TOPOLOGY_AMD);
  CHECK(amd.pcie.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD);
  CHECK(static_cast<unsigned char>(amd.pcie.bus) == 0x83);
  CHECK(amd.pcie.device == 31);
  CHECK(amd.pcie.function == 7);
  std::size_t size = 0;
  char small = 0;
  CHECK(clGetDeviceInfo(device(), CL_DEVICE_NAME, 0, nullptr, &size) == CL_SUCCESS);
  CHECK(size == sizeof "Pretender");
  CHECK(clGetDeviceInfo(device(), CL_DEVICE_NAME, 1, &small, nullptr) == CL_INVALID_VALUE);
}

TEST_CASE("queries that such a driver does not know are refused, others have the real answer") {
  const auto real = (set_script(""), told<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN));
  const FactsFile file(facts(""));
  set_script(file.script().c_str());
  CHECK(told<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN) == real);
  for (const cl_device_info unknown :
       {CL_DEVICE_UUID_KHR, CL_DEVICE_BOARD_NAME_AMD, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, 0x410F,
        CL_DEVICE_SVM_CAPABILITIES, CL_DEVICE_NUMERIC_VERSION})
    CHECK(status_of_query(unknown) == CL_INVALID_VALUE);
  CHECK(status_of_query(CL_DEVICE_BUILT_IN_KERNELS) == CL_SUCCESS);
}

TEST_CASE("devices are listed by the type and the platform that they pretend") {
  const FactsFile file(facts("type = \"gpu\"")), other(facts("type = \"custom\""));
  set_script(file.script().c_str());
  cl_uint gpus = 0;
  CHECK(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_GPU, 0, nullptr, &gpus) == CL_SUCCESS);
  CHECK(gpus >= 1);
  CHECK(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_CPU, 0, nullptr, nullptr) == CL_DEVICE_NOT_FOUND);
  CHECK(name_of(platform()) == "Elsewhere");
  const auto own = told<cl_platform_id>(CL_DEVICE_PLATFORM);
  CHECK(name_of(own) == "Elsewhere");
  const cl_context_properties on_it[] = {CL_CONTEXT_PLATFORM,
                                         reinterpret_cast<cl_context_properties>(own), 0};
  const cl_device_id first = device();
  CHECK(clCreateContext(on_it, 1, &first, nullptr, nullptr, nullptr) != nullptr);
  cl_uint all = 0;
  CHECK(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &all) == CL_SUCCESS);
  if (all < 2) return;  // a GPU
  for (const std::string& second : {std::string(), "; device=0:1 " + other.script()}) {
    set_script(("device=0:0 " + file.script() + second).c_str());
    CHECK(name_of(platform()) != "Elsewhere");
    CHECK(name_of(told<cl_platform_id>(CL_DEVICE_PLATFORM)) == "Elsewhere");
  }
}

TEST_CASE("work-groups are as large as the device, the kernel and each dimension allow") {
  const FactsFile file(facts("max_work_group_size = 64\nmax_work_item_sizes = [32, 64, 64]",
                             "[[kernel]]\nname = \"sub_*\"\nwork_group_size = 1\n"
                             "[[kernel]]\nname = \"add_*\"\nwork_group_size = 16\n"
                             "preferred_work_group_size_multiple = 24")),
      wide(facts("max_work_group_size = 64\nmax_work_item_sizes = [32, 64, 64]")),
      narrow(facts("max_work_group_size = 16"));
  const auto asked = [](const Rig& rig, cl_kernel_work_group_info what) {
    std::size_t value = 0;
    clGetKernelWorkGroupInfo(rig.kernel, device(), what, sizeof value, &value, nullptr);
    return value;
  };
  {
    const Rig rig(file.script().c_str());
    CHECK(asked(rig, CL_KERNEL_WORK_GROUP_SIZE) == 16);
    CHECK(asked(rig, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) == 24);
    CHECK(launch(rig, 16) == CL_SUCCESS);
    CHECK(launch(rig, 32) == CL_INVALID_WORK_GROUP_SIZE);
    CHECK(launch(rig, 64) == CL_INVALID_WORK_ITEM_SIZE);
    CHECK(rig.download() == Bytes(kSize, 2));
  }
  {
    const Rig rig(wide.script().c_str());
    CHECK(asked(rig, CL_KERNEL_WORK_GROUP_SIZE) == 64);
    CHECK(launch(rig, 32) == CL_SUCCESS);
    CHECK(launch(rig, 64) == CL_INVALID_WORK_ITEM_SIZE);
  }
  const Rig rig(narrow.script().c_str());
  CHECK(launch(rig, 16) == CL_SUCCESS);
  CHECK(launch(rig, 32) == CL_INVALID_WORK_GROUP_SIZE);
}

TEST_CASE("kernels with too much local memory, or a fixed group that is too large, do not start") {
  const FactsFile file(facts("local_mem_size = 1024\nmax_work_group_size = 64"));
  const Rig rig(file.script().c_str());
  const char* source =
      "kernel void fixed(global uchar* b) { local uchar t[1000]; t[get_local_id(0)] = 1;"
      " barrier(CLK_LOCAL_MEM_FENCE); b[0] = t[0]; }"
      "kernel void large(global uchar* b) { local uchar t[1040]; t[get_local_id(0)] = 1;"
      " barrier(CLK_LOCAL_MEM_FENCE); b[0] = t[0]; }"
      "kernel void given(global uchar* b, local uchar* t) { t[get_local_id(0)] = 1;"
      " barrier(CLK_LOCAL_MEM_FENCE); b[0] = t[0]; }"
      "kernel __attribute__((reqd_work_group_size(128, 1, 1))) void wide(global uchar* b) {}";
  const cl_device_id own = device();
  cl_program program = clCreateProgramWithSource(rig.context, 1, &source, nullptr, nullptr);
  REQUIRE(clBuildProgram(program, 1, &own, "", nullptr, nullptr) == CL_SUCCESS);
  const auto started = [&](const char* name, std::size_t local, std::size_t group = 0) {
    cl_kernel kernel = clCreateKernel(program, name, nullptr);
    REQUIRE(kernel != nullptr);
    clSetKernelArg(kernel, 0, sizeof rig.buffer, &rig.buffer);
    if (local > 0) clSetKernelArg(kernel, 1, local, nullptr);
    return clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &kSize,
                                  group > 0 ? &group : nullptr, 0, nullptr, nullptr);
  };
  CHECK(started("fixed", 0) == CL_SUCCESS);
  CHECK(started("large", 0) == CL_OUT_OF_RESOURCES);
  CHECK(started("given", 1024) == CL_SUCCESS);
  CHECK(started("given", 1040) == CL_OUT_OF_RESOURCES);
  CHECK(started("wide", 0, 128) == CL_INVALID_WORK_GROUP_SIZE);
}

TEST_CASE("an allocation has a largest size, and so have all together until they are released") {
  const FactsFile file(facts("max_mem_alloc_size = 65536\nglobal_mem_size = 131072"));
  const Rig rig(file.script().c_str());
  cl_mem first = nullptr, second = nullptr, third = nullptr;
  CHECK(allocate(rig, 65537, first) == CL_INVALID_BUFFER_SIZE);
  CHECK(allocate(rig, 65536, first) == CL_SUCCESS);
  CHECK(allocate(rig, 65000, second) == CL_SUCCESS);
  CHECK(allocate(rig, 1000, third) == CL_MEM_OBJECT_ALLOCATION_FAILURE);
  CHECK(clReleaseMemObject(second) == CL_SUCCESS);
  CHECK(allocate(rig, 1000, third) == CL_SUCCESS);
}

TEST_CASE("programs with double do not build on a device without cl_khr_fp64") {
  const FactsFile without(facts("")),
      with(facts("").replace(facts("").find("[]"), 2, "[\"cl_khr_fp64\"]"));
  const char* plain = "kernel void k(global double2* b) { b[0] *= 2; }";
  const char* scalar = "kernel void k(global double* b) { b[0] *= 2; }";
  const char* guarded =
      "#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)\n"
      "kernel void k(global double* b) { b[0] *= 2; }\n"
      "#else\nkernel void k(global float* b) { b[0] *= 2; }\n#endif";
  const char* wrong = "kernel void k(global float* b) {\n    wrong;\n}";
  {
    const Rig rig(without.script().c_str());
    CHECK(build(rig, plain, "").first == CL_BUILD_PROGRAM_FAILURE);
    CHECK(build(rig, scalar, "").first == CL_BUILD_PROGRAM_FAILURE);
    CHECK(build(rig, guarded, "").first == CL_SUCCESS);
    CHECK(build(rig, wrong, "").second.find(":2:5:") != std::string::npos);  // the program's lines
  }
  CHECK(build(Rig(with.script().c_str()), plain, "").first == CL_SUCCESS);
}

TEST_CASE("compilers refuse options and words, and know options that the real one does not") {
  const FactsFile file(facts("",
                             "[accepts]\nbuild_options = [\"-cl-nv-\"]\n"
                             "[refuses]\nbuild_options = [\"-cl-mad\"]\nwords = [\"asm\"]"));
  const char* plain = "kernel void k(global float* b) { b[0] = VALUE; }";
  const char* with_asm = "kernel void k(global float* b) { asm volatile(\"\"); }";
  const Rig rig(file.script().c_str());
  CHECK(build(rig, plain, "-DVALUE=2 -cl-nv-maxrregcount=128 -cl-fast-relaxed-math").first ==
        CL_SUCCESS);
  const auto refused = build(rig, plain, "-DVALUE=2 -cl-mad-enable");
  CHECK(refused.first == CL_INVALID_BUILD_OPTIONS);
  CHECK(refused.second == "error: unknown build option -cl-mad-enable");
  CHECK(build(rig, with_asm, "").first == CL_BUILD_PROGRAM_FAILURE);
}

TEST_CASE("queues, sub-devices, contexts and builds are refused where the file says so") {
  const FactsFile file(
      facts("queue_properties = [\"out_of_order\"]\npartition_properties = []\n"
            "compiler_available = false")),
      away(facts("available = false"));
  const Rig rig(file.script().c_str());
  const cl_device_id own = device();
  cl_int status = CL_SUCCESS;
  CHECK(clCreateCommandQueue(rig.context, own, CL_QUEUE_PROFILING_ENABLE, &status) == nullptr);
  CHECK(status == CL_INVALID_QUEUE_PROPERTIES);
  CHECK(clCreateCommandQueue(rig.context, own, 0, &status) != nullptr);
  const cl_device_partition_property one_each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  CHECK(clCreateSubDevices(own, one_each, 0, nullptr, nullptr) == CL_INVALID_VALUE);
  CHECK(told<cl_device_partition_property>(CL_DEVICE_PARTITION_PROPERTIES) == 0);
  CHECK(build(rig, "kernel void k() {}", "").first == CL_COMPILER_NOT_AVAILABLE);
  set_script(away.script().c_str());
  CHECK(clCreateContext(nullptr, 1, &own, nullptr, nullptr, &status) == nullptr);
  CHECK(status == CL_DEVICE_NOT_AVAILABLE);
}

TEST_CASE("a device of OpenCL 1.1 has no later calls") {
  const FactsFile file("[device]\nversion = \"OpenCL 1.1 test\"\nextensions = []");
  const Rig rig(file.script().c_str());
  const unsigned char one = 1;
  CHECK(clEnqueueFillBuffer(rig.queue, rig.buffer, &one, 1, 0, kSize, 0, nullptr, nullptr) ==
        CL_INVALID_OPERATION);
  CHECK(clEnqueueMarkerWithWaitList(rig.queue, 0, nullptr, nullptr) == CL_INVALID_OPERATION);
  CHECK(rig.launch() == CL_SUCCESS);
  CHECK(status_of_query(CL_DEVICE_PARTITION_PROPERTIES) == CL_INVALID_VALUE);
}

TEST_CASE("time stamps have the resolution of the file, or there are none") {
  const auto stamps = [](const std::string& text) {
    const FactsFile file(text);
    const Rig rig(file.script().c_str());
    cl_event event = rig.launched();
    REQUIRE(clWaitForEvents(1, &event) == CL_SUCCESS);
    std::pair<cl_int, cl_ulong> found;
    found.first = stamp_of(event, CL_PROFILING_COMMAND_END, found.second);
    return found;
  };
  const auto coarse = stamps(facts("profiling_timer_resolution = 1000000"));
  CHECK(coarse.second > 0);
  CHECK(coarse.second % 1000000 == 0);
  CHECK(stamps(facts("profiling_timer_resolution = 0")).second > 0);
  CHECK(stamps(facts("", "[profiling]\nstamps = \"zero\"")).second == 0);
  CHECK(stamps(facts("", "[profiling]\nstamps = \"unavailable\"")).first ==
        CL_PROFILING_INFO_NOT_AVAILABLE);
}

TEST_CASE("a file with an unknown key, a wrong value or no version is refused, with its name") {
  for (const char* text :
       {"[device]\nextensions = []", "[device]\nversion = \"1.2\"\nextensions = []",
        "[device]\nversion = \"OpenCL 1.2\"", "[device", "[devices]\nname = \"x\"",
        "[device]\nversion = \"OpenCL 1.2\"\nextensions = []\nmax_units = 3",
        "[device]\nversion = \"OpenCL 1.2\"\nextensions = []\nmax_compute_units = \"3\"",
        "[device]\nversion = \"OpenCL 1.2\"\nextensions = []\ntype = \"tpu\"",
        "[device]\nversion = \"OpenCL 1.2\"\nextensions = []\nuuid_khr = \"0\"",
        "[device]\nversion = \"OpenCL 1.2\"\nextensions = []\ntopology_amd = \"3\"",
        "[device]\nversion = \"OpenCL 1.2\"\nextensions = []\n[refuses]\noptions = []",
        "[device]\nversion = \"OpenCL 1.2\"\nextensions = []\n[profiling]\nstamps = \"odd\""}) {
    CAPTURE(text);
    const FactsFile file(text);
    std::string message;
    try {
      fault::Lie::read(file.path());
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    CHECK(message.starts_with(file.path() + ": "));
  }
}

TEST_CASE("every file of devices can be read") {
  for (const auto& entry :
       std::filesystem::directory_iterator(source_folder() / "tests/layer/devices")) {
    CAPTURE(entry.path().string());
    const auto lie = fault::Lie::read(entry.path().stem().string());
    CHECK(lie->device.contains(CL_DEVICE_NAME));
    CHECK(lie->platform.contains(CL_PLATFORM_NAME));
  }
}

}  // namespace
