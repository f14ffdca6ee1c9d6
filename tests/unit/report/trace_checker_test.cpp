// The checker of traces detects each kind of breach and names the event.
#include "tests/support/trace_checker.hpp"

#include <doctest/doctest.h>

#include "tests/support/json_texts.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Two nested slices with an arrow to a third, and an instant: obeys every rule.
const std::string kGood = R"([
    {"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"run"}},
    {"ph":"M","name":"process_sort_index","pid":1,"tid":1,"args":{"sort_index":0}},
    {"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":10,"args":{}},
    {"ph":"X","name":"inner","pid":1,"tid":1,"ts":2.5,"dur":7.5},
    {"ph":"X","name":"other","pid":2,"tid":2,"ts":10.001,"dur":5},
    {"ph":"s","name":"slice","cat":"slice","id":1,"pid":1,"tid":1,"ts":9.999},
    {"ph":"f","bp":"e","name":"slice","cat":"slice","id":1,"pid":2,"tid":2,"ts":10.001},
    {"ph":"C","name":"in flight","pid":2,"ts":1,"args":{"gpu0":1}},
    {"ph":"i","name":"fault","pid":1,"tid":1,"ts":3,"s":"t"}])";

}  // namespace

TEST_CASE("the checker accepts a trace that obeys, as an object and as a list") {
  CHECK(check_chrome_trace("{\"traceEvents\": " + kGood + "}").empty());
  CHECK(check_chrome_trace(kGood).empty());
}

TEST_CASE("the checker refuses what is not a trace") {
  const std::string levels = std::string(100'000, '[') + std::string(100'000, ']');
  for (const auto& [text, part] :
       {std::pair<std::string, const char*>{"{\"traceEvents\":[", "cut off"},
        {levels, "deeper than 100"},
        {"{}", ""},
        {"3", ""}}) {
    const auto breaches = check_chrome_trace(text);
    REQUIRE(breaches.size() == 1);
    CHECK(breaches.front().find(part) != std::string::npos);
  }
}

TEST_CASE("every breach is named with its event") {
  // Rows have the event, a word of the message, and the changes, separated by ";".
  for (const std::string& row : rows_of(R"(
    9 object       /- 7
    3 character    /3/ph "XX"
    3 none         /3/ph "?"
    3 name         /3/name ""
    3 name         /3/name
    3 args         /3/args 1
    3 pid          /3/pid "1"
    3 pid          /3/pid 0
    3 pid          /3/pid -1
    3 pid          /3/pid 1.5
    3 pid          /3/pid 4294967296
    3 tid          /3/tid "1"
    3 tid          /3/tid 4294967296
    3 tid          /3/tid
    3 another      /3/pid 2
    3 negative     /3/dur -0.001
    3 dur          /3/dur
    3 ts           /3/ts "1"
    7 negative     /7/ts -1
    7 zero-based   /7/ts 1.79e15
    0 process_name /0/args/name ""
    1 sort_index   /1/args/sort_index "0"
    8 instant      /8/s "q"
    3 nesting      /3/dur 7.501
    7 gpu0         /7/args/gpu0 "1"
    7 series       /7/args {}
    9 another      /- {"ph": "C", "name": "in flight", "pid": 1, "ts": 1, "args": {"gpu0": 1}}
    5 outside      /5/ts 10
    6 outside      /6/ts 15.001
    5 end          /6
    5 start        /5
    6 bp           /6/bp
    9 twice        /- {"ph":"s","name":"slice","cat":"slice","id":1,"pid":1,"tid":1,"ts":9.999}
    5 outside      /5/id "0xab" ; /6/id "0xab" ; /5/ts 10
    6 before       /4/ts 0 ; /4/dur 20 ; /6/ts 1)")) {
    CAPTURE(row);
    const std::size_t word = row.find(' '), blanks = row.find(' ', word + 1);
    std::string changes = row.substr(blanks);
    for (std::size_t at; (at = changes.find(';')) != std::string::npos;) changes[at] = '\n';
    const auto breaches = check_chrome_trace(edited(kGood, changes));
    REQUIRE(breaches.size() == 1);
    CHECK(breaches[0].starts_with("event " + row.substr(0, word) + ": "));
    CHECK(breaches[0].find(row.substr(word + 1, blanks - word - 1)) != std::string::npos);
  }
  CHECK(check_chrome_trace(edited(kGood, "/5/id \"xyz\"\n/6/id \"xyz\"")).size() == 2);
  // The same arrow, but written before the slice that begins at its time: importers find no open
  // slice.
  const auto swapped = check_chrome_trace(
      edited(kGood, "/4 " + json_at(kGood, "/6") + "\n/6 " + json_at(kGood, "/4")));
  REQUIRE(swapped.size() == 1);
  CHECK(swapped[0].starts_with("event 4: "));
}

TEST_CASE("a file full of breaches is answered with a hundred of them and a count") {
  std::string events = "[0";
  for (int k = 1; k < 250; ++k) events += "," + std::to_string(k);
  const auto breaches = check_chrome_trace(events + "]");
  REQUIRE(breaches.size() == 101);
  CHECK(breaches.back() == "and 150 more");
}
