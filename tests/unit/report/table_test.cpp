// Tables: what they say, and that they fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;

namespace {

std::vector<Device> devices(const Report& report) {
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

// Its last two runs, which a case makes share the first place, are alike in that neither was
// disturbed or lost a device.
Report report_with_two_to_rank() {
  Report report = test::sample_report();
  report.runs.resize(4);
  report.faults.clear();
  RunRecord& second = report.runs[3];
  second.disturbed.clear(), second.faults.clear(), second.devices_asked = 2;
  return report;
}

}  // namespace

TEST_CASE(
    "tables and closing words of the sample report are the golden ones at widths 80, 100 and 160") {
  const Report report = test::sample_report();
  std::string text;
  for (const unsigned width : {80u, 100u, 160u}) {
    const TableStyle style{width, false};
    text += device_table(devices(report), style) + '\n' + run_tables(report, style) + '\n';
  }
  text += closing_words(report);
  CHECK(test::golden("report.txt", text) == text);
}

TEST_CASE("no line of a table is wider than asked") {
  Report report = test::sample_report();
  report.runs[4].reason = std::string(300, 'r');
  report.runs[0].strategy = std::string(60, 's');
  report.devices[0].device.name = std::string(90, 'n');
  for (const unsigned width : {80u, 90u, 100u, 120u, 160u, 240u}) {
    CAPTURE(width);
    CHECK(widest_line(run_tables(report, {width, false})) <= width);
    CHECK(widest_line(device_table(devices(report), {width, false})) <= width);
  }
}

TEST_CASE("a run that is not ok shows its status and reason and no numbers") {
  const std::string text = run_tables(test::sample_report(), {160, false});
  CHECK(text.find("failed: the root differs from the reference\n") != std::string::npos);
  CHECK(text.find("unsupported: device 0:1 takes 2 MiB at most; the inputs do not fit\n") !=
        std::string::npos);
}

TEST_CASE("rows with a warning are marked, and each warning is said once below the table") {
  Report report = test::sample_report();
  report.runs.resize(4);
  for (RunRecord& run : report.runs) run.samples.resize(3), run.warnings.clear();
  report.runs[1].warnings.push_back("other programs used about 30 % of the cores");
  const std::string text = run_tables(report, {160, false});
  CHECK(text.find("\n *!  dynamic:chunks=16") == std::string::npos);
  CHECK(text.find("\n*!  dynamic:chunks=16") != std::string::npos);
  CHECK(text.find("\n !  equal") != std::string::npos);
  CHECK(text.find("\n! all: 3 samples only\n") != std::string::npos);
  CHECK(text.find("\n! equal: other programs used about 30 % of the cores\n") != std::string::npos);
  report.environment["simulated"] = "a scenario";
  CHECK(run_tables(report, {160, false}).find("samples only") == std::string::npos);
  report.runs[2].devices = {"0:0"};
  CHECK(run_tables(report, {160, false}).find("! equal (2 dev): other programs") !=
        std::string::npos);
}

TEST_CASE(
    "prose is broken between words on a terminal, goes on indented, and is left alone elsewhere") {
  const std::string text = "alpha beta gamma delta\nshort\n" + std::string(30, 'x') + " y\n";
  CHECK(wrapped_prose(text, {12, false, true}, 2) ==
        "alpha beta\n  gamma\n  delta\nshort\n" + std::string(30, 'x') + "\n  y\n");
  CHECK(wrapped_prose(text, {12, false, false}, 2) == text);
  CHECK(widest_line(wrapped_prose(closing_words(test::sample_report()), {60, false, true}, 2)) <=
        60);
}

TEST_CASE("the fastest run that is ok is marked with a star, in colour or not") {
  Report report = test::sample_report();
  report.runs[1].time.median = Nanos{1};
  report.runs[1].status = Status::failed;  // fast, but wrong
  const std::string text = run_tables(report, {160, false});
  CHECK(std::count(text.begin(), text.end(), '*') == 1);  // one a table
  CHECK(text.find("*!  dynamic:chunks=16") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  const std::string colored = run_tables(report, {160, true});
  CHECK(colored.find("\x1b[1;32m*!  dynamic:chunks=16") != std::string::npos);
  std::string plain;
  for (std::size_t at = 0; at < colored.size(); ++at) {
    if (colored[at] == '\x1b') at = colored.find('m', at) + 1;
    if (at < colored.size() && colored[at] != '\x1b') plain += colored[at];
  }
  CHECK(std::count(plain.begin(), plain.end(), '*') ==
        1);  // the only row of the second table is faster than nothing
}

TEST_CASE("a list of words that is longer than a line is broken behind a bar, and no other is") {
  const TableStyle style{40, false, true};
  CHECK(wrapped_prose(
            "    --family normal|gamma|beta|dirichlet|categorical|poisson: of --regime closed\n",
            style, 6) ==
        "    --family normal|gamma|beta|\n      dirichlet|categorical|poisson: of\n      --regime "
        "closed\n");
  CHECK(wrapped_prose("    --precision of the inputs fp32|fp64|3xtf32: of sums\n", style, 6) ==
        "    --precision of the inputs\n      fp32|fp64|3xtf32: of sums\n");
  const std::string path(60, 'x');
  CHECK(wrapped_prose("measurements: " + path + " (report last)\n", style, 2) ==
        "measurements:\n  " + path + "\n  (report last)\n");
}

TEST_CASE("each suite, parameters and mode has a table of its own") {
  Report report = test::sample_report();
  const std::string text = run_tables(report, {100, false});
  CHECK(text.find("merkle leaves=100000, resident\n") != std::string::npos);
  CHECK(text.find("merkle leaves=100000, end to end\n") != std::string::npos);
  CHECK(run_tables(Report{}, {100, false}).empty());
  CHECK(closing_words(Report{}).empty());
}

TEST_CASE(
    "no row wins by less than its noise: rows that are not told apart share the first place, in "
    "marks and words") {
  Report report = report_with_two_to_rank();
  RunRecord& second = report.runs[3];
  second.time = report.runs[2].time;
  second.time.median += Nanos{500};
  const std::string text = run_tables(report, {160, false});
  CHECK(text.find("\n=!  dynamic:chunks=16") != std::string::npos);
  CHECK(text.find("\n=   dynamic:chunks=64") != std::string::npos);
  CHECK(text.find('*') == std::string::npos);
  CHECK(closing_words(report).find("dynamic:chunks=16 and dynamic:chunks=64 are fastest and not "
                                   "told apart by their noise, with 810 us") != std::string::npos);
  report.environment["simulated"] = "a scenario";  // there every difference is one
  CHECK(run_tables(report, {160, false}).find("\n*!  dynamic:chunks=16") != std::string::npos);
}

TEST_CASE(
    "rows whose times vary too much, or that have too few samples, are not ranked, and that is "
    "said") {
  Report report = test::sample_report();
  report.runs.resize(3);
  report.faults.clear();
  report.runs[2].time.ci95_high *= 2;
  std::string text = run_tables(report, {160, false});
  CHECK(text.find("\n?!  dynamic") != std::string::npos);
  CHECK(text.find("\n? dynamic: times vary too much to be ranked") != std::string::npos);
  CHECK(text.find('*') == std::string::npos);  // it may be the fastest
  CHECK(closing_words(report).find(
            "single on device 0:0 is fastest of the rows that can be ranked, with 1.01 ms") !=
        std::string::npos);
  CHECK(closing_words(report).find(" 1 row cannot be ranked.") != std::string::npos);
  for (RunRecord& run : report.runs) run.time.n = 2;
  CHECK(run_tables(report, {160, false}).find("\n? all: too few samples to be ranked\n") !=
        std::string::npos);
  CHECK(closing_words(report).find("no row can be ranked: fewer than 3 samples of each.") !=
        std::string::npos);
}

TEST_CASE(
    "what is said of several that share the first place holds for all of them, or names the one it "
    "is about") {
  Report report = report_with_two_to_rank();
  RunRecord& second = report.runs[3];
  second.strategy = "stealing", second.strategy_params.clear();
  for (RunRecord* run : {&report.runs[2], &second})
    run->time.ci95_low = Nanos{800'000}, run->time.ci95_high = Nanos{900'000};
  second.time.median = Nanos{860'000};
  CHECK(closing_words(report).find("dynamic and stealing are fastest and not told apart by their "
                                   "noise, with 810 us to 860 us, "
                                   "1.16 to 1.23 times as fast as the best device alone (0:0, 1.00 "
                                   "ms) and up to 80 % faster than "
                                   "equal shares. What holds dynamic back most: the merge; if it "
                                   "were free it would take 766 us "
                                   "(5 % less, which is within its noise).") != std::string::npos);
  report.runs[1].time.ci95_low = Nanos{700'000}, report.runs[1].time.ci95_high = Nanos{2'000'000};
  CHECK(closing_words(report).find("dynamic and stealing are fastest of the rows that can be "
                                   "ranked and not told apart by their "
                                   "noise") != std::string::npos);
}

TEST_CASE("a speed-up within the noise of the device alone is none") {
  Report report = test::sample_report();
  report.runs = {report.runs[2]};
  for (PerDevice& p : report.runs[0].per_device)
    for (std::size_t k = 0; k < p.alone_samples.size(); ++k)
      p.alone_samples[k] = Nanos{k % 2 == 0 ? 700'000 : 1'300'000};
  CHECK(closing_words(report).find(", not told apart from device 0:0 alone (1.00 ms)") !=
        std::string::npos);
}

TEST_CASE(
    "titles name what is not as by default or differs between cases; of older files everything") {
  Report report = test::sample_report();
  CHECK(closing_words(report).starts_with("merkle leaves=100000, resident: "));
  report.runs[2].params["tree"] = std::string("rfc6962");
  report.runs.resize(3);
  std::string text = run_tables(report, {100, false});
  CHECK(text.find("merkle leaves=100000 tree=plain, resident\n") != std::string::npos);
  CHECK(text.find("merkle leaves=100000 tree=rfc6962, resident\n") != std::string::npos);
  report.runs = {report.runs[2]};
  CHECK(run_tables(report, {100, false})
            .starts_with("merkle leaves=100000 tree=rfc6962, resident\n"));
  report = test::sample_report();
  report.defaults.clear();
  CHECK(
      run_tables(report, {100, false}).starts_with("merkle leaves=100000 tree=plain, resident\n"));
}

TEST_CASE("titles leave out what is by default as the size and is") {
  Report report = test::sample_report();
  report.runs.resize(1);
  report.runs.front().params["branches"] = std::int64_t{100000};
  CHECK(run_tables(report, {100, false}).starts_with("merkle branches=leaves=100000, resident\n"));
  report.defaults["merkle"]["branches"] = std::string(kSameAsSize);
  CHECK(run_tables(report, {100, false}).starts_with("merkle leaves=100000, resident\n"));
  report.runs.front().params["branches"] = std::int64_t{7};
  CHECK(
      run_tables(report, {100, false}).starts_with("merkle branches=7 leaves=100000, resident\n"));
}

TEST_CASE(
    "columns without room are named below the tables, and columns can be chosen however wide") {
  const Report report = test::sample_report();
  const std::string narrow = run_tables(report, {70, false});
  CHECK(narrow.find(" columns hidden: ") != std::string::npos);
  CHECK(narrow.find("residue") > narrow.find(" columns hidden: "));
  CHECK(narrow.find("--columns") == narrow.rfind("--columns"));  // for all tables, once
  CHECK(run_tables(report, {240, false}).find("hidden") == std::string::npos);
  TableStyle style{40, false};
  style.columns = {"overlap", "residue"};
  const std::string chosen = run_tables(report, style);
  CHECK(chosen.find("dev  overlap  residue\n") != std::string::npos);
  CHECK(chosen.find("hidden: overlap") == std::string::npos);
  CHECK(run_column_names().front() == "time");
}

TEST_CASE("auto says in table and words what it chose") {
  Report report = test::sample_report();
  report.runs = {report.runs[2]};
  report.runs[0].strategy = "auto";
  report.runs[0].strategy_params.clear();
  report.runs[0].plan.chosen = PlanChosen{"guided", {"0:0", "0:1"}, {}};
  CHECK(run_tables(report, {160, false}).find("auto (guided)") != std::string::npos);
  CHECK(closing_words(report).find("auto (guided) on 2 devices takes") != std::string::npos);
}

TEST_CASE("text from drivers cannot move the cursor, and is measured in characters") {
  CHECK(printable("a\x1b[2Jb\xff\xc2\x85") == "a\\x1b[2Jb\\xff\\xc2\\x85");
  CHECK(printable("\u00b1 5") == "\u00b1 5");
  CHECK(display_width("\u00b1 5") == 3);
  CHECK(shortened("\u00b1\u00b1\u00b1\u00b1\u00b1", 4) == "\u00b1\u00b1..");
  CHECK(shortened("abcd", 4) == "abcd");
}

TEST_CASE(
    "a device that was handicapped is named below the tables, so that nobody mistakes its "
    "numbers") {
  Report report = test::sample_report();
  CHECK(run_tables(report, {}).find("handicapped") == std::string::npos);
  report.devices[1].handicap.slow = 3;
  const std::string text = run_tables(report, {});
  CHECK(text.ends_with("handicapped on purpose: 0:1 (kernels 3 times as long)\n"));
}

TEST_CASE(
    "why devices exchange data by way of the host is said once below the tables, and nothing where "
    "there is nothing to say") {
  Report report = test::sample_report();
  CHECK(run_tables(report, {}).find("exchange:") == std::string::npos);
  report.exchange_notes = {"staged between all devices: libcuda.so.1 cannot be loaded"};
  const std::string line = "exchange: staged between all devices: libcuda.so.1 cannot be loaded\n",
                    text = run_tables(report, {});
  const std::size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  CHECK(text.find("exchange:", at + 1) == std::string::npos);
}

TEST_CASE(
    "a row of fewer devices than asked for says so, is marked, and its fault is in the table of "
    "faults") {
  const std::string text = run_tables(test::sample_report(), {200, false});
  CHECK(text.find("\n !  dynamic:chunks=64  2 of 3   830") != std::string::npos);
  CHECK(text.find("\n! dynamic:chunks=64: device 0:1 hung\n") != std::string::npos);
  CHECK(text.find("\n! dynamic:chunks=64: 1 sample that a fault disturbed is not counted\n") !=
        std::string::npos);
  CHECK(text.find("\n! dynamic:chunks=64: measured on 2 of 3 devices\n") != std::string::npos);
  const std::string faults = text.substr(text.find("\nFaults\n"));
  CHECK(faults.find("merkle dynamic:chunks=64  0:1     hang   sample  3rd sample, 900 us       200 "
                    "us        1250    480 us") != std::string::npos);
  CHECK(faults.find("96.0 -> 100.0  did not answer for 0.2 ms\n") != std::string::npos);
  CHECK(faults.find("clCreateContext: CL_DEVICE_NOT_AVAILABLE") != std::string::npos);
  Report sound = test::sample_report();
  sound.faults.clear();
  sound.runs.resize(3);
  CHECK(run_tables(sound, {200, false}).find("Faults") == std::string::npos);
}

TEST_CASE(
    "a device whose time stamps are impossible is named below its row, and what is made of them is "
    "a question mark") {
  Report report = test::sample_report();
  report.runs.resize(1);
  report.faults.clear();
  RunRecord& run = report.runs[0];
  run.per_device[1].parts.unknown = "a kernel took no time";
  run.metrics.balance.reset();
  run.bottleneck = {};
  run.bottleneck.name = "unknown";
  const std::string text = run_tables(report, {160, false});
  CHECK(text.find("where the time of device 0:1 went is not known: a kernel took no time") !=
        std::string::npos);
  const std::size_t single = text.find("single");
  REQUIRE(single != std::string::npos);
  const std::string row = text.substr(single, text.find('\n', single) - single);
  CHECK(std::count(row.begin(), row.end(), '?') == 2);  // residue and bottleneck
  CHECK(row.ends_with("passed"));
  CHECK(closing_words(report).find(
            "What holds it back is not known, as time stamps of its commands cannot be right.") !=
        std::string::npos);
}
