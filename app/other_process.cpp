#include "app/other_process.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "app/child_run.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/scratch_folder.hpp"
#include "lib/base/text_file.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Returns the command line of a process that tries the problem and measures nothing.
Words words_of(const SuiteInfo& suite, const SuiteParams& params) {
  Words words{fs::canonical("/proc/self/exe").string(),
              "run",
              suite.name,
              "--build-only",
              "--quiet",
              "--no-telemetry",
              "--seed",
              std::to_string(params.seed)};
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back("--" + name);
    words.push_back(value);
  };
  for (const SuiteOption& option : suite.options) {
    const auto given = params.options.find(option.name);
    if (given == params.options.end()) continue;
    if (option.kind == SuiteOption::Kind::flag) {
      if (given->second == "yes") words.push_back("--" + option.name);
    } else if (given->second != option.values.front()) {
      add(option.name, given->second);
    }
  }
  if (params.input)
    add("input", params.input->string());
  else
    add("size", std::to_string(params.size));
  return words;
}

// Returns the last line that a process wrote after this; empty: there is none.
std::string last_after(const std::string& text, const std::string& start) {
  const std::size_t at = text.rfind(start);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + start.size();
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

bool is_crash(const ChildEnd& end) {
  constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  return end.how == ChildEnd::How::killed &&
         std::find(kSignals.begin(), kSignals.end(), end.code) != kSignals.end();
}

// Runs a process to its end, to the limit, or until `enough`. Throws Error(interrupted).
ChildEnd run_words(const Words& words, const std::vector<std::string>& variables, Nanos limit = {},
                   const std::function<bool()>& enough = {}) {
  ChildCommand command;
  command.words = words;
  command.environment = environment_with(variables);
  command.limit = limit;
  command.stop = [&] { return stop_signal() != 0 || (enough && enough()); };
  ChildEnd end = run_child_process(command);
  if (stop_signal() != 0) throw Error(ErrorKind::interrupted, "interrupted");
  return end;
}

// Returns Oclgrind's driver next to the program in the PATH; empty: there is none.
fs::path oclgrind_driver(const std::string& path) {
  std::error_code ignored;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path program = fs::path(path.substr(begin, end - begin)) / "oclgrind";
    const fs::path prefix = fs::canonical(program, ignored).parent_path().parent_path();
    for (const char* folder : {"lib/oclgrind", "lib64/oclgrind", "lib", "lib64"}) {
      const fs::path driver = prefix / folder / "liboclgrind-rt-icd.so";
      if (!prefix.empty() && fs::exists(driver, ignored)) return driver;
    }
    begin = end + 1;
  }
  return {};
}

// Returns what is between two texts, the first of which comes at or after `at`; empty: nothing.
std::string between(const std::string& text, std::size_t at, const char* before,
                    const char* after) {
  const std::size_t begin = text.find(before, at);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + std::string_view(before).size();
  return text.substr(from, std::min(text.find(after, from), text.size()) - from);
}

// Returns the first access that Oclgrind's log complains about, as one sentence; empty: none, or it
// is not written to the end yet. Such a part of the log is
//   Invalid write of size 4 at global memory address 0x4000000029200
//     Kernel: ok
//     Entity: Global(1,0,0) Local(0,0,0) Group(1,0,0)
//     ..
//     At line 1 (column 92) of far.cl:
std::string first_finding(const std::string& log, bool ended) {
  const std::size_t at = log.find("Invalid ");
  if (at == std::string::npos) return "";
  const std::string head = between(log, at, "Invalid ", "\n"),
                    kind = head.substr(0, head.find(' ')), line = between(log, at, "At line ", " "),
                    file = between(log, log.find("At line ", at), " of ", ":\n");
  if (line.empty() || file.empty()) return ended ? "Oclgrind: invalid " + head : "";
  return fmt::format(
      "{}:{}: kernel {} {} {} bytes of {} memory outside of its arguments, as work-item ({})", file,
      line, in_quotes(between(log, at, "Kernel: ", "\n")),
      kind == "read"    ? "reads"
      : kind == "write" ? "writes"
                        : kind,
      between(head, 0, "of size ", " "), between(head, 0, " at ", " "),
      between(log, at, "Global(", ")"));
}

// Returns what a file has so far; empty: it does not exist.
std::string read(const std::string& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) ? read_text_file(file) : "";
}

}  // namespace

void try_kernels_elsewhere(const Invocation& invocation, std::span<const SuiteInfo> suites) {
  using Descriptors = SuiteInfo::Descriptors;
  const Settings& settings = invocation.settings;
  if (invocation.command != "run" && invocation.command != "calibrate") return;
  if (settings.is_on("build-only")) return;  // this is the other process
  for (const SuiteInfo& suite : suites) {
    if (!suite.descriptors || suite.descriptors->set_other_process == nullptr) continue;
    Words limits;
    for (const char* const name : {"timeout", "build-timeout"})
      if (const Given* given = settings.find(name)) {
        limits.push_back("--" + std::string(name));
        limits.push_back(given->value);
      }
    suite.descriptors->set_other_process(
        [&suite, limits,
         known = std::map<Words, Descriptors::OtherEnd>()](const SuiteParams& params) mutable {
          Words words = words_of(suite, params);
          words.insert(words.end(), limits.begin(), limits.end());
          words.insert(words.end(), {"-d", "cpu:1", "--sub-devices", "1"});
          const auto [one, is_new] = known.try_emplace(words);
          if (!is_new) return one->second;
          const ChildEnd end = run_words(words, {"MGPU_MPI=none"});
          return one->second = {is_crash(end), last_after(end.errors, "mgpu-bench: error: ")};
        });
  }
}

ExitCode check_memory(const Context& context, const RunRequest& request) {
  constexpr std::uint64_t kSmall = 4096;  // items that Oclgrind interprets in about a second
  const Given* given = context.invocation.settings.find("timeout");
  const Nanos limit = given == nullptr ? Nanos(std::chrono::minutes(5)) : read_time(*given);
  for (const Problem& asked : request.session.problems)
    if (!asked.suite->descriptors)
      throw Error(ErrorKind::usage, fmt::format("--check-memory: suite {} has no kernels of yours; "
                                                "expected: --kernel FILE",
                                                asked.suite->name));
  const fs::path driver = oclgrind_driver(context.environment.get("PATH").value_or(""));
  if (driver.empty())
    throw Error(ErrorKind::unsupported,
                "--check-memory: there is no oclgrind in the PATH; expected: Oclgrind, such as the "
                "package oclgrind of Debian");
  for (const Problem& asked : request.session.problems) {
    const auto own = own_problem(asked);
    SuiteParams params = asked.params;
    if (request.sizes != Sizes::given)
      params.size = own->quick_size < own->size ? own->quick_size : std::min(own->size, kSmall);
    params.options["guards"] = "exact";
    const ScratchFolder scratch("mgpu-oclgrind");
    const std::string log = scratch.file("log").string();
    Words words = words_of(*asked.suite, params);
    for (const char* const word : {"-d", "all", "--timeout", "1h", "--no-cache"})
      words.emplace_back(word);
    const ChildEnd end = run_words(
        words,
        {"MGPU_MPI=none", "OCL_ICD_VENDORS=" + driver.string(),
         "OCL_ICD_FILENAMES=" + driver.string(), "OCLGRIND_LOG=" + log, "OCLGRIND_MAX_ERRORS=1",
         // In optimised code it knows fewer instructions, and fewer lines.
         "OCLGRIND_BUILD_OPTIONS=-cl-opt-disable", "OCLGRIND_LOCAL_MEM_SIZE=1048576"},
        limit, [&] { return !first_finding(read(log), false).empty(); });
    const std::string finding = first_finding(read(log), true);
    if (!finding.empty()) throw Error(ErrorKind::input, finding);
    const std::string error = last_after(end.errors, "mgpu-bench: error: ");
    if (!error.empty()) throw Error(ErrorKind::input, error);
    if (end.how == ChildEnd::How::timed_out)
      throw Error(ErrorKind::unsupported,
                  fmt::format("--check-memory: {} = {} takes Oclgrind longer than {} (--timeout); "
                              "expected: a smaller --size",
                              asked.suite->size_name, params.size, format_duration(limit)));
    const std::string warning = last_after(end.errors, "mgpu-bench: warning: device 0:0: ");
    if (!warning.empty() || end.how != ChildEnd::How::exited || end.code != 0)
      throw Error(ErrorKind::unsupported,
                  fmt::format("--check-memory: Oclgrind cannot run the kernel: {}",
                              warning.empty() ? "it ended" : warning));
    if (!request.quiet)
      print_error(fmt::format("{} {}: Oclgrind saw no access outside of the arguments",
                              asked.suite->size_name + " =", params.size));
  }
  return ExitCode::ok;
}

}  // namespace mgpu
