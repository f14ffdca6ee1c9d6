// The options come from the argv recorded in the result; those that choose cases are replaced by
// the cases to measure.
#include "app/measure_again.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/child_run.hpp"
#include "lib/base/error.hpp"
#include "lib/report/case_name.hpp"

namespace mgpu {
namespace {

// Cases that one child can run: one problem and mode on one number of devices.
struct Batch {
  const RunRecord* first = nullptr;
  std::vector<std::string> strategies;
};

// Returns the given options of a run that `keeps` holds for.
template <typename F>
std::vector<std::string> options_of(const Context& context, const Invocation& then, F keeps) {
  std::vector<std::string> words;
  for (const OptionSpec& option : run_options(context.suites)) {
    const Given* given = then.settings.find(option.name);
    if (given == nullptr || !keeps(option)) continue;
    words.push_back(option.kind == OptionSpec::Kind::flag
                        ? fmt::format("--{}={}", option.name, given->value)
                        : "--" + option.name);
    if (option.kind != OptionSpec::Kind::flag) words.push_back(given->value);
  }
  return words;
}

Invocation run_of(const Context& context, const Report& report, const char* side) {
  Invocation then = parse_command_line(report.tool.argv, context.suites, Environment({}), "");
  if (then.command != "run")
    throw Error(ErrorKind::input, fmt::format("{} was not made by mgpu-bench run", side));
  return then;
}

std::vector<Batch> batches_of(const Report& fresh, const Comparison& comparison) {
  std::set<std::string> alarming;
  for (const ComparisonRow& row : comparison.rows)
    if (row.change == Change::regression || row.suspect) alarming.insert(row.name);
  std::map<std::string, Batch> batches;
  for (const RunRecord& run : fresh.runs) {
    if (!alarming.contains(case_name(run))) continue;
    RunRecord key;  // names the case without its strategy
    key.suite = run.suite;
    key.params = run.params;
    key.devices = run.devices;
    key.devices_asked = run.devices_asked;
    key.mode = run.mode;
    Batch& batch = batches[case_name(key)];
    if (batch.first == nullptr) batch.first = &run;
    batch.strategies.push_back(strategy_label(run));
  }
  std::vector<Batch> all;
  for (auto& [name, batch] : batches) all.push_back(std::move(batch));
  return all;
}

std::vector<std::string> words_for(const Batch& batch, const Context& context) {
  const RunRecord& run = *batch.first;
  std::vector<std::string> words{run.suite,
                                 "--strategy",
                                 fmt::format("{}", fmt::join(batch.strategies, ",")),
                                 "--mode",
                                 option_value(run.mode),
                                 "--device-counts",
                                 std::to_string(asked_for(run))};
  const auto suite = std::find_if(context.suites.begin(), context.suites.end(),
                                  [&](const SuiteInfo& s) { return s.name == run.suite; });
  if (suite == context.suites.end())
    throw Error(ErrorKind::input, "--confirm: this program has no suite " + run.suite);
  const auto size = run.params.find(suite->size_name);
  if (size != run.params.end() && !run.params.contains("input")) {
    words.push_back("--size");
    words.push_back(param_text(size->second));
  }
  return words;
}

}  // namespace

Report measure_again(const Context& context, const Report& fresh, const Comparison& comparison) {
  const std::vector<std::string> options = options_of(
      context, run_of(context, fresh, "--confirm: NEW"),
      [](const OptionSpec& option) { return (option.uses & OptionSpec::not_confirmed) == 0; });
  const ChildProgram self = parse_child("--confirm", "");
  Report all;
  for (const Batch& batch : batches_of(fresh, comparison)) {
    std::vector<std::string> words = words_for(batch, context);
    words.insert(words.end(), options.begin(), options.end());
    Report one = run_child(self, words);
    std::vector<RunRecord> runs = std::move(all.runs);
    std::move(one.runs.begin(), one.runs.end(), std::back_inserter(runs));
    all = std::move(one);
    all.runs = std::move(runs);
  }
  return all;
}

std::vector<std::string> words_of_run(const Context& context, const Report& report) {
  const Invocation then = run_of(context, report, "BASE");
  std::vector<std::string> words = then.arguments;
  const std::vector<std::string> options = options_of(context, then, [](const OptionSpec& option) {
    return option.group != kFiles && option.name != "sizes-of" && option.name != "samples-of";
  });
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

}  // namespace mgpu
