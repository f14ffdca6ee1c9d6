#include "lib/report/overview.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/run_groups.hpp"
#include "lib/report/shares.hpp"
#include "lib/report/summary_sentences.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

// The answer for one problem.
struct SplitAnswer {
  const RunGroup* group = nullptr;
  Finding finding;
};

std::vector<SplitAnswer> answers_of(const std::vector<RunGroup>& groups, const Report& report) {
  const bool exact = report.environment.contains("simulated");
  std::vector<SplitAnswer> answers;
  for (const RunGroup& group : groups) answers.push_back({&group, finding_of(group, exact)});
  return answers;
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

// Returns the size and the words that differ from the defaults: "points=2^20", "n=2^14 nbody".
std::string problem_of(const Report& report, const RunRecord& run) {
  std::string text;
  if (const auto size = run.params.find(run.size_name); size != run.params.end())
    text = fmt::format("{}={}", size->first, param_shown(size->second));
  const auto defaults = report.defaults.find(run.suite);
  if (defaults == report.defaults.end()) return text;
  for (const auto& [name, value] : run.params) {
    const auto usual = defaults->second.find(name);
    const auto* word = std::get_if<std::string>(&value);
    if (word != nullptr && usual != defaults->second.end() && usual->second != value)
      text += ' ' + *word;
  }
  return text;
}

// Returns the row that the answer is about.
const RunRecord& row_of(const SplitAnswer& answer) {
  return answer.finding.split != nullptr ? *answer.finding.split
                                         : *answer.group->runs[answer.finding.row];
}

std::string line_of(const Report& report, const SplitAnswer& answer) {
  const Finding& finding = answer.finding;
  const RunRecord& run = row_of(answer);
  if (answer.group->best == nullptr)
    return fmt::format("{:<9} {}{}\n", run.suite, to_string(run.status),
                       run.reason ? ": " + *run.reason : "");
  std::vector<std::string> cells{run.suite, problem_of(report, run)};
  std::string alone = "-";
  if (finding.alone) {
    alone = format_duration(*finding.alone) + ' ' + finding.device;
  } else if (finding.split == nullptr && finding.advice != Advice::none) {
    const auto worker = std::find_if(run.per_device.begin(), run.per_device.end(),
                                     [](const PerDevice& p) { return p.parts.items > 0; });
    alone = format_duration(run.time.median);
    if (worker != run.per_device.end()) alone += ' ' + worker->device;
  }
  cells.push_back(alone);
  if (finding.split == nullptr) {
    cells.insert(cells.end(), {"-", "-", "-"});
  } else {
    const Metrics& metrics = run.metrics;
    constexpr std::size_t listed = 3;  // four leave no room for the strategy
    const std::vector<DeviceShare> shares = shares_of(run);
    cells.push_back(shares_text(shares, listed) + (shares.size() > listed ? " % " : " ") +
                    (run.plan.chosen ? run.plan.chosen->strategy : run.strategy));
    cells.push_back(metrics.speedup ? fmt::format("{:.2f}x", *metrics.speedup) : "-");
    cells.push_back(metrics.efficiency ? fmt::format("{:.0f} %", *metrics.efficiency * 100) : "-");
  }
  cells.push_back(finding.advice == Advice::none ? "-" : what_if_word(run.bottleneck.name));
  return line(cells);
}

double gain_of(const SplitAnswer& answer) {
  return answer.finding.split == nullptr ? 0 : answer.finding.split->metrics.speedup.value_or(0);
}

// Returns "merkle (1.97x) and msm (1.96x)"; with `why`, "lbm (0.20x, exchange)".
std::string list(const std::vector<SplitAnswer>& answers, Advice advice, bool why) {
  std::vector<std::string> names;
  for (const SplitAnswer& answer : answers) {
    if (answer.finding.advice != advice) continue;
    std::string name = row_of(answer).suite;
    if (gain_of(answer) > 0)
      name += fmt::format(" ({:.2f}x{})", gain_of(answer),
                          why ? ", " + what_if_word(row_of(answer).bottleneck.name) : "");
    names.push_back(std::move(name));
  }
  return in_words(names);
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
  const std::vector<RunGroup> groups = group_runs(report);
  for (const SplitAnswer& answer : answers_of(groups, report)) {
    if (answer.group->runs.front() >= report.runs.data() + first) rows += line_of(report, answer);
  }
  return rows;
}

std::string overview_sentences(const Report& report) {
  if (report.devices.size() < 2)
    return "There is one device, so there is nothing to split: these are its times alone.\n";
  const std::vector<RunGroup> groups = group_runs(report);
  std::vector<SplitAnswer> answers = answers_of(groups, report);
  std::stable_sort(answers.begin(), answers.end(),
                   [](const auto& a, const auto& b) { return gain_of(a) > gain_of(b); });
  std::string text;
  const auto add = [&](Advice advice, const char* before, bool why, const char* after) {
    if (const std::string names = list(answers, advice, why); !names.empty())
      text += fmt::format("{} {}{}\n", before, names, after);
  };
  add(Advice::split, "Split:", false, ".");
  add(Advice::do_not_split, "Do not split:", true, ".");
  add(Advice::tie, "Cannot be told from one device:", false,
      "; more samples (-n 30) on an idle machine may show one.");
  add(Advice::unknown_gain, "Gain not known or above the ideal:", false,
      "; repeat when the machine is idle.");
  add(Advice::one_device, "Not split:", false, ".");
  add(Advice::indivisible, "Cannot be split:", false, ".");
  for (const SplitAnswer& answer : answers) {
    if (answer.group->best == nullptr) continue;  // its line says so
    if (answer.finding.advice == Advice::none)
      text += row_of(answer).suite + ": " +
              verdict_of(*answer.group, report.environment.contains("simulated")).front() + '\n';
    for (const RunRecord* run : answer.group->runs)
      if (run->status != Status::ok)
        text += fmt::format("{}, {}: {}{}\n", run->suite, run->strategy, to_string(run->status),
                            run->reason ? ": " + *run->reason : "");
  }
  const auto next = std::find_if(answers.rbegin(), answers.rend(), [](const SplitAnswer& answer) {
    return answer.finding.advice == Advice::split || answer.finding.advice == Advice::do_not_split;
  });
  if (next != answers.rend())
    text += fmt::format(
        "Next: mgpu-bench run {}  (larger problem, every strategy, with and without transfers)\n",
        row_of(*next).suite);
  return text;
}

}  // namespace mgpu
