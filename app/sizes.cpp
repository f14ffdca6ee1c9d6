#include "app/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/calibrations.hpp"
#include "app/environment.hpp"
#include "app/problems.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/predict/size_choice.hpp"

namespace mgpu {
namespace {

// Returns one device of each kind: devices of one kind are equally fast.
std::vector<Device> kinds_of(std::span<const Device> devices) {
  std::vector<Device> kinds;
  for (const Device& device : devices) {
    if (std::none_of(kinds.begin(), kinds.end(),
                     [&](const Device& known) { return same_kind(known, device); }))
      kinds.push_back(device);
  }
  return kinds;
}

class Chooser {
 public:
  Chooser(const Context& context, Backend& backend, std::span<const Device> devices,
          std::size_t most, bool measures, RunRequest& request, std::vector<std::string>& warnings)
      : store_(calibration_store(context)),
        backend_(backend),
        all_(devices.begin(), devices.end()),
        kinds_(kinds_of(devices)),
        most_(most),
        measures_(measures),
        settings_(context.invocation.settings),
        afresh_(settings_.is_on("recalibrate")),
        request_(request),
        warnings_(warnings) {}

  // Returns the sizes to measure of a problem, ascending.
  std::vector<std::uint64_t> sizes_of(const Problem& problem) {
    const SuiteInfo& suite = *problem.suite;
    if (request_.sizes == Sizes::quick)
      return {size_to_split(problem, quick_size_of(problem), most_)};
    if (!stopped_) add_rates(problem);
    if (const auto own = own_problem(problem); own && request_.sizes != Sizes::sweep)
      return {own->size};
    if (stopped_) return {suite.quick_size};  // nothing will be measured
    const std::vector<SizedDevice> devices =
        sized_devices(problem, kinds_, request_.session.suite_rates);
    if (devices.empty()) {
      say(fmt::format(
          "{}: {}, the default, as no rate is known here (mgpu-bench calibrate measures them)",
          suite.name, format_counted(suite.default_size, suite.size_name)));
      return {suite.default_size};
    }
    SizeLimits limits;
    limits.host_memory = host_memory() / 2;
    limits.devices = most_;
    const ChosenSize chosen = choose_size(problem, devices, limits);
    say(fmt::format("{}: {}, about {} on {} alone{}", suite.name,
                    format_counted(chosen.size, suite.size_name), format_duration(chosen.expected),
                    devices[chosen.fastest].name, because(chosen, limits)));
    if (request_.sizes != Sizes::sweep) return {chosen.size};
    return sweep_sizes(problem, devices, chosen.size);
  }

 private:
  void add_rates(const Problem& problem) {
    SuiteRates& rates = request_.session.suite_rates;
    if (problem.suite->shape == nullptr) return;
    // All devices are measured for suites of descriptors, whose rates `calibrate` does not measure
    // although plan needs those of every device.
    const std::vector<Device>& measured = problem.suite->descriptors ? all_ : kinds_;
    bool missing = afresh_;
    for (const Device& device : measured) {
      const std::string work = work_of(problem_of_reference_size(problem, device.is_cpu()));
      if (rates.contains({work, device.id}) || afresh_) continue;
      const auto cached = store_.load_suite(device, work, warnings_);
      const bool good = cached && !(cached->busy && measures_);
      if (good) rates[{work, device.id}] = *cached;
      missing |= !good;
    }
    if (!missing || !measures_) return;
    const bool caches = !settings_.is_on("no-cache");
    say(fmt::format("{}: measuring how fast it runs here{}{}", problem.suite->name,
                    problem.suite->descriptors ? "" : ", to choose its size",
                    caches ? "; the rate is cached" : ""));
    try {
      calibrate_problem(backend_, measured, problem, store_, rates, warnings_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      stopped_ = true;  // the session sees the stop signal or the time limit, too
    }
  }

  static std::string because(const ChosenSize& chosen, const SizeLimits& limits) {
    if (chosen.doubtful)
      return fmt::format(
          "; of that, more than {} does not depend on the size, as on a busy "
          "machine: mgpu-bench calibrate --recalibrate measures the rate again",
          format_duration(limits.aim));
    if (chosen.limit != SizeLimit::none && chosen.beyond)
      return ", the smallest there is, although it is beyond a limit";
    switch (chosen.limit) {
      case SizeLimit::input:
        return fmt::format("; more would be an input above {}",
                           format_bytes(static_cast<double>(limits.input)));
      case SizeLimit::host_time:
        return fmt::format("; more would take the host above {} to prepare and verify",
                           format_duration(limits.host));
      case SizeLimit::host_memory:
        return "; more would take over half of this machine's memory";
      case SizeLimit::device_memory:
        return "; more would not fit on a device alone";
      case SizeLimit::slow_device:
        return fmt::format("; more would take the slowest device above {}",
                           format_duration(limits.slowest));
      case SizeLimit::none:
        break;
    }
    return "";
  }

  void say(const std::string& text) const {
    if (!request_.quiet) print_error(text);
  }

  CalibrationStore store_;
  Backend& backend_;
  std::vector<Device> all_, kinds_;
  std::size_t most_;
  bool measures_;
  const Settings& settings_;
  bool afresh_, stopped_ = false;
  RunRequest& request_;
  std::vector<std::string>& warnings_;
};

void add(KnownSizes& known, const std::string& suite, std::uint64_t size) {
  std::vector<std::uint64_t>& sizes = known[suite];
  const auto at = std::lower_bound(sizes.begin(), sizes.end(), size);
  if (at == sizes.end() || *at != size) sizes.insert(at, size);
}

}  // namespace

KnownSizes sizes_of(const Report& report, std::span<const SuiteInfo> suites) {
  KnownSizes known;
  for (const RunRecord& run : report.runs) {
    const auto suite = std::find_if(suites.begin(), suites.end(),
                                    [&](const SuiteInfo& info) { return info.name == run.suite; });
    if (suite == suites.end() || run.params.contains("input")) continue;
    const auto size = run.params.find(suite->size_name);
    if (size == run.params.end()) continue;
    if (const auto* count = std::get_if<std::int64_t>(&size->second);
        count != nullptr && *count >= 0)
      add(known, run.suite, static_cast<std::uint64_t>(*count));
  }
  return known;
}

KnownSizes sizes_of(const Configuration& configuration, std::span<const SuiteInfo> suites) {
  KnownSizes known;
  // Entries are "problem 2": "merkle", then "problem 2, leaves": "1024".
  for (const auto& [name, value] : configuration) {
    const auto suite =
        std::find_if(suites.begin(), suites.end(),
                     [&, text = value](const SuiteInfo& info) { return info.name == text; });
    if (suite == suites.end() || !name.starts_with("problem")) continue;
    const auto size = std::find_if(configuration.begin(), configuration.end(),
                                   [&, who = name](const auto& entry) {
                                     return entry.first == who + ", " + suite->size_name;
                                   });
    if (size != configuration.end()) add(known, suite->name, parse_count("--resume", size->second));
  }
  return known;
}

namespace {

// Gives every problem of the request its sizes.
void add_sizes(Chooser& chooser, const KnownSizes& known, RunRequest& request) {
  const std::string from = request.sizes_of ? "--sizes-of" : "--size";
  std::vector<Problem> all;
  for (const Problem& problem : request.session.problems) {
    const auto found = known.find(problem.suite->name);
    for (const std::uint64_t size :
         found != known.end() ? found->second : chooser.sizes_of(problem)) {
      all.push_back(problem);
      complete_problem(all.back(), size, from, host_memory());
    }
  }
  request.session.problems = std::move(all);
  if (request.session.result_file && request.session.problems.size() > 1)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "--save-data: it saves the output of one problem, but {} names {} sizes; name one with "
            "--size",
            from, request.session.problems.size()));
}

}  // namespace

void choose_sizes(const Context& context, Backend& backend, std::span<const Device> devices,
                  std::size_t most, const KnownSizes& known, bool measures, RunRequest& request,
                  std::vector<std::string>& warnings) {
  if (request.sizes == Sizes::given || request.session.sizes_within) return;
  Chooser chooser(context, backend, devices, most, measures, request, warnings);
  add_sizes(chooser, known, request);
}

std::vector<std::string> unsplit_problems(std::span<const Problem> problems, std::size_t devices) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems) {
    const std::string why = too_few_pieces(problem, devices);
    if (why.empty()) continue;
    const std::uint64_t size = problem.params.size, larger = size_to_split(problem, size, devices);
    const bool helps = larger > size && !problem.params.input;
    lines.push_back(fmt::format(
        "{} of {}: {}{}", problem.suite->name, format_counted(size, problem.suite->size_name), why,
        helps ? fmt::format("; --size {} can be", format_count(larger)) : std::string()));
  }
  return lines;
}

}  // namespace mgpu
