// One device's part of a commitment: it extends its columns, then hashes rows as the partition
// says. Columns are numbered as in the problem in every buffer.
#pragma once

#include "suites/ntt/commit_workload.hpp"

namespace mgpu::ntt {

// Argument of `absorb` in kernels/poseidon2.cl: the element of the first row and column in the
// buffer, and elements from a column to the next; rows and columns; the first row in the buffers
// of states that it reads and of states or digests that it writes; whether these columns are the
// first or the last ones of their rows.
struct Absorb {
  std::uint64_t at = 0, stride = 0;
  std::uint32_t rows = 0, columns = 0, state_at = 0, out_at = 0, first = 0, last = 0;
};

class CommitProgram final : public PartitionedProgram<CommitWorkload> {
 public:
  CommitProgram(CommitWorkload& workload, DeviceResources& device, Mode mode,
                const std::string& preferred);

  std::string kernel_variant() const override { return interpolation_->variant().name(); }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;

 private:
  using Range = Problem::Range;
  bool is_alone() const { return others_.empty(); }
  bool evaluates_cosets() const {
    return problem_.partition == Partition::cosets && problem_.cosets > 0;
  }
  Buffer& coefficients() const;
  void extend(const Slice& slice, Stream& stream);
  void send(const Slice& slice);
  void hash(const Slice& slice, Stream& stream);
  void hash_by_relay(const Slice& slice, Stream& stream);
  void absorb(Buffer& columns, const Absorb& argument, Buffer& states, Buffer& out, Stream& stream);
  void build_tree(const Slice& slice, Stream& stream);
  void bring_result(const Slice& slice, Stream& stream) override;

  const std::unique_ptr<Passes> interpolation_, evaluation_;
  std::unique_ptr<Kernel> absorb_, compress_;
  std::unique_ptr<Buffer> input_, between_, coefficients_, extended_;
  std::unique_ptr<Buffer> states_;  // and digests of rows
  std::unique_ptr<Buffer> tree_;    // nodes above them
  // Where the digests of the share's rows are, in whole digests.
  Buffer* leaves_ = nullptr;
  std::uint64_t leaves_at_ = 0;
};

}  // namespace mgpu::ntt
