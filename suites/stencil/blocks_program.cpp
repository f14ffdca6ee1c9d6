// The order of a round, and why none of what it writes is in use elsewhere, is that of
// stencil_program.cpp. What is packed lands in memory that alternates as states do, and is unpacked
// before the next round reads it.
#include "suites/stencil/blocks_program.hpp"

#include <algorithm>

namespace mgpu::stencil {
namespace {

std::string block_options(const Problem& problem) {
  std::string text = std::string("-DREAL=") + (problem.wide() ? "double" : "float");
  return problem.kind == Kind::star ? text + " -DRADIUS=" + std::to_string(problem.radius) : text;
}

}  // namespace

BlocksProgram::BlocksProgram(StencilWorkload& workload, DeviceResources& device, Mode mode)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      local_(std::min<std::size_t>(device.traits().max_work_group, 64)),
      peer_(workload.shared(0) != nullptr ? device.peer() : nullptr),
      kernel_(device.kernel("stencil_blocks.cl", std::string(name_of(problem_.kind)) + "_block",
                            block_options(problem_))),
      copy_(device.kernel("stencil_blocks.cl", "copy_rows", block_options(problem_))) {
  initial_ = device.allocate(workload_.state_bytes());
  if (problem_.kind == Kind::star) sums_ = device.allocate(workload_.state_bytes());
  if (peer_ != nullptr) {
    packed_ = device.allocate(most_landing(problem_) * problem_.element);
    return;
  }
  for (auto& state : own_) state = device.allocate(workload_.state_bytes());
}

// A patch in host memory and on a device, as rows a fixed distance apart: of planes one rectangle,
// of boxes one in each plane.
template <class Each>
void BlocksProgram::each_rectangle(const Patch& patch, const Each& each) const {
  const Bytes element = problem_.element, host_row = problem_.row_bytes(),
              row = problem_.stride() * element;
  if (problem_.kind != Kind::heat3d) {
    each(patch.first * host_row + patch.left * element,
         Rows{(patch.right - patch.left) * element, patch.end - patch.first,
              patch.first * row + patch.left * element, row, host_row});
    return;
  }
  for (std::uint64_t z = patch.first; z < patch.end; ++z)
    each((z * problem_.n + patch.left) * host_row,
         Rows{host_row, patch.right - patch.left, (z * problem_.n + patch.left) * row, row,
              host_row});
}

void BlocksProgram::load(Stream& stream) {
  each_rectangle({0, problem_.layers(), 0, problem_.n}, [&](Bytes host, const Rows& rows) {
    stream.upload_rows(*initial_, workload_.initial().data() + host, rows);
  });
}

void BlocksProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  sample_ = workload_.sample();
  done_ = slice;
  mine_ = patches_of(problem_, slice);
  sends_.clear();
  takes_.clear();
  others_.clear();
  if (const Owner* self = owner_of(workload_.owners(), slice)) {
    for (const Transfer& transfer : workload_.transfers()) {
      if (transfer.from == self->device) sends_.push_back(transfer);
      if (transfer.to == self->device) takes_.push_back(transfer);
    }
    for (const Transfer& transfer : takes_) {  // who gives something needs something
      if (std::find(others_.begin(), others_.end(), transfer.from) == others_.end())
        others_.push_back(transfer.from);
    }
  }
  if (mode_ == Mode::end_to_end) {
    for (const Patch& patch : mine_) {
      for (const Patch& wide : extended(problem_, patch, problem_.halo(), problem_.halo())) {
        each_rectangle(wide, [&](Bytes host, const Rows& rows) {
          stream.upload_rows(*initial_, workload_.initial().data() + host, rows);
        });
      }
    }
  }
  meet();  // nobody has cells of this device's states to read any more
}

void BlocksProgram::meet() {
  if (!others_.empty()) peer_->sync(others_, others_);
}

void BlocksProgram::enqueue_round(const Slice&, std::uint32_t round, Stream& stream) {
  const std::uint32_t since = round % problem_.depth;
  const bool last = round + 1 == problem_.steps,
             exchange = since + 1 == problem_.depth && !last && !others_.empty();
  // Cells of others that this device computes as well, as their owners' will only come later.
  const std::uint64_t more = others_.empty() ? 0 : (problem_.depth - 1 - since) * problem_.radius;
  std::vector<Patch> all;
  for (const Patch& patch : mine_) {
    const std::vector<Patch> wide = extended(problem_, patch, more, more);
    all.insert(all.end(), wide.begin(), wide.end());
  }
  if (exchange) {
    // What is sent is computed first, and once more with the rest; but not sums, which would gain
    // twice.
    if (problem_.overlap && problem_.kind != Kind::star) {
      std::vector<Patch> edges;
      for (const Transfer& transfer : sends_) edges.push_back(transfer.patch);
      step(edges, round, stream);
      send(round, stream);
      step(all, round, stream);
    } else {
      step(all, round, stream);
      send(round, stream);
    }
    meet();
    take(round, stream);
  } else {
    step(all, round, stream);
    if (since + 2 == problem_.depth && round + 2 < problem_.steps) meet();
  }
  if (last && mode_ == Mode::end_to_end) download(stream);
}

void BlocksProgram::step(const std::vector<Patch>& patches, std::uint32_t round, Stream& stream) {
  Buffer &from = before(round), &to = state(round % 2);
  const std::uint32_t n = u32(problem_.n), stride = u32(problem_.stride());
  const auto real = [&](double value) {
    return problem_.wide() ? KernelArg(value) : KernelArg(static_cast<float>(value));
  };
  const auto weight = [&](std::uint32_t d) {
    return problem_.wide() ? KernelArg(star_weight<double>(problem_.radius, d))
                           : KernelArg(star_weight<float>(problem_.radius, d));
  };
  for (const Patch& patch : patches) {
    const std::uint64_t high = patch.end - patch.first, wide = patch.right - patch.left;
    const auto across = [&](std::uint64_t cells) { return (cells + local_ - 1) / local_ * local_; };
    const std::uint32_t first = u32(patch.first), left = u32(patch.left), right = u32(patch.right);
    if (problem_.kind == Kind::jacobi2d) {
      stream.launch(*kernel_, {{across(wide), high, 1}, {local_, 1, 1}},
                    {&from, &to, first, left, right, n, stride});
    } else if (problem_.kind == Kind::heat3d) {
      stream.launch(*kernel_, {{across(n), wide, high}, {local_, 1, 1}},
                    {&from, &to, first, left, n, stride, real(problem_.rate)});
    } else {
      stream.launch(*kernel_, {{across(wide), high, 1}, {local_, 1, 1}},
                    {&from, &to, sums_.get(), first, left, right, n, stride,
                     std::uint32_t{round == 0}, weight(1), weight(2), weight(3), weight(4)});
    }
  }
}

// Of a state into one piece, or `out` of it.
void BlocksProgram::copy(Buffer& from, Buffer& to, const Patch& patch, std::uint64_t landing,
                         bool out, Stream& stream) {
  const std::uint64_t length = (patch.right - patch.left) * problem_.unit(), pitch = place(1, 0),
                      there = place(patch.first, patch.left);
  stream.launch(
      *copy_,
      {{(length + local_ - 1) / local_ * local_, patch.end - patch.first, 1}, {local_, 1, 1}},
      {&from, &to, out ? landing : there, out ? length : pitch, out ? there : landing,
       out ? pitch : length, u32(length)});
}

void BlocksProgram::send(std::uint32_t round, Stream& stream) {
  Buffer& from = state(round % 2);
  const Bytes element = problem_.element;
  std::uint64_t packed = 0;
  for (const Transfer& transfer : sends_) {
    const Patch& patch = transfer.patch;
    const std::uint64_t length = (patch.right - patch.left) * problem_.unit(),
                        cells = (patch.end - patch.first) * length;
    if (transfer.packed) {
      if (packed + cells > most_landing(problem_)) packed = 0;  // that was sent
      copy(from, *packed_, patch, packed, false, stream);
      peer_->put(*packed_, packed * element, *workload_.landing(round % 2), transfer.to,
                 transfer.landing * element, cells * element);
      packed += cells;
      continue;
    }
    for (std::uint64_t layer = patch.first; layer < patch.end; ++layer) {
      const Bytes at = place(layer, patch.left) * element;
      peer_->put(from, at, *workload_.shared(round % 2), transfer.to, at, length * element);
    }
  }
}

void BlocksProgram::take(std::uint32_t round, Stream& stream) {
  for (const Transfer& transfer : takes_) {
    if (transfer.packed)
      copy(workload_.landing(round % 2)->piece(peer_->self()), state(round % 2), transfer.patch,
           transfer.landing, true, stream);
  }
}

void BlocksProgram::download(Stream& stream) {
  Buffer& from = sums_ ? *sums_ : state((problem_.steps - 1) % 2);
  for (const Patch& patch : mine_)
    each_rectangle(patch, [&](Bytes host, const Rows& rows) {
      stream.download_rows(from, workload_.result().data() + host, rows);
    });
}

Completion BlocksProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.sample() || !done_) return {};
  download(stream);
  return [this] { workload_.arrived(*done_); };
}

}  // namespace mgpu::stencil
