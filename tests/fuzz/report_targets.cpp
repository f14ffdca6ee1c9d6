// Fuzz targets for result files and their exports, for calibrations and for traces.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/fnv.hpp"
#include "lib/history/trend.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/log_reader.hpp"
#include "lib/report/calibration_store.hpp"
#include "lib/report/comparison.hpp"
#include "lib/report/comparison_exports.hpp"
#include "lib/report/comparison_text.hpp"
#include "lib/report/exports.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/profile_report.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/requirement.hpp"
#include "lib/report/scenario_json.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/trace_writer.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/support/trace_checker.hpp"

namespace mgpu::fuzz {
namespace {

Report report_of(std::string_view text) { return report_from_json(parse_json(text)); }

void show(const Report& report) {
  run_tables(report, {});
  summary_of(report);
  const auto missed = misses(
      report, parse_requirements("--require", "efficiency>=0.9,best:speedup>1,equal:time<=1ms"));
  for (const std::string_view kind : export_kinds()) exported(kind, report, missed);
  test::check_chrome_trace(to_chrome_trace(report));
}

// Returns true if the scenario is small enough for thousands of simulations per second.
bool quick(const Scenario& scenario) {
  if (scenario.devices.size() > 6) return false;
  double slices = 0;
  for (const ScenarioDevice& device : scenario.devices) {
    for (const Items piece :
         {device.estimate.pipeline, device.estimate.fits, scenario.work.pipeline}) {
      if (piece > 0)
        slices =
            std::max(slices, static_cast<double>(scenario.work.items) /
                                 static_cast<double>(std::max(piece, scenario.work.granularity)));
    }
  }
  return slices < 200;
}

void simulate_all(const Scenario& scenario) {
  if (!quick(scenario)) return;
  std::vector<DeviceEstimate> devices;
  for (const ScenarioDevice& device : scenario.devices) {
    devices.push_back(device.estimate);
    DeviceEstimate& e = devices.back();  // an estimate such as a workload would give
    if (e.fits == 0) e.fits = scenario.work.items;
    if (e.pipeline == 0) e.pipeline = std::max<Items>(1, scenario.work.items / 16);
    e.fits = std::max(e.fits / scenario.work.granularity, Items{1}) * scenario.work.granularity;
    e.pipeline = std::min(
        std::max(e.pipeline / scenario.work.granularity, Items{1}) * scenario.work.granularity,
        e.fits);
  }
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    const PlanRequest request{scenario.work.items,
                              scenario.work.granularity,
                              mode,
                              scenario.work.cost,
                              devices,
                              scenario.link_up,
                              scenario.link_down,
                              scenario.work.merge,
                              scenario.exchange};
    for (const StrategyInfo& info : all_strategies()) {
      StrategyParams params;
      for (const StrategyParam& param : info.params) params[param.name] = param.standard;
      refusing([&] {
        const std::unique_ptr<SliceSource> source = info.make(params)->begin(request, {});
        simulate(request, *source);
      });
    }
  }
}

}  // namespace

void result(std::string_view input) {
  refusing([&] {
    const Report report = report_of(input);
    show(report);
    const std::string text = to_json_text(report);
    if (to_json_text(report_of(text)) != text)
      throw Error(ErrorKind::internal, "what was written is read as something else");
  });
}

void scenario(std::string_view input) {
  refusing([&] { simulate_all(scenario_from_json(parse_json(input))); });
}

void from_result(std::string_view input) {
  refusing([&] {
    const Report report = report_of(input);
    for (std::size_t run = 0; run < std::min<std::size_t>(report.runs.size(), 4); ++run) {
      for (const Figures figures : {Figures::predicted, Figures::measured}) {
        refusing([&] { simulate_all(scenario_of(report, run, figures)); });
      }
    }
    largest_estimated_run(report);
  });
}

void compare(std::string_view input) {
  refusing([&] {
    constexpr std::string_view between = "\n----\n";
    const std::size_t at = input.find(between);
    const Report base = report_of(input.substr(0, at)),
                 fresh = at == std::string_view::npos
                             ? base
                             : report_of(input.substr(at + between.size()));
    CompareOptions options;
    options.bootstrap.resamples = 50;
    const Comparison comparison = compare_reports({&base, 1}, {&fresh, 1}, options);
    const ComparisonSources sources{source_of({"base"}, {&base, 1}),
                                    source_of({"new"}, {&fresh, 1})};
    comparison_tables(comparison, sources, {});
    comparison_markdown(comparison, sources);
    comparison_json(comparison, sources, {}, 0, true);
    for (const std::string_view kind : comparison_export_kinds())
      exported(kind, comparison, sources);
  });
}

// Reads a calibration. A document is stored under the name of its subject, so the input is put at
// the path of each kind.
void history(std::string_view input) {
  refusing([&] {
    ResultHistory read;
    read_history_text(input, "h.jsonl", read);
    finish_history(read);
    TrendOptions options;
    options.points = true;
    const TrendReport report = find_trends(read, options);
    trend_tables(report, {});
    parse_json(trend_json(report));
    for (const HistorySeries& series : read.series) find_series(read, "test", series.id());
  });
}

void calibration(std::string_view input) {
  static const std::filesystem::path folder = scratch() / "calibration";
  static const CalibrationStore store(folder, {"1 abc", "kernels"});
  static const Device device = [] {
    Device d;
    d.id = "0:0";
    d.name = "GPU";
    d.platform = "P";
    return d;
  }();
  static const std::vector<Device> both{device, [] {
                                          Device other = device;
                                          other.id = "0:1";
                                          return other;
                                        }()};
  static const std::vector<std::filesystem::path> files = [] {
    std::vector<std::string> warnings;
    store.save_peers(both, PeerLinks(2), warnings);
    store.save(device, {}, warnings);
    store.save_link({&device, 1}, {}, warnings);
    store.save_suite(device, "work", {}, warnings);
    store.save_noise({&device, 1}, "work", 0.1, warnings);
    store.save_variant(device, "work", {"w", 1}, warnings);
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      all.push_back(entry.path());
    return all;
  }();
  for (const auto& file : files) std::ofstream(file, std::ios::binary) << input;
  std::vector<std::string> warnings;
  store.load(device, warnings);
  store.load_link({&device, 1}, warnings);
  store.load_peers(both, warnings);
  store.load_suite(device, "work", warnings);
  store.load_noise({&device, 1}, "work", warnings);
  store.load_variant(device, "work", warnings);
}

void command_log(std::string_view input) {
  refusing([&] {
    const CommandLog log = read_command_log(input);
    const ProfileReport report = analyse_program(program_of({&log, 1}), {});
    profile_text(report, {});
    const std::string text = profile_json(report);
    if (profile_json(profile_from_json(parse_json(text))) != text)
      throw Error(ErrorKind::internal, "what was written is read as something else");
    test::check_chrome_trace(profile_trace(report));
  });
}

void profile(std::string_view input) {
  refusing([&] {
    const ProfileReport report = profile_from_json(parse_json(input));
    profile_text(report, {});
    profile_comparison(report, report, {});
    profile_trace(report);
    const std::string text = profile_json(report);
    if (profile_json(profile_from_json(parse_json(text))) != text)
      throw Error(ErrorKind::internal, "what was written is read as something else");
  });
}

}  // namespace mgpu::fuzz
