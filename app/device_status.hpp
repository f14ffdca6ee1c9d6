// `mgpu-bench devices --status`: the current use of devices, once or repeatedly.
#pragma once

#include "app/commands.hpp"
#include "app/exit_codes.hpp"
#include "lib/measure/telemetry_sources.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Prints the status of the devices; with --watch again and again, until a signal comes.
ExitCode print_status(const Context& context, Backend& backend, std::span<const Device> devices,
                      const TableStyle& style, const TelemetryPlaces& places = {});

}  // namespace mgpu
