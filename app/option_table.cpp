// The table of options, and the options of each command.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "app/option_fields.hpp"
#include "lib/base/add_once.hpp"
#include "lib/exchange/collective.hpp"
#include "lib/report/comparison_exports.hpp"
#include "lib/report/comparison_text.hpp"
#include "lib/report/exports.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

using Kind = OptionSpec::Kind;
using enum OptionSpec::Use;

constexpr const char* kDevices = "Devices";
constexpr const char* kWork = "Work";
constexpr const char* kMeasurement = "Measurement";

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

std::vector<std::string> kinds_in(const std::vector<std::string_view>& kinds) {
  return {kinds.begin(), kinds.end()};
}

// Makes the field of the objective; time is not recorded, as before there were others.
OptionField sets_objective() {
  const std::vector<std::string> words{"time", "energy", "edp"};
  OptionField field = sets(
      &SessionOptions::objective,
      [words](const Given& given) { return static_cast<Objective>(read_word(given, words)); },
      [words](Objective objective) {
        return objective == Objective::time
                   ? std::nullopt
                   : std::optional<ParamValue>(words[static_cast<std::size_t>(objective)]);
      });
  field.words = words;
  return field;
}

OptionField reads_samples_of() {
  OptionField field;
  field.read = [](const Given& given, RunRequest& request) { request.samples_of = given.value; };
  return field;
}

// Makes the field of the peer path. `auto` is not recorded, so that results match those of versions
// without this option.
OptionField sets_peer_path() {
  const std::vector<std::string> words{"auto", "direct", "staged", "host"};
  OptionField field = sets(
      &SessionOptions::peer,
      [words](const Given& given) -> std::optional<PeerPath> {
        if (given.value.find(',') != std::string::npos)
          throw Error(ErrorKind::usage, given.from +
                                            ": expected one path; measure each in a run of its "
                                            "own, and give plot.py the files");
        const std::size_t word = read_word(given, words);
        return word == 0 ? std::nullopt : std::optional(static_cast<PeerPath>(word - 1));
      },
      [](const std::optional<PeerPath>& path) {
        return path ? std::optional<ParamValue>(std::string(to_string(*path))) : std::nullopt;
      });
  field.words = words;
  return field;
}

// Makes the choice between all values of an enumeration.
template <typename Value>
OptionField sets_word(Value LinksOptions::*member, std::span<const Value> all) {
  std::vector<std::pair<std::string, Value>> meanings;
  for (const Value value : all) meanings.emplace_back(to_string(value), value);
  return sets_word(member, std::move(meanings));
}

OptionField sets_collectives() {
  OptionField field;
  for (const Collective op : all_collectives()) field.words.emplace_back(to_string(op));
  field.words.emplace_back("all");
  field.read = [words = field.words](const Given& given, RunRequest& request) {
    const auto add = [&ops = request.links.ops](Collective op) { add_once(ops, op); };
    for (const std::string& word : split_commas(given.value)) {
      const std::size_t place = read_word({word, given.from, given.layer}, words);
      const auto all = all_collectives();
      if (place == all.size())
        std::for_each(all.begin(), all.end(), add);
      else
        add(all[place]);
    }
  };
  return field;
}

OptionField chooses_columns(std::vector<std::string> names) {
  names.emplace_back("all");
  return {.words = std::move(names)};
}

std::vector<OptionSpec> own_run_options() {
  return {
      {"devices", 'd', Kind::list, "SEL",
       "Devices, in this order: ranks (0,2), PLATFORM:DEVICE (0:1), gpu, cpu, all, gpu:2, "
       "name~TEXT, uuid=, pci=, !TERM (default: all GPUs, else all CPUs)",
       kDevices, in_devices | in_links | in_plan | in_calibrate | in_check | important},
      {"device-filter", 0, Kind::list, "SEL", "", kDevices, 0, OptionField(), "devices"},
      {"sub-devices", 0, Kind::value, "N",
       "Split each chosen CPU into N equal devices (default: one per core, at most 8, if no device "
       "is named)",
       kDevices, in_devices | in_links | in_plan | in_calibrate | in_check | important},
      {"max-devices", 0, Kind::value, "N",
       "Use at most N devices: those of the highest score x (1 - utilisation now)", kDevices,
       in_plan | in_calibrate | in_links},
      {"require-devices", 0, Kind::value, "N",
       "Exit with code 77 if there are fewer than N devices", kDevices, 0,
       sets_count(&RunRequest::require_devices, 1)},
      {"hot-plug", 0, Kind::flag, "",
       "Look for devices again before each group of cases: leave out those that vanished, and use "
       "new ones from then on; with --resume also those that are there now",
       kDevices, not_confirmed},
      {"strict", 0, Kind::flag, "",
       "Fail on device selectors that match nothing or too few devices, on skipped cases and on "
       "lost devices",
       kDevices, in_plan | in_calibrate | in_simulate | in_links | in_check,
       sets_flag(&RunRequest::strict)},
      {"recalibrate", 0, Kind::flag, "",
       "Measure the capabilities of the devices again instead of using the cache", kDevices,
       in_calibrate | not_confirmed},
      {"no-cache", 0, Kind::flag, "",
       "Neither read nor write the cache of what was measured of the devices", kDevices,
       in_plan | in_calibrate},
      {"device-counts", 0, Kind::list, "N,..",
       "Measure with the first N devices, for each N (default: all devices)", kDevices,
       in_simulate | in_links | not_confirmed | important},
      {"slow", 0, Kind::list, "DEV=FACTOR",
       "Slow devices down on purpose: 0=2.5, gpu=2, 0=2@0.5 (after half of the work), 0=2@20ms; "
       "DEV is a rank among the chosen devices or any term of --devices",
       kDevices, in_plan | in_check | important},
      {"cap-memory", 0, Kind::list, "DEV=SIZE", "Limit the memory that devices have: 0=512MiB",
       kDevices, in_plan},
      {"memory-pool", 0, Kind::value, "SIZE",
       "Use at most this much memory per device, such as 512MiB; larger problems are processed in "
       "pieces or skipped. Automatic sizes then use cached rates only",
       kDevices},
      {"memory-pool-size-mb", 0, Kind::value, "N", "", kDevices, 0, OptionField(), "memory-pool",
       "MiB"},
      {"delay", 0, Kind::list, "DEV=TIME", "Delay the start of every slice on devices: 0=1ms",
       kDevices, in_plan},
      {"strategy", 's', Kind::list, "NAME,..",
       "Partition strategies: names, all (every one but auto), or auto; parameters follow a colon, "
       "dynamic:chunks=32 (default: all)",
       kWork, in_simulate | not_confirmed | important},
      {"load-balancing-strategy", 0, Kind::list, "NAME,..", "", kWork, 0, OptionField(),
       "strategy"},
      {"suites", 0, Kind::list, "NAME,..", "Suites to run if none is an argument (default: all)",
       kWork, not_confirmed},
      {"full", 0, Kind::flag, "",
       "Without suites: measure all of them in every mode under every strategy, instead of an "
       "overview of about a minute",
       kWork, not_confirmed | important},
      {"build-only", 0, Kind::flag, "",
       "Build the kernels, which fills the caches of the drivers, and measure nothing", kWork,
       not_confirmed},
      {"check-memory", 0, Kind::flag, "",
       "Run the kernels of --kernel at a small size under Oclgrind, which must be installed, name "
       "the first access outside of the arguments, and measure nothing",
       kWork, not_confirmed},
      {"size", 0, Kind::list, "N,..",
       "Problem sizes, such as 100000, 1e6, 2^20, 1M or 64Ki; auto: about 100 ms on the fastest "
       "device; sweep: a range up to that size, by default with -s capability (default: auto; "
       "with --quick small ones)",
       kWork, in_plan | not_confirmed | recorded | important, records_sizes()},
      {"sizes-of", 0, Kind::value, "RESULT",
       "Use the problem sizes of this result (or last), so that both can be compared", kWork,
       in_plan | not_confirmed | recorded, records_sizes_of()},
      {"mode", 0, Kind::value, "MODE",
       "resident: inputs are on the devices before the clock starts; end-to-end: all transfers "
       "are measured; both; all: also the modes that only one suite has (default: both)",
       kWork, in_plan | in_simulate | not_confirmed | important,
       OptionField{.words = mode_words(modes_of({}))}},
      {"seed", 0, Kind::value, "N", "Seed of random inputs (default: 1)", kWork, in_plan | recorded,
       sets_count(&SessionOptions::seed, 0)},
      {"integrity", 0, Kind::value, "LEVEL",
       "Recompute results on another device, outside the measured time, and name the device that "
       "differs: off, sample (one device's part per sample, each device in turn) or full (default: "
       "off)",
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
       "Read the input from this file instead of generating it (one suite, whose help describes "
       "the "
       "file; a comma separates several files)",
       kWork, in_plan},
      {"samples", 'n', Kind::value, "N",
       "Take exactly N samples per case (default: until the median is known to 1 %)", kMeasurement,
       in_simulate | recorded | important, sets_count(&StopRule::exactly, 1)},
      {"samples-of", 0, Kind::value, "RESULT",
       "Take at least 7 samples per case, and as many as the cases of this result (or last) have, "
       "whatever they cost, so that both can be compared",
       kMeasurement, 0, reads_samples_of()},
      {"warmup", 0, Kind::value, "N", "Executions before the first sample (default: 1)",
       kMeasurement, in_simulate | recorded, sets_count(&StopRule::warmup, 0)},
      {"quick", 0, Kind::flag, "", "Use small sizes, and 3 samples or 1 s per case", kMeasurement,
       recorded | important | in_links, sets_flag(&RunRequest::quick)},
      {"peer", 0, Kind::value, "PATH",
       "How devices exchange data: direct (into each other's memory), staged (through the host), "
       "host (CPUs) or auto (direct if possible) (default: auto)",
       kWork, in_plan | in_simulate | in_links | recorded, sets_peer_path()},
      {"timeout", 0, Kind::value, "TIME",
       "Treat a device that completes nothing for this long as hung, and give its work to the "
       "others: 500ms, 30s, 2m (default: 60s, or more if samples are predicted to be long)",
       kMeasurement, recorded | in_links | in_calibrate | in_devices | in_plan | in_check,
       sets_time(&SessionOptions::case_timeout)},
      {"sync-timeout-ms", 0, Kind::value, "N", "", kMeasurement, 0, OptionField(), "timeout", "ms"},
      {"build-timeout", 0, Kind::value, "TIME",
       "The same limit while a device is opened or builds its kernels (default: 5m)", kMeasurement,
       recorded | in_links | in_calibrate | in_devices | in_plan | in_check,
       sets_time(&SessionOptions::build_timeout)},
      {"time-limit", 0, Kind::value, "TIME", "Skip cases that have not started by then",
       kMeasurement, important, sets_time(&SessionOptions::time_limit)},
      {"live", 0, Kind::value, "TIME",
       "Show what samples do at this interval: iterations or items done, rate, shares, imbalance, "
       "and what the suite knows, such as the loss of pinn: on the progress line, or in lines if "
       "standard error is no terminal",
       kMeasurement, recorded, sets_time(&SessionOptions::live_every)},
      {"json-lines", 0, Kind::value, "STREAM",
       "Write the same as a JSON object per line (mgpu-bench schema event), every second or "
       "--live, to stdout, without tables, or stderr",
       kFiles, not_confirmed,
       sets_word(
           &RunRequest::json_lines,
           {{"none", JsonLines::none}, {"stdout", JsonLines::out}, {"stderr", JsonLines::err}})},
      {"objective", 0, Kind::value, "WHAT",
       "What -s auto and plan minimise: time, energy or edp (energy x time), by the measured power "
       "of "
       "each device (default: time)",
       kWork, in_plan | recorded, sets_objective()},
      {"energy", 0, Kind::flag, "",
       "Also measure the energy of each case, in a block of runs of about 4 s after its samples: "
       "joules per run and per unit of work, by the counters of the devices and of the host",
       kMeasurement, recorded, sets_flag(&SessionOptions::energy)},
      {"no-telemetry", 0, Kind::flag, "",
       "Do not sample clocks, power, temperature and load during the run", kMeasurement, in_check},
      {"result", 'o', Kind::value, "FILE",
       "Save the measurements as JSON, after every group of cases; compressed if the name ends in "
       ".gz; missing folders are created; - is standard output (default: a dated file in "
       "$XDG_STATE_HOME/mgpu-bench, which other commands accept as last)",
       kFiles, in_simulate | in_links | in_merge | not_confirmed | important},
      {"no-timeline", 0, Kind::flag, "",
       "Save no timelines, neither commands nor readings of telemetry: small files, for baselines "
       "in "
       "git",
       kFiles, in_simulate | in_merge | not_confirmed},
      {"no-save", 0, Kind::flag, "", "Without -o: save no dated result either", kFiles,
       in_links | not_confirmed},
      {"history", 0, Kind::value, "DIR",
       "Also append the measurements to the history in this folder, which mgpu-bench trend judges; "
       "it is created if missing",
       kFiles, not_confirmed},
      {"label", 0, Kind::list, "KEY=VALUE",
       "Save this text with the measurements; commit=1b4f0e9 is what is measured (default: HEAD of "
       "the git work tree of the current folder), rerun=yes a repetition for mgpu-bench trend",
       kFiles, not_confirmed},
      {"force", 0, Kind::flag, "", "Replace an older result even if nothing was measured", kFiles,
       in_links | not_confirmed},
      {"resume", 0, Kind::value, "RESULT",
       "Resume the interrupted or killed run that wrote RESULT (or last), with the same options",
       kFiles, not_confirmed},
      {"json", 0, Kind::flag, "", "Print that JSON, and nothing else, on standard output", kFiles,
       in_plan | in_simulate | in_links | in_report | in_check | not_confirmed | important},
      {"trace", 0, Kind::value, "FILE",
       "Save a timeline of every case for Perfetto or chrome://tracing", kFiles,
       in_simulate | not_confirmed | important},
      {"save-data", 0, Kind::value, "FILE", "Save the computed output (single problem only)",
       kFiles, not_confirmed | important},
      {"output", 0, Kind::value, "FILE", "", kFiles, not_confirmed, OptionField(), "", "",
       "not an option of run any more; --save-data FILE saves the computed output, -o FILE "
       "(--result) the measurements"},
      {"export", 0, Kind::list, "KIND=FILE",
       "Save for another tool: googlecpp, bmf, csv, samples, markdown or junit; the FILE - is "
       "standard "
       "output, which then has nothing else",
       kFiles, in_simulate | in_links | in_report | not_confirmed,
       OptionField{.words = kinds_in(export_kinds())}},
      {"require", 0, Kind::list, "EXPR",
       "Exit with code 3 unless this holds for every case, with 4 if noise leaves it open: "
       "efficiency>=0.9, time<=2ms, faults<1; dynamic:speedup>1.8 for one strategy, "
       "best:rate>=1e9 for the fastest of each table",
       kMeasurement, in_simulate | in_report | not_confirmed},
      {"columns", 0, Kind::list, "NAME,..",
       fmt::format("Columns of the tables, however wide: {}; or all (default: those that fit)",
                   fmt::join(run_column_names(), ", ")),
       kFiles, in_simulate | in_report | not_confirmed, chooses_columns(run_column_names())},
      {"per-device", 0, Kind::flag, "",
       "Add a table of the devices of each case: items, share, busy, upload, compute, download and "
       "waiting",
       kFiles, in_simulate | in_report | not_confirmed},
      {"dump-config", 0, Kind::flag, "",
       "Print the options given on the command line, in the environment and in --config as a file "
       "for --config; measure nothing",
       kFiles, not_confirmed},
      {"quiet", 'q', Kind::flag, "", "Print no progress; warnings stay", kFiles,
       in_simulate | in_links | in_check | not_confirmed, sets_flag(&RunRequest::quiet)},
      {"verbose", 'v', Kind::flag, "",
       "Print the devices, the telemetry that they provide, and a line per case", kFiles,
       in_simulate | not_confirmed, sets_flag(&RunRequest::verbose)},
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

// Returns the long form that most programs have of -o. `run` refuses it in this version, because it
// meant another file there.
OptionSpec output_alias() {
  OptionSpec alias{"output", 0, Kind::value, "FILE", "", kFiles, 0, OptionField(), "result"};
  alias.is_former = false;
  return alias;
}

std::string group_of(const SuiteInfo& suite) { return "Suite " + suite.name; }

// Returns the word that stands for the option's value in help: its choices if they are short.
std::string value_name(const SuiteOption& option) {
  constexpr std::size_t kMost = 40;
  switch (option.kind) {
    case SuiteOption::Kind::name: {
      const std::string choices = fmt::format("{}", fmt::join(option.values, "|"));
      return choices.size() <= kMost ? choices : "VALUE";
    }
    case SuiteOption::Kind::count:
      return "N";
    case SuiteOption::Kind::number:
      return "X";
    case SuiteOption::Kind::file:
      return "FILE";
    case SuiteOption::Kind::text:
      return "TEXT";
    case SuiteOption::Kind::list:
      return option.value_name;
    case SuiteOption::Kind::flag:
      break;
  }
  return "";
}

OptionSpec suite_option(const SuiteInfo& suite, const SuiteOption& own) {
  OptionSpec option{own.name, own.letter,      Kind::value,           value_name(own),
                    own.help, group_of(suite), in_plan | in_calibrate};
  option.suites = {suite.name};
  if (own.kind == SuiteOption::Kind::flag || own.kind == SuiteOption::Kind::list) {
    option.kind = own.kind == SuiteOption::Kind::flag ? Kind::flag : Kind::list;
    return option;
  }
  option.field.words = own.values;
  const bool listed = option.value_name == "VALUE" ||
                      (own.kind == SuiteOption::Kind::file && own.values.size() > 1);
  if (listed) option.help += fmt::format(": {}", fmt::join(own.values, ", "));
  option.help += fmt::format(" (default: {})", own.values.front());
  return option;
}

}  // namespace

OptionSpec color_option() {
  return {"color",
          0,
          Kind::value,
          "WHEN",
          "auto, always or never (default: auto)",
          kFiles,
          in_simulate | in_report | in_links | in_check | not_confirmed,
          OptionField{.words = {"auto", "always", "never"}}};
}

std::vector<OptionSpec> suite_options(const SuiteInfo& suite) {
  std::vector<OptionSpec> options;
  for (const SuiteOption& own : suite.options) options.push_back(suite_option(suite, own));
  options.push_back(
      {"input", 0, Kind::value, "FILE", "Read " + suite.input, group_of(suite), in_plan});
  OptionSpec& mode = options.emplace_back(OptionSpec{"mode", 0, Kind::value, "MODE",
                                                     "resident, end-to-end or both (default: both)",
                                                     group_of(suite), in_plan});
  mode.field.words = {"both", "resident", "end-to-end"};
  if (suite.modes.size() > 2) {
    mode.field.words = mode_words(modes_of(std::array{&suite}));
    mode.help = fmt::format("{}; both is resident and end-to-end (default: both)",
                            fmt::join(mode.field.words, ", "));
  }
  return options;
}

std::vector<OptionSpec> run_options(std::span<const SuiteInfo> suites) {
  std::vector<OptionSpec> options = own_run_options();
  std::vector<const SuiteInfo*> all;
  for (const SuiteInfo& suite : suites) all.push_back(&suite);
  named(options, "mode").field.words = mode_words(modes_of(all));
  for (const SuiteInfo& suite : suites) {
    for (const SuiteOption& own : suite.options) {
      const auto same = std::find_if(options.begin(), options.end(),
                                     [&](const OptionSpec& o) { return o.name == own.name; });
      if (same == options.end())
        options.push_back(suite_option(suite, own));
      else
        same->suites.push_back(suite.name);
    }
  }
  return options;
}

constexpr const char* kTimeoutHelp =
    "Treat a device that completes nothing for this long as hung: 500ms, 30s, 2m (default: 60s)";

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
      "Problem size, such as 100000, 1e6, 2^20, 1M or 64Ki; auto: about 100 ms on the fastest "
      "device by rates that calibrate or run cached, else the suite's default (default: auto)";
  return options;
}

std::vector<OptionSpec> simulate_options() {
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_simulate);
  options.push_back(output_alias());
  named(options, "mode").help =
      "resident, end-to-end, both or all, which is the same here (default: both)";
  named(options, "result").help =
      "Save the measurements as JSON, after every group of cases; compressed if the name ends in "
      ".gz";
  named(options, "samples").help =
      "Take exactly N samples per case (default: 3; they differ only if a strategy learns from "
      "them)";
  return options;
}

std::vector<OptionSpec> calibrate_options(std::span<const SuiteInfo> suites) {
  std::vector<OptionSpec> options = shared(run_options(suites), OptionSpec::in_calibrate);
  named(options, "timeout").help = kTimeoutHelp;
  options.push_back({"no-noise", 0, Kind::flag, "",
                     "Do not measure how much repeated medians of the same work differ", kDevices});
  options.push_back(
      {"energy", 0, Kind::flag, "",
       "Also measure the power of each device with the suites, which plan --objective "
       "needs: about 8 s each",
       kDevices});
  options.push_back({"tune", 0, Kind::flag, "",
                     "Also measure every kernel variant of the suites (kernels, tiles), and cache "
                     "the fastest one whose results are right",
                     kDevices});
  return options;
}

std::vector<OptionSpec> links_options() {
  constexpr const char* exchange = "Exchange";
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_links);
  options.push_back(output_alias());
  named(options, "device-counts").help =
      "Run collectives on the first N devices, for each N (default: all devices)";
  named(options, "quick").help = "Use less data, fewer repetitions and fewer sizes: a few seconds";
  named(options, "timeout").help = kTimeoutHelp;
  named(options, "peer").group = exchange;
  named(options, "peer").uses |= important;
  const OptionField ops = sets_collectives();
  options.push_back({"op", 0, Kind::list, "NAME,..",
                     fmt::format("Measure only these collectives, and no matrices: {} (default: "
                                 "matrices, latencies and a few sizes of all-reduce)",
                                 fmt::join(ops.words, ", ")),
                     exchange, important, ops});
  options.push_back(
      {"sizes", 0, Kind::list, "SIZE,..",
       "Data sizes of the collectives: 4KiB,1MiB; a range in steps of 2, 4KiB:1GiB, or "
       "of another factor, 4KiB:1GiB:4 (default: a few)",
       exchange, important});
  options.push_back({"compare-with", 0, Kind::value, "FILE",
                     "Print the times in this output of nccl-tests (all_reduce_perf and others) "
                     "beside those of the same collectives and sizes",
                     exchange, 0});
  options.push_back({"element", 0, Kind::value, "TYPE",
                     "Element type: u32, u64, f32 or f64 (default: f32)", exchange, 0,
                     sets_word(&LinksOptions::element, all_elements())});
  options.push_back({"redop", 0, Kind::value, "NAME", "Reduction: sum, min or max (default: sum)",
                     exchange, 0, sets_word(&LinksOptions::reduction, all_reductions())});
  return options;
}

std::vector<OptionSpec> check_options() {
  constexpr const char* kCheck = "Check";
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_check);
  named(options, "json").help =
      "Print as JSON (mgpu-bench schema check), and nothing else, on standard output";
  named(options, "timeout").help =
      "Treat a device that completes nothing for this long as hung: 500ms, 30s, 2m (default: a "
      "quarter of --time, at least 10s)";
  named(options, "slow").help =
      "Slow devices down on purpose, to see that they are found: 0=1.5, gpu=2; DEV is a rank among "
      "the chosen devices or any term of --devices";
  named(options, "no-telemetry").help =
      "Read neither clocks, power and temperature nor the load by other programs";
  options.push_back({"time", 0, Kind::value, "TIME", "Take about this long: 15s, 1m (default: 60s)",
                     kCheck, important});
  options.push_back({"works", 0, Kind::list, "NAME,..",
                     "Suites whose results must agree: merkle, matrix, msm, stencil (default: all "
                     "of these)",
                     kCheck, 0, OptionField{.words = {"merkle", "matrix", "msm", "stencil"}}});
  options.push_back({"baseline", 0, Kind::list, "FILE,..",
                     "Also compare with these earlier checks, of this machine or of others, by "
                     "model and driver: files of --save, or results of run and links",
                     kCheck, important});
  options.push_back({"save", 0, Kind::value, "FILE",
                     "Add devices and links that nothing was found about to this baseline, which "
                     "is made if it does not exist",
                     kCheck, important});
  options.push_back({"merge", 0, Kind::flag, "",
                     "Measure nothing: compare the nodes that the files are of", kCheck,
                     important});
  options.push_back(
      {"floor", 0, Kind::value, "SHARE",
       "Ignore differences up to this: 2%, 0.02 (default: 2% for devices, 10% for CPUs, "
       "5% for links)",
       kCheck, important});
  return options;
}

std::vector<OptionSpec> report_options() {
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_report);
  named(options, "json").help =
      "Print the result as JSON, uncompressed, and nothing else, on standard output";
  options.push_back(
      {"where", 0, Kind::list, "NAME=VALUE,..",
       "Only cases with this suite, strategy, mode, number of devices, status or parameter, in "
       "tables, exports, --json and --require: suite=merkle, leaves=2^20, strategy=equal,dynamic "
       "(one of both); terms that are repeated must all hold",
       kFiles, important});
  return options;
}

std::vector<OptionSpec> merge_options() {
  std::vector<OptionSpec> options = shared(own_run_options(), OptionSpec::in_merge);
  options.push_back(output_alias());
  OptionSpec& result = named(options, "result");
  result.help =
      "Save the merged result in this file; compressed if the name ends in .gz; missing folders "
      "are created; - is standard output";
  options.push_back(
      {"ignore-environment", 0, Kind::flag, "",
       "Merge results of different devices, drivers or machines, and say what differs", "",
       important});
  return options;
}

std::vector<OptionSpec> compare_options() {
  constexpr const char* gate = "Gate";
  constexpr const char* measuring = "Measuring";
  return {
      {"metrics", 0, Kind::list, "NAME,..",
       "Judge these: time, speedup, efficiency, imbalance, energy (default: show all that results "
       "have, judge the time)",
       gate, 0, OptionField{.words = {"time", "speedup", "efficiency", "imbalance", "energy"}}},
      {"floor", 0, Kind::value, "SHARE",
       "Ignore changes up to this size: 2%, 0.02 (default: 2%, or 10% for CPUs not measured "
       "interleaved; or the noise that calibrate found, if larger)",
       gate, important},
      {"alpha", 0, Kind::value, "SHARE",
       "Chance of a false alarm anywhere in the table, either way (default: 0.01)", gate},
      {"fail-on", 0, Kind::value, "WHAT",
       "regression: exit with code 3 if there is one, or if NEW lacks a case of BASE, 4 if a case "
       "is slower without a verdict, 2 if all have too few samples; inconclusive: also with 4 if "
       "any case has no verdict; nothing (default: regression)",
       gate, important, OptionField{.words = {"regression", "inconclusive", "nothing"}}},
      {"allow-missing", 0, Kind::flag, "",
       "Name cases of BASE that NEW lacks, but do not fail because of them", gate, important},
      {"ignore-environment", 0, Kind::flag, "",
       "Compare results of different devices, drivers or machines, and say what differs; NEW may "
       "then lack cases for more devices than it has",
       gate, important},
      {"ignore", 0, Kind::list, "FIELD,..",
       "Fields of the environment that may differ, as the refusal names them: driver_version, "
       "power_limit_w, cpu, host",
       gate, important},
      {"resamples", 0, Kind::value, "N", "Number of bootstrap resamples (default: 2000)", gate},
      {"seed", 0, Kind::value, "N", "Seed of the bootstrap (default: 1)", gate},
      {"confirm", 0, Kind::value, "N",
       "Measure cases that look slower N more times with this program; all must agree", measuring,
       important},
      {"interleave", 0, Kind::value, "ROUNDS",
       "Run BASE and NEW alternately, this many rounds; each is '[NAME=VALUE ...] [PROGRAM] "
       "[OPTION "
       "of run ...]'. More rounds are added if so few could not distinguish any two figures "
       "(except "
       "with --fail-on nothing)",
       measuring, important},
      {"round-value", 0, Kind::value, "VALUE",
       "Value that represents a round: median, or minimum, which varies less if other programs use "
       "the processor (default: median)",
       measuring, 0, OptionField{.words = {"median", "minimum"}}},
      {"with", 0, Kind::value, "OPTIONS",
       "Arguments of run for both: 'merkle -d cpu -s equal -n 5'", measuring, important},
      {"result", 'o', Kind::value, "FILE",
       "Save the comparison as JSON (mgpu-bench schema compare); compressed if the name ends in "
       ".gz; missing folders are created",
       kFiles, important},
      output_alias(),
      {"json", 0, Kind::flag, "", "Print that JSON, and nothing else, on standard output", kFiles,
       important},
      {"with-resamples", 0, Kind::flag, "", "Include in it the values that every resample drew",
       kFiles},
      {"columns", 0, Kind::list, "NAME,..",
       fmt::format(
           "Columns of the tables in addition to strategy, metric, BASE and NEW, however wide: "
           "{}; or all (default: those that fit)",
           fmt::join(comparison_column_names(), ", ")),
       kFiles, 0, chooses_columns(comparison_column_names())},
      {"only", 0, Kind::value, "WHAT",
       "changed: show only regressions, improvements and what is slower without a verdict, the "
       "largest change first",
       kFiles, important, OptionField{.words = {"changed"}}},
      {"markdown", 0, Kind::value, "FILE",
       "Save the comparison as Markdown, for $GITHUB_STEP_SUMMARY", kFiles, important},
      {"export", 0, Kind::list, "KIND=FILE",
       fmt::format("Write a file for a CI service (- is standard output): {}",
                   fmt::join(comparison_export_kinds(), ", ")),
       kFiles, important, OptionField{.words = kinds_in(comparison_export_kinds())}},
      {"quiet", 'q', Kind::flag, "", "Print no progress; warnings stay", kFiles},
      color_option(),
  };
}

std::vector<OptionSpec> gate_options() {
  constexpr const char* kGate = "Gate";
  std::vector<OptionSpec> options{
      {"with", 0, Kind::value, "OPTIONS",
       "Arguments of run: 'merkle -s equal' (default: those of the first BASE)", kGate, important},
      {"new", 0, Kind::value, "FILE",
       "Where what is measured is kept (default: the first BASE with .new before .json)", kGate,
       important},
      {"interleave", 0, Kind::flag, "",
       "Compare two builds that are run alternately: on machines where a saved baseline says "
       "little",
       kGate, important},
      {"history", 0, Kind::value, "DIR",
       "Add the run to this history, and fail if its trend has got worse (mgpu-bench trend)", kGate,
       important},
      {"rounds", 0, Kind::value, "N",
       "With --interleave: rounds of both (default: 12; without a GPU 48, of which the least times "
       "count, with a floor of 10%)",
       kGate, important}};
  for (OptionSpec& option : compare_options())
    if (option.name != "interleave" && option.name != "with") options.push_back(std::move(option));
  return options;
}

}  // namespace mgpu
