// A table in a few plain sentences: what won, by how much, what holds it back, and what went wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "lib/base/quantity.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr double kHardlyLess = 0.95;  // efficiency that needs no explanation

// Medians whose 95 % intervals overlap are not distinguished.
bool distinguishable(const Summary& a, const Summary& b) { return a.ci95_high < b.ci95_low || b.ci95_high < a.ci95_low; }

// The one device that did everything; null when several took part.
const PerDevice* only_worker(const RunRecord& run) {
  const PerDevice* only = nullptr;
  for (const PerDevice& p : run.per_device) {
    if (p.parts.items == 0) continue;
    if (only) return nullptr;
    only = &p;
  }
  return only;
}

std::string on_devices(const RunRecord& run) {
  const std::size_t n = run.devices.size();
  if (n > 1 && only_worker(run)) return fmt::format("1 of {} devices", n);
  return fmt::format("{} device{}", devices_text(run), asked_for(run) == 1 ? "" : "s");
}

// The device that is fastest alone, if every device's time alone is known.
const PerDevice* best_single(const RunRecord& run) {
  const PerDevice* best = nullptr;
  for (const PerDevice& p : run.per_device) {
    if (!p.alone) return nullptr;
    if (!best || *p.alone < *best->alone) best = &p;
  }
  return best;
}

std::string against_single(const RunRecord& best) {
  if (best.devices.size() < 2) return "";
  if (const PerDevice* only = only_worker(best)) return fmt::format(": no split here beats device {} alone", only->device);
  const PerDevice* single = best_single(best);
  if (!single || !best.metrics.speedup) return "";
  if (*best.metrics.speedup <= 1)
    return fmt::format(", no faster than device {} alone ({})", single->device, format_duration(*single->alone));
  return fmt::format(", {:.2f} times as fast as the best device alone ({}, {})", *best.metrics.speedup, single->device,
                     format_duration(*single->alone));
}

std::string against_equal(const RunGroup& group) {
  static const std::string equal_shares = strategy_with(&StrategyTraits::equal_shares).info->name;
  const RunRecord& best = *group.best;
  if (best.strategy == equal_shares || best.devices.size() < 2 || only_worker(best)) return "";
  const auto equal = std::find_if(group.runs.begin(), group.runs.end(), [&](const RunRecord* r) {
    return r->strategy == equal_shares && r->status == Status::ok && r->devices == best.devices;
  });
  if (equal == group.runs.end() || best.time.median <= Nanos{}) return "";
  if (!distinguishable(best.time, (*equal)->time)) return "; equal shares are as fast, within the noise";
  const double gain = static_cast<double>((*equal)->time.median.count()) / static_cast<double>(best.time.median.count()) - 1;
  const bool slower = best.metrics.speedup && *best.metrics.speedup <= 1;
  return fmt::format("{} {:.{}f} % faster than equal shares", slower ? "," : " and", gain * 100, gain < 0.1 ? 1 : 0);
}

std::string held_back(const RunRecord& run) {
  struct Words {
    const char *name, *what;
    std::optional<Nanos> Bottleneck::*time;
  };
  static constexpr Words words[] = {
      {"perfect_balance", "imbalance; perfectly balanced it would take", &Bottleneck::perfect_balance},
      {"free_transfers", "transfers; if they were free it would take", &Bottleneck::free_transfers},
      {"free_launches", "launch gaps; without them it would take", &Bottleneck::free_launches},
      {"free_merge", "the merge; if it were free it would take", &Bottleneck::free_merge}};
  if (run.bottleneck.name == "unknown") return " What holds it back is not known, as time stamps of its commands cannot be right.";
  for (const Words& w : words) {
    const std::optional<Nanos> time = run.bottleneck.*w.time;
    if (run.bottleneck.name != w.name || !time || run.timeline.makespan <= Nanos{}) continue;
    // The what-if is of the sample shown. The sentence gives the median, so it is scaled.
    const double left = static_cast<double>(time->count()) / static_cast<double>(run.timeline.makespan.count());
    return fmt::format(" What holds it back most: {} {} ({:.0f} % less).", w.what,
                       format_duration(from_seconds(seconds(run.time.median) * left)), (1 - left) * 100);
  }
  const bool known = run.bottleneck.free_transfers && run.bottleneck.free_launches && run.bottleneck.free_merge;
  const char* none = known ? "no what-if would save 1 %" : "no what-if that is known would save 1 %";
  const bool all_work =
      std::all_of(run.per_device.begin(), run.per_device.end(), [](const PerDevice& p) { return p.parts.items > 0; });
  if (run.devices.size() > 1 && all_work && run.metrics.efficiency.value_or(1) < kHardlyLess)
    return fmt::format(" What holds it back is that each device is slower at its share than alone at everything: {}.", none);
  return fmt::format(" Nothing but the work itself holds it back: {}.", none);
}

// " dynamic: device 0:1 failed in the 3rd sample (...)." for each of the first few faults.
std::string faults_of(const RunGroup& group) {
  constexpr std::size_t kTold = 4;
  std::string words;
  std::size_t faults = 0;
  for (std::size_t k = 0; k < group.runs.size(); ++k)
    for (const Fault& fault : group.runs[k]->faults)
      if (faults++ < kTold) words += fmt::format(" {}: {}", group.labels[k], fault_sentence(fault, group.runs[k]));
  if (faults > kTold) words += fmt::format(" {} more in the table of faults.", faults - kTold);
  return words;
}

std::string words_for(const RunGroup& group) {
  if (!group.best) {
    const RunRecord& first = *group.runs.front();
    return fmt::format("{}: no run was ok; the first is {}{}.{}", group.title, to_string(first.status),
                       first.reason ? ": " + *first.reason : "", faults_of(group));
  }
  const RunRecord& best = *group.best;
  const std::size_t at = static_cast<std::size_t>(std::find(group.runs.begin(), group.runs.end(), group.best) - group.runs.begin());
  const auto ok = std::count_if(group.runs.begin(), group.runs.end(), [](const RunRecord* r) { return r->status == Status::ok; });
  return fmt::format("{}: {} on {} {} {}{}{}.{}{}", group.title, group.labels[at], on_devices(best),
                     ok > 1 ? "is fastest with" : "takes", format_duration(best.time.median), against_single(best),
                     against_equal(group), best.timeline.commands.empty() ? "" : held_back(best), faults_of(group));
}

}  // namespace

std::string wrapped_prose(const std::string& text, const TableStyle& style, std::size_t indent) {
  if (!style.wraps) return text;
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    while (display_width(line) > style.width) {
      std::size_t at = line.size();  // the last blank that leaves a line of the width; none: the first after it
      while (at != std::string::npos && at > 0 && display_width(std::string_view(line).substr(0, at)) > style.width)
        at = line.rfind(' ', at - 1);
      if (at == std::string::npos || at <= line.find_first_not_of(' ')) at = line.find(' ', style.width);
      if (at == std::string::npos) break;
      out += line.substr(0, at) + '\n';
      line = std::string(indent, ' ') + line.substr(at + 1);
    }
    out += line + '\n';
  }
  return out;
}

std::string closing_words(const Report& report) {
  std::string out;
  for (const RunGroup& group : group_runs(report)) out += printable(words_for(group)) + '\n';
  for (const Fault& fault : report.faults) out += printable(fault_sentence(fault, nullptr)) + '\n';
  return out;
}

}  // namespace mgpu
