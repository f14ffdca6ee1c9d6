// One device's work on a training. It has all parameters. In each step it computes the gradients of
// its shards, adds them up to nodes of the tree, sends these to the others, and makes the same
// update as they do.
#pragma once

#include "suites/pinn/compressed.hpp"
#include "suites/pinn/pinn_workload.hpp"
#include "suites/pinn/trainer.hpp"

namespace mgpu::pinn {

class TrainingProgram final : public PartitionedProgram<PinnWorkload>,
                              public MovableProgram,
                              public LiveProgram {
 public:
  TrainingProgram(PinnWorkload& workload, DeviceResources& device, Mode mode, Way way,
                  std::uint64_t shards);

  ProgramInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .live = this};
  }
  std::string kernel_variant() const override { return trainer_.way(); }
  void load(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first, std::uint32_t most,
                               Stream& stream) override;
  void move(const Slice& from, const Slice& to, std::uint32_t steps, Stream& stream) override;
  Completion checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) override;
  Completion report(const Slice& slice, std::uint32_t steps, Stream& stream) override;
  void finished(const Slice&) override {}  // publish() reports all shards at once
  Completion publish(Stream& stream) override;

 private:
  // Sets this device's shards and the other owners.
  void take_share(const Slice& slice, Stream& stream);
  bool is_alone(const Slice& slice) const {
    return others_.empty() && slice.size() == problem_.shards && !compression_;
  }
  void draw(const Slice& slice, std::uint32_t step, Stream& stream) {
    trainer_.draw(trained_, problem_, slice, step, stream);
  }
  // Returns the launches of a step without an exchange.
  unsigned launches_of(const Slice& slice, std::uint32_t round) const;
  bool draws_before(std::uint32_t round) const;
  // Returns the snapshot to save after `steps` steps.
  std::optional<std::uint32_t> snapshot_after(const Slice& slice, std::uint32_t steps) const;
  // Does the same in bf16, and returns the gradient of all shards.
  Trainer::Sums exchange_compressed(const Slice& slice, std::uint32_t round, Stream& stream);
  Trainer::Sums exchange(const Slice& slice, std::uint32_t round, Stream& stream);
  void bring_result(const Slice& slice, Stream& stream) override;
  Ending ending(const Slice& slice) const;

  Trainer trainer_;
  const Trained trained_;
  const std::uint32_t count_;  // parameters
  const bool in_series_;
  std::unique_ptr<Kernel> add_, copy_;
  std::optional<Compression> compression_;
  std::unique_ptr<Buffer> own_sums_, list_, snapshots_;
  std::unique_ptr<Buffer> copies_[4];   // copies of a checkpoint during its download
  std::unique_ptr<Buffer> kept_state_;  // checkpoint that a sample restarted from
  std::vector<Node> nodes_;             // nodes of its own shards
  std::vector<std::uint32_t> listed_;   // all nodes in the kernels' format
  // Host memory of transfers; evidence_ has the gradients of shards.
  std::vector<float> landing_, evidence_, kept_;
};

}  // namespace mgpu::pinn
