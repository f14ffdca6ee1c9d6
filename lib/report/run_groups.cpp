// Groups the runs of a report into tables.
#include "lib/report/run_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/quantity.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/metric_interval.hpp"

namespace mgpu {

namespace {

// Returns the strategy, with the parameters in which runs of the same strategy in the group differ,
// and with the choice of `auto`.
std::string label_of(const RunRecord& run, const std::vector<const RunRecord*>& runs) {
  std::string label = run.strategy;
  for (const auto& [name, value] : run.strategy_params) {
    bool differs = false;
    for (const RunRecord* other : runs) {
      const auto found = other->strategy_params.find(name);
      differs = differs || (other->strategy == run.strategy &&
                            found != other->strategy_params.end() && found->second != value);
    }
    if (differs) label += fmt::format(":{}={}", name, param_text(value));
  }
  return run.plan.chosen ? fmt::format("{} ({})", label, run.plan.chosen->strategy) : label;
}

// Ranks the rows. `exact`: on a virtual clock, where equal cases take equal times.
void rank(RunGroup& group, bool exact) {
  group.ranks.assign(group.runs.size(), Rank::none);
  const RunRecord* best = nullptr;
  const auto is_ok = [](const RunRecord* run) { return run->status == Status::ok; };
  const auto ok = std::count_if(group.runs.begin(), group.runs.end(), is_ok);
  if (ok < 2) return;  // a single row is faster than nothing
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    if (run.status != Status::ok) continue;
    if (!exact && !why_unranked(run).empty()) {
      group.ranks[k] = Rank::unknown;
    } else if (best == nullptr || run.time.median < best->time.median) {
      best = &run;
    }
  }
  if (best == nullptr) return;
  std::size_t sharing = 0;
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    if (run.status != Status::ok || group.ranks[k] == Rank::unknown) continue;
    const bool apart =
        exact ? run.time.median != best->time.median : told_apart(best->time, run.time);
    if (&run != best && apart) continue;
    group.ranks[k] = Rank::shared;
    ++sharing;
  }
  // An unranked row that may be faster also prevents a single winner.
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const Summary& time = group.runs[k]->time;
    group.doubted |= group.ranks[k] == Rank::unknown &&
                     !(time.n >= kFewestRanked && best->time.ci95_high < time.ci95_low);
  }
  if (sharing == 1 && !group.doubted)
    *std::find(group.ranks.begin(), group.ranks.end(), Rank::shared) = Rank::alone;
}

}  // namespace

Titles::Titles(const Report& report) : report_(report) {
  std::map<std::pair<std::string, std::string>, ParamValue> seen;
  for (const RunRecord& run : report.runs)
    for (const auto& [name, value] : run.params)
      if (seen.emplace(std::pair(run.suite, name), value).first->second != value)
        varying_[run.suite].insert(name);
}

bool follows_size(const Report& report, const RunRecord& run, const std::string& name) {
  const auto defaults = report.defaults.find(run.suite);
  if (defaults == report.defaults.end()) return false;
  const auto usual = defaults->second.find(name), value = run.params.find(name);
  if (usual == defaults->second.end() || usual->second != ParamValue(kSameAsSize) ||
      value == run.params.end())
    return false;
  // The size is the number without a default.
  return std::any_of(run.params.begin(), run.params.end(), [&](const auto& param) {
    return param.second == value->second && !defaults->second.contains(param.first);
  });
}

bool Titles::is_named(const RunRecord& run, const std::string& name,
                      const ParamValue& value) const {
  if (follows_size(report_, run, name)) return false;
  if (const auto varying = varying_.find(run.suite);
      varying != varying_.end() && varying->second.contains(name))
    return true;
  const auto defaults = report_.defaults.find(run.suite);
  if (defaults == report_.defaults.end()) return true;
  const auto usual = defaults->second.find(name);
  return usual == defaults->second.end() || usual->second != value;
}

std::string Titles::of(const RunRecord& run) const {
  std::string title = run.suite;
  // Numbers first, because readers look for a table by its size; equal ones together, as in
  // cols=inner=rows=2^13 for a cube.
  std::vector<std::pair<std::string, std::string>> numbers;  // names, value
  for (const auto& [name, value] : run.params) {
    if (std::holds_alternative<std::string>(value) || !is_named(run, name, value)) continue;
    const std::string text = param_shown(value);
    auto same = std::find_if(numbers.begin(), numbers.end(), [&, name = name](const auto& known) {
      return known.second == text && known.first != "seed=" && name != "seed";
    });
    if (same == numbers.end()) same = numbers.insert(same, {"", text});
    same->first += name + '=';
  }
  for (const auto& [names, value] : numbers) title += fmt::format(" {}{}", names, value);
  for (const auto& [name, value] : run.params) {
    const auto* word = std::get_if<std::string>(&value);
    if (word != nullptr && is_named(run, name, value)) title += fmt::format(" {}={}", name, *word);
  }
  return title + ", " + words_of(run.mode);
}

std::vector<std::string> RunGroup::names() const {
  const bool several = std::any_of(runs.begin(), runs.end(), [&](const RunRecord* run) {
    return run->devices.size() != runs.front()->devices.size();
  });
  std::vector<std::string> names = labels;
  for (std::size_t k = 0; several && k < names.size(); ++k)
    names[k] +=
        fmt::format(" ({} device{})", devices_text(*runs[k]), asked_for(*runs[k]) == 1 ? "" : "s");
  return names;
}

std::vector<std::size_t> RunGroup::ranked(Rank rank) const {
  std::vector<std::size_t> rows;
  for (std::size_t k = 0; k < runs.size(); ++k)
    if (ranks[k] == rank) rows.push_back(k);
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return runs[a]->time.median < runs[b]->time.median;
  });
  return rows;
}

std::string why_unranked(const RunRecord& run) {
  if (run.time.n < kFewestRanked) return fmt::format("fewer than {} samples", kFewestRanked);
  return impossible_speedup(run, true);
}

bool told_apart(const Summary& a, const Summary& b) {
  return a.ci95_high < b.ci95_low || b.ci95_high < a.ci95_low;
}

std::vector<RunGroup> group_runs(const Report& report) {
  std::vector<RunGroup> groups;
  std::map<std::string, std::size_t> by_title;
  const Titles titles(report);
  for (const RunRecord& run : report.runs) {
    const std::string title = titles.of(run);
    const auto [found, fresh] = by_title.emplace(title, groups.size());
    if (fresh) {
      groups.emplace_back();
      groups.back().title = title;
    }
    RunGroup& group = groups[found->second];
    group.runs.push_back(&run);
    if (run.status == Status::ok && (!group.best || run.time.median < group.best->time.median))
      group.best = &run;
  }
  for (RunGroup& group : groups) {
    for (const RunRecord* run : group.runs) group.labels.push_back(label_of(*run, group.runs));
    rank(group, report.environment.contains("simulated"));
  }
  return groups;
}

}  // namespace mgpu
