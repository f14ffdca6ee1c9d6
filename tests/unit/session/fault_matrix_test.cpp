// Everything that can go wrong, at every place of a session, under every strategy: each session
// ends, on what is left, with right results or none. A session without faults says which calls of a
// device are where; the sessions after it repeat that one exactly, on a virtual clock, until the
// call that fails.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "lib/session/session.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/sum_workload.hpp"
#include "tests/support/thorough.hpp"
#include "tests/support/watched_sum.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Items kItems = 640;
// Of the settings, and of what can go wrong in each: primes, so that no strategy, mode, phase or
// trouble is left out.
const std::size_t kOneSettingIn = one_in(3), kOneIn = one_in(testing::is_thorough() ? 19 : 47);

struct Call {  // of a device, in the session without faults
  FakeCall call = FakeCall::open;
  std::uint64_t number = 0;
  Whereabouts where;
};

enum class Phase { set_up, probe, warm_up, first, middle, last, collect, merge, publish, end };
constexpr std::array kPhases{Phase::set_up,  Phase::probe, Phase::warm_up, Phase::first,
                             Phase::middle,  Phase::last,  Phase::collect, Phase::merge,
                             Phase::publish, Phase::end};
const char* name(Phase phase) {
  constexpr const char* names[] = {"set-up", "probe",   "warm-up", "first",   "middle",
                                   "last",   "collect", "merge",   "publish", "end"};
  return names[static_cast<std::size_t>(phase)];
}

struct Setting {
  std::string strategy;
  std::size_t devices = 2;
  Mode mode = Mode::resident;
};

struct Outcome {
  Report report;
  std::vector<std::string> warnings;
  Watched watched;
};

using ScriptOf = std::function<FakeScript(std::uint32_t device, Watched& watched)>;

Outcome run(const Setting& setting, const ScriptOf& script) {
  Outcome outcome;
  SuiteInfo suite;
  suite.name = "sum";
  suite.size_name = "items";
  suite.modes = {Mode::resident, Mode::end_to_end};
  suite.make = [&](const SuiteParams&) {
    return std::make_unique<WatchedSum>(kItems, true, outcome.watched);
  };
  std::vector<FakeDevice> fakes;
  for (std::uint32_t i = 0; i < setting.devices; ++i) {
    fakes.push_back(fake_device("0:" + std::to_string(i), 1e3));
    fakes.back().up = fakes.back().down = 1e6;
    fakes.back().script = script(i, outcome.watched);
  }
  FakeBackend backend(fakes, watched_kernels());
  SessionOptions options;
  SuiteParams params;
  params.size = kItems;
  options.problems = {{&suite, params}};
  options.modes = {setting.mode};
  options.strategies = parse_strategies(setting.strategy);
  options.device_counts = {setting.devices};
  options.devices = backend.enumerate().devices;
  options.stop.exactly = 3;
  options.verify = VerifyLevel::sample;  // which publishes
  QuietObserver observer;
  outcome.report = run_session(backend, options, {}, observer);
  outcome.warnings = observer.warnings;
  return outcome;
}

// All calls of every device of a session in which nothing goes wrong.
std::vector<std::vector<Call>> calls_of(const Setting& setting, Outcome& outcome) {
  std::vector<std::vector<Call>> calls(setting.devices);
  outcome = run(setting, [&](std::uint32_t device, Watched& watched) -> FakeScript {
    return [&calls, &watched, device](FakeCall call, std::uint64_t number) {
      calls[device].push_back({call, number, watched.devices["0:" + std::to_string(device)]});
      calls[device].back().where.sample = watched.samples;
      return FakeFault{};
    };
  });
  return calls;
}

// The first call of this kind in this phase.
std::optional<std::uint64_t> number_of(const std::vector<Call>& calls, FakeCall call, Phase phase,
                                       const Setting& setting, const Watched& watched) {
  std::vector<std::size_t> counted;  // samples of the case, the warm-up first
  for (std::size_t s = 1; s < watched.merged.size(); ++s) {
    const bool shared = std::any_of(calls.begin(), calls.end(), [&](const Call& c) {
      return c.where.sample == s && c.where.place == Place::slice &&
             c.where.sharing == setting.devices;
    });
    if (watched.merged[s] && shared) counted.push_back(s);
  }
  const auto sample = counted.size() < 2 ? 0 : counted[1];
  std::vector<const Call*> slices;  // of the first sample that counts
  const auto is = [&](const Call& c, Place place, std::size_t in) {
    return c.call == call && c.where.place == place && c.where.sample == in;
  };
  for (const Call& c : calls) {
    if (is(c, Place::slice, sample) && c.where.slice > 0) slices.push_back(&c);
  }
  const auto first =
      [&](const std::function<bool(const Call&)>& fits) -> std::optional<std::uint64_t> {
    const auto at = std::find_if(calls.begin(), calls.end(),
                                 [&](const Call& c) { return c.call == call && fits(c); });
    return at == calls.end() ? std::nullopt : std::optional(at->number);
  };
  switch (phase) {
    case Phase::set_up:
      return first([](const Call& c) { return c.where.sample == 0; });
    case Phase::probe:
      return first(
          [&](const Call& c) { return c.where.sample > 0 && !watched.merged[c.where.sample]; });
    case Phase::warm_up:
      return first([](const Call& c) { return c.where.sample > 0; });
    case Phase::first:
      return slices.empty() ? std::nullopt : std::optional(slices.front()->number);
    case Phase::middle:
      return slices.empty() ? std::nullopt : std::optional(slices[slices.size() / 2]->number);
    case Phase::last:
      return slices.empty() ? std::nullopt : std::optional(slices.back()->number);
    case Phase::collect:
      return first([&](const Call& c) { return is(c, Place::collect, sample); });
    case Phase::merge:
      return first([&](const Call& c) { return is(c, Place::merge, sample); });
    case Phase::publish:
      return first(
          [&](const Call& c) { return c.where.place == Place::publish && c.where.sample > 0; });
    case Phase::end:
      return calls.empty() || calls.back().call != call ? std::nullopt
                                                        : std::optional(calls.back().number);
  }
  return std::nullopt;
}

struct Trouble {
  FakeCall call;
  FakeFault::Kind kind;
  const char* name;
};

using enum FakeFault::Kind;
const std::vector<Trouble> kTroubles = {
    {FakeCall::open, refused, "it vanished"},
    {FakeCall::build, refused, "error at build"},
    {FakeCall::allocate, refused, "error at allocate"},
    {FakeCall::allocate, out_of_memory, "out of memory"},
    {FakeCall::upload, error, "error of an upload"},
    {FakeCall::upload, refused, "refused upload"},
    {FakeCall::upload, hang, "hang of an upload"},
    {FakeCall::upload, slow, "slow upload"},
    {FakeCall::upload, corrupt, "corrupt upload"},
    {FakeCall::launch, error, "error of a kernel"},
    {FakeCall::launch, refused, "refused launch"},
    {FakeCall::launch, hang, "hang of a kernel"},
    {FakeCall::launch, slow, "slow kernel"},
    {FakeCall::launch, out_of_memory, "out of memory at a launch"},
    {FakeCall::download, error, "error of a download"},
    {FakeCall::download, hang, "hang of a download"},
    {FakeCall::download, slow, "slow download"},
    {FakeCall::download, corrupt, "corrupt result"},
    {FakeCall::wait, refused, "error at a wait"},
    {FakeCall::wait, hang, "hang of a wait"},
    {FakeCall::take, refused, "error at time stamps"},
    {FakeCall::take, hang, "hang at time stamps"},
    {FakeCall::probe_clock, refused, "error at a clock probe"},
    {FakeCall::probe_clock, hang, "hang of a clock probe"},
};

bool loses_the_device(const Trouble& trouble) {
  return trouble.kind == error || trouble.kind == hang ||
         (trouble.kind == refused && trouble.call != FakeCall::open);
}

std::size_t faults_of(const Report& report, const std::string& device, std::string_view kind) {
  std::size_t found = 0;
  const auto count = [&](const std::vector<Fault>& faults) {
    found += static_cast<std::size_t>(
        std::count_if(faults.begin(), faults.end(), [&](const Fault& fault) {
          return fault.device == device && (kind.empty() || fault.kind == kind);
        }));
  };
  count(report.faults);
  for (const RunRecord& run : report.runs) count(run.faults);
  return found;
}

void check(const Outcome& outcome, const Trouble& trouble, std::span<const std::uint32_t> bad) {
  const Report& report = outcome.report;
  CHECK(report.complete);
  CHECK_FALSE(report.runs.empty());
  const bool wrong = trouble.kind == corrupt;
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.reason.value_or(""));
    if (run.status == Status::ok) {
      CHECK(run.verify.status == VerifyStatus::passed);
      CHECK(run.verify.digest == WatchedSum::right(kItems));
      CHECK(run.samples.size() == 3);
      CHECK(run.per_device.size() == run.devices.size());
      for (const DisturbedSample& sample : run.disturbed)
        CHECK(sample.verify != VerifyStatus::failed);
    } else {
      CHECK(run.samples.empty());
      CHECK(run.reason);
      // Somebody is always left, who can do it: unless the result was wrong, or set-up was refused,
      // the case goes on.
      CHECK((wrong || run.status == Status::unsupported || run.strategy == "single"));
    }
  }
  for (const std::uint32_t device : bad) {
    const std::string id = "0:" + std::to_string(device);
    if (loses_the_device(trouble))
      CHECK(faults_of(report, id, trouble.kind == hang ? "hang" : "error") >= 1);
    if (loses_the_device(trouble)) CHECK_FALSE(outcome.warnings.empty());
  }
  if (!wrong) return;
  // A wrong result is never silent: its case has failed, or the device that computed it alone is
  // named.
  const bool failed = std::any_of(report.runs.begin(), report.runs.end(), [](const RunRecord& run) {
    return run.verify.status == VerifyStatus::failed;
  });
  CHECK((failed || faults_of(report, "0:" + std::to_string(bad[0]), "wrong_result") > 0));
}

}  // namespace

TEST_CASE(
    "whatever goes wrong, wherever, under every strategy: a session ends with right results or "
    "with none") {
  std::size_t fired = 0, asked = 0, considered = 0, settings = 0;
  for (const StrategyInfo& info : all_strategies()) {
    for (const std::size_t devices : {2u, 3u}) {
      for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
        if (settings++ % kOneSettingIn != 0) continue;
        const Setting setting{info.name, devices, mode};
        Outcome undisturbed;
        const auto calls = calls_of(setting, undisturbed);
        for (const Trouble& trouble : kTroubles) {
          for (const Phase phase : kPhases) {
            for (const bool all_but_one : {false, true}) {
              if (all_but_one && devices == 2) continue;
              std::vector<std::uint32_t> bad{static_cast<std::uint32_t>(devices) - 1};
              if (all_but_one) bad.push_back(0);
              std::map<std::uint32_t, std::uint64_t> numbers;
              for (const std::uint32_t i : bad) {
                if (const auto number =
                        number_of(calls[i], trouble.call, phase, setting, undisturbed.watched))
                  numbers[i] = *number;
              }
              if (numbers.size() < bad.size()) continue;
              if (considered++ % kOneIn != 0) continue;
              // What a probe computes is not looked at, nor what is published beyond a result that
              // is there already.
              if (trouble.kind == corrupt &&
                  (phase == Phase::probe || phase == Phase::warm_up || phase == Phase::publish))
                continue;
              ++asked;
              std::vector<std::uint32_t> met;
              const Outcome outcome =
                  run(setting, [&](std::uint32_t device, Watched&) -> FakeScript {
                    if (!numbers.contains(device)) return {};
                    const std::uint64_t number = numbers[device];
                    return [&met, device, number, trouble](FakeCall call, std::uint64_t at) {
                      if (call != trouble.call || at != number) return FakeFault{};
                      met.push_back(device);
                      return FakeFault{trouble.kind};
                    };
                  });
              const std::string which = fmt::format(
                  "{}, {}, {} devices{}, {}, {}", info.name, to_string(mode), devices,
                  all_but_one ? " of which one is sound" : "", trouble.name, name(phase));
              CAPTURE(which);
              if (met.empty())
                continue;  // the other bad device's fault came first, and changed what followed
              ++fired;
              check(outcome, trouble, met);
            }
          }
        }
      }
    }
  }
  CAPTURE(asked);
  CHECK(fired >= 2000 / kOneSettingIn / kOneIn);
}

TEST_CASE(
    "a device may be lost by any of the calls that publish a result: the other cases go on without "
    "it") {
  const Setting setting{"equal,dynamic,guided", 2, Mode::resident};
  Outcome undisturbed;
  const auto calls = calls_of(setting, undisturbed);
  std::size_t published = 0;
  for (const Call& call : calls[1]) {
    if (call.where.place != Place::publish || ++published % one_in(5) != 0) continue;
    for (const FakeFault::Kind kind : {error, refused, hang}) {
      const Trouble trouble{call.call, kind, "trouble at a publish"};
      bool met = false;
      const Outcome outcome = run(setting, [&](std::uint32_t device, Watched&) -> FakeScript {
        if (device != 1) return {};
        return [&](FakeCall at, std::uint64_t number) {
          if (at != call.call || number != call.number) return FakeFault{};
          met = true;
          return FakeFault{kind};
        };
      });
      CAPTURE(call.number);
      CAPTURE(static_cast<int>(call.call));
      CAPTURE(static_cast<int>(kind));
      const std::uint32_t bad[] = {1};
      if (met) check(outcome, trouble, bad);
    }
  }
  CHECK(published > 6);  // of each case its first and its last result
}
