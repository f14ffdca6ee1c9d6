// `mgpu-bench check`: whether devices and links are as good as their siblings and earlier checks,
// and compute right.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/environment.hpp"
#include "app/handicaps.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/session/check.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

// Works of which a few runs fit into a short check on a CPU.
struct WorkOfCheck {
  const char *suite, *words;
  std::uint64_t on_cpus, on_gpus;
};
constexpr WorkOfCheck kWorks[] = {{"merkle", "SHA-256 tree", 1u << 14, 1u << 20},
                                  {"matrix", "matrix product", 128, 1024},
                                  {"msm", "multi-scalar multiplication", 1u << 8, 1u << 12},
                                  {"stencil", "stencil", 128, 1024}};

// Returns whether the work is among those that were named; all are if none was.
bool is_named(const WorkOfCheck& work, const Given* given) {
  if (given == nullptr) return true;
  const std::vector<std::string> names = split_commas(given->value);
  return std::find(names.begin(), names.end(), work.suite) != names.end();
}

void refuse_unknown_works(const Given* given) {
  if (given == nullptr) return;
  std::vector<std::string> known;
  for (const WorkOfCheck& work : kWorks) known.emplace_back(work.suite);
  for (const std::string& name : split_commas(given->value))
    read_word({name, given->from, given->layer}, known);
}

std::vector<CheckWork> works_for(const Context& context, std::span<const Device> devices) {
  const bool cpus = std::any_of(devices.begin(), devices.end(),
                                [](const Device& device) { return device.is_cpu(); });
  std::vector<CheckWork> works;
  for (const WorkOfCheck& work : kWorks) {
    if (!is_named(work, context.invocation.settings.find("works"))) continue;
    for (const SuiteInfo& suite : context.suites) {
      if (suite.name != work.suite) continue;
      Problem problem = problem_of_size(default_problem(suite), cpus ? work.on_cpus : work.on_gpus);
      problem.params.seed = 1;
      problem.params.cpus = cpus;
      works.push_back({work.words, std::move(problem), VerifyLevel::full});
    }
  }
  return works;
}

// A baseline that --save is about to make has nothing yet.
std::vector<CheckDocument> read_baselines(const Settings& settings) {
  std::vector<CheckDocument> known;
  const Given* files = settings.find("baseline");
  const Given* save = settings.find("save");
  for (const std::string& file : files ? split_commas(files->value) : std::vector<std::string>()) {
    const bool is_new = save != nullptr && save->value == file && !fs::exists(file);
    if (!is_new) known.push_back(read_check(file));
  }
  return known;
}

CheckRules rules_of(const Settings& settings) {
  CheckRules rules;
  if (const Given* floor = settings.find("floor")) rules.floor = read_share(*floor, 0, 1);
  rules.whole_machine = !settings.has("devices");
  return rules;
}

ExitCode code_of(const CheckDocument& document) {
  std::vector<ExitCode> codes;
  for (const CheckFinding& finding : document.findings) {
    const CheckVerdict verdict = finding.verdict;
    codes.push_back(verdict == CheckVerdict::wrong     ? ExitCode::unverified
                    : verdict == CheckVerdict::unknown ? ExitCode::inconclusive
                    : verdict == CheckVerdict::failed || verdict == CheckVerdict::hung
                        ? ExitCode::failed
                        : ExitCode::regression);
  }
  return worst(codes);
}

// Names devices whose model or driver no baseline has.
void warn_of_unknown_models(CheckDocument& document, std::span<const CheckDocument> known) {
  std::vector<std::string> models;
  for (const CheckedDevice& device : document.devices) {
    const auto is_of_model = [&](const CheckedDevice& other) {
      return other.name == device.name && other.driver == device.driver;
    };
    const bool found = std::any_of(known.begin(), known.end(), [&](const CheckDocument& one) {
      return std::any_of(one.devices.begin(), one.devices.end(), is_of_model);
    });
    const std::string model = fmt::format("{} with driver {}", device.name, device.driver);
    if (found || std::find(models.begin(), models.end(), model) != models.end()) continue;
    models.push_back(model);
    document.warnings.push_back("--baseline has no " + model);
  }
}

ExitCode print_check(const Context& context, CheckDocument document, OutputFile* save,
                     const std::optional<CheckDocument>& saved) {
  const Settings& settings = context.invocation.settings;
  const ExitCode code = code_of(document);
  document.exit_code = static_cast<int>(code);
  for (const std::string& warning : document.warnings) print_error("warning: " + warning);
  if (save != nullptr) save->write(check_json(baseline_with(saved, document)));
  if (save != nullptr && save->is_standard_output()) return code;
  if (settings.is_on("json")) {
    print_json(check_json(document));
  } else {
    const TableStyle style = table_style(settings, context.environment);
    print_styled(check_table(document, style), style);
  }
  return code;
}

ExitCode merge_files(const Context& context, OutputFile* save,
                     const std::optional<CheckDocument>& saved) {
  const std::vector<std::string>& names = context.invocation.arguments;
  if (names.empty())
    throw Error(ErrorKind::usage,
                "check --merge: no file is given; expected: mgpu-bench check "
                "--merge node1.json node2.json");
  std::vector<NamedCheck> files;
  for (const std::string& name : names)
    files.push_back({fs::path(name).filename().string(), read_check(name)});
  CheckDocument merged = merge_checks(files, rules_of(context.invocation.settings));
  merged.tool = context.tool.version;
  merged.started = utc_now();
  return print_check(context, std::move(merged), save, saved);
}

}  // namespace

ExitCode cmd_check(const Context& context) {
  const Settings& settings = context.invocation.settings;
  refuse_unknown_works(settings.find("works"));
  table_style(settings, context.environment);  // refuses a wrong --color before anything runs
  OutputFiles outputs;
  OutputFile* save = nullptr;
  std::optional<CheckDocument> saved;
  if (const Given* file = settings.find("save")) {
    save = &outputs.add(file->value);
    if (save->had_content() && save->is_replaced()) saved = read_check(file->value);
  }
  if (settings.is_on("merge")) return merge_files(context, save, saved);
  if (!context.invocation.arguments.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format("check: {} is given without --merge; expected: --baseline {}",
                    context.invocation.arguments.front(), context.invocation.arguments.front()));
  CheckOptions options;
  if (const Given* time = settings.find("time")) options.time = read_time(*time);
  options.known = read_baselines(settings);
  options.rules = rules_of(settings);
  if (!settings.is_on("no-telemetry")) options.telemetry = TelemetryPlaces{};
  const std::vector<HandicapTerm> handicaps = read_handicaps(settings);
  const std::unique_ptr<Backend> backend = context.make_backend();
  if (!settings.has("timeout")) {
    WaitLimits limits = backend->limits();
    limits.answer = std::max<Nanos>(std::chrono::seconds(10), options.time / 4);
    backend->limit_waits(limits);
  }
  const DeviceSet set = choose_devices(*backend, context);
  options.devices = set.devices;
  options.handicaps = handicaps_of(handicaps, set.devices);
  options.works = works_for(context, set.devices);
  options.tool = context.tool.version;
  const auto environment = describe_environment(context.environment);
  const auto host = environment.find("host");
  options.host = host == environment.end() ? "" : host->second;
  options.started = utc_now();
  StatusLine line;
  const bool in_place = progress_in_place(context.environment);
  CheckDocument document = run_check(*backend, options, [&](const std::string& step) {
    if (in_place && !settings.is_on("quiet")) line.show("checking " + step, error_width());
  });
  line.clear();
  stopped_in_time();
  document.warnings.insert(document.warnings.begin(), set.warnings.begin(), set.warnings.end());
  if (!options.known.empty()) warn_of_unknown_models(document, options.known);
  return print_check(context, std::move(document), save, saved);
}

}  // namespace mgpu
