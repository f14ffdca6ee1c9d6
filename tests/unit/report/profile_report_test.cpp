// The report of a profile: its sentences, its text, its file, its trace.
#include "lib/report/profile_report.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "lib/base/error.hpp"
#include "lib/profile/log_reader.hpp"
#include "lib/report/json_file.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/trace_checker.hpp"

using namespace mgpu;

namespace {

// Returns a profile of two devices, of which the second has a third of the first one's work, and
// transfers, builds and a wait in each of eight iterations.
ProfileReport imbalanced_profile() {
  test::ProgramBuilder program(2);
  std::int64_t at = 0;
  for (int k = 0; k < 8; ++k, at += 4'000'000 + 1000 * (k % 3)) {
    program.command(0, CommandKind::upload, at, at + 2000, at + 20'000, at + 120'000);
    program.kernel(0, at + 2000, at + 4000, at + 130'000, at + 3'130'000);
    program.kernel(1, at + 4000, at + 6000, at + 40'000, at + 1'040'000);
    program.command(0, CommandKind::download, at + 6000, at + 3'240'000, at + 3'131'000,
                    at + 3'231'000, true);
    program.record().commands.back().pageable = true;
    if (k == 3) program.call(CallKind::build, "clBuildProgram", at + 3'300'000, at + 3'700'000);
  }
  ProgramRecord& record = program.record();
  record.before = Nanos{5'000'000};
  record.builds = {2, Nanos{3'400'000}};
  record.processes[0].recorded_calls = 100;
  record.processes[0].recording = Nanos{40'000};
  record.remarks.push_back(
      "1 command of process 1 had not ended when its log ended, and is left out");
  ProfileReport report = analyse_program(record, {});
  report.program = {"./program", "--option"};
  report.wall = Nanos{40'000'000};
  report.wall_without = Nanos{39'000'000};
  report.tool = {"0.2.0", "abc", {"mgpu-bench", "profile"}};
  report.started = "2026-11-28T11:00:00Z";
  return report;
}

}  // namespace

TEST_CASE("the report of a profile is text for 80 columns, with what holds it back first") {
  const ProfileReport report = imbalanced_profile();
  REQUIRE(report.verdict.size() == 2);
  CHECK(report.verdict[0] ==
        "What holds it back most: balance; with shares 50 to 50 in place of 75 to 25 it would take "
        "22.7 ms instead of 31.2 ms (27 % less).");
  CHECK(report.metrics.imbalance_percent);
  const std::string text = profile_text(report, {.width = 80}) + "----\n" +
                           profile_comparison(report, report, {.width = 80});
  CHECK(text == test::golden("profile.txt", text));
}

TEST_CASE("the file of a profile is read as it was written, and its trace obeys the rules") {
  const ProfileReport report = imbalanced_profile();
  const std::string text = profile_json(report);
  const ProfileReport read = profile_from_json(parse_json(text));
  CHECK(profile_json(read) == text);
  CHECK(profile_text(read, {.width = 80}) == profile_text(report, {.width = 80}));
  test::check_chrome_trace(profile_trace(report));
  nlohmann::ordered_json other = parse_json(text);
  other["kernels"][0]["device"] = 2;
  CHECK_THROWS_WITH_AS(profile_from_json(other), "kernels: no such device", Error);
  other = parse_json(text);
  other["calls"][0]["thread"] = 1;
  CHECK_THROWS_WITH_AS(profile_from_json(other), "calls: no such thread", Error);
}

TEST_CASE("what cannot be known is said, and nothing is blamed without proof") {
  CHECK(analyse_program({}, {}).verdict ==
        std::vector<std::string>{"The program ran no command of OpenCL whose time is known."});
  test::ProgramBuilder busy(1);
  busy.kernel(0, 0, 1, 1, 100'000);
  CHECK(analyse_program(busy.record(), {}).verdict ==
        std::vector<std::string>{
            "No single cost holds it back: none that was tried saves 1 % of its time."});
  busy.record().commands[0].ended = Nanos{0};
  const ProfileReport wrong = analyse_program(busy.record(), {});
  CHECK(wrong.verdict[0].find("time stamps of its commands cannot be right") != std::string::npos);
  CHECK(wrong.warnings[0] ==
        "device 0:0: its times are not known: a command ended before it began");
}

TEST_CASE("logs with flipped bits are read or refused, up to the report") {
  const std::string whole = test::simple_log(3, 1000);
  std::mt19937 random(11);
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = whole;
    for (int flips = 0; flips < 3; ++flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
    CAPTURE(round);
    try {
      const CommandLog log = read_command_log(damaged);
      const ProfileReport report = analyse_program(program_of({&log, 1}), {});
      profile_text(report, {});
      const std::string text = profile_json(report);
      CHECK(profile_json(profile_from_json(parse_json(text))) == text);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
    }
  }
}
