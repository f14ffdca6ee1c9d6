#include "lib/report/comparison_exports.hpp"

#include <fmt/format.h>

#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/json_build.hpp"

namespace mgpu {
namespace {

// A row that is slower, or a case that NEW lost.
struct SlowCase {
  std::string name, what;
  bool certain = false;  // a regression or a lost case; else slower without a verdict
};

std::string row_name(const ComparisonRow& row) {
  return row.metric == Compared::time ? row.name : row.name + '/' + info(row.metric).name;
}

std::vector<SlowCase> slow_cases(const Comparison& comparison) {
  std::vector<SlowCase> found;
  for (const ComparisonRow& row : comparison.rows)
    if (row.change == Change::regression || row.suspect)
      found.push_back({row_name(row), change_words(row), row.change == Change::regression});
  for (const UncomparedCase& lost : comparison.uncompared)
    if (lost.lost) found.push_back({lost.name, lost.what, true});
  return found;
}

std::string junit(const Comparison& comparison, const ComparisonSources& sources) {
  std::string cases;
  std::size_t tests = 0, failures = 0, errors = 0;
  const auto add = [&](const std::string& name, const std::string& time, const SlowCase* found) {
    ++tests;
    cases += fmt::format("    <testcase classname=\"mgpu-bench.compare\" name=\"{}\"{}",
                         xml_text(name), time);
    if (found == nullptr) {
      cases += "/>\n";
      return;
    }
    ++(found->certain ? failures : errors);
    cases += fmt::format("><{} message=\"{}\"/></testcase>\n", found->certain ? "failure" : "error",
                         xml_text(found->what));
  };
  std::vector<SlowCase> found = slow_cases(comparison);
  auto next = found.cbegin();
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.judged) continue;
    const bool is_found = row.change == Change::regression || row.suspect;
    add(row_name(row),
        row.metric == Compared::time && !row.fresh.values.empty()
            ? fmt::format(" time=\"{:.9f}\"", row.fresh.figure / 1e9)
            : "",
        is_found ? &*next++ : nullptr);
  }
  for (; next != found.cend(); ++next) add(next->name, "", &*next);
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"",
                                         tests, failures, errors);
  const std::string when =
      sources.fresh.started.empty()
          ? ""
          : fmt::format(" timestamp=\"{}\"", xml_text(sources.fresh.started.front()));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite "
      "name=\"mgpu-bench compare\"{2} {0}>\n{1}  </testsuite>\n</testsuites>\n",
      counts, cases, when);
}

// Escapes as command.ts of GitHub's actions/toolkit does.
std::string github(const Comparison& comparison, const ComparisonSources&) {
  std::string lines;
  for (const SlowCase& one : slow_cases(comparison)) {
    std::string text;
    for (const char c : one.name + ": " + one.what)
      text += c == '%' ? "%25" : c == '\n' ? "%0A" : c == '\r' ? "%0D" : std::string(1, c);
    lines += fmt::format("::{} title=mgpu-bench::{}\n", one.certain ? "error" : "warning", text);
  }
  return lines;
}

std::string gitlab_metrics(const Comparison& comparison, const ComparisonSources&) {
  std::string times, ratios;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.metric != Compared::time || !row.ratio) continue;
    std::string name;
    for (const char c : row.name)
      name += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    times += fmt::format("mgpu_bench_time_seconds{{case=\"{}\"}} {:.9g}\n", name,
                         row.fresh.figure / 1e9);
    ratios += fmt::format("mgpu_bench_time_ratio{{case=\"{}\"}} {:.6g}\n", name, row.ratio->ratio);
  }
  return "# TYPE mgpu_bench_time_seconds gauge\n" + times + "# TYPE mgpu_bench_time_ratio gauge\n" +
         ratios + "# EOF\n";
}

std::string codequality(const Comparison& comparison, const ComparisonSources& sources) {
  JsonValue list = json_list();
  for (const SlowCase& one : slow_cases(comparison)) {
    JsonValue location =
        json_object({{"path", sources.base.names.front()}, {"lines", json_object({{"begin", 1}})}});
    append(list, json_object({{"description", one.name + ": " + one.what},
                              {"check_name", "mgpu-bench compare"},
                              {"fingerprint", one.name},
                              {"severity", one.certain ? "major" : "minor"},
                              {"location", location}}));
  }
  return json_text(list);
}

struct ComparisonExport {
  std::string_view name;
  std::string (*write)(const Comparison&, const ComparisonSources&);
};
constexpr ComparisonExport kComparisonExports[] = {{"junit", junit},
                                                   {"github", github},
                                                   {"gitlab-metrics", gitlab_metrics},
                                                   {"codequality", codequality}};

}  // namespace

std::vector<std::string_view> comparison_export_kinds() {
  std::vector<std::string_view> names;
  for (const ComparisonExport& kind : kComparisonExports) names.push_back(kind.name);
  return names;
}

std::string exported(std::string_view kind, const Comparison& comparison,
                     const ComparisonSources& sources) {
  for (const ComparisonExport& one : kComparisonExports)
    if (one.name == kind) return one.write(comparison, sources);
  throw Error(ErrorKind::internal, "no export " + std::string(kind));
}

}  // namespace mgpu
