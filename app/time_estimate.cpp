#include "app/time_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "lib/base/quote.hpp"
#include "lib/predict/size_choice.hpp"

namespace mgpu {
namespace {

// All times are in seconds.
constexpr double kAroundCase = 0.25;  // probes, checking the result
constexpr double kWarmUp = 2;         // samples that do not count, of each case
constexpr double kAroundProblem = 1;  // inputs, kernels that were built before
constexpr double kRateOfCpu = 0.5;    // its rate is measured in each run
constexpr double kUnknownSample = 0;  // for a lower bound

bool has_mode(const Problem& problem, Mode mode) {
  return std::find(problem.suite->modes.begin(), problem.suite->modes.end(), mode) !=
         problem.suite->modes.end();
}

// Returns the number of rows of one table.
std::size_t rows(const SessionOptions& session) {
  return session.strategies.size() * session.device_counts.size();
}

// Returns the number of cases that are sampled for one table. A single-device strategy needs no
// samples of its own: every device is measured alone anyway.
std::size_t cases_of_group(const SessionOptions& session) {
  const auto singles =
      std::count_if(session.strategies.begin(), session.strategies.end(),
                    [](const StrategyChoice& choice) { return choice.info->traits.single_device; });
  return rows(session) - static_cast<std::size_t>(singles) * session.device_counts.size() +
         session.devices.size();
}

struct KnownTimes {
  std::vector<double> alone;  // of a resident sample, by device
  double host = 0;            // to prepare and to verify the problem
};

// Returns the times of the problem by the rates of its devices, or of devices like them; none if
// one has none.
std::optional<KnownTimes> known_times(const SessionOptions& session, const Problem& problem) {
  if (problem.suite->shape == nullptr || problem.params.input) return std::nullopt;
  KnownTimes times;
  for (std::size_t i = 0; i < session.devices.size(); ++i) {
    const Device& device = session.devices[i];
    const std::string work = work_of(problem_of_reference_size(problem, device.is_cpu()));
    const SuiteRate* rate = nullptr;
    for (const Device& like : session.devices) {
      const auto found = session.suite_rates.find({work, like.id});
      if (found != session.suite_rates.end() && same_kind(device, like)) rate = &found->second;
    }
    const auto rated = rate != nullptr ? rated_times(problem, *rate) : std::nullopt;
    if (!rated) return std::nullopt;
    const bool slow = i < session.handicaps.size() && session.handicaps[i].slows_always();
    times.alone.push_back(seconds(rated->sample) * (slow ? session.handicaps[i].slow : 1));
    times.host = std::max(times.host, seconds(rated->host));
  }
  return times;
}

// Returns the time of a sample on the first `count` devices: of equal shares, or of good ones.
double time_of_split(std::span<const double> alone, std::size_t count, bool equal) {
  double slowest = 0, rates = 0;
  for (const double time : alone.first(count)) {
    slowest = std::max(slowest, time);
    rates += 1 / time;
  }
  return equal ? slowest / static_cast<double>(count) : 1 / rates;
}

// Returns the time of a case whose samples take so long; with kUnknownSample a lower bound.
double time_of_case(const StopRule& stop, bool cpus, double sample) {
  constexpr double kFewest = 3;
  // Intervals on a CPU rarely become narrow enough before the stop rule's limit, as other programs
  // sometimes take its cores.
  const double enough =
      cpus ? seconds(stop.most_time)
           : std::min(std::max(static_cast<double>(stop.least) * sample, seconds(stop.least_time)),
                      seconds(stop.most_time));
  const double samples = stop.exactly > 0 ? static_cast<double>(stop.exactly) * sample
                                          : std::max(kFewest * sample, enough);
  return samples + kWarmUp * sample + (sample > 0 ? kAroundCase : 0);
}

// Returns the time of all cases of the problem in one mode. A single-device strategy needs no
// samples of its own: every device is measured alone anyway.
double time_of_group(const SessionOptions& session, const std::optional<KnownTimes>& known,
                     bool cpus) {
  double time = 0;
  for (std::size_t i = 0; i < session.devices.size(); ++i)
    time += time_of_case(session.stop, cpus, known ? known->alone[i] : kUnknownSample);
  for (const std::size_t count : session.device_counts) {
    for (const StrategyChoice& choice : session.strategies) {
      const StrategyTraits& traits = choice.info->traits;
      if (traits.single_device) continue;
      time += time_of_case(
          session.stop, cpus,
          known ? time_of_split(known->alone, count, traits.equal_shares) : kUnknownSample);
    }
  }
  return time;
}

// Lists each suite once, in order: "merkle (3 sizes)".
std::string suites_in_words(const SessionOptions& session) {
  std::vector<std::pair<std::string, std::size_t>> suites;
  for (const Problem& problem : session.problems) {
    if (suites.empty() || suites.back().first != problem.suite->name)
      suites.emplace_back(problem.suite->name, 0);
    ++suites.back().second;
  }
  std::vector<std::string> words;
  for (const auto& [name, sizes] : suites)
    words.push_back(name + (sizes > 1 ? fmt::format(" ({} sizes)", sizes) : ""));
  return in_words(words);
}

std::string modes_in_words(const SessionOptions& session) {
  std::vector<std::string> words;
  for (const Mode& mode : session.modes) words.push_back(words_of(mode));
  return in_words(words);
}

// Tells whether all devices are sub-devices of one device.
bool are_parts(const std::vector<Device>& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
    const std::size_t dot = device.id.find('.');
    return dot != std::string::npos &&
           device.id.substr(0, dot + 1) == devices.front().id.substr(0, dot + 1);
  });
}

// Returns "2 devices: 0:0.0 and 0:0.1 (parts of AMD EPYC 7B13)" or "9 devices: 0:0, 0:1, 0:2 and 5
// more (NVIDIA H200), 1:0 (AMD EPYC 7B13)".
std::string devices_in_words(const SessionOptions& session) {
  const auto& devices = session.devices;
  std::string text = fmt::format("{} device{}: ", devices.size(), devices.size() == 1 ? "" : "s");
  std::vector<std::string> alike;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    alike.push_back(devices[i].id);
    if (i + 1 < devices.size() && devices[i + 1].name == devices[i].name) continue;
    text += fmt::format("{} ({}{}){}", first_few(alike), are_parts(devices) ? "parts of " : "",
                        devices[i].name, i + 1 < devices.size() ? ", " : "");
    alike.clear();
  }
  return text;
}

// Returns the time of an overview. It is fitted to runs on one, two and four H100 and on one and
// two cores of a Xeon (results/overview.md); of the latter, whose kernels may have been built
// before, between both.
Nanos time_of_overview(const SessionOptions& session) {
  struct Allowance {
    double alone, several, each, first, slowed;  // in s per problem; `slowed` is a factor
  };
  constexpr Allowance kGpus{1.5, 2.5, 0.25, 0.95, 1.1}, kCpus{2.4, 3.6, 0.25, 0, 1.2};
  const bool cpus = std::any_of(session.devices.begin(), session.devices.end(),
                                [](const Device& d) { return d.is_cpu(); });
  const Allowance& of = cpus ? kCpus : kGpus;
  const auto devices = static_cast<double>(session.devices.size());
  double time = devices > 1 ? of.several + of.each * devices : of.alone;
  if (session.first_use) time += of.first;
  if (std::any_of(session.handicaps.begin(), session.handicaps.end(),
                  [](const Handicap& handicap) { return handicap.slows_always(); }))
    time *= of.slowed;
  return from_seconds(static_cast<double>(session.problems.size()) * time);
}

}  // namespace

std::string about(Nanos time) {
  const double s = seconds(time);
  if (s < 1) return "under 1 s";
  return s < 90     ? fmt::format("about {:.0f} s", s)
         : s < 5400 ? fmt::format("about {:.0f} min", s / 60)
                    : fmt::format("about {:.1f} h", s / 3600);
}

std::size_t rows_of_session(const SessionOptions& session) {
  return rows(session) *
         (groups_to_measure(session) + (session.continued ? session.continued->groups : 0));
}

std::size_t groups_to_measure(const SessionOptions& session) {
  std::size_t groups = 0;
  for (const Problem& problem : session.problems) {
    groups +=
        static_cast<std::size_t>(std::count_if(session.modes.begin(), session.modes.end(),
                                               [&](Mode mode) { return has_mode(problem, mode); }));
  }
  return groups - std::min(groups, session.continued ? session.continued->groups : 0);
}

std::optional<ExpectedTime> expected_time(const SessionOptions& session) {
  if (session.sizes_within) return ExpectedTime{time_of_overview(session)};
  const bool cpus = std::any_of(session.devices.begin(), session.devices.end(),
                                [](const Device& d) { return d.is_cpu(); });
  double time = 0;
  bool at_least = false;
  std::size_t earlier = session.continued ? session.continued->groups : 0;
  for (const Problem& problem : session.problems) {
    const auto groups =
        static_cast<std::size_t>(std::count_if(session.modes.begin(), session.modes.end(),
                                               [&](Mode mode) { return has_mode(problem, mode); }));
    const std::size_t finished = std::min(groups, earlier);
    earlier -= finished;
    if (groups == finished) continue;
    const std::optional<KnownTimes> known = known_times(session, problem);
    if (!known && session.stop.exactly > 0) return std::nullopt;
    at_least |= !known;
    if (known) time += kAroundProblem + known->host;
    if (known && cpus) time += kRateOfCpu * static_cast<double>(session.devices.size());
    time += static_cast<double>(groups - finished) * time_of_group(session, known, cpus);
  }
  if (session.time_limit && *session.time_limit <= from_seconds(time))
    return ExpectedTime{*session.time_limit};
  return ExpectedTime{from_seconds(time), at_least};
}

std::string time_estimate(const SessionOptions& session) {
  const std::size_t strategies = session.strategies.size(),
                    cases = groups_to_measure(session) * cases_of_group(session);
  const auto expected = expected_time(session);
  std::string time = expected ? about(expected->time) : "";
  if (expected && expected->at_least)  // a bound below a second says nothing
    time = time.starts_with("about ") ? time.replace(0, 5, "at least") : "";
  if (session.sizes_within)
    return fmt::format(
        "an overview of {} suites, {} (run SUITE measures one, run --full all)\non {}",
        session.problems.size(), time, devices_in_words(session));
  return fmt::format("measuring {}, {}, under {}{}: {} case{}{}\non {}", suites_in_words(session),
                     modes_in_words(session),
                     strategies == 1 ? session.strategies.front().label()
                                     : fmt::format("{} strategies", strategies),
                     session.devices.size() > 1 ? " and on each device alone" : "", cases,
                     cases == 1 ? "" : "s", time.empty() ? "" : ", " + time,
                     devices_in_words(session));
}

}  // namespace mgpu
