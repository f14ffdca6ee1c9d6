// One device's part of a flow: its planes, or blocks of them, and next to these the data of other
// devices. Steps alternate between two lattices, or are done in place.
#pragma once

#include "suites/lbm/lbm_workload.hpp"

namespace mgpu::lbm {

class LbmProgram final : public HaloProgram<LbmWorkload>, public MovableProgram {
 public:
  LbmProgram(LbmWorkload& workload, DeviceResources& device, Mode mode);

  ProgramInterfaces interfaces() override { return {.iterative = this, .movable = this}; }
  std::string kernel_variant() const override { return variant_.name; }
  void load(Stream& stream) override;
  void prepare(Stream&) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void move(const Slice& from, const Slice& to, std::uint32_t steps, Stream& stream) override;
  Completion checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) override;

 private:
  struct Planes {  // [first, end), which may continue past an end of the box
    std::int64_t first = 0, end = 0;
  };
  static Planes planes_of(const Slice& slice) {
    return {static_cast<std::int64_t>(slice.begin), static_cast<std::int64_t>(slice.end)};
  }
  static Planes planes_of(const Patch& patch) { return planes_of(Slice{patch.first, patch.end}); }
  std::vector<Run> runs(const Planes& planes) const {
    return runs_of(problem_, workload_.lattice(), planes.first, planes.end);
  }
  Grid grid(const Kernel& kernel, std::uint64_t rows, std::uint64_t planes) const;
  Buffer& piece(std::uint32_t lattice, std::uint64_t which) const {
    return pieces_[which][lattice];
  }
  struct Beside {
    Buffer* in;
    std::uint32_t at;  // number of the plane in that buffer
  };
  Beside beside(std::int64_t z, std::uint32_t lattice);
  std::uint32_t lattice_after(std::uint32_t steps) const {
    return problem_.lattices == 2 ? steps % 2 : 0;
  }
  // Returns the layout of populations after `steps` steps, as kernels/lbm.cl defines it.
  std::uint32_t layout_after(std::uint32_t steps) const {
    return problem_.lattices == 2 ? 0 : 1 + steps % 2;
  }
  void take_share(const Slice& slice);  // sets the share and its neighbours
  void begin(const Planes& planes, Stream& stream);
  void restore(const std::byte* host, const Planes& planes, std::uint32_t steps, Stream& stream);
  void step(const Planes& planes, std::uint64_t left, std::uint64_t right, std::uint32_t round,
            Stream& stream);
  void step_rows(const Planes& planes, std::uint32_t round, Stream& stream) {
    step(planes, 0, problem_.n, round, stream);
  }
  void step_patch(const Patch& patch, std::uint32_t round, Stream& stream) {
    step(planes_of(patch), patch.left, patch.right, round, stream);
  }
  bool stores_to_others() const { return peer_ != nullptr && workload_.stores_to_others(); }
  void add_targets(const Run& run, std::uint32_t round, std::vector<KernelArg>& args);
  // Puts plane z of this device into a lattice of another one, where its number is z + `on`.
  void put(std::int64_t z, std::uint32_t steps, DeviceIndex to, std::int64_t on);
  void put_crossing(std::int64_t z, std::uint32_t lattice, std::uint32_t first, DeviceIndex to,
                    std::uint32_t block);
  bool step_edges(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void step_share(const Slice& slice, std::uint32_t round, std::int64_t more,
                  Stream& stream) override;
  void send(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void take(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void bring_result(const Slice& slice, Stream& stream) override;
  void send_slab(const Slice& slice, std::uint32_t steps);
  void send_halves(const Slice& slice, std::uint32_t steps, Stream& stream);
  void take_halves(std::uint32_t steps, Stream& stream);
  void take_crossed(const Planes& mine, Stream& stream);
  void copy_block(bool packs, const Transfer& transfer, Buffer& packed, std::uint64_t at,
                  std::uint32_t steps, Stream& stream);

  const LbmWorkload::Variant variant_;
  std::unique_ptr<Kernel> step_between_, step_across_, step_within_, begin_, look_, take_crossed_,
      pack_, unpack_, copy_kernel_;
  std::unique_ptr<Buffer> along_, across_, file_, fields_, packed_;
  std::vector<Ring> pieces_;  // lattices, by piece
  // Copies of the last checkpoint by piece, on their way to the host.
  std::vector<std::unique_ptr<Buffer>> copies_;
  std::optional<BlockExchange> exchange_;
  std::vector<Patch> mine_;  // blocks: patches of the share
  bool mailed_ = false;      // planes next to the share are among the halos, not in the lattice
};

}  // namespace mgpu::lbm
