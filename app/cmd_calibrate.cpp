// `mgpu-bench calibrate`: measures what is not cached yet, caches it, and prints all of it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/environment.hpp"
#include "app/run_request.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/session/tune.hpp"

namespace mgpu {
namespace {

const char* word(CalibrationOrigin origin) {
  return origin == CalibrationOrigin::cached     ? "cached"
         : origin == CalibrationOrigin::measured ? "measured"
                                                 : "failed";
}

// "merkle" of "merkle tree=plain": suites are calibrated as they come.
std::string suite_of(const std::string& work) { return work.substr(0, work.find(' ')); }

std::string as_text(std::span<const Tuning> tunings) {
  std::string text;
  for (const Tuning& tuning : tunings) {
    text += fmt::format("{} on {}: {} ({})\n", printable(tuning.work), printable(tuning.device),
                        tuning.variant.name.empty() ? "nothing works" : tuning.variant.name,
                        tuning.measured ? "measured" : "cached");
    for (const TriedVariant& variant : tuning.tried) {
      text += variant.ops_per_s > 0
                  ? fmt::format("  {:<32}{}{}\n", variant.name, format_si(variant.ops_per_s),
                                tuning.unit)
                  : fmt::format("  {:<32}{}\n", variant.name, printable(variant.why));
    }
  }
  return text;
}

std::string as_text(std::span<const Device> devices, const CalibrationResult& result,
                    std::span<const SuiteCalibration> suites,
                    std::span<const NoiseCalibration> noise, const TableStyle& style) {
  std::vector<CalibrationRow> rows;
  for (std::size_t i = 0; i < devices.size(); ++i)
    rows.push_back({devices[i], result.calibration.devices[i], result.free_memory[i],
                    word(result.origins[i])});
  std::string text = calibration_table(rows, style);
  const auto& link = result.calibration.link;
  if (link && devices.size() > 1) {
    const std::size_t known = std::max(link->up.by_count().size(), link->down.by_count().size());
    for (std::size_t count = 2; count < known; ++count) {
      text += fmt::format("{} at once: {}B/s up, {}B/s down ({})\n", count,
                          format_si(link->up.of(count)), format_si(link->down.of(count)),
                          word(result.link_origin));
    }
    text += fmt::format("all {} at once: {}B/s up, {}B/s down ({})\n", devices.size(),
                        format_si(link->up.all()), format_si(link->down.all()),
                        word(result.link_origin));
  }
  if (const PeerLinks& peers = result.calibration.peers; !peers.empty())
    text += "\n" + peer_links_table(devices, peers, word(result.peers_origin), style);
  std::vector<SuiteRateRow> rates;
  for (const SuiteCalibration& suite : suites) {
    if (!suite.rate) continue;
    rates.push_back({suite_of(suite.work), suite.device,
                     format_si(suite.rate->ops_per_s) + suite.rate->unit, suite.rate->slice,
                     word(suite.origin)});
  }
  if (!rates.empty()) text += "\n" + suite_rate_table(rates, style);
  for (const NoiseCalibration& row : noise) {
    if (!row.share) continue;
    text += fmt::format("{}: medians of the same work lie up to {:.1f} % apart ({})\n",
                        suite_of(row.work), *row.share * 100, word(row.origin));
  }
  return text;
}

JsonValue suite_json(const SuiteCalibration& suite) {
  JsonValue json = json_object({{"work", suite.work},
                                {"device", suite.device},
                                {"ops_per_s", nullptr},
                                {"unit", nullptr},
                                {"slice_ns", nullptr},
                                {"fixed_ns", nullptr},
                                {"from", word(suite.origin)}});
  if (!suite.rate) return json;
  put(json, "ops_per_s", suite.rate->ops_per_s);
  put(json, "unit", suite.rate->unit);
  put(json, "slice_ns", suite.rate->slice);
  put(json, "fixed_ns", suite.rate->fixed);
  return json;
}

JsonValue tunings_json(std::span<const Tuning> tunings) {
  JsonValue list = json_list();
  for (const Tuning& tuning : tunings) {
    JsonValue tried = json_list();
    for (const TriedVariant& variant : tuning.tried) {
      const bool eligible = variant.ops_per_s > 0;
      append(tried,
             json_object({{"variant", variant.name},
                          {"ops_per_s", eligible ? JsonItem(variant.ops_per_s) : JsonItem(nullptr)},
                          {"reason", eligible ? JsonItem(nullptr) : JsonItem(variant.why)}}));
    }
    append(list, json_object({{"work", tuning.work},
                              {"device", tuning.device},
                              {"variant", json_or_null(tuning.variant.name)},
                              {"unit", tuning.unit},
                              {"from", tuning.measured ? "measured" : "cached"},
                              {"tried", std::move(tried)}}));
  }
  return list;
}

// Null for one device, and where nothing is known.
JsonValue peers_json(std::span<const Device> devices, const CalibrationResult& result) {
  const PeerLinks& links = result.calibration.peers;
  if (links.empty()) return {};
  JsonValue pairs = json_list();
  for (std::size_t from = 0; from < devices.size(); ++from) {
    for (std::size_t to = 0; to < devices.size(); ++to) {
      if (from == to) continue;
      const PeerLink& link = links.of(from, to);
      append(pairs, json_object({{"from", devices[from].id},
                                 {"to", devices[to].id},
                                 {"path", to_string(link.path)},
                                 {"bytes_per_s", link.bytes_per_s},
                                 {"latency_ns", link.latency}}));
    }
  }
  return json_object({{"pairs", std::move(pairs)}, {"from", word(result.peers_origin)}});
}

std::string as_json(std::span<const Device> devices, const CalibrationResult& result,
                    std::span<const SuiteCalibration> suites,
                    std::span<const NoiseCalibration> noise, std::span<const Tuning> tunings) {
  JsonValue list = json_list(), link, rates = json_list(), floors = json_list();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    append(list, json_object({{"rank", i},
                              {"id", device.id},
                              {"name", device.name},
                              {"uuid", device.uuid},
                              {"pci", device.pci},
                              {"driver_version", device.driver_version},
                              {"free_memory_bytes", result.free_memory[i]},
                              {"from", word(result.origins[i])},
                              {"capability", capability_json(result.calibration.devices[i])}}));
  }
  if (const auto& measured = result.calibration.link) {
    link = json_object({{"devices", measured->devices},
                        {"up_bytes_per_s", measured->up.all()},
                        {"down_bytes_per_s", measured->down.all()},
                        {"up_by_count", measured->up.by_count()},
                        {"down_by_count", measured->down.by_count()},
                        {"from", word(result.link_origin)}});
  }
  for (const SuiteCalibration& suite : suites) append(rates, suite_json(suite));
  for (const NoiseCalibration& row : noise)
    append(floors,
           json_object({{"work", row.work}, {"noise", row.share}, {"from", word(row.origin)}}));
  // Not mgpu-bench/calibration: that is the schema of the files in the cache, which have another
  // layout and are private to the tool.
  return indented_json(json_object({{"schema", "mgpu-bench/calibrate"},
                                    {"schema_version", 2},
                                    {"devices", std::move(list)},
                                    {"link", std::move(link)},
                                    {"peers", peers_json(devices, result)},
                                    {"suites", std::move(rates)},
                                    {"noise", std::move(floors)},
                                    {"kernel_variants", tunings_json(tunings)},
                                    {"warnings", result.warnings}}));
}

}  // namespace

ExitCode cmd_calibrate(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TableStyle style = table_style(settings, context.environment);
  const bool json = settings.is_on("json"), afresh = settings.is_on("recalibrate");
  const CalibrationStore store = calibration_store(context);
  std::vector<SuiteInfo> chosen;
  for (const SuiteInfo* suite :
       choose_suites("calibrate", context.invocation.arguments, context.suites))
    chosen.push_back(*suite);
  const std::unique_ptr<Backend> backend = context.make_backend();
  const DeviceSet set = choose_devices(*backend, context);
  StatusLine line;
  const bool in_place = progress_in_place(context.environment);
  const StepNotice begins = [&](const std::string& step) {
    if (in_place)
      line.show("measuring " + step, error_width());
    else
      print_error("measuring " + step);
  };
  CalibrationResult result = calibrate(*backend, set.devices, store, afresh, begins);
  if (stop_signal() != 0) return stop_code();
  std::vector<Tuning> tunings;
  if (settings.is_on("tune"))
    tunings = tune_suites(*backend, set.devices, chosen, store, afresh, result.warnings, begins);
  const bool tuned = std::any_of(tunings.begin(), tunings.end(),
                                 [](const Tuning& tuning) { return tuning.measured; });
  const auto suites = calibrate_suites(*backend, set.devices, chosen, store, afresh || tuned,
                                       result.warnings, begins);
  std::vector<NoiseCalibration> noise;
  if (!settings.is_on("no-noise")) {
    SuiteRates rates;
    for (const SuiteCalibration& row : suites)
      if (row.rate) rates[{row.work, row.device}] = *row.rate;
    noise = calibrate_noise(*backend, set.devices, chosen, rates, host_memory(), store,
                            afresh || tuned, result.warnings, begins);
  }
  line.clear();
  result.warnings.insert(result.warnings.begin(), set.warnings.begin(), set.warnings.end());
  for (const std::string& warning : result.warnings) print_error("warning: " + warning);
  if (json) {
    print_json(as_json(set.devices, result, suites, noise, tunings));
  } else {
    print_styled(as_text(set.devices, result, suites, noise, style) + as_text(tunings), style);
  }
  return result.failed > 0 ? ExitCode::failed : ExitCode::ok;
}

}  // namespace mgpu
