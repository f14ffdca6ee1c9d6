// See the header. Nothing waits inside the driver: a call that blocks cannot be given up when the device hangs.
#include "lib/exec/cl_device.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "lib/exec/cl_describe.hpp"
#include "lib/exec/cl_objects.hpp"
#include "lib/exec/cl_rows.hpp"
#include "lib/exec/cl_wait.hpp"

namespace mgpu {

namespace {

const Name kHandicapDelay("delay"), kHandicapSlowDown("slow-down");

}  // namespace

ClDevice::ClDevice(Backend& backend, const Device& facts, const Handicap& handicap, cl::Device device,
                   std::span<const EmbeddedText> kernels, const ClProgramCache& cache, std::shared_ptr<ClMemoryPool> pool,
                   std::shared_ptr<const PinnedRanges> pinned)
    : OpenDevice(handicap),
      backend_(backend),
      facts_(limited(facts, handicap)),
      traits_(traits_of(facts_)),
      device_(std::move(device)),
      kernels_(kernels),
      cache_(cache),
      allocated_(std::make_shared<Bytes>(0)),
      pool_(std::move(pool)) {
  try {
    context_ = cl::Context(device_);
    for (auto& queue : queues_) queue = cl::CommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE);
    probe_buffer_ = cl::Buffer(context_, CL_MEM_READ_WRITE, sizeof(cl_uint));
    // A CPU's cores may be wanted by others while a queue is held, and a hold of PoCL is microseconds late.
    if (!facts_.is_cpu() && handicap.slows_always()) slow_down_.may_spin(context_, queues_[1], program(ClSpin::kFile, {}));
    if (!facts_.is_cpu() && !facts_.host_unified_memory) staging_ = ClStaging(context_, queues_[0], std::move(pinned));
  } catch (const cl::Error& error) {
    throw cl_failure("cannot open " + facts_.id + " " + facts_.name, error.err());
  }
  batches_.emplace_back();
}

ClDevice::~ClDevice() {
  if (holds_.release_all()) {
    for (const auto& queue : queues_) clFinish(queue());  // what was held runs now, and needs what is released next
  }
  // PoCL's own thread is not done with an event when the host sees it complete. A device closed at once, on a busy machine, made
  // PoCL 3.1 crash in POclReleaseEvent in 20 of 70 runs; after 50 ms in none of 40.
  if (is_pocl(facts_)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

std::unique_ptr<Buffer> ClDevice::allocate(Bytes size) {
  const Nanos begin = host_now();
  const std::string what = "allocating " + std::to_string(size) + " bytes on " + facts_.id + " " + facts_.name;
  if (size == 0) throw Error(ErrorKind::internal, what);
  // Drivers that allocate on first use would fail inside a sample; a CPU device swaps. Refuse what cannot fit.
  if (*allocated_ + size > facts_.global_memory || size > facts_.max_allocation)
    throw Error(ErrorKind::out_of_memory, what + ": does not fit");
  try {
    holds_.release_all();  // finish() would wait for them, and nobody would poll
    cl::Buffer memory(context_, CL_MEM_READ_WRITE, size);
    // The first use makes the driver allocate: now, not inside a sample.
    queues_[1].enqueueFillBuffer(memory, cl_uchar{0}, 0, std::min<Bytes>(size, 4));
    queues_[1].finish();
    setup_.alloc += host_now() - begin;
    return std::make_unique<ClBuffer>(std::move(memory), size, allocated_, pool_.pool());
  } catch (const cl::Error& error) {
    // NVIDIA reports a full device as out of resources here.
    throw cl_failure(what, error.err() == CL_OUT_OF_RESOURCES ? CL_MEM_OBJECT_ALLOCATION_FAILURE : error.err());
  }
}

// PoCL (3.1 to 5.0 at least) counts the users of a loaded kernel by its program and work-group size, but loads it anew for a wider
// grid: two devices that run one program at once with different grids take each other's counts, and an assertion ends the process
// (pocl_release_dlhandle_cache). A definition of its own makes each device's program another one.
std::string ClDevice::own_options(const std::string& options) const {
  if (!is_pocl(facts_)) return options;
  std::string own = facts_.id;
  std::replace_if(
      own.begin(), own.end(), [](char c) { return c == ':' || c == '.'; }, '_');
  return options + " -DMGPU_DEVICE_" + own;
}

const cl::Program& ClDevice::program(std::string_view file, const std::string& given) {
  const std::string options = own_options(given);
  const std::string key = std::string(file) + ' ' + options;
  for (const auto& built : programs_) {
    if (built.key == key) return built.program;
  }
  programs_.push_back({key, cache_.build(context_, device_, file, with_includes(kernels_, file), options)});
  return programs_.back().program;
}

std::unique_ptr<Kernel> ClDevice::kernel(std::string_view file, std::string_view entry, const std::string& options) {
  const Nanos begin = host_now();
  const std::string name(entry);
  try {
    cl::Kernel object(program(file, options), name.c_str());
    setup_.build += host_now() - begin;
    return std::make_unique<ClKernel>(std::move(object), name);
  } catch (const cl::Error& error) {
    throw cl_failure("kernel " + name + " of kernels/" + std::string(file) + " on " + facts_.id, error.err());
  }
}

const std::vector<cl::Event>* ClDevice::dependency(CommandKind kind) {
  // A launch waits for uploads; a download for launches, or for uploads when nothing was launched since.
  for (int stage = static_cast<int>(kind) - 1; stage >= 0; --stage) {
    const cl::Event& event = latest_[static_cast<std::size_t>(stage)];
    if (event() == nullptr) continue;
    wait_list_.assign(1, event);
    return &wait_list_;
  }
  return nullptr;
}

ClDevice::Pending& ClDevice::record(CommandKind kind, cl::Event event, Name label, Bytes bytes, cl::Event since) {
  Batch& batch = batches_.back();
  batch.last[static_cast<std::size_t>(kind)] = latest_[static_cast<std::size_t>(kind)] = event;
  Pending& pending = batch.commands.emplace_back();
  pending.event = std::move(event);
  pending.since = std::move(since);
  pending.command.kind = kind;
  pending.command.label = label;
  pending.command.bytes = bytes;
  return pending;
}

void ClDevice::delay_slice() {
  if (!in_slice_ || std::exchange(delayed_, true) || slow_down().handicap().delay <= Nanos{}) return;
  if (const auto* uploads = dependency(CommandKind::compute)) queues_[1].enqueueBarrierWithWaitList(uploads, nullptr);
  cl::Event ready;  // when its kernels could have begun
  queues_[1].enqueueMarkerWithWaitList(nullptr, &ready);
  cl::Event end = holds_.add(context_, queues_[1], ready, {}, slow_down().handicap().delay);
  ring_after(ready);
  record(CommandKind::compute, std::move(end), kHandicapDelay, 0, std::move(ready));
}

void ClDevice::slow_kernels() {
  auto added = slow_down_.add(context_, queues_[1], holds_, slow_down());
  if (!added) return;
  if (!added->counted) ring_after(added->since);
  record(CommandKind::compute, std::move(added->end), kHandicapSlowDown, 0, std::move(added->since)).counted = added->counted;
}

void ClDevice::upload(Buffer& to, Bytes offset, std::span<const std::byte> from) {
  if (from.empty()) return;
  try {
    cl::Event event;
    if (const auto staged = staging_.take(from); !staged.empty()) {
      std::copy(from.begin(), from.end(), staged.begin());
      from = staged;
    }
    queues_[0].enqueueWriteBuffer(memory_of(to), CL_FALSE, offset, from.size(), from.data(), nullptr, &event);
    record(CommandKind::upload, std::move(event), {}, from.size());
  } catch (const cl::Error& error) {
    throw cl_failure("upload of " + std::to_string(from.size()) + " bytes to " + facts_.id, error.err());
  }
}

void ClDevice::launch(Kernel& kernel, const Grid& grid, std::initializer_list<KernelArg> args) {
  auto& object = static_cast<ClKernel&>(kernel);
  try {
    cl_uint index = 0;
    for (const KernelArg& arg : args) set_arg(object.object(), index++, arg);
    delay_slice();
    cl::Event event;
    const auto& [gx, gy, gz] = grid.global;
    const auto& [lx, ly, lz] = grid.local;
    queues_[1].enqueueNDRangeKernel(object.object(), cl::NullRange, cl::NDRange(gx, gy, gz), cl::NDRange(lx, ly, lz),
                                    dependency(CommandKind::compute), &event);
    if (facts_.is_cpu() && object.first_with(grid)) batches_.back().first_launch = true;
    const bool slows = slow_down().handicap().slows();  // others keep no books
    const LaunchKey key = slows ? launch_key(object.name().text(), grid, args) : LaunchKey{};
    if (slows) slow_down_.launched(key, event);
    record(CommandKind::compute, std::move(event), object.name(), 0).key = key;
  } catch (const cl::Error& error) {
    throw cl_failure("kernel " + object.name().text() + " on " + facts_.id, error.err());
  }
}

void ClDevice::download(Buffer& from, Bytes offset, std::span<std::byte> to) {
  if (to.empty()) return;
  try {
    slow_kernels();
    cl::Event event;
    if (const auto staged = staging_.take(to); !staged.empty()) {
      batches_.back().staged.push_back({staged.data(), to});
      to = staged;
    }
    queues_[2].enqueueReadBuffer(memory_of(from), CL_FALSE, offset, to.size(), to.data(), dependency(CommandKind::download),
                                 &event);
    record(CommandKind::download, std::move(event), {}, to.size());
  } catch (const cl::Error& error) {
    throw cl_failure("download of " + std::to_string(to.size()) + " bytes from " + facts_.id, error.err());
  }
}

void ClDevice::upload_rows(Buffer& to, const std::byte* from, const Rows& rows) {
  const Bytes all = rows.length * rows.count;
  if (all == 0) return;
  if (is_one_piece(rows)) return upload(to, rows.device_offset, {from, all});
  if (const Bytes most = rows_at_once(rows); most < rows.count) {
    for (Bytes i = 0; i < rows.count; i += most) upload_rows(to, from + i * rows.host_stride, some_of(rows, i, most));
    return;
  }
  try {
    cl::Event event;
    queues_[0].enqueueWriteBufferRect(memory_of(to), CL_FALSE, device_origin(rows), {0, 0, 0}, {rows.length, rows.count, 1},
                                      rows.device_stride, 0, rows.host_stride, 0, from, nullptr, &event);
    record(CommandKind::upload, std::move(event), {}, all);
  } catch (const cl::Error& error) {
    throw cl_failure("upload of " + std::to_string(rows.count) + " rows to " + facts_.id, error.err());
  }
}

void ClDevice::download_rows(Buffer& from, std::byte* to, const Rows& rows) {
  const Bytes all = rows.length * rows.count;
  if (all == 0) return;
  if (is_one_piece(rows)) return download(from, rows.device_offset, {to, all});
  if (const Bytes most = rows_at_once(rows); most < rows.count) {
    for (Bytes i = 0; i < rows.count; i += most) download_rows(from, to + i * rows.host_stride, some_of(rows, i, most));
    return;
  }
  try {
    cl::Event event;
    queues_[2].enqueueReadBufferRect(memory_of(from), CL_FALSE, device_origin(rows), {0, 0, 0}, {rows.length, rows.count, 1},
                                     rows.device_stride, 0, rows.host_stride, 0, to, dependency(CommandKind::download), &event);
    record(CommandKind::download, std::move(event), {}, all);
  } catch (const cl::Error& error) {
    throw cl_failure("download of " + std::to_string(rows.count) + " rows from " + facts_.id, error.err());
  }
}

std::optional<Nanos> ClDevice::try_out(const std::function<void(Stream&)>& commands) {
  commands(*this);
  const BatchId batch = submit();
  wait_for(backend_, *this, batch);
  Nanos computing{};
  for (const RawCommand& command : take(batch)) {
    if (command.kind == CommandKind::compute) computing += Nanos{static_cast<std::int64_t>(command.ended - command.started)};
  }
  return computing;
}

BatchId ClDevice::submit() {
  try {
    slow_kernels();
    flush();
    const auto& last = batches_.back().last;
    const auto final = std::find_if(last.rbegin(), last.rend(), [](const cl::Event& event) { return event() != nullptr; });
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
  // In the order of their dependencies: a queue must be flushed before another may wait for its events.
  for (auto& queue : queues_) queue.flush();
}

ClDevice::Batch& ClDevice::find(BatchId batch) {
  const auto at = std::find_if(batches_.begin(), batches_.end(), [&](const Batch& b) { return b.id == batch.value; });
  if (at == batches_.end()) throw Error(ErrorKind::internal, "batch taken twice");
  return *at;
}

bool ClDevice::complete(BatchId batch) {
  try {
    if (holds_.poll(slow_down())) flush();
    const auto& last = find(batch).last;
    for (const cl::Event& event : last) {
      if (event() == nullptr) continue;
      const cl_int status = status_of(event);
      if (status < 0) throw cl_failure("a command on " + facts_.id + " " + facts_.name + " failed", status);
      if (status != CL_COMPLETE) return false;
    }
    for (std::size_t queue = 0; queue < last.size(); ++queue) {
      if (latest_[queue]() == last[queue]()) latest_[queue] = cl::Event();
    }
    arrive(find(batch));
    return true;
  } catch (const cl::Error& error) {
    throw cl_failure("asking " + facts_.id + " for an event", error.err());
  }
}

// Known to be complete for the first time: small downloads go where they are wanted, and when no other batch is under way their
// staging memory is free again.
void ClDevice::arrive(Batch& batch) {
  if (batch.arrived) return;
  batch.arrived = true;
  for (const Staged& staged : batch.staged) std::copy_n(staged.arrived, staged.wanted.size(), staged.wanted.begin());
  const auto under_way = [](const Batch& other) { return !other.arrived && !other.commands.empty(); };
  if (std::none_of(batches_.begin(), batches_.end(), under_way)) staging_.release();
}

std::uint64_t ClDevice::started(const Pending& pending) {
  if (pending.since() != nullptr) return pending.since.getProfilingInfo<CL_PROFILING_COMMAND_END>();
  return pending.event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
}

DeviceSpan ClDevice::span(BatchId batch) {
  DeviceSpan span;
  try {
    // In each in-order queue the first command starts first and the last ends last.
    std::array<bool, 3> seen{};
    for (const Pending& pending : find(batch).commands) {
      if (std::exchange(seen[static_cast<std::size_t>(pending.command.kind)], true)) continue;
      const std::uint64_t first = started(pending);
      span.started = span.started == 0 ? first : std::min(span.started, first);
    }
    for (const cl::Event& event : find(batch).last) {
      if (event() != nullptr) span.ended = std::max<std::uint64_t>(span.ended, event.getProfilingInfo<CL_PROFILING_COMMAND_END>());
    }
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
  Batch& taken = find(batch);
  std::vector<RawCommand> commands;
  commands.reserve(taken.commands.size());
  try {
    for (Pending& pending : taken.commands) {
      RawCommand& command = pending.command;
      command.started = started(pending);  // for a hold before it was queued, as NVIDIA stamps it
      command.queued = std::min<std::uint64_t>(pending.event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(), command.started);
      command.submitted = std::min<std::uint64_t>(pending.event.getProfilingInfo<CL_PROFILING_COMMAND_SUBMIT>(), command.started);
      command.ended = pending.event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
      learn(pending);
      commands.push_back(std::move(command));
    }
  } catch (const cl::Error& error) {
    throw cl_failure("profiling times of " + facts_.id, error.err());
  }
  std::erase_if(batches_, [&](const Batch& b) { return b.id == batch.value; });
  return commands;
}

std::vector<ClockProbe> ClDevice::probe_clock(unsigned count) {
  std::vector<ClockProbe> probes;
  probes.reserve(count);
  static constexpr cl_uint value = 0;  // read for as long as a write takes that nobody waits for any more
  const std::string who = name();
  try {
    for (unsigned i = 0; i < count; ++i) {
      cl::Event event;
      ClockProbe probe;
      probe.host_before = host_now();
      queues_[0].enqueueWriteBuffer(probe_buffer_, CL_FALSE, 0, sizeof value, &value, nullptr, &event);
      queues_[0].flush();
      wait_for_event(backend_, event, who, backend_.limits().answer, Look::closely);
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
  cost.allocated = *allocated_;
  setup_ = {};
  return cost;
}

Bytes ClDevice::free_memory() {
  const Bytes held = std::min(*allocated_, facts_.global_memory);  // allocate() goes no further than the total
  return std::min(free_device_memory(device_, facts_, *pool_.pool()), facts_.global_memory - held);
}

}  // namespace mgpu
