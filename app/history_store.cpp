#include "app/history_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quote.hpp"
#include "lib/history/history.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

bool is_commit(const std::string& text) {
  return text.size() >= 40 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Returns the commit of a reference from the file of packed ones.
std::optional<std::string> packed_commit(const fs::path& file, const std::string& reference) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.ends_with(' ' + reference)) return line.substr(0, line.find(' '));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> git_head(const fs::path& folder) {
  std::error_code error;
  for (fs::path at = fs::absolute(folder, error); !error; at = at.parent_path()) {
    fs::path git = at / ".git";
    if (fs::is_regular_file(git, error)) {  // of another work tree of the same repository
      const std::string line = first_line(git);
      if (!line.starts_with("gitdir: ")) return std::nullopt;
      git = at / line.substr(8);
    }
    if (fs::exists(git / "HEAD", error)) {
      const std::string head = first_line(git / "HEAD");
      if (is_commit(head)) return head;
      if (!head.starts_with("ref: ")) return std::nullopt;
      const std::string reference = head.substr(5);
      const std::string common = first_line(git / "commondir");
      for (const fs::path& place : {git, common.empty() ? git : git / common}) {
        if (std::string commit = first_line(place / reference); is_commit(commit)) return commit;
        if (auto commit = packed_commit(place / "packed-refs", reference)) return commit;
      }
      return std::nullopt;
    }
    if (at == at.parent_path()) break;
  }
  return std::nullopt;
}

std::map<std::string, std::string> read_labels(const Settings& settings) {
  std::map<std::string, std::string> labels;
  if (const Given* given = settings.find("label")) {
    std::string* last = nullptr;
    for (const std::string& part : split_commas(given->value)) {
      const std::size_t equals = part.find('=');
      const std::string key = part.substr(0, equals);
      const bool is_key =
          equals != std::string::npos && !key.empty() &&
          key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
      if (is_key) {
        last = &(labels[key] = part.substr(equals + 1));
      } else if (last != nullptr) {
        *last += ',' + part;  // the value has a comma
      } else {
        throw Error(ErrorKind::usage,
                    fmt::format("{}: {} is no label; expected: KEY=TEXT with a key of a-z, 0-9, _ "
                                "and -, such as commit=1b4f0e9",
                                given->from, in_quotes(part)));
      }
    }
    for (const auto& [key, value] : labels)
      if (value.empty())
        throw Error(ErrorKind::usage, fmt::format("{}: {} has no text; expected: {}=TEXT",
                                                  given->from, in_quotes(key), key));
  }
  std::error_code error;
  if (!labels.contains("commit"))
    if (const auto commit = git_head(fs::current_path(error)); commit && !error)
      labels["commit"] = *commit;
  return labels;
}

void check_history(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw Error(ErrorKind::output,
                fmt::format("history {}: {}; expected: a folder that can be written",
                            in_quotes(folder.string()), error.message()));
}

KnownCases known_cases(const fs::path& folder) {
  check_history(folder);
  const ResultHistory history = read_history(folder);
  KnownCases known;
  for (const HistorySeries& series : history.series)
    for (const HistoryRun& run : series.runs) known.emplace(run.result, run.case_name);
  return known;
}

void add_to_history(const fs::path& folder, const Report& report, const std::string& name,
                    bool quiet, KnownCases& known) {
  const ResultLines found = history_lines(report);
  std::map<std::string, std::vector<std::string>> files;
  std::size_t added = 0;
  for (const HistoryLine& line : found.lines) {
    if (!known.emplace(line.result, line.case_name).second) continue;
    files[line.file].push_back(line.text);
    ++added;
  }
  for (const auto& [file, lines] : files) append_lines(folder / file, lines);
  if (quiet) return;
  std::string text = fmt::format("{}: {} added to the history", name,
                                 added == 1 ? "1 case" : fmt::format("{} cases", added));
  if (const std::size_t there = found.lines.size() - added; there > 0)
    text += fmt::format(", {} there already", there);
  if (found.left_out > 0)
    text += fmt::format(", {} left out as failed, skipped or not verified", found.left_out);
  print_error(text);
}

}  // namespace mgpu
