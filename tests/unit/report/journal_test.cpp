// The journal: it can be read again, a truncated line is dropped, and damage is reported.
#include "lib/report/journal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "lib/base/error.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;
using test::golden;

namespace {

JournalHeader header() {
  return {"0123456789abcdef",
          1,
          2,
          6,
          1,
          {"mgpu-bench", "run"},
          {{"tool", "0.1.0 (git abc)"}, {"problem, leaves", "1024"}}};
}

JournalEntry group() {
  return JournalGroup{
      2, "merkle resident", {"0:0", "0:1"}, {"alone 0:0", "alone 0:1", "auto on 2"}};
}

JournalSample sample(std::int64_t time = 1234) {
  JournalSample one;
  one.of_case = 2;
  one.devices = {0, 1};
  one.run = 3;
  one.time = Nanos{time};
  one.decision = Nanos{56};
  one.share = {{700, 324}, {Nanos{1000}, Nanos{900}}, Nanos{time}, {600, 300}};
  one.recomputed = 2;
  one.digest = "a\"b";
  one.chosen = "dynamic";
  one.uses = {true, false};
  return one;
}

std::string whole() {
  std::string text = journal_line(header()) + journal_line(group());
  for (std::int64_t k = 0; k < 5; ++k) text += journal_line(sample(k));
  return text;
}

std::string refusal_of_journal(const std::string& text) {
  try {
    journal_from_text(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a journal is written as the golden one is, and comes back in each of its parts") {
  Fault fault{"0:1", "hang", "sample", "no answer"};
  fault.sample = 0;
  fault.items_lost = 7;
  const std::string text =
      journal_line(header()) + journal_run_line(4) + journal_line(group()) +
      journal_line(sample()) +
      journal_line(JournalInvalidated{2, {0, 1}, Nanos{99}, VerifyStatus::passed, "why"}) +
      journal_line(JournalFault{2, fault}) +
      journal_line(JournalFault{std::nullopt, {"0:0", "error", "probe", "it broke"}}) +
      journal_line(JournalFailure{1, "wrong", {VerifyStatus::failed, "a loop", "d", 0, 4}});
  CHECK(golden("journal.txt", text) == text);
  Journal read = journal_from_text(text);
  CHECK(read.intact == text.size());
  CHECK(read.header.run == 4);
  REQUIRE(read.groups.size() == 1);
  read.header.run = header().run;
  const GroupJournal& mine = read.groups.at(2);
  std::string again = journal_line(read.header) + journal_run_line(4) + journal_line(mine.group);
  for (const JournalSample& one : mine.samples) again += journal_line(one);
  for (const JournalInvalidated& one : mine.invalidated) again += journal_line(one);
  for (const JournalFault& one : mine.faults) again += journal_line(one);
  for (const JournalFailure& one : mine.failures) again += journal_line(one);
  CHECK(again == text);
}

TEST_CASE("wherever a journal is cut off, the whole lines before are read") {
  const std::string text = whole();
  const std::size_t first = text.find('\n') + 1, second = text.find('\n', first) + 1;
  for (std::size_t cut = first; cut <= text.size(); ++cut) {
    const Journal read = journal_from_text(std::string_view(text).substr(0, cut));
    const auto lines = static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(cut), '\n'));
    CHECK(read.intact == text.rfind('\n', cut - 1) + 1);
    if (cut < second) {
      CHECK(read.groups.empty());
    } else {
      CHECK(read.groups.at(2).samples.size() == lines - 2);
    }
  }
  CHECK(refusal_of_journal(text.substr(0, first - 1)).find("first line") != std::string::npos);
  CHECK(refusal_of_journal("").find("empty") != std::string::npos);
}

TEST_CASE("any byte that is not what was written is found, and the line named") {
  const std::string text = whole();
  const std::size_t last =
      text.rfind('\n', text.size() - 2) + 1;  // damage to the last line counts as truncation
  for (std::size_t at = 0; at + 1 < last;
       ++at) {  // without its line end the line before merges with the last one
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    const std::string why = refusal_of_journal(damaged);
    CAPTURE(at);
    CHECK_FALSE(why.empty());
    if (line > 1) CHECK(why.starts_with("line " + std::to_string(line) + ": "));
  }
  std::string damaged = text;
  damaged[text.size() - 5] ^= 1;
  CHECK(journal_from_text(damaged).intact == last);
}

TEST_CASE("a journal that refers to what it has not is refused") {
  JournalSample no_case = sample(), no_device = sample(), short_list = sample();
  no_case.of_case = 3;
  no_device.devices = {0, 2};
  short_list.share.busy.pop_back();
  const auto refused = [](const std::string& lines, const char* part) {
    const std::string message = refusal_of_journal(journal_line(header()) + lines);
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  const std::string begin = journal_line(group()), end = journal_line(sample());
  refused(end + begin, "no group");
  refused(begin + journal_line(no_case) + end, "case");
  refused(begin + journal_line(no_device) + end, "device");
  refused(begin + journal_line(short_list) + end, "lists");
}

TEST_CASE("the first difference of two configurations is named, with what was and what is") {
  const Configuration was{{"tool", "1"}, {"size", "2"}, {"old", "x"}};
  CHECK_FALSE(first_difference(was, was));
  const auto size = first_difference(was, {{"tool", "1"}, {"size", "3"}});
  REQUIRE(size);
  CHECK(size->name == "size");
  CHECK(size->was == "2");
  CHECK(size->is == "3");
  CHECK(first_difference(was, {{"tool", "1"}, {"size", "2"}})->name == "old");
  CHECK(first_difference({{"tool", "1"}}, was)->was.empty());
}

TEST_CASE("a journal on disk is continued behind its last whole line, begun anew, removed") {
  const test::TemporaryFolder folder;
  const auto file = journal_of(folder.path() / "r.json");
  CHECK(file.filename() == "r.json.journal");
  {
    JournalWriter writer(file, header());
    writer.append(group(), Nanos{0});
    writer.append(sample(1), Nanos{1});
  }
  std::ofstream(file, std::ios::app) << "0123456789abcdef {\"sample\":";
  {
    JournalWriter writer(file, read_journal(file));
    writer.append(group(), Nanos{0});
    writer.append(sample(2), Nanos{1});
  }
  const Journal read = read_journal(file);
  CHECK(read.header.run == 2);
  REQUIRE(read.groups.at(2).samples.size() == 2);
  CHECK(read.groups.at(2).samples.at(1).time == Nanos{2});
  JournalWriter writer(file, read);
  writer.restart(3, 9, 0);
  writer.append(JournalGroup{3, "merkle end_to_end", {"0:0"}, {"alone 0:0"}}, Nanos{0});
  CHECK(read_journal(file).groups.size() == 1);
  CHECK(read_journal(file).header.groups == 3);
  CHECK(read_journal(file).header.run == 3);
  writer.remove();
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("what was settled comes back with its group; settled otherwise it is another") {
  JournalGroup begins{2, "pipeline resident", {"0:0"}, {"alone 0:0"}, {{"place", "data"}}};
  const Journal read = journal_from_text(journal_line(header()) + journal_line(begins));
  REQUIRE(read.groups.size() == 1);
  CHECK(read.groups.at(2).group == begins);
  CHECK(read.groups.at(2).group.settled.at("place") == "data");
  CHECK(journal_line(group()).find("settled") == std::string::npos);
  JournalGroup other = begins;
  other.settled["place"] = "pipeline";
  CHECK_THROWS_AS(
      journal_from_text(journal_line(header()) + journal_line(begins) + journal_line(other)),
      Error);
}
