// What is said below the tables: who won, by how much, and what holds it back.
#include <doctest/doctest.h>

#include "lib/report/table_writer.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;

TEST_CASE("closing words say what won, by how much and what holds it back") {
  Report report = test::sample_report();
  const std::string words = closing_words(report);
  CHECK(words.find("dynamic:chunks=16 on 2 devices is fastest") != std::string::npos);
  CHECK(words.find("times as fast as the best device alone (0:0, 1.00 ms)") != std::string::npos);
  CHECK(words.find("80 % faster than equal shares") != std::string::npos);
  CHECK(
      words.find(
          "What holds it back most: the merge; if it were free it would take 766 us (5 % less).") !=
      std::string::npos);
  report.runs = {report.runs[4]};
  report.faults.clear();
  CHECK(closing_words(report) ==
        "merkle leaves=100000, resident: no run was ok; the first is failed: the root differs from "
        "the reference.\n");
}

TEST_CASE(
    "closing words say how even rounds were, where there are some, and what of the exchange is "
    "hidden") {
  Report report = test::sample_report();
  CHECK(closing_words(report).find("rounds") == std::string::npos);
  report.runs = {*std::find_if(report.runs.begin(), report.runs.end(),
                               [](const RunRecord& r) { return r.strategy == "dynamic"; })};
  RunRecord& run = report.runs.front();
  run.metrics.round_imbalance_percent = 3.25;
  run.metrics.worst_round_imbalance_percent = 41.5;
  run.worst_round = 11;  // counted from 0
  CHECK(closing_words(report).find(
            " Its rounds are 3.2 % out of balance, round 12 most, by 41.5 %.") !=
        std::string::npos);
  run.metrics.worst_round_imbalance_percent = 3.25;
  CHECK(closing_words(report).find(" Its rounds are 3.2 % out of balance.") != std::string::npos);
  run.metrics.worst_round_imbalance_percent = 41.5;
  run.metrics.waiting_share = 0.125;
  run.metrics.exchange_overlap = 0.75;
  CHECK(closing_words(report).find("by 41.5 %; devices wait for each other for 12.5 % of the time, "
                                   "and 75.0 % of the exchange is hidden.") != std::string::npos);
}

TEST_CASE(
    "closing words say how long a chain of stages fills and drains, its beat, and which stage is "
    "slowest") {
  Report report = test::sample_report();
  report.runs = {*std::find_if(report.runs.begin(), report.runs.end(),
                               [](const RunRecord& r) { return r.strategy == "dynamic"; })};
  RunRecord& run = report.runs.front();
  run.chain = ChainPhases{
      Nanos{10'000}, Nanos{20'000},
      {1},           Nanos{30'000},
      Nanos{33'000}, {{{0}, Name("hash"), Nanos{25'000}}, {{1}, Name("product"), Nanos{30'000}}}};
  CHECK(closing_words(report).find(" Its chain of stages takes 10.0 us to fill and 20.0 us to "
                                   "drain; between, a batch comes every 33.0 us "
                                   "from the slowest device, " +
                                   run.devices[1] +
                                   ", whose kernels take 30.0 us; the slowest stage is "
                                   "product with 30.0 us on " +
                                   run.devices[1] + ".") != std::string::npos);
}

TEST_CASE(
    "closing words say whose borders moved, how often, and from what to what where devices are "
    "few") {
  Report report = test::sample_report();
  report.runs = {*std::find_if(report.runs.begin(), report.runs.end(),
                               [](const RunRecord& r) { return r.strategy == "dynamic"; })};
  RunRecord& run = report.runs.front();
  const std::string samples = std::to_string(run.samples.size());
  run.borders = {{0, {500, 500}, {{4, {400, 600}}, {8, {333, 667}}}}};
  CHECK(closing_words(report).find(
            " moved borders in 1 of " + samples +
            " samples, the first time after round 4: from 50 / 50 % to 33 / 67 %.") !=
        std::string::npos);
  run.borders = {{0, {1, 1, 1, 1, 1}, {{1024, {2, 1, 1, 1, 0}}}},
                 {1, {2, 1, 1, 1, 0}, {{4, {1, 1, 1, 1, 1}}}}};
  CHECK(closing_words(report).find(" moved borders in 2 of " + samples +
                                   " samples, the first time after round 1,024.") !=
        std::string::npos);
}

TEST_CASE("closing words take both times from medians, and call nothing faster that is not") {
  Report report = test::sample_report();
  report.runs = {*std::find_if(report.runs.begin(), report.runs.end(),
                               [](const RunRecord& r) { return r.strategy == "dynamic"; })};
  RunRecord& run = report.runs.front();
  run.time.median = 2 * run.timeline.makespan;  // the sample shown was a short one
  run.metrics.speedup = 0.5;
  const std::string words = closing_words(report);
  CHECK(words.find("takes 1.62 ms, no faster than device 0:0 alone (1.00 ms)") !=
        std::string::npos);
  CHECK(words.find("if it were free it would take 1.53 ms (5 % less)") != std::string::npos);
  run.bottleneck.name = "none";
  run.metrics.efficiency = 0.7;
  CHECK(closing_words(report).find(
            "each device is slower at its share than alone at everything: no what-if would") !=
        std::string::npos);
  run.bottleneck.free_launches.reset();
  CHECK(closing_words(report).find("no what-if that is known would save 1 %") != std::string::npos);
  run.metrics.efficiency = 0.97;
  CHECK(closing_words(report).find("Nothing but the work itself") != std::string::npos);
}

TEST_CASE("closing words name the device when no split beats it alone") {
  Report report = test::sample_report();
  report.runs.resize(2);  // single and equal
  CHECK(closing_words(report).starts_with(
      "merkle leaves=100000, resident: single on device 0:0 is fastest with 1.01 "
      "ms: no split over 2 devices beats device 0:0 alone."));
}

TEST_CASE("closing words do not call a difference within the noise a win") {
  Report report = test::sample_report();
  report.runs[1].time = report.runs[2].time;
  report.runs[1].time.median += Nanos{100};
  CHECK(closing_words(report).find(
            "dynamic:chunks=16 and equal are fastest and not told apart by their noise") !=
        std::string::npos);
  CHECK(closing_words(report).find("faster than equal shares") == std::string::npos);
}

TEST_CASE("closing words say what was lost, how soon that was found and what it cost") {
  Report report = test::sample_report();
  const std::string words = closing_words(report);
  CHECK(
      words.find("dynamic:chunks=64: device 0:1 hung in the 3rd sample (did not answer for 0.2 "
                 "ms), which was found after 200 us; its "
                 "1,250 items were computed again by the others, which took 480 us; this sample is "
                 "not part of the figures. "
                 "Efficiency was 96.0 % before and is 100.0 % with the devices that were left.") !=
      std::string::npos);
  CHECK(words.ends_with(
      "\ndevice 0:2 failed at set-up (clCreateContext: CL_DEVICE_NOT_AVAILABLE).\n"));

  RunRecord& run = report.runs[3];
  Fault wrong;
  wrong.device = "0:0";
  wrong.kind = "wrong_result";
  wrong.phase = "verify";
  wrong.what = "item 17 differs";
  run.faults = {wrong};
  CHECK(closing_words(report).find(
            "device 0:0 gave a wrong result when results were verified (item 17 differs).") !=
        std::string::npos);
  wrong.kind = "out_of_memory";
  wrong.phase = "probe";
  wrong.items_lost = 1;
  run.faults = {wrong};
  CHECK(closing_words(report).find("device 0:0 ran out of memory while rates were probed (item 17 "
                                   "differs); 1 item was lost with it.") != std::string::npos);
  run.disturbed[0].reason = "no device was left";
  run.disturbed[0].samples_before.reset();
  wrong.phase = "merge";
  wrong.sample = 0;
  wrong.items_lost = 5000;
  wrong.items_redone = 2048;
  run.faults = {wrong, wrong, wrong, wrong, wrong, wrong};
  const std::string many = closing_words(report);
  CHECK(many.find("in the merge of a sample (item 17 differs); 2,048 of its 5,000 items were "
                  "computed again by the others; this sample "
                  "has no result: no device was left.") != std::string::npos);
  CHECK(many.find(" 2 more in the table of faults.") != std::string::npos);
}
