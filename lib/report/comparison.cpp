// Computes the rows first, then all p values together, then the verdicts.
#include "lib/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/metric_interval.hpp"

namespace mgpu {

namespace {

// Level of p below which a row of several runs that has no verdict counts as slower; it also does
// beyond kMostNoise.
constexpr double kProbable = 0.05;
constexpr std::size_t kFewest = 5;  // values per side: 4 and 4 reach p = 0.029 at best

double least_p(std::size_t base, std::size_t fresh, bool interleaved) {
  return interleaved ? least_signed_rank_p(std::min(base, fresh))
                     : least_mann_whitney_p(base, fresh);
}

// Returns the values per side with which a difference can be significant in any one of `tests`
// tests.
std::size_t values_needed(std::size_t tests, double alpha, bool interleaved) {
  std::size_t n = kFewest;
  while (least_p(n, n, interleaved) * static_cast<double>(tests) >= alpha) ++n;
  return n;
}

// Tests differences of logarithms: a ratio and its inverse have equal weight, and drift does not
// weight rounds. Rounds to twelve digits, because rounding errors must not decide whether 2/1 and
// 4/2 tie.
TestResult test_pairs(const ComparisonRow& row) {
  std::vector<double> differences;
  for (std::size_t k = 0; k < row.base.values.size(); ++k)
    differences.push_back(std::round(std::log(row.fresh.values[k] / row.base.values[k]) * 1e12));
  return signed_rank(differences);
}

void keep_whole_pairs(ComparisonRow& row) {
  std::vector<double> base, fresh;
  for (std::size_t k = 0; k < std::min(row.base.values.size(), row.fresh.values.size()); ++k) {
    if (std::isnan(row.base.values[k]) || std::isnan(row.fresh.values[k])) continue;
    base.push_back(row.base.values[k]);
    fresh.push_back(row.fresh.values[k]);
  }
  row.base.values = std::move(base);
  row.fresh.values = std::move(fresh);
}

// Returns the ratios of every value of NEW to every value of BASE.
RatioInterval all_ratios(const ComparisonRow& row) {
  const auto [base_least, base_most] =
      std::minmax_element(row.base.values.begin(), row.base.values.end());
  const auto [fresh_least, fresh_most] =
      std::minmax_element(row.fresh.values.begin(), row.fresh.values.end());
  return {row.ratio->ratio, *fresh_least / *base_most, *fresh_most / *base_least};
}

// Moves an interval to a ratio. The speed-up shown is a ratio of medians, its samples are ratios by
// round: the interval of the samples is moved to the ratio shown, so that all figures of a row
// agree.
RatioInterval moved_to(double ratio, const RatioInterval& interval) {
  return {ratio, interval.low / interval.ratio * ratio, interval.high / interval.ratio * ratio};
}

std::optional<double> usable_noise(const RunRecord& run) {
  return run.noise_floor && *run.noise_floor <= kMostNoise ? run.noise_floor : std::nullopt;
}

std::optional<std::string> unused_noise(const RunRecord& run) {
  if (!run.noise_floor || usable_noise(run)) return std::nullopt;
  return fmt::format(
      "calibrated on a busy machine: its noise of {:.0f} % is not used, as it is above {:.0f} %",
      *run.noise_floor * 100, kMostNoise * 100);
}

// Returns that other programs used a quarter of the cores or more while a side was measured.
std::string load_of(const CaseValues& base, const CaseValues& fresh) {
  constexpr double kBusy = 0.25;
  std::vector<double> loads;
  for (const CaseValues* values : {&base, &fresh})
    for (const std::string& warning : values->warnings)
      if (const auto load = other_load_in(warning); load && *load >= kBusy) loads.push_back(*load);
  return loads.empty() ? "" : other_load_words(loads) + ": repeat when idle, or with --interleave";
}

bool has_runs(const ComparisonRow& row) { return row.base.runs.size() + row.fresh.runs.size() > 2; }

double mean_log(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

ComparisonRow make_row(const CaseValues& base, const CaseValues& fresh, Compared metric,
                       const Comparison& all) {
  ComparisonRow row;
  row.name = base.name;
  row.title = base.title;
  row.label = strategy_label(*base.run);
  row.devices = base.run->devices.size();
  row.parts = {base.run->suite,           base.run->strategy, base.run->params,
               base.run->strategy_params, base.run->devices,  base.run->mode};
  row.metric = metric;
  row.judged = std::find(all.options.judged.begin(), all.options.judged.end(), metric) !=
               all.options.judged.end();
  row.floor =
      all.options.floor ? all.floor : floor_of(*base.run, *fresh.run, all.floor, all.interleaved);
  // Blocks of one program differ by up to this much.
  constexpr double kEnergyFloor = 0.03;
  if (metric == Compared::energy && !all.options.floor)
    row.floor = std::max(row.floor, kEnergyFloor);
  row.base.values = base.values[static_cast<std::size_t>(metric)];
  row.fresh.values = fresh.values[static_cast<std::size_t>(metric)];
  const auto take_warnings = [&](const std::string& side, const CaseValues& values) {
    for (const std::string& warning : values.warnings) row.warnings.push_back(side + warning);
    if (all.options.floor || all.interleaved) return;
    if (const auto unused = unused_noise(*values.run)) row.warnings.push_back(side + *unused);
  };
  take_warnings("BASE: ", base);
  take_warnings("NEW: ", fresh);
  if (metric == Compared::speedup || metric == Compared::efficiency) {
    for (const auto& [side, values] : {std::pair("NEW", &fresh), std::pair("BASE", &base)})
      if (const std::string why = impossible_speedup(*values->run, true); !why.empty())
        row.impossible = fmt::format("{}: {}", side, why);
  }
  row.base.runs = base.by_run[static_cast<std::size_t>(metric)];
  row.fresh.runs = fresh.by_run[static_cast<std::size_t>(metric)];
  if (!all.interleaved) row.load = load_of(base, fresh);
  if (all.interleaved) keep_whole_pairs(row);
  if (row.base.values.empty() || row.fresh.values.empty()) return row;
  row.base.figure = row.base.median = median(row.base.values);
  row.fresh.figure = row.fresh.median = median(row.fresh.values);
  if (has_runs(row)) {
    row.base.figure = std::exp(mean_log(row.base.runs));
    row.fresh.figure = std::exp(mean_log(row.fresh.runs));
    const double change = row.fresh.figure / row.base.figure;
    row.ratio = RatioInterval{change, change, change};
    return row;
  }
  const auto ratio = all.interleaved ? median_of_ratios : ratio_of_medians;
  row.ratio = ratio(row.base.values, row.fresh.values, all.options.bootstrap);
  if (!all.interleaved) {
    row.base.figure = case_figure(*base.run, metric).value_or(row.base.median);
    row.fresh.figure = case_figure(*fresh.run, metric).value_or(row.fresh.median);
    row.ratio = moved_to(row.fresh.figure / row.base.figure, *row.ratio);
  }
  return row;
}

// Spread of the logarithms of medians of runs.
struct RunSpread {
  double squares = 0, freedom = 0;
  void add(const std::vector<double>& runs) {
    if (runs.empty()) return;
    const double mean = mean_log(runs);
    for (const double run : runs) squares += (std::log(run) - mean) * (std::log(run) - mean);
    freedom += static_cast<double>(runs.size()) - 1;
  }
  double deviation() const { return freedom > 0 ? std::sqrt(squares / freedom) : 0; }
};

// Tests the medians of runs of all these rows: by the spread of runs that they have in common, or
// by that of the row if it is more.
class RunTests {
 public:
  explicit RunTests(std::span<const ComparisonRow> rows) {
    for (const ComparisonRow& row : rows)
      if (row.ratio && has_runs(row)) add(row, common_[row.metric]);
  }
  struct Result {
    double error = 0, freedom = 0;  // standard error of the logarithm of the ratio
    TestResult test{};
  };
  Result of(const ComparisonRow& row) const {
    RunSpread own;
    add(row, own);
    const RunSpread& common = common_.at(row.metric);
    Result result;
    result.freedom = common.freedom;
    result.error = std::max(own.deviation(), common.deviation()) *
                   std::sqrt(1 / static_cast<double>(row.base.runs.size()) +
                             1 / static_cast<double>(row.fresh.runs.size()));
    result.test = student_runs(mean_log(row.fresh.runs) - mean_log(row.base.runs), result.error,
                               result.freedom);
    return result;
  }

 private:
  static void add(const ComparisonRow& row, RunSpread& spread) {
    for (const ComparedSide* side : {&row.base, &row.fresh}) spread.add(side->runs);
  }
  std::map<Compared, RunSpread> common_;
};

// Tests rows of several runs, and gives them the interval by which such runs differ.
void test_runs(Comparison& all) {
  const RunTests tests(all.rows);
  for (ComparisonRow& row : all.rows) {
    if (!row.ratio || !has_runs(row)) continue;
    const RunTests::Result found = tests.of(row);
    if (row.judged) row.test = found.test;
    const double factor =
        std::exp(student_quantile(1 - all.options.bootstrap.level, found.freedom) * found.error);
    row.ratio->low /= factor;
    row.ratio->high *= factor;
  }
}

// Tells whether either side has the metric; otherwise the case has no row for it.
bool has_metric(const CaseValues& base, const CaseValues& fresh, Compared metric) {
  const auto m = static_cast<std::size_t>(metric);
  return !base.values[m].empty() || !fresh.values[m].empty();
}

// Returns how the most similar of the cases differs in its parameters, if it has the same suite,
// strategy, mode and number of devices: ": NEW has leaves:2 instead of leaves:1"; else nothing.
std::string nearest(const CaseValues& c, std::span<const CaseValues> others, const char* side) {
  const RunRecord& mine = *c.run;
  const auto text = [](const RunRecord& run, const std::string& name) {
    const auto found = run.params.find(name);
    return found == run.params.end() ? "no " + name : name + ':' + param_text(found->second);
  };
  std::string words;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const CaseValues& other : others) {
    const RunRecord& run = *other.run;
    if (run.suite != mine.suite || strategy_label(run) != strategy_label(mine) ||
        to_string(run.mode) != to_string(mine.mode) || asked_for(run) != asked_for(mine))
      continue;
    std::set<std::string> names;
    for (const ParamMap* params : {&mine.params, &run.params})
      for (const auto& [name, value] : *params) names.insert(name);
    std::vector<std::string> has, instead;
    for (const std::string& name : names) {
      if (text(run, name) == text(mine, name)) continue;
      has.push_back(text(run, name));
      instead.push_back(text(mine, name));
    }
    if (has.empty() || has.size() >= fewest) continue;
    fewest = has.size();
    words = fmt::format(": {} has {} instead of {}", side, fmt::join(has, ", "),
                        fmt::join(instead, ", "));
  }
  return words;
}

UncomparedCase only_in_base(const CaseValues& c, std::span<const CaseValues> fresh,
                            std::size_t fresh_devices) {
  UncomparedCase lost{c.name, "only in BASE" + nearest(c, fresh, "NEW"), c.trouble.empty()};
  lost.beyond_fresh = asked_for(*c.run) > fresh_devices;
  if (lost.beyond_fresh)
    lost.what += fmt::format(": it takes {} devices, NEW has {}", asked_for(*c.run), fresh_devices);
  return lost;
}

void match_cases(std::span<const CaseValues> base, std::span<const CaseValues> fresh,
                 std::size_t fresh_devices, Comparison& out) {
  std::map<std::string, const CaseValues*> in_base, in_fresh;
  for (const CaseValues& c : base) in_base[c.name] = &c;
  for (const CaseValues& c : fresh) in_fresh[c.name] = &c;
  for (const CaseValues& c : base) {
    const auto other = in_fresh.find(c.name);
    if (other == in_fresh.end()) {
      out.uncompared.push_back(only_in_base(c, fresh, fresh_devices));
    } else if (!c.trouble.empty() || !other->second->trouble.empty()) {
      const bool lost = c.trouble.empty();
      out.uncompared.push_back({c.name,
                                lost ? "NEW: " + other->second->trouble : "BASE: " + c.trouble,
                                lost, false, other->second->trouble.empty()});
    } else if (const RunRecord& a = *c.run, &b = *other->second->run;
               a.devices.size() != b.devices.size()) {
      const bool lost = b.devices.size() < a.devices.size();
      out.uncompared.push_back({c.name,
                                fmt::format("{}: measured on {} devices", lost ? "NEW" : "BASE",
                                            devices_text(lost ? b : a)),
                                lost});
    } else {
      for (const Compared metric : out.options.metrics)
        if (has_metric(c, *other->second, metric))
          out.rows.push_back(make_row(c, *other->second, metric, out));
    }
  }
  for (const CaseValues& c : fresh)
    if (!in_base.contains(c.name)) out.uncompared.push_back({c.name, "only in NEW", false});
}

void test_row(ComparisonRow& row, const Comparison& all, std::size_t tests) {
  if (row.test) return;  // of several runs
  const std::size_t base = row.base.values.size(), fresh = row.fresh.values.size();
  row.few = std::min(base, fresh) < kFewest ||
            least_p(base, fresh, all.interleaved) * static_cast<double>(tests) >= all.options.alpha;
  if (!row.few)
    row.test = all.interleaved ? test_pairs(row) : mann_whitney(row.base.values, row.fresh.values);
  else if (base + fresh > 2)
    row.test = student_log(row.base.values, row.fresh.values);
}

// Returns "only 1 sample each, at least 5 needed".
std::string too_few_words(const ComparisonRow& row, const Comparison& all) {
  const std::size_t base = row.base.values.size(), fresh = row.fresh.values.size();
  const char* what = all.interleaved ? "round" : "sample";
  return fmt::format("only {}, at least {} needed",
                     base == fresh ? fmt::format("{} {}{} each", base, what, base == 1 ? "" : "s")
                                   : fmt::format("{} and {} {}s", base, fresh, what),
                     all.needed);
}

void judge(ComparisonRow& row, const Comparison& all) {
  if (!row.judged) {
    row.change = Change::informative;
    return;
  }
  if (!row.ratio) {
    row.reason = row.base.values.empty() ? "BASE does not have it" : "NEW does not have it";
    row.suspect = row.fresh.values.empty();
    return;
  }
  const bool rising = info(row.metric).higher_is_better;
  const auto worse = [&](const RatioInterval& r) {
    return rising ? RatioInterval{1 / r.ratio, 1 / r.high, 1 / r.low} : r;
  };
  const RatioInterval interval = worse(*row.ratio),
                      decisive = row.few ? worse(all_ratios(row)) : interval;
  const double most = 1 + row.floor;
  const bool of_runs = has_runs(row);
  const double shown = row.fresh.figure - row.base.figure,
               moved = of_runs ? shown : row.fresh.median - row.base.median;
  // The tested and the shown figure must change in the same direction.
  const bool agree = all.interleaved || (moved > 0) == (shown > 0);
  const bool significant = row.p_adjusted && *row.p_adjusted < all.options.alpha,
             sure = significant && agree && std::abs(moved) > info(row.metric).resolution;
  const bool regression = sure && decisive.low > most,
             improvement = sure && decisive.high < 1 / most;
  const std::string& doubt =
      !row.impossible.empty() || !(regression || improvement) ? row.impossible : row.load;
  if (!doubt.empty()) {
    row.withheld = regression;
    row.reason = doubt;
  } else if (regression || improvement) {
    row.change = regression ? Change::regression : Change::improvement;
  } else if (std::min(row.base.values.size(), row.fresh.values.size()) >= kFewest &&
             interval.high <= most && interval.low >= 1 / most) {
    row.change = Change::same;
  } else if (row.few) {
    row.reason = too_few_words(row, all);
  } else if (of_runs && !significant) {
    row.reason = fmt::format("such runs differ by up to {:.1f} %, so that less cannot be seen",
                             (interval.high / interval.ratio - 1) * 100);
  } else if (interval.low <= most && interval.high >= 1 / most) {
    row.reason =
        fmt::format("the 95 % interval neither stays within the floor of {:.1f} % nor beyond it",
                    row.floor * 100);
  } else if (!significant) {
    row.reason = fmt::format("the interval is beyond the floor, but p is above --alpha {}",
                             all.options.alpha);
  } else {
    row.reason = agree ? "the medians differ by less than can be measured"
                       : "the figure and the median of the samples changed in opposite directions";
  }
  const bool slower = interval.ratio > most && (!of_runs || interval.ratio > 1 + kMostNoise ||
                                                (row.p_adjusted && *row.p_adjusted < kProbable));
  row.suspect = row.change == Change::inconclusive && (row.withheld || slower);
}

bool is_tested(const ComparisonRow& row) { return row.judged && row.ratio; }

}  // namespace

const char* to_string(Change change) {
  switch (change) {
    case Change::regression:
      return "regression";
    case Change::improvement:
      return "improvement";
    case Change::same:
      return "same";
    case Change::inconclusive:
      return "inconclusive";
    case Change::informative:
      return "informative";
  }
  return "";
}

double default_floor(const Report& base, bool interleaved) {
  const bool cpu = std::any_of(base.devices.begin(), base.devices.end(),
                               [](const DeviceRecord& d) { return d.device.is_cpu(); });
  return cpu && !interleaved ? 0.10 : 0.02;
}

double floor_of(const RunRecord& base, const RunRecord& fresh, double least, bool interleaved) {
  if (interleaved) return least;
  return std::max({least, usable_noise(base).value_or(0), usable_noise(fresh).value_or(0)});
}

std::size_t Comparison::count(Change change) const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const ComparisonRow& row) { return row.change == change; }));
}

std::size_t Comparison::suspects() const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const ComparisonRow& row) { return row.suspect; }));
}

bool Comparison::undecidable() const {
  // A row whose few values gave an alarm that repetitions refuted has been decided.
  const auto too_few = [](const ComparisonRow& row) {
    return row.few && row.change == Change::inconclusive && !row.confirmation;
  };
  return std::any_of(rows.begin(), rows.end(), too_few) &&
         std::all_of(rows.begin(), rows.end(), [&](const ComparisonRow& row) {
           return !row.judged || !row.ratio || too_few(row);
         });
}

std::size_t Comparison::lost() const {
  return static_cast<std::size_t>(std::count_if(uncompared.begin(), uncompared.end(),
                                                [](const UncomparedCase& c) { return c.lost; }));
}

Comparison compare_reports(std::span<const Report> base, std::span<const Report> fresh,
                           const CompareOptions& options) {
  Comparison all;
  all.options = options;
  all.interleaved = options.rounds.has_value();
  all.floor = options.floor.value_or(default_floor(base.front(), all.interleaved));
  for (const std::span<const Report> side : {base, fresh})
    for (const Report& report : side)
      for (EnvironmentDifference& d : environment_differences(base.front(), report))
        if (std::none_of(all.differences.begin(), all.differences.end(),
                         [&](const auto& known) { return to_string(known) == to_string(d); }))
          all.differences.push_back(std::move(d));
  match_cases(collect_cases(base, options.rounds), collect_cases(fresh, options.rounds),
              fresh.front().devices.size(), all);
  const auto tests =
      static_cast<std::size_t>(std::count_if(all.rows.begin(), all.rows.end(), is_tested));
  all.needed = values_needed(std::max<std::size_t>(tests, 1), options.alpha, all.interleaved);
  test_runs(all);
  std::vector<double> p;
  for (ComparisonRow& row : all.rows) {
    if (is_tested(row)) test_row(row, all, tests);
    if (row.test) p.push_back(row.test->p);
  }
  const std::vector<double> adjusted = holm(p);
  std::size_t next = 0;
  for (ComparisonRow& row : all.rows) {
    if (row.test) row.p_adjusted = adjusted[next++];
    judge(row, all);
  }
  all.shown.resize(all.rows.size());
  std::iota(all.shown.begin(), all.shown.end(), std::size_t{0});
  return all;
}

std::size_t rounds_needed(const Report& base, const Report& fresh, const CompareOptions& options) {
  const Comparison once = compare_reports(std::span(&base, 1), std::span(&fresh, 1), options);
  const auto tests = std::count_if(once.rows.begin(), once.rows.end(), is_tested);
  return values_needed(static_cast<std::size_t>(std::max<std::ptrdiff_t>(tests, 1)), options.alpha,
                       true);
}

void confirm(Comparison& comparison, std::span<const Comparison> again) {
  std::vector<ComparisonRow> repeated;  // the rows, with the runs of `again`
  for (const ComparisonRow& row : comparison.rows) {
    if (row.change != Change::regression && !row.suspect) continue;
    ComparisonRow& with = repeated.emplace_back(row);
    with.confirmation = Confirmation{again.size(), 0};
    with.suspect = true;
    for (const Comparison& other : again) {
      for (const ComparisonRow& r : other.rows) {
        if (r.name != row.name || r.metric != row.metric) continue;
        // A row without a verdict is not convicted under load.
        const bool agrees =
            r.change == Change::regression || (r.withheld && row.change == Change::regression);
        with.confirmation->agreed += agrees;
        with.suspect &= agrees || r.suspect;
        with.fresh.runs.insert(with.fresh.runs.end(), r.fresh.runs.begin(), r.fresh.runs.end());
      }
    }
  }
  auto next = repeated.begin();
  for (ComparisonRow& row : comparison.rows) {
    if (row.change != Change::regression && !row.suspect) continue;
    const ComparisonRow& with = *next++;
    row.confirmation = with.confirmation;
    const bool agreed = with.confirmation->agreed == with.confirmation->runs;
    // One repetition says too little about what runs differ by.
    const bool several = with.ratio && again.size() > 1 && has_runs(with);
    const double p = several ? RunTests(std::span(&with, 1)).of(with).test.p : 0;
    row.change = agreed && p < kProbable ? Change::regression : Change::inconclusive;
    row.suspect = row.change != Change::regression && with.suspect &&
                  (!agreed || std::abs(std::log(with.ratio->ratio)) > std::log(1 + kMostNoise));
    row.reason = row.change == Change::regression ? ""
                 : agreed
                     ? fmt::format("repeated runs show it, but differ by as much (p = {:.2f})", p)
                     : fmt::format("not confirmed: {} of {} repeated runs show it",
                                   with.confirmation->agreed, with.confirmation->runs);
  }
}

namespace {

// `of`: the device, "device 0:1 "; empty for the machine.
void compare_fact(const std::string& of, const std::string& field, const std::string& base,
                  const std::string& fresh, bool decisive,
                  std::vector<EnvironmentDifference>& found) {
  if (base == fresh) return;
  found.push_back(
      {field, of + field, base.empty() ? "-" : base, fresh.empty() ? "-" : fresh, decisive});
}

void compare_devices(const DeviceRecord& base, const DeviceRecord& fresh,
                     std::vector<EnvironmentDifference>& found) {
  struct Fact {
    const char* name;
    std::string Device::*member;
  };
  static constexpr Fact facts[] = {{"name", &Device::name},
                                   {"platform", &Device::platform},
                                   {"platform_version", &Device::platform_version},
                                   {"driver_version", &Device::driver_version},
                                   {"device_version", &Device::device_version}};
  const Device &a = base.device, &b = fresh.device;
  const std::string which = "device " + a.id + " ";
  for (const Fact& fact : facts)
    compare_fact(which, fact.name, a.*fact.member, b.*fact.member, true, found);
  compare_fact(which, "uuid", a.uuid.value_or(""), b.uuid.value_or(""), false, found);
  compare_fact(which, "type", std::string(to_string(a.type)), std::string(to_string(b.type)), true,
               found);
  compare_fact(which, "compute_units", std::to_string(a.compute_units),
               std::to_string(b.compute_units), true, found);
  compare_fact(which, "handicap", base.handicap.any() ? in_words(base.handicap) : "",
               fresh.handicap.any() ? in_words(fresh.handicap) : "", true, found);
}

// Returns "700 W", or "700 W, then 500 W" if a setting changed during the run.
std::string during_run(const DeviceRecord& record, const SettingInfo& info) {
  const auto &before = record.before[info.setting], &after = record.after[info.setting];
  if (!before) return "";
  const std::string text = in_words(info, *before);
  return after && *after != *before ? text + ", then " + in_words(info, *after) : text;
}

// Compares settings that both results have. Older results, and machines that hide settings, lack
// some: that is no difference.
void compare_settings(const DeviceRecord& base, const DeviceRecord& fresh,
                      std::vector<EnvironmentDifference>& found) {
  for (const SettingInfo& info : kSettingTable) {
    if (info.matters == SettingInfo::Matters::never) continue;
    const std::string a = during_run(base, info), b = during_run(fresh, info);
    if (a.empty() || b.empty() || a == b) continue;
    found.push_back({info.name, fmt::format("device {} {}", base.device.id, info.label), a, b,
                     info.matters == SettingInfo::Matters::decisive});
  }
}

}  // namespace

std::vector<EnvironmentDifference> environment_differences(const Report& base,
                                                           const Report& fresh) {
  static const std::set<std::string> noted{"kernel", "os", "memory_bytes", "cpus_allowed"};
  std::vector<EnvironmentDifference> found;
  std::set<std::string> names;
  for (const auto& [name, value] : base.environment) names.insert(name);
  for (const auto& [name, value] : fresh.environment) names.insert(name);
  const auto fact = [](const Report& report, const std::string& name) {
    const auto it = report.environment.find(name);
    return it == report.environment.end() ? std::string() : it->second;
  };
  for (const std::string& name : names)
    compare_fact("", name, fact(base, name), fact(fresh, name), !noted.contains(name), found);
  for (const auto& [name, value] : base.options)
    if (const auto other = fresh.options.find(name); other != fresh.options.end())
      compare_fact("option ", name, param_text(value), param_text(other->second), false, found);
  compare_fact("number of ", "devices", std::to_string(base.devices.size()),
               std::to_string(fresh.devices.size()), true, found);
  for (std::size_t i = 0; i < std::min(base.devices.size(), fresh.devices.size()); ++i) {
    compare_devices(base.devices[i], fresh.devices[i], found);
    compare_settings(base.devices[i], fresh.devices[i], found);
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const EnvironmentDifference& d) { return d.decisive; });
  return found;
}

void drop_new_defaults(Report& base, Report& fresh) {
  std::map<std::string, std::set<std::string>> in_base, in_fresh;
  const auto collect = [](const Report& report, auto& names) {
    for (const RunRecord& run : report.runs)
      for (const auto& [name, value] : run.params) names[run.suite].insert(name);
  };
  collect(base, in_base);
  collect(fresh, in_fresh);
  const auto drop = [](Report& report, const auto& others) {
    for (RunRecord& run : report.runs) {
      const auto known = others.find(run.suite);
      const auto defaults = report.defaults.find(run.suite);
      if (known == others.end() || defaults == report.defaults.end()) continue;
      std::erase_if(run.params, [&](const auto& param) {
        const auto standard = defaults->second.find(param.first);
        return !known->second.contains(param.first) && standard != defaults->second.end() &&
               standard->second == param.second;
      });
    }
  };
  drop(base, in_fresh);
  drop(fresh, in_base);
}

std::string to_string(const EnvironmentDifference& d) {
  return d.what + ": " + d.base + " -> " + d.fresh;
}

}  // namespace mgpu
