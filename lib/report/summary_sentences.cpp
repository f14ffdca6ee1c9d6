// The summary of tables in a few plain sentences: what won, by how much, the bottleneck, and what
// went wrong.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/size_sweep.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr double kHardlyLess = 0.95;  // efficiency above which no explanation is needed

// Returns the one device that did everything; null if several took part.
const PerDevice* only_worker(const RunRecord& run) {
  const PerDevice* only = nullptr;
  for (const PerDevice& p : run.per_device) {
    if (p.parts.items == 0) continue;
    if (only) return nullptr;
    only = &p;
  }
  return only;
}

// Returns "2 devices"; "2 of 3 devices" if one failed; the device's id if one did everything.
std::string on_devices(const RunRecord& run) {
  if (const PerDevice* only = only_worker(run); only != nullptr && run.devices.size() > 1)
    return "device " + only->device;
  return fmt::format("{} device{}", devices_text(run), asked_for(run) == 1 ? "" : "s");
}

// Returns the device with the best single-device baseline, if all baselines are known.
const PerDevice* best_single(const RunRecord& run) {
  const PerDevice* best = nullptr;
  for (const PerDevice& p : run.per_device) {
    if (!p.alone) return nullptr;
    if (!best || *p.alone < *best->alone) best = &p;
  }
  return best;
}

// Tells whether the case and the single device are distinguishable; true if the file has no samples
// of that device.
bool apart_from(const RunRecord& run, const PerDevice& single) {
  return single.alone_samples.empty() || told_apart(run.time, summarise(single.alone_samples));
}

// Returns "1.41", or "1.32 to 1.41" if several share the first place.
std::string speedups_of(const RunGroup& group, const RunRecord& best,
                        const std::vector<std::size_t>& first) {
  const std::string most = fmt::format("{:.2f}", *best.metrics.speedup);
  const double slower = seconds(group.runs[first.back()]->time.median) / seconds(best.time.median);
  const std::string least = fmt::format("{:.2f}", *best.metrics.speedup / slower);
  return least == most ? most : least + " to " + most;
}

std::string against_single(const RunGroup& group, const RunRecord& best,
                           const std::vector<std::size_t>& first, bool exact) {
  if (best.devices.size() < 2) return "";
  const auto sharing = group.ranked(Rank::shared);
  const auto alone = std::find_if(sharing.begin(), sharing.end(),
                                  [&](std::size_t k) { return only_worker(*group.runs[k]); });
  if (alone != sharing.end() && sharing.size() > 1)
    return fmt::format(": no split is known to beat device {} alone",
                       only_worker(*group.runs[*alone])->device);
  if (const PerDevice* only = only_worker(best))
    return fmt::format(": no split over {} devices beats device {} alone", devices_text(best),
                       only->device);
  const PerDevice* single = best_single(best);
  if (!single || !best.metrics.speedup) return "";
  const std::string whom =
      fmt::format("device {} alone ({})", single->device, format_duration(*single->alone));
  if (!exact && !impossible_speedup(best, true).empty())
    return ", and cannot be compared with " + whom + ", as its speed-up cannot be";
  if (!exact && !apart_from(best, *single)) return ", within the noise of " + whom;
  if (*best.metrics.speedup <= 1) return ", no faster than " + whom;
  return fmt::format(", {} times as fast as the best device alone ({}, {})",
                     speedups_of(group, best, first), single->device,
                     format_duration(*single->alone));
}

// Compares the best with equal shares. `gained`: the clause before already names a gain; `several`:
// the best is one of several that share the first place.
std::string against_equal(const RunGroup& group, const RunRecord& best, bool gained, bool several) {
  static const std::string equal_shares = strategy_with(&StrategyTraits::equal_shares).info->name;
  if (best.strategy == equal_shares || best.devices.size() < 2 || only_worker(best)) return "";
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& equal = *group.runs[k];
    if (equal.strategy != equal_shares || equal.status != Status::ok ||
        equal.devices != best.devices)
      continue;
    if (group.ranks[k] != Rank::none || best.time.median <= Nanos{}) return "";
    const double gain = static_cast<double>(equal.time.median.count()) /
                            static_cast<double>(best.time.median.count()) -
                        1;
    return fmt::format("{} {}{:.{}f} % faster than equal shares", gained ? " and" : ",",
                       several ? "up to " : "", gain * 100, gain < 0.1 ? 1 : 0);
  }
  return "";
}

// Names the bottleneck. `whom`: "it", or the name if several share the first place.
std::string held_back(const RunRecord& run, const std::string& whom, bool exact) {
  struct Words {
    const char *name, *what;
    std::optional<Nanos> Bottleneck::*time;
  };
  static constexpr Words words[] = {
      {"perfect_balance", "balance; perfectly balanced it would take",
       &Bottleneck::perfect_balance},
      {"free_transfers", "transfers; if they were free it would take", &Bottleneck::free_transfers},
      {"free_exchange", "exchanges; if they were free it would take", &Bottleneck::free_exchange},
      {"free_launches", "launches; if they were free it would take", &Bottleneck::free_launches},
      {"free_merge", "the merge; if it were free it would take", &Bottleneck::free_merge},
      {"free_granularity",
       "granularity, as there are too few pieces to share evenly; with finer "
       "ones it would take",
       &Bottleneck::free_granularity},
      {"free_contention",
       "contention, as devices slow each other down; each as fast as alone, it "
       "would take",
       &Bottleneck::free_contention},
      {"unexplained", "time that no measured cost explains; without it, it would take",
       &Bottleneck::unexplained}};
  if (run.bottleneck.name == "unknown")
    return fmt::format(
        " What holds {} back is not known, as time stamps of its commands cannot be right.", whom);
  for (const Words& w : words) {
    const std::optional<Nanos> time = run.bottleneck.*w.time;
    if (run.bottleneck.name != w.name || !time || run.timeline.makespan <= Nanos{}) continue;
    // The what-if is of the sample shown; it is scaled to the median that the sentence gives.
    const double left =
        static_cast<double>(time->count()) / static_cast<double>(run.timeline.makespan.count());
    const double saved = seconds(run.time.median) * (1 - left);
    const bool hidden = !exact && saved < seconds(run.time.ci95_high - run.time.ci95_low) / 2;
    return fmt::format(" What holds {} back most: {} {} ({:.0f} % less{}).", whom, w.what,
                       format_duration(from_seconds(seconds(run.time.median) * left)),
                       (1 - left) * 100, hidden ? ", which is within its noise" : "");
  }
  const bool known =
      run.bottleneck.free_transfers && run.bottleneck.free_launches && run.bottleneck.free_merge;
  const char* none =
      known ? "no what-if would save 1 %" : "no what-if that is known would save 1 %";
  const bool all_work = std::all_of(run.per_device.begin(), run.per_device.end(),
                                    [](const PerDevice& p) { return p.parts.items > 0; });
  if (run.devices.size() > 1 && all_work && run.metrics.efficiency.value_or(1) < kHardlyLess)
    return fmt::format(
        " What holds {} back is that each device is slower at its share than alone at everything: "
        "{}.",
        whom, none);
  return fmt::format(" Nothing but the work itself holds {} back: {}.", whom, none);
}

// Returns " Its rounds are ..." for iterative work on several devices.
std::string of_rounds(const RunRecord& run) {
  const Metrics& m = run.metrics;
  if (!m.round_imbalance_percent || !m.worst_round_imbalance_percent || !run.worst_round) return "";
  std::string words =
      fmt::format(" Its rounds are {:.1f} % out of balance", *m.round_imbalance_percent);
  if (*m.worst_round_imbalance_percent - *m.round_imbalance_percent >= 0.1)
    words +=
        fmt::format(", round {} most, by {:.1f} %", grouped(std::uint64_t{*run.worst_round} + 1),
                    *m.worst_round_imbalance_percent);
  if (m.waiting_share)
    words += fmt::format("; devices wait for each other for {:.1f} % of the time",
                         *m.waiting_share * 100);
  if (m.exchange_overlap)
    words += fmt::format(", and {:.1f} % of the exchange is hidden", *m.exchange_overlap * 100);
  return words + '.';
}

// Returns " Its chain of stages ..." if several devices shared a pipeline.
std::string of_chain(const RunRecord& run) {
  if (!run.chain) return "";
  const ChainPhases& chain = *run.chain;
  const ChainPhases::Stage& stage = chain.stages[chain.slowest_stage()];
  return fmt::format(
      " Its chain of stages takes {} to fill and {} to drain; between, a batch comes every {} from "
      "the slowest device, {}, whose "
      "kernels "
      "take {}; the slowest stage is {} with {} on {}.",
      format_duration(chain.filling), format_duration(chain.draining),
      format_duration(chain.period), run.devices.at(chain.slowest.value),
      format_duration(chain.busy), stage.kernel.text(), format_duration(stage.time),
      run.devices.at(stage.device.value));
}

// Returns shares such as "50 / 50 %".
std::string percentages(const std::vector<Items>& shares) {
  const auto all = static_cast<double>(std::accumulate(shares.begin(), shares.end(), Items{0}));
  std::string words;
  for (const Items share : shares)
    words += fmt::format("{}{:.0f}", words.empty() ? "" : " / ",
                         all > 0 ? 100 * static_cast<double>(share) / all : 0.0);
  return words + " %";
}

// Returns a sentence for each row that rebalanced: " adaptive moved borders in 1 of 7 samples, the
// first time after round 4: from 50 / 50 % to 33 / 67 %."
std::string moved_borders(const RunGroup& group) {
  constexpr std::size_t kToldDevices = 4;
  std::string words;
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    if (run.rebalances.empty()) continue;
    const RebalanceRecord& first = run.rebalances.front();
    words += fmt::format(" {} moved borders in {} of {} samples, the first time after round {}",
                         group.labels[k], run.rebalances.size(), run.samples.size(),
                         grouped(std::uint64_t{first.moves.front().round}));
    if (first.first.size() <= kToldDevices)
      words += fmt::format(": from {} to {}", percentages(first.first),
                           percentages(first.moves.back().shares));
    words += '.';
  }
  return words;
}

// Returns " dynamic: device 0:1 failed in the 3rd sample (...)." for each of the first few faults.
std::string faults_of(const RunGroup& group) {
  constexpr std::size_t kTold = 4;
  std::string words;
  std::size_t faults = 0;
  for (std::size_t k = 0; k < group.runs.size(); ++k)
    for (const Fault& fault : group.runs[k]->faults)
      if (faults++ < kTold)
        words += fmt::format(" {}: {}", group.labels[k], fault_sentence(fault, group.runs[k]));
  if (faults > kTold) words += fmt::format(" {} more in the table of faults.", faults - kTold);
  return words;
}

// Returns "equal, dynamic and guided", with numbers of devices if the table has several.
std::string names_of(const RunGroup& group, const std::vector<std::size_t>& rows) {
  const bool several_counts =
      std::any_of(group.runs.begin(), group.runs.end(), [&](const RunRecord* run) {
        return run->devices.size() != group.runs.front()->devices.size();
      });
  std::vector<std::string> names;
  for (const std::size_t k : rows)
    names.push_back(group.labels[k] +
                    (several_counts ? fmt::format(" ({} dev)", devices_text(*group.runs[k])) : ""));
  return first_few(names);
}

// Names the fastest row, "dynamic on 2 devices is fastest with 1.2 ms", or the rows that share that
// place.
std::string who_is_first(const RunGroup& group, const std::vector<std::size_t>& first,
                         std::size_t ok, bool exact) {
  const RunRecord& best = *group.runs[first.front()];
  const std::string fastest = format_duration(best.time.median);
  if (first.size() > 1) {
    const std::string slowest = format_duration(group.runs[first.back()]->time.median);
    const char* how = exact ? "equally fast"
                      : group.doubted
                          ? "fastest of the rows that can be ranked, and a tie within the noise"
                          : "fastest, and a tie within the noise";
    return fmt::format("{} are {}, with {}{}", names_of(group, first), how, fastest,
                       slowest == fastest ? "" : " to " + slowest);
  }
  const char* verb = ok == 1         ? "takes"
                     : group.doubted ? "is fastest of the rows that can be ranked, with"
                                     : "is fastest with";
  return fmt::format("{} on {} {} {}", group.labels[first.front()], on_devices(best), verb,
                     fastest);
}

// Returns " 2 rows cannot be ranked." for the rows left out of the ranking.
std::string unranked(std::size_t rows) {
  if (rows == 0) return "";
  return fmt::format(" {} row{} cannot be ranked.", rows, rows == 1 ? "" : "s");
}

// Returns why no row can be ranked: most rows that are ok have rank unknown.
std::string why_unranked(const RunGroup& group, const std::vector<std::size_t>& unknown,
                         std::size_t ok) {
  const auto all = [&](const auto& is) {
    return std::all_of(unknown.begin(), unknown.end(),
                       [&](std::size_t k) { return is(*group.runs[k]); });
  };
  if (all([](const RunRecord& run) { return run.time.n < kFewestRanked; }))
    return fmt::format("fewer than {} samples of each", kFewestRanked);
  if (all([](const RunRecord& run) { return !impossible_speedup(run, true).empty(); }))
    return fmt::format("the speed-ups of {} of {} cannot be", unknown.size(), ok);
  return fmt::format("the times of {} of {} vary too much", unknown.size(), ok);
}

// Returns the summary of a table, without its title and its faults.
std::string words_for(const RunGroup& group, bool exact) {
  if (!group.best) {
    const RunRecord& first = *group.runs.front();
    return fmt::format("no run was ok; the first is {}{}.", to_string(first.status),
                       first.reason ? ": " + *first.reason : "");
  }
  const auto ok = static_cast<std::size_t>(
      std::count_if(group.runs.begin(), group.runs.end(),
                    [](const RunRecord* r) { return r->status == Status::ok; }));
  const std::vector<std::size_t> unknown = group.ranked(Rank::unknown);
  std::vector<std::size_t> first = group.ranked(Rank::alone);
  if (first.empty()) first = group.ranked(Rank::shared);
  if (first.empty()) {
    return fmt::format("no row can be ranked: {}.{}", why_unranked(group, unknown, ok),
                       moved_borders(group));
  }
  const RunRecord& best = *group.runs[first.front()];
  const std::string single = against_single(group, best, first, exact);
  const bool gained = single.empty() || single.find(" times as fast") != std::string::npos,
             several = first.size() > 1;
  return fmt::format("{}{}{}.{}{}{}{}", who_is_first(group, first, ok, exact), single,
                     against_equal(group, best, gained, several), unranked(unknown.size()),
                     best.timeline.commands.empty()
                         ? ""
                         : held_back(best, several ? group.labels[first.front()] : "it", exact),
                     several ? "" : of_chain(best) + of_rounds(best), moved_borders(group));
}

// Tells whether times are exact: a virtual clock has no noise.
bool is_exact(const Report& report) { return report.environment.contains("simulated"); }

// Returns the position before which the line is broken: at the last blank that makes it fit the
// width. A list one|two|three that is too long for a line of its own is broken after the last bar
// that fits. If nothing fits, returns the first blank after the width, or npos.
std::size_t place_to_break(const std::string& line, std::size_t width, std::size_t indent) {
  const auto fits = [&](std::size_t at) {
    return display_width(std::string_view(line).substr(0, at)) <= width;
  };
  std::size_t blank = line.size();
  while (blank != std::string::npos && blank > 0 && !fits(blank))
    blank = line.rfind(' ', blank - 1);
  const std::size_t text = line.find_first_not_of(' ');
  const bool none = blank == std::string::npos || blank <= text;
  const std::size_t word = none ? text : blank + 1,
                    end = std::min(line.find(' ', word), line.size());
  if (indent + display_width(std::string_view(line).substr(word, end - word)) > width) {
    std::size_t bar = line.rfind('|', end);
    while (bar != std::string::npos && bar > word && !fits(bar + 1)) bar = line.rfind('|', bar - 1);
    if (bar != std::string::npos && bar > word) return bar + 1;
  }
  return none ? line.find(' ', width) : blank;
}

}  // namespace

std::string wrapped_prose(const std::string& text, const TableStyle& style, std::size_t indent) {
  const std::string shown = printable_text(text);
  if (!style.wraps) return shown;
  std::istringstream lines(shown);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    while (display_width(line) > style.width) {
      const std::size_t at = place_to_break(line, style.width, indent);
      if (at == std::string::npos) break;
      const bool blank = line[at] == ' ';
      out += line.substr(0, at) + '\n';
      line = std::string(indent, ' ') + line.substr(blank ? at + 1 : at);
    }
    out += line + '\n';
  }
  return out;
}

std::vector<SummaryLine> summary_of(const Report& report) {
  std::vector<SummaryLine> lines;
  for (const SizeSweep& sweep : size_sweeps(report)) {
    if (const auto sentences = sweep_sentences(sweep); !sentences.empty())
      lines.push_back({sweep.title, fmt::format("{}", fmt::join(sentences, " "))});
  }
  if (is_sweep(report) && !lines.empty()) return lines;
  for (const RunGroup& group : group_runs(report))
    lines.push_back({group.title, words_for(group, is_exact(report))});
  return lines;
}

std::string summary_sentences(const Report& report) {
  std::string out;
  for (const RunGroup& group : group_runs(report))
    out += printable(group.title + ": " + words_for(group, is_exact(report)) + faults_of(group)) +
           '\n';
  for (const Fault& fault : report.faults) out += printable(fault_sentence(fault, nullptr)) + '\n';
  return out;
}

}  // namespace mgpu
