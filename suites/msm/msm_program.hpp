// One device's part of an MSM: it adds slices into buckets, reduces the buckets to a few sums per
// window, and downloads these.
#pragma once

#include "suites/msm/msm_workload.hpp"
#include "suites/msm/self_test.hpp"

namespace mgpu::msm {

class MsmProgram : public DeviceProgram, public SelfTested {
 public:
  // Takes slices of at most `fits` items. `workload` must outlive this object. Throws
  // Error(out_of_memory).
  MsmProgram(MsmWorkload& workload, DeviceResources& device, Mode mode, Items fits);

  ProgramInterfaces interfaces() override { return {.self_tested = this}; }
  Completion self_test(Stream& stream) override;
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  Completion collect(Stream& stream) override;
  std::string kernel_variant() const override;

 private:
  void make_kernels(DeviceResources& device, bool ptx);
  struct Inputs {  // location of a slice's points and scalars
    Buffer* points;
    Buffer* scalars;
    std::uint64_t first_point, first_scalar;
  };
  Inputs inputs(const Slice& slice, unsigned slot, Stream& stream);
  const Windows& windows_of_sample() const;
  unsigned sums_each() const { return weigh_ ? 1 : windows_.bits; }  // per set of buckets
  void clear_buckets(Stream& stream);
  void add_windows(std::uint64_t points, const Inputs& from, Stream& stream);
  void add(const Pass& pass, const Inputs& from, unsigned first_window, Stream& stream);
  void sort(const Pass& pass, const Inputs& inputs, unsigned first_window, Stream& stream);
  struct Halving {  // a launch of reduce()
    std::uint32_t level = 0, levels = 1;
    std::uint64_t sums = 0;  // that the first of the levels makes in each set
    bool by_four = false;
  };
  std::vector<Halving> halvings_of(unsigned sets, unsigned levels) const;
  void reduce(std::uint64_t sum, Stream& stream);
  // `wanted`: work-items of a group, which the kernel may have fewer of.
  void launch(Kernel& kernel, std::uint64_t work_items, std::size_t wanted,
              std::initializer_list<KernelArg> args, Stream& stream, std::size_t rows = 1,
              std::size_t layers = 1);

  MsmWorkload& workload_;
  std::unique_ptr<SelfTest> self_test_;  // freed after the test
  std::unique_ptr<BaseMaker> maker_;     // freed before the first sample
  std::unique_ptr<TableMaker> table_;    // freed before the first sample
  const DeviceTraits traits_;
  const Mode mode_;
  const bool has_table_;
  // Work-items of a group: wanted for additions; of the kernels of prefix sums; of halve_by_four.
  const std::size_t heavy_;
  std::size_t scan_ = 1, by_four_ = 1;
  std::unique_ptr<Kernel> clear_words_, clear_sums_, digits_, count_digits_, place_, scan_blocks_,
      scan_sums_, make_tasks_, accumulate_, combine_, halve_,
      halve_by_four_,  // null on CPUs
      weigh_;          // null if the host weights the sums
  std::unique_ptr<Buffer> points_[2], scalars_[2], codes_, ranks_, entries_, counts_, bases_, plan_,
      tasks_, longs_, partials_, buckets_, scratch_, results_;

  Windows windows_;                               // windows of the current sample
  bool open_ = false;                             // the buckets have been cleared and hold sums
  bool added_ = false;                            // the current slice has added points to buckets
  unsigned touched_begin_ = 0, touched_end_ = 0;  // range of bucket sets that hold sums
  struct Reduced {                                // sets of buckets whose sums are in results_
    std::uint64_t sum;
    unsigned first_set, sets;
  };
  std::vector<Reduced> reduced_;    // since the last collect(), in the order of results_
  std::uint64_t result_count_ = 0;  // bucket sums in results_
  std::vector<std::byte> sums_;     // target of the current download
};

}  // namespace mgpu::msm
