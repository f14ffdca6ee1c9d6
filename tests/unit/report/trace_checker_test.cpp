// The checker of traces sees each kind of breach.
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "lib/report/trace_writer.hpp"

using namespace mgpu;
using Json = nlohmann::ordered_json;

namespace {

// Two nested slices with an arrow to a third: obeys every rule.
Json good_events() {
  return Json::parse(R"([
    {"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"run"}},
    {"ph":"M","name":"process_sort_index","pid":1,"tid":1,"args":{"sort_index":0}},
    {"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":10,"args":{}},
    {"ph":"X","name":"inner","pid":1,"tid":1,"ts":2.5,"dur":7.5},
    {"ph":"X","name":"other","pid":2,"tid":2,"ts":10.001,"dur":5},
    {"ph":"s","name":"slice","cat":"slice","id":1,"pid":1,"tid":1,"ts":9.999},
    {"ph":"f","bp":"e","name":"slice","cat":"slice","id":1,"pid":2,"tid":2,"ts":10.001},
    {"ph":"C","name":"in flight","pid":2,"ts":1,"args":{"gpu0":1}}
  ])");
}

std::string breach_of(const std::function<void(Json&)>& change) {
  Json trace = {{"traceEvents", good_events()}};
  change(trace["traceEvents"]);
  const auto breaches = check_chrome_trace(trace.dump());
  CHECK(breaches.size() == 1);
  return breaches.empty() ? "" : breaches.front();
}

}  // namespace

TEST_CASE("the checker accepts a trace that obeys, as an object and as a list") {
  CHECK(check_chrome_trace(Json{{"traceEvents", good_events()}}.dump()).empty());
  CHECK(check_chrome_trace(good_events().dump()).empty());
}

TEST_CASE("the checker refuses what is not a trace") {
  REQUIRE(check_chrome_trace("{\"traceEvents\":[").size() == 1);
  CHECK(check_chrome_trace("{\"traceEvents\":[").front().starts_with("not JSON, or cut off"));
  CHECK(check_chrome_trace(std::string(100'000, '[') + std::string(100'000, ']'))
            .front()
            .find("nested deeper than 100") != std::string::npos);
  CHECK(check_chrome_trace("{}").size() == 1);
  CHECK(check_chrome_trace("3").size() == 1);
  CHECK(breach_of([](Json& e) { e.push_back(7); }) == "event 8: is not an object");
}

TEST_CASE("the checker sees wrong types of the common fields") {
  CHECK(breach_of([](Json& e) { e[3]["ph"] = "XX"; }) == "event 3: ph is not one character");
  CHECK(breach_of([](Json& e) { e[3]["ph"] = "?"; }) ==
        "event 3: ph \"?\" is none of M X C s f i b e");
  CHECK(breach_of([](Json& e) { e[3]["name"] = ""; }) ==
        "event 3: name is missing, empty or not a string");
  CHECK(breach_of([](Json& e) { e[3].erase("name"); }) ==
        "event 3: name is missing, empty or not a string");
  CHECK(breach_of([](Json& e) { e[3]["args"] = 1; }) == "event 3: args is not an object");
  for (const Json& bad : {Json("1"), Json(0), Json(-1), Json(1.5), Json(4294967296)}) {
    CAPTURE(bad.dump());
    CHECK(breach_of([&](Json& e) { e[3]["pid"] = bad; }) ==
          "event 3: pid is not an integer from 1 to 2^32-1");
    CHECK(breach_of([&](Json& e) { e[3]["tid"] = bad; }) ==
          "event 3: tid is not an integer from 1 to 2^32-1");
  }
  CHECK(breach_of([](Json& e) { e[3].erase("tid"); }) ==
        "event 3: tid is not an integer from 1 to 2^32-1");
  CHECK(breach_of([](Json& e) { e[3]["pid"] = 2; }) ==
        "event 3: tid 1 belongs to another pid already");
}

TEST_CASE("the checker sees times that are negative, missing, strings or not zero-based") {
  CHECK(breach_of([](Json& e) { e[3]["dur"] = -0.001; }) == "event 3: dur is negative");
  CHECK(breach_of([](Json& e) { e[3].erase("dur"); }) == "event 3: dur is not a number");
  CHECK(breach_of([](Json& e) { e[3]["ts"] = "1"; }) == "event 3: ts is not a number");
  CHECK(breach_of([](Json& e) { e[7]["ts"] = -1; }) == "event 7: ts is negative");
  CHECK(breach_of([](Json& e) { e[7]["ts"] = 1.79e15; }) ==
        "event 7: ts is too large to hold nanoseconds: not zero-based");
}

TEST_CASE("the checker sees metadata that importers refuse") {
  CHECK(breach_of([](Json& e) { e[0]["args"]["name"] = ""; }) ==
        "event 0: process_name is empty or not a string");
  CHECK(breach_of([](Json& e) { e[1]["args"]["sort_index"] = "0"; }) ==
        "event 1: sort_index is not a number");
}

TEST_CASE("the checker sees instants of an unknown scope") {
  Json instant = {{"ph", "i"}, {"name", "fault"}, {"pid", 1}, {"tid", 1}, {"ts", 3}, {"s", "t"}};
  Json e = good_events();
  e.push_back(instant);
  CHECK(check_chrome_trace(e.dump()).empty());
  instant["s"] = "q";
  CHECK(breach_of([&](Json& events) { events.push_back(instant); }) ==
        "event 8: an instant's s is none of t p g");
}

TEST_CASE("the checker sees slices of a thread that overlap without nesting") {
  CHECK(breach_of([](Json& e) { e[3]["dur"] = 7.501; }) ==
        "event 3: overlaps event 2 on tid 1 without nesting");
}

TEST_CASE(
    "the checker sees counters that are no numbers, have no series or share one between "
    "processes") {
  CHECK(breach_of([](Json& e) { e[7]["args"]["gpu0"] = "1"; }) ==
        "event 7: counter \"gpu0\" is not a number");
  CHECK(breach_of([](Json& e) { e[7]["args"] = Json::object(); }) ==
        "event 7: a counter without a series");
  CHECK(breach_of([](Json& e) {
          e.push_back(e[7]);
          e[8]["pid"] = 1;
        }) == "event 8: series \"gpu0\" belongs to another pid already");
}

TEST_CASE("the checker sees arrows that do not bind") {
  CHECK(breach_of([](Json& e) { e[5]["ts"] = 10; }) == "event 5: a flow start outside any slice");
  CHECK(breach_of([](Json& e) { e[6]["ts"] = 15.001; }) == "event 6: a flow end outside any slice");
  CHECK(breach_of([](Json& e) { e.erase(6); }) == "event 5: a flow start without an end");
  CHECK(breach_of([](Json& e) { e.erase(5); }) == "event 5: a flow end without a start");
  CHECK(breach_of([](Json& e) { e[6].erase("bp"); }).find("without bp \"e\"") != std::string::npos);
  CHECK(breach_of([](Json& e) { e.push_back(e[5]); }) == "event 8: flow id 1 is used twice");
  CHECK(breach_of([](Json& e) {
          e[5]["id"] = e[6]["id"] = "0xab";
          e[5]["ts"] = 10;
        }) == "event 5: a flow start outside any slice");
  CHECK(breach_of([](Json& e) {
          e[4]["ts"] = 0;
          e[4]["dur"] = 20;
          e[6]["ts"] = 1;
        }) == "event 6: a flow end before its start");
  // The same arrow, but written before the slice that begins at its time: importers find nothing
  // open.
  CHECK(breach_of([](Json& e) { std::swap(e[4], e[6]); }) ==
        "event 4: a flow end outside any slice");
}

TEST_CASE("the checker sees flow ids that are neither integers nor hexadecimal") {
  const auto breaches = check_chrome_trace([] {
    Json e = good_events();
    e[5]["id"] = e[6]["id"] = "xyz";
    return e.dump();
  }());
  CHECK(breaches.size() == 2);
}

TEST_CASE("a file full of breaches is answered with a hundred of them and a count") {
  Json e = Json::array();
  for (int k = 0; k < 250; ++k) e.push_back(k);
  const auto breaches = check_chrome_trace(e.dump());
  REQUIRE(breaches.size() == 101);
  CHECK(breaches.back() == "and 150 more");
}
