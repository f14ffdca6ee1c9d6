// The table of options, and the options of each command.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/option_fields.hpp"
#include "lib/exchange/collective.hpp"
#include "lib/report/comparison_text.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

using Kind = OptionSpec::Kind;
using enum OptionSpec::Use;

constexpr const char* kDevices = "Devices";
constexpr const char* kWork = "Work";
constexpr const char* kMeasurement = "Measurement";
constexpr const char* kFiles = "Files and output";
constexpr const char* kSuites = "Options of suites";

// Makes the field that records whether sizes were chosen by auto or sweep; sizes that were given or
// taken from another result are parameters of the cases. app/problems.cpp reads the rest of --size.
OptionField records_sizes() {
  OptionField field{.words = {"auto", "sweep"}};
  field.read = [](const Given& given, RunRequest& request) {
    request.sizes = given.value == "sweep"  ? Sizes::sweep
                    : given.value == "auto" ? Sizes::automatic
                                            : Sizes::given;
  };
  field.record = [](const RunRequest& request) -> std::optional<ParamValue> {
    const bool chosen = request.sizes == Sizes::automatic || request.sizes == Sizes::sweep;
    if (!chosen || request.sizes_of) return std::nullopt;
    return request.sizes == Sizes::sweep ? "sweep" : "auto";
  };
  return field;
}

OptionField records_sizes_of() {
  OptionField field;
  field.read = [](const Given& given, RunRequest& request) { request.sizes_of = given.value; };
  field.record = [](const RunRequest& request) {
    return request.sizes_of ? std::optional<ParamValue>(request.sizes_of->string()) : std::nullopt;
  };
  return field;
}

// Makes the field of the peer path. `auto` is not recorded, so that results match those of versions
// without this option.
OptionField sets_peer_path() {
  const std::vector<std::string> words{"auto", "direct", "staged", "host"};
  OptionField field = sets(
      &SessionOptions::peer,
      [words](const Given& given) -> std::optional<PeerPath> {
        const std::size_t word = read_word(given, words);
        return word == 0 ? std::nullopt : std::optional(static_cast<PeerPath>(word - 1));
      },
      [](const std::optional<PeerPath>& path) {
        return path ? std::optional<ParamValue>(std::string(to_string(*path))) : std::nullopt;
      });
  field.words = words;
  return field;
}

OptionField chooses_columns(std::vector<std::string> names) {
  names.emplace_back("all");
  return {.words = std::move(names)};
}

std::vector<OptionSpec> own_run_options() {
  return {
      {"devices", 'd', Kind::list, "SEL",
       "Devices, in order: ranks (0,2), PLATFORM:DEVICE (0:1), gpu, cpu, all, gpu:2, name~TEXT, "
       "uuid=, pci=, !TERM "
       "(default: all GPUs, else all CPUs)",
       kDevices, in_devices | in_links | in_plan | in_calibrate | important},
      {"device-filter", 0, Kind::list, "SEL", "The same as --devices", kDevices, 0, OptionField(),
       "devices"},
      {"sub-devices", 0, Kind::value, "N",
       "Split each chosen CPU into N equal devices (default: one per core, at most 8, when no "
       "device is named)",
       kDevices, in_devices | in_links | in_plan | in_calibrate | important},
      {"max-devices", 0, Kind::value, "N", "Use at most the first N of them", kDevices,
       in_plan | in_calibrate | in_links},
      {"require-devices", 0, Kind::value, "N", "Exit with 77 when there are fewer than N", kDevices,
       0, sets_count(&RunRequest::require_devices, 1)},
      {"strict", 0, Kind::flag, "",
       "Treat device terms that match nothing or too few devices, skipped cases and lost devices "
       "as "
       "errors",
       kDevices, in_plan | in_calibrate | in_simulate | in_links, sets_flag(&RunRequest::strict)},
      {"recalibrate", 0, Kind::flag, "",
       "Measure the devices again instead of using cached figures", kDevices,
       in_calibrate | not_confirmed},
      {"no-cache", 0, Kind::flag, "",
       "Neither use nor cache measurements of what the devices can do", kDevices,
       in_plan | in_calibrate},
      {"device-counts", 0, Kind::list, "N,..",
       "Measure with the first N devices, for each N (default: all of them)", kDevices,
       in_simulate | in_links | not_confirmed | important},
      {"slow", 0, Kind::list, "DEV=FACTOR",
       "Slow devices down on purpose: 0=2.5, gpu=2, 0=2@0.5 (from half of the work on), 0=2@20ms; "
       "DEV is a rank among the chosen "
       "devices or any term of --devices",
       kDevices, in_plan},
      {"cap-memory", 0, Kind::list, "DEV=SIZE",
       "Let devices have no more memory than this: 0=512MiB", kDevices, in_plan},
      {"memory-pool-size-mb", 0, Kind::value, "N",
       "Hold at most N MiB of memory on each device; what does not fit goes in pieces, or not at "
       "all. Rates are then never "
       "measured: "
       "sizes that are not given go by cached ones",
       kDevices},
      {"delay", 0, Kind::list, "DEV=TIME",
       "Let every slice of devices start computing this much later: 0=1ms", kDevices, in_plan},
      {"strategy", 's', Kind::list, "NAME,..",
       "Partition strategies, all (every one but auto), or auto; parameters after a colon, "
       "dynamic:chunks=32 (default: all)",
       kWork, in_simulate | not_confirmed | important},
      {"load-balancing-strategy", 0, Kind::list, "NAME,..", "The same as --strategy", kWork, 0,
       OptionField(), "strategy"},
      {"suites", 0, Kind::list, "NAME,..",
       "Suites to run, where none is an argument (default: all)", kWork, not_confirmed},
      {"size", 0, Kind::list, "N,..",
       "Problem sizes (2^20, 1M and 64Ki are understood); auto: what the fastest device takes "
       "about 100 ms for; sweep: from small "
       "to that, with -s capability unless others are named (default: auto; with --quick small "
       "ones)",
       kWork, in_plan | not_confirmed | recorded | important, records_sizes()},
      {"sizes-of", 0, Kind::value, "FILE",
       "The problem sizes of this result, so that both can be compared", kWork,
       in_plan | not_confirmed | recorded, records_sizes_of()},
      {"mode", 0, Kind::value, "MODE",
       "resident, end-to-end, both of these, a mode of the suite's own (see `list suites`) or all "
       "(default: both)",
       kWork, in_plan | in_simulate | not_confirmed | important,
       OptionField{.words = mode_words(modes_of({}))}},
      {"seed", 0, Kind::value, "N", "Seed of random inputs (default: 1)", kWork, in_plan | recorded,
       sets_count(&SessionOptions::seed, 0)},
      {"integrity", 0, Kind::value, "LEVEL",
       "Recompute results on another device, outside the measured time, and name the device that "
       "differs: off, sample (one "
       "device's part per sample, each device in turn) or full (default: off)",
       kWork, recorded,
       sets_word(&SessionOptions::integrity, {{"off", IntegrityLevel::off},
                                              {"sample", IntegrityLevel::sample},
                                              {"full", IntegrityLevel::full}})},
      {"verify", 0, Kind::value, "LEVEL",
       "Check results against the reference: full, sample or off (default: full)", kWork, recorded,
       sets_word(&SessionOptions::verify, {{"full", VerifyLevel::full},
                                           {"sample", VerifyLevel::sample},
                                           {"off", VerifyLevel::off}})},
      {"input", 0, Kind::value, "FILE",
       "Work on this file instead of random data (one suite; several, where it takes them, with "
       "commas between)",
       kWork, in_plan},
      {"samples", 'n', Kind::value, "N",
       "Exactly N samples of every case (default: until the median is known to 1 %)", kMeasurement,
       in_simulate | recorded | important, sets_count(&StopRule::exactly, 1)},
      {"warmup", 0, Kind::value, "N", "Executions before the first sample (default: 1)",
       kMeasurement, in_simulate | recorded, sets_count(&StopRule::warmup, 0)},
      {"quick", 0, Kind::flag, "", "Small sizes, 3 samples or 1 s a case", kMeasurement,
       recorded | important | in_links, sets_flag(&RunRequest::quick)},
      {"peer", 0, Kind::value, "PATH",
       "How devices exchange data: direct (into each other's memory), staged (by way of the host), "
       "host (CPUs) or auto (direct "
       "where "
       "they can) (default: auto)",
       kWork, in_plan | in_simulate | recorded, sets_peer_path()},
      {"timeout", 0, Kind::value, "TIME",
       "A device that completes nothing for this long counts as hung, its work goes to the others: "
       "500ms, 30s, 2m (default: 60s, "
       "or more where samples are predicted to be long)",
       kMeasurement, recorded | in_links | in_calibrate | in_devices | in_plan,
       sets_time(&SessionOptions::case_timeout)},
      {"sync-timeout-ms", 0, Kind::value, "N", "The same as --timeout, as a number of milliseconds",
       kMeasurement, 0, OptionField(), "timeout", "ms"},
      {"build-timeout", 0, Kind::value, "TIME",
       "As --timeout, while a device is opened or builds its kernels (default: 5m)", kMeasurement,
       recorded | in_links | in_calibrate | in_devices | in_plan,
       sets_time(&SessionOptions::build_timeout)},
      {"time-limit", 0, Kind::value, "TIME", "Cases not begun by then are skipped", kMeasurement, 0,
       sets_time(&SessionOptions::time_limit)},
      {"no-telemetry", 0, Kind::flag, "",
       "Do not sample clocks, power, temperature and load during the run", kMeasurement},
      {"result", 'o', Kind::value, "FILE",
       "Save the measurements as JSON, after every group of cases; compressed where the name ends "
       "in .gz; missing folders are made; - is standard output "
       "(default: a dated file in $XDG_STATE_HOME/mgpu-bench, which report and others take as "
       "last)",
       kFiles, in_simulate | in_links | not_confirmed | important},
      {"force", 0, Kind::flag, "", "Replace an older result even if nothing was measured", kFiles,
       not_confirmed},
      {"resume", 0, Kind::value, "FILE",
       "Continue the interrupted or killed run that was writing FILE (or last), with the same "
       "options; its samples are kept",
       kFiles, not_confirmed},
      {"json", 0, Kind::flag, "", "Print that JSON, and nothing else, on standard output", kFiles,
       in_plan | in_simulate | in_links | not_confirmed | important},
      {"trace", 0, Kind::value, "FILE",
       "Save a timeline of every case for Perfetto or chrome://tracing", kFiles,
       in_simulate | not_confirmed | important},
      {"output", 0, Kind::value, "FILE", "Save what the work computed (one problem)", kFiles,
       not_confirmed},
      {"export", 0, Kind::list, "KIND=FILE",
       "Save for another tool: googlecpp, bmf, csv, markdown or junit", kFiles,
       in_simulate | in_links | in_report | not_confirmed},
      {"require", 0, Kind::list, "EXPR",
       "Exit with 3 unless it holds for every case, with 4 where noise leaves that open: "
       "efficiency>=0.9, time<=2ms, faults<1; "
       "dynamic:speedup>1.8 for a strategy, "
       "best:rate>=1e9 for the fastest of each table",
       kMeasurement, in_simulate | in_report | not_confirmed},
      {"columns", 0, Kind::list, "NAME,..",
       fmt::format("Columns of the tables, however wide: {}; or all (default: those that fit)",
                   fmt::join(run_column_names(), ", ")),
       kFiles, in_simulate | in_report | not_confirmed, chooses_columns(run_column_names())},
      {"dump-config", 0, Kind::flag, "",
       "Print what was asked for, by options, environment and --config, as a file for --config; "
       "run nothing",
       kFiles, not_confirmed},
      {"quiet", 'q', Kind::flag, "", "No progress; warnings stay", kFiles,
       in_simulate | in_links | not_confirmed, sets_flag(&RunRequest::quiet)},
      {"verbose", 'v', Kind::flag, "",
       "Report the devices used, what telemetry is read from them, and a line for every case",
       kFiles, in_simulate | not_confirmed, sets_flag(&RunRequest::verbose)},
      color_option(),
  };
}

// Returns the options that have this use, and their aliases.
std::vector<OptionSpec> shared(std::vector<OptionSpec> options, OptionSpec::Use use) {
  const auto has_use = [&](const OptionSpec& option) { return (option.uses & use) != 0; };
  const auto named_else = [&](const OptionSpec& option) {
    return std::any_of(options.begin(), options.end(),
                       [&](const auto& o) { return o.name == option.alias_of && has_use(o); });
  };
  std::vector<OptionSpec> all;
  std::copy_if(options.begin(), options.end(), std::back_inserter(all),
               [&](const auto& o) { return has_use(o) || named_else(o); });
  return all;
}

OptionSpec& named(std::vector<OptionSpec>& options, std::string_view name) {
  return *std::find_if(options.begin(), options.end(),
                       [&](const OptionSpec& option) { return option.name == name; });
}

}  // namespace

OptionSpec color_option() {
  return {"color",
          0,
          Kind::value,
          "WHEN",
          "auto, always or never (default: auto)",
          kFiles,
          in_simulate | in_report | in_links | not_confirmed,
          OptionField{.words = {"auto", "always", "never"}}};
}

std::vector<OptionSpec> run_options(std::span<const SuiteInfo> suites) {
  std::vector<OptionSpec> options = own_run_options();
  std::vector<const SuiteInfo*> all;
  for (const SuiteInfo& suite : suites) all.push_back(&suite);
  named(options, "mode").field.words = mode_words(modes_of(all));
  for (const SuiteInfo& suite : suites) {
    const auto input = std::find_if(options.begin(), options.end(),
                                    [](const OptionSpec& o) { return o.name == "input"; });
    if (!suite.input.empty()) input->help += fmt::format("; {}: {}", suite.name, suite.input);
    for (const SuiteOption& own : suite.options) {
      if (own.kind == SuiteOption::Kind::flag) {
        options.push_back({own.name, 0, Kind::flag, "", fmt::format("{}: {}", suite.name, own.help),
                           kSuites, in_plan});
        continue;
      }
      const std::string help = fmt::format(
          "{}: {}: {}{} (default: {})", suite.name, own.help, fmt::join(own.values, ", "),
          own.kind == SuiteOption::Kind::name    ? ""
          : own.kind == SuiteOption::Kind::count ? " or a count"
          : own.kind == SuiteOption::Kind::file  ? " or a file"
          : own.kind == SuiteOption::Kind::text  ? " or what it takes"
                                                 : " or any number",
          own.values.at(0));
      const auto same = std::find_if(options.begin(), options.end(),
                                     [&](const OptionSpec& o) { return o.name == own.name; });
      if (same == options.end()) {
        options.push_back({own.name, 0, Kind::value, "VALUE", help, kSuites, in_plan,
                           OptionField{.words = own.values}});
      } else {
        std::vector<std::string>& words = same->field.words;
        same->help += "; " + help;
        std::copy_if(own.values.begin(), own.values.end(), std::back_inserter(words),
                     [&](const std::string& value) {
                       return std::find(words.begin(), words.end(), value) == words.end();
                     });
      }
    }
  }
  return options;
}

constexpr const char* kTimeoutHelp =
    "A device that completes nothing for this long counts as hung: 500ms, 30s, 2m (default: 60s)";

std::vector<OptionSpec> device_options() {
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_devices);
  named(options, "timeout").help = kTimeoutHelp;
  return options;
}

std::vector<OptionSpec> plan_options(std::span<const SuiteInfo> suites) {
  std::vector<OptionSpec> options = shared(run_options(suites), OptionSpec::in_plan);
  named(options, "timeout").help = kTimeoutHelp;
  named(options, "json").help =
      "Print as JSON (mgpu-bench schema plan), and nothing else, on standard output";
  named(options, "size").help =
      "Problem size (2^20, 1M and 64Ki are understood); auto: what the fastest device takes about "
      "100 ms for, by rates that "
      "calibrate or run cached, as plan measures none, else the suite's default (default: auto)";
  return options;
}

std::vector<OptionSpec> simulate_options() {
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_simulate);
  named(options, "mode").help =
      "resident, end-to-end, both or all, which is the same here (default: both)";
  named(options, "result").help =
      "Save the measurements as JSON, after every group of cases; compressed where the name ends "
      "in .gz";
  named(options, "samples").help =
      "Exactly N samples of every case (default: 3; they differ only where a strategy learns from "
      "them)";
  return options;
}

std::vector<OptionSpec> calibrate_options() {
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_calibrate);
  named(options, "timeout").help = kTimeoutHelp;
  options.push_back({"no-noise", 0, Kind::flag, "",
                     "Do not measure how far medians of the same work lie apart", kDevices});
  options.push_back({"tune", 0, Kind::flag, "",
                     "Also measure every kernel variant of the suites (kernels, tiles), and cache "
                     "the fastest that verifies",
                     kDevices});
  return options;
}

std::vector<OptionSpec> links_options() {
  constexpr const char* exchange = "Exchange";
  const auto names = [](const auto& values) {
    std::vector<std::string> words;
    for (const auto value : values) words.emplace_back(to_string(value));
    return words;
  };
  std::vector<std::string> ops = names(all_collectives());
  ops.emplace_back("all");
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_links);
  named(options, "device-counts").help =
      "Collectives of the first N devices, for each N (default: all of them)";
  named(options, "quick").help = "Less data, fewer repetitions, fewer sizes: some seconds";
  named(options, "timeout").help = kTimeoutHelp;
  named(options, "result").help =
      "Save the measurements as JSON (mgpu-bench schema links), which compare takes; compressed "
      "where the name ends in .gz; "
      "missing "
      "folders are made";
  options.push_back(
      {"peer", 0, Kind::value, "PATH",
       "How data gets from device to device: auto (the best that each pair has), direct (a device "
       "writes into the "
       "other's memory), staged (through the host) or host (CPUs: a copy there) (default: auto)",
       exchange, important, OptionField{.words = {"auto", "direct", "staged", "host"}}});
  options.push_back({"op", 0, Kind::list, "NAME,..",
                     fmt::format("Only these collectives, and no matrices: {} (default: matrices, "
                                 "latencies and a few sizes of "
                                 "all-reduce)",
                                 fmt::join(ops, ", ")),
                     exchange, important, OptionField{.words = ops}});
  options.push_back({"sizes", 0, Kind::list, "SIZE,..",
                     "Of the elements of a collective: 4KiB,1MiB, or a range that is doubled, "
                     "4KiB:1GiB, or multiplied, "
                     "4KiB:1GiB:4 (default: a few)",
                     exchange, important});
  options.push_back({"element", 0, Kind::value, "TYPE",
                     "Of elements: u32, u64, f32 or f64 (default: f32)", exchange, 0,
                     OptionField{.words = names(all_elements())}});
  options.push_back({"redop", 0, Kind::value, "NAME",
                     "How they are combined: sum, min or max (default: sum)", exchange, 0,
                     OptionField{.words = names(all_reductions())}});
  return options;
}

std::vector<OptionSpec> report_options() {
  return shared(own_run_options(), OptionSpec::in_report);
}

std::vector<OptionSpec> compare_options() {
  constexpr const char* gate = "Gate";
  constexpr const char* measuring = "Measuring";
  return {
      {"metrics", 0, Kind::list, "NAME,..",
       "time, speedup, efficiency, imbalance (default: all four)", gate, 0,
       OptionField{.words = {"time", "speedup", "efficiency", "imbalance"}}},
      {"floor", 0, Kind::value, "SHARE",
       "Ignore changes up to this size: 2%, 0.02 (default: 2%, or 10% for CPUs not measured "
       "interleaved; or the noise that "
       "calibrate found, if larger)",
       gate, important},
      {"alpha", 0, Kind::value, "SHARE",
       "Chance of a false alarm anywhere in the table, either way (default: 0.01)", gate},
      {"fail-on", 0, Kind::value, "WHAT",
       "regression: exit with 3 on one, or when NEW lacks a case of BASE; inconclusive: also with "
       "4 where no verdict is possible; "
       "nothing (default: regression)",
       gate, important, OptionField{.words = {"regression", "inconclusive", "nothing"}}},
      {"allow-missing", 0, Kind::flag, "",
       "Cases of BASE that NEW lacks are named, and no reason to fail", gate, important},
      {"ignore-environment", 0, Kind::flag, "",
       "Compare results of different devices, drivers or machines, and say what differs; NEW may "
       "then lack cases that take more "
       "devices than it has",
       gate, important},
      {"resamples", 0, Kind::value, "N", "Number of bootstrap resamples (default: 2000)", gate},
      {"seed", 0, Kind::value, "N", "Seed of the bootstrap (default: 1)", gate},
      {"confirm", 0, Kind::value, "N",
       "Measure cases that regressed again, N times, with this program; all must agree", measuring,
       important},
      {"interleave", 0, Kind::value, "ROUNDS",
       "BASE and NEW are '[NAME=VALUE ...] [PROGRAM] [OPTION of run ...]' and are run interleaved, "
       "this many rounds; more where so "
       "few could not tell any two figures apart (except with --fail-on nothing)",
       measuring, important},
      {"round-value", 0, Kind::value, "VALUE",
       "What stands for a round: median, or minimum, which moves less where other programs take "
       "the processor (default: median)",
       measuring, 0, OptionField{.words = {"median", "minimum"}}},
      {"with", 0, Kind::value, "OPTIONS", "What both of them run: 'merkle -d cpu -s equal -n 5'",
       measuring, important},
      {"result", 'o', Kind::value, "FILE",
       "Save the comparison as JSON (mgpu-bench schema compare); compressed where the name ends in "
       ".gz; missing folders are made",
       kFiles, important},
      {"json", 0, Kind::flag, "", "Print that JSON, and nothing else, on standard output", kFiles,
       important},
      {"with-resamples", 0, Kind::flag, "", "Keep in it which values every resample drew", kFiles},
      {"columns", 0, Kind::list, "NAME,..",
       fmt::format(
           "Columns of the tables in addition to strategy, metric, BASE and NEW, however wide: "
           "{}; or all (default: those that fit)",
           fmt::join(comparison_column_names(), ", ")),
       kFiles, 0, chooses_columns(comparison_column_names())},
      {"markdown", 0, Kind::value, "FILE", "Save it as Markdown, for $GITHUB_STEP_SUMMARY", kFiles,
       important},
      {"quiet", 'q', Kind::flag, "", "No progress; warnings stay", kFiles},
      color_option(),
  };
}

}  // namespace mgpu
