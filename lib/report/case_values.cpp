#include "lib/report/case_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "lib/base/add_once.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/run_groups.hpp"

namespace mgpu {

namespace {

double as_double(Nanos t) { return static_cast<double>(t.count()); }

// Counts the rounds in which the case and all of its devices alone were measured.
std::size_t common_rounds(const RunRecord& run) {
  std::size_t rounds = run.per_device.empty() ? 0 : run.samples.size();
  for (const PerDevice& p : run.per_device) rounds = std::min(rounds, p.alone_samples.size());
  return rounds;
}

std::vector<double> speedups(const RunRecord& run) {
  if (run.per_device.size() == 1) return std::vector<double>(run.samples.size(), 1.0);
  const auto fastest = std::min_element(
      run.per_device.begin(), run.per_device.end(), [](const PerDevice& a, const PerDevice& b) {
        return a.alone.value_or(Nanos::max()) < b.alone.value_or(Nanos::max());
      });
  std::vector<double> values;
  for (std::size_t k = 0; k < common_rounds(run); ++k)
    values.push_back(as_double(fastest->alone_samples[k]) / as_double(run.samples[k]));
  return values;
}

// speedup / ideal_speedup = (least tau / T) / (least tau * sum of 1/tau)
std::vector<double> efficiencies(const RunRecord& run) {
  if (run.per_device.size() == 1) return std::vector<double>(run.samples.size(), 1.0);
  std::vector<double> values;
  for (std::size_t k = 0; k < common_rounds(run); ++k) {
    double speeds = 0;
    for (const PerDevice& p : run.per_device) speeds += 1 / as_double(p.alone_samples[k]);
    values.push_back(1 / (as_double(run.samples[k]) * speeds));
  }
  return values;
}

std::vector<double> imbalances(const RunRecord& run) {
  std::vector<double> values;
  if (run.per_device.size() < 2) return values;
  std::size_t samples = run.samples.size();
  for (const PerDevice& p : run.per_device) samples = std::min(samples, p.busy_samples.size());
  for (std::size_t k = 0; k < samples; ++k) {
    double most = 0, sum = 0;
    bool known = true;
    for (const PerDevice& p : run.per_device) {
      const Nanos busy = p.busy_samples[k].value_or(Nanos{});
      known = known && p.busy_samples[k];
      most = std::max(most, as_double(busy));
      sum += as_double(busy);
    }
    if (!known) continue;
    values.push_back(most * static_cast<double>(run.per_device.size()) / sum);
  }
  return values;
}

std::optional<double> recorded(const RunRecord& run, Compared metric) {
  if (metric == Compared::speedup) return run.metrics.speedup;
  if (metric == Compared::efficiency) return run.metrics.efficiency;
  if (metric == Compared::imbalance && run.metrics.imbalance_percent)
    return 1 + *run.metrics.imbalance_percent / 100;
  return std::nullopt;
}

// Returns the run as if each time had been measured once, at its least; only for metrics of times.
RunRecord least_of(const RunRecord& run) {
  RunRecord least;
  least.samples = {*std::min_element(run.samples.begin(), run.samples.end())};
  least.metrics = run.metrics;
  least.per_device = run.per_device;
  for (PerDevice& p : least.per_device) {
    if (p.alone_samples.empty()) continue;
    p.alone_samples = {*std::min_element(p.alone_samples.begin(), p.alone_samples.end())};
    p.alone = p.alone_samples.front();
  }
  return least;
}

std::string trouble_of(const RunRecord& run) {
  const bool wrong = run.verify.status == VerifyStatus::failed;
  if (run.status == Status::ok && !wrong) return run.samples.empty() ? "no samples" : "";
  return (wrong ? "did not verify" : std::string(to_string(run.status))) +
         (run.reason ? ": " + *run.reason : "");
}

}  // namespace

const ComparedInfo& info(Compared metric) {
  // 1 us is the polling interval at a sample's end; 0.0005 is the precision of ratios in tables.
  static constexpr ComparedInfo table[] = {
      {Compared::time, "time", "ns", false, 1000, "median time of a sample"},
      {Compared::speedup, "speedup", "x", true, 0.0005,
       "time of the fastest device alone / time, by round"},
      {Compared::efficiency, "efficiency", "1", true, 0.0005, "speedup / ideal_speedup, by round"},
      {Compared::imbalance, "imbalance", "1", false, 0.0005,
       "longest / mean busy time of the devices, by sample; 1 is perfect"},
      {Compared::energy, "energy", "J", false, 0,
       "energy of a run by the devices that it uses, by part of its block"},
  };
  return table[static_cast<std::size_t>(metric)];
}

std::vector<double> case_values(const RunRecord& run, Compared metric) {
  std::vector<double> values;
  if (metric == Compared::time) {
    for (const Nanos t : run.samples) values.push_back(as_double(t));
  } else if (metric == Compared::energy) {
    if (run.energy && run.energy->joules) values = run.energy->parts;
  } else {
    values = metric == Compared::speedup      ? speedups(run)
             : metric == Compared::efficiency ? efficiencies(run)
                                              : imbalances(run);
    if (const auto one = recorded(run, metric); values.empty() && one) values = {*one};
  }
  // A ratio needs positive numbers: a time of zero is a clock that did not tick.
  if (!std::all_of(values.begin(), values.end(),
                   [](double v) { return v > 0 && std::isfinite(v); }))
    values.clear();
  return values;
}

std::optional<double> case_figure(const RunRecord& run, Compared metric) {
  std::vector<double> values = case_values(run, metric);
  if (values.empty()) return std::nullopt;
  if (metric == Compared::energy) return run.energy->joules;
  if (values.size() == 1 || run.per_device.size() == 1 ||
      (metric != Compared::speedup && metric != Compared::efficiency))
    return median(std::move(values));
  double fastest = 0, speeds = 0;  // problems per nanosecond
  for (const PerDevice& p : run.per_device) {
    std::vector<double> times;
    for (const Nanos t : p.alone_samples) times.push_back(as_double(t));
    const double speed = 1 / median(std::move(times));
    fastest = std::max(fastest, speed);
    speeds += speed;
  }
  std::vector<double> times;
  for (const Nanos t : run.samples) times.push_back(as_double(t));
  return 1 / (median(std::move(times)) * (metric == Compared::speedup ? fastest : speeds));
}

std::optional<std::string> repeated_case(const Report& report) {
  std::set<std::string> seen;
  for (const RunRecord& run : report.runs)
    if (std::string name = case_name(run); !seen.insert(name).second) return name;
  return std::nullopt;
}

std::vector<CaseValues> collect_cases(std::span<const Report> reports,
                                      std::optional<RoundValue> rounds) {
  std::vector<CaseValues> cases;
  std::map<std::string, std::size_t> at;
  std::vector<std::size_t> times_seen;  // number of reports that have it, by case
  const char* const what = rounds ? "round" : "run";
  for (std::size_t round = 0; round < reports.size(); ++round) {
    const Titles titles(reports[round]);
    for (const RunRecord& run : reports[round].runs) {
      const std::string name = case_name(run);
      const auto [found, fresh] = at.emplace(name, cases.size());
      if (fresh)
        cases.push_back({name, titles.of(run), &run, {}, {}, {}, {}}), times_seen.push_back(0);
      ++times_seen[found->second];
      CaseValues& mine = cases[found->second];
      if (mine.trouble.empty()) mine.trouble = trouble_of(run);
      if (mine.trouble.empty() && run.devices.size() != mine.run->devices.size())
        mine.trouble = fmt::format("measured on {} devices in one {} and on {} in another",
                                   devices_text(*mine.run), what, devices_text(run));
      for (const auto& more : {run.warnings, fault_notes(run)}) {
        for (const std::string& warning : more) {
          add_once(mine.warnings, warning);
        }
      }
      if (!trouble_of(run).empty()) continue;
      for (const Compared metric : kAllCompared) {
        const bool least = rounds == RoundValue::minimum && metric != Compared::imbalance &&
                           metric != Compared::energy;
        std::vector<double>& values = mine.values[static_cast<std::size_t>(metric)];
        std::vector<double> own = case_values(least ? least_of(run) : run, metric);
        if (own.empty()) continue;
        if (rounds) {
          values.resize(reports.size(), std::numeric_limits<double>::quiet_NaN());
          values[round] = median(std::move(own));
        } else {
          values.insert(values.end(), own.begin(), own.end());
          mine.by_run[static_cast<std::size_t>(metric)].push_back(median(std::move(own)));
        }
      }
    }
  }
  for (std::size_t k = 0; k < cases.size(); ++k) {
    if (cases[k].trouble.empty() && rounds && times_seen[k] < reports.size())
      cases[k].trouble = fmt::format("in {} of {} rounds only", times_seen[k], reports.size());
  }
  return cases;
}

}  // namespace mgpu
