#include "app/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/contradictions.hpp"
#include "lib/session/recorded_params.hpp"

namespace mgpu {
namespace {

// Checks that `text` is a finite number by the rules of from_chars: -1, 0.5, 1e-3.
void parse_number(const std::string& from, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(value))
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is not a number; expected: a finite number like 2, -0.5, 1e-3",
                            from, in_quotes(text)));
  // Devices may or may not treat subnormal numbers as 0.
  if (std::fpclassify(value) == FP_SUBNORMAL)
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is less than a double holds with all its digits; expected: 0, "
                            "or a magnitude of {:.2g} or more",
                            from, in_quotes(text), std::numeric_limits<double>::min()));
}

void check_readable(const std::string& from, const std::string& name) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(name, ignored);
  if (!folder && std::ifstream(name)) return;
  throw Error(ErrorKind::input,
              fmt::format("{}: {} {}; expected: a readable file", from, in_quotes(name),
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
    if (std::find(option.values.begin(), option.values.end(), options[option.name]) !=
        option.values.end())
      continue;
    if (option.kind == SuiteOption::Kind::count) {
      options[option.name] = std::to_string(parse_count(given->from, given->value));
    } else if (option.kind == SuiteOption::Kind::number) {
      parse_number(given->from, given->value);
    } else if (option.kind == SuiteOption::Kind::file) {
      check_readable(given->from, given->value);
    } else if (option.kind == SuiteOption::Kind::text || option.kind == SuiteOption::Kind::list) {
      continue;  // its suite checks it
    } else {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} is unknown to suite {}; expected: {}", given->from,
                              in_quotes(given->value), suite.name, joined(option.values)));
    }
  }
  return options;
}

// Returns the files of --input; none without it.
std::vector<std::filesystem::path> input_files(const Settings& settings,
                                               std::span<const SuiteInfo* const> chosen) {
  const Given* given = settings.find("input");
  if (given == nullptr) return {};
  const Given* size = settings.find("size");
  if (size != nullptr && size->layer == given->layer) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: with {}, the file says how large the problem is; give one of them",
                            size->from, given->from));
  }
  if (chosen.size() > 1)
    throw Error(ErrorKind::usage, fmt::format("{}: name the one suite it is for", given->from));
  // A suite with one input file takes any name, even one with a comma.
  const std::size_t most = chosen.front()->inputs;
  const std::vector<std::string> names =
      most > 1 ? split_commas(given->value) : std::vector<std::string>{given->value};
  if (names.size() > most) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} names {} files; expected: at most {} for suite {}", given->from,
                            in_quotes(given->value), names.size(), most, chosen.front()->name));
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names) {
    std::error_code ignored;
    if (!chosen.front()->input_folders || !std::filesystem::is_directory(name, ignored))
      check_readable(given->from, name);
    files.emplace_back(name);
  }
  return files;
}

constexpr Bytes kBeyondSuite = ~Bytes{0};  // SuiteInfo::host_bytes of a size that it cannot do

void check_memory(const SuiteInfo& suite, const SuiteParams& params, const std::string& from,
                  Bytes memory) {
  const std::uint64_t most = largest_that_fits(suite, params, memory);
  if (params.size <= most) return;
  SuiteParams larger = params;
  larger.size = most + 1;
  const bool of_suite = suite.host_bytes(larger) == kBeyondSuite;
  const std::string why = of_suite ? "is larger than it takes"
                                   : fmt::format("does not fit in this machine's memory ({})",
                                                 format_bytes(static_cast<double>(memory)));
  throw Error(ErrorKind::usage,
              fmt::format("{}: suite {} with {} {}; expected: up to {}", from, suite.name,
                          format_counted(params.size, suite.size_name), why, most));
}

// Returns --sizes-of, unless a layer of higher priority gives --size: flags win over the
// environment, which wins over the configuration file.
const Given* sizes_of_given(const Settings& settings) {
  const Given* size = settings.find("size");
  const Given* like = settings.find("sizes-of");
  if (size == nullptr || like == nullptr) return like;
  if (size->layer == like->layer)
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} names sizes, too; give one of them", like->from, size->from));
  return like->layer < size->layer ? like : nullptr;
}

// Returns how sizes are found. Without --size they are chosen by rates, or are small with --quick
// or --build-only; an input file has its size.
Sizes sizes_asked_for(const Settings& settings) {
  const Given* size = settings.find("size");
  if (settings.has("input")) return Sizes::given;
  if (sizes_of_given(settings) != nullptr) return Sizes::automatic;
  if (size == nullptr)
    return settings.is_on("quick") || settings.is_on("build-only") ? Sizes::quick
                                                                   : Sizes::automatic;
  return size->value == "auto"    ? Sizes::automatic
         : size->value == "sweep" ? Sizes::sweep
                                  : Sizes::given;
}

// Returns the problems of `request.sizes`, without sizes if those are to be chosen.
std::vector<Problem> problems_of(const Settings& settings, std::span<const SuiteInfo* const> chosen,
                                 const RunRequest& request, Bytes memory) {
  const std::vector<std::filesystem::path> input = input_files(settings, chosen);
  const Given* size_given = settings.find("size");
  const bool given = request.sizes == Sizes::given && input.empty() && size_given != nullptr;
  const std::vector<std::uint64_t> sizes =
      given ? read_counts(*size_given, 0) : std::vector<std::uint64_t>{};
  std::vector<Problem> all;
  const auto add = [&](const SuiteInfo* suite, const std::map<std::string, std::string>& options) {
    if (suite->host_bytes == nullptr || suite->size_of_input == nullptr)
      throw Error(ErrorKind::internal,
                  fmt::format("suite {} lacks host_bytes or size_of_input", suite->name));
    Problem problem{suite, {}};
    SuiteParams& params = problem.params;
    params.seed = request.session.seed;
    params.options = options;
    params.host_threads = std::max(1u, std::thread::hardware_concurrency());
    // Problems get their sizes later, but mistakes in the options must be reported before anything
    // is measured: the smallest problem finds them.
    if (request.sizes != Sizes::given) {
      Problem small = problem;
      complete_problem(small, quick_size_of(problem), "--size", memory);
      all.push_back(problem);
      return;
    }
    std::vector<std::uint64_t> own = sizes;
    std::string from = given ? size_given->from : "--size";
    if (!input.empty()) {
      params.input = input.front();
      params.more_inputs.assign(input.begin() + 1, input.end());
      own = {suite->size_of_input(params)};
      from = settings.find("input")->from;
    }
    for (const std::uint64_t size : own) {
      all.push_back(problem);
      complete_problem(all.back(), size, from, memory);
    }
  };
  for (const SuiteInfo* suite : chosen) {
    auto options = options_of(*suite, settings);
    if (request.overview && suite->descriptors)
      options[suite->descriptors->option] = suite->descriptors->shown;
    const auto swept = suite->descriptors ? suite->descriptors->swept : suite->optional.swept;
    if (swept == nullptr) {
      add(suite, options);
      continue;
    }
    for (const auto& one : swept(options)) add(suite, one);
  }
  return all;
}

}  // namespace

std::vector<SuiteInfo> with_given_defaults(const Settings& settings,
                                           std::span<const SuiteInfo* const> chosen) {
  std::vector<SuiteInfo> suites;
  for (const SuiteInfo* suite : chosen) {
    suites.push_back(*suite);
    const std::map<std::string, std::string> given = options_of(*suite, settings);
    for (SuiteOption& option : suites.back().options) {
      const auto value = given.find(option.name);
      if (value == given.end()) continue;
      std::erase(option.values, value->second);
      option.values.insert(option.values.begin(), value->second);
    }
  }
  return suites;
}

// Only flags are checked: the environment and config files are standing settings for many runs.
void refuse_foreign_options(const Settings& settings, std::span<const SuiteInfo> suites,
                            std::span<const SuiteInfo* const> chosen) {
  for (const OptionSpec& option : run_options(suites)) {
    const Given* given = settings.find(option.name);
    if (option.suites.empty() || given == nullptr || given->layer != Given::Layer::flag) continue;
    std::vector<std::string> names;
    for (const SuiteInfo* suite : chosen) names.push_back(suite->name);
    const bool is_read = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::find(option.suites.begin(), option.suites.end(), name) != option.suites.end();
    });
    if (!is_read)
      throw Error(
          ErrorKind::usage,
          fmt::format("{}: {} {} no such option; suites that have it: {}", given->from,
                      joined(names), names.size() == 1 ? "has" : "have", joined(option.suites)));
  }
}

std::uint64_t quick_size_of(const Problem& problem) {
  const auto own = own_problem(problem);
  return own ? own->quick_size : problem.suite->quick_size;
}

void complete_problem(Problem& problem, std::uint64_t size, const std::string& from, Bytes memory) {
  const SuiteInfo& suite = *problem.suite;
  problem.params.size = size;
  check_memory(suite, problem.params, from, memory);
  if (suite.check != nullptr) suite.check(problem.params);
  if (size == 0 && !suite.measures_nothing)
    throw Error(ErrorKind::usage, fmt::format("{}: 0 {} of suite {}; expected: 1 or more", from,
                                              suite.size_name, suite.name));
  if (suite.optional.resolve != nullptr) suite.optional.resolve(problem.params);
}

std::uint64_t largest_that_fits(const SuiteInfo& suite, SuiteParams params, Bytes memory) {
  const auto fits = [&](std::uint64_t size) {
    params.size = size;
    return suite.host_bytes(params) <= memory;
  };
  // Doubling exceeds the limit long before the bytes of an absurd size could overflow.
  std::uint64_t low = 1;
  while (low < std::uint64_t{1} << 62 && fits(low * 2)) low *= 2;
  std::uint64_t high = low * 2;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

void complete_defaults(Report& report, std::span<const SuiteInfo> suites) {
  std::vector<Problem> problems;
  for (const SuiteInfo& suite : suites) problems.push_back({&suite, {}});
  for (auto& [suite, values] : default_params(problems)) report.defaults[suite].merge(values);
}

void warn_of_interruption(const std::string& file, const Report& report) {
  if (report.complete) return;
  if (file != "-" && FileLock::is_held(file)) {
    print_error(fmt::format(
        "warning: {}: the run is still in progress; these are the cases it finished so far", file));
    return;
  }
  print_error(fmt::format("warning: {}: the run was interrupted{}; these are the cases it finished",
                          file, report.failure ? " (" + *report.failure + ")" : ""));
}

bool warn_of_contradictions(const std::string& file, const Report& report) {
  constexpr std::size_t kMost = 4;
  std::size_t found = 0;
  for (std::size_t k = 0; k < report.runs.size(); ++k)
    for (const std::string& line : contradictions(report.runs[k]))
      if (found++ < kMost) print_error(fmt::format("warning: {}: runs[{}].{}", file, k, line));
  if (found > kMost)
    print_error(fmt::format("warning: {}: {} more figures that are not of its samples", file,
                            found - kMost));
  return found > 0;
}

void read_problems(const Settings& settings, std::span<const SuiteInfo* const> chosen, Bytes memory,
                   RunRequest& request) {
  request.sizes = sizes_asked_for(settings);
  // A sweep measures one strategy at many sizes.
  if (request.sizes == Sizes::sweep && !settings.has("strategy"))
    request.session.strategies = parse_strategies("capability");
  request.sizes_of.reset();  // --size may override it
  if (const Given* like = sizes_of_given(settings);
      like != nullptr && request.sizes != Sizes::given) {
    check_readable(like->from, like->value);
    request.sizes_of = like->value;
  }
  request.session.problems = problems_of(settings, chosen, request, memory);
}

}  // namespace mgpu
