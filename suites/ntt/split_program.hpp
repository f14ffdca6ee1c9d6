// One device's part of a transform. Row k1 of all columns goes to the device that has it: columns
// are stored row by row, so that what another device gets is contiguous. There it lies next to the
// columns of other devices, and the pass over rows reads a row from all of them (Source).
#pragma once

#include "suites/ntt/split_workload.hpp"

namespace mgpu::ntt {

class SplitProgram final : public PartitionedProgram<SplitWorkload> {
 public:
  SplitProgram(SplitWorkload& workload, DeviceResources& device, Mode mode,
               std::unique_ptr<Passes> passes);

  std::string kernel_variant() const override { return passes_->variant().name(); }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override { passes_->load(stream); }
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;

 private:
  struct Range {
    std::uint64_t begin, end;
    std::uint64_t size() const { return end - begin; }
  };
  Range columns_of(const Slice& items) const {
    return {items.begin * problem_.columns_per_item(), items.end * problem_.columns_per_item()};
  }
  Range rows_of(const Slice& items) const {
    return {items.begin * problem_.rows_per_item(), items.end * problem_.rows_per_item()};
  }
  void upload_columns(const Slice& slice, Stream& stream);
  void find_sources(const Slice& slice);
  void find_targets(const Slice& slice);
  void send(const Slice& slice);
  // Returns the place in the memory of an owner, for the columns of others, of this share's
  // columns of its first row.
  std::uint64_t place_at(const Owner& owner, const Slice& share) const;
  void bring_result(const Slice& slice, Stream& stream) override;

  const std::unique_ptr<Passes> passes_;
  std::unique_ptr<Buffer> input_;  // all columns, or end to end the share's
  std::unique_ptr<Buffer> sent_;   // rows of the share's columns
  std::unique_ptr<Buffer> result_;
  Sources sources_;
  std::size_t owners_ = 0;  // in sources_
  // If columns are stored to others: their memory, in the order of their rows.
  Targets targets_;
  std::vector<Buffer*> to_;
};

}  // namespace mgpu::ntt
