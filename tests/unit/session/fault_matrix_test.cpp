// Every fault, at every place of a session, under every strategy: each session ends, on the
// remaining devices, with right results or none. A session without faults records where each call
// of a device is; the later sessions repeat it exactly, on a virtual clock, up to the call that
// fails.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/sanitized.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/thorough.hpp"
#include "tests/support/watched_sum.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Items kWatchedItems = 640;
const std::string kWatchedSum = "88409280";
// These are primes, so that no strategy, mode, phase or fault is left out.
const std::size_t kOneSettingIn = one_in(testing::is_thorough() ? 3 : 5);
const std::size_t kOneFaultIn = testing::is_thorough() ? one_in(19) : kSanitized ? 47 : 11;

struct WatchedCall {  // a call of a device, in the session without faults
  FakeCall call = FakeCall::open;
  std::uint64_t number = 0;
  Whereabouts where;
};

enum class Phase { set_up, probe, warm_up, first, middle, last, collect, merge, publish, end };

struct WatchedSetting {
  std::string strategy;
  std::size_t devices = 2;
  Mode mode = Mode::resident;
};

struct WatchedOutcome {
  Report report;
  std::vector<std::string> warnings;
  Watched watched;
};

using ScriptOf = std::function<FakeScript(std::size_t device, Watched& watched)>;

WatchedOutcome run_watched(const WatchedSetting& setting, const ScriptOf& script) {
  WatchedOutcome outcome;
  const SuiteInfo suite = suite_of([&](const SuiteParams&) {
    return std::make_unique<WatchedSum>(kWatchedItems, outcome.watched);
  });
  std::vector<FakeDevice> fakes = fake_devices(setting.devices, 1e3);
  for (std::size_t i = 0; i < setting.devices; ++i) {
    fakes[i].up = fakes[i].down = 1e6;
    fakes[i].script = script(i, outcome.watched);
  }
  FakeBackend backend(fakes, watched_kernels());
  SessionOptions options = options_on(backend.enumerate().devices, problem_of(suite, kWatchedItems),
                                      {setting.mode}, setting.strategy);
  options.stop.exactly = 3;
  options.verify = VerifyLevel::sample;  // it publishes results
  QuietObserver observer;
  outcome.report = run_session(backend, options, {}, observer);
  outcome.warnings = observer.warnings;
  return outcome;
}

// Returns all calls of every device of a session without faults.
std::vector<std::vector<WatchedCall>> calls_of(const WatchedSetting& setting,
                                               WatchedOutcome& outcome) {
  std::vector<std::vector<WatchedCall>> calls(setting.devices);
  outcome = run_watched(setting, [&](std::size_t device, Watched& watched) -> FakeScript {
    return [&calls, &watched, device](FakeCall call, std::uint64_t number) {
      calls[device].push_back({call, number, watched.devices["0:" + std::to_string(device)]});
      calls[device].back().where.sample = watched.samples;
      return FakeFault{};
    };
  });
  return calls;
}

// Number of a device's first call of each kind in each phase.
using Turns = std::map<std::pair<FakeCall, Phase>, std::uint64_t>;

Turns turns_of(const std::vector<WatchedCall>& calls, std::size_t devices, const Watched& watched) {
  std::vector<std::size_t> counted;  // samples of the case, the warm-up first
  for (std::size_t s = 1; s < watched.merged.size(); ++s) {
    const bool shared = std::any_of(calls.begin(), calls.end(), [&](const WatchedCall& c) {
      return c.where.sample == s && c.where.place == Place::slice && c.where.sharing == devices;
    });
    if (watched.merged[s] && shared) counted.push_back(s);
  }
  const auto first_counted = counted.size() < 2 ? 0 : counted[1];
  Turns turns;
  std::map<FakeCall, std::vector<std::uint64_t>> slices;  // calls of slices in that sample
  for (const WatchedCall& c : calls) {
    const std::size_t sample = c.where.sample;
    const auto note = [&](Phase phase, bool is) {
      if (is) turns.try_emplace({c.call, phase}, c.number);
    };
    note(Phase::set_up, sample == 0);
    note(Phase::probe, sample > 0 && !watched.merged[sample]);
    note(Phase::warm_up, sample > 0);
    note(Phase::collect, sample == first_counted && c.where.place == Place::collect);
    note(Phase::merge, sample == first_counted && c.where.place == Place::merge);
    note(Phase::publish, sample > 0 && c.where.place == Place::publish);
    if (sample == first_counted && c.where.place == Place::slice && c.where.slice > 0)
      slices[c.call].push_back(c.number);
  }
  for (const auto& [call, numbers] : slices) {
    turns[{call, Phase::first}] = numbers.front();
    turns[{call, Phase::middle}] = numbers[numbers.size() / 2];
    turns[{call, Phase::last}] = numbers.back();
  }
  if (!calls.empty()) turns[{calls.back().call, Phase::end}] = calls.back().number;
  return turns;
}

struct Trouble {
  FakeCall call;
  FakeFault::Kind kind;
};

std::vector<Trouble> all_troubles() {
  using enum FakeFault::Kind;
  const std::pair<FakeCall, std::vector<FakeFault::Kind>> by_call[] = {
      {FakeCall::open, {refused}},
      {FakeCall::build, {refused}},
      {FakeCall::allocate, {refused, out_of_memory}},
      {FakeCall::upload, {error, refused, hang, slow, corrupt}},
      {FakeCall::launch, {error, refused, hang, slow, out_of_memory}},
      {FakeCall::download, {error, hang, slow, corrupt}},
      {FakeCall::wait, {refused, hang}},
      {FakeCall::take, {refused, hang}},
      {FakeCall::probe_clock, {refused, hang}},
  };
  std::vector<Trouble> all;
  for (const auto& [call, kinds] : by_call)
    for (const FakeFault::Kind kind : kinds) all.push_back({call, kind});
  return all;
}

std::size_t faults_of(const Report& report, const std::string& device, std::string_view kind) {
  std::size_t found = 0;
  const auto count = [&](const std::vector<Fault>& faults) {
    for (const Fault& fault : faults) found += fault.device == device && fault.kind == kind;
  };
  count(report.faults);
  for (const RunRecord& run : report.runs) count(run.faults);
  return found;
}

void check_outcome(const WatchedOutcome& outcome, const Trouble& trouble,
                   std::span<const std::size_t> bad) {
  using enum FakeFault::Kind;
  const Report& report = outcome.report;
  CHECK(report.complete);
  CHECK_FALSE(report.runs.empty());
  const bool wrong = trouble.kind == corrupt;
  // A wrong result is never silent: its case failed, or the device that computed it alone is named.
  bool told = !wrong || faults_of(report, "0:" + std::to_string(bad[0]), "wrong_result") > 0;
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.reason.value_or(""));
    told |= run.verify.status == VerifyStatus::failed;
    if (run.status == Status::ok) {
      CHECK(run.verify.status == VerifyStatus::passed);
      CHECK(run.verify.digest == kWatchedSum);
      CHECK(run.samples.size() == 3);
      CHECK(run.per_device.size() == run.devices.size());
      for (const InvalidatedSample& sample : run.invalidated)
        CHECK(sample.verify != VerifyStatus::failed);
    } else {
      CHECK(run.samples.empty());
      CHECK(run.reason);
      // Some device that can do the work always remains: unless the result was wrong or set-up was
      // refused, the case continues.
      CHECK((wrong || run.status == Status::unsupported || run.strategy == "single"));
    }
  }
  CHECK(told);
  const bool loses_the_device = trouble.kind == error || trouble.kind == hang ||
                                (trouble.kind == refused && trouble.call != FakeCall::open);
  if (!loses_the_device) return;
  CHECK_FALSE(outcome.warnings.empty());
  for (const std::size_t device : bad)
    CHECK(faults_of(report, "0:" + std::to_string(device),
                    trouble.kind == hang ? "hang" : "error") >= 1);
}

// Runs the session again with the fault at these calls of devices. Returns true if one was met.
bool check_trouble(const WatchedSetting& setting, const Trouble& trouble,
                   const std::map<std::size_t, std::uint64_t>& numbers) {
  std::vector<std::size_t> met;
  const WatchedOutcome outcome =
      run_watched(setting, [&](std::size_t device, Watched&) -> FakeScript {
        if (!numbers.contains(device)) return {};
        return
            [&met, device, trouble, number = numbers.at(device)](FakeCall call, std::uint64_t at) {
              if (call != trouble.call || at != number) return FakeFault{};
              met.push_back(device);
              return FakeFault{trouble.kind};
            };
      });
  // With two bad devices, one's fault may come first and change the rest.
  if (!met.empty()) check_outcome(outcome, trouble, met);
  return !met.empty();
}

}  // namespace

TEST_CASE("whatever goes wrong, wherever: a session ends with right results or with none" *
          doctest::test_suite("slow")) {
  std::size_t fired = 0, considered = 0, settings = 0;
  for (const StrategyInfo& info : all_strategies()) {
    for (const auto& [count, mode] : {std::pair{2u, Mode::resident},
                                      {2u, Mode::end_to_end},
                                      {3u, Mode::resident},
                                      {3u, Mode::end_to_end}}) {
      if (settings++ % kOneSettingIn != 0) continue;
      const WatchedSetting setting{info.name, count, mode};
      WatchedOutcome undisturbed;
      std::vector<Turns> turns;
      for (const auto& calls : calls_of(setting, undisturbed))
        turns.push_back(turns_of(calls, setting.devices, undisturbed.watched));
      for (const Trouble& trouble : all_troubles()) {
        for (int p = 0; p <= static_cast<int>(Phase::end); ++p) {
          const auto phase = static_cast<Phase>(p);
          for (const bool all_but_one : {false, true}) {
            if (all_but_one && setting.devices == 2) continue;
            std::vector<std::size_t> bad{setting.devices - 1};
            if (all_but_one) bad.push_back(0);
            std::map<std::size_t, std::uint64_t> numbers;
            for (const std::size_t i : bad) {
              const auto at = turns[i].find({trouble.call, phase});
              if (at != turns[i].end()) numbers[i] = at->second;
            }
            if (numbers.size() < bad.size() || considered++ % kOneFaultIn != 0) continue;
            // The results of probes are not checked, nor is anything published after a result has
            // arrived.
            if (trouble.kind == FakeFault::Kind::corrupt &&
                (phase == Phase::probe || phase == Phase::warm_up || phase == Phase::publish))
              continue;
            CAPTURE(setting.strategy);
            CAPTURE(setting.devices);
            CAPTURE(to_string(setting.mode));
            CAPTURE(all_but_one);
            CAPTURE(static_cast<int>(trouble.call));
            CAPTURE(static_cast<int>(trouble.kind));
            CAPTURE(p);
            fired += check_trouble(setting, trouble, numbers);
          }
        }
      }
    }
  }
  CAPTURE(considered);
  CHECK(fired >= 2000 / kOneSettingIn / kOneFaultIn);
}

TEST_CASE("a device may be lost by any call that publishes a result, and other cases go on" *
          doctest::test_suite("slow")) {
  const WatchedSetting setting{"equal,dynamic,guided", 2, Mode::resident};
  WatchedOutcome undisturbed;
  const auto calls = calls_of(setting, undisturbed);
  std::size_t published = 0;
  for (const WatchedCall& call : calls[1]) {
    if (call.where.place != Place::publish) continue;
    CAPTURE(call.number);
    CAPTURE(static_cast<int>(call.call));
    const FakeFault::Kind kinds[] = {FakeFault::Kind::error, FakeFault::Kind::refused,
                                     FakeFault::Kind::hang};
    for (std::size_t k = 0; k < std::size(kinds); ++k) {
      if (!testing::is_thorough() && (published + k) % std::size(kinds) != 0) continue;
      CAPTURE(k);
      check_trouble(setting, {call.call, kinds[k]}, {{1, call.number}});
    }
    ++published;
  }
  CHECK(published > 6);  // the first and the last result of each case
}
