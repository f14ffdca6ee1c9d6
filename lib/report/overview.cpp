#include "lib/report/overview.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/shares.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

enum class Verdict { gains, loses, tie, unknown, unsplit, failed };

// The answer for one problem.
struct SplitAnswer {
  const RunGroup* group = nullptr;
  const RunRecord* split = nullptr;  // the fastest of those on several devices; null: none
  const PerDevice* alone = nullptr;  // the fastest device alone; null: not known
  Verdict verdict = Verdict::failed;
};

bool is_split(const RunRecord& run) {
  return std::count_if(run.per_device.begin(), run.per_device.end(),
                       [](const PerDevice& p) { return p.parts.items > 0; }) > 1;
}

// Tells whether the times of the case and of the device alone say which one is faster.
Verdict compare(const SplitAnswer& answer, const RunGroup& group) {
  const auto at = std::find(group.runs.begin(), group.runs.end(), answer.split);
  const Summary alone = summarise(answer.alone->alone_samples);
  if (!told_apart(answer.split->time, alone)) {
    const bool noisy =
        group.ranks[static_cast<std::size_t>(at - group.runs.begin())] == Rank::unknown;
    return noisy ? Verdict::unknown : Verdict::tie;
  }
  if (!impossible_speedup(*answer.split, true).empty()) return Verdict::unknown;
  return answer.split->time.median < alone.median ? Verdict::gains : Verdict::loses;
}

SplitAnswer answer_of(const RunGroup& group) {
  SplitAnswer answer{.group = &group};
  for (const RunRecord* run : group.runs) {
    if (run->status != Status::ok) continue;
    for (const PerDevice& device : run->per_device) {
      if (device.alone && (answer.alone == nullptr || *device.alone < *answer.alone->alone))
        answer.alone = &device;
    }
    if (is_split(*run) && (answer.split == nullptr || run->time.median < answer.split->time.median))
      answer.split = run;
  }
  if (group.best == nullptr) return answer;
  answer.verdict = answer.split == nullptr || answer.alone == nullptr ? Verdict::unsplit
                                                                      : compare(answer, group);
  return answer;
}

struct Column {
  const char* name;
  std::size_t width;
  bool right = false;
};
// Fills 80 columns; the last is as wide as its cells.
constexpr Column kColumns[] = {{"suite", 9},        {"problem", 14},   {"best alone", 13},
                               {"best split", 16},  {"gain", 5, true}, {"ideal", 5, true},
                               {"held back by", 12}};

std::string line(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const Column& column = kColumns[k];
    const std::string cell = shortened(cells[k], column.width);
    const std::string blanks(column.width - std::min(column.width, display_width(cell)), ' ');
    text += (k > 0 ? " " : "") + (column.right ? blanks + cell : cell + blanks);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

// Returns the size and the words that differ from the defaults: "points=2^20", "n=2^14 nbody". The
// size has no default.
std::string problem_of(const Report& report, const RunRecord& run) {
  static const ParamMap none;
  const auto suite = report.defaults.find(run.suite);
  const ParamMap& defaults = suite == report.defaults.end() ? none : suite->second;
  std::string text;
  for (const auto& [name, value] : run.params) {
    const auto usual = defaults.find(name);
    if (const auto* word = std::get_if<std::string>(&value)) {
      if (usual != defaults.end() && usual->second != value) text += ' ' + *word;
    } else if (usual == defaults.end() && name != "seed") {
      text.insert(0, fmt::format("{}={}", name, param_shown(value)));
    }
  }
  return text;
}

std::string held_back_by(const SplitAnswer& answer) {
  switch (answer.verdict) {
    case Verdict::failed:
      return "-";
    case Verdict::unsplit:
      return what_if_word(answer.group->best->bottleneck.name);
    case Verdict::unknown:
      return "? (noise)";
    case Verdict::tie:
    case Verdict::gains:
    case Verdict::loses:
      break;
  }
  return what_if_word(answer.split->bottleneck.name);
}

std::string row_of(const Report& report, const SplitAnswer& answer) {
  const RunGroup& group = *answer.group;
  const std::string& suite = group.runs.front()->suite;
  if (answer.verdict == Verdict::failed) {
    const RunRecord& run = *group.runs.front();
    return fmt::format("{:<9} {}{}\n", suite, to_string(run.status),
                       run.reason ? ": " + *run.reason : "");
  }
  std::vector<std::string> cells{suite, problem_of(report, *group.runs.front())};
  cells.push_back(answer.alone == nullptr
                      ? format_duration(group.best->time.median)
                      : format_duration(*answer.alone->alone) + ' ' + answer.alone->device);
  if (answer.split == nullptr) {
    cells.insert(cells.end(), {"-", "-", "-"});
  } else {
    const std::string& name =
        answer.split->plan.chosen ? answer.split->plan.chosen->strategy : answer.split->strategy;
    cells.push_back(shares_text(shares_of(*answer.split)) + ' ' + name);
    const Metrics& metrics = answer.split->metrics;
    cells.push_back(metrics.speedup ? fmt::format("{:.2f}x", *metrics.speedup) : "-");
    cells.push_back(metrics.efficiency ? fmt::format("{:.0f} %", *metrics.efficiency * 100) : "-");
  }
  cells.push_back(held_back_by(answer));
  return line(cells);
}

double gain_of(const SplitAnswer& answer) {
  return answer.split == nullptr ? 0 : answer.split->metrics.speedup.value_or(0);
}

// Returns "merkle (1.97x) and msm (1.96x)"; with `why`, "lbm (0.20x, exchange)".
std::string list(const std::vector<SplitAnswer>& answers, Verdict verdict, bool why) {
  std::vector<std::string> names;
  for (const SplitAnswer& answer : answers) {
    if (answer.verdict != verdict) continue;
    std::string name = answer.group->runs.front()->suite;
    if (gain_of(answer) > 0) {
      name += fmt::format(" ({:.2f}x", gain_of(answer));
      if (why) name += ", " + held_back_by(answer);
      name += ')';
    }
    names.push_back(std::move(name));
  }
  if (names.size() < 2) return names.empty() ? "" : names.front();
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

}  // namespace

bool is_overview(const Report& report) { return report.options.contains("overview"); }

bool shows_overview(const Report& report, const TableStyle& style) {
  return is_overview(report) && style.columns.empty();
}

std::string overview_heading() {
  std::vector<std::string> names;
  for (const Column& column : kColumns) names.emplace_back(column.name);
  return line(names);
}

std::string overview_rows(const Report& report, std::size_t first) {
  std::string rows;
  for (const RunGroup& group : group_runs(report)) {
    if (group.runs.front() >= report.runs.data() + first) rows += row_of(report, answer_of(group));
  }
  return rows;
}

std::string overview_sentences(const Report& report) {
  const std::vector<RunGroup> groups = group_runs(report);
  std::vector<SplitAnswer> answers;
  for (const RunGroup& group : groups) answers.push_back(answer_of(group));
  std::stable_sort(answers.begin(), answers.end(),
                   [](const auto& a, const auto& b) { return gain_of(a) > gain_of(b); });
  if (report.devices.size() < 2)
    return "There is one device, so there is nothing to split: these are its times alone.\n";
  std::string text;
  const auto add = [&](Verdict verdict, const char* before, bool why, const char* after) {
    if (const std::string names = list(answers, verdict, why); !names.empty())
      text += fmt::format("{} {}{}\n", before, names, after);
  };
  add(Verdict::gains, "Split:", false, ".");
  add(Verdict::loses, "Do not split:", true, ".");
  add(Verdict::tie, "No difference within the noise:", false, ".");
  add(Verdict::unknown, "Not known, as times vary too much:", false,
      "; repeat when the machine is idle, or with -n 30.");
  add(Verdict::unsplit, "Not split:", false, ".");
  for (const RunRecord& run : report.runs) {
    if (run.status != Status::ok)
      text += fmt::format("{}, {}: {}{}\n", run.suite, run.strategy, to_string(run.status),
                          run.reason ? ": " + *run.reason : "");
  }
  const auto next = std::find_if(answers.rbegin(), answers.rend(), [](const SplitAnswer& answer) {
    return answer.verdict == Verdict::loses || answer.verdict == Verdict::gains;
  });
  if (next != answers.rend())
    text += fmt::format(
        "Next: mgpu-bench run {}  (larger problem, every strategy, with and without transfers)\n",
        next->group->runs.front()->suite);
  return text;
}

}  // namespace mgpu
