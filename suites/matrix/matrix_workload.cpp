#include "suites/matrix/matrix_workload.hpp"

#include <memory>

#include "lib/workload/npy.hpp"
#include "suites/common/variants.hpp"
#include "suites/matrix/layout.hpp"
#include "suites/matrix/matrix_program.hpp"

namespace mgpu::matrix {

Shape shape_of(const Problem& problem) { return product::shape_of(problem.sizes(), 2, "FLOP/s"); }

MatrixWorkload::MatrixWorkload(const SuiteParams& params)
    : ProductWorkload(problem_of(params).sizes(), shape_of(problem_of(params)),
                      params.host_threads),
      problem_(problem_of(params)),
      operands_(problem_, params),
      reference_(problem_, operands_, params.host_threads) {
  set_caveats(operands_.caveats());
}

Capacity MatrixWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  return matrix::capacity(device, problem_, geometry(), mode, candidates(device));
}

std::vector<Variant> MatrixWorkload::candidates(const DeviceTraits& device) const {
  return variants(device, problem_, geometry(), preferred(device));
}

std::vector<std::string> MatrixWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(variants(device, problem_, geometry()), &Variant::name);
}

// A variant that was tuned at one size may not divide the items of another size, which then takes
// its default.
bool MatrixWorkload::has_variant(const DeviceTraits& device, const std::string& variant) const {
  return is_a_variant(device, problem_.precision, variant);
}

// If tensor cores may be used, no ceiling is known: `calibrate` does not measure them.
Demand MatrixWorkload::demand(const DeviceTraits& device) const {
  Demand demand;
  const bool wide = problem_.precision == Precision::fp64;
  const bool tensor =
      problem_.kernel == KernelChoice::automatic || problem_.kernel == KernelChoice::tensor;
  if (problem_.precision == Precision::tf32x3 || (wide && device.nvidia && tensor)) return demand;
  (wide ? demand.fp64 : demand.fp32) = shape().ops;
  demand.memory_bytes = static_cast<double>(shape().bytes_in + shape().bytes_out);
  return demand;
}

std::unique_ptr<DeviceProgram> MatrixWorkload::program(DeviceResources& device, Mode mode,
                                                       const Capacity& capacity) {
  if (!device.traits().fp32_denormals && problem_.precision != Precision::fp64)
    reference_.allow_flushing();
  return std::make_unique<MatrixProgram>(*this, device, mode, capacity.fits,
                                         candidates(device.traits()));
}

Verdict MatrixWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  if (const auto missing = look_at_what_arrived()) return *missing;
  return passed_.of(level, seed, digest(), [&] {
    Reference::Finding finding = reference_.check_sample(seed);
    if (finding.message.empty() && level == VerifyLevel::full) {
      const Reference::Finding all = reference_.check_all(seed);
      finding.method += "; " + all.method;
      finding.message = all.message;
    }
    return Verdict{finding.message.empty() ? Verdict::Status::passed : Verdict::Status::failed,
                   finding.method, finding.message};
  });
}

void MatrixWorkload::write_result(const std::filesystem::path& file) const {
  write_npy(file, {problem_.rows, problem_.columns, problem_.element()}, operands_.c());
}

}  // namespace mgpu::matrix
