// One device's part of a pipeline: some consecutive stages of every batch. A batch comes from the
// device before, into one of two places in memory that it may put into, by turns; it goes into one
// of two places of the device after. Where kernels reach that one's memory, that of the last stage
// here writes there itself, so that batches move while stages compute; else they are put there
// afterwards.
//
// After a batch a device signals the next one that it is there, and the one before that its place
// is free, and waits for the same of the next batch from them. All of it is enqueued ahead: the
// host is not asked between batches.
#pragma once

#include "suites/pipeline/pipeline_workload.hpp"
#include "suites/pipeline/stage_kernels.hpp"

namespace mgpu::pipeline {

class ChainProgram final : public PartitionedProgram<PipelineWorkload> {
 public:
  // `workload` outlives it. Throws what StageKernels does.
  ChainProgram(PipelineWorkload& workload, DeviceResources& device, Mode mode, std::size_t group);

  StageKernels& kernels() { return kernels_; }
  std::string kernel_variant() const override { return variant_; }
  void load(Stream& stream) override { stream.upload(*records_, 0, workload_.records()); }
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t batch, Stream& stream) override;
  void finished(const Slice& slice) override;

 private:
  void bring_result(const Slice& slice, Stream& stream) override;
  Records source(const Slice& slice, std::uint32_t batch);
  Records target(const Slice& slice, std::uint32_t batch);
  void hand_over(const Slice& slice, std::uint32_t batch);
  bool is_last(const Slice& slice) const { return slice.end == problem_.stages.size(); }

  const std::string variant_;
  StageKernels kernels_;
  std::unique_ptr<Buffer> records_, results_;  // of all batches
  Buffer* mail_of_after_ = nullptr;            // null: its kernels do not reach it
};

}  // namespace mgpu::pipeline
