// Sessions that are killed at any point and resumed: on the fake backend, from every state that
// their files ever have.
#include "lib/report/journal.hpp"

#include <doctest/doctest.h>

#include "lib/base/fnv.hpp"
#include "lib/session/configuration.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Denominator of the fraction of file states tested: a prime, so that each kind of state is among
// them.
const std::size_t kOneStateIn = testing::is_thorough() ? one_in(7) : kSanitized ? 13 : 3;

// Contents of the disk: the journal, and the rows of the result file.
struct Files {
  std::string journal;
  std::vector<RunRecord> rows;
  std::vector<Fault> faults;
};

// Stores files as the tool does, and records every state that they had.
class Disk final : public QuietObserver {
 public:
  explicit Disk(Files files, JournalHeader header)
      : files_(std::move(files)), header_(std::move(header)) {
    if (header_.run == 1) {
      put(journal_line(header_), {});
    } else {
      put(files_.journal + journal_run_line(header_.run), files_.rows);
    }
  }
  void noted(const JournalEntry& entry, Nanos) override {
    put(files_.journal + journal_line(entry), files_.rows);
  }
  void finished(std::size_t groups) override { groups_ = groups; }
  void recorded(const Report& report) override {
    files_.faults = report.faults;
    put(files_.journal, report.runs);
    if (groups_ <= header_.groups) return;
    header_.groups = groups_;
    header_.rows = report.runs.size();
    header_.faults = report.faults.size();
    put(journal_line(header_), files_.rows);
  }
  std::vector<Files> states;

 private:
  void put(std::string journal, std::vector<RunRecord> rows) {
    files_.journal = std::move(journal);
    files_.rows = std::move(rows);
    states.push_back(files_);
  }
  Files files_;
  JournalHeader header_;
  std::size_t groups_ = 0;
};

struct KilledSetting {
  std::vector<FakeDevice> fakes{fake_device("0:0", 1e9), fake_device("0:1", 5e8)};
  std::size_t samples = 3;
  std::string strategies = "single,equal,dynamic,adaptive";
};

SessionOptions options_of(const KilledSetting& setting, FakeBackend& backend) {
  SessionOptions options = options_on(backend.enumerate().devices, problem_of(sum_suite(), 1 << 10),
                                      kBothModes, setting.strategies);
  options.stop.exactly = setting.samples;
  return options;
}

struct Ended {
  Report report;
  std::vector<Files> states;
};

Ended begin_session(const KilledSetting& setting, SumFaults faults = {}) {
  g_faults = std::move(faults);
  FakeBackend backend(setting.fakes, sum_kernels());
  Disk disk({}, {"id", 1, 0, 0, 0, {}, {}});
  Ended ended;
  ended.report = run_session(backend, options_of(setting, backend), {}, disk);
  ended.states = std::move(disk.states);
  g_faults = {};  // faults end with this session
  return ended;
}

Ended resume(const KilledSetting& setting, const Files& files,
             std::optional<Nanos> time_limit = {}) {
  FakeBackend backend(setting.fakes, sum_kernels());
  SessionOptions options = options_of(setting, backend);
  Journal journal = journal_from_text(files.journal);
  Files mine = files;
  mine.journal.resize(journal.intact);
  JournalHeader header = journal.header;
  ++header.run;
  Report begun;
  mine.rows.resize(header.rows);
  begun.runs = mine.rows;
  begun.faults.assign(files.faults.begin(),
                      files.faults.begin() + static_cast<std::ptrdiff_t>(header.faults));
  Disk disk(mine, header);
  options.time_limit = time_limit;
  options.continued = Continued{header.run, header.groups, std::move(journal.groups)};
  Ended ended;
  ended.report = run_session(backend, options, begun, disk);
  ended.states = std::move(disk.states);
  return ended;
}

// Checks that the cases and their outcomes are the same, and that the samples saved for the
// unfinished group come first.
void check_like(const Report& whole, const Report& again, const Files& from, std::size_t exactly) {
  CHECK(again.complete);
  REQUIRE(again.runs.size() == whole.runs.size());
  const Journal journal = journal_from_text(from.journal);
  for (std::size_t k = 0; k < whole.runs.size(); ++k) {
    const RunRecord &a = whole.runs[k], &b = again.runs[k];
    CAPTURE(k);
    CHECK(a.strategy == b.strategy);
    CHECK(a.devices == b.devices);
    CHECK(a.mode == b.mode);
    CHECK(a.status == b.status);
    CHECK(a.reason == b.reason);
    CHECK(a.verify.status == b.verify.status);
    CHECK(a.verify.digest == b.verify.digest);
    if (a.status != Status::ok) continue;
    CHECK(b.samples.size() >= exactly);
    CHECK(b.samples.size() <= exactly + 1 + (journal.header.run > 1 ? 1 : 0));
    CHECK(b.timeline.makespan == b.samples[b.sample_index]);
    for (const PerDevice& device : b.per_device)
      CHECK(device.busy_samples.size() == b.samples.size());
    if (!b.sample_runs.empty()) CHECK(b.sample_runs.size() == b.samples.size());
  }
  const std::size_t alone = whole.runs.front().devices.size();
  for (const auto& [number, group] : journal.groups) {
    if (number < journal.header.groups) continue;
    for (std::size_t n = 0; n < group.group.cases.size(); ++n) {
      std::vector<Nanos> kept;
      std::vector<std::uint32_t> runs;
      for (const JournalSample& sample : group.samples) {
        if (sample.of_case != n) continue;
        kept.push_back(sample.time);
        runs.push_back(sample.run);
      }
      const bool is_alone = n < alone;
      const RunRecord& row = again.runs[number * 4 + (is_alone ? 1 : 1 + n - alone)];
      if (kept.empty() || row.status != Status::ok) continue;
      auto samples = is_alone ? row.per_device[n].alone_samples : row.samples;
      auto sample_runs = is_alone ? row.per_device[n].alone_sample_runs : row.sample_runs;
      REQUIRE(samples.size() >= kept.size());
      CHECK(sample_runs.back() == journal.header.run + 1);
      samples.resize(kept.size());
      sample_runs.resize(kept.size());
      CHECK(samples == kept);
      CHECK(sample_runs == runs);
    }
  }
}

void check_resumed(const Ended& whole, const KilledSetting& setting, const Files& killed) {
  check_like(whole.report, resume(setting, killed).report, killed, setting.samples);
}

// Returns the first of these states whose first group is unfinished and fits.
const Files* find_state(const std::vector<Files>& states,
                        const std::function<bool(const GroupJournal&)>& fits) {
  for (const Files& files : states) {
    const Journal journal = journal_from_text(files.journal);
    if (journal.header.groups == 0 && journal.groups.contains(0) && fits(journal.groups.at(0)))
      return &files;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a session that was killed in any state of its files goes on to the same cases" *
          doctest::test_suite("slow")) {
  const KilledSetting setting;
  const Ended whole = begin_session(setting);
  REQUIRE(whole.states.size() > 36);  // 2 groups, 5 cases, 3 samples
  for (std::size_t k = 0; k < whole.states.size(); k += kOneStateIn) {
    CAPTURE(k);
    check_resumed(whole, setting, whole.states[k]);
  }
  // Resumes again if the resumed session is killed too.
  const Ended again = resume(setting, whole.states[whole.states.size() / 3]);
  for (std::size_t k = 1; k < again.states.size(); k += 2 * kOneStateIn) {
    CAPTURE(k);
    check_resumed(whole, setting, again.states[k]);
  }
}

TEST_CASE("a run that has no time to go on with what was killed loses nothing of it" *
          doctest::test_suite("slow")) {
  const KilledSetting setting;
  const Ended whole = begin_session(setting);
  for (std::size_t k = 0; k < whole.states.size(); k += 2 * kOneStateIn) {
    CAPTURE(k);
    const Files& killed = whole.states[k];
    const Journal journal = journal_from_text(killed.journal);
    const auto under_way = journal.groups.find(journal.header.groups);
    const bool has_samples =
        under_way != journal.groups.end() && !under_way->second.samples.empty();
    const Ended late = resume(setting, killed, Nanos{1});
    CHECK(late.report.complete == !has_samples);
    if (has_samples) check_resumed(whole, setting, late.states.back());
  }
}

TEST_CASE("samples that follow those of an earlier run learn from them") {
  const KilledSetting setting{.samples = 6};
  const Ended whole = begin_session(setting);
  const Files* files = find_state(whole.states, [](const GroupJournal& group) {
    return group.samples.size() == 15;  // three rounds
  });
  REQUIRE(files != nullptr);
  CHECK(resume(setting, *files).report.runs[3].samples ==
        whole.report.runs[3].samples);  // adaptive matches exactly: the fake's time is exact
}

TEST_CASE("a result that was wrong in a run that was killed is wrong in the one that goes on") {
  const KilledSetting setting;
  SumFaults faults;
  faults.corrupts = "0:1";
  const Ended whole = begin_session(setting, faults);
  CHECK(whole.report.runs[1].status == Status::failed);
  const Files* files = find_state(whole.states, [](const GroupJournal& group) {
    return std::any_of(group.failures.begin(), group.failures.end(),
                       [](const JournalFailure& f) { return f.of_case == 2; });
  });
  REQUIRE(files != nullptr);
  const RunRecord equal = resume(setting, *files).report.runs[1];
  CHECK(equal.status == Status::failed);
  CHECK(equal.verify.status == VerifyStatus::failed);
  CHECK(equal.reason == whole.report.runs[1].reason);
  CHECK(equal.samples.empty());
}

TEST_CASE("what a loss cost is in the record, though the run that had it was killed") {
  const KilledSetting setting{.samples = 8};
  KilledSetting bad = setting;
  bad.fakes[1].script = fails_from(FakeCall::launch, 40, FakeFault::Kind::error);
  const Ended whole = begin_session(bad);
  const Files* after =
      find_state(whole.states, [](const GroupJournal& group) { return !group.faults.empty(); });
  REQUIRE(after != nullptr);
  // The device is included, since it works again.
  const Report report = resume(setting, *after).report;
  std::size_t faults = report.faults.size();
  for (const RunRecord& run : report.runs) {
    CHECK(run.status == Status::ok);
    CHECK(run.devices.size() == 2);
    faults += run.faults.size();
    for (const Fault& fault : run.faults)
      if (fault.sample) CHECK(*fault.sample < run.invalidated.size());
  }
  CHECK(faults == 1);
}

TEST_CASE("auto keeps the choice of the run that was killed, if there can be such a choice") {
  const KilledSetting setting{.strategies = "auto"};
  const Ended whole = begin_session(setting);
  const Files* found = find_state(whole.states, [](const GroupJournal& group) {
    return std::any_of(group.samples.begin(), group.samples.end(),
                       [](const JournalSample& sample) { return !sample.chosen.empty(); });
  });
  REQUIRE(found != nullptr);
  // Replaces the choice in the first such sample. Its line begins with a hash.
  const auto with_choice = [&](const std::string& name, const char* uses) {
    Files files = *found;
    const std::size_t at = files.journal.find(R"("chosen":)");
    const std::size_t begin = files.journal.rfind('\n', at) + 1, end = files.journal.find('\n', at);
    const std::size_t json = files.journal.find('{', begin);
    const std::string text = files.journal.substr(json, at - json) + R"("chosen":")" + name +
                             R"(","uses":[)" + uses + "]}}";
    files.journal.replace(begin, end - begin, fnv1a_hex(text) + ' ' + text);
    return files;
  };
  // On this backend `auto` itself would choose both devices.
  CHECK(whole.report.runs[0].plan.chosen->devices.size() == 2);
  const PlanRecord plan = resume(setting, with_choice("single", "0,1")).report.runs[0].plan;
  REQUIRE(plan.chosen.has_value());
  CHECK(plan.chosen->strategy == "single");
  CHECK(plan.chosen->devices == std::vector<std::string>{"0:1"});
  CHECK(plan.predicted.has_value());
  const auto resumed = [&] { resume(setting, with_choice("nothing", "0,1")); };
  CHECK(has(refusal(resumed, ErrorKind::input), "nothing"));
}

TEST_CASE("configurations differ where samples would not be of the same cases") {
  FakeBackend backend(fake_devices(2), sum_kernels());
  const SessionOptions options = options_of({}, backend);
  Report begun;
  begun.tool = {"0.1.0", "abc", {}};
  begun.options["warmup"] = std::int64_t{1};
  const auto changed = [&](const std::function<void(SessionOptions&, Report&)>& change) {
    SessionOptions other = options;
    Report now = begun;
    change(other, now);
    const auto found =
        first_difference(configuration_of(options, begun), configuration_of(other, now));
    return found ? found->name : std::string("none");
  };
  using O = SessionOptions;
  using R = Report;
  const std::pair<const char*, std::function<void(O&, R&)>> changes[] = {
      {"none", [](O&, R&) {}},
      {"problem, items", [](O& o, R&) { o.problems[0].params.size = 7; }},
      {"modes", [](O& o, R&) { o.modes.pop_back(); }},
      {"strategies", [](O& o, R&) { o.strategies = parse_strategies("dynamic:chunks=3"); }},
      {"device 0:1", [](O& o, R&) { o.devices[1].driver_version = "2"; }},
      {"device counts", [](O& o, R&) { o.device_counts = {1}; }},
      {"warmup", [](O&, R& r) { r.options["warmup"] = std::int64_t{9}; }},
      {"warmup", [](O&, R& r) { r.options.clear(); }},
      {"timeout", [](O&, R& r) { r.options["timeout_ns"] = std::int64_t{9}; }},
      {"problem, kernel variant on 0:0",
       [](O& o, R&) {
         o.variants = {{{"0:0", "tile 8"}}};
       }},
      {"handicap of 0:1",
       [](O& o, R&) {
         o.handicaps.resize(2);
         o.handicaps[1].slow = 2;
       }},
      {"tool", [](O&, R& r) { r.tool.git = "abd"; }},
      {"environment, host", [](O&, R& r) { r.environment["host"] = "other"; }},
      {"none", [](O& o, R&) { o.time_limit = Nanos{1}; }},
  };
  for (const auto& [name, change] : changes) CHECK(changed(change) == name);
  // They differ by less than a message with rounded times would show.
  Report nine = begun, longer = begun;
  nine.options["timeout_ns"] = std::int64_t{9'000'000'000};
  longer.options["timeout_ns"] = std::int64_t{9'000'000'001};
  CHECK(first_difference(configuration_of(options, nine), configuration_of(options, longer)));
  CHECK_FALSE(first_difference(configuration_of(options, nine), configuration_of(options, nine)));
}
