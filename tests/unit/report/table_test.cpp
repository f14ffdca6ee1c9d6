// Tables and the remarks below them. Their text is in golden files: tests/golden/report.txt has the
// sample report at three widths, and report_variants.txt has it with changes that each add another
// remark. Facts that are hard to see in a text are asserted here.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

std::vector<Device> devices_in(const Report& report) {
  std::vector<Device> all;
  for (const DeviceRecord& d : report.devices) all.push_back(d.device);
  return all;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, display_width(line));
  return widest;
}

Fault fault_of_first(const char* kind, const char* phase, Items lost) {
  Fault fault{"0:0", kind, phase, "item 17 differs"};
  fault.items_lost = lost;
  return fault;
}

void disturb_no_longer(RunRecord& run) {
  run.invalidated.clear(), run.faults.clear(), run.devices_asked = 2;
}

// Makes a run tie with another one.
void follow(RunRecord& run, const RunRecord& other, std::int64_t by) {
  run.time = other.time;
  run.time.median += Nanos{by};
}

void set_interval(RunRecord& run, std::int64_t low, std::int64_t high) {
  run.time.ci95_low = Nanos{low}, run.time.ci95_high = Nanos{high};
}

void have_no_bottleneck(RunRecord& run, double speedup, double efficiency) {
  run.bottleneck.name = "none";
  run.metrics.speedup = speedup;
  run.metrics.efficiency = efficiency;
}

// Makes the single-device baselines take three times as long.
void measure_alone_slowly(RunRecord& run) {
  for (PerDevice& p : run.per_device) {
    *p.alone *= 3;
    for (Nanos& t : p.alone_samples) t *= 3;
  }
  *run.metrics.speedup *= 3, *run.metrics.efficiency *= 3;
}

void have_rounds(RunRecord& run, double mean, double worst) {
  run.metrics.round_imbalance_percent = mean;
  run.metrics.worst_round_imbalance_percent = worst;
  run.worst_round = 11;  // counted from 0
}

void warn_of_second(Report& report) {
  for (RunRecord& run : report.runs) run.samples.resize(3), run.warnings.clear();
  report.runs[1].warnings.push_back("other programs used about 30 % of the cores");
}

struct Variant {
  const char* title;
  // Indices in the sample report: 0 is single, 1 equal, 2 and 3 dynamic.
  std::vector<std::size_t> runs;
  std::function<void(Report&, RunRecord& last)> change{};
  bool faults = false;  // includes those that belong to no case
  unsigned width = 80;
};

const Variant kVariants[] = {
    {"none of the runs is ok", {4}},
    {"no split beats a device alone", {0, 1}},
    {"two samples of eleven were checked",
     {0, 1},
     [](Report&, RunRecord& run) { run.verify.checked = 2; }},
    {"the fastest row is wrong",
     {2, 0, 1},
     [](Report&, RunRecord& run) { run.time.median = Nanos{1}, run.status = Status::failed; }},
    {"a tie",
     {0, 1, 2, 3},
     [](Report& r, RunRecord& run) { disturb_no_longer(run), follow(run, r.runs[2], 500); }},
    {"no tie, as every difference that is simulated is one",
     {0, 1, 2, 3},
     [](Report& r, RunRecord& run) {
       disturb_no_longer(run), follow(run, r.runs[2], 500);
       r.environment["simulated"] = "a scenario";
     }},
    {"a tie of equal with the fastest",
     {0, 2, 1},
     [](Report& r, RunRecord& run) { follow(run, r.runs[1], 100); }},
    {"what is said of a tie holds for both, or names the one it is about",
     {0, 1, 2, 3},
     [](Report& r, RunRecord& run) {
       disturb_no_longer(run);
       run.strategy = "stealing", run.strategy_params.clear();
       set_interval(r.runs[2], 800'000, 900'000), set_interval(run, 800'000, 900'000);
       run.time.median = Nanos{860'000};
     }},
    {"a tie beside a row that cannot be ranked",
     {0, 1, 2, 3},
     [](Report& r, RunRecord& run) {
       disturb_no_longer(run), follow(run, r.runs[2], 500);
       set_interval(r.runs[1], 700'000, 2'000'000);
     }},
    {"a row whose times vary too much to be ranked",
     {0, 1, 2},
     [](Report&, RunRecord& run) { run.time.ci95_high *= 2; }},
    {"too few samples to rank any row",
     {0, 1, 2},
     [](Report& r, RunRecord&) {
       for (RunRecord& run : r.runs) run.time.n = 2;
     }},
    {"a speed-up within the noise of the device alone",
     {2},
     [](Report&, RunRecord& run) {
       for (PerDevice& p : run.per_device)
         for (std::size_t k = 0; k < p.alone_samples.size(); ++k)
           p.alone_samples[k] = Nanos{k % 2 == 0 ? 700'000 : 1'300'000};
     }},
    {"a speed-up above the ideal by more than noise, of the only row",
     {2},
     [](Report&, RunRecord& run) { measure_alone_slowly(run); }},
    {"a speed-up above the ideal by more than noise, which leaves the other rows",
     {0, 1, 2},
     [](Report&, RunRecord& run) { measure_alone_slowly(run); }},
    {"a speed-up above the ideal, within the noise of a device alone",
     {2},
     [](Report&, RunRecord& run) {
       measure_alone_slowly(run);
       for (std::size_t k = 0; k < 4; ++k) run.per_device[0].alone_samples[k] = Nanos{500'000};
     }},
    {"intervals to one side, wider than the time, and of one sample",
     {0, 1, 2},
     [](Report& r, RunRecord& run) {
       set_interval(r.runs[0], 1'000'000, 1'900'000);
       set_interval(r.runs[1], 10'000, 3'400'000);
       run.time.n = 1, run.samples.resize(1);
     }},
    {"both times are medians, though the sample shown was a short one",
     {2},
     [](Report&, RunRecord& run) {
       run.time.median = 2 * run.timeline.makespan;
       run.metrics.speedup = 0.5;
     }},
    {"slower than a device alone, and no what-if would save anything",
     {2},
     [](Report&, RunRecord& run) { have_no_bottleneck(run, 0.5, 0.7); }},
    {"slower than a device alone, and not all what-ifs are known",
     {2},
     [](Report&, RunRecord& run) {
       have_no_bottleneck(run, 0.5, 0.7), run.bottleneck.free_launches.reset();
     }},
    {"nothing but the work holds it back",
     {2},
     [](Report&, RunRecord& run) { have_no_bottleneck(run, 1.3, 0.97); }},
    {"rounds, one of them more out of balance, and what of the exchange is hidden",
     {2},
     [](Report&, RunRecord& run) {
       have_rounds(run, 3.25, 41.5);
       run.metrics.waiting_share = 0.125, run.metrics.exchange_overlap = 0.75;
     }},
    {"rounds that are all alike",
     {2},
     [](Report&, RunRecord& run) { have_rounds(run, 3.25, 3.25); }},
    {"a chain of stages",
     {2},
     [](Report&, RunRecord& run) {
       run.chain = ChainPhases{
           Nanos{10'000}, Nanos{20'000},
           {1},           Nanos{30'000},
           Nanos{33'000}, {{{0}, Name("hash"), Nanos{25'000}}, {{1}, Name("sum"), Nanos{30'000}}}};
     }},
    {"borders that moved in one sample of two devices",
     {2},
     [](Report&, RunRecord& run) {
       run.rebalances = {{0, {500, 500}, {{4, {400, 600}}, {8, {333, 667}}}}};
     }},
    {"borders that moved in two samples of many devices",
     {2},
     [](Report&, RunRecord& run) {
       run.rebalances = {{0, {1, 1, 1, 1, 1}, {{1024, {2, 1, 1, 1, 0}}}},
                         {1, {2, 1, 1, 1, 0}, {{4, {1, 1, 1, 1, 1}}}}};
     }},
    {"devices that became slower, and what moved away from them",
     {2},
     [](Report&, RunRecord& run) {
       const Nanos at{1000};
       run.adaptations = {{0, "0:1", kSlowDownCause, at, Nanos{3'000'000}},
                          {1, "0:1", kSlowDownCause, at, Nanos{5'000'000}},
                          {2, "0:1", kSlowDownCause, at, std::nullopt},
                          {2, "0:0", "throttling: power cap, thermal", at, Nanos{80'000'000}},
                          {3, "0:1", "throttling: hardware", at, std::nullopt}};
     }},
    {"memory, a pool and slices of devices",
     {2},
     [](Report&, RunRecord& run) {
       PerDevice &first = run.per_device.front(), &second = run.per_device.back();
       first.slice_total = Nanos{660'000};
       first.memory_used = 0.875, first.memory_saved = 0.35;
       first.pool = {5, 2};
       second.slice_total = Nanos{0};
       second.memory_used = 0.5;
     },
     true,
     200},
    {"what auto chose",
     {2},
     [](Report&, RunRecord& run) {
       run.strategy = "auto", run.strategy_params.clear();
       run.plan.chosen = PlanChosen{"guided", {"0:0", "0:1"}, {}};
     }},
    {"a device that was lost, and one that never was there", {0, 1, 2, 3}, {}, true, 200},
    {"a wrong result, and memory that ran out",
     {3},
     [](Report&, RunRecord& run) {
       run.faults = {fault_of_first("wrong_result", "verify", 0),
                     fault_of_first("out_of_memory", "probe", 1)};
     }},
    {"many faults in a sample without a result",
     {3},
     [](Report&, RunRecord& run) {
       run.invalidated[0].reason = "no device was left";
       run.invalidated[0].samples_before.reset();
       run.faults.assign(6, fault_of_first("out_of_memory", "merge", 5000));
       for (Fault& fault : run.faults) fault.sample = 0, fault.items_redone = 2048;
     }},
    {"a device whose time stamps are impossible",
     {0},
     [](Report&, RunRecord& run) {
       run.per_device[1].parts.unknown = "a kernel took no time";
       run.metrics.balance.reset();
       run.bottleneck = {};
       run.bottleneck.name = "unknown";
     },
     false,
     160},
    {"warnings, of all rows and of one",
     {0, 1, 2, 3},
     [](Report& r, RunRecord&) { warn_of_second(r); }},
    {"simulated: few samples are no warning; and a row of another number of devices",
     {0, 1, 2},
     [](Report& r, RunRecord& run) {
       warn_of_second(r);
       r.environment["simulated"] = "a scenario";
       run.devices = {"0:0"};
     }},
    {"a handicap, and why data goes by way of the host",
     {2},
     [](Report& r, RunRecord&) {
       r.devices[1].handicap.slow = 3;
       r.exchange_notes = {"staged between all devices: libcuda.so.1 cannot be loaded"};
     }},
    {"a strategy, and auto that chose it",
     {0, 2, 3},
     [](Report& r, RunRecord& run) {
       disturb_no_longer(run), follow(run, r.runs[1], 100);
       run.strategy = "auto", run.strategy_params.clear();
       run.plan.chosen = PlanChosen{"dynamic", {"0:0", "0:1"}, {}};
     }},
    {"equal shares that are all of one device's, as there is one granule",
     {1},
     [](Report&, RunRecord& run) {
       run.per_device[0].parts.items = 100'000, run.per_device[1].parts.items = 0;
       run.plan.work = PlannedWork{100'000, 131'072, {}, 0};
     }},
    {"strategies that do not apply to iterative work",
     {0, 1, 3, 4},
     [](Report& r, RunRecord& run) {
       r.runs[2].strategy = "guided", r.runs[2].strategy_params.clear();
       for (RunRecord* one : {&r.runs[2], &run}) {
         one->status = Status::unsupported;
         one->reason = "not applicable: the work iterates over a fixed partition";
       }
       run.strategy = "stealing";
     }},
    {"no verdict on the rows that apply to iterative work",
     {0, 1, 2, 4},
     [](Report& r, RunRecord& run) {
       for (RunRecord& one : r.runs) one.time.n = 2;
       run.status = Status::unsupported;
       run.reason = "not applicable: the work iterates over a fixed partition";
     }},
    {"one result that was not verified",
     {0, 1},
     [](Report&, RunRecord& run) { run.verify.status = VerifyStatus::off; }},
    {"no result that was verified",
     {0},
     [](Report&, RunRecord& run) { run.verify.status = VerifyStatus::off; }},
    {"slightly more than the ideal",
     {0, 1, 2},
     [](Report&, RunRecord& run) { run.metrics.efficiency = 1.02; }},
    {"load of other programs that differs is one fact",
     {0, 1, 2, 3},
     [](Report& r, RunRecord& run) {
       disturb_no_longer(run);
       for (std::size_t k = 0; k < 4; ++k)
         r.runs[k].warnings = {k == 2 ? "other programs used about 100 % of the cores"
                                      : "other programs used about 70 % of the cores"};
       set_interval(r.runs[2], 700'000, 2'000'000);
     }},
    {"parameters that differ between cases",
     {0, 1},
     [](Report&, RunRecord& run) { run.params["tree"] = std::string("rfc6962"); }},
    {"a parameter that is not as by default",
     {1},
     [](Report&, RunRecord& run) { run.params["tree"] = std::string("rfc6962"); }},
    {"defaults that are not known: everything is named",
     {1},
     [](Report& r, RunRecord&) { r.defaults.clear(); }},
    {"a parameter that happens to be as large as the size",
     {1},
     [](Report&, RunRecord& run) { run.params["branches"] = std::int64_t{100000}; }},
    {"a parameter that is as large as the size by default",
     {1},
     [](Report& r, RunRecord& run) {
       run.params["branches"] = std::int64_t{100000};
       r.defaults["merkle"]["branches"] = std::string(kSameAsSize);
     }},
    {"a parameter that is as large as the size by default, and is not",
     {1},
     [](Report& r, RunRecord& run) {
       run.params["branches"] = std::int64_t{7};
       r.defaults["merkle"]["branches"] = std::string(kSameAsSize);
     }},
};

}  // namespace

TEST_CASE("tables and closing words of the sample report are the golden ones at three widths") {
  const Report report = sample_report();
  std::string text;
  for (const unsigned width : {80u, 100u, 160u}) {
    const TableStyle style{width, false};
    text += device_table(devices_in(report), style) + '\n' + run_tables(report, style) + '\n';
  }
  CHECK(golden("report.txt", text) == text);
}

TEST_CASE("tables and closing words of its variants are the golden ones") {
  std::string text;
  for (const Variant& variant : kVariants) {
    Report report = sample_report();
    report.runs.clear();
    for (const std::size_t k : variant.runs) report.runs.push_back(sample_report().runs[k]);
    if (!variant.faults) report.faults.clear();
    if (variant.change) variant.change(report, report.runs.back());
    text += "== " + std::string(variant.title) + "\n" + run_tables(report, {variant.width, false}) +
            "\n";
  }
  CHECK(golden("report_variants.txt", text) == text);
}

TEST_CASE("calibrations are shown as in the golden file, one unit a column") {
  std::vector<Device> devices = devices_in(sample_report());
  std::vector<std::optional<Capability>> measured(2);
  const TableStyle wide{300, false};
  CHECK(device_table(devices, wide, measured) == device_table(devices, wide));
  Capability& fast = measured[1].emplace();
  fast.fp32_flops = 65.5e12;
  fast.memory_bytes_per_s = 4.25e12;
  fast.pinned_up = 55.3e9;
  fast.launch = Nanos{9100};
  Capability slow = fast;
  slow.fp32_flops = 152e9;
  const std::vector<CalibrationRow> rows = {{devices[0], fast, Bytes{3} << 30, "measured"},
                                            {devices[0], slow, std::nullopt, "cached"},
                                            {devices[1], std::nullopt, std::nullopt, "failed"}};
  const std::string text =
      device_table(devices, wide, measured) + "\n" + calibration_table(rows, wide);
  CHECK(golden("calibrations.txt", text) == text);
}

TEST_CASE("of no runs nothing is said") {
  CHECK(run_tables(Report{}, {100, false}).empty());
  CHECK(summary_of(Report{}).empty());
}

TEST_CASE("no line of a table is wider than asked") {
  Report report = sample_report();
  report.runs[4].reason = std::string(300, 'r');
  report.runs[0].strategy = std::string(60, 's');
  report.devices[0].device.name = std::string(90, 'n');
  for (const unsigned width : {80u, 90u, 100u, 120u, 160u, 240u}) {
    CAPTURE(width);
    CHECK(widest_line(run_tables(report, {width, false})) <= width);
    CHECK(widest_line(device_table(devices_in(report), {width, false})) <= width);
  }
}

TEST_CASE("colours add escape sequences to a table, and the best row has one") {
  const std::string colored = run_tables(sample_report(), {160, true});
  CHECK(colored.find("\x1b[1;32m*!  dynamic:chunks=16") != std::string::npos);
  std::string plain;
  for (std::size_t at = 0; at < colored.size(); ++at) {
    if (colored[at] == '\x1b') at = colored.find('m', at) + 1;
    if (at < colored.size() && colored[at] != '\x1b') plain += colored[at];
  }
  CHECK(std::count(plain.begin(), plain.end(), '*') == 1);
}

TEST_CASE("columns without room are named below the tables, and columns can be chosen") {
  const Report report = sample_report();
  const std::string narrow = run_tables(report, {70, false});
  CHECK(narrow.find("residue") > narrow.find(" columns hidden: "));
  CHECK(narrow.find("--columns") == narrow.rfind("--columns"));  // once for all tables
  CHECK(run_tables(report, {240, false}).find("hidden") == std::string::npos);
  TableStyle style{40, false};
  style.columns = {"overlap", "residue"};
  const std::string chosen = run_tables(report, style);
  CHECK(chosen.find("dev  overlap  residue\n") != std::string::npos);
  CHECK(chosen.find("hidden: overlap") == std::string::npos);
  CHECK(run_column_names().front() == "shares");
}

TEST_CASE("a table of devices is added on request, with the share and the times of each") {
  TableStyle style{100, false};
  CHECK(run_tables(sample_report(), style).find("waiting") == std::string::npos);
  style.per_device = true;
  const std::string text = run_tables(sample_report(), style);
  CHECK(text.find("Devices, in the sample nearest the median") != std::string::npos);
  CHECK(text.find("0:1     25,000     25") != std::string::npos);
}

TEST_CASE("all tables of a report have the same columns") {
  Report report = sample_report();
  report.runs.back().strategy = std::string(40, 's');
  set_interval(report.runs[0], 1, 123'456'789'000);
  for (const unsigned width : {80u, 100u, 120u}) {
    std::vector<std::string> heads;
    for (const std::string& table : separate_run_tables(report, {width, false})) {
      std::istringstream words(table.substr(table.find("strategy")));
      std::string head;
      std::getline(words, head);
      std::istringstream columns(head);
      head.clear();
      for (std::string word; columns >> word;) head += word + ' ';
      heads.push_back(head);
    }
    REQUIRE(heads.size() == 2);
    CHECK(heads[0] == heads[1]);
  }
}

TEST_CASE("prose is broken between words on a terminal, goes on indented, and is left elsewhere") {
  const std::string text = "alpha beta gamma delta\nshort\n" + std::string(30, 'x') + " y\n";
  CHECK(wrapped_prose(text, {12, false, true}, 2) ==
        "alpha beta\n  gamma\n  delta\nshort\n" + std::string(30, 'x') + "\n  y\n");
  CHECK(wrapped_prose(text, {12, false, false}, 2) == text);
  CHECK(widest_line(wrapped_prose(summary_of(sample_report()).at(0).text + '\n', {60, false, true},
                                  2)) <= 60);
  // A list of words longer than a line is broken after a bar; other texts are not.
  const TableStyle style{40, false, true};
  CHECK(wrapped_prose("    --family normal|gamma|beta|dirichlet|categorical|poisson: of all\n",
                      style, 6) ==
        "    --family normal|gamma|beta|\n      dirichlet|categorical|poisson: of\n      all\n");
  CHECK(wrapped_prose("    --precision of the inputs fp32|fp64|3xtf32: of sums\n", style, 6) ==
        "    --precision of the inputs\n      fp32|fp64|3xtf32: of sums\n");
  // A number stays with its unit.
  CHECK(wrapped_prose("it takes 12.5 ms (5 % less)\n", {14, false, true}, 2) ==
        "it takes\n  12.5 ms (5 %\n  less)\n");
  const std::string path(60, 'x');
  CHECK(wrapped_prose("measurements: " + path + " (report last)\n", style, 2) ==
        "measurements:\n  " + path + "\n  (report last)\n");
}

TEST_CASE("text of a table is measured in characters, and shortened between them") {
  CHECK(display_width("\u00b1 5") == 3);
  CHECK(shortened("\u00b1\u00b1\u00b1\u00b1\u00b1", 4) == "\u00b1\u00b1..");
  CHECK(shortened("abcd", 4) == "abcd");
}

TEST_CASE("a last column without a name takes the rest of the line, and others may be dropped") {
  const std::vector<TextColumn> columns{
      {"id", "", false}, {"b", "", true, 10}, {"words", "", false}, kRestOfLine};
  const std::vector<TextRow> rows{{{"x", "1234567890", "as long as it may be"}}, {{"y", "2", "z"}}};
  std::vector<std::string> hidden;
  CHECK(draw_table(columns, rows, 60, false, hidden) ==
        "id           b  words\nx   1234567890  as long as it may be\ny            2  z\n");
  CHECK(hidden.empty());
  CHECK(draw_table(columns, rows, 12, false, hidden) ==
        "id  words\nx   as long as it may be\ny   z\n");
  CHECK(hidden == std::vector<std::string>{"b"});
}
