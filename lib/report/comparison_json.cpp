// A comparison as JSON of schema "mgpu-bench/compare": lib/report/compare.schema.json.
#include <utility>

#include "lib/report/comparison_text.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_text.hpp"

namespace mgpu {

namespace {

JsonValue side(const ComparedSide& s) {
  const bool none = s.values.empty();
  return json_object({{"n", s.values.size()},
                      {"median", none ? JsonItem(nullptr) : finite_json(s.median)},
                      {"figure", none ? JsonItem(nullptr) : finite_json(s.figure)},
                      {"values", s.values}});
}

JsonValue resamples_of(const ComparisonRow& row, const Comparison& all) {
  const std::size_t base = row.base.values.size(), fresh = row.fresh.values.size();
  const auto drawn = all.interleaved ? pair_resamples(fresh, all.options.bootstrap)
                                     : ratio_resamples(base, fresh, all.options.bootstrap);
  JsonValue list = json_list();
  for (const Resample& one : drawn) {
    if (all.interleaved)
      append(list, json_object({{"pairs", one.fresh}}));
    else
      append(list, json_object({{"base", one.base}, {"new", one.fresh}}));
  }
  return list;
}

JsonValue row_json(const ComparisonRow& row, const Comparison& all, bool resamples) {
  const ComparedInfo& metric = info(row.metric);
  JsonValue j = json_object({{"case", row.name},
                             {"metric", metric.name},
                             {"unit", metric.unit},
                             {"higher_is_better", metric.higher_is_better},
                             {"floor", row.floor},
                             {"base", side(row.base)},
                             {"new", side(row.fresh)},
                             {"ratio", nullptr},
                             {"interval", nullptr},
                             {"test", nullptr}});
  if (row.ratio) {
    put(j, "ratio", finite_json(row.ratio->ratio));
    put(j, "interval", json_list({finite_json(row.ratio->low), finite_json(row.ratio->high)}));
  }
  if (row.test) {
    put(j, "test",
        json_object({{"method", to_string(row.test->method)},
                     {"statistic", finite_json(row.test->statistic)},
                     {"p", finite_json(row.test->p)},
                     {"p_adjusted", finite_json(*row.p_adjusted)}}));
  }
  put(j, "verdict", to_string(row.change));
  put(j, "reason", json_or_null(row.reason));
  put(j, "warnings", row.warnings);
  if (row.confirmation)
    put(j, "confirmation",
        json_object({{"runs", row.confirmation->runs}, {"agreed", row.confirmation->agreed}}));
  if (resamples && row.ratio) put(j, "resamples", resamples_of(row, all));
  return j;
}

}  // namespace

std::string comparison_json(const Comparison& comparison, const ComparisonSources& sources,
                            const ToolInfo& tool, bool resamples) {
  const CompareOptions& options = comparison.options;
  const char* round_value = options.round_value == RoundValue::minimum ? "minimum" : "median";
  JsonValue differences = json_list(), rows = json_list(), uncompared = json_list(),
            counts = json_object();
  for (const EnvironmentDifference& d : comparison.differences)
    append(differences,
           json_object(
               {{"what", d.what}, {"base", d.base}, {"new", d.fresh}, {"decisive", d.decisive}}));
  for (const ComparisonRow& row : comparison.rows)
    append(rows, row_json(row, comparison, resamples));
  for (const UncomparedCase& c : comparison.uncompared)
    append(uncompared, json_object({{"case", c.name}, {"what", c.what}, {"lost", c.lost}}));
  for (const Change change :
       {Change::regression, Change::improvement, Change::same, Change::inconclusive})
    put(counts, to_string(change), comparison.count(change));
  return json_text(json_object(
      {{"schema", "mgpu-bench/compare"},
       {"schema_version", kCompareSchemaVersion},
       {"tool", json_object({{"version", tool.version}, {"git", tool.git}, {"argv", tool.argv}})},
       {"base", sources.base},
       {"new", sources.fresh},
       {"method", json_object({{"interleaved", comparison.interleaved},
                               {"round_value",
                                comparison.interleaved ? JsonItem(round_value) : JsonItem(nullptr)},
                               {"estimate", comparison.interleaved ? "median of ratios of rounds"
                                                                   : "ratio of medians"},
                               {"interval", "percentile bootstrap"},
                               {"level", options.bootstrap.level},
                               {"resamples", options.bootstrap.resamples},
                               {"seed", options.bootstrap.seed},
                               {"correction", "holm"},
                               {"alpha", options.alpha},
                               {"floor", comparison.floor}})},
       {"differences", std::move(differences)},
       {"rows", std::move(rows)},
       {"uncompared", std::move(uncompared)},
       {"counts", std::move(counts)}}));
}

}  // namespace mgpu
