// Tests of when the result file of a run is written.
#include "app/run_observer.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "lib/base/text_file.hpp"
#include "lib/report/record_json.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;

TEST_CASE("of many groups each is in the journal, and the file is written as it grows, and last") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "r.json";
  OutputFiles outputs;
  outputs.add(file);
  RunObserver observer({.result = &outputs.at(file), .quiet = true});
  observer.keep(std::make_unique<JournalWriter>(journal_of(file), JournalHeader{}), 0);
  Report report;
  std::size_t written = 0, rows = 0;
  constexpr std::size_t kGroups = 200;
  for (std::size_t group = 1; group <= kGroups; ++group) {
    RunRecord& run = report.runs.emplace_back();
    run.suite = "merkle";
    run.status = Status::failed;
    run.reason = "it is but a test";
    observer.finished(group);
    observer.recorded(report);
    const std::size_t now = read_report(file).runs.size();
    written += now != rows;
    rows = now;
    CHECK(now + now / 16 + 1 >= group);
  }
  CHECK(written < kGroups / 2);
  CHECK(rows < kGroups);
  observer.recorded(report);  // the run was interrupted
  CHECK(read_report(file).runs.size() == kGroups);
  CHECK(std::filesystem::exists(journal_of(file)));
  report.complete = true;
  observer.recorded(report);
  CHECK(read_report(file).complete);
  CHECK_FALSE(std::filesystem::exists(journal_of(file)));
}

TEST_CASE("a file that keeps its older result has the samples of the new run in its journal") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "r.json";
  Report older;
  older.runs.emplace_back().status = Status::ok;
  std::ofstream(file) << to_json_text(older);
  const std::string before = read_text_file(file);
  OutputFiles outputs;
  outputs.add(file);
  RunObserver observer({.result = &outputs.at(file), .quiet = true});
  auto writer = std::make_unique<JournalWriter>(journal_of(file), JournalHeader{});
  JournalWriter& journal = *writer;
  observer.keep(std::move(writer), 0);
  Report report;
  report.runs.emplace_back().status = Status::skipped;
  report.runs.back().reason = "it is but a test";
  observer.finished(1);
  observer.recorded(report);
  CHECK(read_text_file(file) == before);
  CHECK(journal.header().groups == 0);
}
