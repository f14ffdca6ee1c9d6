// Puts the figures of a profile together, and says in sentences what they mean.
#include "lib/report/profile_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lib/base/quantity.hpp"
#include "lib/report/trace_writer.hpp"

namespace mgpu {

namespace {

// Returns the standard error of the median time of iterations, as a share of it: from the median
// absolute deviation, as if they were normal. In the first one drivers may still prepare, so that
// mean and standard deviation would be its own.
double noise_of(const std::optional<IterationFigures>& iterations) {
  if (!iterations || iterations->time.n < 6 || iterations->time.median <= Nanos{}) return 0;
  const Summary& time = iterations->time;
  constexpr double kOfDeviation = 1.4826 * 1.2533;  // to a standard error of a mean, of a median
  return kOfDeviation * seconds(time.mad) / seconds(time.median) /
         std::sqrt(static_cast<double>(time.n));
}

// Returns "75 to 25".
std::string shares_words(const std::vector<ProgramShare>& shares, double ProgramShare::*which) {
  std::vector<std::string> words;
  for (const ProgramShare& share : shares)
    words.push_back(fmt::format("{:.0f}", share.*which * 100));
  return fmt::format("{}", fmt::join(words, " to "));
}

std::uint64_t count_of(const std::vector<CopyFigures>& copies, std::uint64_t CopyFigures::*what) {
  std::uint64_t count = 0;
  for (const CopyFigures& copy : copies)
    if (copy.kind != CommandKind::compute) count += copy.*what;
  return count;
}

// Returns ", most of all clFinish for scale, 36 times, 1.20 s in all", or that threads wait in
// other ways, if those calls are not most of what waiting costs.
std::string longest_wait(const ProfileReport& report, Nanos saved) {
  Nanos all{};
  for (const WaitFigures& wait : report.waits) all = saturating_add(all, wait.total);
  if (seconds(all) < seconds(saved) / 2)
    return ", which ask again and again whether commands have ended, or are told by other threads";
  const WaitFigures& wait = report.waits.front();
  return fmt::format(", most of all {} for {}, {} time{}, {} in all", wait.call, wait.what,
                     wait.calls, wait.calls == 1 ? "" : "s", format_duration(wait.total));
}

// Returns what holds the program back and, after a semicolon, the condition of the better time.
std::string cost_words(const ProfileReport& report, const ProgramCost& cost) {
  const ProgramCosts& costs = report.costs;
  const std::string& name = cost.name;
  if (name == "perfect_balance")
    return fmt::format("balance; with shares {} in place of {}",
                       shares_words(costs.shares, &ProgramShare::balanced),
                       shares_words(costs.shares, &ProgramShare::now));
  if (name == "full_overlap")
    return "transfers one after the other with kernels; with queues of their own and two sets of "
           "buffers, so that they run next to kernels,";
  if (name == "fewer_copies")
    return fmt::format(
        "small copies, {} below {}; put together, at the bandwidth of its fastest "
        "copies,",
        costs.small_copies, format_bytes(static_cast<double>(kSmallCopy)));
  if (name == "pinned_copies")
    return fmt::format(
        "pageable memory, of {} transfers; from and to pinned memory (mapped, of a buffer with "
        "CL_MEM_ALLOC_HOST_PTR)",
        costs.pageable);
  if (name == "free_transfers") return "transfers; if they were free";
  if (name == "free_launches") {
    std::size_t launches = 0;
    for (const KernelFigures& kernel : report.kernels) launches += kernel.launch.n;
    return fmt::format(
        "launches, {} of kernels; if they were free (fewer kernels, with more work each)",
        launches);
  }
  if (name == "free_waits")
    return fmt::format("waits of the host{}; if it enqueued without waiting",
                       longest_wait(report, report.makespan - cost.time));
  if (name == "free_host_work")
    return "work of the host between its calls; if it took no time (or ran next to the devices)";
  return fmt::format("kernels built after the first command, {} build{}, {} in all; built before",
                     report.late_builds.count, report.late_builds.count == 1 ? "" : "s",
                     format_duration(report.late_builds.total));
}

// Adds what is known about the named cost and does not follow from its name.
void add_hints(const ProfileReport& report, std::vector<std::string>& sentences) {
  const std::string& name = report.costs.held_back_by;
  if (name == "perfect_balance") {
    constexpr double kLongTail = 0.05;
    for (const ProgramShare& share : report.costs.shares) {
      const ProfiledDevice& device = report.devices[share.device.value];
      const Nanos tail = report.makespan - device.parts.finish;
      if (device.commands == 0)
        sentences.push_back(fmt::format("Device {} ({}) ran nothing{}.", device.device.device.id,
                                        device.device.device.name,
                                        device.device.has_queue ? "" : " and has no queue"));
      else if (seconds(tail) > kLongTail * seconds(report.makespan))
        sentences.push_back(fmt::format("Device {} had nothing to do for the last {}.",
                                        device.device.device.id, format_duration(tail)));
    }
  }
  const std::uint64_t pageable = count_of(report.copies, &CopyFigures::pageable),
                      copies = count_of(report.copies, &CopyFigures::copies);
  if ((name == "free_transfers" || name == "full_overlap") && pageable > 0)
    sentences.push_back(fmt::format(
        "{} of {} transfers are from or to pageable memory; from pinned memory (mapped, "
        "of a buffer with CL_MEM_ALLOC_HOST_PTR) most GPUs copy faster, and next to "
        "kernels.",
        pageable, copies));
}

}  // namespace

std::vector<std::string> profile_verdict(const ProfileReport& report) {
  const ProgramCosts& costs = report.costs;
  if (report.timeline.commands.empty())
    return {"The program ran no command of OpenCL whose time is known."};
  if (costs.held_back_by == "unknown")
    return {"What holds it back is not known, as time stamps of its commands cannot be right."};
  if (costs.held_back_by == "none") {
    const double noise =
        noise_of(report.iterations ? std::optional(report.iterations->figures) : std::nullopt);
    return {
        noise > 0.01
            ? fmt::format("No single cost holds it back: none that was tried saves more than the "
                          "{:.0f} % that the time of its iterations leaves open.",
                          100 * noise)
            : "No single cost holds it back: none that was tried saves 1 % of its time."};
  }
  const auto cost = std::find_if(costs.costs.begin(), costs.costs.end(),
                                 [&](const auto& each) { return each.name == costs.held_back_by; });
  std::vector<std::string> sentences{fmt::format(
      "What holds it back most: {} it would take {} instead of {} ({:.0f} % less).",
      cost_words(report, *cost), format_duration(cost->time), format_duration(report.makespan),
      100 * (1 - seconds(cost->time) / seconds(report.makespan)))};
  add_hints(report, sentences);
  return sentences;
}

ProfileReport analyse_program(const ProgramRecord& whole, const ProfileSelection& selection) {
  ProfileReport report;
  const bool all = selection.from <= Nanos{} && !selection.length;
  const Nanos length = std::clamp(selection.length.value_or(whole.makespan), Nanos{},
                                  std::max(whole.makespan - selection.from, Nanos{}));
  const ProgramRecord part = all ? ProgramRecord{} : part_of(whole, selection.from, length);
  const ProgramRecord& record = all ? whole : part;
  report.processes = record.processes;
  report.threads = record.threads;
  report.before = record.before;
  report.makespan = record.makespan;
  report.from = selection.from;
  report.builds = record.builds;
  report.warnings = record.remarks;
  report.timeline = timeline_of(record);
  const std::vector<DeviceParts> parts = device_parts(report.timeline);
  for (std::size_t d = 0; d < record.devices.size(); ++d)
    report.devices.push_back({record.devices[d], parts[d], 0});
  for (const Command& command : report.timeline.commands)
    ++report.devices[command.device.value].commands;
  // Devices that the program only looked at say nothing about how it shared its work.
  Timeline of_used = report.timeline;
  std::vector<DeviceParts> used;
  for (const ProfiledDevice& device : report.devices)
    if (device.device.has_queue || device.commands > 0) used.push_back(device.parts);
  report.metrics = compute_metrics(of_used, used, {report.makespan, {}, {}, {}});
  report.kernels = kernel_figures(record);
  if (selection.kernel)
    std::erase_if(report.kernels,
                  [&](const KernelFigures& kernel) { return !selection.kernel(kernel.name); });
  report.copies = copy_figures(record);
  report.waits = wait_figures(record);
  report.late_builds = build_figures(record);
  const std::optional<IterationFigures> iterations = find_iterations(record);
  if (iterations)
    report.iterations = {
        *iterations, device_parts(part_of(report.timeline, iterations->begin, iterations->length))};
  report.costs = find_costs(record, noise_of(iterations));
  constexpr Nanos kLong{20'000};
  for (const HostCall& call : record.calls)
    if (!call.waited.empty() || call.kind == CallKind::build || call.end - call.begin >= kLong)
      report.calls.push_back(call);
  for (const ProfiledDevice& device : report.devices) {
    if (!device.parts.unknown.empty())
      report.warnings.push_back(fmt::format("device {}: its times are not known: {}",
                                            device.device.device.id, device.parts.unknown));
    if (!device.device.unstamped.empty())
      report.warnings.push_back(
          fmt::format("device {}: {}", device.device.device.id, device.device.unstamped));
  }
  for (const ProgramProcess& process : report.processes)
    if (!process.trouble.empty())
      report.warnings.push_back(fmt::format("process {}: {}", process.id, process.trouble));
  report.verdict = profile_verdict(report);
  return report;
}

std::string profile_trace(const ProfileReport& report) {
  Report shown;
  shown.tool = report.tool;
  RunRecord run;
  for (const ProfiledDevice& device : report.devices) {
    DeviceRecord record;
    record.device = device.device.device;
    record.clock = device.device.clock;
    record.rank = shown.devices.size();
    run.devices.push_back(record.device.id);
    shown.devices.push_back(std::move(record));
  }
  run.timeline = report.timeline;
  shown.runs.push_back(std::move(run));
  TraceExtras extras;
  extras.title = fmt::format("{}", fmt::join(report.program, " "));
  for (const ProgramThread& thread : report.threads) {
    const ProgramProcess& process = report.processes.at(thread.process);
    extras.tracks.push_back({fmt::format("process {}: {}", process.id, process.program),
                             fmt::format("thread {}", thread.id),
                             {}});
  }
  for (const HostCall& call : report.calls)
    extras.tracks.at(call.thread).events.push_back({call.name.text(), call.begin, call.end});
  return to_chrome_trace(shown, extras);
}

}  // namespace mgpu
