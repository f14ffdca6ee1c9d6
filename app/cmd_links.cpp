// `mgpu-bench links`: measures transfers between host and devices, and collectives.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/environment.hpp"
#include "app/finish_run.hpp"
#include "app/saved_results.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/report/nccl_tests.hpp"

namespace mgpu {
namespace {

constexpr Bytes kMostLinkSize = Bytes{1} << 40;
constexpr std::uint64_t kMostSizeFactor = 1024;

[[noreturn]] void refuse_size(const Given& given, const std::string& text, const std::string& why) {
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} {}; expected: 4KiB,1MiB, or 4KiB:1GiB, or 4KiB:1GiB:4",
                          given.from, in_quotes(text), why));
}

// Adds one size, or a range of sizes.
void add_sizes(const Given& given, const std::string& text, Bytes least, std::set<Bytes>& sizes) {
  const auto size = [&](const std::string& part) {
    const Bytes bytes = parse_bytes(given.from, part);
    if (bytes < least)
      refuse_size(given, part, fmt::format("is less than an element, of {} bytes", least));
    if (bytes > kMostLinkSize) refuse_size(given, part, "is more than 1 TiB");
    return bytes;
  };
  std::vector<std::string> parts;
  for (std::size_t begin = 0, colon = 0; colon != std::string::npos; begin = colon + 1) {
    colon = text.find(':', begin);
    parts.push_back(text.substr(begin, colon - begin));
  }
  if (parts.size() > 3) refuse_size(given, text, "is no range");
  const Bytes first = size(parts[0]), last = parts.size() > 1 ? size(parts[1]) : first;
  const std::uint64_t factor = parts.size() > 2 ? parse_count(given.from, parts[2]) : 2;
  if (first > last) refuse_size(given, text, "ends before it begins");
  if (factor < 2 || factor > kMostSizeFactor)
    refuse_size(given, parts[2], fmt::format("is no factor from 2 to {}", kMostSizeFactor));
  for (Bytes bytes = first; bytes <= last; bytes *= factor) sizes.insert(bytes);
}

// Parses "4KiB,1MiB", "4KiB:1GiB" (doubling), "4KiB:1GiB:4"; returns each size once, ascending.
// Throws Error(usage), also for sizes below `least`.
std::vector<Bytes> read_link_sizes(const Given& given, Bytes least) {
  std::set<Bytes> sizes;
  for (const std::string& text : split_commas(given.value)) add_sizes(given, text, least, sizes);
  return {sizes.begin(), sizes.end()};
}

// Reads the request, without devices and device counts, which depend on the devices found. Throws
// Error(usage) for a mistake, Error(output) for a file that cannot be written.
RunRequest read_links_request(const Settings& settings) {
  RunRequest request;
  read_fields(settings, links_options(), request);
  LinksOptions& links = request.links;
  links.path = request.session.peer;
  links.quick = request.quick;
  links.matrices = !settings.has("op");
  if (links.matrices) links.ops = {Collective::all_reduce};
  if (const Given* sizes = settings.find("sizes"))
    links.sizes = read_link_sizes(*sizes, bytes_of(links.element));
  read_output_files(settings, request);
  return request;
}

// Drops collectives if there is one device: only transfers to and from the host remain.
void leave_out_exchange(const Settings& settings, LinksOptions& links,
                        std::vector<std::string>& warnings) {
  if (links.devices.size() > 1 || settings.has("op")) return;
  links.ops.clear();
  const Device& device = links.devices.front();
  warnings.push_back(fmt::format(
      "there is one device, {}, so that only the host exchanges data with it{}", device.id,
      device.can_be_split() ? "; --sub-devices 2 makes two of this CPU" : ""));
}

// Returns the rows of the file to compare with; none: none was given.
std::vector<NcclTestsRow> read_compared(const Settings& settings) {
  const Given* file = settings.find("compare-with");
  if (file == nullptr) return {};
  try {
    return read_nccl_tests(read_text_file(file->value));
  } catch (const Error& error) {
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", file->from, file->value, error.what()));
  }
}

}  // namespace

ExitCode cmd_links(const Context& context) {
  const Settings& settings = context.invocation.settings;
  RunRequest request = read_links_request(settings);
  const std::vector<NcclTestsRow> compared = read_compared(settings);
  const TableStyle style = table_style(settings, context.environment);
  const std::unique_ptr<Backend> backend = context.make_backend();
  DeviceSet set = choose_devices(*backend, context);
  LinksOptions& links = request.links;
  links.device_counts = device_counts(request, set.devices.size(), set.warnings);
  links.devices = std::move(set.devices);
  leave_out_exchange(settings, links, set.warnings);

  Report report;
  report.tool = context.tool;
  report.environment = describe_environment(context.environment);
  report.options = recorded_options(request, links_options());
  report.started = utc_now();
  report.telemetry.reason = "links reads none";
  keep_result(context, report.started, "links", request, set.warnings);
  report.warnings = std::move(set.warnings);
  RunObserver observer(RunObserver::options_of(request, style, context.environment));
  std::vector<ExitCode> codes;
  try {
    attend(*backend, nullptr, [&] {
      measure_links(*backend, links, report, [&](const std::string& what) {
        if (!report.runs.empty()) observer.save(report);
        observer.remark("measuring " + what);
      });
    });
  } catch (const Error& error) {
    report.failure = error.what();
    codes.push_back(exit_code(error.kind()));
    if (stop_signal() == 0)
      print_error(fmt::format("error: {}{}", error.what(),
                              report.runs.empty() ? "" : "; what was measured before is kept"));
  }
  stopped_in_time();
  if (!compared.empty() && add_nccl_tests(compared, report) == 0)
    report.warnings.push_back(
        "--compare-with: the file has no row of a collective, size, type and number of devices "
        "that were measured");
  for (const std::string& warning : report.warnings) observer.warning(warning);
  codes.push_back(finish_run(report, request, observer, style));
  const auto wrong = std::count_if(report.runs.begin(), report.runs.end(),
                                   [](const RunRecord& run) { return run.status != Status::ok; });
  if (wrong > 0)
    print_error(fmt::format("error: data arrived wrong in {} case{}, which {} no figures", wrong,
                            wrong == 1 ? "" : "s", wrong == 1 ? "has" : "have"));
  return worst(codes);
}

}  // namespace mgpu
