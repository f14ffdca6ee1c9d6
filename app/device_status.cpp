#include "app/device_status.hpp"

#include <algorithm>
#include <thread>

#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/measure/device_status.hpp"
#include "lib/report/device_status_report.hpp"

namespace mgpu {
namespace {

// Time that the load of a CPU is measured for, if nothing is watched.
constexpr Nanos kGlance = std::chrono::milliseconds(200);
constexpr Nanos kLookForSignal = std::chrono::milliseconds(50);

// Waits this long; returns false if a signal came.
bool passes(Nanos time) {
  for (; time > Nanos{} && stop_signal() == 0; time -= kLookForSignal)
    std::this_thread::sleep_for(std::min(time, kLookForSignal));
  return stop_signal() == 0;
}

}  // namespace

ExitCode print_status(const Context& context, Backend& backend, std::span<const Device> devices,
                      const TableStyle& style, const TelemetryPlaces& places) {
  const Settings& settings = context.invocation.settings;
  const Given* const watch = settings.find("watch");
  const Nanos interval = watch != nullptr ? read_time(*watch) : kGlance;
  install_stop_signals();
  StatusReader reader(devices, places);
  for (Nanos before = backend.now(); passes(interval);) {
    const Nanos now = backend.now();
    const std::vector<DeviceStatus> all = reader.read(now - before);
    before = now;
    if (!settings.is_on("json"))
      print_styled(status_table(all, style) + (watch != nullptr ? "\n" : ""), style);
    else
      print_json(watch != nullptr ? status_json_line(all) : status_json(all));
    if (watch == nullptr) return ExitCode::ok;
  }
  stopped_in_time();
  return ExitCode::ok;
}

}  // namespace mgpu
