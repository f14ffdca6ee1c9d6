// Lines of a history for tests.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "lib/history/history.hpp"

namespace mgpu::test {

struct LineOf {
  std::size_t run = 0;  // number of the run, from which id, time and commit follow
  double time = 1e6;
  std::string series = "sum equal";
  std::string flags = {};        // "\"rerun\""
  std::string environment = {};  // members
  std::string metrics = {};
  std::string machine = "node1";
};

inline std::string result_of(std::size_t run) { return fmt::format("{:04}{:012x}", run, run * 77); }

inline std::string history_line(const LineOf& of) {
  return fmt::format(
      R"({{"schema":"mgpu-bench/history/1","kind":"run","result":"{}","at":"2026-{:02}-{:02}T00:00:00Z",)"
      R"("series":"{}","case":"{}/1","machine":"{}","commit":"c{:03}","time_ns":{},"n":9,)"
      R"("low_ns":{},"high_ns":{},"mad_ns":1,"flags":[{}],"version":"0.2.0","digest":"00",)"
      R"("metrics":{{{}}},"environment":{{{}}}}})"
      "\n",
      result_of(of.run), 1 + of.run / 28, 1 + of.run % 28, of.series, of.series, of.machine, of.run,
      of.time, of.time, of.time, of.flags, of.metrics, of.environment);
}

// Reads a history from a text, which must outlive it.
inline ResultHistory history_of(std::string_view text) {
  ResultHistory history;
  read_history_text(text, "h.jsonl", history);
  finish_history(history);
  return history;
}

}  // namespace mgpu::test
