// Scenario files that tests write, what is said of those that are refused, and a report whose cases
// carry estimates.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/report/scenario_json.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"

namespace mgpu::test {

using Json = nlohmann::ordered_json;

inline Scenario read_text(const std::string& text) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "s.json";
  write_file_atomically(file, text);
  return read_scenario(file);
}

// The message after the file's name; empty when it is accepted.
inline std::string refusal_of_scenario(const std::string& text) {
  try {
    read_text(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    const std::string what = error.what();
    CHECK(what.find('\n') == std::string::npos);
    CHECK(what.find("s.json: ") != std::string::npos);
    return what.substr(what.find("s.json: ") + 8);
  }
  return "";
}

inline Json small_scenario() {
  return {{"devices", {{{"items_per_s", 1e9}}}}, {"work", {{"items", 1000}}}};
}

inline bool has(const std::string& text, std::initializer_list<const char*> words) {
  INFO(text);
  bool all = true;
  for (const char* word : words) all = all && text.find(word) != std::string::npos;
  CHECK(all);
  return all;
}

inline Report estimated_report() {
  Report report = sample_report();
  for (const std::size_t i : {1u, 2u}) {
    DeviceEstimate estimate;
    estimate.items_per_s = 5e8 * static_cast<double>(i);
    estimate.fixed = Nanos{1000};
    estimate.launch = Nanos{2000};
    estimate.first_slice_discount = Nanos{500};
    estimate.per_peer_contention = Nanos{300};
    estimate.transfer = Nanos{3000};
    estimate.up = 5e10;
    estimate.down = 4e10;
    estimate.fits = 90'000;
    estimate.pipeline = 12'500;
    estimate.free_memory = Bytes{1} << 37;
    report.runs[i].plan.estimates = {
        {estimate, estimate}, LinkRate({5e10, 1e11}), 9e10, {Nanos{70}, Nanos{7}}};
    report.runs[i].plan.work = PlannedWork{100'000, 8, {32, 0.5, 0, 4096}};
  }
  return report;
}

}  // namespace mgpu::test
