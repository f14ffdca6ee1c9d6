// Resident matrix products, compared with OpenBLAS and CLBlast if those are installed
// (libopenblas-dev, libclblast-dev). They run on the first GPU, else on the first CPU as one
// device, so that OpenBLAS has the same cores. items_per_second is FLOP/s. To interleave the cases,
// so that other load on the machine affects all equally: --benchmark_filter=BM_matrix
// --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "lib/base/embedded.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "tests/bench/resident.hpp"

#ifdef MGPU_WITH_OPENBLAS
#include <cblas.h>
#endif
#ifdef MGPU_WITH_CLBLAST
#include <clblast_c.h>
#endif

namespace {

using namespace mgpu;

double operations(const benchmark::State& state) {
  const auto n = static_cast<double>(state.range(0));
  return 2 * n * n * n;
}

void set_rate(benchmark::State& state) {
  state.SetItemsProcessed(
      static_cast<std::int64_t>(static_cast<double>(state.iterations()) * operations(state)));
}

std::unique_ptr<Workload> product(std::uint64_t size, const char* precision) {
  SuiteParams params;
  params.size = size;
  params.seed = 1;
  params.host_threads = std::max(1u, std::thread::hardware_concurrency());
  params.options = {{"precision", precision}, {"axis", "rows"},  {"cols", "same"},
                    {"inner", "same"},        {"alpha", "1"},    {"beta", "0"},
                    {"data", "uniform"},      {"kernel", "auto"}};
  return std::make_unique<matrix::MatrixWorkload>(params);
}

void BM_matrix(benchmark::State& state, const char* precision) {
  const auto backend = make_cl_backend({embedded_kernels(), {}});
  auto devices = backend->enumerate().devices;
  if (devices.empty()) return state.SkipWithError("no OpenCL device");
  std::stable_partition(devices.begin(), devices.end(),
                        [](const Device& device) { return !device.is_cpu(); });
  bench::Resident resident(*backend, devices.front(),
                           product(static_cast<std::uint64_t>(state.range(0)), precision));
  resident.sample();
  if (!resident.right()) return state.SkipWithError("wrong result");
  for (auto _ : state) state.SetIterationTime(seconds(resident.sample()));
  set_rate(state);
  state.SetLabel(resident.kernel_variant());
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("size");
  for (const int size : {1024, 2048, 4096, 8192}) bench->Arg(size);
}

BENCHMARK_CAPTURE(BM_matrix, fp32, "fp32")->Apply(sizes)->UseManualTime();
BENCHMARK_CAPTURE(BM_matrix, fp64, "fp64")->Apply(sizes)->UseManualTime();

#ifdef MGPU_WITH_OPENBLAS
template <class Real>
void BM_matrix_openblas(benchmark::State& state) {
  const auto n = static_cast<int>(state.range(0));
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<Real> a(count), b(count), c(count);
  for (std::size_t i = 0; i < count; ++i)
    a[i] = static_cast<Real>(i % 1013) / 507 - 1, b[i] = static_cast<Real>(i % 1019) / 510 - 1;
  for (auto _ : state) {
    if constexpr (sizeof(Real) == 4) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n,
                  0, c.data(), n);
    } else {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n,
                  0, c.data(), n);
    }
    benchmark::ClobberMemory();
  }
  set_rate(state);
}
BENCHMARK_TEMPLATE(BM_matrix_openblas, float)->Apply(sizes)->UseRealTime();
BENCHMARK_TEMPLATE(BM_matrix_openblas, double)->Apply(sizes)->UseRealTime();
#endif

#ifdef MGPU_WITH_CLBLAST
// The first GPU, else the first CPU, with its default queue and buffers of floats.
struct ClblastDevice {
  ClblastDevice() {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    clGetPlatformIDs(16, platforms, &count);
    for (const cl_device_type type :
         {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_CPU}}) {
      for (cl_uint i = 0; i < count && device == nullptr; ++i)
        clGetDeviceIDs(platforms[i], type, 1, &device, nullptr);
    }
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = clCreateCommandQueue(context, device, 0, nullptr);
  }
  ~ClblastDevice() {
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

void BM_matrix_clblast(benchmark::State& state) {
  ClblastDevice on;
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> data(n * n);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 1013) / 507 - 1;
  cl_mem a = nullptr, b = nullptr, c = nullptr;
  for (cl_mem* memory : {&a, &b, &c})
    *memory = clCreateBuffer(on.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                             n * n * sizeof(float), data.data(), nullptr);
  const auto multiply = [&] {
    const auto status = CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo,
                                     n, n, n, 1, a, 0, n, b, 0, n, 0, c, 0, n, &on.queue, nullptr);
    clFinish(on.queue);
    return status == CLBlastSuccess;
  };
  if (!multiply()) state.SkipWithError("CLBlast fails");
  for (auto _ : state) multiply();
  set_rate(state);
  for (cl_mem memory : {a, b, c}) clReleaseMemObject(memory);
  CLBlastClearCache();
}
BENCHMARK(BM_matrix_clblast)->Apply(sizes)->UseRealTime();
#endif

}  // namespace
