// The report of a profile as text: sentences, then tables of devices, costs, kernels, copies and
// waits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/profile_report.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr std::size_t kMostRows = 12;  // of a table; the file has all

std::string percent(Nanos part, Nanos whole) {
  if (whole <= Nanos{}) return "-";
  return fmt::format("{:.1f}", 100 * seconds(part) / seconds(whole));
}

std::string bytes_cell(Bytes bytes) { return format_bytes(static_cast<double>(bytes)); }

// Returns the table below its title; nothing without rows. Says how many rows it leaves out.
std::string titled_table(const std::string& title, std::vector<TextColumn> columns,
                         std::vector<TextRow> rows, const TableStyle& style) {
  if (rows.empty()) return "";
  const std::size_t left_out = rows.size() - std::min(rows.size(), kMostRows);
  rows.resize(rows.size() - left_out);
  std::vector<std::string> hidden;
  std::string text = "\n" + title + "\n" +
                     draw_table(std::move(columns), std::move(rows), style.width, false, hidden);
  if (left_out > 0) text += fmt::format("and {} more in the file\n", left_out);
  return text;
}

std::string wrapped_line(const std::string& text, const TableStyle& style) {
  return wrapped_prose(printable(text) + '\n', {std::max(style.width, 40u), false, true}, 2);
}

std::string device_rows(const ProfileReport& report, const TableStyle& style) {
  std::vector<TextRow> rows;
  for (const ProfiledDevice& device : report.devices) {
    const DeviceParts& p = device.parts;
    const bool known = p.unknown.empty();
    const auto part = [&](Nanos time) { return known ? percent(time, report.makespan) : "-"; };
    rows.push_back(
        {{device.device.device.id, device.device.device.name, part(p.upload), part(p.compute),
          part(p.download), part(p.launch), part(p.idle), bytes_cell(p.bytes_in),
          bytes_cell(p.bytes_out), bytes_cell(device.device.memory.peak)}});
  }
  return titled_table("Where the time of each device went, in % of the time:",
                      {{"device", "", false},
                       {"name", "", false, 1, true},
                       {"upload", "%"},
                       {"compute", "%"},
                       {"download", "%"},
                       {"launch", "%"},
                       {"idle", "%"},
                       {"bytes in", "", true, 2},
                       {"bytes out", "", true, 2},
                       {"memory", "peak", true, 3}},
                      std::move(rows), style);
}

std::string cost_rows(const ProfileReport& report, const TableStyle& style) {
  std::vector<ProgramCost> costs = report.costs.costs;
  std::stable_sort(costs.begin(), costs.end(),
                   [](const ProgramCost& a, const ProgramCost& b) { return a.time < b.time; });
  std::vector<TextRow> rows;
  for (const ProgramCost& cost : costs) {
    const ProgramCostInfo& info = program_cost(cost.name);
    rows.push_back({{info.word, format_duration(cost.time),
                     percent(report.makespan - cost.time, report.makespan), info.removed}});
  }
  return titled_table(
      "What it would take without one cost:",
      {{"cost", "", false}, {"time", ""}, {"saved", "%"}, {"if", "", false, 1, true}},
      std::move(rows), style);
}

std::string kernel_rows(const ProfileReport& report, const TableStyle& style) {
  Nanos all{};
  for (const KernelFigures& kernel : report.kernels) all = saturating_add(all, kernel.total);
  std::vector<TextRow> rows;
  for (const KernelFigures& kernel : report.kernels) {
    const Summary& launch = kernel.launch;
    rows.push_back(
        {{report.devices.at(kernel.device.value).device.device.id, std::to_string(launch.n),
          format_duration(kernel.total), percent(kernel.total, all), format_duration(launch.mean),
          format_duration(launch.stdev), format_duration(launch.min), kernel.name}});
  }
  return titled_table("Kernels:",
                      {{"device", "", false},
                       {"calls", ""},
                       {"total", ""},
                       {"share", "%"},
                       {"mean", ""},
                       {"stdev", "", true, 2},
                       {"min", "", true, 1},
                       {"kernel", "", false}},
                      std::move(rows), style);
}

std::string copy_rows(const ProfileReport& report, const TableStyle& style) {
  std::vector<TextRow> rows;
  for (const CopyFigures& copy : report.copies) {
    const double rate =
        copy.total > Nanos{} ? static_cast<double>(copy.bytes) / seconds(copy.total) / 1e9 : 0;
    rows.push_back(
        {{copy.label.empty() ? to_string(copy.kind) : copy.label,
          report.devices.at(copy.device.value).device.device.id, std::to_string(copy.copies),
          format_duration(copy.total), bytes_cell(copy.bytes),
          rate > 0 ? fmt::format("{:.3g}", rate) : "-", std::to_string(copy.pageable)}});
  }
  return titled_table("Copies:",
                      {{"copy", "", false},
                       {"device", "", false},
                       {"calls", ""},
                       {"total", ""},
                       {"bytes", ""},
                       {"bandwidth", "GB/s"},
                       {"pageable", "calls", true, 1}},
                      std::move(rows), style);
}

std::string wait_rows(const ProfileReport& report, const TableStyle& style) {
  std::vector<TextRow> rows;
  for (const WaitFigures& wait : report.waits)
    rows.push_back({{wait.call, std::to_string(wait.calls), format_duration(wait.total),
                     percent(wait.total, report.makespan), wait.what}});
  return titled_table(
      "Where threads of the program waited for devices:",
      {{"call", "", false}, {"calls", ""}, {"total", ""}, {"of the time", "%"}, {"for", "", false}},
      std::move(rows), style);
}

// Returns "imbalance 50.0 %, balance 50.0 %, overlap 12.0 %" of the metrics that are defined.
std::string metric_words(const Metrics& metrics) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::optional<double>& value, double factor) {
    if (value) words.push_back(fmt::format("{} {:.1f} %", name, *value * factor));
  };
  add("imbalance", metrics.imbalance_percent, 1);
  add("balance", metrics.balance, 100);
  add("transfers under kernels", metrics.overlap, 100);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string iteration_words(const ProfileReport& report) {
  const IterationFigures& figures = report.iterations->figures;
  constexpr std::size_t kMostNames = 8;
  std::vector<std::string> names;  // with repetitions in a row as one
  for (std::size_t k = 0; k < figures.commands.size();) {
    std::size_t end = k;
    while (end < figures.commands.size() && figures.commands[end] == figures.commands[k]) ++end;
    names.push_back(end - k == 1 ? figures.commands[k]
                                 : fmt::format("{} x {}", end - k, figures.commands[k]));
    k = end;
  }
  if (names.size() > kMostNames) {
    names.resize(kMostNames);
    names.emplace_back("..");
  }
  std::string text =
      fmt::format("{} iterations of {} ({} to {}), each: {}.", figures.count,
                  format_duration(figures.time.median), format_duration(figures.time.ci95_low),
                  format_duration(figures.time.ci95_high), fmt::join(names, ", "));
  std::vector<std::string> devices;
  for (std::size_t d = 0; d < report.devices.size(); ++d) {
    const DeviceParts& p = report.iterations->parts.at(d);
    if (report.devices[d].commands == 0) continue;
    devices.push_back(
        fmt::format("{} computes {} %, uploads {} %, downloads {} %, launches {} %",
                    report.devices[d].device.device.id, percent(p.compute, figures.length),
                    percent(p.upload, figures.length), percent(p.download, figures.length),
                    percent(p.launch, figures.length)));
  }
  return text + fmt::format(" In iteration {}: {}.", figures.shown, fmt::join(devices, "; "));
}

std::string overhead_words(const ProfileReport& report) {
  std::uint64_t calls = 0;
  Nanos cost{};
  for (const ProgramProcess& process : report.processes) {
    calls += process.recorded_calls;
    cost = saturating_add(cost, process.recording);
  }
  std::string text = fmt::format("Overhead: {} calls of OpenCL were recorded", calls);
  if (cost > Nanos{})
    text += fmt::format(", which took {} ({} % of the time)", format_duration(cost),
                        percent(cost, report.wall));
  if (report.wall_without) {
    const double more = 100 * (seconds(report.wall) / seconds(*report.wall_without) - 1);
    text += fmt::format("; the program took {}, without the layer {} ({:+.1f} %)",
                        format_duration(report.wall), format_duration(*report.wall_without), more);
  }
  return text + ".";
}

std::string heading(const ProfileReport& report) {
  std::string text = fmt::format("{}: {} from its first command to the end of its last",
                                 fmt::join(report.program, " "), format_duration(report.makespan));
  if (report.from > Nanos{})
    text = fmt::format("{}: {} from {} after its first command", fmt::join(report.program, " "),
                       format_duration(report.makespan), format_duration(report.from));
  text += fmt::format(", {} before it", format_duration(report.before));
  if (report.builds.count > 0)
    text += fmt::format("; {} build{} of kernels took {}", report.builds.count,
                        report.builds.count == 1 ? "" : "s", format_duration(report.builds.time));
  return text + ".";
}

}  // namespace

std::string profile_text(const ProfileReport& report, const TableStyle& style) {
  std::string text = wrapped_line(heading(report), style);
  for (const std::string& sentence : report.verdict) text += wrapped_line(sentence, style);
  text += device_rows(report, style);
  if (const std::string words = metric_words(report.metrics); !words.empty())
    text += wrapped_line(words, style);
  text += cost_rows(report, style);
  if (report.iterations) text += "\n" + wrapped_line(iteration_words(report), style);
  text += kernel_rows(report, style);
  text += copy_rows(report, style);
  text += wait_rows(report, style);
  text += "\n" + wrapped_line(overhead_words(report), style);
  for (const std::string& warning : report.warnings) text += wrapped_line("! " + warning, style);
  return text;
}

namespace {

std::string changed_row_percent(Nanos base, Nanos fresh) {
  if (base <= Nanos{}) return "-";
  return fmt::format("{:+.1f}", 100 * (seconds(fresh) / seconds(base) - 1));
}

}  // namespace

std::string profile_comparison(const ProfileReport& base, const ProfileReport& fresh,
                               const TableStyle& style) {
  std::vector<std::pair<std::string, std::pair<Nanos, Nanos>>> all;
  const auto add = [&](const std::string& what, Nanos a, Nanos b) {
    if (a > Nanos{} || b > Nanos{}) all.push_back({what, {a, b}});
  };
  add("time", base.makespan, fresh.makespan);
  add("before the first command", base.before, fresh.before);
  struct Part {
    const char* name;
    Nanos DeviceParts::*time;
  };
  static constexpr Part parts[] = {{"upload", &DeviceParts::upload},
                                   {"compute", &DeviceParts::compute},
                                   {"download", &DeviceParts::download},
                                   {"launch", &DeviceParts::launch},
                                   {"idle", &DeviceParts::idle}};
  for (std::size_t d = 0; d < std::min(base.devices.size(), fresh.devices.size()); ++d)
    for (const Part& part : parts)
      add(fmt::format("{} {}", base.devices[d].device.device.id, part.name),
          base.devices[d].parts.*part.time, fresh.devices[d].parts.*part.time);
  std::map<std::string, std::pair<Nanos, Nanos>> kernels;
  for (const KernelFigures& kernel : base.kernels)
    kernels[kernel.name].first = saturating_add(kernels[kernel.name].first, kernel.total);
  for (const KernelFigures& kernel : fresh.kernels)
    kernels[kernel.name].second = saturating_add(kernels[kernel.name].second, kernel.total);
  for (const auto& [name, times] : kernels) add("kernel " + name, times.first, times.second);
  std::vector<TextRow> rows;
  for (const auto& [what, times] : all)
    rows.push_back({{what, format_duration(times.first), format_duration(times.second),
                     changed_row_percent(times.first, times.second)}});
  std::vector<std::string> hidden;
  std::string text =
      draw_table({{"", "", false, 0, true}, {"base", ""}, {"new", ""}, {"change", "%"}},
                 std::move(rows), style.width, false, hidden);
  text += "\n";
  for (const auto& [name, report] : {std::pair{"base", &base}, std::pair{"new", &fresh}})
    for (const std::string& sentence : report->verdict)
      text += wrapped_line(fmt::format("{}: {}", name, sentence), style);
  return text + wrapped_line("Two profiles are two single runs: differences may be noise.", style);
}

}  // namespace mgpu
