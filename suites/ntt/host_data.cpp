#include "suites/ntt/host_data.hpp"

#include "lib/base/quantity.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/variants.hpp"
#include "suites/ntt/elements.hpp"
#include "suites/ntt/reference.hpp"

namespace mgpu::ntt {

void fill_input(const Problem& problem, const SuiteParams& params, std::span<std::byte> to) {
  if (params.input) {
    read_elements(*params.input, problem, to, params.host_threads);
  } else {
    fill_elements(problem, to, params.host_threads);
  }
}

Verdict verdict_of(const Problem& problem, std::span<const std::byte> input,
                   std::span<const std::byte> result, VerifyLevel level, std::uint64_t seed,
                   unsigned threads) {
  const Finding finding = check(problem, input, result, level == VerifyLevel::full, seed, threads);
  using Status = Verdict::Status;
  return {finding.message.empty() ? Status::passed : Status::failed, finding.method,
          finding.message};
}

Demand demand_of(const Problem& problem) {
  Demand demand;
  const double all =
      static_cast<double>(problem.bytes() + (problem.cosets > 0 ? problem.extended_bytes() : 0));
  demand.memory_bytes = 2.0 * static_cast<double>(problem.passes().size()) * all;
  return demand;
}

std::string why_no_room(const DeviceTraits& device, Bytes bytes, Bytes largest) {
  if (bytes <= device.usable_memory() && largest <= device.max_allocation) return {};
  return "it takes " + format_bytes(static_cast<double>(bytes)) + " in buffers of up to " +
         format_bytes(static_cast<double>(largest)) + "; the device has " +
         format_bytes(static_cast<double>(device.usable_memory())) +
         " to give and buffers of at most " +
         format_bytes(static_cast<double>(device.max_allocation));
}

std::unique_ptr<Passes> make_passes(const Problem& problem, DeviceResources& device,
                                    const std::string& preferred, std::size_t targets) {
  auto all = variants(device.traits());
  all.insert(all.begin(), named_or_first(all, &Variant::name, preferred));
  return make_first_suited(all, [&](const Variant& variant) {
    return std::make_unique<Passes>(problem, device, variant, targets);
  });
}

}  // namespace mgpu::ntt
