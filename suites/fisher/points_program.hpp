// One device's part of many points: the copies and launches of a slice of items.
#pragma once

#include "suites/fisher/points_kernels.hpp"
#include "suites/fisher/points_workload.hpp"

namespace mgpu::fisher {

class PointsProgram : public DeviceProgram {
 public:
  // `fits`: items per slice at most. `workload` must outlive the program. Throws
  // Error(out_of_memory), Error(device).
  PointsProgram(PointsWorkload& workload, DeviceResources& device, Mode mode, Items fits);

  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  ResultPolicy result_policy() const override {
    return mode_ == Mode::end_to_end ? ResultPolicy::slice : ResultPolicy::publish;
  }
  void finished(const Slice& slice) override;
  Completion publish(Stream& stream) override;  // resident: brings the device's matrices

 private:
  void upload(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream);
  void download(std::uint64_t first, std::uint64_t end, Bytes offset, unsigned slot,
                Stream& stream);
  void upload_units(Stream& stream);

  PointsWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const PointsKernel kernel_;
  const PointsLayout layout_;
  std::unique_ptr<Buffer> input_[2], output_[2], units_;
  bool units_there_ = false;

  std::vector<Slice> done_;   // resident: slices since prepare
  std::uint64_t sample_ = 0;  // the workload's sample at prepare
};

}  // namespace mgpu::fisher
