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

// Of one device, alone. 0: not measured (no fp64, say).
struct Capability {
  double fp32_flops = 0, fp64_flops = 0;  // multiply-adds counted as two
  double int32_ops = 0;                   // multiply-adds of 32-bit integers, counted as two
  double memory_bytes_per_s = 0;          // read + write of a large device copy
  double pinned_up = 0, pinned_down = 0, pageable_up = 0,
         pageable_down = 0;  // bytes/s, host to device and back
  Nanos launch{};            // a launch and the wait for it
  Nanos next_launch{};       // one of many launches enqueued together
};

// What the kernels of a suite reach on one device, its data there already.
struct SuiteRate {
  double ops_per_s = 0;  // operations as the suite counts them: nodes, FLOP, terms
  Nanos slice{};         // marginal cost of a slice
  Nanos fixed{};         // what a sample costs besides
  std::string unit{};    // of an operation per second: nodes/s
  // Of superlinear work (lib/workload, Shape): a smaller problem, through which the line of `slice`
  // and `ops_per_s` goes too.
  double fewer_ops = 0;  // 0: none was measured
  Nanos fewer{};         // its kernels
  // Of the same work, operations/s that this host prepares and verifies, one after the other; 0:
  // not measured.
  double host_ops_per_s = 0;
  // Not cached: of CPUs, which are measured in every run.
  double ops = 0;          // of the problem that was measured
  Nanos whole{};           // its kernels
  double contended = 1;    // times as long they take beside all other CPUs of the set
  double fixed_grows = 0;  // exponent: of a problem of x times the operations, `fixed` is
                           // x^fixed_grows times as long
  bool in_part = false;    // all of it would take too long: nothing is verified
  // Other programs used most of the cores meanwhile: good for a first estimate, until it is
  // measured again.
  bool busy = false;
};

// Of several devices at once: what they carry together.
struct LinkCapability {
  std::vector<std::string> devices;  // ids, in the order of the set
  LinkRate up, down;  // in all, pinned, of the first one, two and so on where that was measured
  // Is it known what the first `count` of them carry? Of one among several its own link says that.
  bool knows(std::size_t count) const {
    return count == devices.size() || (count > 1 && up.by_count().size() >= count);
  }
};

// What is known of the devices of a set.
struct Calibration {
  std::vector<std::optional<Capability>>
      devices;                         // in the order of the set; empty: nothing is known of any
  std::optional<LinkCapability> link;  // of all of them together
  PeerLinks peers;                     // between them, in the order of the set; empty: not known
};

}  // namespace mgpu
