// All shortest paths of a graph as an iterative Workload: weights and lengths in host memory,
// partition of the rows, verification. paths_program.hpp has what runs on a device.
#pragma once

#include <vector>

#include "suites/common/iterative.hpp"
#include "suites/tropical/blocks.hpp"
#include "suites/tropical/kernels.hpp"
#include "suites/tropical/panel_order.hpp"
#include "suites/tropical/shortest_paths.hpp"

namespace mgpu::tropical {

Shape shape_of(const Problem& problem);  // shape of shortest paths
Bytes host_bytes_of_paths(const Problem& problem);

class PathsWorkload final : public PartitionedWorkload<Problem>, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  PathsWorkload(const Problem& problem, const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .exchange = this, .tunable = this};
  }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override {
    return {false, 0, u32(blocks_.count()), blocks_.panel_bytes() * (problem_.paths ? 2 : 1)};
  }
  void connect(PeerGroup& group) override;
  void disconnect() override {
    panels_.free();
    panel_paths_.free();
  }
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by the programs, possibly from several threads at once.
  const Blocks& blocks() const { return blocks_; }
  std::span<const std::byte> weights() const { return {pages_.data(), one()}; }
  std::span<std::byte> lengths() const { return results_.first(one()); }
  std::span<std::byte> before() const { return results_.subspan(one()); }  // empty without paths
  // Return the memory for the rows of a round's block and, with paths, for their paths; both are
  // empty if there is no group.
  const SharedRing& panels() const { return panels_; }
  const SharedRing& panel_paths() const { return panel_paths_; }

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
  Bytes one() const { return problem_.sizes().c_bytes(); }

  Blocks blocks_;
  bool ordered_ = false;
  std::vector<double> potentials_;
  SharedRing panels_, panel_paths_;
};

}  // namespace mgpu::tropical
