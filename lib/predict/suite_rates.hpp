// Measures the rate of a suite's kernels on a full device: a problem of the suite's reference size,
// executed on it alone. A short probe of a small problem shows little but latency; this shows the
// cost of its work. `calibrate` caches these rates, `plan` needs them.
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

// Rates by suite with its options (work_of) and by device id.
using SuiteRates = std::map<std::pair<std::string, std::string>, SuiteRate>;

// Returns the suite with those of its options that are names: everything that changes the work of
// an item apart from its size. Sizes, numbers and data do not change the rate of a full device.
std::string work_of(const Problem& problem);
// Returns the same for messages: the suite, and those of its options that are not at their
// defaults, as on a command line: "kernel --kernel dot.toml".
std::string work_in_words(const Problem& problem);

// Returns the same work in a size that fills the device, a CPU or a GPU. If it is enlarged for a
// GPU to exceed its caches, it takes at most `most` bytes.
Problem problem_of_reference_size(const Problem& like, bool cpu, Bytes most = ~Bytes{0});
// Returns the bytes that a problem may be enlarged to on a GPU: a quarter of its memory, as one
// allocation.
Bytes room_on(const Device& device);
Problem problem_of_size(const Problem& like, std::uint64_t size);
// Returns the problem with all options at their defaults, without a size and without resolving
// options that are left open.
Problem default_problem(const SuiteInfo& suite);

// Measures the rate of the workload on the device; none if the device cannot do it. `look`, if
// given, is called with the program once it has computed everything. Throws Error(device),
// Error(timeout), Error(interrupted). Blocks, for at most a second unless the device is slow: of a
// problem that would take it over 10 s only a part is executed (SuiteRate::in_part), and `look` is
// not called. A device counts as hung by the limits of the backend. `turns`: ProbeSize::most_turns,
// here and below.
std::optional<SuiteRate> measure_suite_rate(Backend& backend, Executor& executor,
                                            Workload& workload, OpenDevice& device,
                                            const std::function<void(DeviceProgram&)>& look = {},
                                            std::size_t turns = 0);

// Returns `larger` with the line through two problems that one device executed whole: the cost of
// operations apart from the constant cost of a slice, and the growth of the rest of a sample. If
// noise hides that, returns `larger` nearly or entirely unchanged.
SuiteRate line_through(const SuiteRate& smaller, SuiteRate larger);

// The problem of reference size, followed by a smaller one if the work is superlinear.
struct ReferenceSizeWork {
  std::vector<std::unique_ptr<Workload>> workloads;  // empty: not made yet
  Nanos preparing{};                                 // time to make the last of them
  // Rate of the host for the last workload (SuiteRate); 0: not measured.
  double host_ops_per_s = 0;
  VerifyLevel verify = VerifyLevel::full;  // how the host verifies it
};
// Makes that work, which is the same for all devices of a kind.
ReferenceSizeWork work_of_reference_size(Backend& backend, const Problem& like, bool cpu,
                                         Bytes most = ~Bytes{0});

// Makes work of another size, which is not the reference.
ReferenceSizeWork work_of_size(Backend& backend, const Problem& like, std::uint64_t size, bool cpu);

// Measures the rate of that work, with its unit. `with_host`: also measures how fast the host
// prepares and verifies it. Blocks and throws as measure_suite_rate; a wrong result is
// Error(device).
std::optional<SuiteRate> measure_rate_at_reference_size(Backend& backend, Executor& executor,
                                                        ReferenceSizeWork& work, OpenDevice& device,
                                                        bool with_host, std::size_t turns = 0);

// A CPU with its rate.
struct CpuAtWork {
  OpenDevice* device = nullptr;
  SuiteRate* rate = nullptr;
};

// Measures `contended` of the CPUs' rates: CPUs share memory, and some of them power, so each
// executes the whole workload, all at once. CPUs that it does not fit on are left out; with fewer
// than two nothing is measured. Throws what measure_suite_rate throws; `failed` is then the
// position in `cpus` of the one that failed, if known.
void measure_contention(Backend& backend, Executor& executor, Workload& workload,
                        std::span<const CpuAtWork> cpus, std::optional<std::size_t>& failed,
                        std::size_t turns = 0);

}  // namespace mgpu
