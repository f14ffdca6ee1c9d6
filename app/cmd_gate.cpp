// `mgpu-bench gate`: a performance gate for CI, of runs and compare: against saved baselines, which
// it makes if there are none, of two builds interleaved, or against a history.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/child_run.hpp"
#include "app/commands.hpp"
#include "app/dispatch.hpp"
#include "app/measure_again.hpp"
#include "app/problems.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "app/time_estimate.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

// Runs another command of this program, given its words.
ExitCode run_words(const Context& context, const Words& words) {
  Words argv{"mgpu-bench"};
  argv.insert(argv.end(), words.begin(), words.end());
  const Invocation invocation =
      parse_command_line(argv, context.suites, context.environment, std::string());
  return run_command(
      {invocation, context.environment, context.suites, context.tool, context.make_backend});
}

// Returns the options of compare that were given, and a summary for GitHub if a job has one.
Words options_of_compare(const Context& context) {
  const Settings& settings = context.invocation.settings;
  Words words;
  for (const OptionSpec& spec : compare_options()) {
    const Given* given = settings.find(spec.name);
    if (given == nullptr || spec.name == "interleave" || spec.name == "with") continue;
    words.push_back(fmt::format("--{}={}", spec.name, given->value));
  }
  const auto summary = context.environment.get("GITHUB_STEP_SUMMARY");
  if (summary && !settings.has("markdown")) words.push_back("--markdown=" + *summary);
  return words;
}

bool measures_gpus(const Context& context, const Words& with) {
  for (std::size_t k = 0; k + 1 < with.size(); ++k)
    if ((with[k] == "-d" || with[k] == "--devices") && with[k + 1].starts_with("cpu")) return false;
  const std::vector<Device> devices = context.make_backend()->enumerate().devices;
  return std::any_of(devices.begin(), devices.end(),
                     [](const Device& device) { return !device.is_cpu(); });
}

// Returns the arguments of run that --with gives; none: it is not given.
std::optional<Words> given_run(const Settings& settings) {
  const Given* with = settings.find("with");
  if (with == nullptr) return std::nullopt;
  Words words = split_words(with->from, with->value);
  if (words.empty())
    throw Error(ErrorKind::usage,
                with->from + ": it is empty; expected: arguments of run such as 'merkle -s equal'");
  return words;
}

// On shared CPUs rounds of one build differ by a third: 48 rounds, and their least times, reveal 20
// %; with a floor below 10 %, one of 20 unchanged cases nearly always looks slower without a
// verdict (results/gate.md).
ExitCode gate_interleaved(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const Words& sides = context.invocation.arguments;
  if (sides.size() != 2)
    throw Error(
        ErrorKind::usage,
        fmt::format("gate: --interleave takes two programs, OLD and NEW; {} given", sides.size()));
  const auto run = given_run(settings);
  if (!run)
    throw Error(ErrorKind::usage,
                "gate: --with says what is run, as in --with 'merkle matrix -s equal'");
  const bool gpus = measures_gpus(context, *run);
  const bool counted = std::find(run->begin(), run->end(), "-n") != run->end();
  Words words{"compare", "--interleave",
              std::to_string(count_setting(settings, "rounds", 5, gpus ? 12 : 48)), "--with",
              settings.find("with")->value + (counted ? "" : " -n 5")};
  if (!gpus && !settings.has("round-value")) words.push_back("--round-value=minimum");
  if (!gpus && !settings.has("floor")) words.push_back("--floor=10%");
  const Words more = options_of_compare(context);
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"--", sides[0], sides[1]});
  return run_words(context, words);
}

// Adds a run to a history, whose trend decides.
ExitCode gate_history(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const std::string& folder = settings.find("history")->value;
  const auto run = given_run(settings);
  if (!run || !context.invocation.arguments.empty())
    throw Error(ErrorKind::usage,
                "gate: --history takes no BASE, and --with says what is run, as in --with 'merkle "
                "matrix -s equal'");
  install_stop_signals();
  Words words = *run;
  words.insert(words.end(), {"--history", folder});
  const ExitCode measured = outcome(run_child(parse_child("gate", ""), words), true);
  Words trend{"trend", folder};
  if (const Given* floor = settings.find("floor")) trend.push_back("--floor=" + floor->value);
  return worst(std::vector{measured, run_words(context, trend)});
}

// Runs a child and writes its result, which may have failed cases, to the file.
Report measure(const Words& words, const fs::path& file) {
  Report report = run_child(parse_child("gate", ""), words);
  write_file_atomically(file, to_json_text(report));
  return report;
}

// Makes the baselines that do not exist. A case without figures would guard nothing, so a file gets
// its name only if everything was measured. Returns the files made.
Words make_baselines(const Context& context, const Words& files, ExitCode& code) {
  Words made;
  for (const std::string& file : files) {
    if (fs::exists(file)) continue;
    const auto with = given_run(context.invocation.settings);
    if (!with)
      throw Error(ErrorKind::usage,
                  fmt::format("gate: {} does not exist; --with says what to measure for it, as in "
                              "--with 'merkle matrix -s equal'",
                              file));
    if (fs::path(file).has_parent_path()) fs::create_directories(fs::path(file).parent_path());
    print_error("gate: measuring the baseline " + file);
    const fs::path failed = fs::path(file).replace_extension(".failed.json");
    code = outcome(measure(*with, failed), true);
    if (code != ExitCode::ok) {
      print_error(fmt::format("gate: error: not all cases of the baseline have figures: see {}",
                              failed.string()));
      return made;
    }
    fs::rename(failed, file);
    made.push_back(file);
  }
  return made;
}

// Says what is measured, how long that takes and which slow-down it shows.
void tell_plan(const std::vector<Report>& base) {
  constexpr double kAround = 1.3;  // what is not samples: builds, checks, devices alone
  double time = 0;
  for (const RunRecord& run : base.front().runs) {
    for (const Nanos sample : run.samples) time += seconds(sample) * kAround;
    time += 0.3;
  }
  const Comparison self = compare_reports(base, std::span(&base.front(), 1), {});
  std::vector<double> visible;
  for (const ComparisonRow& row : self.rows)
    if (row.judged && row.ratio)
      visible.push_back(((1 + row.floor) * row.ratio->ratio / row.ratio->low - 1) * 100);
  if (visible.empty()) return;
  std::sort(visible.begin(), visible.end());
  print_error(fmt::format(
      "gate: measuring {} case{} again, {}; slow-downs from {:.0f} % on show in half of them, from "
      "{:.0f} % on in all",
      visible.size(), visible.size() == 1 ? "" : "s", about(from_seconds(time)),
      visible[visible.size() / 2], visible.back()));
}

ExitCode gate_baselines(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const Words& files = context.invocation.arguments;
  if (files.empty())
    throw Error(ErrorKind::usage,
                "gate: it needs baselines, files that are made if they do not exist; see "
                "mgpu-bench gate --help");
  install_stop_signals();
  ExitCode code = ExitCode::ok;
  const Words made = make_baselines(context, files, code);
  if (code != ExitCode::ok) return code;
  if (!made.empty()) {
    print_error(
        fmt::format("gate: nothing was compared: {} did not exist and {} made; look at {} "
                    "and commit {}",
                    in_words(made), made.size() == 1 ? "was" : "were",
                    made.size() == 1 ? "it" : "them", made.size() == 1 ? "it" : "them"));
    return ExitCode::usage;
  }
  std::vector<Report> base;
  for (const std::string& file : files) base.push_back(read_report(file));
  if (!settings.is_on("quiet")) tell_plan(base);
  const Given* with = settings.find("with");
  Words words =
      with != nullptr ? split_words(with->from, with->value) : words_of_run(context, base.front());
  // The sizes that this machine would choose now might leave nothing to compare.
  const bool sized = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("--size") || word.starts_with("--input");
  });
  if (!sized) words.insert(words.end(), {"--sizes-of", files.front()});
  words.insert(words.end(), {"--samples-of", files.front()});
  const Given* kept = settings.find("new");
  const std::string file = kept != nullptr
                               ? kept->value
                               : fs::path(files.front()).replace_extension(".new.json").string();
  const ExitCode measured = outcome(measure(words, file), true);
  print_error("gate: measurements are kept in " + file);
  Words compare{"compare"};
  const Words more = options_of_compare(context);
  compare.insert(compare.end(), more.begin(), more.end());
  if (!settings.has("confirm")) compare.push_back("--confirm=2");
  compare.insert(compare.end(), files.begin(), files.end());
  compare.insert(compare.end(), {"--", file});
  try {
    return worst(std::vector{measured, run_words(context, compare)});
  } catch (const Error& error) {
    if (measured == ExitCode::ok) throw;
    print_error(std::string("error: ") + error.what());
    return worst(std::vector{measured, exit_code(error.kind())});
  }
}

}  // namespace

ExitCode cmd_gate(const Context& context) {
  const Settings& settings = context.invocation.settings;
  return settings.is_on("interleave") ? gate_interleaved(context)
         : settings.has("history")    ? gate_history(context)
                                      : gate_baselines(context);
}

}  // namespace mgpu
