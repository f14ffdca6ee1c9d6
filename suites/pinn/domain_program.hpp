// What one device does for the parts of a domain that it owns: in each step it tells neighbours
// what its networks are at their ends, and trains each with what it was told.
#pragma once

#include <optional>

#include "suites/pinn/domain_workload.hpp"
#include "suites/pinn/trainer.hpp"

namespace mgpu::pinn {

class DomainProgram final : public DeviceProgram, public IterativeProgram {
 public:
  DomainProgram(DomainWorkload& workload, DeviceResources& device, Mode mode, Way way,
                std::uint64_t parts);

  ProgramInterfaces interfaces() override { return {.iterative = this}; }
  std::string kernel_variant() const override { return trainer_.way(); }
  void load(Stream& stream) override { bring_states({0, problem_.parts}, stream); }
  void prepare(Stream&) override {}
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  Brings brings() const override {
    return mode_ == Mode::end_to_end ? Brings::slice : Brings::publish;
  }
  Completion publish(Stream& stream) override;

 private:
  void bring_states(const Slice& parts, Stream& stream);
  void bring_endings(const Slice& slice, Stream& stream);
  const Trained& trained(const Slice& slice, std::uint64_t part) const {
    return trained_[part - slice.begin];
  }
  void tell(const Slice& slice, std::uint64_t part, unsigned end, std::uint32_t round,
            Buffer& values, Stream& stream);

  DomainWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const std::size_t lanes_;
  Trainer trainer_;
  const bool in_series_;
  Peer* peer_;  // null: it exchanges nothing, and shares no sample
  std::unique_ptr<Kernel> values_at_end_, take_values_;
  std::vector<Trained> trained_;
  std::unique_ptr<Buffer> states_, endings_, own_values_;
  std::vector<float> nothing_, staged_, landing_;
  std::vector<DeviceIndex> neighbours_;
  std::optional<DeviceIndex> before_, after_;  // who owns the parts around those of this device
  std::optional<Slice> done_;
  std::uint64_t sample_ = 0;  // of that
};

}  // namespace mgpu::pinn
