// Sessions that are killed anywhere and gone on with: on the fake backend, from every state that
// their files are ever in.
#include "lib/report/journal.hpp"

#include <doctest/doctest.h>

#include "lib/session/configuration.hpp"
#include "lib/session/session.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

SumFaults g_journal_faults;

const SuiteInfo& journalled_suite() {
  static const SuiteInfo info = [] {
    SuiteInfo made;
    made.name = "sum";
    made.size_name = "items";
    made.modes = {Mode::resident, Mode::end_to_end};
    made.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
      return std::make_unique<SumWorkload>(params.size, g_journal_faults);
    };
    return made;
  }();
  return info;
}

// What lies on the disk: the journal, and the rows of the result file.
struct Files {
  std::string journal;
  std::vector<RunRecord> rows;
  std::vector<Fault> faults;
};

// Keeps files as the tool does, and every state that they were in.
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

struct Setting {
  std::vector<FakeDevice> fakes{fake_device("0:0", 1e9), fake_device("0:1", 5e8)};
  std::string strategies = "single,equal,dynamic,adaptive";
  std::size_t samples = 3;
};

SessionOptions options_of(const Setting& setting, FakeBackend& backend) {
  SessionOptions options;
  SuiteParams params;
  params.size = 1 << 12;
  options.problems = {{&journalled_suite(), params}};
  options.modes = {Mode::resident, Mode::end_to_end};
  options.strategies = parse_strategies(setting.strategies);
  options.devices = backend.enumerate().devices;
  options.device_counts = {setting.fakes.size()};
  options.stop.exactly = setting.samples;
  return options;
}

struct Ended {
  Report report;
  std::vector<Files> states;
};

Ended begin(const Setting& setting) {
  FakeBackend backend(setting.fakes, sum_kernels());
  Disk disk({}, {"id", 1, 0, 0, 0, {}, {}});
  Ended ended;
  ended.report = run_session(backend, options_of(setting, backend), {}, disk);
  ended.states = std::move(disk.states);
  return ended;
}

Ended resume(const Setting& setting, const Files& files, std::optional<Nanos> time_limit = {}) {
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

// The same cases, with the same outcome; and of the group under way, the samples that were kept
// come first.
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
      const std::size_t alone = whole.runs.front().devices.size();
      if (kept.empty()) continue;
      const auto of_group = [&, at = number * 4](std::size_t i) -> const RunRecord& {
        return again.runs[at + i];
      };
      const bool is_alone = n < alone;
      const RunRecord& row = is_alone ? of_group(1) : of_group(1 + n - alone);
      if (row.status != Status::ok) continue;
      const auto& samples = is_alone ? row.per_device[n].alone_samples : row.samples;
      const auto& sample_runs = is_alone ? row.per_device[n].alone_sample_runs : row.sample_runs;
      REQUIRE(samples.size() >= kept.size());
      CHECK(std::vector<Nanos>(samples.begin(),
                               samples.begin() + static_cast<std::ptrdiff_t>(kept.size())) == kept);
      CHECK(std::vector<std::uint32_t>(
                sample_runs.begin(),
                sample_runs.begin() + static_cast<std::ptrdiff_t>(kept.size())) == runs);
      CHECK(sample_runs.back() == journal.header.run + 1);
    }
  }
}

}  // namespace

TEST_CASE(
    "a session that is killed in whatever state of its files, and gone on with, has the cases, "
    "statuses and digests of one that "
    "was not") {
  g_journal_faults = {};
  const Setting setting;
  const Ended whole = begin(setting);
  REQUIRE(whole.states.size() > 36);  // 2 groups, 5 cases, 3 samples
  for (std::size_t k = 0; k < whole.states.size(); k += one_in(7))
    check_like(whole.report, resume(setting, whole.states[k]).report, whole.states[k],
               setting.samples);
}

TEST_CASE("a session may be killed again and again") {
  g_journal_faults = {};
  const Setting setting;
  const Ended whole = begin(setting);
  const Files& killed = whole.states[whole.states.size() / 3];
  const Ended again = resume(setting, killed);
  for (std::size_t k = 0; k < again.states.size(); k += one_in(7))
    check_like(whole.report, resume(setting, again.states[k]).report, again.states[k],
               setting.samples);
}

TEST_CASE("a run that has no time to go on with what was killed loses nothing of it") {
  g_journal_faults = {};
  const Setting setting;
  const Ended whole = begin(setting);
  for (std::size_t k = 0; k < whole.states.size(); k += one_in(7)) {
    const Files& killed = whole.states[k];
    const Journal journal = journal_from_text(killed.journal);
    const auto under_way = journal.groups.find(journal.header.groups);
    const bool has_samples =
        under_way != journal.groups.end() && !under_way->second.samples.empty();
    const Ended late = resume(setting, killed, Nanos{1});
    CAPTURE(k);
    CHECK(late.report.complete == !has_samples);
    if (has_samples)
      check_like(whole.report, resume(setting, late.states.back()).report, late.states.back(),
                 setting.samples);
  }
}

TEST_CASE("samples that follow those of an earlier run learn from them") {
  g_journal_faults = {};
  Setting setting;
  setting.strategies = "single,equal,dynamic,adaptive";
  setting.samples = 6;
  const Ended whole = begin(setting);
  for (const Files& files : whole.states) {
    const Journal journal = journal_from_text(files.journal);
    if (journal.header.groups != 0 || !journal.groups.contains(0) ||
        journal.groups.at(0).samples.size() != 15)
      continue;
    const Report report = resume(setting, files).report;
    CHECK(report.runs[3].samples ==
          whole.report.runs[3].samples);  // adaptive, exactly: the fake's time is exact
    return;
  }
  FAIL("no state with three rounds");
}

TEST_CASE("a result that was wrong in a run that was killed is wrong in the one that goes on") {
  Setting setting;
  g_journal_faults = {};
  g_journal_faults.corrupts = "0:1";
  const Ended whole = begin(setting);
  CHECK(whole.report.runs[1].status == Status::failed);
  std::size_t known = 0;
  for (const Files& files : whole.states) {
    const Journal journal = journal_from_text(files.journal);
    if (journal.header.groups != 0 || !journal.groups.contains(0)) continue;
    const auto& failures = journal.groups.at(0).failures;
    const bool equal = std::any_of(failures.begin(), failures.end(),
                                   [](const JournalFailure& f) { return f.of_case == 2; });
    if (!equal) continue;
    ++known;
    g_journal_faults = {};  // this time it would be right
    const Report report = resume(setting, files).report;
    CHECK(report.runs[1].status == Status::failed);
    CHECK(report.runs[1].verify.status == VerifyStatus::failed);
    CHECK(report.runs[1].reason == whole.report.runs[1].reason);
    CHECK(report.runs[1].samples.empty());
    if (known == 3) break;
    g_journal_faults.corrupts = "0:1";
  }
  CHECK(known > 0);
  g_journal_faults = {};
}

TEST_CASE("what a loss cost is in the record, though the run that had it was killed") {
  g_journal_faults = {};
  Setting setting;
  setting.samples = 8;
  Setting bad = setting;
  bad.fakes[1].script = fails_from(FakeCall::launch, 40, FakeFault::Kind::error);
  const Ended whole = begin(bad);
  const Files* after = nullptr;
  for (const Files& files : whole.states) {
    const Journal journal = journal_from_text(files.journal);
    if (journal.header.groups == 0 && journal.groups.contains(0) &&
        !journal.groups.at(0).faults.empty()) {
      after = &files;
      break;
    }
  }
  REQUIRE(after != nullptr);
  const Report report = resume(setting, *after).report;  // with the device, which works again
  std::size_t faults = report.faults.size();
  for (const RunRecord& run : report.runs) {
    CHECK(run.status == Status::ok);
    CHECK(run.devices.size() == 2);
    faults += run.faults.size();
    for (const Fault& fault : run.faults)
      if (fault.sample) CHECK(*fault.sample < run.disturbed.size());
  }
  CHECK(faults == 1);
}

TEST_CASE("configurations differ where samples would not be of the same cases") {
  g_journal_faults = {};
  const Setting setting;
  FakeBackend backend(setting.fakes, sum_kernels());
  const SessionOptions options = options_of(setting, backend);
  Report begun;
  begun.tool = {"0.1.0", "abc", {}};
  begun.options["warmup"] = std::int64_t{1};
  const Configuration was = configuration_of(options, begun);
  const auto changed = [&](auto change) {
    SessionOptions other = options;
    Report now = begun;
    change(other, now);
    const auto found = first_difference(was, configuration_of(other, now));
    return found ? found->name : std::string("none");
  };
  CHECK(changed([](SessionOptions&, Report&) {}) == "none");
  CHECK(changed([](SessionOptions& o, Report&) { o.problems[0].params.size = 7; }) ==
        "problem, items");
  CHECK(changed([](SessionOptions& o, Report&) { o.modes.pop_back(); }) == "modes");
  CHECK(changed([](SessionOptions& o, Report&) {
          o.strategies = parse_strategies("dynamic:chunks=3");
        }) == "strategies");
  CHECK(changed([](SessionOptions& o, Report&) { o.devices[1].driver_version = "2"; }) ==
        "device 0:1");
  CHECK(changed([](SessionOptions& o, Report&) { o.device_counts = {1}; }) == "device counts");
  CHECK(changed([](SessionOptions&, Report& r) { r.options["warmup"] = std::int64_t{9}; }) ==
        "warmup");
  CHECK(changed([](SessionOptions&, Report& r) { r.options["timeout_ns"] = std::int64_t{9}; }) ==
        "timeout");
  Report nine = begun, longer = begun;  // by less than a message would show, were times rounded
  nine.options["timeout_ns"] = std::int64_t{9'000'000'000};
  longer.options["timeout_ns"] = std::int64_t{9'000'000'001};
  REQUIRE(first_difference(configuration_of(options, nine), configuration_of(options, longer)));
  CHECK_FALSE(first_difference(configuration_of(options, nine), configuration_of(options, nine)));
  CHECK(changed([](SessionOptions&, Report& r) { r.options.clear(); }) == "warmup");
  CHECK(changed([](SessionOptions& o, Report&) {
          o.variants = {{{"0:0", "tile 8"}}};
        }) == "problem, kernel variant on 0:0");
  CHECK(changed([](SessionOptions& o, Report&) {
          o.handicaps.resize(2);
          o.handicaps[1].slow = 2;
        }) == "handicap of 0:1");
  CHECK(changed([](SessionOptions&, Report& r) { r.tool.git = "abd"; }) == "tool");
  CHECK(changed([](SessionOptions&, Report& r) { r.environment["host"] = "other"; }) ==
        "environment, host");
  CHECK(changed([](SessionOptions& o, Report&) { o.time_limit = Nanos{1}; }) == "none");
}
