// One device's part if every device does all stages: its batches, either resident or uploaded per
// slice.
#pragma once

#include "suites/pipeline/pipeline_workload.hpp"
#include "suites/pipeline/stage_kernels.hpp"

namespace mgpu::pipeline {

class DataProgram final : public DeviceProgram {
 public:
  // Takes slices of at most `fits` batches. `workload` must outlive this object. Throws the errors
  // of StageKernels.
  DataProgram(PipelineWorkload& workload, DeviceResources& device, Mode mode, Items fits,
              std::size_t group);

  StageKernels& kernels() { return kernels_; }
  std::string kernel_variant() const override { return variant_; }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  ResultPolicy result_policy() const override {
    return mode_ == Mode::end_to_end ? ResultPolicy::slice : ResultPolicy::publish;
  }
  void finished(const Slice& slice) override { workload_.arrived(slice); }
  Completion publish(Stream& stream) override;

 private:
  void download(const Slice& slice, Bytes offset, unsigned slot, Stream& stream);

  PipelineWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const std::string variant_;
  StageKernels kernels_;
  std::unique_ptr<Buffer> records_[2], results_[2];  // one per slot; only the first if resident
  std::vector<Slice> done_;                          // resident: slices since prepare()
  std::uint64_t sample_ = 0;
};

}  // namespace mgpu::pipeline
