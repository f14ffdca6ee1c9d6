// One device's part of a pipeline: some consecutive stages of every batch. Batches arrive
// alternately in two places in memory that the previous device may write, and leave for two such
// places of the next device. If kernels reach that memory, the last stage here writes there itself,
// so that batches move while stages compute; otherwise they are copied afterwards.
//
// After a batch, a device signals the next device that the batch is there, and the previous one
// that its place is free. It waits for the same signals of the next batch. All of this is enqueued
// ahead; the host does not intervene between batches.
#pragma once

#include "suites/pipeline/pipeline_workload.hpp"
#include "suites/pipeline/stage_kernels.hpp"

namespace mgpu::pipeline {

class ChainProgram final : public PartitionedProgram<PipelineWorkload> {
 public:
  // `workload` must outlive this object. Throws the errors of StageKernels.
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
  std::unique_ptr<Buffer> records_, results_;  // all batches
  Buffer* mail_of_after_ = nullptr;            // null: kernels do not reach it
};

}  // namespace mgpu::pipeline
