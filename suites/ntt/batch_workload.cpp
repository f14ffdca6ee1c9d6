#include "suites/ntt/batch_workload.hpp"

#include <algorithm>

#include "suites/common/sha256_hex.hpp"
#include "suites/common/variants.hpp"
#include "suites/ntt/batch_program.hpp"
#include "suites/ntt/elements.hpp"
#include "suites/ntt/host_data.hpp"

namespace mgpu::ntt {

BatchWorkload::BatchWorkload(const Problem& problem, const SuiteParams& params)
    : problem_(problem),
      shape_(shape_of(problem_)),
      host_threads_(params.host_threads),
      pages_(host_bytes(problem_), std::to_string(problem_.batch) + " transforms"),
      arrivals_(shape_.items, params.host_threads) {
  fill_input(problem_, params, {pages_.data(), problem_.bytes()});
}

Demand BatchWorkload::demand(const DeviceTraits&) const { return demand_of(problem_); }

Capacity BatchWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  const Bytes each = problem_.transform_bytes(),
              extended = problem_.result_bytes() / problem_.batch,
              columns = problem_.at_once() * each * (problem_.cosets > 0 ? 2 : 1);
  Capacity capacity;
  if (mode == Mode::resident) {
    capacity.resident = problem_.bytes() + problem_.result_bytes() + columns;
    capacity.reason = why_no_room(device, capacity.resident, problem_.result_bytes());
    if (capacity.reason.empty()) {
      capacity.fits = capacity.pipeline = shape_.items;
    } else {
      capacity.reason += "; try --mode end-to-end";
    }
    return capacity;
  }
  // Two slots of an input and a result each. Sixteen slices let copies overlap.
  const Bytes rest = device.usable_memory() - std::min(columns, device.usable_memory());
  capacity.fits =
      std::min({shape_.items, rest / (2 * (each + extended)), device.max_allocation / extended});
  capacity.resident = columns + 2 * std::max<Items>(capacity.fits, 1) * (each + extended);
  if (capacity.fits == 0) {
    capacity.reason = why_no_room(device, capacity.resident, extended);
    return capacity;
  }
  capacity.pipeline = std::min(
      capacity.fits, std::max({Items{1}, ceil_div(shape_.items, 16), (Bytes{8} << 20) / each}));
  return capacity;
}

std::vector<std::string> BatchWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(variants(device), &Variant::name);
}

std::unique_ptr<DeviceProgram> BatchWorkload::program(DeviceResources& device, Mode mode,
                                                      const Capacity& capacity) {
  return std::make_unique<BatchProgram>(*this, device, mode, capacity.fits,
                                        preferred(device.traits()));
}

std::string BatchWorkload::digest() const { return sha256_hex(result()); }

Verdict BatchWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("transforms")) return *missing;
  return passed_.of(level, seed, digest(), [&] {
    return verdict_of(problem_, input(), result(), level, seed, host_threads_);
  });
}

void BatchWorkload::write_result(const std::filesystem::path& file) const {
  write_elements(file, problem_, result());
}

}  // namespace mgpu::ntt
