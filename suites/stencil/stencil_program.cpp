#include "suites/stencil/stencil_program.hpp"

#include <algorithm>

#include "suites/stencil/stencil_kernel.hpp"

namespace mgpu::stencil {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
// Steps per command of the timeline on NVIDIA GPUs, since time stamps are expensive.
constexpr std::uint32_t kSeries = 8;
// Most steps per launch: a GPU that also drives a screen must not be busy for long.
constexpr std::uint32_t kMostAtOnce = 256;

}  // namespace

StencilProgram::StencilProgram(StencilWorkload& workload, DeviceResources& device, Mode mode)
    : HaloProgram(workload, mode,
                  workload.shared() || workload.halos() != nullptr ? device.peer() : nullptr),
      halo_(problem_.halo()),
      grouped_(is_grouped(device.traits())),
      vector_(vector_of(problem_, device.traits())),
      // A strip of a star reads twice its radius more rows than it computes.
      strip_(device.traits().cpu ? 32 : std::max(4U, 2 * problem_.radius)),
      series_(device.traits().nvidia ? kSeries : 1),
      local_(device.traits().cpu ? 1 : 256),
      kernel_(device.kernel("stencil.cl", name_of(problem_.kind),
                            kernel_options(problem_, device.traits(), strip_))),
      states_(workload.shared(), device, workload.state_bytes()) {
  const Bytes held = workload_.state_bytes();
  initial_ = device.allocate(mode_ == Mode::resident ? workload_.whole_bytes() : held);
  if (problem_.kind == Kind::star) sums_ = device.allocate(held);
  if (problem_.checks() > 0) {
    change_ =
        device.kernel("stencil.cl", "change", kernel_options(problem_, device.traits(), strip_));
    if (grouped_ && !change_->group_limits().allow({kLanes, 1, 1})) {
      grouped_ = false;
      change_ = device.kernel("stencil.cl", "change",
                              kernel_options(problem_, device.traits(), strip_, false));
    }
    changes_ = device.allocate(problem_.change_bytes());
  }
  if (problem_.checkpoint_rounds > 0) {
    copy_kernel_ = device.kernel("copy_part.cl", "copy_part", "");
    copy_ = device.allocate(held);
    if (sums_) copy_of_sums_ = device.allocate(held);
  }
  if (problem_.launches == Launches::persistent ||
      (problem_.launches == Launches::chosen && device.traits().nvidia))
    make_persistent(device);
  if (peer_ != nullptr && workload_.halos() != nullptr) {
    by_kernels_ = std::make_unique<KernelExchange>(problem_, device, strip_, *workload_.halos());
    if (!persistent_) workload_.has_room(room_of(device.traits()));
  }
  if (!by_kernels_ || !device.traits().cpu) return;
  // CPUs compile at the first launch; a step of no layers keeps peers from waiting for that.
  const KernelExchange::Step nothing{.first = halo_, .end = halo_};
  device.try_out([&](Stream& stream) { step({}, 1, {halo_, halo_}, stream, &nothing); });
}

// Makes persistent kernels. With several devices, they need kernels of all devices to reach each
// other's memory while they run: GPUs on the direct path, and CPUs.
void StencilProgram::make_persistent(DeviceResources& device) {
  const std::size_t devices = peer_ != nullptr ? peer_->count() : 1;
  persistent_ = std::make_unique<Persistent>(
      problem_, device, std::max<std::uint64_t>(problem_.layers() / devices, 1));
  const std::uint64_t alone = persistent_->most_rows();
  std::uint64_t among_others = alone;
  for (std::uint32_t other = 0; other < devices; ++other) {
    if (peer_ == nullptr || DeviceIndex{other} == peer_->self()) continue;
    const PeerPath path = peer_->path({other});
    if (path == PeerPath::staged || (path == PeerPath::direct && !peer_->flag_wait()))
      among_others = 0;
  }
  if (peer_ != nullptr) {
    Buffer& mail = workload_.mail()->piece(peer_->self());
    const std::vector<std::byte> nothing(mail.size());
    device.try_out([&](Stream& stream) { stream.upload(mail, 0, nothing); });
  }
  StencilWorkload::Room room = room_of(device.traits());
  room.among_others = among_others;
  room.alone = alone;
  workload_.has_room(room);
}

// Returns the room without persistent kernels.
StencilWorkload::Room StencilProgram::room_of(const DeviceTraits& traits) const {
  StencilWorkload::Room room;
  if (peer_ != nullptr) room.device = peer_->self();
  room.cores = traits.cpu ? traits.compute_units : 0;
  room.held = traits.held;
  return room;
}

void StencilProgram::upload(std::span<const std::byte> host, std::uint64_t layer,
                            std::uint64_t count, Buffer& to, std::uint64_t at, Stream& stream) {
  const Bytes row = problem_.row_bytes(), stride = problem_.stride() * problem_.element;
  const std::uint64_t rows = problem_.rows_of_layer();
  stream.upload_rows(to, host.data() + layer * rows * row,
                     {row, count * rows, at * problem_.layer_bytes(), stride, row});
}

// Uploads a share with its halos on both sides, which wrap around if the grid is periodic.
void StencilProgram::upload_share(std::span<const std::byte> host, const Slice& slice, Buffer& to,
                                  Stream& stream) {
  const std::uint64_t n = problem_.layers();
  upload(host, slice.begin, slice.size(), to, halo_, stream);
  for (std::uint64_t i = 1; i <= halo_; ++i) {
    if (problem_.periodic() || slice.begin >= i)
      upload(host, (slice.begin + n - i) % n, 1, to, halo_ - i, stream);
    const std::uint64_t after = slice.end + i - 1;
    if (problem_.periodic() || after < n)
      upload(host, after % n, 1, to, halo_ + slice.size() + i - 1, stream);
  }
}

void StencilProgram::load(Stream& stream) {
  upload_share(workload_.initial(), {0, problem_.layers()}, *initial_, stream);
}

void StencilProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  moves_ = 0;
  take_share(slice);
  if (const std::uint32_t steps = workload_.begun_from(); steps > 0) {
    const StencilWorkload::Checkpoint kept = workload_.checkpoint(steps);
    upload_share(kept.cells, slice, state_after(steps), stream);
    if (sums_) upload(kept.sums, slice.begin, slice.size(), *sums_, halo_, stream);
    if (changes_)
      stream.upload_rows(*changes_, kept.changes.data() + slice.begin * problem_.element,
                         changes_of(slice));
  } else if (mode_ == Mode::end_to_end) {
    upload_share(workload_.initial(), slice, *initial_, stream);
  }
  meet();  // peers have finished reading this device's states
}

void StencilProgram::take_share(const Slice& slice) {
  mailed_ = signalled_ = false;
  settle_between_neighbours(slice, problem_.periodic());
}

// Puts all layers that the new owners need from this device, including halos, into their other
// state.
void StencilProgram::move(const Slice& from, const Slice& to, std::uint32_t steps, Stream&) {
  const Bytes layer = problem_.layer_bytes();
  const auto at = [&](std::int64_t number, const Slice& share) {
    return static_cast<Bytes>(number + halo_ - static_cast<std::int64_t>(share.begin)) * layer;
  };
  for (const Owner& owner : workload_.owners())
    for (const auto& [begin, end, shift] :
         strips_of(from, owner.items, halo_, problem_.periodic() ? problem_.layers() : 0))
      peer_->put(state_after(steps), at(begin, from), workload_.shared()[turn_after(steps + 1)],
                 owner.device, at(begin + shift, owner.items),
                 static_cast<Bytes>(end - begin) * layer);
  meet_all();  // the next step may overwrite layers that others still read
  ++moves_;
  take_share(to);
}

// Downloads a copy, since the next steps change the original.
Completion StencilProgram::checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) {
  const StencilWorkload::Checkpoint kept = workload_.checkpoint(steps);
  const auto bring = [&](Buffer& from, Buffer& by_way_of, std::span<std::byte> host) {
    const Bytes layer = problem_.layer_bytes();
    copy_part(*copy_kernel_, from, by_way_of, halo_ * layer, slice.size() * layer, stream);
    download(by_way_of, slice, host, stream);
  };
  bring(state_after(steps), *copy_, kept.cells);
  if (sums_) bring(*sums_, *copy_of_sums_, kept.sums);
  // Changes of later steps have other places.
  if (changes_)
    stream.download_rows(*changes_, kept.changes.data() + slice.begin * problem_.element,
                         changes_of(slice));
  download_status(stream);
  return [this, slice, steps] {
    if (is_whole()) workload_.checkpointed(slice, steps);
  };
}

// Downloads, together with the data, whether the waits of kernels succeeded. A wait for a device
// that was lost is no error: the data is discarded, and the sample restarts without that device.
// published() is for samples that lost no device.
void StencilProgram::download_status(Stream& stream) {
  if (persistent_) persistent_->download_status(stream);
  if (by_kernels_) by_kernels_->download_status(stream);
}

// Tells whether steps exchange halos by their kernels. Persistent kernels do not: they read halos
// next to the share's own layers, where only puts store them.
bool StencilProgram::goes_by_kernels(const Slice& slice) const {
  return by_kernels_ && !others_.empty() &&
         !(persistent_ && workload_.is_persistent(slice, persistent_->most_rows()));
}

void StencilProgram::step_by_kernel(const Slice& slice, std::uint32_t round, bool hides_waiting,
                                    Stream& stream) {
  const bool last = is_last(round);
  KernelExchange::Step exchange;
  exchange.before = neighbours_.before;
  exchange.after = neighbours_.after;
  exchange.first = halo_;
  exchange.end = halo_ + u32(slice.size());
  exchange.number = workload_.number_of(round);
  exchange.waits = signalled_;
  exchange.mailed = mailed_;
  exchange.sends = !last;
  exchange.signals = !last && hides_waiting;
  step(slice, round, {exchange.first, exchange.end}, stream, &exchange);
  measure(slice, round, stream);
  if (!last && !hides_waiting) meet();
  mailed_ = true;
  signalled_ = hides_waiting;
  workload_.goes_by_kernels();
  if (last && mode_ == Mode::end_to_end) bring_result(slice, stream);
}

void StencilProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (goes_by_kernels(slice)) return step_by_kernel(slice, round, false, stream);
  HaloProgram::enqueue_round(slice, round, stream);
}

bool StencilProgram::step_edges(const Slice& slice, std::uint32_t round, Stream& stream) {
  const std::uint32_t size = u32(slice.size());
  if (size <= 2 * halo_) return false;
  if (neighbours_.before != nullptr) step(slice, round, {halo_, 2 * halo_}, stream);
  if (neighbours_.after != nullptr) step(slice, round, {size, size + halo_}, stream);
  return true;
}

void StencilProgram::step_share(const Slice& slice, std::uint32_t round, std::int64_t more,
                                Stream& stream) {
  const auto wider = static_cast<std::uint32_t>(more * problem_.radius);
  Layers layers{halo_, halo_ + u32(slice.size())};
  if (neighbours_.before != nullptr) layers.first -= wider;
  if (neighbours_.after != nullptr) layers.end += wider;
  step(slice, round, layers, stream);
}

std::uint32_t StencilProgram::enqueue_rounds(const Slice& slice, std::uint32_t first,
                                             std::uint32_t most, Stream& stream) {
  std::uint32_t steps = 1;
  if (persistent_ && workload_.is_persistent(slice, persistent_->most_rows()))
    steps = std::min({most, problem_.next_checked(first) - first, kMostAtOnce});
  if (steps < 2) return enqueue_series(slice, first, most, stream);
  launch_persistent(slice, first, steps, stream);
  const bool last = first + steps == problem_.steps;
  if (!last && !others_.empty()) {
    send(slice, first + steps - 1, stream);
    meet();
  }
  if (last && mode_ == Mode::end_to_end) bring_result(slice, stream);
  return steps;
}

// Enqueues steps of one launch each. Several are one command of the timeline, unless they have to
// be timed step by step.
std::uint32_t StencilProgram::enqueue_series(const Slice& slice, std::uint32_t first,
                                             std::uint32_t most, Stream& stream) {
  const bool exchanges = goes_by_kernels(slice),
             hides_waiting = workload_.hides_waiting() && (most > 1 || is_last(first));
  std::uint32_t steps = 1;
  if (exchanges ? hides_waiting : others_.empty())
    steps = std::clamp(problem_.next_checked(first) - first, 1U, std::min(most, series_));
  stream.begin_series(steps);
  for (std::uint32_t round = first; round < first + steps; ++round)
    exchanges ? step_by_kernel(slice, round, hides_waiting, stream)
              : enqueue_round(slice, round, stream);
  return steps;
}

void StencilProgram::launch_persistent(const Slice& slice, std::uint32_t first, std::uint32_t steps,
                                       Stream& stream) {
  Persistent::Launch launch;
  launch.from = &before(first);
  launch.to = &state_after(first + steps);
  launch.first = halo_;
  launch.rows = u32(slice.size());
  launch.shift = reads_all(first) ? u32(slice.begin) : 0;
  const bool alone = others_.empty();  // the share is its own neighbour on both sides
  launch.above = launch.first + launch.shift + (alone ? launch.rows : 0) - 1;
  launch.below = launch.first + launch.shift + (alone ? 0 : launch.rows);
  launch.steps = steps;
  launch.number = workload_.number_of(first);
  if (!alone) {
    SharedMemory& mail = *workload_.mail();
    launch.self = peer_->self();
    launch.mail = &mail.piece(launch.self);
    launch.before = {neighbours_.before->device,
                     mail.remote(launch.self, neighbours_.before->device)};
    launch.after = {neighbours_.after->device, mail.remote(launch.self, neighbours_.after->device)};
    if (const auto wait = peer_->flag_wait()) launch.wait = *wait;
  }
  persistent_->launch(launch, stream);
  workload_.goes_persistent();
}

void StencilProgram::step(const Slice& slice, std::uint32_t round, Layers layers, Stream& stream,
                          const KernelExchange::Step* exchange) {
  Buffer &from = before(round), &to = state_after(round + 1);
  // The buffer may have the whole initial state, not only the share.
  const std::uint32_t shift = reads_all(round) ? u32(slice.begin) : 0;
  const std::uint32_t n = u32(problem_.n), stride = u32(problem_.stride());
  std::vector<KernelArg> args{&from, &to};
  const auto add = [&](std::initializer_list<KernelArg> more) { args.insert(args.end(), more); };
  if (problem_.kind == Kind::star) add({sums_.get()});
  add({layers.first, layers.end, shift});
  if (problem_.kind == Kind::jacobi2d) {
    // The share is its own neighbour on both sides.
    const bool alone = slice.size() == problem_.layers();
    if (exchange == nullptr)
      add({alone ? halo_ + n - 1 : layers.first + shift - 1, alone ? halo_ : layers.end + shift});
    add({n, stride});
  } else if (problem_.kind == Kind::star) {
    const auto place = [&](std::uint64_t layer) {
      return u32(std::clamp(layer, slice.begin, slice.end) - slice.begin + halo_);
    };
    add({place(problem_.radius), place(problem_.layers() - problem_.radius), n, stride,
         std::uint32_t{round == 0}});
    for (std::uint32_t d = 1; d <= 4; ++d) add({weight_of(problem_, d)});
  } else {
    const auto place =
        [&](std::uint64_t layer) {  // local number of a fixed plane; kNone if not in the share
          return layer >= slice.begin && layer < slice.end ? u32(halo_ + layer - slice.begin)
                                                           : kNone;
        };
    add({place(0), place(problem_.layers() - 1), n, stride, real_of(problem_, problem_.rate)});
  }
  Kernel& kernel = exchange != nullptr ? by_kernels_->kernel() : *kernel_;
  const std::size_t local = group_of(local_, kernel),
                    across = round_up(ceil_div(problem_.n, vector_), local);
  std::size_t strips = ceil_div(layers.end - layers.first, strip_);
  if (exchange != nullptr) {
    by_kernels_->add_arguments(*exchange, args);
    strips = by_kernels_->strips(*exchange);
  }
  const bool box = problem_.kind == Kind::heat3d;
  stream.launch(kernel, {{across, box ? problem_.n : strips, box ? strips : 1}, {local, 1, 1}},
                args);
}

// Computes how much this step changed each row of the share.
void StencilProgram::measure(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (!problem_.is_checked(round)) return;
  const std::uint64_t check = (round + 1) / problem_.check_every - 1;
  const std::size_t local = grouped_ ? kLanes : 1;
  stream.launch(*change_, {{local, slice.size(), 1}, {local, 1, 1}},
                {&before(round), &state_after(round + 1), changes_.get(), halo_,
                 reads_all(round) ? u32(slice.begin) : 0, check * slice.size(), u32(problem_.n),
                 u32(problem_.stride())});
}

// Puts the outermost layers of the share into the halos of its neighbours.
void StencilProgram::send(const Slice& slice, std::uint32_t round, Stream&) {
  const Bytes layer = problem_.layer_bytes(), size = halo_ * layer;
  SharedMemory& into = workload_.shared()[turn_after(round + 1)];
  Buffer& from = state_after(round + 1);
  if (const Owner* before = neighbours_.before)
    peer_->put(from, halo_ * layer, into, before->device, (halo_ + before->items.size()) * layer,
               size);
  if (const Owner* after = neighbours_.after)
    peer_->put(from, slice.size() * layer, into, after->device, 0, size);
}

void StencilProgram::download(Buffer& from, const Slice& slice, std::span<std::byte> host,
                              Stream& stream) {
  const Bytes row = problem_.row_bytes(), stride = problem_.stride() * problem_.element;
  const std::uint64_t rows = problem_.rows_of_layer();
  stream.download_rows(from, host.data() + slice.begin * rows * row,
                       {row, slice.size() * rows, halo_ * problem_.layer_bytes(), stride, row});
}

Rows StencilProgram::changes_of(const Slice& slice) const {
  const Bytes of_share = slice.size() * problem_.element;
  return {of_share, problem_.checks(), 0, of_share, problem_.layers() * problem_.element};
}

void StencilProgram::bring_result(const Slice& slice, Stream& stream) {
  download_status(stream);
  download(sums_ ? *sums_ : state_after(problem_.steps), slice, workload_.result(), stream);
  if (changes_)
    stream.download_rows(*changes_, workload_.changes().data() + slice.begin * problem_.element,
                         changes_of(slice));
}

Completion StencilProgram::publish(Stream& stream) {
  if (sample_ != workload_.sample() || !done_) return {};
  if (mode_ != Mode::end_to_end) bring_result(*done_, stream);
  return [this] {
    if (persistent_) persistent_->check();
    if (by_kernels_) by_kernels_->check();
    if (mode_ == Mode::resident) workload_.arrived(*done_);
  };
}

void StencilProgram::finished(const Slice& slice) {
  if (is_whole()) workload_.arrived(slice);
}

}  // namespace mgpu::stencil
