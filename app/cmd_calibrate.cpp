// `mgpu-bench calibrate`: measures what is not cached yet, caches it, and prints all of it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/environment.hpp"
#include "app/problems.hpp"
#include "app/run_request.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/documents.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/session/tune.hpp"

namespace mgpu {
namespace {

// Returns "merkle" of "merkle tree=plain": a suite is calibrated with one set of options at a time.
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
                    to_string(result.origins[i])});
  std::string text = calibration_table(rows, style);
  const auto& link = result.calibration.link;
  if (link && devices.size() > 1) {
    const std::size_t known = std::max(link->up.by_count().size(), link->down.by_count().size());
    for (std::size_t count = 2; count < known; ++count) {
      text += fmt::format("{} at once: {}B/s up, {}B/s down ({})\n", count,
                          format_si(link->up.of(count)), format_si(link->down.of(count)),
                          to_string(result.link_origin));
    }
    text += fmt::format("all {} at once: {}B/s up, {}B/s down ({})\n", devices.size(),
                        format_si(link->up.all()), format_si(link->down.all()),
                        to_string(result.link_origin));
  }
  if (const PeerLinks& peers = result.calibration.peers; !peers.empty())
    text += "\n" + peer_links_table(devices, peers, to_string(result.peers_origin), style);
  std::vector<SuiteRateRow> rates;
  for (const SuiteCalibration& suite : suites) {
    if (!suite.rate) continue;
    rates.push_back({suite_of(suite.work), suite.device,
                     format_si(suite.rate->ops_per_s) + suite.rate->unit, suite.rate->slice,
                     to_string(suite.origin)});
  }
  if (!rates.empty()) text += "\n" + suite_rate_table(rates, style);
  for (const NoiseCalibration& row : noise) {
    if (!row.share) continue;
    text += fmt::format("{}: repeated medians of the same work differ by up to {:.1f} % ({})\n",
                        suite_of(row.work), *row.share * 100, to_string(row.origin));
  }
  return text;
}

CalibrateDocument document_of(const std::vector<Device>& devices, const CalibrationResult& result) {
  CalibrateDocument document;
  for (ListedDevice& device : listed(devices, result.calibration.devices)) {
    const std::size_t i = device.rank;
    document.devices.push_back({std::move(device), result.free_memory[i], result.origins[i]});
  }
  if (result.calibration.link)
    document.link = CalibratedLink{*result.calibration.link, result.link_origin};
  const PeerLinks& links = result.calibration.peers;
  if (!links.empty()) document.peers = CalibratedPeers{{}, result.peers_origin};
  for (std::size_t from = 0; from < links.devices(); ++from)
    for (std::size_t to = 0; to < links.devices(); ++to)
      if (from != to)
        document.peers->pairs.push_back({devices[from].id, devices[to].id, links.of(from, to)});
  document.warnings = result.warnings;
  return document;
}

}  // namespace

ExitCode cmd_calibrate(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TableStyle style = table_style(settings, context.environment);
  const bool json = settings.is_on("json"), afresh = settings.is_on("recalibrate");
  const CalibrationStore store = calibration_store(context);
  const std::vector<const SuiteInfo*> named = chosen_suites(context.invocation, context.suites);
  refuse_foreign_options(settings, context.suites, named);
  const std::vector<SuiteInfo> chosen = with_given_defaults(settings, named);
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
  if (settings.is_on("energy"))
    calibrate_power(*backend, set.devices, chosen, store, result.warnings, begins);
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
    CalibrateDocument document = document_of(set.devices, result);
    document.suites = suites;
    document.noise = noise;
    document.tunings = tunings;
    print_json(calibrate_json(document));
  } else {
    print_styled(as_text(set.devices, result, suites, noise, style) + as_text(tunings), style);
  }
  return result.failed > 0 ? ExitCode::failed : ExitCode::ok;
}

}  // namespace mgpu
