// One device's work on an ensemble: it trains one member after another.
#pragma once

#include "suites/pinn/ensemble_workload.hpp"
#include "suites/pinn/trainer.hpp"

namespace mgpu::pinn {

class EnsembleProgram final : public DeviceProgram {
 public:
  // Takes slices of up to `members` members.
  EnsembleProgram(EnsembleWorkload& workload, DeviceResources& device, Mode mode, Way way,
                  std::uint64_t members);

  std::string kernel_variant() const override { return trainer_.way(); }
  void load(Stream& stream) override { bring_states({0, problem_.members}, stream); }
  void prepare(Stream&) override {}
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  ResultPolicy result_policy() const override { return ResultPolicy::slice; }
  void finished(const Slice& slice) override;

 private:
  void bring_states(const Slice& members, Stream& stream) {
    trainer_.bring_states(
        members, [&](std::uint64_t m) { return workload_.initial(m); }, stream);
  }
  void train(std::uint64_t number, Stream& stream);

  EnsembleWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const bool in_series_;
  Trainer trainer_;
  Trained trained_;                     // buffers that the members use in turn
  std::unique_ptr<Buffer> endings_[2];  // one per slot
  std::vector<float> landing_[2];
  Slice under_way_[2];
};

}  // namespace mgpu::pinn
