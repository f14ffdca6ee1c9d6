#include "suites/kernel/command.hpp"

#include <fmt/format.h>

#include <fstream>

#include "lib/base/child_process.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/scratch_folder.hpp"

namespace mgpu::kernel {
namespace {

namespace fs = std::filesystem;

std::string write(const ScratchFolder& folder, const CommandFiles::One& one, const char* suffix) {
  const fs::path file = folder.file(one.name + suffix);
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(one.bytes.data()),
            static_cast<std::streamsize>(one.bytes.size()));
  if (!out.flush())
    throw Error(ErrorKind::output,
                "check.command: " + in_quotes(file.string()) + " cannot be written");
  return file.string();
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

std::string without_line_ends(std::string text) {
  text.erase(text.find_last_not_of("\r\n") + 1);
  return text;
}

std::string last_line(const std::string& text) {
  return text.substr(text.rfind('\n') + 1);  // the whole text if it has only one line
}

// Tells whether a Python exception ended the command. A failed assertion is an answer, no failure.
bool ends_by_an_exception(const std::string& text) {
  return text.find("Traceback (most recent call last):") != std::string::npos &&
         !last_line(text).starts_with("AssertionError");
}

// Returns why the command itself failed; empty if it has given an answer.
std::string failure_of(const ChildEnd& end, const std::string& said, Nanos limit) {
  if (end.how == ChildEnd::How::timed_out)
    return "took longer than " + format_duration(limit) + " (--timeout and --build-timeout)";
  if (end.how == ChildEnd::How::killed) return fmt::format("was ended by signal {}", end.code);
  if (end.code > 1) return fmt::format("failed (exit status {})", end.code);
  return end.code == 1 && ends_by_an_exception(said) ? "ended by an exception" : "";
}

}  // namespace

std::string run_check(const std::string& command, const fs::path& folder, const CommandFiles& files,
                      const HostWatch& watch) {
  const ScratchFolder scratch("mgpu-check");
  std::string line = command, inputs, outputs;
  // Results come first: {NAME} of an argument that is read and written is its result.
  for (const auto& [ones, all, suffix] :
       {std::tuple{&files.outputs, &outputs, ".out"}, std::tuple{&files.inputs, &inputs, ".in"}}) {
    for (const CommandFiles::One& one : *ones) {
      const std::string file = shell_word(write(scratch, one, suffix));
      *all += (all->empty() ? "" : " ") + file;
      replace(line, "{" + one.name + "}", file);
      replace(line, "{" + one.name + suffix + "}", file);
    }
  }
  replace(line, "{inputs}", inputs);
  replace(line, "{output}", outputs);
  for (const auto& [name, value] : files.values) replace(line, "{" + name + "}", value);
  ChildCommand child;
  child.words = {"/bin/sh", "-c", "exec 2>&1; " + line};
  if (!folder.empty()) child.folder = fs::absolute(folder);
  child.limit = watch.command_limit;
  child.stop = watch.stop;
  const ChildEnd end = run_child_process(child);
  if (end.how == ChildEnd::How::stopped)
    throw Error(ErrorKind::interrupted, "stopped during check.command");
  const std::string said = without_line_ends(end.output);
  if (const std::string why = failure_of(end, said, watch.command_limit); !why.empty()) {
    throw Error(ErrorKind::input,
                fmt::format("check.command {} {}; expected: exit status 0 where the result is "
                            "right, 1 where it is wrong; it wrote {}",
                            in_quotes(command), why, said.empty() ? "nothing" : ":\n" + said));
  }
  if (end.code == 0) return "";
  return "check.command says no" + (said.empty() ? "" : ": " + in_quotes(last_line(said)));
}

}  // namespace mgpu::kernel
