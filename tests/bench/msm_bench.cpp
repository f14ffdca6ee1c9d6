// Multi-scalar multiplication: the kernels on the CPU device, compared with the host's Pippenger
// and a plain double-and-add of the same terms.
#include <benchmark/benchmark.h>

#include <memory>

#include "lib/base/embedded.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/point.hpp"
#include "tests/bench/failure.hpp"
#include "tests/bench/resident.hpp"

using namespace mgpu;
using namespace mgpu::msm;

namespace {

// Adds one term after another, on one core.
template <class C>
void BM_double_and_add(benchmark::State& state) {
  const Terms terms =
      Terms::random(C::curve, static_cast<std::uint64_t>(state.range(0)), Scalars::uniform, 1, 2);
  for (auto _ : state) {
    Sum<C> sum;
    Affine<C> point = generator<C>();  // any point will do: the time is the same
    for (const Scalar& scalar : terms.scalars()) sum = sum + times(point, scalar);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

template <class C>
void BM_host_pippenger(benchmark::State& state) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  const Terms terms = Terms::random(C::curve, count, Scalars::uniform, 1, 2);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        host_points(C::curve).multiply(terms.point_bytes(0, count), terms.scalars(), 1));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Computes a resident sum on the whole first CPU device, including launches and collecting.
template <class C>
void BM_kernel_sum(benchmark::State& state) {
  const auto backend = make_cl_backend({embedded_kernels(), {}});
  for (const Device& device : backend->enumerate().devices) {
    if (!device.is_cpu()) continue;
    bench::Resident sum(*backend, device,
                        std::make_unique<MsmWorkload>(
                            Terms::random(C::curve, static_cast<std::uint64_t>(state.range(0)),
                                          Scalars::uniform, 1, 2),
                            MsmOptions{}));
    sum.sample();
    if (!sum.right()) return mgpu::bench::fail(state, "wrong sum");
    for (auto _ : state) state.SetIterationTime(seconds(sum.sample()));
    state.SetItemsProcessed(state.iterations() * state.range(0));
    return;
  }
  mgpu::bench::fail(state, "no OpenCL CPU device");
}

BENCHMARK_TEMPLATE(BM_double_and_add, Bn254)->Arg(1 << 12)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_host_pippenger, Bn254)->Arg(1 << 12)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_kernel_sum, Bn254)
    ->Arg(1 << 12)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
