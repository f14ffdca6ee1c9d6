// The exit codes that reports lead to.
#include "app/exit_codes.hpp"

#include <doctest/doctest.h>

#include "tests/support/sample_report.hpp"

using namespace mgpu;

namespace {

// Returns a report with one case that was ok, on two devices.
Report good() {
  Report report = test::sample_report();
  report.faults.clear();
  report.runs.resize(1);
  RunRecord& run = report.runs.front();
  run.status = Status::ok;
  run.verify.status = VerifyStatus::passed;
  run.faults.clear();
  run.devices_asked = run.devices.size();
  return report;
}

Fault fault(const std::string& kind) { return {"0:1", kind, "sample", "it is gone"}; }

}  // namespace

TEST_CASE("a loss that the run survived is a failure under strict only, wherever it is recorded") {
  for (const char* kind : {"hang", "error", "out_of_memory"}) {
    Report of_case = good(), of_none = good();
    of_case.runs[0].faults.push_back(fault(kind));
    of_none.faults.push_back(fault(kind));
    for (const Report& report : {of_case, of_none}) {
      CHECK(outcome(report, false) == ExitCode::ok);
      CHECK(outcome(report, true) == ExitCode::failed);
    }
  }
  CHECK(outcome(good(), true) == ExitCode::ok);
}

TEST_CASE("a wrong result is never less than unverified, also of a device alone") {
  for (const bool strict : {false, true}) {
    Report of_case = good(), of_none = good(), by_record = good();
    of_case.runs[0].faults.push_back(fault("wrong_result"));
    of_none.faults.push_back(fault("wrong_result"));
    by_record.runs[0].verify.status = VerifyStatus::failed;
    by_record.runs[0].status = Status::failed;
    for (const Report& report : {of_case, of_none, by_record})
      CHECK(outcome(report, strict) == ExitCode::unverified);
  }
}

TEST_CASE(
    "cases that failed fail, those that were skipped or went on with fewer devices under strict, "
    "and nothing measured always") {
  Report report = good();
  report.runs.push_back(report.runs.front());
  report.runs[1].status = Status::failed;
  CHECK(outcome(report, false) == ExitCode::failed);
  report.runs[1].status = Status::skipped;
  CHECK(outcome(report, false) == ExitCode::ok);
  CHECK(outcome(report, true) == ExitCode::failed);
  report.runs[1].status = Status::unsupported;
  CHECK(outcome(report, true) == ExitCode::ok);
  report.runs.resize(1);
  report.runs[0].devices_asked = report.runs[0].devices.size() + 1;
  CHECK(outcome(report, false) == ExitCode::ok);
  CHECK(outcome(report, true) == ExitCode::failed);
  report.runs[0].status = Status::skipped;
  CHECK(outcome(report, false) == ExitCode::failed);
  CHECK(outcome({}, false) == ExitCode::failed);
}

TEST_CASE("the worst of several codes hides the others") {
  using enum ExitCode;
  const ExitCode order[] = {terminated, interrupted, internal, unverified,
                            failed,     regression,  usage,    inconclusive};
  for (std::size_t k = 0; k < std::size(order); ++k) {
    const std::vector<ExitCode> rest(order + k, std::end(order));
    CHECK(worst(rest) == order[k]);
    CHECK(worst(std::vector<ExitCode>(rest.rbegin(), rest.rend())) == order[k]);
  }
  CHECK(worst({}) == ok);
}
