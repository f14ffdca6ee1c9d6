// What one device does: it has all parameters, and in each step computes the gradients of its
// shards, adds them up to nodes of the tree, gives these to the others, and makes the same step as
// they do.
#pragma once

#include <optional>

#include "suites/pinn/gradients.hpp"
#include "suites/pinn/pinn_workload.hpp"

namespace mgpu::pinn {

class TrainingProgram final : public DeviceProgram, public IterativeProgram, public MovableProgram {
 public:
  TrainingProgram(PinnWorkload& workload, DeviceResources& device, Mode mode, Way way,
                  std::uint64_t shards);

  ProgramInterfaces interfaces() override { return {.iterative = this, .movable = this}; }
  std::string kernel_variant() const override { return way_.name; }
  void load(Stream& stream) override;
  void prepare(Stream&) override {}
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first, std::uint32_t most,
                               Stream& stream) override;
  void move(const Slice& from, const Slice& to, std::uint32_t steps, Stream& stream) override;
  Completion checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) override;
  Brings brings() const override {
    return mode_ == Mode::end_to_end ? Brings::slice : Brings::publish;
  }
  Completion publish(Stream& stream) override;

 private:
  void begin_state(Buffer& from, Stream& stream);
  void draw(const Slice& slice, std::uint32_t step, Stream& stream);
  void settle(const Slice& slice,
              Stream& stream);  // its shards from now on, and who has the others
  void step(const Slice& slice, std::uint32_t round, Stream& stream);
  unsigned launches_of(const Slice& slice, std::uint32_t round) const;  // nothing is exchanged
  bool draws_before(std::uint32_t round) const;
  std::optional<std::uint32_t> snapshot_after(std::uint32_t steps) const;
  void keep_snapshot(std::uint32_t steps, Stream& stream);
  Buffer* exchange(const Slice& slice, std::uint32_t round, Stream& stream);
  void bring_ending(const Slice& slice, Stream& stream);
  Ending ending(const Slice& slice) const;
  std::vector<float> own_layout(const float* from) const;
  Buffer& parameters_after(std::uint32_t steps) { return *parameters_[steps % 2]; }

  PinnWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const Way way_;
  const Network wide_;  // as it is on the device
  const std::uint32_t count_, stride_, hidden_;
  const std::size_t local_;
  const bool in_series_;
  Peer* peer_;  // null: it exchanges nothing, and shares no sample
  std::unique_ptr<Gradients> gradients_;
  std::unique_ptr<Kernel> draw_, begin_, add_, adam_, keep_, copy_;
  std::unique_ptr<Buffer> state_, parameters_[2], mean_, square_, transposed_, gradient_, losses_,
      points_, shards_, own_sums_, list_, snapshots_;
  std::unique_ptr<Buffer> copies_[4];   // of a checkpoint, while it is brought to the host
  std::unique_ptr<Buffer> kept_state_;  // of the one that a sample began again from
  std::vector<Node> nodes_;             // of its own shards
  std::vector<std::uint32_t> listed_;   // all nodes, as kernels read them
  std::vector<DeviceIndex> others_;
  std::vector<float> staged_, landing_, evidence_,
      kept_;  // host memory of transfers; evidence: gradients of shards
  std::optional<Slice> done_;
  std::uint64_t sample_ = 0;  // of that
};

}  // namespace mgpu::pinn
