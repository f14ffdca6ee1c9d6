#include "lib/history/trend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "lib/history/change_points.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kMostRuns = 1000, kReruns = 3, kUnseen = 6, kNearby = 3;
constexpr double kConfirmed = 0.001, kFalseDiscoveries = 0.01;

TrendRun trend_run(const HistoryRun& run) {
  return {std::string(run.result), std::string(run.at), std::string(run.commit),
          std::string(run.machine)};
}

std::optional<double> value_of(const HistoryRun& run, const TrendOptions& options) {
  if (options.metric == nullptr) return run.time;
  const auto metrics = members_of(run.metrics);
  const auto found = metrics.find(options.metric->name);
  double value = 0;
  if (found == metrics.end()) return std::nullopt;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value > 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string why_left_out(const HistoryRun& run, const TrendOptions& options) {
  if (run.excluded != nullptr) return "excluded: " + std::string(run.excluded->reason);
  if (run.rerun) return "repetition";
  return run.disturbed && !options.disturbed ? "disturbed" : "";
}

std::vector<TrendAttribute> differences(const HistoryRun& before, const HistoryRun& after) {
  std::vector<TrendAttribute> found;
  if (before.environment == after.environment) return found;
  const auto was = members_of(before.environment), is = members_of(after.environment);
  std::set<std::string> names;
  for (const auto* one : {&was, &is})
    for (const auto& [name, value] : *one) names.insert(name);
  const auto text = [](const auto& members, const std::string& name) {
    const auto at = members.find(name);
    return at == members.end() ? std::string("-") : at->second;
  };
  for (const std::string& name : names)
    if (text(was, name) != text(is, name)) found.push_back({name, text(was, name), text(is, name)});
  return found;
}

double median_value(std::span<const double> values) {
  return median({values.begin(), values.end()});
}

// Analyses one series.
class Analysis {
 public:
  Analysis(const ResultHistory& history, const HistorySeries& series, const TrendOptions& options)
      : history_(history), series_(series), options_(options) {
    for (const HistoryRun& run : series.runs) {
      const auto value = value_of(run, options);
      if (!value) continue;
      if (why_left_out(run, options).empty()) {
        runs_.push_back(&run);
        values_.push_back(*value);
      } else if (run.rerun && run.excluded == nullptr) {
        reruns_.emplace_back(run.at, *value);
      }
    }
    if (values_.size() > kMostRuns) {
      const auto old = static_cast<std::ptrdiff_t>(values_.size() - kMostRuns);
      values_.erase(values_.begin(), values_.begin() + old);
      runs_.erase(runs_.begin(), runs_.begin() + old);
    }
    found_.id = series.id();
    found_.series = series.key;
    found_.runs = values_.size();
    if (values_.empty()) return;
    found_.newest = values_.back();
    segments_ = find_changes(values_, options.floor);
    look_at_newest();
  }

  std::size_t runs() const { return values_.size(); }

  // Returns the least p of the series; none: it is too short for any test.
  std::optional<double> least_p() const {
    std::optional<double> least;
    if (const auto best = best_split(segments_.levelled); best && values_.size() >= 15)
      least = split_p(values_.size(), best->z);
    for (const ChangePoint& point : segments_.points) least = std::min(least.value_or(1), point.p);
    if (confirmed_) least = std::min(least.value_or(1), confirmed_->p);
    return least;
  }

  // Returns the series with the changes whose p is at most the limit.
  TrendSeries result(double limit) {
    std::erase_if(segments_.points, [&](const ChangePoint& point) { return point.p > limit; });
    if (confirmed_ && confirmed_->p > limit) confirmed_.reset();
    if (confirmed_) segments_.points.push_back(*confirmed_);
    for (std::size_t k = 0; k < segments_.points.size(); ++k) add_change(k);
    std::erase_if(found_.changes,
                  [&](const TrendChange& change) { return change.last.at < options_.since; });
    if (!segments_.states.empty()) describe_states();
    if (options_.points) add_points();
    return std::move(found_);
  }

 private:
  bool worse(double shift) const {
    return options_.metric != nullptr && options_.metric->higher_is_better ? shift < 0 : shift > 0;
  }
  std::size_t begin_of(std::size_t k) const {
    return k == 0 ? 0 : segments_.points[k - 1].split.at;
  }
  std::size_t end_of(std::size_t k) const {
    return k + 1 < segments_.points.size() ? segments_.points[k + 1].split.at : values_.size();
  }
  std::span<const double> levelled(std::size_t begin, std::size_t end) const {
    return std::span(segments_.levelled).subspan(begin, end - begin);
  }

  // Judges run `k` by the segment before it, together with its repetitions and all later runs.
  // Returns false if the segment is too short.
  bool look_at(std::size_t k, std::size_t begin) {
    std::span<const double> segment = levelled(begin, k);
    const auto next = expected_next(segment, options_.floor);
    if (!next) return false;
    const double value = segments_.levelled[k];
    if (std::abs(value - next->median) <= next->margin) return true;
    std::vector<double> together(segments_.levelled.begin() + static_cast<std::ptrdiff_t>(k),
                                 segments_.levelled.end());
    std::size_t reruns = 0;
    for (const auto& [at, again] : reruns_) {
      if (at < runs_[k]->at) continue;
      together.push_back(again);
      ++reruns;
    }
    if (segment.size() > kNewestRuns) segment = segment.last(kNewestRuns);
    const double shift = shift_between(segment, together);
    if (reruns >= kReruns && std::abs(shift) >= options_.floor) {
      if (const double p = rank_sum_p(together, segment); p <= kConfirmed) {
        confirmed_ = ChangePoint{{k, 0, k, k}, shift, p};
        found_.suspect.reset();
        return true;
      }
    }
    if (k + 1 == values_.size())
      found_.suspect =
          TrendSuspect{trend_run(*runs_.back()),    values_.back(), next->median, next->margin,
                       worse(value - next->median), reruns};
    return true;
  }

  // Judges the newest run, and those just before it that repetitions may have confirmed: change
  // points see a new level only after six runs.
  void look_at_newest() {
    const std::size_t begin = segments_.points.empty() ? 0 : segments_.points.back().split.at;
    const std::size_t newest = values_.size() - 1;
    const std::size_t oldest = newest - std::min(newest - begin, kUnseen);
    for (std::size_t k = oldest; k <= newest && !confirmed_; ++k)
      if (!look_at(k, begin) && k == newest)
        found_.note = fmt::format("{} of {} runs{}", newest - begin, kShortHistory,
                                  begin > 0 ? " since the last change" : "");
  }

  ChangeStatus status_of(std::size_t k) const {
    const RankSplit& split = segments_.points[k].split;
    const std::size_t newest = segments_.points.back().split.at;
    const double left = newest <= split.at ? segments_.points[k].shift
                                           : shift_between(levelled(begin_of(k), split.at),
                                                           levelled(newest, values_.size()));
    return worse(left) && std::abs(left) >= options_.floor ? ChangeStatus::open
                                                           : ChangeStatus::undone;
  }

  // Returns the acknowledgement of a change that more runs may have moved a little since.
  const HistoryMark* acknowledgement(const RankSplit& split) const {
    const std::size_t first = split.first - std::min(split.first, kNearby);
    for (std::size_t k = first; k < std::min(split.last + kNearby + 1, runs_.size()); ++k)
      if (const HistoryMark* mark = history_.acknowledgement(series_.key, runs_[k]->result))
        return mark;
    return nullptr;
  }

  void add_change(std::size_t k) {
    const ChangePoint& point = segments_.points[k];
    const std::span<const double> older = levelled(begin_of(k), point.split.at),
                                  newer = levelled(point.split.at, end_of(k));
    TrendChange change;
    change.kind = is_drift(levelled(begin_of(k), end_of(k)), older.size()) ? ChangeKind::drift
                                                                           : ChangeKind::step;
    change.worse = worse(point.shift);
    change.shift = point.shift;
    change.before = median_value(older);
    change.after = median_value(newer);
    change.p = point.p;
    change.runs_before = older.size();
    change.runs_after = newer.size();
    if (point.split.first > 0) change.previous = trend_run(*runs_[point.split.first - 1]);
    change.first = trend_run(*runs_[point.split.first]);
    change.last = trend_run(*runs_[point.split.last]);
    change.attributes = differences(*runs_[point.split.first - (point.split.first > 0 ? 1 : 0)],
                                    *runs_[point.split.last]);
    if (change.worse) change.status = status_of(k);
    const HistoryMark* mark = acknowledgement(point.split);
    if (mark != nullptr && change.status == ChangeStatus::open) {
      change.status = ChangeStatus::acknowledged;
      change.reason = mark->reason;
    }
    found_.changes.push_back(std::move(change));
  }

  // Looks for the attribute that goes with the state, by Fisher's test of each of its values.
  void describe_states() {
    const auto& [begin, states] = segments_.states.back();
    const std::size_t n = states.is_high.size();
    TrendStates described{
        states.low, states.high, static_cast<double>(states.highs) / static_cast<double>(n),
        "",         "",          1};
    // Number of low and high runs by attribute and value.
    std::map<std::pair<std::string, std::string>, std::array<std::size_t, 2>> counts;
    for (std::size_t k = 0; k < n; ++k)
      for (auto& [name, value] : members_of(runs_[begin + k]->environment))
        ++counts[{name, value}][states.is_high[k] ? 1 : 0];
    std::erase_if(counts, [&](const auto& c) { return c.second[0] + c.second[1] == n; });
    for (const auto& [attribute, count] : counts) {
      const std::size_t lows = n - states.highs;
      const double p = fisher_p(count[0], count[1], lows - count[0], states.highs - count[1]) *
                       static_cast<double>(counts.size());
      const bool more_often_high = count[1] * lows > count[0] * states.highs;
      if (!more_often_high || p >= described.p || p > 0.01) continue;
      described.p = p;
      std::tie(described.attribute, described.value) = attribute;
    }
    found_.states = described;
  }

  void add_points() {
    std::size_t k = 0, segment = 0;
    const HistoryRun* before = nullptr;
    for (const HistoryRun& run : series_.runs) {
      const auto value = value_of(run, options_);
      if (!value) continue;
      TrendPoint point{trend_run(run), *value, {}, {}, {}, why_left_out(run, options_)};
      if (options_.metric == nullptr) point.low = run.low, point.high = run.high;
      if (point.left_out.empty() && (k == runs_.size() || runs_[k] != &run))
        point.left_out = "older than the newest 1000";
      if (k < runs_.size() && runs_[k] == &run) {
        while (segment < segments_.points.size() && segments_.points[segment].split.at <= k)
          ++segment;
        const std::size_t begin = segment == 0 ? 0 : segments_.points[segment - 1].split.at;
        const std::size_t end =
            segment < segments_.points.size() ? segments_.points[segment].split.at : values_.size();
        point.level = median_value(levelled(begin, end));
        ++k;
      }
      if (before != nullptr)
        if (auto changed = differences(*before, run); !changed.empty())
          found_.environment.push_back({point.run.result, std::move(changed)});
      before = &run;
      found_.points.push_back(std::move(point));
    }
  }

  const ResultHistory& history_;
  const HistorySeries& series_;
  const TrendOptions& options_;
  std::vector<const HistoryRun*> runs_;  // that count
  std::vector<double> values_;           // theirs
  std::vector<std::pair<std::string_view, double>> reruns_;
  Segmentation segments_;
  std::optional<ChangePoint> confirmed_;  // of the newest run
  TrendSeries found_;
};

// Adds the change to the group of changes in the same direction and on the same machine whose runs
// overlap; their common runs remain.
void add_to_groups(const TrendSeries& series, const TrendChange& change,
                   std::vector<TrendGroup>& groups) {
  for (TrendGroup& group : groups) {
    if (group.worse != change.worse || group.status != change.status ||
        group.first.machine != change.first.machine || change.last.at < group.first.at ||
        group.last.at < change.first.at ||
        std::find(group.series.begin(), group.series.end(), series.id) != group.series.end())
      continue;
    group.series.push_back(series.id);
    group.least = std::min(group.least, change.shift);
    group.most = std::max(group.most, change.shift);
    if (group.first.at < change.first.at) {
      group.first = change.first;
      group.previous = change.previous;
    }
    if (change.last.at < group.last.at) group.last = change.last;
    std::erase_if(group.attributes, [&](const TrendAttribute& one) {
      return std::find(change.attributes.begin(), change.attributes.end(), one) ==
             change.attributes.end();
    });
    return;
  }
  groups.push_back({change.worse,
                    change.status,
                    {series.id},
                    change.shift,
                    change.shift,
                    change.previous,
                    change.first,
                    change.last,
                    change.attributes});
}

}  // namespace

TrendReport find_trends(const ResultHistory& history, const TrendOptions& options) {
  TrendReport report;
  report.metric = options.metric == nullptr ? "time" : options.metric->name;
  report.unit = options.metric == nullptr ? "ns" : options.metric->unit;
  report.higher_is_better = options.metric != nullptr && options.metric->higher_is_better;
  report.floor = options.floor;
  report.warnings = history.warnings;
  std::vector<Analysis> all;
  std::vector<double> p;
  all.reserve(history.series.size());
  for (const HistorySeries& series : history.series) {
    Analysis& one = all.emplace_back(history, series, options);
    report.runs += one.runs();
    for (const HistoryRun& run : series.runs)
      report.left_out += !why_left_out(run, options).empty();
    if (const auto least = one.least_p()) p.push_back(*least);
  }
  const double limit = discovery_limit(std::move(p), kFalseDiscoveries);
  for (Analysis& one : all) {
    report.series.push_back(one.result(limit));
    for (const TrendChange& change : report.series.back().changes)
      add_to_groups(report.series.back(), change, report.groups);
  }
  // Alarms first, then by size.
  std::stable_sort(report.groups.begin(), report.groups.end(),
                   [](const TrendGroup& a, const TrendGroup& b) {
                     const auto order = [](const TrendGroup& g) {
                       return std::tuple(!g.worse || g.status != ChangeStatus::open, !g.worse,
                                         static_cast<int>(g.status));
                     };
                     if (order(a) != order(b)) return order(a) < order(b);
                     return a.first.at > b.first.at;
                   });
  return report;
}

}  // namespace mgpu
