// The history of results: JSON Lines in a folder, one line per case and run, or per mark that
// somebody set. Lines are only ever appended, whole. Their order and the files that they are in do
// not matter, so that `cat` merges histories; a line that is there twice counts once. A torn or
// foreign line is skipped with a warning.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text_file.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Returns what makes results comparable over time: "merkle equal, resident, leaves=2^20, 2 x NVIDIA
// H200, driver 580". Has the parameters that differ from the defaults of the report.
std::string history_series(const Report& report, const RunRecord& run);

// Returns the name of a series in tables and arguments: 8 hexadecimal digits.
std::string series_id(std::string_view series);

struct HistoryLine {
  std::string file;               // its name in the folder: machine and month
  std::string result, case_name;  // identify it
  std::string text;               // with its line end
};

struct ResultLines {
  std::vector<HistoryLine> lines;
  std::size_t left_out = 0;  // cases that failed, were skipped or not verified
};

// Returns the lines of a result of `run`. Throws Error(input) for a result without a date and for
// one of `links`.
ResultLines history_lines(const Report& report);

// A line by `history exclude` or `history ack`.
struct HistoryMark {
  std::string_view result;  // the run, or the first one of the new level
  std::string_view series;  // empty: all series
  std::string_view reason, who, at;
};

// One case of one run. Views point into the ResultHistory that it is from.
struct HistoryRun {
  std::string_view result, at, case_name, machine, commit, version;
  double time = 0, low = 0, high = 0, mad = 0;  // ns: median, its 95 % interval, MAD
  std::uint64_t n = 0;                          // samples
  bool disturbed = false, rerun = false;
  std::string_view metrics, environment;  // JSON objects
  const HistoryMark* excluded = nullptr;
};

struct HistorySeries {
  std::string_view key;
  std::vector<HistoryRun> runs;  // by time
  std::string id() const { return series_id(key); }
};

struct ResultHistory {
  // Holds the texts that views point into: files, and texts that differ from those in the files.
  std::deque<MappedFile> mapped;
  std::deque<std::string> texts;
  std::vector<HistorySeries> series;  // by key
  std::vector<HistoryMark> exclusions, acknowledgements;
  std::vector<std::string> warnings;
  std::size_t files = 0, lines = 0, bytes = 0, repeated = 0;

  const HistoryMark* acknowledgement(std::string_view series, std::string_view result) const;
};

// Reads all *.jsonl and *.jsonl.gz files of the folder. Throws Error(input) if the folder or a file
// cannot be read.
ResultHistory read_history(const std::filesystem::path& folder);
// Reads one file, whose text must outlive the history; `name` is for warnings.
void read_history_text(std::string_view text, const std::string& name, ResultHistory& history);
// Sorts, counts repeated lines once, and applies exclusions; read_history() calls it.
void finish_history(ResultHistory& history);

// Returns the series that is named by its id (or the first digits of it), by its key, or by a text
// that is in one key only. Throws Error(usage), naming `from`.
const HistorySeries& find_series(const ResultHistory& history, std::string_view from,
                                 const std::string& text);
// Returns the ids of the results that are named by the first digits of an id (one result), or by
// those of a commit (all of its results). Throws Error(usage), naming `from`.
std::vector<std::string> find_results(const ResultHistory& history, std::string_view from,
                                      const std::string& text);

// Returns the line of a mark, with its line end. `kind`: "exclude" or "ack".
std::string mark_line(std::string_view kind, const HistoryMark& mark);

// Returns the members of a JSON object, as texts.
std::map<std::string, std::string> members_of(std::string_view object);

}  // namespace mgpu
