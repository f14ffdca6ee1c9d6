// Request of `links`, read from its options.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "app/exports.hpp"
#include "app/run_request.hpp"
#include "lib/base/output_file.hpp"
#include "lib/session/links.hpp"

namespace mgpu {

struct LinksRequest {
  // Without devices and device counts, which depend on the devices found.
  LinksOptions options;
  RunRequest counts;  // only its device counts and `strict` are used
  ParamMap recorded;
  std::optional<std::filesystem::path> result_file;
  std::vector<ExportFile> exports;
  OutputFiles outputs;
  bool json = false, quiet = false;
};

// Reads the request. Throws Error(usage) for a mistake, Error(output) for a file that cannot be
// written.
LinksRequest read_links_request(const Settings& settings);

// Parses "4KiB,1MiB", "4KiB:1GiB" (doubling), "4KiB:1GiB:4"; returns each size once, ascending.
// Throws Error(usage), also for sizes below `least`.
std::vector<Bytes> read_link_sizes(const Given& given, Bytes least);

}  // namespace mgpu
