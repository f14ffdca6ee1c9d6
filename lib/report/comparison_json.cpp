// A comparison as JSON of schema "mgpu-bench/compare": lib/report/compare.schema.json.
#include <nlohmann/json.hpp>

#include "lib/report/comparison_text.hpp"
#include "lib/report/json_text.hpp"

namespace mgpu {

namespace {

using Json = nlohmann::ordered_json;

Json side(const ComparedSide& s) {
  const bool none = s.values.empty();
  return {{"n", s.values.size()},
          {"median", none ? Json(nullptr) : number_json(s.median)},
          {"figure", none ? Json(nullptr) : number_json(s.figure)},
          {"values", s.values}};
}

Json resamples_of(const ComparisonRow& row, const Comparison& all) {
  const std::size_t base = row.base.values.size(), fresh = row.fresh.values.size();
  const auto drawn = all.interleaved ? pair_resamples(fresh, all.options.bootstrap)
                                     : ratio_resamples(base, fresh, all.options.bootstrap);
  Json list = Json::array();
  for (const Resample& one : drawn) {
    if (all.interleaved)
      list.push_back({{"pairs", one.fresh}});
    else
      list.push_back({{"base", one.base}, {"new", one.fresh}});
  }
  return list;
}

Json row_json(const ComparisonRow& row, const Comparison& all, bool resamples) {
  const ComparedInfo& metric = info(row.metric);
  Json j = {{"case", row.name},      {"metric", metric.name},
            {"unit", metric.unit},   {"higher_is_better", metric.higher_is_better},
            {"floor", row.floor},    {"base", side(row.base)},
            {"new", side(row.fresh)}};
  j["ratio"] = row.ratio ? number_json(row.ratio->ratio) : Json(nullptr);
  j["interval"] = row.ratio
                      ? Json::array({number_json(row.ratio->low), number_json(row.ratio->high)})
                      : Json(nullptr);
  j["test"] = nullptr;
  if (row.test) {
    j["test"] = {{"method", to_string(row.test->method)},
                 {"statistic", number_json(row.test->statistic)},
                 {"p", number_json(row.test->p)},
                 {"p_adjusted", number_json(*row.p_adjusted)}};
  }
  j["verdict"] = to_string(row.change);
  j["reason"] = row.reason.empty() ? Json(nullptr) : Json(row.reason);
  j["warnings"] = row.warnings;
  if (row.confirmation)
    j["confirmation"] = {{"runs", row.confirmation->runs}, {"agreed", row.confirmation->agreed}};
  if (resamples && row.ratio) j["resamples"] = resamples_of(row, all);
  return j;
}

}  // namespace

std::string comparison_json(const Comparison& comparison, const ComparisonSources& sources,
                            const ToolInfo& tool, bool resamples) {
  const CompareOptions& options = comparison.options;
  Json j = {{"schema", "mgpu-bench/compare"}, {"schema_version", kCompareSchemaVersion}};
  j["tool"] = {{"version", tool.version}, {"git", tool.git}, {"argv", tool.argv}};
  j["base"] = sources.base;
  j["new"] = sources.fresh;
  j["method"] = {
      {"interleaved", comparison.interleaved},
      {"round_value", !comparison.interleaved                      ? Json(nullptr)
                      : options.round_value == RoundValue::minimum ? Json("minimum")
                                                                   : Json("median")},
      {"estimate", comparison.interleaved ? "median of ratios of rounds" : "ratio of medians"},
      {"interval", "percentile bootstrap"},
      {"level", options.bootstrap.level},
      {"resamples", options.bootstrap.resamples},
      {"seed", options.bootstrap.seed},
      {"correction", "holm"},
      {"alpha", options.alpha},
      {"floor", comparison.floor}};
  j["differences"] = Json::array();
  for (const EnvironmentDifference& d : comparison.differences)
    j["differences"].push_back(
        {{"what", d.what}, {"base", d.base}, {"new", d.fresh}, {"decisive", d.decisive}});
  j["rows"] = Json::array();
  for (const ComparisonRow& row : comparison.rows)
    j["rows"].push_back(row_json(row, comparison, resamples));
  j["uncompared"] = Json::array();
  for (const UncomparedCase& c : comparison.uncompared)
    j["uncompared"].push_back({{"case", c.name}, {"what", c.what}, {"lost", c.lost}});
  j["counts"] = Json::object();
  for (const Change change :
       {Change::regression, Change::improvement, Change::same, Change::inconclusive})
    j["counts"][to_string(change)] = comparison.count(change);
  return json_text(j);
}

}  // namespace mgpu
