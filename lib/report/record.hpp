// The record of a session: plain records, one per case, with everything in the result file. Nothing
// is recomputed from text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/findings.hpp"
#include "lib/base/stats.hpp"
#include "lib/device/capability.hpp"
#include "lib/device/device.hpp"
#include "lib/device/device_state.hpp"
#include "lib/device/handicap.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/profile/bottleneck.hpp"
#include "lib/profile/chain.hpp"
#include "lib/profile/clock_map.hpp"
#include "lib/profile/cluster_record.hpp"
#include "lib/profile/energy.hpp"
#include "lib/profile/metrics.hpp"
#include "lib/profile/telemetry.hpp"
#include "lib/profile/timeline.hpp"

namespace mgpu {

inline constexpr int kResultSchemaVersion = 3;

enum class Status { ok, failed, skipped, unsupported };
const char* to_string(Status status);

enum class VerifyStatus { passed, failed, off };
const char* to_string(VerifyStatus status);

using ParamValue = std::variant<std::int64_t, double, std::string>;
using ParamMap = std::map<std::string, ParamValue>;

struct DeviceRecord {
  Device device;
  std::size_t rank = 0;
  ClockMap clock;
  std::optional<Capability> capability;  // as known when the run began
  Handicap handicap;                     // the throttle it was measured under
  DeviceState before{}, after{};         // settings before the first and after the last sample
};

struct PerDevice {
  std::string device;  // its id
  std::optional<Nanos> alone, predicted;
  // How many times as long an item took its probe next to the others as alone; none: not known.
  std::optional<double> contention;
  double share = 0;        // items / all items
  double utilisation = 0;  // compute / T; meaningless if the parts are unknown
  Nanos slice_total{};     // slice_totals(); meaningless if the parts are unknown
  Bytes bytes_resident = 0;
  // Most bytes allocated at once for the case, and that as a share of the device's memory; none:
  // not known, or nothing was allocated.
  std::optional<Bytes> bytes_peak;
  std::optional<double> memory_used;
  // Share of the bytes of a device that does the whole problem alone that it does without.
  std::optional<double> memory_saved;
  struct Pool {  // of --memory-pool
    std::uint64_t reused = 0, evicted = 0;
  };
  std::optional<Pool> pool;                   // none: freed memory was not kept
  std::optional<std::string> kernel_variant;  // if the suite has several: kernel, tile
  // Demand of the whole problem on it; none: not known, or it took no part.
  std::optional<Demand> demand;
  DeviceParts parts;
  // `alone` is their median; samples k of all cases were taken in one round.
  std::vector<Nanos> alone_samples;
  std::vector<std::uint32_t> alone_sample_runs;  // see RunRecord::sample_runs
  // Union of its commands in each sample of the case, if known.
  std::vector<std::optional<Nanos>> busy_samples;
};

struct SetupTimes {
  Nanos build{}, alloc{}, pin{}, upload{};  // build, alloc: of the slowest device
};

struct WorkRecord {
  Items items = 0;
  ItemUnit unit{};
  double ops = 0;
  Bytes bytes_in = 0, bytes_out = 0;
  // Ceiling of roofline_fraction: "int32", "host link"; none: unknown.
  std::optional<std::string> ceiling{};
  std::optional<Nanos> ceiling_time{};  // least time by that ceiling; none: unknown
  LinkCeiling link{};                   // transfers that the ceiling takes into account
};

struct PlanChosen {  // the choice of `auto`
  std::string strategy;
  std::vector<std::string> devices, reasons;
};

struct PlannedWork {  // the part of a PlanRequest about the work
  Items items = 0, granularity = 1;
  ItemCost cost;  // without `ops`, which are in WorkRecord
  std::uint32_t rounds = 0;
};

struct PlanRecord {
  Nanos decision{};                  // time in begin and all calls of next, in the sample shown
  std::optional<Nanos> predicted{};  // T, predicted before the case's first sample
  std::optional<PlanChosen> chosen{};
  // Inputs of the strategy. If not recorded: estimates without devices, and no work.
  SetEstimates estimates{};
  std::optional<PlannedWork> work{};
};

struct VerifyRecord {
  VerifyStatus status = VerifyStatus::off;
  std::string method, digest;
  // Devices' parts of samples that another device computed again, with equal bits.
  std::size_t recomputed = 0;
  // Samples whose result was compared with the reference or the verified digest; large results are
  // only checked first and last.
  std::size_t checked = 0;
  Findings found{};
};

// A device failure during a case, and its cost. The schema lists the words of `kind` and `phase`.
struct Fault {
  std::string device;  // its id
  std::string kind;    // "error", "hang", "out_of_memory", "wrong_result"
  std::string
      phase;  // "set_up", "warm_up", "probe", "sample", "merge", "publish", "verify", "clock"
  std::string what;                     // the message
  std::optional<std::size_t> sample{};  // index into RunRecord::disturbed; none: outside of samples
  std::optional<Nanos> at{};            // time of detection since that sample's begin
  // Time from the device's last sign of life (or the failing command's submission) to detection.
  std::optional<Nanos> detection{};
  std::optional<Nanos> recovery{};  // from detection until others had finished the lost items
  Items items_lost = 0;             // assigned to it and without a result on the host
  Items items_redone = 0;           // lost items finished by others
  // Iterations done, as far as is known; only for iterative work.
  std::optional<std::uint32_t> round{};
  // A restart of iterative work, from a checkpoint or from the beginning.
  struct BegunAgain {
    // Iterations done in the restored state: the checkpoint's, or 0.
    std::uint32_t round = 0;
    Nanos after{};  // time since detection: devices reconnected, state uploaded
    bool operator==(const BegunAgain&) const = default;
  };
  std::optional<BegunAgain> restarted{};  // none: no restart
  // Efficiency of the case with the devices before and with the remaining ones.
  std::optional<double> efficiency_before{}, efficiency_after{};
};

// A sample that a device failure invalidated: complete and verified, but no measurement of the
// case.
struct InvalidatedSample {
  Nanos time{};  // including the recovery
  VerifyStatus verify = VerifyStatus::off;
  std::string reason;                // why it has no result; empty: it has one
  Timeline timeline;                 // empty if the sample failed
  std::vector<std::string> devices;  // devices of the timeline's indices; empty: RunRecord::devices
  // Number of the case's samples before it, including those discarded since; none: a warm-up.
  std::optional<std::size_t> samples_before{};
};

// Rebalancing of iterative work in one of `samples`: the first partition, as shares by device, and
// the shares after each change, with the number of iterations done by then.
struct RebalanceRecord {
  std::size_t sample = 0;
  std::vector<Items> first;
  struct Move {
    std::uint32_t round = 0;
    std::vector<Items> shares;
  };
  std::vector<Move> moves;
};

// Work that changed its device in one of `samples`.
struct MigrationRecord {
  std::size_t sample = 0;
  std::vector<Items> first;  // items of each device at the sample's beginning
  Items items = 0;
  Bytes bytes = 0;  // data that was sent for that
  Nanos time{};     // sum over the devices
};

// Words of AdaptationRecord::cause; the reasons of throttling follow a colon.
inline constexpr const char *kSlowDownCause = "slow-down", *kThrottlingCause = "throttling";

// A device that became slower during one of `samples`, and how soon work was moved away from it.
struct AdaptationRecord {
  std::size_t sample = 0;
  std::string device;            // its id
  std::string cause;             // "slow-down", "throttling: thermal"
  Nanos at{};                    // since the sample's begin
  std::optional<Nanos> latency;  // none: no work was moved away from it
};

inline constexpr const char* kLinksHost = "host";  // one end of a transfer, like a device's id

// The part of a case of `links` that other cases do not have.
struct LinkRecord {
  std::string from, to;  // ends of a transfer between two: ids of devices, or kLinksHost
  std::string path;      // "direct", ...; "mixed" if pairs differ; empty: between host and devices
  Bytes bytes = 0;       // bytes moved per sample in total, or bytes of a collective's elements
  std::uint64_t calls = 1;  // enqueued together; a sample is the time of one of them
  std::uint64_t wrong = 0;  // 32-bit words or elements that arrived wrong, over all checks
  // Traffic per call of a collective: the longest chain of signals that devices wait for one after
  // another, and the most bytes that a device sends to others.
  std::uint64_t steps = 0;
  Bytes sent = 0;
  Nanos nccl_tests{};  // of such a call by NCCL; 0: not known
  struct Share {
    std::string device;
    Bytes bytes = 0;  // bytes that it sent; with the host, bytes of its transfers
    std::vector<Nanos> samples{};
  };
  std::vector<Share> devices;  // shares of a transfer of all devices at once
};

struct LinkPath {
  std::string from, to;  // ids of devices
  PeerPath path = PeerPath::staged;
};

// Energy of one run of a case, measured in a block of its own.
struct EnergyRecord {
  std::optional<double> joules;  // of the devices that it used; none: see `reason`
  double half_width = 0;         // of the 95 % interval, in J
  std::vector<double> parts;     // the same in each of 8 parts of the block
  // Includes devices of the set that idle (all_devices), or is that of the host's packages (host).
  std::optional<double> all_devices, host;
  std::optional<double> per_unit;  // per unit of the case's rate
  std::optional<double> gain;      // energy of the fastest device alone / that of the case
  std::size_t runs = 0;
  Nanos window{};  // from the first run to the last
  Nanos run{};     // mean time of one
  std::vector<EnergyFigures> counters;
  std::string reason;

  std::optional<double> power() const;  // in W, while a run is under way
  std::optional<double> edp() const;    // energy x time, in J s
};

struct RunRecord {
  std::string suite;
  std::string size_name;  // the parameter that is the size; empty: not recorded
  ParamMap params;
  std::string strategy;
  ParamMap strategy_params;
  // Ids of the set it was measured on, including devices without work.
  std::vector<std::string> devices;
  std::size_t devices_asked = 0;  // number of devices requested, see asked_for()
  Mode mode = Mode::resident;
  Status status = Status::ok;
  std::optional<std::string> reason;  // why not ok
  std::optional<LinkRecord> link;     // none: the case split work
  SetupTimes setup;
  std::vector<Nanos> samples;
  // Number of the run that took each sample of a resumed run; empty: all in the first.
  std::vector<std::uint32_t> sample_runs;
  std::vector<InvalidatedSample> invalidated;  // not among `samples`
  // The sample of the last run nearest the median: timeline and per-device figures are from it.
  std::size_t sample_index = 0;
  Summary time;
  WorkRecord work;
  double rate = 0;  // ops / median T; 0 when not ok: a wrong result has no numbers
  std::string rate_unit;
  Nanos merge{};
  PlanRecord plan;
  std::vector<PerDevice> per_device;
  Metrics metrics;
  // The iteration of Metrics::worst_round_imbalance_percent; none: not iterative, or one device.
  std::optional<std::uint32_t> worst_round;
  // Phases in sample_index, if items are stages of a pipeline on several devices.
  std::optional<ChainPhases> chain;
  std::vector<RebalanceRecord> rebalances;  // samples of the last run with rebalancing
  // Samples of the last run in which work changed its device, or a device became slower under a
  // strategy that may move work.
  std::vector<MigrationRecord> migrations;
  std::vector<AdaptationRecord> adaptations;
  Bottleneck bottleneck;
  VerifyRecord verify;
  std::vector<Fault> faults;
  std::vector<std::string> warnings;
  // Share by which medians of this work on these devices differ, measured by calibrate.
  std::optional<double> noise_floor;
  Timeline timeline;  // timeline of sample_index
  // Figures of the host and the given devices; empty: nothing was read.
  std::vector<TelemetryFigures> telemetry;
  std::vector<TelemetryPoint> telemetry_points;  // readings of sample_index
  std::optional<EnergyRecord> energy;            // none: not asked for
};

// Returns the number of devices requested for the case: more than it has if some had failed before
// it was measured.
inline std::size_t asked_for(const RunRecord& run) {
  return std::max(run.devices_asked, run.devices.size());
}

// Returns the record of a case that is not ok as it may be written and shown: without samples and
// derived figures. A case that failed, or was stopped after a few samples, must not look like one
// that was measured.
RunRecord without_figures(const RunRecord& run);

// Returns the time of the sample shown, from its timeline if the file holds it; 0: there is none.
Nanos shown_time(const RunRecord& run);

// A thing whose clocks, power, load, ... were read.
struct WatchedRecord {
  std::string of, source, reason;  // source: reader; empty: none, see reason
};

struct TelemetryRecord {
  Nanos interval{};  // 0: no telemetry, see reason
  std::string reason;
  std::vector<WatchedRecord> watched;
};

struct ToolInfo {
  std::string version, git;
  std::vector<std::string> argv;
};

// A value in Report::defaults: the parameter equals the size unless it is given.
inline constexpr const char* kSameAsSize = "same";

struct Report {
  bool complete = false;
  bool timelines = true;  // whether its file holds timelines
  std::string id;         // ties it to its journal; empty: none
  ToolInfo tool;
  // Host, cpu, os, loader, and variables that change what is measured.
  std::map<std::string, std::string> environment;
  // Options that determine samples, by name: {"warmup", 1}. The creator of the report sets them.
  ParamMap options;
  std::string started;                        // RFC 3339 in UTC; empty: unknown
  std::map<std::string, std::string> labels;  // of --label: {"commit", "1b4f0e9"}
  // Defaults of parameters by suite, except sizes.
  std::map<std::string, ParamMap> defaults;
  std::optional<ClusterRecord> cluster;  // none: a single process
  std::vector<DeviceRecord> devices;
  TelemetryRecord telemetry;
  std::vector<Fault> faults;  // devices that could not be opened or set up
  // Reasons why devices that would exchange data are staged, or exchange none; each once.
  std::vector<std::string> exchange_notes;
  std::vector<LinkPath> paths;  // path of each ordered pair of devices; set by `links` only
  std::vector<RunRecord> runs;
  std::vector<std::string> warnings;   // warnings that `links` printed
  std::optional<std::string> failure;  // reason why `links` ended early
};

// Returns the report without timelines and their readings of telemetry.
Report without_timelines(const Report& report);

// Tells whether cases were measured, and the file holds no timeline of them.
bool lacks_timelines(const Report& report);

// Tells whether `links` made the report, not `run` or `simulate`.
bool is_links(const Report& report);

}  // namespace mgpu
