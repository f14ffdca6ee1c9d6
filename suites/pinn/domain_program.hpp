// One device's work on its parts of a domain. In each step it sends the values of its networks at
// the ends of neighbouring parts, and trains each network with the values received.
#pragma once

#include "suites/pinn/domain_workload.hpp"
#include "suites/pinn/trainer.hpp"

namespace mgpu::pinn {

class DomainProgram final : public PartitionedProgram<DomainWorkload> {
 public:
  DomainProgram(DomainWorkload& workload, DeviceResources& device, Mode mode, Way way,
                std::uint64_t parts);

  std::string kernel_variant() const override { return trainer_.way(); }
  void load(Stream& stream) override { bring_states({0, problem_.parts}, stream); }
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void finished(const Slice&) override {}  // publish() reports all parts at once
  Completion publish(Stream& stream) override;

 private:
  void bring_states(const Slice& parts, Stream& stream) {
    trainer_.bring_states(
        parts, [&](std::uint64_t p) { return workload_.initial(p); }, stream);
  }
  void bring_result(const Slice& slice, Stream& stream) override;
  const Trained& trained(const Slice& slice, std::uint64_t part) const {
    return trained_[part - slice.begin];
  }
  void tell(const Slice& slice, std::uint64_t part, unsigned end, std::uint32_t round,
            Buffer& values, Stream& stream);

  std::size_t lanes_;
  Trainer trainer_;
  const bool in_series_;
  std::unique_ptr<Kernel> values_at_end_, take_values_;
  std::vector<Trained> trained_;
  std::unique_ptr<Buffer> endings_, own_values_;
  std::vector<float> nothing_, landing_;
};

}  // namespace mgpu::pinn
