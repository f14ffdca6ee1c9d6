// Finds what holds a program back: its time with one cost removed at a time, from replays. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/profile/program.hpp"

namespace mgpu {

// The program's time without one cost.
struct ProgramCost {
  std::string name;  // "perfect_balance", "free_launches", ...
  Nanos time{};      // predicted makespan
};

// How the devices shared the kernels that perfect balance would share otherwise.
struct ProgramShare {
  DeviceIndex device;
  double now = 0, balanced = 0;  // shares of the work, 0 to 1
};

struct ProgramCosts {
  // The cost whose removal would help most, or "none" if none saves 1 % of the time and more than
  // the noise; "unknown" if time stamps are impossible.
  std::string held_back_by = "none";
  std::vector<ProgramCost> costs;    // those that occur, in the order of all_program_costs()
  std::vector<ProgramShare> shares;  // of perfect_balance; empty: it does not occur
  // Copies of less than kSmallCopy bytes, and transfers from or to memory not known to be pinned.
  std::uint64_t small_copies = 0, pageable = 0;
};
inline constexpr Bytes kSmallCopy = 64 << 10;

// One row per cost that may be removed, in the order of files.
struct ProgramCostInfo {
  const char* name;     // in files
  const char* word;     // in tables: "balance"
  const char* removed;  // what is removed
};
std::span<const ProgramCostInfo> all_program_costs();
const ProgramCostInfo& program_cost(const std::string& name);  // it must be one of them

// Removes one cost at a time:
//   perfect_balance  kernels that several devices ran, or could have (an idle device of the same
//                    kind), take each of them equally long: all of their work at the sum of the
//                    devices' rates. Devices of one kind have one rate; those of different kinds
//                    have their work-items per second of that kernel
//   free_transfers   uploads and downloads take no time
//   full_overlap     transfers run next to kernels, and calls do not wait for them
//   fewer_copies     copies below kSmallCopy take the time of their bytes at the highest bandwidth
//                    that a copy of the same direction and device had, or that was measured
//   pinned_copies    transfers from and to pageable memory take the time of their bytes at the
//                    bandwidth measured with pinned memory, and enqueuing them takes no time
//   free_launches    kernels begin at once, enqueuing them takes no time, and they take as much
//                    less as the least kernel was measured to take
//   free_waits       calls return without waiting for commands
//   free_host_work   threads do nothing between their calls
//   free_builds      kernels are built before the first command, and first launches, in which
//                    drivers build what they left, begin at once
// `noise`: share of the time by which repetitions differ. Of two costs that remove the same time,
// that with the easier remedy is named.
ProgramCosts find_costs(const ProgramRecord& record, double noise = 0);

}  // namespace mgpu
