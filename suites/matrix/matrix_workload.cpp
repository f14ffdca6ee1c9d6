// What came back, its digest and its verification.
#include "suites/matrix/matrix_workload.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/matrix/layout.hpp"
#include "suites/matrix/matrix_program.hpp"

namespace mgpu::matrix {

Shape shape_of(const Problem& problem) {
  const Geometry geometry = Geometry::of(problem.rows, problem.columns, problem.axis);
  Shape shape;
  shape.large_result = true;
  const auto per_item = [&](Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(geometry.items()); };
  const Bytes c_in = problem.reads_c() ? problem.c_bytes() : 0;
  shape.items = geometry.items();
  shape.ops = 2.0 * static_cast<double>(problem.rows) * static_cast<double>(problem.columns) * static_cast<double>(problem.inner);
  shape.rate_unit = "FLOP/s";
  shape.bytes_in = problem.a_bytes() + problem.b_bytes() + c_in;
  shape.bytes_out = problem.c_bytes();
  shape.cost.ops = shape.ops / static_cast<double>(geometry.items());
  shape.cost.out_bytes = per_item(problem.c_bytes());
  // By tiles, a device is sent what its tiles touch: for a compact part of n devices about 1 / sqrt(n) of A and of B; their share
  // alone is counted here.
  shape.cost.in_bytes =
      per_item(c_in + (problem.axis == Axis::cols ? 0 : problem.a_bytes()) + (problem.axis == Axis::rows ? 0 : problem.b_bytes()));
  shape.cost.replicated = problem.axis == Axis::rows ? problem.b_bytes() : problem.axis == Axis::cols ? problem.a_bytes() : 0;
  return shape;
}

MatrixWorkload::MatrixWorkload(const SuiteParams& params)
    : problem_(problem_of(params)),
      geometry_(Geometry::of(problem_.rows, problem_.columns, problem_.axis)),
      operands_(problem_, params),
      host_threads_(params.host_threads),
      shape_(shape_of(problem_)),
      reference_(problem_, operands_, params.host_threads),
      arrived_(geometry_.items(), false) {}

Capacity MatrixWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  return matrix::capacity(device, problem_, geometry_, mode, candidates(device));
}

std::vector<Variant> MatrixWorkload::candidates(const DeviceTraits& device) const {
  const auto preferred = preferred_.find(device.id);
  return variants(device, problem_, geometry_, preferred == preferred_.end() ? std::string() : preferred->second);
}

std::vector<std::string> MatrixWorkload::kernel_variants(const DeviceTraits& device) const {
  std::vector<std::string> names;
  for (const Variant& variant : variants(device, problem_, geometry_)) names.push_back(variant.name());
  return names;
}

// What was found with one size may not divide the items of another: that one then takes what it would without.
bool MatrixWorkload::prefer(const DeviceTraits& device, const std::string& variant) {
  if (!is_a_variant(device, problem_.precision, variant)) return false;
  preferred_[device.id] = variant;
  return true;
}

// Where tensor cores may be used, no roof is known: `calibrate` does not measure them.
Demand MatrixWorkload::demand(const DeviceTraits& device) const {
  Demand demand;
  const bool wide = problem_.precision == Precision::fp64;
  const bool tensor = problem_.kernel == KernelChoice::automatic || problem_.kernel == KernelChoice::tensor;
  if (problem_.precision == Precision::tf32x3 || (wide && device.nvidia && tensor)) return demand;
  (wide ? demand.fp64 : demand.fp32) = shape_.ops;
  demand.memory_bytes = static_cast<double>(shape_.bytes_in + shape_.bytes_out);
  return demand;
}

std::unique_ptr<DeviceProgram> MatrixWorkload::program(DeviceResources& device, Mode mode, const Capacity& capacity) {
  if (!device.traits().fp32_denormals && problem_.precision != Precision::fp64) reference_.allow_flushing();
  return std::make_unique<MatrixProgram>(*this, device, mode, capacity.fits, candidates(device.traits()));
}

void MatrixWorkload::exchange_among(std::span<const DeviceIndex> members) {
  if (replicated_) replicated_->among(members);
}

// C is poisoned once it was looked at, so that an element nobody computes again cannot pass; before every sample that would cost as
// much as the transfers.
void MatrixWorkload::begin_sample() {
  ++sample_;
  std::fill(arrived_.begin(), arrived_.end(), false);
  if (!looked_at_) return;
  looked_at_ = false;
  constexpr std::size_t at_once = std::size_t{1} << 22;
  const std::span<std::byte> bytes = operands_.c();
  parallel_for((bytes.size() + at_once - 1) / at_once, host_threads_, [&](std::uint64_t i) {
    const auto part = bytes.subspan(i * at_once, std::min(at_once, bytes.size() - i * at_once));
    std::memset(part.data(), 0xff, part.size());  // not a number
  });
}

void MatrixWorkload::arrived(std::span<const Slice> slices) {
  const std::scoped_lock lock(mutex_);
  for (const Slice& slice : slices) {
    for (Items i = slice.begin; i < slice.end; ++i) arrived_[i] = true;
  }
}

std::string MatrixWorkload::digest() const { return sha256_hex(operands_.c()); }

Verdict MatrixWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  looked_at_ = true;
  const auto missing = std::count(arrived_.begin(), arrived_.end(), false);
  if (missing > 0) {
    return {Verdict::Status::failed, "whether all of C arrived",
            std::to_string(missing) + " of " + std::to_string(arrived_.size()) + " parts of C did not arrive on the host"};
  }
  Reference::Finding finding = reference_.check_sample(seed);
  if (finding.message.empty() && level == VerifyLevel::full) {
    const Reference::Finding all = reference_.check_all(seed);
    finding.method += "; " + all.method;
    finding.message = all.message;
  }
  return {finding.message.empty() ? Verdict::Status::passed : Verdict::Status::failed, finding.method, finding.message};
}

void MatrixWorkload::write_result(const std::filesystem::path& file) const {
  write_npy(file, {problem_.rows, problem_.columns, problem_.element()}, operands_.c());
}

}  // namespace mgpu::matrix
