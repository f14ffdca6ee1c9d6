// One device's part: it computes slices of series or of shifts, chunk by chunk, to moments.
#pragma once

#include "suites/pac/pac_workload.hpp"
#include "suites/pac/stages.hpp"

namespace mgpu::pac {

class PacProgram : public DeviceProgram {
 public:
  // Takes slices of at most `fits` items. `workload` must outlive this object. Throws
  // Error(out_of_memory), Error(device).
  PacProgram(PacWorkload& workload, DeviceResources& device, Method method, Mode mode, Items fits);
  ~PacProgram() override;

  std::string kernel_variant() const override { return to_string(layout_.method); }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  ResultPolicy result_policy() const override;
  void finished(const Slice& slice) override;
  Completion collect(Stream& stream) override;  // --axis permutation: the device's partial sums
  // Resident, --axis batch or channel: the device's results.
  Completion publish(Stream& stream) override;

 private:
  bool by_permutation() const { return problem_.axis == Axis::permutation; }
  bool slices() const { return layout_.slots == 2; }
  void clear(Stream& stream);
  void move_rows(const Slice& slice, unsigned slot, bool up, Stream& stream);

  PacWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const Layout layout_;
  std::unique_ptr<Kernel> clear_;
  std::size_t clear_local_;
  Filter filter_;
  std::unique_ptr<Surrogates> surrogates_;
  std::unique_ptr<Buffer> input_[2], moments_[2];

  std::span<float> stage_[2];            // host memory of slices of a folder
  std::vector<float> stages_unpinned_;   // used if the workload has no pinned stages left
  std::shared_ptr<const Pages> loaded_;  // a folder's recordings, while load() uploads them
  std::vector<Slice> done_;              // slices since prepare()
  std::uint64_t sample_ = 0;             // number of the workload's sample at prepare()
  bool brought_ = false;                // --axis permutation: the sums on the device were collected
  std::span<Moments> part_;             // host memory for collect()
  std::vector<Moments> part_unpinned_;  // used if the workload has no pinned part left
};

}  // namespace mgpu::pac
