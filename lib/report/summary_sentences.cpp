#include "lib/report/summary_sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/stats.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/shares.hpp"
#include "lib/report/size_sweep.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr double kHardlyLess = 0.95;  // efficiency above which no explanation is needed

std::size_t workers(const RunRecord& run) {
  return static_cast<std::size_t>(
      std::count_if(run.per_device.begin(), run.per_device.end(),
                    [](const PerDevice& p) { return p.parts.items > 0; }));
}

// Returns the device that did something; null if none did.
const PerDevice* first_worker(const RunRecord& run) {
  const auto found = std::find_if(run.per_device.begin(), run.per_device.end(),
                                  [](const PerDevice& p) { return p.parts.items > 0; });
  return found == run.per_device.end() ? nullptr : &*found;
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

const std::string& equal_shares() {
  static const std::string name = strategy_with(&StrategyTraits::equal_shares).info->name;
  return name;
}

// Returns " and 1.80 times as fast as equal shares", if that was measured and is so.
std::string against_equal(const RunGroup& group, const RunRecord& best, bool exact) {
  if (best.strategy == equal_shares()) return "";
  for (const RunRecord* equal : group.runs) {
    if (equal->strategy != equal_shares() || equal->status != Status::ok ||
        equal->devices != best.devices || equal->time.median <= best.time.median ||
        best.time.median <= Nanos{} || (!exact && !told_apart(equal->time, best.time)))
      continue;
    return fmt::format(" and {:.2f} times as fast as equal shares",
                       seconds(equal->time.median) / seconds(best.time.median));
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
      {"perfect_occupancy",
       "occupancy, as kernels take longer per item on a share than on the whole problem; at the "
       "rate of the whole it would take",
       &Bottleneck::perfect_occupancy},
      {"unexplained", "time that no measured cost explains; without it, it would take",
       &Bottleneck::unexplained}};
  if (run.bottleneck.name == "unknown")
    return fmt::format(
        "What holds {} back is not known, as time stamps of its commands cannot be right.", whom);
  for (const Words& w : words) {
    const std::optional<Nanos> time = run.bottleneck.*w.time;
    if (run.bottleneck.name != w.name || !time || shown_time(run) <= Nanos{}) continue;
    // The what-if is of the sample shown; it is scaled to the median that the sentence gives.
    const double left =
        static_cast<double>(time->count()) / static_cast<double>(shown_time(run).count());
    const double saved = seconds(run.time.median) * (1 - left);
    const bool hidden = !exact && saved < seconds(run.time.ci95_high - run.time.ci95_low) / 2;
    return fmt::format("What holds {} back most: {} {} ({:.0f} % less{}).", whom, w.what,
                       format_duration(from_seconds(seconds(run.time.median) * left)),
                       (1 - left) * 100, hidden ? ", which is within its noise" : "");
  }
  const bool known =
      run.bottleneck.free_transfers && run.bottleneck.free_launches && run.bottleneck.free_merge;
  const std::string none = known ? "" : ", as far as is known";
  const bool all_work = workers(run) == run.devices.size();
  const double efficiency = run.metrics.efficiency.value_or(1);
  if (run.devices.size() > 1 && all_work && efficiency < kHardlyLess)
    return fmt::format(
        "What holds {} back is that each device is slower at its share than alone at "
        "everything{} ({:.0f} % of the ideal).",
        whom, none, efficiency * 100);
  const std::string of_ideal = run.devices.size() > 1 && run.metrics.efficiency
                                   ? fmt::format(" ({:.0f} % of the ideal)", efficiency * 100)
                                   : "";
  return fmt::format("Nothing but the work itself holds {} back{}{}.", whom, none, of_ideal);
}

// Adds a sentence about the iterations of the row's iterative work on several devices.
void add_iterations(const RunRecord& run, const std::string& label,
                    std::vector<std::string>& remarks) {
  const Metrics& m = run.metrics;
  if (!m.round_imbalance_percent || !m.worst_round_imbalance_percent || !run.worst_round) return;
  std::string words = fmt::format("Iterations of {} are {:.1f} % out of balance", label,
                                  *m.round_imbalance_percent);
  if (*m.worst_round_imbalance_percent - *m.round_imbalance_percent >= 0.1)
    words +=
        fmt::format(", iteration {} most, by {:.1f} %",
                    grouped(std::uint64_t{*run.worst_round} + 1), *m.worst_round_imbalance_percent);
  if (m.waiting_share)
    words += fmt::format("; devices wait for each other for {:.1f} % of the time",
                         *m.waiting_share * 100);
  if (m.exchange_overlap)
    words += fmt::format(", and {:.1f} % of the exchange is hidden", *m.exchange_overlap * 100);
  remarks.push_back(words + '.');
}

// Adds a sentence about the chain of stages if several devices shared a pipeline.
void add_chain(const RunRecord& run, std::vector<std::string>& remarks) {
  if (!run.chain) return;
  const ChainPhases& chain = *run.chain;
  const ChainPhases::Stage& stage = chain.stages[chain.slowest_stage()];
  remarks.push_back(fmt::format(
      "The chain of stages takes {} to fill and {} to drain; between, device {}, the slowest, "
      "completes a batch every {}, of which kernels take {}; the slowest stage is {} with {} on "
      "{}.",
      format_duration(chain.filling), format_duration(chain.draining),
      run.devices.at(chain.slowest.value), format_duration(chain.period),
      format_duration(chain.busy), stage.kernel.text(), format_duration(stage.time),
      run.devices.at(stage.device.value)));
}

// Returns "75/25 %".
std::string percentages(const std::vector<Items>& shares) {
  std::vector<DeviceShare> of;
  for (const Items share : shares) of.push_back({"", share});
  return shares_text(of) + " %";
}

// Adds a sentence for each row that rebalanced: "adaptive rebalanced in 1 of 7 samples, first after
// iteration 4: 50/50 % -> 33/67 %."
void add_rebalancing(const RunGroup& group, std::vector<std::string>& remarks) {
  constexpr std::size_t kToldDevices = 4;
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    if (run.rebalances.empty()) continue;
    const RebalanceRecord& first = run.rebalances.front();
    const std::string samples =
        run.rebalances.size() == run.samples.size()
            ? fmt::format("all {} samples", run.samples.size())
            : fmt::format("{} of {} samples", run.rebalances.size(), run.samples.size());
    std::string words =
        fmt::format("{} rebalanced in {}, first after iteration {}", group.labels[k], samples,
                    grouped(std::uint64_t{first.moves.front().round}));
    if (first.first.size() <= kToldDevices)
      words += fmt::format(": {} -> {}", percentages(first.first),
                           percentages(first.moves.back().shares));
    remarks.push_back(words + '.');
  }
}

// Returns "it was slowed down on purpose (--slow)", or "its clocks were held down (thermal)".
std::string change_words(const std::string& cause) {
  if (cause == kSlowDownCause) return "it was slowed down on purpose (--slow)";
  const std::string reasons = cause.substr(std::min(cause.find(": "), cause.size() - 2) + 2);
  return fmt::format("its clocks were held down by throttling ({})", reasons);
}

// Adds a sentence for each row and device that became slower in mid-sample: "adaptive moved work
// away from device 0:1 in all 5 samples, 3.1 ms after its clocks were held down by throttling
// (thermal)."
void add_adaptations(const RunGroup& group, std::vector<std::string>& remarks) {
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    struct Answers {
      std::size_t changes = 0;
      std::vector<double> latencies;  // in nanoseconds
    };
    std::map<std::pair<std::string, std::string>, Answers> changes;  // by device and cause
    for (const AdaptationRecord& change : group.runs[k]->adaptations) {
      Answers& answers = changes[{change.device, change.cause}];
      ++answers.changes;
      if (change.latency) answers.latencies.push_back(static_cast<double>(change.latency->count()));
    }
    for (const auto& [what, answers] : changes) {
      const std::size_t answered = answers.latencies.size();
      if (answered == 0 && what.second != kSlowDownCause) continue;  // the row's warning says it
      const std::string where =
          answered == 0 || answered == answers.changes
              ? fmt::format("{} sample{}", answers.changes, answers.changes == 1 ? "" : "s")
              : fmt::format("{} of {} samples", answered, answers.changes);
      const std::string after =
          answered == 0
              ? " after"
              : fmt::format(", {} after",
                            format_duration(Nanos{std::llround(median(answers.latencies))}));
      remarks.push_back(fmt::format("{} moved {} away from device {} in {}{} {}.", group.labels[k],
                                    answered == 0 ? "no work" : "work", what.first, where, after,
                                    change_words(what.second)));
    }
  }
}

// Adds which devices read the input in place.
void add_in_place(const RunGroup& group, std::vector<std::string>& remarks) {
  std::set<std::string> devices;
  for (const RunRecord* run : group.runs)
    for (const PerDevice& p : run->per_device)
      if (p.parts.in_place) devices.insert(p.device);
  if (!devices.empty())
    remarks.push_back(fmt::format("{} read the input in the host's memory, without an upload.",
                                  fmt::join(devices, ", ")));
}

// Adds a sentence for each of the first few faults.
void add_faults(const RunGroup& group, std::vector<std::string>& remarks) {
  constexpr std::size_t kTold = 4;
  std::size_t faults = 0;
  for (std::size_t k = 0; k < group.runs.size(); ++k)
    for (const Fault& fault : group.runs[k]->faults)
      if (faults++ < kTold)
        remarks.push_back(
            fmt::format("{}: {}", group.labels[k], fault_sentence(fault, group.runs[k])));
  if (faults > kTold)
    remarks.push_back(fmt::format("{} more in the table of faults.", faults - kTold));
}

// Returns what would make a verdict possible: "; other programs used 70-90 % of the cores: repeat
// when idle, or -n 30".
std::string what_helps(const RunGroup& group) {
  constexpr std::size_t kFew = 5, kMany = 30;
  std::vector<double> loads;
  std::size_t samples = 0;
  for (const RunRecord* run : group.runs) {
    samples = std::max(samples, run->samples.size());
    for (const std::string& warning : run->warnings)
      if (const auto load = other_load_in(warning)) loads.push_back(*load);
  }
  const std::string more = fmt::format("-n {}", samples < kFewestRanked ? kFew
                                                : samples < kMany       ? kMany
                                                                        : 2 * samples);
  return loads.empty()
             ? "; repeat with " + more
             : fmt::format("; {}: repeat when idle, or with {}", other_load_words(loads), more);
}

// Tells whether `automatic` is `auto` and chose the strategy of the other row.
bool is_choice_of(const RunRecord& automatic, const RunRecord& other) {
  return automatic.plan.chosen && automatic.plan.chosen->strategy == other.strategy;
}

// Returns "(capability)", or "(capability, in a tie with auto and guided)".
std::string who(const RunGroup& group, const Finding& finding, bool exact) {
  std::vector<std::string> ties;
  const std::vector<std::string> names = group.names();
  if (group.ranks[finding.row] == Rank::shared)
    for (const std::size_t k : group.ranked(Rank::shared))
      if (k != finding.row && workers(*group.runs[k]) > 1 &&
          !is_choice_of(*finding.split, *group.runs[k]) &&
          !is_choice_of(*group.runs[k], *finding.split))
        ties.push_back(names[k]);
  std::string text = names[finding.row];
  if (!ties.empty()) {
    text += fmt::format(", {} {}", exact ? "as fast as" : "in a tie with", first_few(ties));
  } else if (group.doubted) {
    text += ", fastest of the rows that can be ranked";
  }
  return '(' + text + ')';
}

// Returns "42 % longer", or "8.2 times as long".
std::string longer(double ratio) {
  constexpr double kTwice = 2;
  return ratio < kTwice ? fmt::format("{:.0f} % longer", (ratio - 1) * 100)
                        : fmt::format("{:.1f} times as long", ratio);
}

// Returns why a group has no verdict.
std::string why_no_verdict(const RunGroup& group) {
  if (group.best == nullptr) {
    const auto measured = std::find_if(group.runs.begin(), group.runs.end(),
                                       [](const RunRecord* r) { return !is_inapplicable(*r); });
    const RunRecord& run = measured == group.runs.end() ? *group.runs.front() : **measured;
    return fmt::format("Nothing was measured; {} {}{}.", strategy_label(run), to_string(run.status),
                       run.reason ? ": " + *run.reason : "");
  }
  RowNotes reasons;
  const std::vector<std::string> names = group.names();
  std::vector<std::string> measured;
  for (std::size_t k = 0; k < group.runs.size(); ++k)
    if (!is_inapplicable(*group.runs[k])) measured.push_back(names[k]);
  for (const std::size_t k : group.ranked(Rank::unknown))
    reasons.add(why_unranked(*group.runs[k]), names[k]);
  std::vector<std::string> words;
  reasons.each([&](const std::string& what, const std::vector<std::string>& rows) {
    words.push_back(RowNotes::with_rows(what, rows, measured));
  });
  return fmt::format("No verdict: {}{}.", fmt::join(words, "; "), what_helps(group));
}

std::string without_end(std::string sentence) {
  sentence.pop_back();
  return sentence;
}

// Returns why all of the work went to one device, if the reason is known.
std::string why_indivisible(const RunRecord& run) {
  if (!run.plan.work) return "";
  const PlannedWork& work = *run.plan.work;
  if (work.items < 2) return "the problem is a single item";
  if (work.granularity > 1 && work.items < 2 * work.granularity)
    return fmt::format("{} items, handed out in granules of {}", grouped(work.items),
                       grouped(work.granularity));
  return "";
}

// Returns the sentences about a group in which no row has several devices at work.
std::vector<std::string> about_one_device(const RunGroup& group, const Finding& finding,
                                          bool exact) {
  const std::vector<std::string> names = group.names();
  const RunRecord& best = *group.runs[finding.row];
  const PerDevice* worker = first_worker(best);
  const std::string time = format_duration(best.time.median);
  if (worker == nullptr && best.devices.empty()) return {fmt::format("It takes {}.", time)};
  const std::string device = worker ? worker->device : best.devices.front();
  if (finding.advice == Advice::indivisible) {
    const std::string why = why_indivisible(best);
    return {
        fmt::format("Not split: every strategy gave all of the work to one device{}; device {} "
                    "takes {}.",
                    why.empty() ? "" : " (" + why + ")", device, time)};
  }
  std::vector<std::string> sentences = {
      fmt::format("Device {} alone takes {} ({}){}.", device, time, names[finding.row],
                  best.devices.size() > 1 ? "; no split was measured" : "")};
  if (!best.per_device.empty()) sentences.push_back(held_back(best, "it", exact));
  return sentences;
}

// Tells whether times are exact: a virtual clock has no noise.
bool is_exact(const Report& report) { return report.environment.contains("simulated"); }

// Tells whether the blank lies between a number and its unit.
bool before_unit(const std::string& line, std::size_t blank) {
  static const std::set<std::string> units{"%", "ns", "us", "ms", "s", "x", "pp"};
  if (blank == 0 || std::isdigit(static_cast<unsigned char>(line[blank - 1])) == 0) return false;
  return units.contains(line.substr(blank + 1, line.find_first_of(" ,;.)", blank + 1) - blank - 1));
}

// Returns the position before which the line is broken: at the last blank that makes it fit the
// width, but not between a number and its unit. A list one|two|three that is too long for a line of
// its own is broken after the last bar that fits. If nothing fits, returns the first blank after
// the width, or npos.
std::size_t place_to_break(const std::string& line, std::size_t width, std::size_t indent) {
  const auto fits = [&](std::size_t at) {
    return display_width(std::string_view(line).substr(0, at)) <= width;
  };
  std::size_t blank = line.size();
  while (blank != std::string::npos && blank > 0 && (!fits(blank) || before_unit(line, blank)))
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

Finding finding_of(const RunGroup& group, bool exact) {
  Finding finding;
  const RunRecord* alone = nullptr;  // the fastest row with one device at work
  std::size_t alone_row = 0;
  bool could_split = false;
  for (std::size_t k = 0; k < group.runs.size(); ++k) {
    const RunRecord& run = *group.runs[k];
    if (run.status != Status::ok || group.ranks[k] == Rank::unknown) continue;
    could_split |= run.devices.size() > 1 && run.strategy == equal_shares();
    const bool several = workers(run) > 1;
    const RunRecord*& best = several ? finding.split : alone;
    if (best != nullptr && best->time.median <= run.time.median) continue;
    best = &run;
    (several ? finding.row : alone_row) = k;
  }
  if (finding.split == nullptr) {
    if (alone == nullptr) {
      if (const PerDevice* single = group.best ? best_single(*group.best) : nullptr)
        finding.device = single->device, finding.alone = single->alone;
      return finding;
    }
    finding.row = alone_row;
    const bool divisible = why_indivisible(*alone).empty() && !could_split;
    finding.advice =
        divisible || alone->devices.size() < 2 ? Advice::one_device : Advice::indivisible;
    return finding;
  }
  const RunRecord& split = *finding.split;
  finding.advice = Advice::unknown_gain;
  const PerDevice* single = best_single(split);
  if (single == nullptr || !split.metrics.speedup) return finding;
  finding.device = single->device;
  finding.alone = single->alone;
  if (!exact && !impossible_speedup(split, false).empty()) return finding;
  finding.advice = !exact && !apart_from(split, *single) ? Advice::tie
                   : *split.metrics.speedup > 1          ? Advice::split
                                                         : Advice::do_not_split;
  return finding;
}

std::vector<std::string> verdict_of(const RunGroup& group, bool exact) {
  const Finding finding = finding_of(group, exact);
  if (finding.advice == Advice::none) return {why_no_verdict(group)};
  if (finding.split == nullptr) return about_one_device(group, finding, exact);
  const RunRecord& split = *finding.split;
  const std::string time = format_duration(split.time.median), name = who(group, finding, exact),
                    give = without_end(split_sentence(shares_of(split), split.work.unit)),
                    alone = finding.alone ? fmt::format("device {} alone ({})", finding.device,
                                                        format_duration(*finding.alone))
                                          : "";
  const std::string few = !exact && split.time.n < kFewestRanked
                              ? fmt::format("; {} sample{}, so that the noise is not known",
                                            split.time.n, split.time.n == 1 ? "" : "s")
                              : "";
  std::string first;
  const char* whom = "it";
  switch (finding.advice) {
    case Advice::split:
      first = fmt::format("{} {}: {}, {:.2f} times as fast as {}{}{}.", give, name, time,
                          *split.metrics.speedup, alone, against_equal(group, split, exact), few);
      break;
    case Advice::do_not_split:
      first =
          fmt::format("Do not split: device {} alone takes {}; the best split {} takes {} ({}){}.",
                      finding.device, format_duration(*finding.alone), name, time,
                      longer(1 / *split.metrics.speedup), few);
      whom = "the split";
      break;
    case Advice::tie:
      first = fmt::format(
          "No split is measurably faster than {}: the best split ({}) takes {}, a "
          "tie within noise{}.",
          alone, group.names()[finding.row], time, what_helps(group));
      whom = "the split";
      break;
    default:
      first =
          fmt::format("{} {}: {}{}.", give, name, time,
                      alone.empty() ? "; devices were not measured alone"
                                    : fmt::format("; the gain over {} is not known, as it is more "
                                                  "than a perfect split gives{}",
                                                  alone, what_helps(group)));
  }
  std::vector<std::string> sentences = {first};
  if (!split.per_device.empty()) sentences.push_back(held_back(split, whom, exact));
  return sentences;
}

std::vector<std::string> remarks_on(const RunGroup& group) {
  std::vector<std::string> remarks;
  if (group.best != nullptr) {
    const Finding finding = finding_of(group, true);
    if (finding.split != nullptr) {
      add_chain(*finding.split, remarks);
      add_iterations(*finding.split, group.labels[finding.row], remarks);
    }
  }
  add_rebalancing(group, remarks);
  add_adaptations(group, remarks);
  add_faults(group, remarks);
  add_in_place(group, remarks);
  return remarks;
}

std::vector<SummaryLine> summary_of(const Report& report) {
  std::vector<SummaryLine> lines;
  for (const SizeSweep& sweep : size_sweeps(report)) {
    if (const auto sentences = sweep_sentences(sweep); !sentences.empty())
      lines.push_back({sweep.title, fmt::format("{}", fmt::join(sentences, " "))});
  }
  if (is_sweep(report) && !lines.empty()) return lines;
  for (const RunGroup& group : group_runs(report)) {
    std::vector<std::string> sentences = verdict_of(group, is_exact(report));
    for (std::string& remark : remarks_on(group)) sentences.push_back(std::move(remark));
    lines.push_back({group.title, fmt::format("{}", fmt::join(sentences, " "))});
  }
  return lines;
}

}  // namespace mgpu
