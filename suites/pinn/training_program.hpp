// What one device does: it has all parameters, and in each step computes the gradients of its
// shards, adds them up to nodes of the tree, gives these to the others, and makes the same step as
// they do.
#pragma once

#include "suites/pinn/pinn_workload.hpp"
#include "suites/pinn/trainer.hpp"

namespace mgpu::pinn {

class TrainingProgram final : public PartitionedProgram<PinnWorkload>, public MovableProgram {
 public:
  TrainingProgram(PinnWorkload& workload, DeviceResources& device, Mode mode, Way way,
                  std::uint64_t shards);

  ProgramInterfaces interfaces() override { return {.iterative = this, .movable = this}; }
  std::string kernel_variant() const override { return trainer_.way(); }
  void load(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first, std::uint32_t most,
                               Stream& stream) override;
  void move(const Slice& from, const Slice& to, std::uint32_t steps, Stream& stream) override;
  Completion checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) override;
  void finished(const Slice&) override {}  // not before all of it was published
  Completion publish(Stream& stream) override;

 private:
  void take_share(const Slice& slice, Stream& stream);  // from now on, and who has the others
  bool is_alone(const Slice& slice) const {
    return others_.empty() && slice.size() == problem_.shards;
  }
  void draw(const Slice& slice, std::uint32_t step, Stream& stream) {
    trainer_.draw(trained_, problem_, slice, step, stream);
  }
  unsigned launches_of(const Slice& slice, std::uint32_t round) const;  // nothing is exchanged
  bool draws_before(std::uint32_t round) const;
  // Which snapshot is kept when so many steps are done.
  std::optional<std::uint32_t> snapshot_after(const Slice& slice, std::uint32_t steps) const;
  Trainer::Sums exchange(const Slice& slice, std::uint32_t round, Stream& stream);
  void bring_result(const Slice& slice, Stream& stream) override;
  Ending ending(const Slice& slice) const;

  Trainer trainer_;
  const Trained trained_;
  const std::uint32_t count_;  // of parameters
  const bool in_series_;
  std::unique_ptr<Kernel> add_, copy_;
  std::unique_ptr<Buffer> own_sums_, list_, snapshots_;
  std::unique_ptr<Buffer> copies_[4];   // of a checkpoint, while it is brought to the host
  std::unique_ptr<Buffer> kept_state_;  // of the one that a sample began again from
  std::vector<Node> nodes_;             // of its own shards
  std::vector<std::uint32_t> listed_;   // all nodes, as kernels read them
  std::vector<float> landing_, evidence_,
      kept_;  // host memory of transfers; evidence: gradients of shards
};

}  // namespace mgpu::pinn
