// One device's part of a geometric workload: its multivectors stay resident or are brought with
// each slice.
#pragma once

#include "suites/geometric/geometric_workload.hpp"

namespace mgpu::geometric {

class GeometricProgram final : public DeviceProgram {
 public:
  // `fits`: items per slice at most. `workload` must outlive the program. Throws
  // Error(out_of_memory), Error(device), Error(unsupported).
  GeometricProgram(GeometricWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                   const Variant& variant);

  std::string kernel_variant() const override { return variant_.name; }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  ResultPolicy result_policy() const override {
    return mode_ == Mode::end_to_end ? ResultPolicy::slice : ResultPolicy::publish;
  }
  void finished(const Slice& slice) override { workload_.arrivals().arrived({&slice, 1}); }
  Completion publish(Stream& stream) override;

 private:
  void upload(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream);
  void download(const Slice& slice, Bytes offset, unsigned slot, Stream& stream);

  GeometricWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const Variant variant_;
  std::unique_ptr<Kernel> kernel_;
  // Buffers by slot; a resident program has only the first slot.
  std::unique_ptr<Buffer> operands_[2][2], products_[2];
  std::vector<Slice> done_;  // resident: slices since prepare
  std::uint64_t sample_ = 0;
};

}  // namespace mgpu::geometric
