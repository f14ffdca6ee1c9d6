// Grouping the runs of a report into tables.
#include "lib/report/run_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "lib/report/case_name.hpp"

namespace mgpu {

namespace {

// 2^26 for 67108864: what one types.
std::string shown(const ParamValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole == nullptr || *whole < 1024 || !std::has_single_bit(static_cast<std::uint64_t>(*whole))) return param_text(value);
  return fmt::format("2^{}", std::bit_width(static_cast<std::uint64_t>(*whole)) - 1);
}

// A parameter is shown where runs of the same strategy in the group differ in it.
std::string label_of(const RunRecord& run, const std::vector<const RunRecord*>& runs) {
  std::string label = run.strategy;
  for (const auto& [name, value] : run.strategy_params) {
    bool differs = false;
    for (const RunRecord* other : runs) {
      const auto found = other->strategy_params.find(name);
      differs = differs || (other->strategy == run.strategy && found != other->strategy_params.end() && found->second != value);
    }
    if (differs) label += fmt::format(":{}={}", name, param_text(value));
  }
  return label;
}

}  // namespace

std::string group_title(const RunRecord& run) {
  std::string title = run.suite;
  // Sizes first, the sides of a cube as cols=inner=rows=2^13: what a table is looked for by.
  std::vector<std::pair<std::string, std::string>> numbers;  // names, value
  for (const auto& [name, value] : run.params) {
    if (std::holds_alternative<std::string>(value)) continue;
    const std::string text = shown(value);
    auto same = std::find_if(numbers.begin(), numbers.end(), [&, name = name](const auto& known) {
      return known.second == text && known.first != "seed=" && name != "seed";
    });
    if (same == numbers.end()) same = numbers.insert(same, {"", text});
    same->first += name + '=';
  }
  for (const auto& [names, value] : numbers) title += fmt::format(" {}{}", names, value);
  for (const auto& [name, value] : run.params)
    if (const auto* word = std::get_if<std::string>(&value)) title += fmt::format(" {}={}", name, *word);
  return title + ", " + words_of(run.mode);
}

std::vector<RunGroup> group_runs(const Report& report) {
  std::vector<RunGroup> groups;
  std::map<std::string, std::size_t> by_title;
  for (const RunRecord& run : report.runs) {
    const std::string title = group_title(run);
    const auto [found, fresh] = by_title.emplace(title, groups.size());
    if (fresh) {
      groups.emplace_back();
      groups.back().title = title;
    }
    RunGroup& group = groups[found->second];
    group.runs.push_back(&run);
    if (run.status == Status::ok && (!group.best || run.time.median < group.best->time.median)) group.best = &run;
  }
  for (RunGroup& group : groups)
    for (const RunRecord* run : group.runs) group.labels.push_back(label_of(*run, group.runs));
  return groups;
}

}  // namespace mgpu
