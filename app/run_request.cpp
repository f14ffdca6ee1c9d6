// Options of `run` -> SessionOptions. Every refusal is one line that names the option, its value and what is accepted.
#include "app/run_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "app/device_set.hpp"
#include "lib/base/did_you_mean.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

std::vector<std::uint64_t> counts(const Settings& settings, std::string_view name, std::uint64_t least) {
  std::vector<std::uint64_t> values;
  const Given* given = settings.find(name);
  if (given == nullptr) return values;
  for (const std::string& text : split_commas(given->value)) {
    const std::uint64_t value = read_count({text, given->from}, least);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

// A finite number, by the rules of from_chars: -1, 0.5, 1e-3.
void parse_number(const std::string& from, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is not a number; accepted: a finite number like 2, -0.5, 1e-3", from, in_quotes(text)));
}

void check_readable(const std::string& from, const std::string& name) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(name, ignored);
  if (!folder && std::ifstream(name)) return;
  throw Error(ErrorKind::input, fmt::format("{}: {} {}; accepted: a readable file", from, in_quotes(name),
                                            folder ? "is a directory" : "cannot be read"));
}

std::map<std::string, std::string> options_of(const SuiteInfo& suite, const Settings& settings) {
  std::map<std::string, std::string> options;
  for (const SuiteOption& option : suite.options) {
    const Given* given = settings.find(option.name);
    if (option.kind == SuiteOption::Kind::flag) {
      if (settings.is_on(option.name)) options[option.name] = "yes";
      continue;
    }
    options[option.name] = given != nullptr ? given->value : option.values.at(0);
    if (std::find(option.values.begin(), option.values.end(), options[option.name]) != option.values.end()) continue;
    if (option.kind == SuiteOption::Kind::count) {
      options[option.name] = std::to_string(parse_count(given->from, given->value));
    } else if (option.kind == SuiteOption::Kind::number) {
      parse_number(given->from, given->value);
    } else if (option.kind == SuiteOption::Kind::file) {
      check_readable(given->from, given->value);
    } else {
      throw Error(ErrorKind::usage, fmt::format("{}: {} is unknown to suite {}; accepted: {}", given->from, in_quotes(given->value),
                                                suite.name, joined(option.values)));
    }
  }
  return options;
}

// A flag that no chosen suite reads is a mistake; the environment and config files are standing settings for many runs.
void refuse_foreign_options(const Settings& settings, std::span<const SuiteInfo> suites, std::span<const SuiteInfo* const> chosen) {
  for (const SuiteInfo& suite : suites) {
    for (const SuiteOption& option : suite.options) {
      const Given* given = settings.find(option.name);
      if (given == nullptr || given->layer != Given::Layer::flag) continue;
      const bool read = std::any_of(chosen.begin(), chosen.end(), [&](const SuiteInfo* c) {
        return std::any_of(c->options.begin(), c->options.end(), [&](const SuiteOption& o) { return o.name == option.name; });
      });
      if (read) continue;
      std::vector<std::string> names;
      for (const SuiteInfo* c : chosen) names.push_back(c->name);
      throw Error(ErrorKind::usage,
                  fmt::format("{}: an option of suite {}, but the run is of {}", given->from, suite.name, joined(names)));
    }
  }
}

// The files of --input; none without it.
std::vector<std::filesystem::path> input_files(const Settings& settings, std::span<const SuiteInfo* const> chosen) {
  const Given* given = settings.find("input");
  if (given == nullptr) return {};
  const Given* size = settings.find("size");
  if (size != nullptr && size->layer == given->layer) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: with {}, the file says how large the problem is; give one of them", size->from, given->from));
  }
  if (chosen.size() > 1) throw Error(ErrorKind::usage, fmt::format("{}: name the one suite it is for", given->from));
  // A suite that takes one file takes any name, one with a comma too.
  const std::size_t most = chosen.front()->inputs;
  const std::vector<std::string> names = most > 1 ? split_commas(given->value) : std::vector<std::string>{given->value};
  if (names.size() > most) {
    throw Error(ErrorKind::usage, fmt::format("{}: {} names {} files; accepted by suite {}: at most {}", given->from,
                                              in_quotes(given->value), names.size(), chosen.front()->name, most));
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names) {
    check_readable(given->from, name);
    files.emplace_back(name);
  }
  return files;
}

void check_memory(const SuiteInfo& suite, const SuiteParams& params, const std::string& from, Bytes memory) {
  const std::uint64_t most = largest_that_fits(suite, params, memory);
  if (params.size <= most) return;
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} {} of suite {} do not fit in this machine's memory ({}); accepted: up to {}", from, params.size,
                          suite.size_name, suite.name, format_bytes(static_cast<double>(memory)), most));
}

// --sizes-of, where --size is not given as near: a flag wins over the environment, that over the configuration.
const Given* sizes_of_given(const Settings& settings) {
  const Given* size = settings.find("size");
  const Given* like = settings.find("sizes-of");
  if (size == nullptr || like == nullptr) return like;
  if (size->layer == like->layer)
    throw Error(ErrorKind::usage, fmt::format("{}: {} names sizes, too; give one of them", like->from, size->from));
  return like->layer < size->layer ? like : nullptr;
}

// Without --size by rates, or with --quick those of the suites; a file says how large its problem is.
Sizes sizes_asked_for(const Settings& settings) {
  const Given* size = settings.find("size");
  if (settings.has("input")) return Sizes::given;
  if (sizes_of_given(settings) != nullptr) return Sizes::automatic;
  if (size == nullptr) return settings.is_on("quick") ? Sizes::given : Sizes::automatic;
  return size->value == "auto" ? Sizes::automatic : size->value == "sweep" ? Sizes::sweep : Sizes::given;
}

std::vector<Problem> problems(const Settings& settings, std::span<const SuiteInfo* const> chosen, const RunRequest& request,
                              Bytes memory) {
  const std::vector<std::filesystem::path> input = input_files(settings, chosen);
  const Given* size_given = settings.find("size");
  const bool given = request.sizes == Sizes::given && input.empty() && size_given != nullptr;
  const std::vector<std::uint64_t> sizes = given ? counts(settings, "size", 0) : std::vector<std::uint64_t>{};
  std::vector<Problem> all;
  for (const SuiteInfo* suite : chosen) {
    Problem problem{suite, {}};
    SuiteParams& params = problem.params;
    params.seed = request.session.seed;
    params.options = options_of(*suite, settings);
    params.host_threads = std::max(1u, std::thread::hardware_concurrency());
    if (request.sizes != Sizes::given) {  // what is wrong with the options is said before anything is measured
      Problem small = problem;
      complete_problem(small, suite->quick_size, "--size", memory);
      all.push_back(problem);
      continue;
    }
    std::vector<std::uint64_t> own = sizes;
    std::string from = given ? size_given->from : "--size";
    if (!input.empty()) {
      params.input = input.front();
      params.more_inputs.assign(input.begin() + 1, input.end());
      own = {suite->size_of_input(params)};
      from = settings.find("input")->from;
    } else if (!given) {
      own = {suite->quick_size};
    }
    for (const std::uint64_t size : own) {
      all.push_back(problem);
      complete_problem(all.back(), size, from, memory);
    }
  }
  return all;
}

// The arguments; where there are none, those of --suites, its variable or its key.
std::vector<std::string> suite_names(const Invocation& invocation) {
  const Given* given = invocation.settings.find("suites");
  if (given == nullptr) return invocation.arguments;
  if (invocation.arguments.empty()) return {given->value};
  if (given->layer == Given::Layer::flag) {
    throw Error(ErrorKind::usage, fmt::format("{}: suites are arguments too ({}); name them in one place", given->from,
                                              joined(invocation.arguments)));
  }
  return invocation.arguments;
}

std::optional<Bytes> memory_pool(const Settings& settings) {
  const Given* given = settings.find("memory-pool-size-mb");
  if (given == nullptr) return std::nullopt;
  constexpr std::uint64_t most = std::uint64_t{1} << 40;  // MiB
  const std::uint64_t count = count_setting(settings, "memory-pool-size-mb", 1, 0);
  if (count > most)
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is too large; accepted: 1 to {} MiB", given->from, in_quotes(given->value), most));
  if (settings.is_on("recalibrate")) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: --recalibrate measures devices with all of their memory; give one of them", given->from));
  }
  return count << 20;
}

// A suite leaves out modes it does not have; one that no chosen suite has is a mistake.
std::vector<Mode> modes(const Settings& settings, std::span<const SuiteInfo* const> chosen) {
  const std::vector<Mode> all = modes_of(chosen);
  const std::vector<std::string> words = mode_words(all);
  const Given* given = settings.find("mode");
  const std::string asked = given != nullptr ? given->value : words.front();
  if (std::find(words.begin(), words.end(), asked) == words.end()) {
    const std::string who = chosen.size() == 1 ? "suite " + chosen.front()->name + " has" : "these suites have";
    throw Error(ErrorKind::usage, fmt::format("{}: {} no mode {}; accepted: {}{}", given->from, who, in_quotes(asked),
                                              fmt::join(words, ", "), did_you_mean(asked, words)));
  }
  if (asked == "both") return {Mode::resident, Mode::end_to_end};
  if (asked == "all") return all;
  return {*std::find_if(all.begin(), all.end(), [&](const Mode& mode) { return option_value(mode) == asked; })};
}

}  // namespace

void complete_problem(Problem& problem, std::uint64_t size, const std::string& from, Bytes memory) {
  const SuiteInfo& suite = *problem.suite;
  problem.params.size = size;
  check_memory(suite, problem.params, from, memory);
  if (suite.check != nullptr) suite.check(problem.params);
  if (suite.resolve != nullptr) suite.resolve(problem.params);
}

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

std::uint64_t largest_that_fits(const SuiteInfo& suite, SuiteParams params, Bytes memory) {
  const auto fits = [&](std::uint64_t size) {
    params.size = size;
    return suite.host_bytes(params) <= memory;
  };
  // Doubling from below meets the limit long before the bytes of an absurd size could overflow.
  std::uint64_t low = 1;
  while (low < std::uint64_t{1} << 62 && fits(low * 2)) low *= 2;
  std::uint64_t high = low * 2;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<const SuiteInfo*> choose_suites(std::string_view command, std::span<const std::string> names,
                                            std::span<const SuiteInfo> suites) {
  std::vector<const SuiteInfo*> chosen;
  for (const std::string& word : names) {
    for (const std::string& name : split_commas(word)) {
      const auto found = std::find_if(suites.begin(), suites.end(), [&](const SuiteInfo& s) { return s.name == name; });
      if (found == suites.end()) {
        std::vector<std::string> known;
        for (const SuiteInfo& suite : suites) known.push_back(suite.name);
        throw Error(ErrorKind::usage, fmt::format("{}: there is no suite {}; accepted: {}{}", command, in_quotes(name),
                                                  joined(known), did_you_mean(name, known)));
      }
      if (std::find(chosen.begin(), chosen.end(), &*found) == chosen.end()) chosen.push_back(&*found);
    }
  }
  if (chosen.empty()) {
    for (const SuiteInfo& suite : suites) chosen.push_back(&suite);
  }
  return chosen;
}

RunRequest read_measurement(const Settings& settings, std::span<const SuiteInfo* const> chosen) {
  RunRequest request;
  request.session.modes = modes(settings, chosen);
  if (settings.is_on("quick")) request.session.stop = StopRule::quick();  // before what --samples and --warmup change of it
  for (const OptionSpec& option : run_options({})) {
    const Given* given = settings.find(option.name);
    if (given != nullptr && option.field.read) option.field.read(*given, request);
  }
  request.device_counts = counts(settings, "device-counts", 1);
  const Given* strategy = settings.find("strategy");
  request.session.strategies = parse_strategies(strategy != nullptr ? strategy->value : "all");
  request.requirements = read_requirements(settings);
  return request;
}

ParamMap recorded_options(const RunRequest& request, std::span<const OptionSpec> options) {
  ParamMap all;
  for (const OptionSpec& option : options) {
    if ((option.uses & OptionSpec::recorded) == 0) continue;
    if (!option.field.record) throw Error(ErrorKind::internal, "--" + option.name + " is to be recorded and has no field");
    std::string name = option.name + option.field.unit;
    std::replace(name.begin(), name.end(), '-', '_');
    if (const auto value = option.field.record(request)) all[name] = *value;
  }
  return all;
}

void read_output_files(const Settings& settings, RunRequest& request) {
  request.json = settings.is_on("json");
  std::set<std::filesystem::path> taken;
  const auto take = [&](const Given& given, const std::filesystem::path& file) {
    if (taken.insert(std::filesystem::absolute(file).lexically_normal()).second) return;
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is already the file of another output", given.from, in_quotes(file.string())));
  };
  const auto path = [&](const char* name) -> std::optional<std::filesystem::path> {
    const Given* given = settings.find(name);
    if (given == nullptr) return std::nullopt;
    if (given->value.empty()) throw Error(ErrorKind::usage, given->from + ": the file name is empty");
    take(*given, given->value);
    return given->value;
  };
  request.result_file = path("result");
  if (const Given* resume = settings.find("resume")) {
    const auto plain = [](const std::filesystem::path& file) { return std::filesystem::absolute(file).lexically_normal(); };
    if (request.result_file && plain(*request.result_file) != plain(resume->value)) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} is not the file of {}, {}; accepted: one of them, or the same file", resume->from,
                              in_quotes(resume->value), settings.find("result")->from, in_quotes(request.result_file->string())));
    }
    if (!request.result_file) request.result_file = path("resume");
    request.resumes = true;
  }
  request.trace_file = path("trace");
  request.session.result_file = path("output");
  if (request.session.result_file && names_gzip(*request.session.result_file)) {
    throw Error(ErrorKind::usage, fmt::format("{}: {}: what was computed is not compressed; accepted: a name without .gz",
                                              settings.find("output")->from, in_quotes(request.session.result_file->string())));
  }
  request.exports = read_exports(settings);
  for (const ExportFile& one : request.exports) take(*settings.find("export"), one.file);
  if (request.session.result_file && request.sizes == Sizes::sweep) {
    throw Error(ErrorKind::usage, fmt::format("{}: {} makes several problems, and it holds the result of one; name one size",
                                              settings.find("output")->from, settings.find("size")->from));
  }
  if (request.session.result_file && request.session.problems.size() > 1) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: there are {} problems, and it holds the result of one; name one suite and one size",
                            settings.find("output")->from, request.session.problems.size()));
  }
  const auto claim = [&](const std::filesystem::path& file) {
    request.locks.emplace_back(file);
    check_writable(file);
  };
  for (const auto& file : {request.result_file, request.trace_file, request.session.result_file}) {
    if (file) claim(*file);
  }
  for (const ExportFile& one : request.exports) claim(one.file);
}

RunRequest read_run_request(const Invocation& invocation, std::span<const SuiteInfo> suites, Bytes memory) {
  const Settings& settings = invocation.settings;
  const std::vector<const SuiteInfo*> chosen = choose_suites(invocation.command, suite_names(invocation), suites);
  refuse_foreign_options(settings, suites, chosen);
  RunRequest request = read_measurement(settings, chosen);
  request.handicaps = read_handicaps(settings);
  request.memory_pool = memory_pool(settings);
  if (!settings.is_on("no-telemetry")) request.session.telemetry = TelemetryPlaces{};
  request.sizes = sizes_asked_for(settings);
  if (request.sizes == Sizes::sweep && !settings.has("strategy"))  // one strategy at many sizes
    request.session.strategies = parse_strategies("capability");
  if (const Given* like = sizes_of_given(settings); like != nullptr && request.sizes != Sizes::given) {
    check_readable(like->from, like->value);
    request.sizes_of = like->value;
  }
  request.session.problems = problems(settings, chosen, request, memory);
  read_output_files(settings, request);
  return request;
}

std::vector<std::size_t> device_counts(const RunRequest& request, std::size_t available, std::vector<std::string>& warnings) {
  if (request.device_counts.empty()) {
    std::vector<std::size_t> all;
    for (std::size_t count = 2; request.sizes == Sizes::sweep && count < available; count *= 2) all.push_back(count);
    all.push_back(available);
    return all;
  }
  std::vector<std::size_t> counts;
  for (const std::uint64_t count : request.device_counts) {
    if (count <= available) {
      counts.push_back(count);
      continue;
    }
    const std::string what = fmt::format("--device-counts: \"{}\" is more than there are devices ({})", count, available);
    if (request.strict) throw Error(ErrorKind::usage, what + ", which --strict does not accept");
    warnings.push_back(what + " and is left out");
  }
  if (counts.empty())
    throw Error(ErrorKind::usage, fmt::format("--device-counts: accepted: 1 to {}, the number of devices", available));
  return counts;
}

}  // namespace mgpu
