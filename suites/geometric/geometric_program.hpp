// One device's part: its multivectors, resident or brought slice by slice.
#pragma once

#include "suites/geometric/geometric_workload.hpp"

namespace mgpu::geometric {

class GeometricProgram final : public DeviceProgram {
 public:
  // Takes slices of at most `fits` items. `workload` outlives it. Throws Error(out_of_memory),
  // Error(device), Error(unsupported).
  GeometricProgram(GeometricWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                   const Variant& variant);

  std::string kernel_variant() const override { return variant_.name; }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  Brings brings() const override {
    return mode_ == Mode::end_to_end ? Brings::slice : Brings::publish;
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
  std::unique_ptr<Buffer> operands_[2][2],
      products_[2];          // by slot; a resident one has but the first
  std::vector<Slice> done_;  // since prepare, resident
  std::uint64_t sample_ = 0;
};

}  // namespace mgpu::geometric
