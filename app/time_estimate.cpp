#include "app/time_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quote.hpp"

namespace mgpu {
namespace {

constexpr double kAroundCase = 0.5;   // in s; warm-up, probes, checking the result
constexpr double kAroundProblem = 5;  // in s; inputs, their reference, building kernels
// Seconds. Times on GPUs vary so little that the minimum number of samples mostly suffices.
constexpr double kSampleOfGpu = 0.1;

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

// Joins words: "a", "a and b", "a, b and c".
std::string listed(std::vector<std::string> words) {
  const std::string last = words.back();
  words.pop_back();
  return words.empty() ? last : fmt::format("{} and {}", fmt::join(words, ", "), last);
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
  return listed(std::move(words));
}

std::string modes_in_words(const SessionOptions& session) {
  std::vector<std::string> words;
  for (const Mode& mode : session.modes) words.push_back(words_of(mode));
  return listed(std::move(words));
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

// Returns the time of an overview: a second of samples per problem, and what is around them.
Nanos time_of_overview(const SessionOptions& session) {
  constexpr double kAroundOnGpus = 1.5, kAroundOnCpus = 5.5;  // in s
  const bool cpus = std::any_of(session.devices.begin(), session.devices.end(),
                                [](const Device& d) { return d.is_cpu(); });
  return from_seconds(static_cast<double>(session.problems.size()) *
                      (1 + (cpus ? kAroundOnCpus : kAroundOnGpus)));
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

std::optional<Nanos> expected_time(const SessionOptions& session) {
  const StopRule& stop = session.stop;
  if (session.sizes_within) return time_of_overview(session);
  if (stop.exactly > 0) return std::nullopt;
  const bool cpus = std::any_of(session.devices.begin(), session.devices.end(),
                                [](const Device& d) { return d.is_cpu(); });
  // Intervals on a CPU rarely become narrow enough before the stop rule's limit, as other programs
  // sometimes take its cores.
  const double sampling = cpus ? seconds(stop.most_time)
                               : std::clamp(static_cast<double>(stop.least) * kSampleOfGpu,
                                            seconds(stop.least_time), seconds(stop.most_time));
  const std::size_t cases = cases_of_group(session);
  const auto groups = static_cast<double>(groups_to_measure(session));
  const double problems = groups / static_cast<double>(session.modes.size());
  const double time =
      groups * static_cast<double>(cases) * (sampling + kAroundCase) + problems * kAroundProblem;
  return session.time_limit ? std::min(*session.time_limit, from_seconds(time))
                            : from_seconds(time);
}

std::string time_estimate(const SessionOptions& session) {
  const std::size_t strategies = session.strategies.size(),
                    cases = groups_to_measure(session) * cases_of_group(session);
  const auto time = expected_time(session);
  if (session.sizes_within)
    return fmt::format(
        "an overview of {} suites, {} (run SUITE measures one, run --full all)\non {}",
        session.problems.size(), about(*time), devices_in_words(session));
  return fmt::format("measuring {}, {}, under {}{}: {} case{}{}\non {}", suites_in_words(session),
                     modes_in_words(session),
                     strategies == 1 ? session.strategies.front().label()
                                     : fmt::format("{} strategies", strategies),
                     session.devices.size() > 1 ? " and on each device alone" : "", cases,
                     cases == 1 ? "" : "s", time ? ", " + about(*time) : "",
                     devices_in_words(session));
}

}  // namespace mgpu
