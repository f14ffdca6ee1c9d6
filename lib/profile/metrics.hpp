// The numbers of a case, as lib/profile/README.md defines them, from a timeline and measured times.
// Pure. An undefined figure is none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/timeline.hpp"

namespace mgpu {

// The parts of T of one device, each measured on its own: upload, compute, download and exchange
// from its commands (time under several counts once: compute first, then upload, then download,
// then exchange, in which it waits for other devices, too); launch = in flight with nothing
// running; sync, idle and wake by the host clock (commands running during them count as commands).
// residue = T - the sum of all others: what the measurement missed or counted twice.
struct DeviceParts {
  std::string unknown;  // why its times are not known (see impossible_stamps), which are then all
                        // 0; empty: they are
  Nanos upload{}, compute{}, download{}, exchange{}, launch{}, sync{}, idle{}, wake{}, residue{};
  bool exchanges = false;   // it has commands of that kind
  Nanos busy{};             // union of the device's commands
  Nanos finish{};           // end of its last command before the merge; 0 if it had none
  Nanos transfer_hidden{};  // transfer time under compute
  Nanos transfer_total{};   // union of its transfers
  Items items = 0;
  std::uint32_t slices = 0;
  Bytes bytes_in = 0, bytes_out = 0;
  Bytes bytes_sent = 0, bytes_received = 0;  // to and from other devices
  struct ExchangeTimes {
    Nanos hidden{};   // under compute
    Nanos total{};    // union of its exchanges, waiting included
    Nanos waiting{};  // under one that waits for other devices or receives, and under no transfer
                      // or kernel
    bool operator==(const ExchangeTimes&) const = default;
  };
  std::optional<ExchangeTimes> exchange_times{};  // none: it exchanges nothing, its times are not
                                                  // known, or nobody recorded them
};
std::vector<DeviceParts> device_parts(const Timeline& timeline);

// Why the time stamps of each device cannot be right, by device; empty where they can. A command
// ends after it began, or as it did: but a kernel takes time, and so does a transfer of 1 MiB,
// except by a virtual clock. It lies inside the sample, but for the uncertainty of the device's
// clock and 100 us more (none of 244,608 commands recorded on four machines lay further out than
// the uncertainty alone), and that is at most the sample's own length, or 1 ms.
std::vector<std::string> impossible_stamps(const Timeline& timeline);

struct Metrics {
  std::optional<double> speedup, ideal_speedup, efficiency, balance, imbalance_percent,
      imbalance_derose_percent, karp_flatt, utilisation_stdev, overlap, comm_share, exchange_share,
      waiting_share, exchange_overlap, round_imbalance_percent, worst_round_imbalance_percent,
      filling_share, period_ratio, sync_share, share_error, prediction_error, roofline_fraction;
};

// `time` is the median T of the case. `alone` holds tau_i of each device of the set (none where not
// measured); speedup, ideal_speedup and what follows from them need all of them. What is made of
// times of commands is none when those of any device are not known. `predicted` is the prediction
// of T made before the first sample.
struct MetricsInput {
  Nanos time{};
  std::vector<std::optional<Nanos>> alone;
  std::optional<Nanos> predicted;
  std::optional<double> roofline_fraction;
};
Metrics compute_metrics(const Timeline& timeline, std::span<const DeviceParts> parts,
                        const MetricsInput& input);

// The pieces, for tests and other callers. Each is none where the definition divides by zero or
// needs two devices.
std::optional<double> balance(std::span<const Nanos> finish);          // min / max
std::optional<double> imbalance_percent(std::span<const Nanos> busy);  // (max/mean - 1) * 100
std::optional<double> imbalance_derose_percent(
    std::span<const Nanos> busy);  // (max-mean)/max * n/(n-1) * 100
std::optional<double> ideal_speedup(std::span<const Nanos> alone);  // min tau * sum 1/tau
std::optional<double> karp_flatt(double speedup, double ideal_speedup);

// One row per metric, in the order of files: whatever lists metrics, writes or reads them, or takes
// the name of one, goes by these.
struct MetricInfo {
  const char* name;  // in files, `--require`, `list metrics`
  const char* unit;  // "x", "1", "%"
  bool higher_is_better;
  const char* definition;
  std::optional<double> Metrics::*value;
  bool optional = false;  // left out of files in which there is none, as it is of those of versions
                          // that did not know it
};
std::span<const MetricInfo> all_metrics();
const MetricInfo* find_metric(std::string_view name);  // null: there is none of that name

}  // namespace mgpu
