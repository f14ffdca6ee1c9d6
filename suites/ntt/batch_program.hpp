// One device's part of many transforms: they stay resident or are brought with each slice.
#pragma once

#include "suites/ntt/batch_workload.hpp"

namespace mgpu::ntt {

class BatchProgram final : public DeviceProgram {
 public:
  // `fits`: transforms per slice at most. `workload` must outlive the program.
  BatchProgram(BatchWorkload& workload, DeviceResources& device, Mode mode, Items fits,
               const std::string& preferred);

  std::string kernel_variant() const override { return passes_.front()->variant().name(); }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  ResultPolicy result_policy() const override {
    return mode_ == Mode::end_to_end ? ResultPolicy::slice : ResultPolicy::publish;
  }
  void finished(const Slice& slice) override { workload_.arrivals().arrived({&slice, 1}); }
  Completion publish(Stream& stream) override;

 private:
  BatchWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  // Of the transforms; to extend columns: of their interpolation and evaluation.
  std::vector<std::unique_ptr<Passes>> passes_;
  // By slot; a resident program has only the first slot.
  std::unique_ptr<Buffer> inputs_[2], results_[2];
  std::unique_ptr<Buffer> columns_;       // transformed columns of the transforms of a launch
  std::unique_ptr<Buffer> coefficients_;  // to extend columns: those of a launch
  std::vector<Slice> done_;               // resident: slices since prepare
  std::uint64_t sample_ = 0;
};

}  // namespace mgpu::ntt
