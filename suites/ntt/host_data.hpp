// Parts that workloads of the suite share.
#pragma once

#include "suites/ntt/passes.hpp"

namespace mgpu::ntt {

// Fills in the elements of --input, or seeded ones. Throws Error(input).
void fill_input(const Problem& problem, const SuiteParams& params, std::span<std::byte> to);

// Compares a result whose parts have all arrived.
Verdict verdict_of(const Problem& problem, std::span<const std::byte> input,
                   std::span<const std::byte> result, VerifyLevel level, std::uint64_t seed,
                   unsigned threads);

// Returns the memory traffic of the passes.
Demand demand_of(const Problem& problem);

// Returns why a device cannot do the problem with `bytes` in buffers of at most `largest`; empty:
// it can.
std::string why_no_room(const DeviceTraits& device, Bytes bytes, Bytes largest);

// Makes passes with the preferred variant, or else the first that suits the device.
std::unique_ptr<Passes> make_passes(const Problem& problem, DeviceResources& device,
                                    const std::string& preferred, std::size_t targets = 0);

}  // namespace mgpu::ntt
