// Commands and batches; cl_device_setup.cpp has what is made at set-up. Nothing here waits inside
// the driver: a blocking call cannot be left when the device hangs.
#include "lib/opencl/cl_device.hpp"

#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/opencl/cl_kernel_limits.hpp"
#include "lib/opencl/cl_objects.hpp"
#include "lib/opencl/cl_peers.hpp"
#include "lib/opencl/cl_rows.hpp"
#include "lib/opencl/cl_wait.hpp"

namespace mgpu {
namespace {

const Name kHandicapDelay("delay"), kHandicapSlowDown("slow-down"), kUploadInPlace(kInPlace);

}  // namespace

const std::vector<cl::Event>* ClDevice::dependency(CommandKind kind) {
  // A launch waits for uploads; a download waits for launches, or for uploads when nothing was
  // launched since.
  for (int stage = static_cast<int>(kind) - 1; stage >= 0; --stage) {
    const cl::Event& event = latest_[static_cast<std::size_t>(stage)];
    if (event() == nullptr) continue;
    wait_list_.assign(1, event);
    return &wait_list_;
  }
  return nullptr;
}

ClDevice::Pending& ClDevice::record(CommandKind kind, cl::Event event, Name label, Bytes bytes,
                                    cl::Event since) {
  return record(batches_.back(), queue_of(kind), kind, std::move(event), label, bytes,
                std::move(since));
}

ClDevice::Pending& ClDevice::record(Batch& batch, std::size_t queue, CommandKind kind,
                                    cl::Event event, Name label, Bytes bytes, cl::Event since) {
  batch.last[queue] = latest_[queue] = event;
  Pending& pending = batch.commands.emplace_back();
  pending.queue = queue;
  pending.event = std::move(event);
  pending.since = std::move(since);
  pending.command.kind = kind;
  pending.command.label = label;
  pending.command.bytes = bytes;
  return pending;
}

void ClDevice::record_exchange(std::uint64_t batch, CommandKind kind, cl::Event event, Name label,
                               Bytes bytes, const ExchangeInfo& info, cl::Event since) {
  record(find({batch}), queue_of(kind), CommandKind::exchange, std::move(event), label, bytes,
         std::move(since))
      .command.exchange = info;
}

cl::Event ClDevice::mark() {
  const DriverCall inside(this);
  cl::Event event;
  queues_[1].enqueueMarkerWithWaitList(nullptr, &event);
  return event;
}

void ClDevice::delay_slice() {
  if (!in_slice_ || std::exchange(delayed_, true) || slow_down().handicap().delay <= Nanos{})
    return;
  if (const auto* uploads = dependency(CommandKind::compute))
    queues_[1].enqueueBarrierWithWaitList(uploads, nullptr);
  cl::Event ready;  // when its kernels could have begun
  queues_[1].enqueueMarkerWithWaitList(nullptr, &ready);
  cl::Event end = stalls_.add(context_, queues_[1], ready, {}, slow_down().handicap().delay);
  ring_after(ready);
  record(CommandKind::compute, std::move(end), kHandicapDelay, 0, std::move(ready));
}

void ClDevice::slow_kernels() {
  auto added = slow_down_.add(context_, queues_[1], stalls_, slow_down());
  if (!added) return;
  if (!added->counted) ring_after(added->since);
  record(CommandKind::compute, std::move(added->end), kHandicapSlowDown, 0, std::move(added->since))
      .counted = added->counted;
}

void ClDevice::upload(Buffer& to, Bytes offset, std::span<const std::byte> from) {
  if (from.empty()) return;
  const DriverCall inside(this);
  try {
    cl::Event event;
    if (auto& input = static_cast<ClBuffer&>(to); input.is_input()) {
      if (offset != 0)
        throw Error(ErrorKind::internal, "an upload into an input is not at its begin");
      input.read_in_place(host_views_->view(from, traits_.buffer_alignment));
      if (input.is_in_place()) {
        queues_[0].enqueueMarkerWithWaitList(nullptr, &event);
        record(CommandKind::upload, std::move(event), kUploadInPlace, 0);
        return;
      }
    }
    if (const auto staged = staging_.take(from); !staged.empty()) {
      std::copy(from.begin(), from.end(), staged.begin());
      from = staged;
    }
    if (const auto& pixels = static_cast<ClBuffer&>(to).pixels(); pixels[0] > 0) {
      constexpr std::size_t origin[3] = {0, 0, 0};
      cl_event made = nullptr;
      const cl_int status =
          clEnqueueWriteImage(queues_[0](), memory_of(to)(), CL_FALSE, origin, pixels.data(), 0, 0,
                              from.data(), 0, nullptr, &made);
      if (status != CL_SUCCESS) throw cl::Error(status, "clEnqueueWriteImage");
      event = cl::Event(made);
    } else {
      queues_[0].enqueueWriteBuffer(memory_of(to), CL_FALSE, offset, from.size(), from.data(),
                                    nullptr, &event);
    }
    record(CommandKind::upload, std::move(event), {}, from.size());
  } catch (const cl::Error& error) {
    throw cl_failure("upload of " + std::to_string(from.size()) + " bytes to " + facts_.id,
                     error.err());
  }
}

void ClDevice::begin_series(unsigned count) {
  // A slow-down needs the time of each kernel, so that a handicapped device has no series.
  if (!slow_down().handicap().stalls()) left_of_series_ = count;
}

void ClDevice::begin_side_by_side(unsigned count) {
  fork_.clear();
  // Stalls need launches that follow each other, as in begin_series.
  left_beside_ = count > 1 && !slow_down().handicap().stalls() ? count : 0;
}

// The launches wait for a marker in the compute queue, each in a queue of its own, and a barrier in
// the compute queue waits for all of them. A queue is flushed before another waits for its events.
void ClDevice::launch_beside(ClKernel& kernel, const Grid& grid) {
  constexpr std::size_t most_queues = 8;
  std::vector<cl::Event>& beside = batches_.back().beside;
  if (fork_.empty()) {
    if (const auto* uploads = dependency(CommandKind::compute))
      queues_[1].enqueueBarrierWithWaitList(uploads, nullptr);
    cl::Event fork;
    queues_[1].enqueueMarkerWithWaitList(nullptr, &fork);
    fork_.assign(1, std::move(fork));
    flush();
    first_beside_ = beside.size();
    names_beside_.clear();
  }
  const std::size_t number = (beside.size() - first_beside_) % most_queues;
  if (number == side_queues_.size())
    side_queues_.emplace_back(context_, device_, CL_QUEUE_PROFILING_ENABLE);
  cl::Event event;
  enqueue(side_queues_[number], kernel, grid, &fork_, &event);
  beside.push_back(std::move(event));
  side_queues_[number].flush();
  names_beside_ += (names_beside_.empty() ? "" : "|") + kernel.name().text();
  if (--left_beside_ > 0) return;
  const std::vector<cl::Event> group(beside.begin() + static_cast<std::ptrdiff_t>(first_beside_),
                                     beside.end());
  cl::Event joined;
  queues_[1].enqueueBarrierWithWaitList(&group, &joined);
  Pending& pending = record(CommandKind::compute, std::move(joined), Name(names_beside_), 0);
  pending.first = group.front();
  pending.beside_from = first_beside_;
  pending.beside_to = beside.size();
  fork_.clear();
}

void ClDevice::enqueue(const cl::CommandQueue& queue, ClKernel& kernel, const Grid& grid,
                       const std::vector<cl::Event>* after, cl::Event* event) {
  const auto range = [](const std::array<std::size_t, 3>& n) {
    return cl::NDRange(n[0], n[1], n[2]);
  };
  const std::array<std::size_t, 3> none{};
  queue.enqueueNDRangeKernel(
      kernel.object(), grid.offset == none ? cl::NullRange : range(grid.offset), range(grid.global),
      grid.local == none ? cl::NullRange : range(grid.local), after, event);
}

void ClDevice::launch(Kernel& kernel, const Grid& asked, std::span<const KernelArg> args) {
  auto& object = static_cast<ClKernel&>(kernel);
  const DriverCall inside(this);
  try {
    const Grid grid =
        facts_.is_cpu() ? object.with_group_of_cpu(asked, facts_.compute_units) : asked;
    const bool is_first = object.first_with(grid);
    const DriverCall launching(this, is_first);
    batches_.back().first_launch |= is_first;
    for (cl_uint index = 0; index < args.size(); ++index) object.set_arg(index, args[index]);
    if (left_beside_ > 0) return launch_beside(object, grid);
    delay_slice();
    cl::Event event;
    const bool is_timed = left_of_series_ < 2 || series_began_() == nullptr;
    enqueue(queues_[1], object, grid, dependency(CommandKind::compute),
            is_timed ? &event : nullptr);
    if (left_of_series_ > 1) {
      --left_of_series_;
      if (is_timed) series_began_ = std::move(event);
      return;
    }
    left_of_series_ = 0;
    const bool slows = slow_down().handicap().slows();  // other devices record no times
    const LaunchKey key = slows ? launch_key(object.name().text(), grid, args) : LaunchKey{};
    if (slows) slow_down_.launched(key, event);
    Pending& pending = record(CommandKind::compute, std::move(event), object.name(), 0);
    pending.key = key;
    pending.first = std::exchange(series_began_, {});
  } catch (const cl::Error& error) {
    left_beside_ = left_of_series_ = 0;
    series_began_ = {};
    throw launch_failure(object, asked, device_, facts_, error.err());
  }
}

void ClDevice::download(Buffer& from, Bytes offset, std::span<std::byte> to) {
  if (to.empty()) return;
  const DriverCall inside(this);
  try {
    slow_kernels();
    cl::Event event;
    if (const auto staged = staging_.take(to); !staged.empty()) {
      batches_.back().staged.push_back({staged.data(), to});
      to = staged;
    }
    queues_[2].enqueueReadBuffer(memory_of(from), CL_FALSE, offset, to.size(), to.data(),
                                 dependency(CommandKind::download), &event);
    record(CommandKind::download, std::move(event), {}, to.size());
  } catch (const cl::Error& error) {
    throw cl_failure("download of " + std::to_string(to.size()) + " bytes from " + facts_.id,
                     error.err());
  }
}

void ClDevice::upload_rows(Buffer& to, const std::byte* from, const Rows& rows) {
  const Bytes all = rows.length * rows.count;
  if (all == 0) return;
  if (is_one_piece(rows)) return upload(to, rows.device_offset, {from, all});
  if (const Bytes most = rows_at_once(rows); most < rows.count) {
    for (Bytes i = 0; i < rows.count; i += most)
      upload_rows(to, from + i * rows.host_stride, some_of(rows, i, most));
    return;
  }
  const DriverCall inside(this);
  try {
    cl::Event event;
    queues_[0].enqueueWriteBufferRect(memory_of(to), CL_FALSE, device_origin(rows), {0, 0, 0},
                                      {rows.length, rows.count, 1}, rows.device_stride, 0,
                                      rows.host_stride, 0, from, nullptr, &event);
    record(CommandKind::upload, std::move(event), {}, all);
  } catch (const cl::Error& error) {
    throw cl_failure("upload of " + std::to_string(rows.count) + " rows to " + facts_.id,
                     error.err());
  }
}

void ClDevice::download_rows(Buffer& from, std::byte* to, const Rows& rows) {
  const Bytes all = rows.length * rows.count;
  if (all == 0) return;
  if (is_one_piece(rows)) return download(from, rows.device_offset, {to, all});
  if (const Bytes most = rows_at_once(rows); most < rows.count) {
    for (Bytes i = 0; i < rows.count; i += most)
      download_rows(from, to + i * rows.host_stride, some_of(rows, i, most));
    return;
  }
  const DriverCall inside(this);
  try {
    cl::Event event;
    queues_[2].enqueueReadBufferRect(
        memory_of(from), CL_FALSE, device_origin(rows), {0, 0, 0}, {rows.length, rows.count, 1},
        rows.device_stride, 0, rows.host_stride, 0, to, dependency(CommandKind::download), &event);
    record(CommandKind::download, std::move(event), {}, all);
  } catch (const cl::Error& error) {
    throw cl_failure("download of " + std::to_string(rows.count) + " rows from " + facts_.id,
                     error.err());
  }
}

void ClDevice::leave_untimed() {
  const DriverCall inside(this);
  try {
    queues_[1] = cl::CommandQueue(context_, device_);
  } catch (const cl::Error& error) {
    throw cl_failure("making a queue of " + facts_.id, error.err());
  }
  is_timed_ = false;
}

BatchId ClDevice::submit() {
  const DriverCall inside(this, batches_.back().first_launch);
  try {
    slow_kernels();
    const auto& last = batches_.back().last;
    // Flushing the two queues that a resident slice leaves empty takes an H100's driver 5 us.
    // Exchanges through the host and stalls have commands outside of any batch.
    const bool only_these =
        (peer_ == nullptr || !peer_->asks_host()) && !slow_down().handicap().stalls();
    for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
      if (!only_these || last[queue]() != nullptr) queues_[queue].flush();
    }
    const auto final = std::find_if(last.rbegin(), last.rend(),
                                    [](const cl::Event& event) { return event() != nullptr; });
    if (final != last.rend()) ring_after(*final);
  } catch (const cl::Error& error) {
    throw cl_failure("flushing the queues of " + facts_.id, error.err());
  }
  in_slice_ = delayed_ = false;
  const std::uint64_t id = batches_.back().id;
  batches_.emplace_back().id = id + 1;
  return {id};
}

void ClDevice::flush() {
  const DriverCall inside(this);
  // The queues are flushed in the order of their dependencies: a queue must be flushed before
  // another may wait for its events.
  for (auto& queue : queues_) queue.flush();
}

// Returns the batch with that number. The batches of a sample stay until it is over, in the order
// of their numbers.
std::deque<ClDevice::Batch>::iterator ClDevice::place_of(BatchId batch) {
  const auto at = std::lower_bound(batches_.begin(), batches_.end(), batch.value,
                                   [](const Batch& one, std::uint64_t id) { return one.id < id; });
  if (at == batches_.end() || at->id != batch.value)
    throw Error(ErrorKind::internal, "batch taken twice");
  return at;
}

bool ClDevice::complete(BatchId batch) {
  // rusticl answers a question about a running command once that has ended.
  const DriverCall inside(this, find(batch).first_launch);
  try {
    if (stalls_.poll(slow_down())) flush();
    if (peer_ != nullptr) peer_->go_on();
    const auto& last = find(batch).last;
    for (const cl::Event& event : last) {
      if (event() == nullptr) continue;
      const cl_int status = status_of(event);
      if (status < 0)
        throw cl_failure("a command on " + facts_.id + " " + facts_.name + " failed", status);
      if (status != CL_COMPLETE) return false;
    }
    // A barrier may end well although a launch that it waits for failed.
    for (const cl::Event& event : find(batch).beside)
      if (const cl_int status = status_of(event); status < 0)
        throw cl_failure("a command on " + facts_.id + " " + facts_.name + " failed", status);
    if (find(batch).expected > 0) return false;
    for (std::size_t queue = 0; queue < last.size(); ++queue) {
      if (latest_[queue]() == last[queue]()) latest_[queue] = cl::Event();
    }
    arrive(find(batch));
    return true;
  } catch (const cl::Error& error) {
    throw cl_failure("asking " + facts_.id + " for an event", error.err());
  }
}

// Marks a batch as complete for the first time: copies small downloads to their targets, and frees
// their staging memory if no other batch is under way.
void ClDevice::arrive(Batch& batch) {
  if (batch.arrived) return;
  batch.arrived = true;
  for (const Staged& staged : batch.staged)
    std::copy_n(staged.arrived, staged.wanted.size(), staged.wanted.begin());
  const auto under_way = [](const Batch& other) {
    return !other.arrived && !other.commands.empty();
  };
  // The youngest are examined first: usually one of them is under way, and there may be thousands.
  if (std::none_of(batches_.rbegin(), batches_.rend(), under_way)) staging_.release();
}

std::uint64_t ClDevice::started(const Batch& batch, const Pending& pending) {
  if (pending.since() != nullptr) return pending.since.getProfilingInfo<CL_PROFILING_COMMAND_END>();
  std::uint64_t first = first_of(pending).getProfilingInfo<CL_PROFILING_COMMAND_START>();
  for (std::size_t i = pending.beside_from; i < pending.beside_to; ++i)
    first = std::min<std::uint64_t>(first,
                                    batch.beside[i].getProfilingInfo<CL_PROFILING_COMMAND_START>());
  return first;
}

// NVIDIA stamps a barrier as ended before the launches in other queues that it waits for.
std::uint64_t ClDevice::ended(const Batch& batch, const Pending& pending) {
  if (pending.beside_from == pending.beside_to)
    return pending.event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
  std::uint64_t last = 0;
  for (std::size_t i = pending.beside_from; i < pending.beside_to; ++i)
    last =
        std::max<std::uint64_t>(last, batch.beside[i].getProfilingInfo<CL_PROFILING_COMMAND_END>());
  return last;
}

DeviceSpan ClDevice::span(BatchId batch) {
  DeviceSpan span;
  const DriverCall inside(this);
  try {
    // In each in-order queue the first command starts first and the last one ends last.
    const Batch& asked = find(batch);
    std::array<bool, 3> begun{}, over{};
    for (const Pending& pending : asked.commands) {
      if (std::exchange(begun[pending.queue], true)) continue;
      const std::uint64_t first = started(asked, pending);
      span.started = span.started == 0 ? first : std::min(span.started, first);
    }
    std::for_each(asked.commands.rbegin(), asked.commands.rend(), [&](const Pending& pending) {
      if (!std::exchange(over[pending.queue], true))
        span.ended = std::max(span.ended, ended(asked, pending));
    });
  } catch (const cl::Error& error) {
    throw cl_failure("profiling times of " + facts_.id, error.err());
  }
  return span;
}

void ClDevice::learn(const Pending& pending) {
  if (!slow_down().handicap().slows() || pending.command.kind != CommandKind::compute) return;
  const Nanos took{static_cast<std::int64_t>(pending.command.ended - pending.command.started)};
  if (pending.counted) slow_down_.spun(*pending.counted, took);
  if (pending.since() == nullptr) slow_down_.took(pending.key, took);
}

std::vector<RawCommand> ClDevice::take(BatchId batch) {
  const auto at = place_of(batch);
  Batch& taken = *at;
  std::vector<RawCommand> commands;
  commands.reserve(taken.commands.size());
  const DriverCall inside(this);
  try {
    for (Pending& pending : taken.commands) {
      RawCommand& command = pending.command;
      if (!is_timed_) {
        commands.push_back(std::move(command));
        continue;
      }
      command.started = started(taken, pending);  // NVIDIA stamps a stall as queued after its start
      const cl::Event& first = first_of(pending);
      command.queued = std::min<std::uint64_t>(
          first.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(), command.started);
      command.submitted = std::min<std::uint64_t>(
          first.getProfilingInfo<CL_PROFILING_COMMAND_SUBMIT>(), command.started);
      command.ended = ended(taken, pending);
      learn(pending);
      commands.push_back(std::move(command));
    }
  } catch (const cl::Error& error) {
    throw cl_failure("profiling times of " + facts_.id, error.err());
  }
  batches_.erase(at);
  return commands;
}

std::vector<ClockProbe> ClDevice::probe_clock(unsigned count) {
  std::vector<ClockProbe> probes;
  probes.reserve(count);
  // Static, as a write that is no longer waited for may still read it.
  static constexpr cl_uint value = 0;
  const DriverCall inside(this);
  try {
    for (unsigned i = 0; i < count; ++i) {
      cl::Event event;
      ClockProbe probe;
      probe.host_before = host_now();
      queues_[0].enqueueWriteBuffer(probe_buffer_, CL_FALSE, 0, sizeof value, &value, nullptr,
                                    &event);
      queues_[0].flush();
      wait_aside(event, backend_.limits().answer, WaitPolicy::spin);
      probe.host_after = host_now();
      probe.device_started = event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
      probe.device_ended = event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
      probes.push_back(probe);
    }
  } catch (const cl::Error& error) {
    throw cl_failure("probing the clock of " + facts_.id, error.err());
  }
  return probes;
}

SetupCost ClDevice::take_setup_cost() {
  SetupCost cost = setup_;
  cost.allocated = state_->memory.in_use();
  cost.memory = state_->memory.take_peak();
  setup_ = {};
  return cost;
}

Bytes ClDevice::free_memory() {
  const DriverCall inside(this);
  // allocate() goes no further than the total.
  const Bytes held = std::min(state_->memory.in_use(), facts_.global_memory);
  // Kept memory is freed as soon as it is needed.
  return std::min(free_device_memory(device_, facts_, *pool_.pool()) + state_->memory.kept(),
                  facts_.global_memory - held);
}

}  // namespace mgpu
