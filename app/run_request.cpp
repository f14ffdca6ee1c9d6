// Options of `run` -> SessionOptions. Every refusal is one line that names the option, its value
// and what is expected.
#include "app/run_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/device_set.hpp"
#include "app/history_store.hpp"
#include "app/problems.hpp"
#include "app/terminal.hpp"
#include "lib/base/add_once.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/plan/choose.hpp"
#include "lib/report/exports.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

// Returns the arguments, or if there are none, the names of --suites, its variable or its key.
std::vector<std::string> suite_names(const Invocation& invocation) {
  const Given* given = invocation.settings.find("suites");
  if (given == nullptr) return invocation.arguments;
  if (invocation.arguments.empty()) return {given->value};
  if (given->layer == Given::Layer::flag) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: suites are arguments too ({}); name them in one place",
                            given->from, joined(invocation.arguments)));
  }
  return invocation.arguments;
}

// Returns the suites to run. If none is named, the flag that belongs to a suite of descriptors
// implies that suite, or, if its value is a word that other suites know, all suites but that one.
std::vector<std::string> suites_asked_for(const Settings& settings, std::vector<std::string> names,
                                          std::span<const SuiteInfo> suites) {
  if (!names.empty()) return names;
  for (const SuiteInfo& suite : suites) {
    const Given* given = suite.descriptors ? settings.find(suite.descriptors->option) : nullptr;
    if (given == nullptr || given->layer != Given::Layer::flag) continue;
    const auto knows = [&](const SuiteInfo& other) {
      return &other != &suite &&
             std::any_of(
                 other.options.begin(), other.options.end(), [&](const SuiteOption& option) {
                   return option.name == suite.descriptors->option &&
                          std::find(option.values.begin(), option.values.end(), given->value) !=
                              option.values.end();
                 });
    };
    if (std::none_of(suites.begin(), suites.end(), knows)) return {suite.name};
    for (const SuiteInfo& other : suites) {
      if (&other != &suite) names.push_back(other.name);
    }
    return names;
  }
  return names;
}

// Tells whether the settings, which name no suite, leave open what is measured of each.
bool asks_for_overview(const Settings& settings) {
  static constexpr const char* kNamesMeasurements[] = {"strategy", "mode",          "size",
                                                       "sizes-of", "device-counts", "quick",
                                                       "resume",   "save-data",     "build-only"};
  return !settings.is_on("full") &&
         std::none_of(std::begin(kNamesMeasurements), std::end(kNamesMeasurements),
                      [&](const char* name) { return settings.has(name); });
}

std::optional<Bytes> memory_pool(const Settings& settings) {
  const Given* given = settings.find("memory-pool");
  if (given == nullptr) return std::nullopt;
  const Bytes size = parse_bytes(given->from, given->value);
  if (size == 0)
    throw Error(ErrorKind::usage, fmt::format("{}: {} is no memory at all; expected: a size, such "
                                              "as 512MiB",
                                              given->from, in_quotes(given->value)));
  if (settings.is_on("recalibrate")) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: --recalibrate measures devices with all of their memory; give one of them",
                    given->from));
  }
  return size;
}

// Returns the modes to run. Suites skip modes they lack; a mode that no chosen suite has is a
// mistake.
std::vector<Mode> modes(const Settings& settings, std::span<const SuiteInfo* const> chosen) {
  const std::vector<Mode> all = modes_of(chosen);
  const std::vector<std::string> words = mode_words(all);
  const Given* given = settings.find("mode");
  const std::string asked = given != nullptr ? given->value : words.front();
  if (std::find(words.begin(), words.end(), asked) == words.end()) {
    const std::string who =
        chosen.size() == 1 ? "suite " + chosen.front()->name + " has" : "these suites have";
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} no mode {}; expected: {}{}", given->from, who, in_quotes(asked),
                            fmt::join(words, ", "), did_you_mean(asked, words)));
  }
  if (asked == "both") return {Mode::resident, Mode::end_to_end};
  if (asked == "all") return all;
  return {*std::find_if(all.begin(), all.end(),
                        [&](const Mode& mode) { return option_value(mode) == asked; })};
}

// Tells whether --no-save applies: not if a layer before its own names a file for the result.
// Throws if its own layer does.
bool saves_nothing(const Settings& settings) {
  if (!settings.is_on("no-save")) return false;
  const Given& no_save = *settings.find("no-save");
  for (const char* name : {"result", "resume"}) {
    const Given* file = settings.find(name);
    if (file == nullptr || file->layer > no_save.layer) continue;
    if (file->layer < no_save.layer) return false;
    throw Error(ErrorKind::usage, fmt::format("{}: {} names a file for the result; expected: one "
                                              "of them",
                                              no_save.from, file->from));
  }
  return true;
}

}  // namespace

std::vector<Mode> modes_of(std::span<const SuiteInfo* const> suites) {
  std::vector<Mode> all = {Mode::resident, Mode::end_to_end};
  for (const SuiteInfo* suite : suites) {
    for (const Mode& mode : suite->modes) {
      if (std::find(all.begin(), all.end(), mode) == all.end()) all.insert(all.end() - 1, mode);
    }
  }
  return all;
}

std::vector<std::string> mode_words(std::span<const Mode> modes) {
  std::vector<std::string> words{"both"};
  for (const Mode& mode : modes) words.push_back(option_value(mode));
  words.emplace_back("all");
  return words;
}

std::vector<const SuiteInfo*> choose_suites(std::string_view command,
                                            std::span<const std::string> names,
                                            std::span<const SuiteInfo> suites) {
  std::vector<const SuiteInfo*> chosen;
  for (const std::string& word : names) {
    for (const std::string& name : split_commas(word)) {
      const auto found = std::find_if(suites.begin(), suites.end(),
                                      [&](const SuiteInfo& s) { return s.name == name; });
      if (found == suites.end()) {
        std::vector<std::string> known;
        for (const SuiteInfo& suite : suites) known.push_back(suite.name);
        throw Error(ErrorKind::usage,
                    fmt::format("{}: there is no suite {}; expected: {}{}", command,
                                in_quotes(name), joined(known), did_you_mean(name, known)));
      }
      add_once(chosen, &*found);
    }
  }
  if (chosen.empty()) {
    for (const SuiteInfo& suite : suites) chosen.push_back(&suite);
  }
  return chosen;
}

std::vector<const SuiteInfo*> chosen_suites(const Invocation& invocation,
                                            std::span<const SuiteInfo> suites) {
  return choose_suites(invocation.command,
                       suites_asked_for(invocation.settings, suite_names(invocation), suites),
                       suites);
}

void read_fields(const Settings& settings, std::span<const OptionSpec> options,
                 RunRequest& request) {
  for (const OptionSpec& option : options) {
    const Given* given = settings.find(option.name);
    if (given != nullptr && option.field.read) option.field.read(*given, request);
  }
  if (const Given* counts = settings.find("device-counts"))
    request.device_counts = read_counts(*counts, 1);
}

RunRequest read_measurement(const Settings& settings, std::span<const SuiteInfo* const> chosen) {
  RunRequest request;
  request.session.modes = modes(settings, chosen);
  if (settings.is_on("quick"))
    request.session.stop = StopRule::quick();  // before --samples and --warmup change it
  read_fields(settings, run_options({}), request);
  const Given* strategy = settings.find("strategy");
  std::vector<std::string> repeated;
  request.session.strategies =
      parse_strategies(strategy != nullptr ? strategy->value : "all", &repeated);
  for (const std::string& label : repeated)
    print_error(
        fmt::format("warning: {}: {} is given twice and measured once", strategy->from, label));
  request.requirements = read_requirements(settings);
  return request;
}

ParamMap recorded_options(const RunRequest& request, std::span<const OptionSpec> options) {
  ParamMap all;
  for (const OptionSpec& option : options) {
    if ((option.uses & OptionSpec::recorded) == 0) continue;
    if (!option.field.record)
      throw Error(ErrorKind::internal, "--" + option.name + " is to be recorded and has no field");
    std::string name = option.name + option.field.unit;
    std::replace(name.begin(), name.end(), '-', '_');
    if (const auto value = option.field.record(request)) all[name] = *value;
  }
  return all;
}

void read_output_files(const Settings& settings, RunRequest& request) {
  request.json = settings.is_on("json");
  const auto path = [&](const char* name) -> std::optional<std::filesystem::path> {
    const Given* given = settings.find(name);
    if (given == nullptr) return std::nullopt;
    if (given->value.empty())
      throw Error(ErrorKind::usage, given->from + ": the file name is empty");
    return given->value;
  };
  request.no_save = saves_nothing(settings);
  if (!request.no_save) request.result_file = path("result");
  if (const Given* resume = settings.find("resume"); resume != nullptr && !request.no_save) {
    const auto plain = [](const std::filesystem::path& file) {
      return std::filesystem::absolute(file).lexically_normal();
    };
    if (request.result_file && plain(*request.result_file) != plain(resume->value)) {
      throw Error(
          ErrorKind::usage,
          fmt::format("{}: {} is not the file of {}, {}; expected: one of them, or the same file",
                      resume->from, in_quotes(resume->value), settings.find("result")->from,
                      in_quotes(request.result_file->string())));
    }
    if (!request.result_file) request.result_file = path("resume");
    request.resumes = true;
  }
  request.history = path("history");
  if (request.history) check_history(*request.history);
  request.labels = read_labels(settings);
  request.force = settings.is_on("force");
  request.trace_file = path("trace");
  request.session.result_file = path("save-data");
  if (request.session.result_file && names_gzip(*request.session.result_file)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: {}: the computed output is not compressed; expected: a name without .gz",
                    settings.find("save-data")->from,
                    in_quotes(request.session.result_file->string())));
  }
  request.exports = read_exports(settings, export_kinds());
  if (request.session.result_file && request.sizes == Sizes::sweep) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: it saves the output of one problem, but {} makes several; name one size",
                    settings.find("save-data")->from, settings.find("size")->from));
  }
  if (request.session.result_file && request.session.problems.size() > 1) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: it saves the output of one problem, but there are {}; name one "
                            "suite and one size",
                            settings.find("save-data")->from, request.session.problems.size()));
  }
  for (const auto& file : {request.result_file, request.trace_file, request.session.result_file}) {
    if (file) request.outputs.add(*file);
  }
  add_outputs(request.exports, request.outputs);
  refuse_two_on_standard_output(request.json, request.outputs);
  if (request.json_lines == JsonLines::out &&
      (request.json || request.outputs.take_standard_output()))
    throw Error(ErrorKind::usage,
                fmt::format("{}: another output is on standard output; expected: stderr",
                            settings.find("json-lines")->from));
  if (request.json_lines != JsonLines::none && !request.session.live_every)
    request.session.live_every = std::chrono::seconds(1);
}

RunRequest read_run_request(const Invocation& invocation, std::span<const SuiteInfo> suites,
                            Bytes memory) {
  const Settings& settings = invocation.settings;
  const std::vector<const SuiteInfo*> chosen = chosen_suites(invocation, suites);
  refuse_foreign_options(settings, suites, chosen);
  RunRequest request = read_measurement(settings, chosen);
  request.overview = invocation.command == "run" &&
                     suites_asked_for(settings, suite_names(invocation), suites).empty() &&
                     asks_for_overview(settings);
  request.handicaps = read_handicaps(settings);
  request.memory_pool = memory_pool(settings);
  request.session.usable_cores = usable_cores();
  if (!settings.is_on("no-telemetry")) request.session.telemetry = TelemetryPlaces{};
  read_problems(settings, chosen, memory, request);
  const auto& strategies = request.session.strategies;
  if (invocation.command == "run" && request.session.objective != Objective::time &&
      std::none_of(strategies.begin(), strategies.end(),
                   [](const StrategyChoice& one) { return one.info == &auto_strategy(); }))
    throw Error(ErrorKind::usage, settings.find("objective")->from +
                                      ": only the strategy auto has one; expected: -s auto");
  if (!settings.is_on("build-only")) read_output_files(settings, request);  // else none is written
  return request;
}

std::vector<std::size_t> device_counts(const RunRequest& request, std::size_t available,
                                       std::vector<std::string>& warnings) {
  if (request.device_counts.empty()) {
    std::vector<std::size_t> all;
    for (std::size_t count = 2; request.sizes == Sizes::sweep && count < available; count *= 2)
      all.push_back(count);
    all.push_back(available);
    return all;
  }
  std::vector<std::size_t> counts;
  for (const std::uint64_t count : request.device_counts) {
    if (count <= available) {
      counts.push_back(count);
      continue;
    }
    const std::string what = fmt::format(
        "--device-counts: \"{}\" is more than there are devices ({})", count, available);
    if (request.strict) throw Error(ErrorKind::usage, what + ", which --strict does not accept");
    warnings.push_back(what + " and is left out");
  }
  if (counts.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format("--device-counts: expected: 1 to {}, the number of devices", available));
  return counts;
}

}  // namespace mgpu
