#include "suites/kernel/round_flag.hpp"

#include <algorithm>

namespace mgpu::kernel {

Bytes RoundFlag::bytes(std::size_t devices) { return round_up(devices * kSize, kCopyPiece); }

RoundFlag::RoundFlag(KernelWorkload& workload, DeviceResources& device)
    : workload_(workload),
      peer_(device.peer()),
      all_(workload.shared_flags(), device, bytes(peer_ != nullptr ? peer_->count() : 1)) {
  const std::size_t devices = peer_ != nullptr ? peer_->count() : 1;
  received_.resize(devices);
  copied_ = device.allocate(bytes(devices));
  copy_ = device.kernel("copy_part.cl", "copy_part", "");
}

void RoundFlag::clear(Buffer& own, Bytes offset, Stream& stream) {
  stream.upload(own, offset, std::as_bytes(std::span(&zero_, 1)));
}

void RoundFlag::combine(Buffer& own, Bytes offset, std::uint32_t round, Stream& stream) {
  std::fill(received_.begin(), received_.end(), 0);
  if (workload_.owners().size() < 2) {
    stream.download(own, offset, std::as_writable_bytes(std::span(received_).first(1)));
    return;
  }
  const DeviceIndex self = peer_->self();
  const std::vector<DeviceIndex> others = other_owners(workload_.owners(), self);
  for (const Owner& owner : workload_.owners())
    peer_->put(own, offset, workload_.shared_flags()[round], owner.device, self.value * kSize,
               kSize);
  peer_->sync(others, others);
  copy_part(*copy_, all_[round], *copied_, 0, bytes(received_.size()), stream);
  stream.download(*copied_, 0, std::as_writable_bytes(std::span(received_)));
}

bool RoundFlag::ends() const {
  if (workload_.owners().size() < 2) return received_.front() == 0;
  return std::none_of(workload_.owners().begin(), workload_.owners().end(),
                      [&](const Owner& one) { return received_[one.device.value] != 0; });
}

}  // namespace mgpu::kernel
