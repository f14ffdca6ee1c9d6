// The part of the suite that runs on one device: arrays that stay there, or room for two slices of
// each.
#pragma once

#include <optional>

#include "suites/kernel/kernel_workload.hpp"
#include "suites/kernel/launches.hpp"
#include "suites/kernel/layout.hpp"
#include "suites/kernel/parts.hpp"
#include "suites/kernel/round_flag.hpp"
#include "suites/kernel/round_sums.hpp"
#include "suites/kernel/states.hpp"

namespace mgpu::kernel {

class KernelProgram final : public DeviceProgram, public IterativeProgram, public MergingProgram {
 public:
  KernelProgram(KernelWorkload& workload, DeviceResources& device, Mode mode, Items fits);

  // Returns the device memory needed: that of all arrays, or of slices of `fits` items where slices
  // suffice.
  static Bytes bytes(const Problem& problem, Mode mode, Items fits);
  static Bytes largest(const Problem& problem, Mode mode, Items fits);

  ProgramInterfaces interfaces() override { return {.iterative = this, .merging = this}; }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first, std::uint32_t most,
                               Stream& stream) override;
  // The flag of each round decides whether there is another.
  bool is_one_by_one() const override { return flag_.has_value(); }
  ResultPolicy result_policy() const override {
    return combines_                   ? ResultPolicy::collect
           : mode_ == Mode::end_to_end ? ResultPolicy::slice
                                       : ResultPolicy::publish;
  }
  void finished(const Slice& slice) override { workload_.arrived(slice, id_); }
  Completion collect(Stream& stream) override;
  Completion merge(Stream& stream) override;
  Completion publish(Stream& stream) override;

 private:
  struct Array {
    std::unique_ptr<Buffer> memory[2];  // the second only if slices alternate
    // Items from its index 0 to its end; of a slot, only their number is fixed.
    Slice of;
    Bytes size = 0;  // excludes the guard zones around it
    bool slots = false;
    std::vector<std::byte> sums;  // accumulators: first the initial value, then the result
  };
  bool is_end_to_end() const { return mode_ == Mode::end_to_end; }
  void allocate(Items fits);
  void upload(std::size_t argument, const Slice& slice, Array& array, unsigned slot,
              Stream& stream);
  void upload_whole(std::size_t argument, Stream& stream);
  void download(std::size_t argument, const Slice& slice, unsigned slot, Stream& stream);
  void bring_result(const Slice& slice, Stream& stream);
  Buffer* part(std::size_t argument, unsigned slot, Bytes offset, Bytes size);
  Buffer* given(std::size_t argument, const Slice& slice, unsigned slot);

  KernelWorkload& workload_;
  const Problem& problem_;
  DeviceResources& device_;
  const std::string id_;
  const Mode mode_;
  bool combines_ = false;
  Launches launches_;
  std::vector<Array> arrays_;  // one per argument
  std::optional<States> states_;
  std::optional<RoundSums> sums_;
  std::optional<RoundFlag> flag_;  // of repeat.while
  Parts parts_;                    // declared after the buffers, so that it is freed first
  std::vector<Slice> done_, collecting_;
  std::vector<std::vector<std::byte>> zones_;  // guard zones as read back
  unsigned slot_ = 0;                          // slot of the slice whose rounds are enqueued
  std::uint32_t last_round_ = 0;               // the youngest of them
  std::uint64_t sample_ = 0;
};

}  // namespace mgpu::kernel
