// All shortest paths of a graph as a Workload that goes in rounds: weights and lengths in host
// memory, who owns which rows, verification. What runs on a device is in paths_program.hpp.
#pragma once

#include <map>
#include <vector>

#include "lib/workload/pages.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/tropical/blocks.hpp"
#include "suites/tropical/kernels.hpp"
#include "suites/tropical/panel_order.hpp"
#include "suites/tropical/shortest_paths.hpp"

namespace mgpu::tropical {

Shape shape_of_paths(const Problem& problem);
Bytes host_bytes_of_paths(const Problem& problem);

class PathsWorkload final : public Workload,
                            public IterativeWorkload,
                            public PeerExchange,
                            public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  PathsWorkload(const Problem& problem, const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .exchange = this, .tunable = this};
  }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override {
    return {pages_.data(), host_bytes_of_paths(problem_)};
  }
  Exchanged exchanged(Mode) const override {
    return {false, 0, u32(blocks_.count()), blocks_.panel_bytes() * (problem_.paths ? 2 : 1)};
  }
  void connect(PeerGroup& group) override;
  void disconnect() override;
  void set_partition(std::span<const Owner> owners) override {
    owners_.assign(owners.begin(), owners.end());
  }
  void begin_sample() override { arrivals_.begin_sample(results()); }
  void merge() override {}
  std::string digest()
      const override;  // SHA-256 of the bytes of lengths, and of vertices before the last
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  const Blocks& blocks() const { return blocks_; }
  std::span<const std::byte> weights() const { return {pages_.data(), one()}; }
  std::span<std::byte> lengths() { return {pages_.data() + one(), one()}; }
  std::span<std::byte> before() { return {pages_.data() + 2 * one(), problem_.paths ? one() : 0}; }
  std::span<const std::byte> lengths() const { return {pages_.data() + one(), one()}; }
  std::span<const std::byte> before() const {
    return {pages_.data() + 2 * one(), problem_.paths ? one() : 0};
  }
  std::uint64_t sample() const { return arrivals_.sample(); }
  void arrived(const Slice& blocks) { arrivals_.arrived({&blocks, 1}); }  // these are on the host
  const std::vector<Owner>& owners() const { return owners_; }
  // Rows of a block for the round that has it, in one of the panels by turns, and with paths what
  // goes with them; null: there is no group.
  SharedMemory* panel(std::uint64_t block) { return panels_[block % panels_at_once].get(); }
  SharedMemory* panel_paths(std::uint64_t block) {
    return panel_paths_[block % panels_at_once].get();
  }

 private:
  bool has_variant(const DeviceTraits& device, const std::string& variant) const override;
  template <class Number>
  void fill(const SuiteParams& params);
  template <class Number>
  Finding check(bool whole, std::uint64_t seed);
  std::vector<Variant> candidates(const DeviceTraits& device) const;
  Geometry geometry() const {
    return Geometry::of_rows(blocks_.vertices, blocks_.stride(), blocks_.edge);
  }
  Purpose purpose() const { return {true, ordered_}; }
  std::span<std::byte> results() { return {lengths().data(), lengths().size() + before().size()}; }
  Bytes one() const { return problem_.sizes().c_bytes(); }

  Problem problem_;
  Blocks blocks_;
  Shape shape_;
  unsigned host_threads_;
  Pages pages_;
  bool ordered_ = false;
  std::vector<double> potentials_;
  std::unique_ptr<SharedMemory> panels_[panels_at_once], panel_paths_[panels_at_once];
  std::vector<Owner> owners_;
  Arrivals arrivals_;
};

}  // namespace mgpu::tropical
