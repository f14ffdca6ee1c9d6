// One problem as a Workload: what it begins with, who owns which planes, digest and verification.
// What runs on a device is in lbm_program.hpp.
#pragma once

#include <optional>
#include <vector>

#include "lib/workload/checkpoints.hpp"
#include "lib/workload/pages.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/common/shares.hpp"
#include "suites/lbm/blocks.hpp"
#include "suites/lbm/lattice.hpp"
#include "suites/lbm/reference.hpp"

namespace mgpu::lbm {

class LbmWorkload final : public Workload,
                          public IterativeWorkload,
                          public MovableWorkload,
                          public PeerExchange,
                          public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit LbmWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this, .tunable = this};
  }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::span<const std::byte> transfer_memory() const override {
    return {pages_.data(), in_memory(problem_)};
  }
  Exchanged exchanged(Mode) const override;
  void connect(PeerGroup& group) override;
  void disconnect() override;
  // Throws Error(unsupported) where a share has fewer planes than others need of it.
  void set_partition(std::span<const Owner> owners) override;
  // Of blocks nothing is moved, and where devices cannot put planes into each other's lattices.
  bool repartition(std::span<const Owner> owners) override;
  void begin_sample() override;
  std::uint32_t checkpointed_rounds() const override { return checkpoints_.complete(); }
  void restart() override;
  bool may_checkpoint(std::uint32_t steps) const override { return checkpoints_.may_take(steps); }
  void merge() override {}
  std::string digest() const override;  // SHA-256 of the cells
  // Every cell with plain loops on the host; of `sample`, and of boxes so large that the host has
  // no room or time for that, windows.
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;  // .npy, or .vtk by its name

  static Bytes in_memory(const Problem& problem);  // of the host, without what verification takes

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  const Lattice& lattice() const { return lattice_; }
  const Tables& tables() const { return beginning_->tables(); }
  std::span<std::byte> result() { return {pages_.data(), problem_.fields_bytes()}; }
  std::span<const std::byte> file() const {  // the cells of --input, if there is one
    return {pages_.data() + problem_.fields_bytes(),
            problem_.from_file ? problem_.fields_bytes() : 0};
  }
  std::span<std::byte> checkpoint(
      std::uint32_t steps);  // where it has its place: planes of populations of rows, without gaps
  void checkpointed(const Slice& planes, std::uint32_t steps) {
    checkpoints_.arrived(planes, steps);
  }
  std::uint32_t begun_from() const {
    return begun_from_;
  }  // steps done in the state that the sample begins with
  std::uint64_t sample() const { return arrivals_.sample(); }
  void arrived(const Slice& items) { arrivals_.arrived({&items, 1}); }
  std::span<const Owner> owners() const { return owners_; }
  std::span<const Transfer> transfers() const { return transfers_; }
  // Lattices that devices of the group put planes into, where they can; null: they have lattices of
  // their own.
  SharedMemory* shared(std::uint32_t lattice, std::uint64_t piece) const {
    return shared_[lattice].empty() ? nullptr : shared_[lattice][piece].get();
  }
  // What crosses borders of slabs from step to step: blocks of the populations of a plane, five of
  // them of the plane before the share and five of the one after it. With two lattices a block for
  // each; in place one of them, and one for what left its cells beyond the borders. Null with
  // --depth above 1, of blocks, and without a group.
  SharedMemory* halos() const { return halos_.get(); }
  SharedMemory& landing(std::uint32_t which) { return *landing_[which]; }  // of blocks
  bool is_connected() const { return halos_ || landing_[0] || !shared_[0].empty(); }
  struct Variant {
    std::string name;           // empty: there is but one
    std::size_t local = 1;      // work-items of a group, along x
    std::uint32_t streams = 0;  // STREAMING of kernels/lbm.cl
  };
  Variant variant_on(const DeviceTraits& device) const;

 private:
  bool has_variant(const DeviceTraits& device, const std::string& name) const override;
  std::string wrong_cell(const Window& window, const std::vector<Cell>& expected) const;

  Problem problem_;
  Shape shape_;
  Lattice lattice_;
  std::string kernel_;  // a variant that is asked for, or "auto"
  unsigned host_threads_;
  Pages pages_;  // the result, what a file holds, two checkpoints where there are any
  Checkpoints checkpoints_;
  std::optional<Beginning> beginning_;
  std::uint32_t begun_from_ = 0;
  std::vector<std::unique_ptr<SharedMemory>> shared_[2];
  std::unique_ptr<SharedMemory> halos_, landing_[2];
  std::vector<Owner> owners_;
  std::vector<Transfer> transfers_;
  Arrivals arrivals_;
  struct Compared {  // with plain loops on the host
    Window window;
    std::vector<Cell> expected;
  };
  std::vector<Compared> all_, some_;  // the whole box; windows of it
};

}  // namespace mgpu::lbm
