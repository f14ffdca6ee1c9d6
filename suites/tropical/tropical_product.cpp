#include "suites/tropical/tropical_product.hpp"

#include <utility>

#include "lib/workload/npy.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/product_layout.hpp"
#include "suites/common/variants.hpp"
#include "suites/tropical/product_reference.hpp"
#include "suites/tropical/weights.hpp"

namespace mgpu::tropical {

TropicalProduct::Operands::Operands(const Problem& problem, const SuiteParams& params)
    : ProductMemory(problem.sizes()) {
  problem.integers ? fill<std::int32_t>(problem, params) : fill<float>(problem, params);
}

template <class Number>
void TropicalProduct::Operands::fill(const Problem& problem, const SuiteParams& params) {
  const std::span<Number> both[] = {as_numbers<Number>(operand(a())),
                                    as_numbers<Number>(operand(b()))};
  const NpyShape shapes[] = {{problem.rows, problem.inner}, {problem.inner, problem.columns}};
  ordered = true;
  for (std::size_t i = 0; i < 2; ++i) {
    if (params.input) {
      const std::filesystem::path& file = i == 0 ? *params.input : params.more_inputs.front();
      NpyShape shape = shapes[i];
      shape.numbers = problem.integers ? NpyNumbers::int32 : NpyNumbers::real;
      read_npy(file, shape, std::as_writable_bytes(both[i]));
      take_from_file(file, problem, 1, both[i]);
    } else {
      fill_operand(problem, splitmix64(params.seed, i), both[i], params.host_threads);
    }
    ordered = ordered && all_at_least_zero<Number>(both[i], problem.maximum, params.host_threads);
  }
}

TropicalProduct::TropicalProduct(const Problem& problem, const SuiteParams& params)
    : ProductWorkload(problem.sizes(), shape_of(problem.sizes(), 2, "Op/s"), params.host_threads),
      problem_(problem),
      host_threads_(params.host_threads),
      operands_(problem, params) {}

Capacity TropicalProduct::capacity(const DeviceTraits& device, Mode mode) const {
  const auto all = candidates(device);
  if (all.empty()) return no_kernel(device, problem_, candidates(without_limits(device)));
  return product::capacity(device, sizes(), geometry(), mode, {all.begin(), all.end()});
}

std::vector<Variant> TropicalProduct::candidates(const DeviceTraits& device) const {
  return variants(device, problem_, geometry(), purpose(), preferred(device));
}

std::vector<std::string> TropicalProduct::kernel_variants(const DeviceTraits& device) const {
  return names_of(variants(device, problem_, geometry(), purpose()), &Variant::name);
}

bool TropicalProduct::has_variant(const DeviceTraits& device, const std::string& variant) const {
  return is_a_variant(device, problem_, variant);
}

Demand TropicalProduct::demand(const DeviceTraits& device) const {
  Demand demand;
  if (!problem_.integers)
    demand.fp32 = fp32_roof_share(operands_.ordered && device.nvidia) * shape().ops;
  demand.memory_bytes = static_cast<double>(shape().bytes_in + shape().bytes_out);
  return demand;
}

std::unique_ptr<DeviceProgram> TropicalProduct::program(DeviceResources& device, Mode mode,
                                                        const Capacity& capacity) {
  const auto those =
      that_fit(candidates(device.traits()), device.traits(), *this, mode, capacity.fits);
  return std::make_unique<TropicalProductProgram>(
      *this, device, mode, capacity.fits, choose_kernels(device, those, problem_, purpose()));
}

Verdict TropicalProduct::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  if (const auto missing = look_at_what_arrived()) return *missing;
  return passed_.of(level, seed, digest(), [&] {
    const Finding finding =
        check_product(problem_, operands_, level == VerifyLevel::full, seed, host_threads_);
    return Verdict{finding.message.empty() ? Verdict::Status::passed : Verdict::Status::failed,
                   finding.method, finding.message};
  });
}

void TropicalProduct::write_result(const std::filesystem::path& file) const {
  write_result_files(file, problem_, operands_.c(), operands_.paths());
}

void write_result_files(const std::filesystem::path& file, const Problem& problem,
                        std::span<const std::byte> values, std::span<const std::byte> paths) {
  std::vector<std::byte> copy(values.begin(), values.end());
  NpyShape shape{problem.rows, problem.columns};
  if (problem.integers) {
    shape.numbers = NpyNumbers::int32;
    put_nothing_for_files(problem, as_numbers<std::int32_t>(std::span<std::byte>(copy)));
  }
  write_npy(file, shape, copy);
  if (!problem.paths) return;
  shape.numbers = NpyNumbers::int32;
  std::filesystem::path beside = file;
  beside.replace_extension(".paths.npy");
  write_npy(beside, shape, paths);
}

TropicalProductProgram::TropicalProductProgram(TropicalProduct& workload, DeviceResources& device,
                                               Mode mode, Items fits, Kernels kernels)
    : ProductProgram(workload, device, mode, fits, kernels.variant), kernels_(std::move(kernels)) {}

void TropicalProductProgram::pack_rows(const Grid& grid, Buffer& from, Buffer& to,
                                       std::uint32_t first, std::uint32_t count, Stream& stream) {
  const std::uint32_t inner = u32(sizes().inner);
  stream.launch(*kernels_.pack_rows, grid, {&from, &to, first, count, inner, inner});
}

void TropicalProductProgram::pack_columns(const Grid& grid, Buffer& from, Buffer& to,
                                          std::uint32_t first, std::uint32_t count,
                                          Stream& stream) {
  stream.launch(*kernels_.pack_columns, grid,
                {&from, &to, first, count, u32(sizes().inner), count});
}

void TropicalProductProgram::multiply(const Part& part, const Buffers& of, Stream& stream) {
  const std::size_t threads = kernels_.variant.threads;
  const std::uint32_t inner = u32(sizes().inner), ldc = u32(part.ldc);
  stream.launch(*kernels_.multiply, grid_of(part.count() * threads, threads),
                {of.a, of.b, of.c, of.paths != nullptr ? of.paths : of.c, part.tiles, part.first,
                 part.items, part.each, u32(part.rows), u32(part.columns), inner, u32(part.row0),
                 u32(part.column0), inner, ldc, ldc});
}

}  // namespace mgpu::tropical
