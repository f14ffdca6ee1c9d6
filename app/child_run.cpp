// POSIX: posix_spawn, waitpid. What the child prints goes to a file and is shown only when it
// fails.
#include "app/child_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/record_json.hpp"

extern char** environ;

namespace mgpu {
namespace {

namespace fs = std::filesystem;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& variable : variables) replaced |= name_of(variable) == name_of(*entry);
    if (!replaced) all.emplace_back(*entry);
  }
  return all;
}

// Its exit code, or 128 + the signal that ended it.
int spawn_and_wait(std::vector<std::string> words, const std::vector<std::string>& variables,
                   const fs::path& output) {
  std::vector<std::string> environment = environment_with(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawn(&child, words.front().c_str(), &actions, nullptr,
                                pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: cannot be run: {}", words.front(), std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string last_line(const fs::path& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

bool is_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find_first_of("-/.") > equals;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "mgpu-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorKind::output, "cannot make a folder in " + fs::temp_directory_path().string() +
                                       ": " + std::strerror(errno));
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
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
              "{}: {} cannot be run; accepted with --interleave: [NAME=VALUE ...] [PROGRAM] "
              "[OPTION of run ...]",
              from, in_quotes(child.program)));
    }
  }
  child.options.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return child;
}

Report run_child(const ChildProgram& child, const std::vector<std::string>& words) {
  const ScratchFolder scratch;
  const fs::path result = scratch.file("result.json"), log = scratch.file("log");
  std::vector<std::string> all{fs::canonical(child.program).string(), "run"};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), child.options.begin(), child.options.end());
  for (const std::string& word : {std::string("--quiet"), std::string("-o"), result.string()})
    all.push_back(word);
  const int code = spawn_and_wait(all, child.variables, log);
  constexpr int
      kCaseFailed = 5,
      kUnverified =
          6;  // exit codes with which there is a result all the same, which says what was wrong
  if (code == 0 || code == kCaseFailed || code == kUnverified) return read_report(result);
  throw Error(ErrorKind::device,
              fmt::format("{} run ended with {}: {}", child.program, code, last_line(log)));
}

}  // namespace mgpu
