// Output of nccl-tests: what is read from it, to which cases of links it belongs, and what is
// refused.
#include "lib/report/nccl_tests.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr const char* kRanks = R"(# Using devices
#  Rank  0 Group  0 Pid  1 on  node device  0 [0x1b] NVIDIA H100
#  Rank  1 Group  0 Pid  1 on  node device  1 [0x43] NVIDIA H100
#
#                                                    out-of-place            in-place
#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong
#        (B)  (elements)                (us)  (GB/s) (GB/s)        (us)  (GB/s) (GB/s)
)";
// Older programs print no root, and "error".
constexpr const char* kOlder = R"($ build/alltoall_perf -g 2
#       size   count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
        2048     512   float    none    12345    0.13    0.13  0e+00    11.00    0.13    0.13  0e+00
)";

std::string all_reduce(const std::string& row) {
  return std::string("# Collective test starting: all_reduce_perf\n") + kRanks + row;
}

RunRecord measured(const char* suite, Bytes bytes, const char* type, const char* redop) {
  RunRecord run;
  run.suite = suite;
  run.mode.name = "back_to_back";
  run.link = LinkRecord{};
  run.link->bytes = bytes;
  run.devices = {"0:0", "0:1"};
  run.params["type"] = std::string(type);
  if (redop != nullptr) run.params["redop"] = std::string(redop);
  return run;
}

}  // namespace

TEST_CASE("rows of nccl-tests belong to cases of links by collective, size, type and operation") {
  const std::vector<NcclTestsRow> rows =
      read_nccl_tests(all_reduce("4096 1024 float sum -1 31.80 0.13 0.13 0 30.94 0.13 0.13 N/A\n"
                                 "4096 512 double max -1 33 0.13 0.13 0 30.94 0.13 0.13 0\n"
                                 "# Avg bus bandwidth : 1\n") +
                      kOlder);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].devices == 2);
  CHECK(rows[0].time == Nanos{31'800});
  CHECK(rows[2].collective == "all-to-all");
  CHECK(rows[2].time == Nanos{12'345'000});
  Report report;
  report.runs = {
      measured("all-reduce", 4096, "f32", "sum"),   measured("all-reduce", 4096, "f64", "max"),
      measured("all-reduce", 4096, "f32", "max"),   measured("all-reduce", 8192, "f32", "sum"),
      measured("all-to-all", 2048, "u32", nullptr), measured("broadcast", 4096, "f32", nullptr)};
  report.runs.push_back(report.runs[0]);
  report.runs.back().devices.push_back("0:2");
  CHECK(add_nccl_tests(rows, report) == 3);
  std::vector<std::int64_t> times;
  for (const RunRecord& run : report.runs) times.push_back(run.link->nccl_tests.count());
  CHECK(times == std::vector<std::int64_t>{31'800, 33'000, 0, 0, 12'345'000, 0, 0});
}

TEST_CASE("what is no output of nccl-tests is refused, with the line") {
  const auto refused = [](const std::string& text) {
    return refusal([&] { read_nccl_tests(text); }, ErrorKind::input);
  };
  CHECK(refused("") == "no rows of nccl-tests");
  CHECK(refused(all_reduce("# Out of bounds values : 0 OK\n")) == "no rows of nccl-tests");
  CHECK(refused("8 2 float sum -1 3.0 1 1 0\n").starts_with("line 1: a row before a line that"));
  CHECK(refused("# all_reduce_perf\n8 2 float sum -1 3.0\n") ==
        "line 2: a row without a heading that has a time");
  for (const char* time : {"N/A", "0", "-1", "inf", "1e30"})
    CHECK(refused(all_reduce(std::string("8 2 float sum -1 ") + time + " 1 1 0\n")) ==
          std::string("line 9: no time in us: ") + time);
}
