// One problem in one mode on the session's devices: programs made, every case ("cell") sampled in turn, everything verified. What
// the samples mean is lib/session/recorder.hpp's matter.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/exec/executor.hpp"
#include "lib/plan/choose.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/session/probe.hpp"
#include "lib/session/session.hpp"

namespace mgpu {

// A device of the session. `lost` devices are out for the rest of it.
struct SessionDevice {
  Device facts;  // without its handicap
  Handicap handicap;
  std::unique_ptr<OpenDevice> open;
  Bytes free_memory = 0;  // when it was opened: what is pinned later takes some of the first device's
  bool lost = false;
  bool hung = false;  // lost without an answer: it may still read and write what it was given
  std::string lost_why;
};

void say_lost(const SessionDevice& device, SessionObserver& observer);

// One case: a strategy on the first `count` devices, or one device alone (what every speed-up is measured against).
struct Cell {
  const StrategyChoice* choice = nullptr;  // none: alone
  std::size_t first = 0, count = 0;        // devices first .. first + count - 1
  Status status = Status::ok;
  std::string reason;
  bool closed = false;  // takes no more samples
  std::vector<RawSample> samples;
  std::vector<Nanos> times;      // makespans of `samples`
  std::vector<Nanos> decisions;  // choosing, begin and every next, of `samples`
  History history;
  std::vector<DeviceEstimate> estimates;  // of its devices, from probes; rates are 0 where those failed
  LinkRate link_up, link_down;
  MergeEstimate merge;
  std::optional<Simulation> predicted;  // before its first sample; none when a rate is not known
  std::optional<PlanChoice> chosen;     // of `auto`, once: it knows no more before a later sample
  Nanos choosing{};                     // what that took
  std::vector<Fault> faults;
  VerifyRecord verify;

  bool alone() const { return choice == nullptr; }
};

// What one device holds for the group.
struct Prepared {
  Capacity capacity;
  std::unique_ptr<DeviceProgram> program;  // null: cannot take part, capacity.reason says why
  SetupCost cost;
  std::string way;  // the program's
  Nanos upload{};   // resident inputs
  std::vector<ClockProbe> before, after;
  ClockMap clock;
  Probe probe;  // alone
};

struct GroupResult {
  std::vector<Cell> cells;         // alone cells of every device first, then as asked for
  std::vector<Prepared> prepared;  // by device; programs already freed
  bool interrupted = false;
};

// Runs the group. Failures of devices and cases are in the cells; `devices` that failed are marked lost. `digest` is the problem's
// verified digest, once known: every other result of the problem must equal it.
GroupResult run_group(Backend& backend, Executor& executor, const SessionOptions& options, const Problem& problem, Mode mode,
                      Workload& workload, std::vector<SessionDevice>& devices, const SuiteRates& rates, std::string& digest,
                      std::optional<Nanos> give_up_at, SessionObserver& observer);

}  // namespace mgpu
