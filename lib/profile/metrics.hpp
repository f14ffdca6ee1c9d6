// The metrics of a case, as lib/profile/README.md defines them, from a timeline and measured times.
// Pure. An undefined metric is none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/timeline.hpp"

namespace mgpu {

// The parts of T of one device, each measured on its own. Upload, compute, download and exchange
// come from its commands; time under several counts once, in the order compute, upload, download,
// exchange (which includes waiting for other devices). launch is time in flight with nothing
// running. sync, idle and wake come from the host clock, without the commands that run during them.
// residue is the unaccounted time, T minus the sum of all others: time that the measurement missed
// or counted twice.
struct DeviceParts {
  // Why its times are unknown (see impossible_stamps), which are then all 0; empty: they are known.
  std::string unknown;
  Nanos upload{}, compute{}, download{}, exchange{}, launch{}, sync{}, idle{}, wake{}, residue{};
  bool exchanges = false;   // it has commands of kind exchange
  Nanos busy{};             // union of the device's commands
  Nanos finish{};           // end of its last command before the merge; 0 if it had none
  Nanos transfer_hidden{};  // transfer time under compute
  Nanos transfer_total{};   // union of its transfers
  Items items = 0;
  std::uint32_t slices = 0;
  Bytes bytes_in = 0, bytes_out = 0;
  bool in_place = false;                     // its kernels read input in the host's memory
  Bytes bytes_sent = 0, bytes_received = 0;  // bytes from and to other devices
  struct ExchangeTimes {
    Nanos hidden{};   // under compute
    Nanos total{};    // union of its exchanges, waiting included
    Nanos waiting{};  // under an exchange that waits or receives, not under a transfer or kernel
    bool operator==(const ExchangeTimes&) const = default;
  };
  // None if it exchanges nothing, or its times are unknown or not recorded.
  std::optional<ExchangeTimes> exchange_times{};
};
std::vector<DeviceParts> device_parts(const Timeline& timeline);

// Returns by device the sum over its slices of the time from the start of a slice's first command
// to the end of its last. Two slices in flight may overlap.
std::vector<Nanos> slice_totals(const Timeline& timeline);

// Returns per device why its time stamps cannot be right; empty if they can. A command must not end
// before it began, and a kernel or a transfer of 1 MiB must take time, except on a virtual clock. A
// command must lie inside the sample, up to the uncertainty of the device's clock plus 100 us (none
// of 244,608 commands recorded on four machines lay further out than the uncertainty alone). The
// uncertainty must be at most the sample's length or 1 ms, whichever is larger.
std::vector<std::string> impossible_stamps(const Timeline& timeline);

struct Metrics {
  std::optional<double> speedup, ideal_speedup, efficiency, balance, imbalance_percent,
      imbalance_derose_percent, karp_flatt, utilisation_stdev, overlap, comm_share, exchange_share,
      waiting_share, exchange_overlap, round_imbalance_percent, worst_round_imbalance_percent,
      filling_share, period_ratio, sync_share, share_error, prediction_error, roofline_fraction,
      memory_used, memory_saved, moved_share, moving_share, adaptation_ms;
};

// `time` is the median T of the case. `alone` has the single-device baseline tau_i of each device
// of the set (none if not measured); speedup, ideal_speedup and metrics derived from them need all
// of them. Metrics from times of commands are none when the times of any device are unknown.
// `predicted` is the prediction of T made before the first sample.
struct MetricsInput {
  Nanos time{};
  std::vector<std::optional<Nanos>> alone;
  std::optional<Nanos> predicted;
  std::optional<double> roofline_fraction;
};
Metrics compute_metrics(const Timeline& timeline, std::span<const DeviceParts> parts,
                        const MetricsInput& input);

// The pieces, for tests and other callers. Each is none if the definition divides by zero or needs
// two devices.
std::optional<double> balance(std::span<const Nanos> finish);          // min / max
std::optional<double> imbalance_percent(std::span<const Nanos> busy);  // (max/mean - 1) * 100
// (max - mean) / max * n / (n - 1) * 100.
std::optional<double> imbalance_derose_percent(std::span<const Nanos> busy);
std::optional<double> ideal_speedup(std::span<const Nanos> alone);  // min tau * sum 1/tau
std::optional<double> karp_flatt(double speedup, double ideal_speedup);

// One row per metric, in the order of files. Everything that lists, writes or reads metrics, or
// takes the name of one, uses this table.
struct MetricInfo {
  const char* name;  // name in files, `--require`, `list metrics`
  const char* unit;  // "x", "1", "%"
  bool higher_is_better;
  const char* definition;
  std::optional<double> Metrics::*value;
  // Left out of files if none: older versions do not know it.
  bool optional = false;
};
std::span<const MetricInfo> all_metrics();
const MetricInfo* find_metric(std::string_view name);  // null: no such metric

}  // namespace mgpu
