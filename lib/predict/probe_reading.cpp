#include "lib/predict/probe_reading.hpp"

#include <algorithm>
#include <limits>

namespace mgpu {
namespace {

struct Extent {
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0;
  Nanos length() const {
    return end > begin ? Nanos{static_cast<std::int64_t>(end - begin)} : Nanos{};
  }
};

Extent extent_of(const RawBatch& batch, CommandKind kind) {
  Extent extent;
  for (const RawCommand& command : batch.commands) {
    if (command.kind == kind)
      extent = {std::min(extent.begin, command.started), std::max(extent.end, command.ended)};
  }
  return extent;
}

Nanos longest_of(const RawBatch& batch, CommandKind kind) {
  Nanos longest{};
  for (const RawCommand& command : batch.commands) {
    if (command.kind != kind || command.ended < command.started) continue;
    longest = std::max(longest, Nanos{static_cast<std::int64_t>(command.ended - command.started)});
  }
  return longest;
}

}  // namespace

Execution read_execution(const RawSample& sample, std::size_t devices) {
  Execution execution;
  execution.stages.resize(devices);
  execution.bytes.resize(devices);
  execution.copying.resize(devices);
  execution.copied.resize(devices);
  execution.kernels.resize(devices);
  execution.contended.resize(devices);
  execution.collecting.resize(devices);
  execution.finished.resize(devices);
  Nanos longest{};
  for (const RawBatch& batch : sample.batches) {
    if (batch.slice == kPrepare)
      execution.replicated =
          std::max(execution.replicated, extent_of(batch, CommandKind::upload).length());
    if (batch.slice == kCollect) {
      execution.collecting[batch.device.value] = kernels_of(batch);
      execution.bringing = std::max(execution.bringing, longest_of(batch, CommandKind::download));
    }
    if (batch.slice == 1) execution.contended[batch.device.value] = kernels_of(batch);
    if (batch.slice < 0) continue;
    for (const RawCommand& command : batch.commands) {
      if (command.kind == CommandKind::exchange) continue;  // probes exchange nothing
      const auto kind = static_cast<std::size_t>(command.kind);
      execution.copying[batch.device.value][kind] +=
          Nanos{static_cast<std::int64_t>(command.ended - command.started)};
      execution.copied[batch.device.value][kind] += command.bytes;
    }
    if (batch.slice != 0) continue;
    Nanos all{};
    for (const CommandKind kind :
         {CommandKind::upload, CommandKind::compute, CommandKind::download}) {
      Nanos& stage = execution.stages[batch.device.value][static_cast<std::size_t>(kind)];
      stage = kind == CommandKind::compute ? kernels_of(batch) : extent_of(batch, kind).length();
      all += stage;
    }
    for (const RawCommand& command : batch.commands) {
      if (command.kind == CommandKind::exchange) continue;
      execution.bytes[batch.device.value][static_cast<std::size_t>(command.kind)] += command.bytes;
      if (command.kind == CommandKind::compute)
        execution.kernels[batch.device.value].push_back(
            Nanos{static_cast<std::int64_t>(command.ended - command.started)});
    }
    longest = std::max(longest, all);
  }
  for (const SliceRecord& slice : sample.slices) {
    Nanos& finished = execution.finished[slice.device.value];
    finished = std::max(finished, slice.finished - sample.begin);
  }
  const auto last = std::max_element(execution.finished.begin(), execution.finished.end());
  execution.afterwards = sample.makespan() - *last;
  execution.rest = std::max(Nanos{}, sample.makespan() - longest);
  const Nanos late = enqueue_delay_in(
      sample.batches, {static_cast<std::uint32_t>(last - execution.finished.begin())});
  execution.enqueue_delay = std::min(late, execution.rest);
  return execution;
}

void stretch(Execution& execution, double times) {
  constexpr auto compute = static_cast<std::size_t>(CommandKind::compute);
  const auto longer = [&](Nanos& time) { time = from_seconds(seconds(time) * times); };
  for (std::size_t i = 0; i < execution.stages.size(); ++i) {
    const Nanos before = execution.copying[i][compute];
    longer(execution.copying[i][compute]);
    execution.finished[i] += execution.copying[i][compute] - before;
    longer(execution.stages[i][compute]);
    longer(execution.contended[i]);
  }
}

Nanos kernels_of(const RawBatch& batch) {
  std::vector<const RawCommand*> kernels;
  for (const RawCommand& command : batch.commands) {
    if (command.kind == CommandKind::compute) kernels.push_back(&command);
  }
  std::sort(kernels.begin(), kernels.end(),
            [](const auto* a, const auto* b) { return a->started < b->started; });
  const std::uint64_t uploaded = extent_of(batch, CommandKind::upload).end;
  Extent all;
  std::uint64_t waited = 0;
  for (const RawCommand* kernel : kernels) {
    const std::uint64_t until = std::min(kernel->started, uploaded);
    if (all.end > 0 && until > all.end) waited += until - all.end;
    all = {std::min(all.begin, kernel->started), std::max(all.end, kernel->ended)};
  }
  return all.length() - Nanos{static_cast<std::int64_t>(waited)};
}

Nanos enqueue_delay_in(std::span<const RawBatch> batches, DeviceIndex device) {
  struct Begun {
    const RawCommand* command;
    bool inside;  // among the kernels of a slice, whose gaps are part of their time
  };
  std::vector<Begun> begun;
  for (const RawBatch& batch : batches) {
    if (batch.device != device || batch.slice > 0 || batch.slice == kMerge) continue;
    bool kernels = false;
    for (const RawCommand& command : batch.commands) {
      const bool kernel = batch.slice == 0 && command.kind == CommandKind::compute;
      begun.push_back({&command, kernel && kernels});
      kernels |= kernel;
    }
  }
  std::sort(begun.begin(), begun.end(),
            [](const auto& a, const auto& b) { return a.command->started < b.command->started; });
  std::uint64_t busy_until = 0, late = 0;
  for (const auto& [command, inside] : begun) {
    const std::uint64_t known =
        // At most `started`, whatever a driver reports.
        std::min(command->queued, command->started);
    if (busy_until > 0 && !inside && known > busy_until) late += known - busy_until;
    busy_until = std::max(busy_until, command->ended);
  }
  return Nanos{static_cast<std::int64_t>(late)};
}

}  // namespace mgpu
