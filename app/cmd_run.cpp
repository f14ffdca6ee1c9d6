// `mgpu-bench run`: from options to a session. app/finish_run.hpp saves and prints its report.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "app/calibrations.hpp"
#include "app/child_run.hpp"
#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/finish_run.hpp"
#include "app/hot_plug.hpp"
#include "app/resume.hpp"
#include "app/run_observer.hpp"
#include "app/run_request.hpp"
#include "app/saved_results.hpp"
#include "app/signals.hpp"
#include "app/sizes.hpp"
#include "app/terminal.hpp"
#include "app/time_estimate.hpp"
#include "lib/base/add_once.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/error.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/record_json.hpp"
#include "lib/session/configuration.hpp"
#include "lib/session/recorded_params.hpp"
#include "lib/session/session.hpp"

namespace mgpu {
namespace {

// Begins a journal next to the result file, unless that is a pipe or another special file. Without
// a journal the run only lacks --resume. An overview takes a minute, and has none.
void begin_journal(const RunRequest& request, std::optional<Earlier> earlier, Report& begun,
                   RunObserver& observer, SessionOptions& session) {
  if (!request.result_file || request.overview) return;
  const std::filesystem::path& result = *request.result_file;
  const std::filesystem::path file = journal_of(result);
  const Configuration configuration = configuration_of(session, begun);
  std::error_code error;
  if (earlier) {
    go_on(*earlier, result, configuration, session, begun);
    observer.keep(std::make_unique<JournalWriter>(file, earlier->journal), begun.runs.size());
    return;
  }
  if (!request.outputs.at(result).is_replaced()) return;
  if (std::filesystem::exists(file, error))
    observer.warning(fmt::format(
        "an unfinished run had left {}, which is overwritten: --resume would have gone on",
        file.string()));
  begun.id = random_id();
  try {
    observer.keep(std::make_unique<JournalWriter>(
                      file, JournalHeader{begun.id, 1, 0, 0, 0, begun.tool.argv, configuration}),
                  0);
  } catch (const Error& unwritable) {
    observer.warning(fmt::format("{}: this run cannot be resumed", unwritable.what()));
  }
}

std::string left_by(const Earlier& earlier) {
  std::size_t samples = 0;
  for (const auto& [number, group] : earlier.journal.groups) samples += group.samples.size();
  return fmt::format("{} cases are finished, {} samples of others are kept",
                     earlier.journal.header.rows, samples);
}

// Returns the sizes that a resumed run began with; else those of --sizes-of.
KnownSizes known_sizes(const RunRequest& request, const std::optional<Earlier>& earlier,
                       std::span<const SuiteInfo> suites) {
  if (earlier) return sizes_of(earlier->journal.header.configuration, suites);
  return request.sizes_of ? sizes_of(read_report(*request.sizes_of), suites) : KnownSizes();
}

// Returns the samples that each group takes at least: as many as a case of it has in the result,
// and no fewer than can decide a comparison.
std::map<std::string, std::size_t> fewest_samples(const Report& like) {
  constexpr std::size_t kFewest = 7;
  std::map<std::string, std::size_t> fewest;
  for (const RunRecord& run : like.runs) {
    std::size_t& least = fewest[group_name(run)];
    least = std::max({least, kFewest, run.samples.size()});
  }
  return fewest;
}

ExitCode too_few(std::size_t found, std::uint64_t required) {
  print_error(fmt::format("{} devices found, --require-devices asks for {}", found, required));
  return ExitCode::too_few_devices;
}

void tell_devices(const std::vector<Device>& devices) {
  for (const Device& device : devices)
    print_error(fmt::format("device {}: {}, {}, driver {}", device.id, device.name, device.platform,
                            device.driver_version));
}

void tell_telemetry(const TelemetryRecord& telemetry) {
  if (telemetry.interval <= Nanos{}) print_error("telemetry: none, " + telemetry.reason);
  for (const WatchedRecord& one : telemetry.watched)
    print_error(fmt::format("telemetry of {}: {}", one.of,
                            one.source.empty()    ? "none, " + one.reason
                            : one.source == kHost ? "the host's"
                            : one.reason.empty()  ? "by " + one.source
                                                  : "by " + one.source + ", " + one.reason));
}

// Caps the memory of all devices, as --cap-memory does for one; the smaller cap applies. The record
// names it. Freed memory is kept for later buffers.
void limit_memory(const std::optional<Bytes>& most, std::vector<Handicap>& handicaps) {
  if (!most) return;
  for (Handicap& handicap : handicaps) {
    handicap.keeps_freed = true;
    handicap.memory_cap = std::min(*most, handicap.memory_cap.value_or(*most));
  }
}

// Gives the problems the memory that caps leave to each device. Throws if a size was given that the
// devices of the largest count cannot do together.
void set_memory(const RunRequest& request, SessionOptions& session) {
  std::vector<Device> devices;
  for (std::size_t i = 0; i < session.devices.size(); ++i)
    devices.push_back(limited(session.devices[i],
                              i < session.handicaps.size() ? session.handicaps[i] : Handicap{}));
  const std::size_t most = std::min(devices.size(), std::ranges::max(session.device_counts));
  for (Problem& problem : session.problems) {
    problem.params.memory = memory_of(devices);
    if (request.sizes != Sizes::given || problem.suite->check == nullptr) continue;
    SuiteParams together = problem.params;
    together.devices = most;
    together.memory.resize(most);
    problem.suite->check(together);
  }
}

// Adds the caveats of the suites to the warnings, each once.
void add_doubts(const std::vector<Problem>& problems, std::vector<std::string>& warnings) {
  for (const Problem& problem : problems) {
    if (problem.suite->optional.caveats == nullptr) continue;
    for (std::string& doubt : problem.suite->optional.caveats(problem.params))
      add_once(warnings, std::move(doubt));
  }
}

// Returns the part of a file's name that stands for the suites.
std::string suites_measured(const RunRequest& request, std::size_t all) {
  std::vector<std::string> suites;
  for (const Problem& problem : request.session.problems) {
    add_once(suites, problem.suite->name);
  }
  return suites_word(suites, all);
}

// Drops all strategies but that of a single device if there is one device, unless strategies were
// named: there they all do the same.
void leave_out_splitting(const Settings& settings, const DeviceSet& set, RunRequest& request) {
  if (set.devices.size() > 1 || request.session.strategies.size() < 2 || settings.is_on("hot-plug"))
    return;
  const Device& device = set.devices.front();
  const StrategyChoice single = strategy_with(&StrategyTraits::single_device);
  const bool named = settings.has("strategy");
  if (!named) request.session.strategies = {single};
  if (request.quiet) return;
  std::string several;
  if (device.can_be_split()) {
    several = fmt::format("; --sub-devices {} makes that many of this CPU",
                          std::min(device.compute_units, kMostDefaultParts));
  } else if (set.reserve) {
    several = "; -d all takes the CPU too";
  }
  print_error(fmt::format(
      "there is one device, {} ({}), so there is nothing to split: {}{}", device.id, device.name,
      named ? "every strategy gives it all of the work"
            : fmt::format("only the strategy {} is measured (-s all: every one)", single.label()),
      several));
}

// Warns if PoCL cannot write its cache: then it is not the kernel's fault that it does not build.
void tell_of_cache(const Report& report, const Environment& environment) {
  const bool unbuilt =
      std::any_of(report.runs.begin(), report.runs.end(), [](const RunRecord& run) {
        return run.reason && run.reason->find("does not build") != std::string::npos;
      });
  const bool pocl = std::any_of(
      report.devices.begin(), report.devices.end(),
      [](const DeviceRecord& record) { return record.device.platform == kPoclPlatform; });
  if (!unbuilt || !pocl) return;
  if (const std::string trouble = pocl_cache_trouble(environment); !trouble.empty())
    print_error("warning: " + trouble);
}

// Builds the kernels of all suites in another process while the first are measured, the last first.
// One of equal devices is enough, as drivers cache binaries. Does nothing if there are CPUs, which
// need their cores to measure, and leaves out devices of other nodes.
class Builder {
 public:
  Builder(const RunRequest& request, const Settings& settings) {
    const std::vector<Device>& devices = request.session.devices;
    if (settings.is_on("no-cache") || !request.overview ||
        std::any_of(devices.begin(), devices.end(), [](const Device& d) { return d.is_cpu(); }))
      return;
    command_.words = {std::filesystem::canonical("/proc/self/exe").string(), "run"};
    for (const Problem& problem : request.session.problems)
      command_.words.insert(command_.words.begin() + 2, problem.suite->name);
    for (const char* word : {"--build-only", "--quiet", "--no-telemetry", "-d"})
      command_.words.emplace_back(word);
    std::set<std::string> names;
    std::string ids;
    for (const Device& device : devices)
      if (device.id.find('/') == std::string::npos && names.insert(device.name).second)
        ids += (ids.empty() ? "" : ",") + device.id;
    command_.words.push_back(ids);
    command_.environment = environment_with({"MGPU_MPI=none"});  // it is no rank
    command_.stop = [this] { return done_ || stop_signal() != 0; };
    thread_ = std::jthread([this] {
      try {
        run_child_process(command_);
      } catch (const Error&) {
        // The kernels are then built when they are needed.
      }
    });
  }
  ~Builder() { done_ = true; }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

 private:
  ChildCommand command_;
  std::atomic<bool> done_ = false;
  std::jthread thread_;  // last: it uses the others
};

// Sets what an overview measures: the split that is predicted to be fastest and equal shares, next
// to each device alone, of problems that are so small that the samples of each suite and its
// verification take about a second.
void make_overview(const Settings& settings, std::size_t devices, RunRequest& request) {
  SessionOptions& session = request.session;
  session.modes = {Mode::resident};
  session.strategies = parse_strategies("equal,auto:least=2");
  const StopRule rule = StopRule::overview(devices);
  if (!settings.has("samples")) session.stop = rule;
  if (!settings.has("verify")) session.verify = VerifyLevel::sample;
  SizeLimits limits;
  limits.aim = rule.most_time / rule.least;
  limits.slowest = std::chrono::seconds(1);
  limits.input = Bytes{512} << 20;
  // Each device alone and both splits are verified.
  constexpr Nanos one = std::chrono::milliseconds(600), all = 4 * one;
  limits.host = std::min(one, all / static_cast<Nanos::rep>(devices + 2));
  limits.host_memory = host_memory() / 2;
  limits.devices =
      (devices + 1) / 2;  // four granules per device, not eight: pac takes half as long
  session.sizes_within = limits;
}

}  // namespace

ExitCode cmd_run(const Context& context) {
  outlive_readers();
  const Settings& settings = context.invocation.settings;
  RunRequest request = read_run_request(context.invocation, context.suites, host_memory());
  if (settings.is_on("dump-config")) {
    Settings asked = settings;
    const std::string suites = fmt::format("{}", fmt::join(context.invocation.arguments, ","));
    if (!suites.empty()) asked.replace("suites", suites);
    print_data(as_config(asked, run_options(context.suites)));
    return ExitCode::ok;
  }
  std::optional<Earlier> earlier;
  if (request.resumes) {
    earlier = read_earlier(*request.result_file);
    if (earlier->complete) {
      print_error(
          fmt::format("{} is complete: nothing is left to measure", request.result_file->string()));
      return ExitCode::ok;
    }
  }
  const TableStyle style = table_style(settings, context.environment);
  const std::unique_ptr<Backend> backend = context.make_backend();
  const Nanos begun_at = backend->now();
  DeviceSet set;
  try {
    set = choose_devices(*backend, context);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_device || request.require_devices == 0) throw;
    return too_few(0, request.require_devices);
  }
  if (set.devices.size() < request.require_devices)
    return too_few(set.devices.size(), request.require_devices);
  request.session.device_counts = device_counts(request, set.devices.size(), set.warnings);
  if (request.overview) make_overview(settings, set.devices.size(), request);
  {
    const auto& limit = request.session.time_limit;
    WaitLimits waits = backend->limits();
    if (limit) {
      waits.stop = [stop = waits.stop, &backend, until = begun_at + *limit] {
        return backend->now() >= until || (stop && stop());
      };
    }
    const LimitsInForce in_time(*backend, waits);
    if (request.samples_of)
      request.session.fewest_samples = fewest_samples(read_report(*request.samples_of));
    choose_sizes(context, *backend, set.devices, std::ranges::max(request.session.device_counts),
                 known_sizes(request, earlier, context.suites), !request.memory_pool, request,
                 set.warnings);
    calibrate_for_run(context, *backend, set.devices, request.session, set.warnings,
                      !request.memory_pool && !settings.is_on("build-only"));
  }
  if (auto& limit = request.session.time_limit)  // time spent so far counts
    limit = std::max(Nanos{}, *limit - (backend->now() - begun_at));
  request.session.handicaps = handicaps_of(request.handicaps, set.devices);
  limit_memory(request.memory_pool, request.session.handicaps);
  leave_out_splitting(settings, set, request);
  if (settings.is_on("hot-plug"))
    request.session.find_devices = finder_of_devices(settings, set.devices);
  request.session.devices = std::move(set.devices);
  request.session.reserve = std::move(set.reserve);
  set_memory(request, request.session);

  Report begun;
  begun.tool = context.tool;
  begun.environment = describe_environment(context.environment);
  begun.options = recorded_options(request, run_options(context.suites));
  if (request.overview) begun.options["overview"] = std::int64_t{1};
  begun.timelines = !settings.is_on("no-timeline");
  begun.started = utc_now();
  begun.labels = request.labels;
  begun.defaults = default_params(request.session.problems);
  request.session.only_builds = settings.is_on("build-only");
  if (!request.session.only_builds)
    keep_result(context, begun.started, suites_measured(request, context.suites.size()), request,
                set.warnings);
  if (!request.overview) add_doubts(request.session.problems, set.warnings);
  RunObserver observer(RunObserver::options_of(request, style, context.environment));
  for (const std::string& warning : set.warnings) observer.warning(warning);
  const std::string left = earlier ? left_by(*earlier) : "";
  begin_journal(request, std::move(earlier), begun, observer, request.session);
  if (request.resumes && !request.quiet)
    print_error(fmt::format("{}: run {} continues: {}", request.result_file->string(),
                            request.session.continued->run, left));
  if (request.verbose && !request.quiet) tell_devices(request.session.devices);
  std::vector<std::string> announced;
  if (!request.overview)
    announced =
        unsplit_problems(request.session.problems, std::ranges::max(request.session.device_counts));
  announced.insert(announced.begin(), time_estimate(request.session));
  const std::string announcement = fmt::format("{}", fmt::join(announced, "\n"));
  if (request.overview && !request.session.only_builds)
    observer.remark(announcement);  // it has no input that may be wrong
  else if (!request.session.only_builds)
    observer.announce(announcement);
  const Builder builder(request, settings);
  Report report;
  try {
    report = run_session(*backend, request.session, std::move(begun), observer);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage)
      observer.drop_journal();
    throw;
  }
  stopped_in_time();
  if (observer.has_found_devices() && request.result_file) {
    observer.clear_line();
    begin_again(context, *request.result_file);
  }
  if (request.session.only_builds) {
    if (!request.quiet) print_error("the kernels are built");
    return ExitCode::ok;
  }
  tell_of_cache(report, context.environment);
  const ExitCode code = finish_run(report, request, observer, style);
  if (request.verbose && !request.quiet) tell_telemetry(report.telemetry);
  return code;
}

}  // namespace mgpu
