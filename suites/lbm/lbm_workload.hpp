// A flow as a Workload: initial state, partition of planes, verification. The device part is in
// lbm_program.hpp.
#pragma once

#include <optional>
#include <vector>

#include "suites/common/iterative.hpp"
#include "suites/lbm/lattice.hpp"
#include "suites/lbm/reference.hpp"

namespace mgpu::lbm {

class LbmWorkload final : public CheckpointedWorkload<Problem>, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit LbmWorkload(const SuiteParams& params) : LbmWorkload(problem_of(params), params) {}

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this, .tunable = this};
  }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  Bytes alone_bytes(const DeviceTraits&, Mode mode) const override {
    const Lattice all = lattice_of(problem_, {});
    return bytes_on_device(problem_, all, planes_of_file(problem_, all, mode)).all;
  }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  Exchanged exchanged(Mode) const override;
  void connect(PeerGroup& group) override;
  void disconnect() override;
  // Throws Error(unsupported) if a share has fewer planes than its neighbours need.
  void set_partition(std::span<const Owner> owners) override;
  // Returns false for blocks, and if devices cannot put planes into each other's lattices.
  bool repartition(std::span<const Owner> owners) override;
  // Compares every cell with plain loops on the host. Compares windows at level sample, and for
  // boxes so large that the host has no room or time for all cells.
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;  // .npy, or .vtk by its name

  static Bytes in_memory(const Problem& problem);  // on the host, without memory for verification

  // Called by programs, possibly from several threads at once.
  const Lattice& lattice() const { return lattice_; }
  const Tables& tables() const { return beginning_->tables(); }
  std::span<std::byte> result() const { return results_; }
  std::span<const std::byte> file() const {  // the cells of --input; empty without it
    return {pages_.data() + problem_.fields_bytes(),
            problem_.from_file ? problem_.fields_bytes() : 0};
  }
  // Returns the place of a checkpoint: planes of populations of rows, without gaps.
  std::byte* checkpoint(std::uint32_t steps) const;
  std::span<const Transfer> transfers() const { return transfers_; }
  // Returns pieces of the lattices that devices of the group put planes into. Empty if they cannot:
  // each device then has its own lattices.
  const SharedRing& shared(std::uint64_t piece) const { return shared_[piece]; }
  // Returns memory for what crosses borders of slabs in each step: blocks of the populations of a
  // plane, of which five belong to the plane before the share and five to the one after it. With
  // two lattices there is a block for each; in place there is one for the lattice and one for
  // populations that crossed a border. Null with --depth above 1, for blocks, and without a group.
  SharedMemory* halos() const { return halos_.get(); }
  // Tells whether kernels of steps store there what crosses borders.
  bool stores_to_others() const { return stores_to_others_; }
  SharedMemory* half_halos() const { return half_halos_.get(); }  // halos on their way
  const SharedRing& landing() const { return landing_; }          // receive memory of blocks
  bool is_connected() const { return halos_ || landing_ || shared_.front(); }
  struct Variant {
    std::string name;           // empty if there is only one
    std::size_t local = 1;      // work-items per group, along x
    std::uint32_t streams = 0;  // STREAMING of kernels/lbm.cl
  };
  Variant variant_on(const DeviceTraits& device) const;

 private:
  struct Compared {  // cells expected, from plain loops on the host
    Window window;
    std::vector<Cell> expected;
  };
  LbmWorkload(const Problem& problem, const SuiteParams& params);
  bool has_variant(const DeviceTraits& device, const std::string& name) const override;
  // Tells whether steps would store what crosses borders of slabs, wherever kernels reach it.
  bool may_store_to_others() const {
    return problem_.overlap && problem_.columns == 1 && problem_.lattices == 2 &&
           problem_.half_block == 0;
  }
  const char* halved() const;  // what is in half precision: "populations", "halos"
  // Compares the expected cells with those of a run in fp32.
  Findings compare_precision(const std::vector<Compared>& compared) const;
  std::string wrong_cell(const Window& window, const std::vector<Cell>& expected) const;

  Lattice lattice_;
  std::string kernel_;  // the requested variant, or "auto"
  std::optional<Beginning> beginning_;
  std::vector<SharedRing> shared_;  // by piece
  SharedRing landing_;
  std::unique_ptr<SharedMemory> halos_, half_halos_;
  bool stores_to_others_ = false;
  std::vector<Transfer> transfers_;
  std::vector<Compared> all_, some_;                 // the whole box; windows of it
  mutable std::optional<Findings> precision_found_;  // cached, of this many windows
  mutable std::size_t precision_found_of_ = 0;
};

}  // namespace mgpu::lbm
