// A group (one problem in one mode on the session's devices): its request, its cases and its
// result. lib/session/group_run.hpp runs it, lib/session/recorder.hpp makes records of its samples.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/executor.hpp"
#include "lib/predict/predictor.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/session/energy_block.hpp"
#include "lib/session/observer.hpp"
#include "lib/session/options.hpp"
#include "lib/session/verification.hpp"

namespace mgpu {

// A device of the session. One that failed takes no part until it is opened again.
struct SessionDevice {
  Device facts;  // without its throttling
  Handicap handicap;
  std::unique_ptr<OpenDevice> open;
  // Free memory when it was opened; memory pinned later reduces that of the first device.
  Bytes free_memory = 0;
  bool reserve = false;  // not one of the set: opened when no device of the set is left
  bool lost = false;
  bool hung = false;      // failed by a timeout: it is not opened again
  bool vanished = false;  // not found again: only another process can open it
  unsigned failures = 0;  // number of times it failed
  std::string lost_why;
};

// Opens the device with its handicap. Throws as Backend::open.
void open_device(Backend& backend, SessionDevice& device);

// Returns the number of devices that are not in reserve; these come first.
std::size_t in_set(std::span<const SessionDevice> devices);

const char* kind_of(ErrorKind kind);  // returns the kind of a fault

std::vector<std::string> ids_of(std::span<const SessionDevice> devices,
                                std::span<const std::size_t> which);

void report_failed(const SessionDevice& device, SessionObserver& observer);

// One case: a strategy on some of the devices, or one device alone (the single-device baseline of
// speed-ups).
struct Case {
  const StrategyChoice* choice = nullptr;  // null: a device alone
  // Devices of the session, by DeviceIndex of the samples; fewer once some have failed.
  std::vector<std::size_t> devices;
  std::size_t asked = 0;  // number of devices requested
  Status status = Status::ok;
  std::string reason;
  bool closed = false;  // takes no more samples
  std::vector<RawSample> samples;
  std::vector<Nanos> times;      // makespans of earlier runs' samples, then of `samples`
  std::vector<Nanos> decisions;  // per time: choosing, begin and all calls of next()
  // Runs that took the first of `times`; the later times are this run's.
  std::vector<std::uint32_t> earlier_runs;
  // A disturbed sample, in which a device failed. It does not count for the case.
  struct Invalidated {
    RawSample sample;
    std::vector<std::size_t> devices;  // the case's devices at that time, then those that took over
    VerifyStatus verify = VerifyStatus::off;
    std::string reason;  // why it has no result
    // Samples of the case taken before it; none: it was a warm-up.
    std::optional<std::size_t> samples_before = {};
    bool earlier = false;  // of an earlier run: the times of its commands are not known
  };
  std::vector<Invalidated> invalidated;
  // Samples discarded because devices failed after them.
  std::size_t discarded = 0;
  // Measurements with devices that have failed since; not part of `samples`.
  struct Before {
    std::vector<std::size_t> devices;
    std::vector<Nanos> times;
  };
  std::optional<Before> before;
  History history;
  Prediction prediction;  // made before the first sample
  Nanos choosing{};       // time that `auto` took to choose; 0 for other strategies
  std::vector<Fault> faults;
  VerifyRecord verify;
  bool last_checked = false;  // the last sample counts in VerifyRecord::checked
  // None: not measured, for the reason if it was asked for.
  std::optional<EnergyBlock> energy;
  std::string energy_reason;
  // Digests of its results, and the number of samples with each.
  std::map<std::string, std::size_t> digests;

  bool alone() const { return choice == nullptr; }
  const StrategyChoice& strategy() const;  // for a device alone: `single`
};

// State that one device has prepared for the group.
struct Prepared {
  Capacity capacity;
  std::unique_ptr<DeviceProgram> program;  // null: cannot take part, for capacity.reason
  bool is_unsuited = false;                // found out after set-up: a kernel does not suit it
  SetupCost cost;
  Bytes alone_bytes = 0;       // Workload::alone_bytes
  std::string kernel_variant;  // variant that the program uses
  Nanos upload{};              // time to upload resident inputs
  std::vector<ClockProbe> before, after;
  ClockMap clock;
};

struct GroupResult {
  std::vector<Case> cases;         // the cases of each device alone, then those requested
  std::vector<Prepared> prepared;  // by device; programs are already freed
  std::vector<Fault> faults;       // faults outside cases with a row: set-up, probes, devices alone
  std::vector<std::string> exchange_notes;  // notes for the Report
  bool interrupted = false;
};

// A workload and its pinned memory, which are leaked if a failed device may still be using them.
struct GroupWorkload {
  GroupWorkload() = default;
  GroupWorkload(const GroupWorkload&) = delete;
  GroupWorkload& operator=(const GroupWorkload&) = delete;
  ~GroupWorkload();
  std::unique_ptr<Workload> workload;
  std::unique_ptr<PinnedMemory> pinned;
  bool memory_in_use = false;
};

// Request of a group, and all that it uses; everything outlives the group.
struct GroupRequest {
  Backend& backend;
  Executor& executor;
  const SessionOptions& options;
  const Problem& problem;
  Mode mode;
  Workload& workload;
  bool& memory_in_use;  // set if a failed device may still use the workload's memory
  // Devices that fail are marked so; those that failed before are opened again if possible.
  std::vector<SessionDevice>& devices;
  const SuiteRates& rates;
  Digests& digests;  // of the problem's verified results so far
  SessionObserver& observer;
  std::optional<Nanos> give_up_at = {};  // cases not begun by then are skipped
  std::size_t number = 0;                // index of the group in the session
};

// Returns a case for every device of the set alone, then for each strategy with each number of
// devices.
std::vector<Case> cases_of(const SessionOptions& options, std::size_t set);

// Returns the case of a device alone that has the lowest median; the first one when none has
// samples.
const Case& fastest_alone(std::span<const Case> alone);

// Closes all cases; those that are ok so far, but have no sample, are skipped.
void skip_unsampled(std::span<Case> cases, const std::string& why);

// Adds the notes of the group on how its devices exchange data, each once per report.
void note_exchange(Report& report, const GroupResult& group);

// Runs the group. Failures of devices and cases are recorded in the cases.
GroupResult run_group(const GroupRequest& request);

}  // namespace mgpu
