#include "lib/report/overview.hpp"

#include <doctest/doctest.h>

#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

RunRecord of(const char* suite, RunRecord run) {
  run.suite = suite;
  run.size_name = "leaves";
  return run;
}

Report of_suites() {
  Report report = sample_report();
  report.faults.clear();
  report.defaults.clear();
  for (const char* suite : {"gains", "loses", "ties", "noisy", "whole", "failed"})
    report.defaults[suite] = {{"tree", std::string("plain")}, {"seed", std::int64_t{1}}};
  report.defaults["ties"]["tree"] = std::string("binary");
  report.runs = {
      of("gains", sample_run("equal", 450'000, 1'350'000, 50'000)),
      of("gains", sample_run("dynamic", 690'000, 700'000, 75'000)),
      of("loses", sample_run("equal", 450'000, 1'350'000, 50'000)),
      of("ties", sample_run("equal", 889'000, 300'000, 95'000)),
      of("ties", without_numbers(Status::failed, "auto", "the root is wrong")),
      of("noisy", sample_run("equal", 800'000, 300'000, 90'000)),
      of("whole", sample_run("auto", 900'000, 0, 100'000)),
      of("failed", without_numbers(Status::failed, "equal", "the root differs")),
  };
  report.runs[1].strategy = "auto";
  report.runs[1].plan.chosen = PlanChosen{"dynamic", {"0:0", "0:1"}, {}};
  RunRecord& noisy = report.runs[5];
  for (std::size_t k = 0; k < noisy.samples.size(); ++k)
    noisy.samples[k] += Nanos{(static_cast<std::int64_t>(k) - 5) * 100'000};
  noisy.time = summarise(noisy.samples);
  return report;
}

}  // namespace

TEST_CASE("an overview has a row per problem: alone, best split, gain, ideal, bottleneck") {
  const Report report = of_suites();
  CHECK(overview_heading() ==
        "suite     problem        best alone    best split        gain ideal held back by\n");
  CHECK(overview_rows(report, 0) ==
        "gains     leaves=100000  1.00 ms 0:0   75/25 dynamic    1.23x  93 % merge\n"
        "loses     leaves=100000  1.00 ms 0:0   50/50 equal      0.68x  51 % balance\n"
        "ties      leaves=10000.. 1.00 ms 0:0   95/5 equal       1.00x  75 % balance\n"
        "noisy     leaves=100000  1.00 ms 0:0   90/10 equal      1.10x  82 % balance\n"
        "whole     leaves=100000  1.01 ms 0:0   -                    -     - merge\n"
        "failed    failed: the root differs\n");
  CHECK(overview_rows(report, 7) == "failed    failed: the root differs\n");
}

TEST_CASE("the shares of four devices leave room for the strategy") {
  Report report = of_suites();
  report.runs.resize(2);
  for (RunRecord& run : report.runs) {
    run.per_device.push_back(run.per_device[0]);
    run.per_device.push_back(run.per_device[1]);
    for (std::size_t i = 0; i < 4; ++i) run.per_device[i].parts.items = 20'000 + 1'000 * i;
  }
  CHECK(overview_rows(report, 0).find(" 23-27 % dynamic ") != std::string::npos);
}

TEST_CASE("the sentences of an overview say what gains, what does not and why, and what is next") {
  CHECK(overview_sentences(of_suites()) ==
        "Split: gains (1.23x).\n"
        "Do not split: loses (0.68x, balance).\n"
        "Cannot be told from one device: noisy (1.10x) and ties (1.00x); more samples (-n 30) on "
        "an idle machine may show one.\n"
        "Not split: whole.\n"
        "ties, auto: failed: the root is wrong\n"
        "Next: mgpu-bench run loses  (larger problem, every strategy, with and without "
        "transfers)\n");
  Report one = of_suites();
  one.devices.resize(1);
  CHECK(overview_sentences(one) ==
        "There is one device, so there is nothing to split: these are its times alone.\n");
}
