// Shows the child's output only if the child fails.
#include "app/child_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "app/signals.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/scratch_folder.hpp"
#include "lib/report/record_json.hpp"

extern char** environ;

namespace mgpu {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

std::string last_line(const std::string& text) {
  std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

bool is_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find_first_of("-/.") > equals;
}

}  // namespace

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& variable : variables) replaced |= name_of(variable) == name_of(*entry);
    if (!replaced) all.emplace_back(*entry);
  }
  return all;
}

std::vector<std::string> split_words(const std::string& from, const std::string& text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        words.back() += c;
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\n') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'' || c == '"')
      quote = c;
    else
      words.back() += c;
  }
  if (quote != 0)
    throw Error(ErrorKind::usage,
                fmt::format("{}: {}: a quote is not closed", from, in_quotes(text)));
  return words;
}

ChildProgram parse_child(const std::string& from, const std::string& text) {
  ChildProgram child;
  child.text = text;
  child.program = "/proc/self/exe";
  std::vector<std::string> words = split_words(from, text);
  std::size_t next = 0;
  while (next < words.size() && is_variable(words[next])) child.variables.push_back(words[next++]);
  if (next < words.size() && !words[next].starts_with('-')) {
    child.program = words[next++];
    if (child.program.find('/') == std::string::npos) child.program = "./" + child.program;
    if (::access(child.program.c_str(), X_OK) != 0 || fs::is_directory(child.program)) {
      throw Error(
          ErrorKind::usage,
          fmt::format(
              "{}: {} cannot be run; expected with --interleave: [NAME=VALUE ...] [PROGRAM] "
              "[OPTION of run ...]",
              from, in_quotes(child.program)));
    }
  }
  child.options.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return child;
}

Report run_child(const ChildProgram& child, const std::vector<std::string>& words) {
  const ScratchFolder scratch("mgpu-bench");
  const fs::path result = scratch.file("result.json");
  ChildCommand command;
  command.words = {fs::canonical(child.program).string(), "run"};
  command.words.insert(command.words.end(), words.begin(), words.end());
  command.words.insert(command.words.end(), child.options.begin(), child.options.end());
  for (const std::string& word : {std::string("--quiet"), std::string("-o"), result.string()})
    command.words.push_back(word);
  if (!child.variables.empty()) command.environment = environment_with(child.variables);
  command.stop = [] { return stop_signal() != 0; };
  const ChildEnd end = run_child_process(command);
  if (end.how == ChildEnd::How::stopped) throw Error(ErrorKind::interrupted, "interrupted");
  const bool exited = end.how == ChildEnd::How::exited;
  // The exit codes with which there is a result all the same, which says what was wrong.
  constexpr int kCaseFailed = 5, kUnverified = 6;
  if (exited && (end.code == 0 || end.code == kCaseFailed || end.code == kUnverified))
    return read_report(result);
  throw Error(ErrorKind::device,
              fmt::format("{} run ended with {}{}: {}", child.program, exited ? "" : "signal ",
                          end.code, last_line(end.errors)));
}

}  // namespace mgpu
