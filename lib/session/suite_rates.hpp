// What a suite's kernels reach on a device once it is full: a problem of the suite's usual size, executed on it alone. A short
// probe of a small problem sees little but latency; this says what its work costs beyond that. `calibrate` keeps these figures,
// `plan` needs them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/exec/executor.hpp"
#include "lib/session/session.hpp"

namespace mgpu {

// The suite with those of its options that name something: whatever changes the work of an item but for its size. Sizes, numbers
// and data do not change the rate of a full device.
std::string work_of(const Problem& problem);

// The same work in a size that fills the device: a GPU, or a CPU, which any size fills.
Problem usual_problem(const Problem& like, bool cpu);
Problem problem_of_size(const Problem& like, std::uint64_t size);

// None where the device cannot do it. `look`, if given, is shown the program when it has computed everything. Throws Error(device),
// Error(timeout). Blocks, for a second at most.
std::optional<SuiteRate> measure_suite_rate(Backend& backend, Executor& executor, Workload& workload, OpenDevice& device,
                                            std::optional<Nanos> timeout,
                                            const std::function<void(DeviceProgram&)>& look = {});

struct SessionDevice;

// Adds to `rates` what is missing for the GPUs, and for CPUs where probes of a problem of this shape say too little. Else CPUs do
// without: they are full at any size. Devices that fail are left without a rate.
// They compute in `ways`, by device id.
void measure_missing_rates(Backend& backend, Executor& executor, const Problem& problem, const Shape& shape,
                           const std::map<std::string, std::string>& ways, std::span<SessionDevice> devices,
                           std::optional<Nanos> timeout, SuiteRates& rates);

// As others use CPUs too, an old figure would be worse than none.
void forget_cpus(std::span<const SessionDevice> devices, SuiteRates& rates);

}  // namespace mgpu
