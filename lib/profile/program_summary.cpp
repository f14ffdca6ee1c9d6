// Sums up commands and calls, and finds the sequence that a queue repeats.
#include "lib/profile/program_summary.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace mgpu {

namespace {

bool is_timed(const ProgramCommand& c) { return !c.marker && c.stamped; }

bool is_kernel(const ProgramCommand& c) {
  return is_timed(c) && c.kind == CommandKind::compute && c.items > 0;
}

bool is_copy(const ProgramCommand& c) {
  return is_timed(c) && (c.kind != CommandKind::compute || c.label == "copy" || c.label == "fill");
}

// Returns the name of a command in lists: the kernel's, or "upload".
std::string name_of(const ProgramCommand& c) {
  return c.label.empty() ? to_string(c.kind) : c.label.text();
}

// Sorts figures by their total, the largest first.
template <typename Figures>
void sort_by_total(std::vector<Figures>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Figures& a, const Figures& b) { return a.total > b.total; });
}

// The commands of a queue that take time, by their names.
struct Sequence {
  std::vector<std::uint32_t> commands;
  std::vector<std::uint32_t> names;  // numbers of their names
};

Sequence busiest_queue(const ProgramRecord& record) {
  std::vector<Nanos> busy(record.queues.size());
  for (const ProgramCommand& c : record.commands)
    if (is_timed(c)) busy[c.queue] = saturating_add(busy[c.queue], c.ended - c.started);
  const auto busiest = std::max_element(busy.begin(), busy.end());
  Sequence sequence;
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t k = 0; k < record.commands.size(); ++k) {
    const ProgramCommand& c = record.commands[k];
    if (!is_timed(c) || c.queue != busiest - busy.begin()) continue;
    sequence.commands.push_back(k);
    sequence.names.push_back(
        numbers.try_emplace(name_of(c), static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return sequence;
}

// Returns distances at which commands may repeat: for each of the rarest names the one that is most
// frequent between two of its commands.
std::set<std::size_t> likely_periods(const std::vector<std::uint32_t>& names) {
  constexpr std::size_t kLeast = 3, kMostNames = 16;
  std::map<std::uint32_t, std::vector<std::size_t>> places;
  for (std::size_t k = 0; k < names.size(); ++k) places[names[k]].push_back(k);
  std::vector<const std::vector<std::size_t>*> rarest;
  for (const auto& [name, all] : places)
    if (all.size() >= kLeast) rarest.push_back(&all);
  std::stable_sort(rarest.begin(), rarest.end(),
                   [](const auto* a, const auto* b) { return a->size() < b->size(); });
  rarest.resize(std::min(rarest.size(), kMostNames));
  std::set<std::size_t> periods;
  for (const auto* all : rarest) {
    std::map<std::size_t, std::size_t> distances;
    for (std::size_t k = 1; k < all->size(); ++k) ++distances[(*all)[k] - (*all)[k - 1]];
    periods.insert(std::max_element(distances.begin(), distances.end(), [](auto& a, auto& b) {
                     return a.second < b.second;
                   })->first);
  }
  return periods;
}

// A stretch of a sequence that repeats after `period`.
struct Repeated {
  std::size_t first = 0, length = 0, period = 0;
};

Repeated longest_repetition(const std::vector<std::uint32_t>& names, std::size_t period) {
  Repeated longest{0, 0, period};
  std::size_t run = 0;
  for (std::size_t k = period; k < names.size(); ++k) {
    run = names[k] == names[k - period] ? run + 1 : 0;
    if (run > 0 && run + period > longest.length)
      longest = {k + 1 - run - period, run + period, period};
  }
  return longest;
}

}  // namespace

std::vector<KernelFigures> kernel_figures(const ProgramRecord& record) {
  std::map<std::pair<std::string, std::uint32_t>, std::vector<Nanos>> launches;
  std::map<std::pair<std::string, std::uint32_t>, Items> items;
  for (const ProgramCommand& c : record.commands) {
    if (!is_kernel(c)) continue;
    launches[{c.label.text(), c.device.value}].push_back(c.ended - c.started);
    items[{c.label.text(), c.device.value}] += c.items;
  }
  std::vector<KernelFigures> all;
  for (const auto& [which, times] : launches) {
    KernelFigures& figures = all.emplace_back();
    figures.name = which.first;
    figures.device = {which.second};
    figures.launch = summarise(times);
    figures.items = items[which];
    for (const Nanos time : times) figures.total = saturating_add(figures.total, time);
  }
  sort_by_total(all);
  return all;
}

std::vector<CopyFigures> copy_figures(const ProgramRecord& record) {
  std::map<std::tuple<std::uint32_t, CommandKind, std::string>, CopyFigures> found;
  for (const ProgramCommand& c : record.commands) {
    if (!is_copy(c)) continue;
    const auto [at, is_new] = found.try_emplace({c.device.value, c.kind, c.label.text()});
    CopyFigures& figures = at->second;
    figures.device = c.device;
    figures.kind = c.kind;
    figures.label = c.label.text();
    figures.smallest = is_new ? c.bytes : std::min(figures.smallest, c.bytes);
    ++figures.copies;
    figures.pageable += c.pageable ? 1 : 0;
    figures.total = saturating_add(figures.total, c.ended - c.started);
    figures.bytes += c.bytes;
  }
  std::vector<CopyFigures> all;
  for (auto& [which, figures] : found) all.push_back(std::move(figures));
  sort_by_total(all);
  return all;
}

std::vector<WaitFigures> wait_figures(const ProgramRecord& record) {
  std::map<std::pair<std::string, std::string>, WaitFigures> found;
  for (const HostCall& call : record.calls) {
    if (call.waited.empty()) continue;
    const ProgramCommand* last = nullptr;
    for (const std::uint32_t command : call.waited)
      if (last == nullptr || record.commands[command].ended > last->ended)
        last = &record.commands[command];
    const std::string what = name_of(*last);
    WaitFigures& figures = found[{call.name.text(), what}];
    figures.call = call.name.text();
    figures.what = what;
    ++figures.calls;
    figures.total = saturating_add(figures.total, call.end - call.begin);
  }
  std::vector<WaitFigures> all;
  for (auto& [which, figures] : found) all.push_back(std::move(figures));
  sort_by_total(all);
  return all;
}

BuildFigures build_figures(const ProgramRecord& record) {
  BuildFigures figures;
  for (const HostCall& call : record.calls) {
    if (call.kind != CallKind::build) continue;
    ++figures.count;
    figures.total = saturating_add(figures.total, call.end - call.begin);
  }
  return figures;
}

std::optional<IterationFigures> find_iterations(const ProgramRecord& record) {
  constexpr std::size_t kLeastIterations = 3;
  if (record.queues.empty()) return std::nullopt;
  const Sequence sequence = busiest_queue(record);
  Repeated best;
  for (const std::size_t period : likely_periods(sequence.names)) {
    const Repeated found = longest_repetition(sequence.names, period);
    if (found.length > best.length) best = found;
  }
  if (best.period == 0 || best.length / best.period < kLeastIterations ||
      2 * best.length < sequence.names.size())
    return std::nullopt;
  const auto command = [&](std::size_t iteration, std::size_t at) -> const ProgramCommand& {
    return record.commands[sequence.commands[best.first + iteration * best.period + at]];
  };
  IterationFigures figures;
  figures.count = best.length / best.period;
  figures.device = command(0, 0).device;
  for (std::size_t at = 0; at < best.period; ++at)
    figures.commands.push_back(name_of(command(0, at)));
  std::vector<Nanos> times;
  for (std::size_t k = 0; k + 1 < figures.count; ++k)
    times.push_back(command(k + 1, 0).started - command(k, 0).started);
  figures.time = summarise(times);
  for (std::size_t k = 1; k < times.size(); ++k)
    if (std::chrono::abs(times[k] - figures.time.median) <
        std::chrono::abs(times[figures.shown] - figures.time.median))
      figures.shown = k;
  figures.begin = command(figures.shown, 0).started;
  figures.length = times[figures.shown];
  if (figures.length <= Nanos{}) return std::nullopt;
  return figures;
}

}  // namespace mgpu
