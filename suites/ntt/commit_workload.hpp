// A commitment to columns as an iterative Workload of two iterations: columns are extended, rows of
// all columns are hashed, and the hashes are the leaves of a Merkle tree, whose root is the result.
// Devices own columns and rows. After the first iteration they send each other the rows of their
// columns or the coefficients, or in the second one they hand on the states of the hashes
// (Partition).
//
// Each device computes the subtrees of whole blocks of rows; the host compresses their roots.
#pragma once

#include <optional>
#include <vector>

#include "suites/common/iterative.hpp"
#include "suites/ntt/passes.hpp"
#include "suites/ntt/poseidon2.hpp"

namespace mgpu::ntt {

class CommitWorkload final : public PartitionedWorkload<Problem>, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  CommitWorkload(const Problem& problem, const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .exchange = this, .tunable = this};
  }
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override { return exchanged_by(problem_.partition); }
  std::vector<ExchangeChoice> choices() const override;
  void connect(PeerGroup& group) override { landing_.allocate(group, landing_bytes(), 1); }
  void disconnect() override { landing_.free(); }
  std::string digest() const override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by programs, possibly from several threads at once.
  std::span<const std::byte> input() const { return {pages_.data(), problem_.bytes()}; }
  // Returns the memory for what others send: coefficients of all columns, states of all rows, or
  // rows of others' columns.
  const SharedRing& landing() const { return landing_; }
  // Returns the place in an owner's memory for its rows of the columns of another share.
  Bytes place_at(const Owner& owner, const Slice& share) const;
  std::span<std::byte> roots() const;  // of the blocks
  // Returns the rows that are compared, and what is downloaded for one of them: its hash, and the
  // nodes next to its path up to the root of its block.
  std::span<const std::uint64_t> opened() const { return opened_; }
  std::span<std::byte> path(std::size_t opened) const;

 private:
  Exchanged exchanged_by(Partition partition) const;
  Bytes landing_bytes() const;
  std::span<const std::byte> column(std::uint64_t column) const;
  std::vector<Poseidon2::Digest> digests_in(std::span<const std::byte> words) const;
  // Compresses the roots of blocks.
  Poseidon2::Digest root() const { return hash_.root(digests_in(roots())); }
  std::string check_whole();
  std::string check_opened();
  // Compute what the root, and the hashes of the opened rows, must be.
  Poseidon2::Digest root_by_reference() const;
  std::vector<Poseidon2::Digest> opened_leaves() const;

  const std::size_t devices_;
  const Poseidon2 hash_;
  std::vector<std::uint64_t> opened_;
  // Results of the reference; empty: not computed yet.
  std::optional<Poseidon2::Digest> expected_root_;
  std::vector<Poseidon2::Digest> expected_leaves_;
  SharedRing landing_;
};

}  // namespace mgpu::ntt
