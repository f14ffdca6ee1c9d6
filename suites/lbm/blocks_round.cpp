// A round where shares are cut along two axes. What others need is computed first, and once more
// with the rest; it is packed, put into memory of its own, which alternates as lattices do, and
// unpacked before the next round reads it.
#include "suites/lbm/lbm_program.hpp"

namespace mgpu::lbm {

void LbmProgram::blocks_round(std::uint32_t round, bool last, Stream& stream) {
  const auto step_patch = [&](const Patch& patch) {
    step({static_cast<std::int64_t>(patch.first), static_cast<std::int64_t>(patch.end)}, patch.left,
         patch.right, round, stream);
  };
  const bool exchange = !last && !others_.empty();
  if (exchange && problem_.overlap) {
    for (const Transfer& transfer : sends_) step_patch(transfer.patch);
    send_blocks(round + 1, stream);
  }
  for (const Patch& patch : mine_) step_patch(patch);
  if (!exchange) return;
  if (!problem_.overlap) send_blocks(round + 1, stream);
  meet();
  take_blocks(round + 1, stream);
}

void LbmProgram::send_blocks(std::uint32_t steps, Stream& stream) {
  std::uint64_t packed = 0;
  for (const Transfer& transfer : sends_) {
    const Patch& patch = transfer.patch;
    const std::uint64_t numbers = transfer.numbers(problem_),
                        of_plane = numbers / (patch.end - patch.first);
    if (packed + numbers > most_landing(problem_)) packed = 0;  // that was sent
    std::uint64_t at = packed;
    for (const Run& run :
         runs({static_cast<std::int64_t>(patch.first), static_cast<std::int64_t>(patch.end)})) {
      stream.launch(*pack_, grid(patch.right - patch.left, run.count),
                    {&piece(lattice_after(steps), run.slot.piece), packed_.get(), at,
                     transfer.which, u32(run.slot.at), u32(patch.left), u32(patch.right),
                     u32(problem_.n), u32(problem_.n), u32(problem_.stride())});
      at += run.count * of_plane;
    }
    peer_->put(*packed_, packed * sizeof(float), workload_.landing(steps % 2), transfer.to,
               transfer.landing * sizeof(float), numbers * sizeof(float));
    packed += numbers;
  }
}

void LbmProgram::take_blocks(std::uint32_t steps, Stream& stream) {
  for (const Transfer& transfer : takes_) {
    const Patch& patch = transfer.patch;
    const std::uint64_t of_plane = transfer.numbers(problem_) / (patch.end - patch.first);
    std::uint64_t at = transfer.landing;
    for (const Run& run :
         runs({static_cast<std::int64_t>(patch.first), static_cast<std::int64_t>(patch.end)})) {
      stream.launch(*unpack_, grid(patch.right - patch.left, run.count),
                    {&workload_.landing(steps % 2).piece(peer_->self()),
                     &piece(lattice_after(steps), run.slot.piece), at, transfer.which,
                     u32(run.slot.at), u32(patch.left), u32(patch.right), u32(problem_.n),
                     u32(problem_.n), u32(problem_.stride())});
      at += run.count * of_plane;
    }
  }
}

}  // namespace mgpu::lbm
