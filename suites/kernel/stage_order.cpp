#include "suites/kernel/stage_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu::kernel {
namespace {

// Returns the numbers of the stages that each stage names, or the one before it.
std::vector<std::vector<std::size_t>> named_by(const std::vector<StageText>& texts) {
  std::vector<std::string> names;
  for (const StageText& text : texts) names.push_back(text.name);
  const bool has_graph = std::any_of(texts.begin(), texts.end(),
                                     [](const StageText& text) { return text.after.has_value(); });
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t s = 0; s < texts.size(); ++s) {
    auto& named = all.emplace_back();
    if (has_graph && std::count(names.begin(), names.end(), names[s]) > 1)
      throw Error(ErrorKind::input, texts[s].where + ": another stage has the name " +
                                        in_quotes(names[s]) + "; give each a name of its own");
    if (!texts[s].after) {
      if (s > 0) named.push_back(s - 1);
      continue;
    }
    for (const std::string& name : *texts[s].after) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        throw Error(ErrorKind::input, texts[s].where + ".after: no stage is called " +
                                          in_quotes(name) + did_you_mean(name, names));
      named.push_back(static_cast<std::size_t>(found - names.begin()));
    }
  }
  return all;
}

}  // namespace

bool may_write(const Problem& problem, const Stage& stage, std::size_t i,
               const std::vector<KernelParameter>& parameters) {
  const bool is_const = i < parameters.size() && parameters[i].is_const;
  return problem.args[stage.args[i]].access != Access::read && !is_const;
}

void order_stages(std::vector<Stage>& stages, const std::vector<StageText>& texts) {
  const auto named = named_by(texts);
  const std::size_t count = stages.size();
  std::vector<std::vector<bool>> follows(count, std::vector<bool>(count));
  for (std::size_t s = 0; s < count; ++s)
    for (const std::size_t before : named[s]) follows[s][before] = true;
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t s = 0; s < count; ++s)
      for (std::size_t before = 0; follows[s][k] && before < count; ++before)
        if (follows[k][before]) follows[s][before] = true;
  for (std::size_t s = 0; s < count; ++s)
    if (follows[s][s])
      throw Error(ErrorKind::input, texts[s].where + ".after: stage " + in_quotes(texts[s].name) +
                                        " follows itself, by the stages that it names");
  // A stage's level is above those of all that it follows, which are no more than there are stages.
  for (std::size_t turn = 0; turn < count; ++turn)
    for (std::size_t s = 0; s < count; ++s)
      for (const std::size_t before : named[s])
        stages[s].level = std::max(stages[s].level, stages[before].level + 1);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return stages[a].level < stages[b].level; });
  std::vector<Stage> sorted;
  for (const std::size_t s : order) {
    sorted.push_back(std::move(stages[s]));
    for (const std::size_t before : order) sorted.back().follows.push_back(follows[s][before]);
  }
  stages = std::move(sorted);
}

void check_unordered(const Problem& problem,
                     const std::vector<std::vector<KernelParameter>>& parameters) {
  for (std::size_t s = 0; s < problem.stages.size(); ++s) {
    for (std::size_t before = 0; before < s; ++before) {
      const Stage &one = problem.stages[before], &other = problem.stages[s];
      if (other.follows[before]) continue;
      for (std::size_t i = 0; i < one.args.size(); ++i) {
        const auto found = std::find(other.args.begin(), other.args.end(), one.args[i]);
        const Argument& shared = problem.args[one.args[i]];
        if (found == other.args.end() || !shared.is_array()) continue;
        const auto j = static_cast<std::size_t>(found - other.args.begin());
        const bool writes = may_write(problem, one, i, parameters[before]);
        if (!writes && !may_write(problem, other, j, parameters[s])) continue;
        throw Error(ErrorKind::input,
                    fmt::format("{}: stages {} and {} have no order, and {} may write {}, which "
                                "both use; expected: that one names the other in after, or that "
                                "its kernel has a const parameter",
                                problem.descriptor.file, in_quotes(one.name), in_quotes(other.name),
                                in_quotes((writes ? one : other).name), in_quotes(shared.name)));
      }
    }
  }
}

}  // namespace mgpu::kernel
