#include "suites/geometric/geometric_workload.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/quantity.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/number_text.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/common/uniform_element.hpp"
#include "suites/common/variants.hpp"
#include "suites/geometric/geometric_program.hpp"
#include "suites/geometric/reference.hpp"

namespace mgpu::geometric {
namespace {

// Throws Error(input) for magnitudes so large that a sum of 1024 products of three might leave the
// range.
template <class Real>
void check_range(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  const double most = sizeof(Real) == 4 ? 1e11 : 1e100;
  const auto* const values = reinterpret_cast<const Real*>(bytes.data());
  for (std::uint64_t i = 0; i < bytes.size() / sizeof(Real); ++i)
    if (!(std::abs(values[i]) <= static_cast<Real>(most)))
      throw Error(ErrorKind::input, "--input: " + file.string() + ", entry " + std::to_string(i) +
                                        ": " + number_text(values[i]) +
                                        "; expected: magnitudes up to " + number_text(most) +
                                        ", so that no sum leaves the range");
}

// The best variant for small multivectors is not the best for large ones, so their names differ.
Variant variant_of(const Problem& problem, bool staged, unsigned group) {
  const char* const size = problem.signature.components() > 8 ? " large" : "";
  return {(staged ? "staged " : "direct ") + std::to_string(group) + size,
          {problem.wide, staged, group}};
}

}  // namespace

// Multivectors of up to 8 components are read directly, 16 bytes at a time; the first-level cache
// fetches each byte once. Larger ones are staged through local memory, because work-items would
// read 16 bytes at a time at distances of 64 to 256 bytes.
std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem) {
  std::vector<Variant> all;
  const auto add = [&](bool staged, unsigned group) {
    const Bytes local = staged ? Bytes{2} * group * (problem.multivector() + 16) : 0;
    if (group <= device.max_work_group && local <= device.local_memory)
      all.push_back(variant_of(problem, staged, group));
  };
  const bool large = problem.signature.components() > 8;
  if (device.cpu) {
    for (const unsigned group : {16u, 64u}) add(false, group);
  }
  for (const bool staged : {large, !large}) {
    if (device.cpu || (staged && problem.multivector() < 16)) continue;
    for (const unsigned group : {large ? 64u : 256u, 128u, 32u}) add(staged, group);
  }
  // Groups of any size read directly.
  for (unsigned group = 16; all.empty() && group > 0; group /= 2) add(false, group);
  return all;
}

GeometricWorkload::GeometricWorkload(const SuiteParams& params)
    : problem_(problem_of(params)),
      shape_(shape_of(problem_)),
      host_threads_(params.host_threads),
      pages_(host_bytes(problem_), std::to_string(problem_.count) + " multivectors"),
      arrivals_(problem_.items(), params.host_threads) {
  if (params.input) read(params);
  for (unsigned i = 0; i < 2 && !params.input; ++i) {
    const std::span<std::byte> to{pages_.data() + i * place(), problem_.operand_bytes()};
    const std::uint64_t seed = splitmix64(params.seed, i);
    problem_.wide ? fill_uniform<double>(to, seed, problem_.integers, host_threads_)
                  : fill_uniform<float>(to, seed, problem_.integers, host_threads_);
  }
}

void GeometricWorkload::read(const SuiteParams& params) {
  for (unsigned i = 0; i < 2; ++i) {
    const std::filesystem::path& file = i == 0 ? *params.input : params.more_inputs.front();
    const std::span<std::byte> to{pages_.data() + i * place(), problem_.operand_bytes()};
    read_npy(file, {problem_.count, problem_.signature.components(), problem_.element()}, to);
    problem_.wide ? check_range<double>(file, to) : check_range<float>(file, to);
  }
}

Demand GeometricWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  (problem_.wide ? demand.fp64 : demand.fp32) =
      2.0 * static_cast<double>(multiply_adds(problem_.signature, problem_.operation)) *
      static_cast<double>(problem_.count);
  demand.memory_bytes = static_cast<double>(shape_.bytes_in + shape_.bytes_out);
  return demand;
}

Capacity GeometricWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  Capacity capacity;
  if (problem_.wide && !device.fp64) {
    capacity.reason = "it has no fp64";
    return capacity;
  }
  const Bytes usable = device.usable_memory(), item = problem_.of_item() * problem_.multivector();
  if (mode == Mode::resident) {
    capacity.resident = 3 * problem_.operand_bytes();
    if (problem_.operand_bytes() > device.max_allocation || capacity.resident > usable) {
      capacity.reason =
          "two operands and their products take " +
          format_bytes(static_cast<double>(capacity.resident)) + "; the device has " +
          format_bytes(static_cast<double>(usable)) + " to give and buffers of at most " +
          format_bytes(static_cast<double>(device.max_allocation)) + "; try --mode end-to-end";
      return capacity;
    }
    capacity.fits = capacity.pipeline = problem_.items();
    return capacity;
  }
  // A slice has at least 8 MiB per operand, so that copies reach the link's rate, and at most 1
  // GiB. Sixteen slices let copies overlap.
  const Items most =
      std::max<Items>(1, std::min({device.max_allocation, usable / 6, Bytes{1} << 30}) / item);
  const Items wanted =
      std::max<Items>((problem_.items() + 15) / 16, std::max<Items>(1, (Bytes{8} << 20) / item));
  capacity.fits = std::min(most, problem_.items());
  capacity.pipeline = std::min(wanted, capacity.fits);
  capacity.resident = 6 * capacity.fits * item;
  return capacity;
}

std::vector<std::string> GeometricWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(variants(device, problem_), &Variant::name);
}

std::unique_ptr<DeviceProgram> GeometricWorkload::program(DeviceResources& device, Mode mode,
                                                          const Capacity& capacity) {
  auto all = variants(device.traits(), problem_);
  const Variant chosen = named_or_first(all, &Variant::name, preferred(device.traits()));
  all.insert(all.begin(), chosen);
  // The kernel itself may be limited to smaller groups than the device.
  for (unsigned group = all.back().form.group / 2; group > 0; group /= 2)
    all.push_back(variant_of(problem_, false, group));
  return make_first_suited(all, [&](const Variant& variant) {
    return std::make_unique<GeometricProgram>(*this, device, mode, capacity.fits, variant);
  });
}

std::string GeometricWorkload::digest() const {
  return sha256_hex({pages_.data() + 2 * place(), problem_.operand_bytes()});
}

Verdict GeometricWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("parts of the products")) return *missing;
  return passed_.of(level, seed, digest(), [&] {
    const Finding finding = check(problem_, operand(0), operand(1), result(),
                                  level == VerifyLevel::full, seed, host_threads_);
    return Verdict{finding.message.empty() ? Status::passed : Status::failed, finding.method,
                   finding.message};
  });
}

void GeometricWorkload::write_result(const std::filesystem::path& file) const {
  write_npy(file, {problem_.count, problem_.signature.components(), problem_.element()},
            {pages_.data() + 2 * place(), problem_.operand_bytes()});
}

}  // namespace mgpu::geometric
