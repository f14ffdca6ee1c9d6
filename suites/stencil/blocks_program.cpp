// Packed transfers land in memory that alternates like the states, and are unpacked before the next
// round reads them.
#include "suites/stencil/blocks_program.hpp"

#include <algorithm>

#include "suites/stencil/stencil_kernel.hpp"

namespace mgpu::stencil {
namespace {

std::string block_options(const Problem& problem) {
  std::string text = std::string("-DREAL=") + (problem.wide() ? "double" : "float");
  return problem.kind == Kind::star ? text + " -DRADIUS=" + std::to_string(problem.radius) : text;
}

}  // namespace

BlocksProgram::BlocksProgram(StencilWorkload& workload, DeviceResources& device, Mode mode)
    : HaloProgram(workload, mode, workload.shared() ? device.peer() : nullptr),
      kernel_(device.kernel("stencil_blocks.cl", std::string(name_of(problem_.kind)) + "_block",
                            block_options(problem_))),
      copy_(device.kernel("stencil_blocks.cl", "copy_rows", block_options(problem_))),
      local_(group_of(64, *kernel_, *copy_)),
      states_(workload.shared(), device, workload.state_bytes()) {
  initial_ = device.allocate(workload_.state_bytes());
  if (problem_.kind == Kind::star) sums_ = device.allocate(workload_.state_bytes());
  if (peer_ != nullptr)
    exchange_.emplace(device, most_landing(problem_) * problem_.element, problem_.element);
}

// Calls `each` with the rectangles of a patch, as rows a fixed distance apart in host memory and on
// the device: one of a plane, one per plane of a box.
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
  settle(slice);
  mine_ = patches_of(problem_.pieces(), slice);
  if (exchange_) others_ = exchange_->settle(workload_.transfers(), peer_->self());
  if (mode_ == Mode::end_to_end) {
    for (const Patch& patch : mine_) {
      for (const Patch& wide : extended(problem_, patch, problem_.halo(), problem_.halo())) {
        each_rectangle(wide, [&](Bytes host, const Rows& rows) {
          stream.upload_rows(*initial_, workload_.initial().data() + host, rows);
        });
      }
    }
  }
  meet();  // Peers have finished reading the cells of this device's states
}

// Computes the cells to send first; step_share() computes them again with the rest. Not for stars,
// whose sums would gain twice.
bool BlocksProgram::step_edges(const Slice&, std::uint32_t round, Stream& stream) {
  if (problem_.kind == Kind::star) return false;
  for (const Transfer& transfer : exchange_->sends()) step(transfer.patch, round, stream);
  return true;
}

void BlocksProgram::step_share(const Slice&, std::uint32_t round, std::int64_t more,
                               Stream& stream) {
  const auto wider = static_cast<std::uint64_t>(std::max<std::int64_t>(more, 0)) * problem_.radius;
  for (const Patch& patch : mine_)
    for (const Patch& each : extended(problem_, patch, wider, wider)) step(each, round, stream);
}

void BlocksProgram::step(const Patch& patch, std::uint32_t round, Stream& stream) {
  Buffer &from = before(round), &to = states_[round];
  const std::uint32_t n = u32(problem_.n), stride = u32(problem_.stride());
  const auto weight = [&](std::uint32_t d) { return weight_of(problem_, d); };
  const std::uint64_t high = patch.end - patch.first, wide = patch.right - patch.left;
  const auto across = [&](std::uint64_t cells) { return round_up(cells, local_); };
  const std::uint32_t first = u32(patch.first), left = u32(patch.left), right = u32(patch.right);
  if (problem_.kind == Kind::jacobi2d) {
    stream.launch(*kernel_, {{across(wide), high, 1}, {local_, 1, 1}},
                  {&from, &to, first, left, right, n, stride});
  } else if (problem_.kind == Kind::heat3d) {
    stream.launch(*kernel_, {{across(n), wide, high}, {local_, 1, 1}},
                  {&from, &to, first, left, n, stride, real_of(problem_, problem_.rate)});
  } else {
    stream.launch(*kernel_, {{across(wide), high, 1}, {local_, 1, 1}},
                  {&from, &to, sums_.get(), first, left, right, n, stride,
                   std::uint32_t{round == 0}, weight(1), weight(2), weight(3), weight(4)});
  }
}

// Copies a patch of a state into one packed piece, or, with `out`, back.
void BlocksProgram::copy(Buffer& from, Buffer& to, const Patch& patch, std::uint64_t landing,
                         bool out, Stream& stream) {
  const std::uint64_t length = (patch.right - patch.left) * problem_.unit(), pitch = place(1, 0),
                      there = place(patch.first, patch.left);
  stream.launch(*copy_, {{round_up(length, local_), patch.end - patch.first, 1}, {local_, 1, 1}},
                {&from, &to, out ? landing : there, out ? length : pitch, out ? there : landing,
                 out ? pitch : length, u32(length)});
}

void BlocksProgram::send(const Slice&, std::uint32_t round, Stream& stream) {
  Buffer& from = states_[round];
  exchange_->send(
      *peer_, workload_.landing()[round],
      [&](const Transfer& transfer, Buffer& to, std::uint64_t at) {
        copy(from, to, transfer.patch, at, false, stream);
      },
      [&](const Transfer& transfer) {
        const Patch& patch = transfer.patch;
        for (std::uint64_t layer = patch.first; layer < patch.end; ++layer) {
          const Bytes at = place(layer, patch.left) * problem_.element;
          peer_->put(from, at, workload_.shared()[round], transfer.to, at,
                     (patch.right - patch.left) * problem_.unit() * problem_.element);
        }
      });
}

void BlocksProgram::take(const Slice&, std::uint32_t round, Stream& stream) {
  exchange_->take(workload_.landing()[round].piece(peer_->self()),
                  [&](const Transfer& transfer, Buffer& from, std::uint64_t at) {
                    copy(from, states_[round], transfer.patch, at, true, stream);
                  });
}

void BlocksProgram::bring_result(const Slice&, Stream& stream) {
  Buffer& from = sums_ ? *sums_ : states_[problem_.steps - 1];
  for (const Patch& patch : mine_)
    each_rectangle(patch, [&](Bytes host, const Rows& rows) {
      stream.download_rows(from, workload_.result().data() + host, rows);
    });
}

}  // namespace mgpu::stencil
