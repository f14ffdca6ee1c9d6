#include "suites/ntt/split_workload.hpp"

#include <algorithm>

#include "suites/common/variants.hpp"
#include "suites/ntt/elements.hpp"
#include "suites/ntt/host_data.hpp"
#include "suites/ntt/split_program.hpp"

namespace mgpu::ntt {

SplitWorkload::SplitWorkload(const Problem& problem, const SuiteParams& params)
    : PartitionedWorkload(problem, params, host_bytes(problem),
                          "a transform of " + std::to_string(problem.n()) + " elements"),
      devices_(std::max<std::size_t>(params.devices, 1)) {
  results_ = {pages_.data() + in_pages(problem.bytes()), problem.bytes()};
  fill_input(problem_, params, {pages_.data(), problem.bytes()});
}

Demand SplitWorkload::demand(const DeviceTraits&) const { return demand_of(problem_); }

Capacity SplitWorkload::capacity(const DeviceTraits& device, Mode) const {
  Capacity capacity;
  capacity.resident = 3 * problem_.bytes() + landing_bytes();
  capacity.reason = why_no_room(device, capacity.resident, problem_.bytes());
  if (capacity.reason.empty()) capacity.fits = capacity.pipeline = shape_.items;
  return capacity;
}

std::vector<std::string> SplitWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(variants(device), &Variant::name);
}

std::unique_ptr<DeviceProgram> SplitWorkload::program(DeviceResources& device, Mode mode,
                                                      const Capacity&) {
  const std::size_t targets = stores_to_others_ && device.peer() ? device.peer()->count() : 0;
  return std::make_unique<SplitProgram>(
      *this, device, mode, make_passes(problem_, device, preferred(device.traits()), targets));
}

void SplitWorkload::connect(PeerGroup& group) {
  landing_.allocate(group, landing_bytes(), 1);
  stores_to_others_ = problem_.way != Way::puts && group.size() <= most_devices &&
                      kernels_reach(landing_[0], group.size());
  if (problem_.way == Way::kernels && !stores_to_others_)
    throw Error(ErrorKind::unsupported,
                "--exchange kernels: kernels of these devices do not reach each other's memory; "
                "expected: auto, puts");
}

void SplitWorkload::set_partition(std::span<const Owner> owners) {
  if (owners.size() > most_devices)
    throw Error(ErrorKind::unsupported, "a transform is shared by up to " +
                                            std::to_string(most_devices) +
                                            " devices; expected: fewer devices, or --batch");
  PartitionedWorkload::set_partition(owners);
}

Verdict SplitWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("parts of the result")) return *missing;
  return passed_.of(level, seed, digest(), [&] {
    return verdict_of(problem_, input(), result(), level, seed, host_threads_);
  });
}

void SplitWorkload::write_result(const std::filesystem::path& file) const {
  write_elements(file, problem_, result());
}

}  // namespace mgpu::ntt
