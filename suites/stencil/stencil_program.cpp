// The order of a round: the layers that others need are computed first and sent, then the rest, then the device waits for theirs.
// States alternate, so that what comes for the next step lands where nobody reads: after --depth steps of which only the last is
// exchanged, devices first tell each other that they have done with it.
#include "suites/stencil/stencil_program.hpp"

#include <algorithm>

namespace mgpu::stencil {
namespace {

std::uint32_t u32(std::uint64_t n) { return static_cast<std::uint32_t>(n); }
constexpr std::uint32_t kNone = ~std::uint32_t{0};

}  // namespace

StencilProgram::StencilProgram(StencilWorkload& workload, DeviceResources& device, Mode mode)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      halo_(problem_.depth),
      vector_(device.traits().cpu ? 16 : 4),
      strip_(device.traits().cpu ? 32 : 4),
      local_(device.traits().cpu ? 1 : std::min<std::size_t>(device.traits().max_work_group, 256)),
      peer_(workload.shared(0) != nullptr ? device.peer() : nullptr),
      kernel_(device.kernel("stencil.cl", problem_.kind == Kind::jacobi2d ? "jacobi2d" : "heat3d",
                            "-DVECTOR=" + std::to_string(vector_) + " -DSTRIP=" + std::to_string(strip_))) {
  initial_ = device.allocate(state_bytes(problem_));
  if (problem_.checkpoint_rounds > 0) {
    copy_kernel_ = device.kernel("stencil.cl", "copy", "-DVECTOR=4 -DSTRIP=4");
    copy_ = device.allocate(state_bytes(problem_));
  }
  if (peer_ != nullptr) return;
  for (auto& state : own_) state = device.allocate(state_bytes(problem_));
}

void StencilProgram::upload(std::span<const std::byte> host, std::uint64_t layer, std::uint64_t count, Buffer& to,
                            std::uint64_t at, Stream& stream) {
  const Bytes row = problem_.n * sizeof(float), stride = problem_.stride() * sizeof(float);
  const std::uint64_t rows = problem_.rows_of_layer();
  stream.upload_rows(to, host.data() + layer * rows * row, {row, count * rows, at * problem_.layer_bytes(), stride, row});
}

// With the halos on both sides; the state repeats where it is periodic.
void StencilProgram::upload_share(std::span<const std::byte> host, const Slice& slice, Buffer& to, Stream& stream) {
  const std::uint64_t n = problem_.layers();
  upload(host, slice.begin, slice.size(), to, halo_, stream);
  for (std::uint64_t i = 1; i <= halo_; ++i) {
    if (problem_.periodic() || slice.begin >= i) upload(host, (slice.begin + n - i) % n, 1, to, halo_ - i, stream);
    const std::uint64_t after = slice.end + i - 1;
    if (problem_.periodic() || after < n) upload(host, after % n, 1, to, halo_ + slice.size() + i - 1, stream);
  }
}

void StencilProgram::load(Stream& stream) {
  upload_share(workload_.initial(), {0, problem_.layers()}, *initial_, stream);
}

void StencilProgram::prepare(Stream&) {
  neighbours_ = {};
  others_.clear();
}

void StencilProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  sample_ = workload_.sample();
  moves_ = 0;
  settle(slice);
  if (const std::uint32_t rounds = workload_.begun_from(); rounds > 0) {
    upload_share(workload_.checkpoint(rounds), slice, state_after(rounds), stream);
  } else if (mode_ == Mode::end_to_end) {
    upload_share(workload_.initial(), slice, *initial_, stream);
  }
  meet();  // nobody has layers of this device's states to read any more
}

void StencilProgram::settle(const Slice& slice) {
  done_ = slice;
  neighbours_ = workload_.neighbours(slice);
  others_.clear();
  if (neighbours_.before != nullptr) others_.push_back(neighbours_.before->device);
  if (neighbours_.after != nullptr && (others_.empty() || neighbours_.after->device != others_.front()))
    others_.push_back(neighbours_.after->device);
}

// All layers that the new owners of these need, halos included, go into their other states.
void StencilProgram::move(const Slice& from, const Slice& to, std::uint32_t rounds, Stream&) {
  Buffer& state = state_after(rounds);
  SharedMemory& into = *workload_.shared(place_after(rounds + 1));
  const Bytes layer = problem_.layer_bytes();
  const auto n = static_cast<std::int64_t>(problem_.layers()), halo = std::int64_t{halo_};
  std::vector<DeviceIndex> others;
  for (const Owner& owner : workload_.owners()) {
    const std::int64_t first = static_cast<std::int64_t>(owner.items.begin) - halo;
    for (const std::int64_t shift : {-n, std::int64_t{0}, n}) {  // where it is periodic, a layer may be a halo on the other side
      if (shift != 0 && !problem_.periodic()) continue;
      const std::int64_t mine = static_cast<std::int64_t>(from.begin) + shift;
      const std::int64_t begin = std::max(mine, first),
                         end = std::min(static_cast<std::int64_t>(from.end) + shift, static_cast<std::int64_t>(owner.items.end) + halo);
      if (begin >= end) continue;
      peer_->put(state, static_cast<Bytes>(begin - mine + halo) * layer, into, owner.device, static_cast<Bytes>(begin - first) * layer,
                 static_cast<Bytes>(end - begin) * layer);
    }
    if (owner.device != peer_->self()) others.push_back(owner.device);
  }
  peer_->sync(others, others);  // all: what comes next may land where somebody's layers are still being read
  ++moves_;
  settle(to);
}

// Where the steps to come do not change it while it is on its way.
void StencilProgram::checkpoint(const Slice& slice, std::uint32_t rounds, Stream& stream) {
  const std::uint64_t rows = slice.size() * problem_.rows_of_layer();
  stream.launch(*copy_kernel_, {{(problem_.stride() / 4 + 7) / 8 * 8, rows, 1}, {8, 1, 1}},
                {&state_after(rounds), copy_.get(), u32(problem_.stride() / 4), std::uint64_t{halo_ * problem_.rows_of_layer()}});
  download(*copy_, slice, workload_.checkpoint(rounds), stream);
}

void StencilProgram::meet() {
  if (!others_.empty()) peer_->sync(others_, others_);
}

void StencilProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  const std::uint32_t size = u32(slice.size()), since = round % problem_.depth;
  const bool last = round + 1 == problem_.steps, exchange = since + 1 == problem_.depth && !last && !others_.empty();
  // Layers of others that this device computes as well, as their owners' will only come later.
  const std::uint32_t more = problem_.depth - 1 - since;
  Layers all{halo_, halo_ + size};
  if (neighbours_.before != nullptr) all.first -= more;
  if (neighbours_.after != nullptr) all.end += more;
  if (!exchange) {
    step(slice, round, all, stream);
    if (since + 2 == problem_.depth && round + 2 < problem_.steps) meet();
  } else if (!problem_.overlap || size <= 2 * halo_) {
    step(slice, round, all, stream);
    send(slice, round);
    meet();
  } else {
    Layers inner = all;
    if (neighbours_.before != nullptr) {
      step(slice, round, {all.first, all.first + halo_}, stream);
      inner.first += halo_;
    }
    if (neighbours_.after != nullptr) {
      step(slice, round, {all.end - halo_, all.end}, stream);
      inner.end -= halo_;
    }
    send(slice, round);
    step(slice, round, inner, stream);
    meet();
  }
  if (last && mode_ == Mode::end_to_end) download(state_after(problem_.steps), slice, workload_.result(), stream);
}

void StencilProgram::step(const Slice& slice, std::uint32_t round, Layers layers, Stream& stream) {
  Buffer& from = round == 0 ? *initial_ : state_after(round);
  Buffer& to = state_after(round + 1);
  // Resident: all of the initial state is there, and not only that of the share.
  const std::uint32_t shift = round == 0 && mode_ == Mode::resident ? u32(slice.begin) : 0;
  const std::uint32_t n = u32(problem_.n), stride = u32(problem_.stride());
  const auto groups = [&](std::uint64_t work, std::uint64_t each) { return (work + each - 1) / each; };
  const std::size_t across = groups(groups(problem_.n, vector_), local_) * local_,
                    strips = groups(layers.end - layers.first, strip_);
  if (problem_.kind == Kind::jacobi2d) {
    const bool alone = slice.size() == problem_.layers();  // its own neighbour on both sides
    const std::uint32_t above = alone ? halo_ + n - 1 : layers.first + shift - 1, below = alone ? halo_ : layers.end + shift;
    stream.launch(*kernel_, {{across, strips, 1}, {local_, 1, 1}},
                  {&from, &to, layers.first, layers.end, shift, above, below, n, stride});
    return;
  }
  const auto place = [&](std::uint64_t layer) {  // of a fixed plane; none: it is not among those of the share
    return layer >= slice.begin && layer < slice.end ? u32(halo_ + layer - slice.begin) : kNone;
  };
  stream.launch(*kernel_, {{across, problem_.n, strips}, {local_, 1, 1}},
                {&from, &to, layers.first, layers.end, shift, place(0), place(problem_.layers() - 1), n, stride, problem_.rate});
}

// The outermost layers of the share into the halos of its neighbours.
void StencilProgram::send(const Slice& slice, std::uint32_t round) {
  const Bytes layer = problem_.layer_bytes(), size = halo_ * layer;
  SharedMemory& into = *workload_.shared(place_after(round + 1));
  Buffer& from = state_after(round + 1);
  if (const Owner* before = neighbours_.before)
    peer_->put(from, halo_ * layer, into, before->device, (halo_ + before->items.size()) * layer, size);
  if (const Owner* after = neighbours_.after) peer_->put(from, slice.size() * layer, into, after->device, 0, size);
}

void StencilProgram::download(Buffer& from, const Slice& slice, std::span<std::byte> host, Stream& stream) {
  const Bytes row = problem_.n * sizeof(float), stride = problem_.stride() * sizeof(float);
  const std::uint64_t rows = problem_.rows_of_layer();
  stream.download_rows(from, host.data() + slice.begin * rows * row,
                       {row, slice.size() * rows, halo_ * problem_.layer_bytes(), stride, row});
}

void StencilProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.sample() || !done_) return;
  download(state_after(problem_.steps), *done_, workload_.result(), stream);
}

void StencilProgram::published() {
  if (mode_ == Mode::end_to_end || sample_ != workload_.sample() || !done_) return;
  workload_.arrived(*done_);
}

}  // namespace mgpu::stencil
