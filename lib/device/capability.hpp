// Capability: what a device was measured to do, and what a set of devices does when all of it is at
// work. `calibrate` measures both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/device/link_rate.hpp"
#include "lib/device/peer_links.hpp"

namespace mgpu {

// Measured speed of one device on its own. 0: not measured (no fp64, say).
struct Capability {
  double fp32_flops = 0, fp64_flops = 0;  // multiply-adds counted as two
  double int32_ops = 0;                   // multiply-adds of 32-bit integers, counted as two
  double memory_bytes_per_s = 0;          // read + write of a large device copy
  double pinned_up = 0, pinned_down = 0, pageable_up = 0,
         pageable_down = 0;  // bytes/s, host to device and back
  Nanos launch{};            // a launch and the wait for it
  Nanos next_launch{};       // one of many launches enqueued together
  Nanos least_kernel{};      // a kernel of one group that adds to words, by the device's stamps
  // The same, of one that has waited in the queue for others: NVIDIA's stamps have less of its
  // launch then.
  Nanos least_waiting_kernel{};
};

// Least work that a problem demands of a single device that does all of it, by the kinds of work
// whose ceilings `calibrate` measures. 0: next to nothing, or a kind whose ceiling is not measured.
// Transfers are not included.
struct Demand {
  double fp32 = 0, fp64 = 0, int32 = 0;  // operations; multiply-adds count as two
  double memory_bytes = 0;               // bytes read and written
  bool any() const { return fp32 > 0 || fp64 > 0 || int32 > 0 || memory_bytes > 0; }
};

// Bytes of a sample that cross the host link, for all devices together, and the rates of the link;
// 0: nothing, or not known.
struct LinkCeiling {
  double bytes_up = 0, bytes_down = 0, up = 0, down = 0;
  bool any() const { return bytes_up > 0 || bytes_down > 0; }
};

// Speed of a suite's kernels on one device whose data are on it already.
struct SuiteRate {
  double ops_per_s = 0;  // operations as the suite counts them: nodes, FLOP, terms
  Nanos slice{};         // marginal cost of a slice
  Nanos fixed{};         // cost of a sample that does not depend on its operations
  std::string unit{};    // unit of `ops_per_s`: nodes/s
  // Time of a smaller problem, which superlinear work (lib/workload, Shape) has in addition: the
  // line of `slice` and `ops_per_s` also goes through it.
  double fewer_ops = 0;  // 0: none was measured
  Nanos fewer{};         // its kernels
  // Operations/s of the same work that this host prepares and verifies, one after the other; 0:
  // not measured.
  double host_ops_per_s = 0;
  // Power of a device that executes it, and of one that idles with its program in memory; 0: not
  // measured.
  double busy_w = 0, idle_w = 0;
  // Figures that are not cached: CPUs are measured in every run.
  double ops = 0;  // operations of the measured problem
  Nanos whole{};   // time of its kernels
  // Factor by which its kernels take longer while all other CPUs of the set work.
  double contended = 1;
  // Exponent: a problem of x times the operations has x^fixed_grows times as long a `fixed`.
  double fixed_grows = 0;
  bool in_part = false;  // all of it would take too long: nothing is verified
  // Other programs used most of the cores during the measurement. The rate serves as a first
  // estimate until it is measured again.
  bool busy = false;
};

// Bandwidth of several devices that copy at the same time.
struct LinkCapability {
  std::vector<std::string> devices;  // ids, in the order of the set
  LinkRate up, down;                 // total, pinned; by number of devices where that was measured
  // Returns whether the bandwidth of the first `count` devices is known. For one among several
  // devices, its own Capability has it.
  bool knows(std::size_t count) const {
    return count == devices.size() || (count > 1 && up.by_count().size() >= count);
  }
};

// Measured capabilities of the devices of a set.
struct Calibration {
  std::vector<std::optional<Capability>>
      devices;                         // in the order of the set; empty: no device is calibrated
  std::optional<LinkCapability> link;  // bandwidth of all of them together
  // Links between them, in the order of the set; empty: not known.
  PeerLinks peers;
};

}  // namespace mgpu
