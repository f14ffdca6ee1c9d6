// What a suite's kernels reach on a device once it is full: a problem of the suite's reference
// size, executed on it alone. A short probe of a small problem sees little but latency; this says
// what its work costs beyond that. `calibrate` caches these figures, `plan` needs them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/exec/executor.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// By suite with its options (work_of), and by device id.
using SuiteRates = std::map<std::pair<std::string, std::string>, SuiteRate>;

// The suite with those of its options that name something: whatever changes the work of an item but
// for its size. Sizes, numbers and data do not change the rate of a full device.
std::string work_of(const Problem& problem);

// The same work in a size that fills the device: a GPU, on which it takes `most` at most if it is
// enlarged for the caches' sake, or a CPU.
Problem problem_of_reference_size(const Problem& like, bool cpu, Bytes most = ~Bytes{0});
// Bytes that a problem may be enlarged to on a GPU: a quarter of its memory, in one piece.
Bytes room_on(const Device& device);
Problem problem_of_size(const Problem& like, std::uint64_t size);
// Every option as it comes; without a size, and what options leave open is left open.
Problem default_problem(const SuiteInfo& suite);

// None where the device cannot do it. `look`, if given, is shown the program when it has computed
// everything. Throws Error(device), Error(timeout), Error(interrupted). Blocks, for a second at
// most, unless the device is slow: of a problem that would take it over 10 s a part is executed
// (SuiteRate::in_part), and there is no look. A device counts as hung by the limits of the backend.
// `turns`: ProbeSize::most_turns, here and below.
std::optional<SuiteRate> measure_suite_rate(Backend& backend, Executor& executor,
                                            Workload& workload, OpenDevice& device,
                                            const std::function<void(DeviceProgram&)>& look = {},
                                            std::size_t turns = 0);

// Of one device and two problems, each executed whole: what operations cost beyond what a slice
// does whatever its size, and how the rest of a sample grows. `larger` as it is, or nearly, where
// noise hides that.
SuiteRate line_through(const SuiteRate& smaller, SuiteRate larger);

// The problem of reference size, and behind it a smaller one where the work is superlinear.
struct ReferenceSizeWork {
  std::vector<std::unique_ptr<Workload>> workloads;  // empty: not made yet
  Nanos preparing{};                                 // what making the last of them took
  double host_ops_per_s = 0;                         // of the last: see SuiteRate; 0: not measured
};
// As it is, for all devices of a kind.
ReferenceSizeWork work_of_reference_size(Backend& backend, const Problem& like, bool cpu,
                                         Bytes most = ~Bytes{0});

// Of that work, with its unit; `with_host`: and with what preparing and verifying it cost the host.
// Likewise; a wrong result is Error(device).
std::optional<SuiteRate> measure_rate_at_reference_size(Backend& backend, Executor& executor,
                                                        ReferenceSizeWork& work, OpenDevice& device,
                                                        bool with_host, std::size_t turns = 0);

// A CPU with its rate.
struct CpuAtWork {
  OpenDevice* device = nullptr;
  SuiteRate* rate = nullptr;
};

// CPUs share memory, and some of them power: each executes the whole workload, all at once, which
// tells `contended` of their rates. Left out are those that it does not fit on; with fewer than two
// nothing is measured. Throws as measure_suite_rate, with `failed` telling which of `cpus` did,
// where that is known.
void measure_contention(Backend& backend, Executor& executor, Workload& workload,
                        std::span<const CpuAtWork> cpus, std::optional<std::size_t>& failed,
                        std::size_t turns = 0);

}  // namespace mgpu
