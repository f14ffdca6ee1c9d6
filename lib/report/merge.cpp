#include "lib/report/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/comparison.hpp"

namespace mgpu {
namespace {

// Refuses files that cannot be merged, and returns the differences that do not matter.
std::vector<std::string> check_environment(const NamedReport& first, const NamedReport& other,
                                           bool ignore_environment) {
  std::vector<std::string> all, decisive;
  for (const EnvironmentDifference& d : environment_differences(first.report, other.report)) {
    all.push_back(fmt::format("{} and {} differ: {}", first.file, other.file, to_string(d)));
    if (d.decisive) decisive.push_back(to_string(d));
  }
  if (!decisive.empty() && !ignore_environment)
    throw Error(ErrorKind::input,
                fmt::format("{} and {} were measured in different environments ({}); "
                            "--ignore-environment merges them all the same",
                            first.file, other.file, fmt::join(decisive, "; ")));
  return all;
}

void refuse_repeated_cases(const std::vector<NamedReport>& files) {
  std::map<std::string, std::string> file_of;
  for (const NamedReport& one : files) {
    for (const RunRecord& run : one.report.runs) {
      const auto [found, fresh] = file_of.emplace(case_name(run), one.file);
      if (fresh) continue;
      const std::string where = found->second == one.file
                                    ? "twice in " + one.file
                                    : fmt::format("in {} and in {}", found->second, one.file);
      throw Error(ErrorKind::input,
                  fmt::format("the case {} is {}; expected: each case once; mgpu-bench report FILE "
                              "--where NAME=VALUE --json selects cases",
                              found->first, where));
    }
  }
}

template <typename T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Leaves out entries of `map` that differ from those of `other`, and returns their names.
std::vector<std::string> keep_common(ParamMap& map, const ParamMap& other) {
  std::vector<std::string> left_out;
  for (const auto& [name, value] : other)
    if (!map.contains(name)) left_out.push_back(name);
  std::erase_if(map, [&](const auto& entry) {
    const auto found = other.find(entry.first);
    if (found != other.end() && found->second == entry.second) return false;
    left_out.push_back(entry.first);
    return true;
  });
  return left_out;
}

bool same_figures(const std::optional<Capability>& a, const std::optional<Capability>& b) {
  if (!a || !b) return !a && !b;
  const auto figures = [](const Capability& of) {
    return std::array{of.fp32_flops,          of.fp64_flops,    of.int32_ops,
                      of.memory_bytes_per_s,  of.pinned_up,     of.pinned_down,
                      of.pageable_up,         of.pageable_down, seconds(of.launch),
                      seconds(of.next_launch)};
  };
  return figures(*a) == figures(*b);
}

class Merging {
 public:
  explicit Merging(Report first) : merged_{std::move(first), {}} {}

  void add(Report other) {
    Report& all = merged_.report;
    all.complete &= other.complete;
    for (auto [mine, its] : {std::pair{&all.tool.version, &other.tool.version},
                             std::pair{&all.tool.git, &other.tool.git}})
      if (!contains(words_of(*mine), *its)) *mine += ", " + *its;
    for (const std::string& name : keep_common(all.options, other.options)) say_left_out(name);
    for (auto& [suite, params] : other.defaults) {
      const auto [found, fresh] = all.defaults.emplace(suite, params);
      if (!fresh) keep_common(found->second, params);
    }
    const bool later = all.started < other.started;
    for (DeviceRecord& device : other.devices) add_device(std::move(device), later);
    if (!later && !other.started.empty()) all.started = other.started;
    add_telemetry(std::move(other.telemetry));
    if (!all.cluster) all.cluster = std::move(other.cluster);
    std::move(other.faults.begin(), other.faults.end(), std::back_inserter(all.faults));
    for (std::string& note : other.exchange_notes)
      if (!contains(all.exchange_notes, note)) all.exchange_notes.push_back(std::move(note));
    std::move(other.runs.begin(), other.runs.end(), std::back_inserter(all.runs));
  }

  MergedReport merged(const ToolInfo& tool) && {
    merged_.report.id.clear();  // no journal belongs to it
    merged_.report.tool.argv = tool.argv;
    return std::move(merged_);
  }

 private:
  static std::vector<std::string> words_of(const std::string& list) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(", ", at), list.size());
      words.push_back(list.substr(at, end - at));
      at = end + 2;
    }
    return words;
  }

  void say_left_out(const std::string& option) {
    std::string line = fmt::format("the files differ in the option {}: it is left out", option);
    if (!contains(merged_.remarks, line)) merged_.remarks.push_back(std::move(line));
  }

  void add_device(DeviceRecord device, bool later) {
    std::vector<DeviceRecord>& all = merged_.report.devices;
    const auto found = std::find_if(all.begin(), all.end(), [&](const DeviceRecord& mine) {
      return mine.device.id == device.device.id;
    });
    if (found == all.end()) {
      device.rank = all.size();
      all.push_back(std::move(device));
      return;
    }
    (later ? found->after : found->before) = later ? device.after : device.before;
    if (same_figures(found->capability, device.capability)) return;
    if (found->capability)
      merged_.remarks.push_back(fmt::format(
          "device {} was calibrated differently: its figures are left out", device.device.id));
    found->capability.reset();
  }

  void add_telemetry(TelemetryRecord other) {
    TelemetryRecord& all = merged_.report.telemetry;
    if (other.interval == Nanos{}) return;
    if (all.interval == Nanos{}) {
      all = std::move(other);
      return;
    }
    for (WatchedRecord& watched : other.watched)
      if (std::none_of(all.watched.begin(), all.watched.end(),
                       [&](const WatchedRecord& mine) { return mine.of == watched.of; }))
        all.watched.push_back(std::move(watched));
  }

  MergedReport merged_;
};

}  // namespace

MergedReport merge_reports(std::vector<NamedReport> files, const ToolInfo& tool,
                           bool ignore_environment) {
  std::vector<std::string> differences;
  for (const NamedReport& one : files) {
    if (is_links(one.report))
      throw Error(ErrorKind::input,
                  one.file + ": was made by links; expected: a result of run or simulate");
    for (std::string& line : check_environment(files.front(), one, ignore_environment))
      differences.push_back(std::move(line));
  }
  refuse_repeated_cases(files);
  Merging merging(std::move(files.front().report));
  for (std::size_t k = 1; k < files.size(); ++k) merging.add(std::move(files[k].report));
  MergedReport merged = std::move(merging).merged(tool);
  merged.remarks.insert(merged.remarks.begin(), differences.begin(), differences.end());
  return merged;
}

}  // namespace mgpu
