// One device's part of the training of a tropical network: its samples, and all weights.
#pragma once

#include "suites/tropical/network_workload.hpp"

namespace mgpu::tropical {

class NetworkProgram final : public PartitionedProgram<NetworkWorkload> {
 public:
  // `workload` must outlive this object. Throws the errors of DeviceResources.
  NetworkProgram(NetworkWorkload& workload, DeviceResources& device, Mode mode);

  void load(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t step, Stream& stream) override;
  void finished(const Slice& slice) override;

 private:
  void upload(const Slice& slice, Stream& stream);
  void bring_result(const Slice& slice, Stream& stream) override;
  Buffer& weights_after(std::uint32_t steps) const { return *weights_[steps % 2]; }

  std::unique_ptr<Kernel> clear_, train_, descend_;
  std::unique_ptr<Buffer> inputs_, targets_, initial_, weights_[2], losses_;
  Ring sums_;
  std::uint32_t place_ = 0, places_ = 1;  // of this owner, and of all
  std::vector<std::byte> landing_;
};

}  // namespace mgpu::tropical
