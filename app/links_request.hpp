// What the options of `links` ask for.
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
  LinksOptions
      options;  // but for the devices, and for device counts, which depend on how many there are
  RunRequest counts;  // those asked for, and strict
  ParamMap recorded;
  std::optional<std::filesystem::path> result_file;
  std::vector<ExportFile> exports;
  OutputFiles outputs;
  bool json = false, quiet = false;
};

// Throws Error(usage) for whatever is not understood, Error(output) for a file that cannot be
// written.
LinksRequest read_links_request(const Settings& settings);

// "4KiB,1MiB", "4KiB:1GiB" (doubled), "4KiB:1GiB:4"; each once, in ascending order. Throws
// Error(usage), also for sizes below `least`.
std::vector<Bytes> read_link_sizes(const Given& given, Bytes least);

}  // namespace mgpu
