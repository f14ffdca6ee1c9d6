// The record of a session: plain records, one per case, that hold everything the result file holds.
// Nothing is recomputed from text.
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
#include "lib/plan/slice_source.hpp"
#include "lib/profile/bottleneck.hpp"
#include "lib/profile/chain.hpp"
#include "lib/profile/clock_map.hpp"
#include "lib/profile/cluster_record.hpp"
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
  std::optional<Capability> capability;  // as it was known when the run began
  Handicap handicap;                     // what it was measured under
  DeviceState before{}, after{};         // its settings before the first sample and after the last
};

struct PerDevice {
  std::string device;  // its id
  std::optional<Nanos> alone, predicted;
  double share = 0;        // items / all items
  double utilisation = 0;  // compute / T; means nothing where the parts are unknown
  Bytes bytes_resident = 0;
  std::optional<std::string> kernel_variant;  // where the suite has several: kernel, tile
  DeviceParts parts;
  std::vector<Nanos>
      alone_samples;  // what `alone` is the median of; sample k of all cases is of one round
  std::vector<std::uint32_t> alone_sample_runs;  // as RunRecord::sample_runs
  std::vector<std::optional<Nanos>>
      busy_samples;  // union of its commands, in each sample of the case, where that is known
};

struct SetupTimes {
  Nanos build{}, alloc{}, pin{}, upload{};  // build and alloc: the slowest device's
};

struct WorkRecord {
  Items items = 0;
  double ops = 0;
  Bytes bytes_in = 0, bytes_out = 0;
  std::optional<std::string> roof{};  // what roofline_fraction is a share of: "int32", "host link";
                                      // none where nothing is known
};

struct PlanChosen {  // what `auto` chose
  std::string strategy;
  std::vector<std::string> devices, reasons;
};

struct PlannedWork {  // what of a PlanRequest is about the work
  Items items = 0, granularity = 1;
  ItemCost cost;  // its `ops` are not recorded: they are in WorkRecord
  std::uint32_t rounds = 0;
};

struct PlanRecord {
  Nanos decision{};                  // begin and every call of next, of the sample shown
  std::optional<Nanos> predicted{};  // T, before the case's first sample
  std::optional<PlanChosen> chosen{};
  // What the strategy was given: no devices, and none, where that was not recorded.
  SetEstimates estimates{};
  std::optional<PlannedWork> work{};
};

struct VerifyRecord {
  VerifyStatus status = VerifyStatus::off;
  std::string method, digest;
  std::size_t recomputed =
      0;  // devices' parts of samples that another device computed again, with equal bits
  std::size_t checked = 0;  // samples whose result was compared with the reference or the verified
                            // digest; large results are looked at only first and last
  Findings found{};
};

// What went wrong with a device during a case, and what that cost. The words of `kind` and `phase`
// are those of the schema.
struct Fault {
  std::string device;  // its id
  std::string kind;    // "error", "hang", "out_of_memory", "wrong_result"
  std::string
      phase;  // "set_up", "warm_up", "probe", "sample", "merge", "publish", "verify", "clock"
  std::string what;                     // the message
  std::optional<std::size_t> sample{};  // of RunRecord::disturbed; none: outside what was sampled
  std::optional<Nanos> at{};            // when it was found, since that sample's begin
  std::optional<Nanos> detection{};     // from the device's last sign of life (or the failing
                                        // command's submission) to then
  std::optional<Nanos> recovery{};      // from then until the lost items were finished by others
  Items items_lost = 0;                 // given to it and without a result on the host
  Items items_redone = 0;               // of those, finished by others
  // Of work that goes in rounds: how many were done, as far as is known.
  std::optional<std::uint32_t> round{};
  struct BegunAgain {
    std::uint32_t round =
        0;          // done in the state that the others began again from: a checkpoint's, or 0
    Nanos after{};  // the fault was found: devices connected anew, that state uploaded
    bool operator==(const BegunAgain&) const = default;
  };
  std::optional<BegunAgain> begun_again{};  // none: it was not
  std::optional<double> efficiency_before{},
      efficiency_after{};  // of the case with the devices before, and with those left
};

// A sample in which a device was lost: complete and verified, but no measure of the case.
struct DisturbedSample {
  Nanos time{};  // including the recovery
  VerifyStatus verify = VerifyStatus::off;
  std::string reason;                // why it has no result, if it has none
  Timeline timeline;                 // empty where the sample failed
  std::vector<std::string> devices;  // that the timeline's indices mean; empty: RunRecord::devices
  std::optional<std::size_t>
      samples_before{};  // of the case, those set aside since too; none: it was to warm up
};

// Of work that goes in rounds, in one of `samples`: the shares it began with, by device, and what
// became of them when so many rounds were done.
struct MovedBordersRecord {
  std::size_t sample = 0;
  std::vector<Items> first;
  struct Move {
    std::uint32_t round = 0;
    std::vector<Items> shares;
  };
  std::vector<Move> moves;
};

struct RunRecord {
  std::string suite;
  ParamMap params;
  std::string strategy;
  ParamMap strategy_params;
  std::vector<std::string> devices;  // ids of the set it was measured on, those without work too
  std::size_t devices_asked = 0;     // how many it was to be measured on, see asked_for()
  Mode mode = Mode::resident;
  Status status = Status::ok;
  std::optional<std::string> reason;  // why not ok
  SetupTimes setup;
  std::vector<Nanos> samples;
  std::vector<std::uint32_t> sample_runs;  // the number of the run that took each, where a run was
                                           // resumed; empty: all in the first
  std::vector<DisturbedSample> disturbed;  // not among `samples`
  std::size_t sample_index = 0;  // of the last run's samples the nearest the median: timeline and
                                 // per-device figures are its
  Summary time;
  WorkRecord work;
  double rate = 0;  // ops / median T; 0 when not ok: a wrong result has no numbers
  std::string rate_unit;
  Nanos merge{};
  PlanRecord plan;
  std::vector<PerDevice> per_device;
  Metrics metrics;
  std::optional<std::uint32_t>
      worst_round;  // with Metrics::worst_round_imbalance_percent; none: no rounds, or one device
  std::optional<ChainPhases>
      chain;  // of sample_index, where items are stages and several devices have some
  std::vector<MovedBordersRecord> borders;  // of the last run's samples in which they moved
  Bottleneck bottleneck;
  VerifyRecord verify;
  std::vector<Fault> faults;
  std::vector<std::string> warnings;
  std::optional<double> noise_floor;  // medians of this work on these devices lie so far apart, as
                                      // a share: by calibrate
  Timeline timeline;                  // of sample_index
  std::vector<TelemetryFigures>
      telemetry;  // of the host and the devices given; empty: nothing was read
  std::vector<TelemetryPoint> telemetry_points;  // of sample_index
};

// How many devices the case was asked for: more than it has when some were lost before it was
// measured.
inline std::size_t asked_for(const RunRecord& run) {
  return std::max(run.devices_asked, run.devices.size());
}

// The record of a case that is not ok, as it may be written and shown: without samples and
// everything made of them. A case that failed, or was given up after a few samples, must not pass
// for one that was measured.
RunRecord without_figures(const RunRecord& run);

struct WatchedRecord {             // whose clocks, power, load, ... were read, by what
  std::string of, source, reason;  // source empty: nothing could be read, reason says why
};

struct TelemetryRecord {
  Nanos interval{};  // 0: there was none, reason says why
  std::string reason;
  std::vector<WatchedRecord> watched;
};

struct ToolInfo {
  std::string version, git;
  std::vector<std::string> argv;
};

// Of Report::defaults: a number that is that of the size unless it is given.
inline constexpr const char* kSameAsSize = "same";

struct Report {
  bool complete = false;
  std::string id;  // by which its journal knows it; empty: it has none
  ToolInfo tool;
  std::map<std::string, std::string>
      environment;      // host, cpu, os, loader, variables that change what is measured
  ParamMap options;     // that samples were taken under and that say how, by name: {"warmup", 1};
                        // whoever begins the report knows them
  std::string started;  // when, RFC 3339 in UTC; empty: not known
  std::map<std::string, ParamMap> defaults;  // by suite: what its parameters are where nothing is
                                             // asked for; sizes are not among them
  std::optional<ClusterRecord> cluster;      // none: of one process
  std::vector<DeviceRecord> devices;
  TelemetryRecord telemetry;
  std::vector<Fault> faults;  // of no case: a device that could not be opened or set up
  std::vector<std::string> exchange_notes;  // why devices that would exchange data are staged, or
                                            // exchange none; each is said once
  std::vector<RunRecord> runs;
};

}  // namespace mgpu
