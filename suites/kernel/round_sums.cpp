#include "suites/kernel/round_sums.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "suites/kernel/layout.hpp"

namespace mgpu::kernel {
namespace {

const char* combination_of(Reduction op) {
  switch (op) {
    case Reduction::add:
      return "COMBINE_ADD";
    case Reduction::min:
      return "COMBINE_MIN";
    case Reduction::max:
      return "COMBINE_MAX";
    case Reduction::bit_xor:
      return "COMBINE_XOR";
    case Reduction::bit_or:
      return "COMBINE_OR";
    case Reduction::bit_and:
      return "COMBINE_AND";
  }
  return "";
}

}  // namespace

RoundSums::RoundSums(KernelWorkload& workload, DeviceResources& device, const Launches& launches)
    : workload_(workload), problem_(workload.problem()), launches_(launches), peer_(device.peer()) {
  const std::size_t devices = peer_ != nullptr ? peer_->count() : 1;
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.accumulates()) continue;
    Sum& sum = sums_.emplace_back(a, Ring(workload.shared_sums()[a], device, bytes(one, devices)));
    std::vector<std::byte> initial(one.bytes());
    put_identity(one, initial);
    sum.initial = device.allocate(one.bytes());
    device.try_out([&](Stream& stream) { stream.upload(*sum.initial, 0, initial); });
    sum.combined = device.allocate(one.bytes());
    sum.combine = device.kernel(
        "accumulators.cl", "combine_accumulators",
        fmt::format("-D NUMBER={} -D COMBINE={}", name_of(one.type.base), combination_of(one.op)));
  }
}

void RoundSums::begin() {
  for (Sum& sum : sums_) {
    sum.begun.reset();
    sum.is_changed = true;
    sum.turn = 0;
  }
  if (workload_.owners().size() < 2) return;
  // Peers have finished reading the accumulators of the previous sample.
  const std::vector<DeviceIndex> others = other_owners(workload_.owners(), peer_->self());
  peer_->sync(others, others);
}

void RoundSums::prepare(std::uint32_t level, std::uint32_t round,
                        const std::function<Buffer&(std::size_t)>& own, Stream& stream) {
  std::vector<Sum*> read;
  for (Sum& sum : sums_) {
    const auto use = workload_.use_of(launches_, sum.argument, level, round);
    sum.is_read = use == Access::read && workload_.owners().size() > 1;
    if (use == Access::write) {
      sum.is_changed = true;
      if (sum.begun == round) continue;
      sum.begun = round;
      // A launch, as uploads do not wait for kernels that still read the accumulator.
      combine(sum, *sum.initial, 1, own(sum.argument), problem_.alignment, stream);
    } else if (sum.is_read && std::exchange(sum.is_changed, false)) {
      read.push_back(&sum);
    }
  }
  if (!read.empty()) exchange(read, own, stream);
}

void RoundSums::combine(const Sum& sum, Buffer& from, std::size_t count, Buffer& to, Bytes offset,
                        Stream& stream) {
  const Argument& one = problem_.args[sum.argument];
  const Bytes lane = one.type.lane();
  const std::uint64_t numbers = one.bytes() / lane;
  stream.launch(*sum.combine, grid_of(*sum.combine, numbers, 64),
                {&from, &to, std::uint64_t{offset / lane}, numbers,
                 std::uint64_t{one.stride() / lane}, u32(count)});
}

void RoundSums::exchange(const std::vector<Sum*>& sums,
                         const std::function<Buffer&(std::size_t)>& own, Stream& stream) {
  const std::span<const Owner> owners = workload_.owners();
  const DeviceIndex self = peer_->self();
  const auto place =
      static_cast<Bytes>(std::find_if(owners.begin(), owners.end(),
                                      [&](const Owner& one) { return one.device == self; }) -
                         owners.begin());
  for (Sum* const sum : sums) {
    const Argument& one = problem_.args[sum->argument];
    for (const Owner& owner : owners)
      peer_->put(own(sum->argument), problem_.alignment,
                 workload_.shared_sums()[sum->argument][sum->turn], owner.device,
                 place * one.stride(), one.bytes());
  }
  const std::vector<DeviceIndex> others = other_owners(owners, self);
  peer_->sync(others, others);
  for (Sum* const sum : sums)
    combine(*sum, sum->all[sum->turn++], owners.size(), *sum->combined, 0, stream);
}

Buffer* RoundSums::given(std::size_t argument) const {
  for (const Sum& sum : sums_) {
    if (sum.argument == argument && sum.is_read) return sum.combined.get();
  }
  return nullptr;
}

}  // namespace mgpu::kernel
