// Has the request of a group (one problem in one mode on the session's devices), its cases and its
// result; lib/session/group_run.hpp runs it, lib/session/recorder.hpp makes records of its samples.
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
#include "lib/session/observer.hpp"
#include "lib/session/options.hpp"
#include "lib/session/verification.hpp"

namespace mgpu {

// A device of the session. One that was lost takes no part until it is opened again.
struct SessionDevice {
  Device facts;  // without its handicap
  Handicap handicap;
  std::unique_ptr<OpenDevice> open;
  Bytes free_memory =
      0;  // when it was opened: what is pinned later takes some of the first device's
  bool reserve = false;  // not one of the set: opened when no device of the set is left
  bool lost = false;
  bool hung = false;      // lost without an answer: it is not opened again
  unsigned failures = 0;  // how often it was lost
  std::string lost_why;
};

// Opens the device under its handicap. Throws as Backend::open.
void open_device(Backend& backend, SessionDevice& device);

// Those that are not in reserve; they come first.
std::size_t in_set(std::span<const SessionDevice> devices);

const char* kind_of(ErrorKind kind);  // of a fault

std::vector<std::string> ids_of(std::span<const SessionDevice> devices,
                                std::span<const std::size_t> which);

void say_lost(const SessionDevice& device, SessionObserver& observer);

// One case: a strategy on some of the devices, or one device alone (what every speed-up is measured
// against).
struct Case {
  const StrategyChoice* choice = nullptr;  // none: alone
  std::vector<std::size_t>
      devices;            // of the session, by DeviceIndex of the samples; fewer once some are lost
  std::size_t asked = 0;  // how many it was to have
  Status status = Status::ok;
  std::string reason;
  bool closed = false;  // takes no more samples
  std::vector<RawSample> samples;
  std::vector<Nanos> times;      // makespans of `samples`, after those of earlier runs
  std::vector<Nanos> decisions;  // choosing, begin and every next, of each of `times`
  std::vector<std::uint32_t>
      earlier_runs;  // the runs that took the first of `times`; the others are this run's
  // A sample in which a device was lost. It is not a measure of the case.
  struct Disturbed {
    RawSample sample;
    std::vector<std::size_t> devices;  // as `devices` then, and behind them who stepped in
    VerifyStatus verify = VerifyStatus::off;
    std::string reason;  // why it has no result
    std::optional<std::size_t> samples_before =
        {};                // how many of the case were taken before it; none: it was to warm up
    bool earlier = false;  // of a run before this one: when its commands ran is not known
  };
  std::vector<Disturbed> disturbed;
  std::size_t set_aside =
      0;           // samples that are no part of `samples`, as devices were lost after them
  struct Before {  // what was measured with devices that are lost since, and is not part of
                   // `samples`
    std::vector<std::size_t> devices;
    std::vector<Nanos> times;
  };
  std::optional<Before> before;
  History history;
  Prediction prediction;  // before its first sample
  Nanos choosing{};       // what choosing took, where its strategy is `auto`
  std::vector<Fault> faults;
  VerifyRecord verify;
  bool last_checked = false;                   // its last sample is among VerifyRecord::checked
  std::map<std::string, std::size_t> digests;  // of its results, and how many samples had each

  bool alone() const { return choice == nullptr; }
  const StrategyChoice& strategy() const;  // of a device alone: `single`
};

// What one device holds for the group.
struct Prepared {
  Capacity capacity;
  std::unique_ptr<DeviceProgram> program;  // null: cannot take part, capacity.reason says why
  SetupCost cost;
  std::string kernel_variant;  // the program's
  Nanos upload{};              // resident inputs
  std::vector<ClockProbe> before, after;
  ClockMap clock;
};

struct GroupResult {
  std::vector<Case> cases;                  // alone cases of every device first, then as asked for
  std::vector<Prepared> prepared;           // by device; programs already freed
  std::vector<Fault> faults;                // of no case: set-up, probes, devices alone
  std::vector<std::string> exchange_notes;  // as Report has them
  bool interrupted = false;
};

// A workload and what is pinned of it, which are leaked where a lost device may still be using
// them.
struct GroupWorkload {
  GroupWorkload() = default;
  GroupWorkload(const GroupWorkload&) = delete;
  GroupWorkload& operator=(const GroupWorkload&) = delete;
  ~GroupWorkload();
  std::unique_ptr<Workload> workload;
  std::unique_ptr<PinnedMemory> pinned;
  bool memory_in_use = false;
};

// A group and what it works with, all of which outlives it.
struct GroupRequest {
  Backend& backend;
  Executor& executor;
  const SessionOptions& options;
  const Problem& problem;
  Mode mode;
  Workload& workload;
  bool& memory_in_use;  // set where a lost device may still use the workload's memory
  std::vector<SessionDevice>& devices;  // those that fail are marked lost; those that had failed
                                        // are opened again where they may be
  const SuiteRates& rates;
  Digests& digests;  // of the problem's verified results so far
  SessionObserver& observer;
  std::optional<Nanos> give_up_at = {};  // cases not begun by then are skipped
  std::size_t number = 0;                // of the group, in the session
};

// Returns a case for every device of the set alone, then for each strategy with each number of
// devices.
std::vector<Case> cases_of(const SessionOptions& options, std::size_t set);

// Closes all cases; those that are ok so far, but have no sample, are skipped.
void skip_unsampled(std::span<Case> cases, const std::string& why);

// Adds the notes of the group on how its devices exchange data; groups have mostly the same ones.
void note_exchange(Report& report, const GroupResult& group);

// Runs it. Failures of devices and cases are in the cases.
GroupResult run_group(const GroupRequest& request);

}  // namespace mgpu
