#include "lib/report/size_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/stats.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kFewestSizes = 3;
constexpr std::size_t kPredicted[] = {2, 4, 8};  // numbers of devices
// A predicted difference below this share is not distinguishable.
constexpr double kSure = 0.03;

bool is_gpu(const Report& report, const std::string& id) {
  const auto found =
      std::find_if(report.devices.begin(), report.devices.end(),
                   [&](const DeviceRecord& record) { return record.device.id == id; });
  return found != report.devices.end() && !found->device.is_cpu();
}

// Returns the parameters of the size: numbers in which the runs differ.
std::vector<std::string> varying_params(const std::vector<const RunRecord*>& runs) {
  std::set<std::string> names;
  for (const RunRecord* run : runs)
    for (const auto& [name, value] : run->params) names.insert(name);
  std::erase_if(names, [&](const std::string& name) {
    const auto first = runs.front()->params.find(name);
    return first != runs.front()->params.end() &&
           std::all_of(runs.begin(), runs.end(), [&](const RunRecord* run) {
             const auto found = run->params.find(name);
             return found != run->params.end() && found->second == first->second;
           });
  });
  return {names.begin(), names.end()};
}

// Returns the size as text: one number if all are equal, as the sides of a cube, else all of them.
std::string size_of(const RunRecord& run, const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) {
    const auto found = run.params.find(name);
    values.push_back(found == run.params.end() ? "-" : param_shown(found->second));
  }
  const bool one = std::all_of(values.begin(), values.end(),
                               [&](const std::string& value) { return value == values.front(); });
  return one && !values.empty() ? values.front() : fmt::format("{}", fmt::join(values, " x "));
}

// Tells whether the strategy would use more devices; false for a strategy that this build lacks.
bool splits(const RunRecord& run) {
  const auto all = all_strategies();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const StrategyInfo& info) { return info.name == run.strategy; });
  return found != all.end() && !found->traits.single_device;
}

void take_faster(std::optional<SweepCell>& cell, const Summary& time) {
  if (!cell || time.median < cell->time.median) cell = SweepCell{time, true};
}

// Takes the run's fastest single-device baseline.
void take_alone(const RunRecord& run, std::optional<SweepCell>& cell) {
  for (const PerDevice& device : run.per_device)
    if (!device.alone_samples.empty()) take_faster(cell, summarise(device.alone_samples));
}

// Predicts the time on `count` devices like those of the run, repeated in turn: the run's time,
// scaled by the ratio of the predictions for `count` devices and for its own. None if the strategy
// or a rate is unknown.
std::optional<Nanos> predicted_on(std::size_t count, const RunRecord& run) {
  const std::vector<DeviceEstimate>& known = run.plan.estimates.devices;
  if (known.empty() || !run.plan.work || run.status != Status::ok) return std::nullopt;
  std::vector<DeviceEstimate> devices;
  for (std::size_t i = 0; i < count; ++i) {
    DeviceEstimate device = known[i % known.size()];
    device.fixed += device.per_peer_contention *
                    (static_cast<std::int64_t>(count) - static_cast<std::int64_t>(known.size()));
    devices.push_back(device);
  }
  const PlannedWork& work = *run.plan.work;
  const PlanRequest request{work.items, work.granularity,        run.mode, work.cost, devices, {},
                            {},         run.plan.estimates.merge};
  try {
    const StrategyChoice strategy = parse_strategies(strategy_label(run)).at(0);
    const Nanos time =
        simulate(request, *strategy.info->make(strategy.params)->begin(request, {})).makespan;
    if (!run.plan.predicted || *run.plan.predicted <= Nanos{}) return time;
    return from_seconds(seconds(time) * seconds(run.time.median) / seconds(*run.plan.predicted));
  } catch (const Error&) {
    return std::nullopt;  // unknown strategy, or one that cannot place the work
  }
}

void predict_missing(const std::vector<const RunRecord*>& runs,
                     const std::vector<std::string>& names, SizeSweep& sweep) {
  for (SweepRow& row : sweep.rows) {
    const RunRecord* best = nullptr;  // the run with the most devices
    for (const RunRecord* run : runs) {
      const bool of_row = run->status == Status::ok && size_of(*run, names) == row.size &&
                          !run->plan.estimates.devices.empty() && splits(*run);
      if (!of_row) continue;
      if (best == nullptr || run->devices.size() > best->devices.size() ||
          (run->devices.size() == best->devices.size() && run->time.median < best->time.median))
        best = run;
    }
    for (std::size_t k = 0; best != nullptr && k < sweep.counts.size(); ++k) {
      if (row.cells[k] || sweep.counts[k] <= best->devices.size()) continue;
      if (const auto time = predicted_on(sweep.counts[k], *best)) {
        Summary one;
        one.n = 1;
        one.min = one.median = one.mean = one.ci95_low = one.ci95_high = *time;
        row.cells[k] = SweepCell{one, false};
      }
    }
  }
}

SizeSweep sweep_of(const Report& report, const std::vector<const RunRecord*>& runs) {
  SizeSweep sweep;
  const RunRecord& first = *runs.front();
  std::vector<std::string> names = varying_params(runs);
  std::erase_if(names, [&](const std::string& name) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const RunRecord* run) { return follows_size(report, *run, name); });
  });
  sweep.title = first.suite + ", " + words_of(first.mode);
  sweep.size_name = fmt::format("{}", fmt::join(names, "="));
  sweep.rate_unit = first.rate_unit;
  std::set<std::size_t> counts{1};
  std::set<std::string> ids;
  for (const RunRecord* run : runs) {
    counts.insert(run->devices.size());
    ids.insert(run->devices.begin(), run->devices.end());
  }
  const bool gpus = std::all_of(ids.begin(), ids.end(),
                                [&](const std::string& id) { return is_gpu(report, id); });
  const bool split =
      std::any_of(runs.begin(), runs.end(), [](const RunRecord* run) { return splits(*run); });
  const bool predicts = gpus && split && !first.mode.transfers();
  if (predicts) counts.insert(std::begin(kPredicted), std::end(kPredicted));
  if (gpus && first.mode.transfers())
    sweep.bound = "how more devices would share the host link is not known";
  sweep.counts.assign(counts.begin(), counts.end());
  for (const RunRecord* run : runs) {
    const std::string size = size_of(*run, names);
    auto row = std::find_if(sweep.rows.begin(), sweep.rows.end(),
                            [&](const SweepRow& known) { return known.size == size; });
    if (row == sweep.rows.end())
      row = sweep.rows.insert(
          row, {size, run->work.ops, std::vector<std::optional<SweepCell>>(counts.size())});
    if (run->status != Status::ok) continue;
    take_alone(*run, row->cells.front());
    const auto at = std::find(sweep.counts.begin(), sweep.counts.end(), run->devices.size()) -
                    sweep.counts.begin();
    take_faster(row->cells[static_cast<std::size_t>(at)], run->time);
  }
  std::stable_sort(sweep.rows.begin(), sweep.rows.end(),
                   [](const SweepRow& a, const SweepRow& b) { return a.ops < b.ops; });
  if (predicts) predict_missing(runs, names, sweep);
  for (std::size_t k = sweep.counts.size(); k-- > 1;) {  // drops columns without any cell
    if (std::any_of(sweep.rows.begin(), sweep.rows.end(),
                    [&](const SweepRow& row) { return row.cells[k].has_value(); }))
      continue;
    sweep.counts.erase(sweep.counts.begin() + static_cast<std::ptrdiff_t>(k));
    for (SweepRow& row : sweep.rows)
      row.cells.erase(row.cells.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return sweep;
}

// Returns the fastest of the smaller counts; none: no cell is known.
const SweepCell* best_below(const SweepRow& row, std::size_t k) {
  const SweepCell* best = nullptr;
  for (std::size_t i = 0; i < k; ++i) {
    if (row.cells[i] && (best == nullptr || row.cells[i]->time.median < best->time.median))
      best = &*row.cells[i];
  }
  return best;
}

bool is_faster(const SweepCell& cell, const SweepCell& other) {
  if (cell.measured && other.measured) return cell.time.ci95_high < other.time.ci95_low;
  return seconds(cell.time.median) < (1 - kSure) * seconds(other.time.median);
}

}  // namespace

std::vector<SizeSweep> size_sweeps(const Report& report) {
  std::map<std::string, std::vector<const RunRecord*>> by_kind;
  std::vector<std::string> order;
  for (const RunRecord& run : report.runs) {
    std::string kind = run.suite + ", " + words_of(run.mode);
    for (const auto& [name, value] : run.params)
      if (const auto* word = std::get_if<std::string>(&value)) kind += ", " + name + "=" + *word;
    if (!by_kind.contains(kind)) order.push_back(kind);
    by_kind[kind].push_back(&run);
  }
  std::vector<SizeSweep> sweeps;
  for (const std::string& kind : order) {
    SizeSweep sweep = sweep_of(report, by_kind.at(kind));
    if (sweep.rows.size() >= kFewestSizes) sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

bool is_sweep(const Report& report) {
  const auto size = report.options.find("size");
  return size != report.options.end() && size->second == ParamValue("sweep");
}

std::vector<std::string> sweep_sentences(const SizeSweep& sweep) {
  std::vector<std::string> sentences;
  for (std::size_t k = 1; k < sweep.counts.size(); ++k) {
    std::optional<std::size_t> from;  // the first row from which on this count is always faster
    const SweepRow* not_yet = nullptr;
    bool measured = true, known = false;
    for (std::size_t n = sweep.rows.size(); n-- > 0;) {
      const SweepRow& row = sweep.rows[n];
      const SweepCell* other = best_below(row, k);
      if (!row.cells[k] || other == nullptr) continue;
      known = true;
      measured &= row.cells[k]->measured;
      if (!is_faster(*row.cells[k], *other)) {
        not_yet = &row;
        break;
      }
      from = n;
    }
    if (!known) continue;
    const std::string who = fmt::format("{} devices", sweep.counts[k]), name = sweep.size_name,
                      are = measured ? "are" : "are predicted to be";
    // Returns what is known of a size at which they are not faster.
    const auto there = [&](const SweepRow& row) {
      const double ratio =
          seconds(row.cells[k]->time.median) / seconds(best_below(row, k)->time.median);
      return ratio > 1
                 ? fmt::format("at {} they take {:.2f} times as long as fewer", row.size, ratio)
                 : fmt::format(
                       "at {} the gain over fewer ({:.2f}x) is {}", row.size, 1 / ratio,
                       row.cells[k]->measured ? "within the noise" : "too small to predict");
    };
    if (!from) {
      sentences.push_back(fmt::format("{} {} not faster at any size up to {} {}; {}.", who, are,
                                      not_yet->size, name, there(*not_yet)));
    } else if (not_yet == nullptr) {
      sentences.push_back(fmt::format("{} {} faster at every size, from {} {} upwards.", who, are,
                                      sweep.rows[*from].size, name));
    } else {
      sentences.push_back(fmt::format("{} {} faster from {} {} upwards; {}.", who, are,
                                      sweep.rows[*from].size, name, there(*not_yet)));
    }
  }
  if (!sweep.bound.empty()) {
    std::string more = sweep.bound;
    more.front() = 'H';
    sentences.push_back(more + ".");
  }
  return sentences;
}

std::string sweep_tables(const Report& report, const TableStyle& style) {
  std::string out;
  for (const SizeSweep& sweep : size_sweeps(report)) {
    std::vector<TextColumn> columns{{sweep.size_name, "", true, 0, true}};
    for (const std::size_t count : sweep.counts) {
      const std::string who = count == 1 ? "1 device" : fmt::format("{} devices", count);
      columns.push_back({who, "", true, 0, false});
      if (count == 1) columns.push_back({"rate", sweep.rate_unit, true, 20, false});
      if (count > 1) columns.push_back({"speedup", "x", true, 10, false, "speedup of " + who});
    }
    std::vector<TextRow> rows;
    bool predicted = false, impossible = false;
    for (const SweepRow& row : sweep.rows) {
      TextRow& text = rows.emplace_back();
      text.cells.push_back(row.size);
      for (std::size_t k = 0; k < row.cells.size(); ++k) {
        const auto& cell = row.cells[k];
        if (!cell) {
          text.cells.insert(text.cells.end(), 2, "-");
          continue;
        }
        predicted |= !cell->measured;
        text.cells.push_back((cell->measured ? "" : "~") + format_duration(cell->time.median));
        const auto& alone = row.cells.front();
        const double time = seconds(cell->time.median);
        const double speedup = k > 0 && alone ? seconds(alone->time.median) / time : 0;
        const bool beyond =
            speedup > (1 + kSlightNoise) * static_cast<double>(sweep.counts[k]) && cell->measured;
        impossible |= beyond;
        text.cells.push_back(k == 0  ? format_si(row.ops / time)
                             : alone ? fmt::format("{:.2f}{}", speedup, beyond ? " !" : "")
                                     : "-");
      }
    }
    std::string words;
    for (const std::string& sentence : sweep_sentences(sweep)) words += printable(sentence) + "\n";
    if (predicted) words += "~ is predicted, for more devices of the kind that was measured.\n";
    if (impossible)
      words +=
          "! above what that many devices can give: one was slower alone than it is, or shares "
          "fit a cache that the whole does not.\n";
    std::vector<std::string> hidden;
    out += (out.empty() ? "" : "\n") + printable(sweep.title) + "\n" +
           draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
    out += hidden_line(hidden, "a wider terminal", std::max(style.width, 20u)) +
           wrapped_prose(words, style, 2);
  }
  return out;
}

}  // namespace mgpu
