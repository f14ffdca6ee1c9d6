// One problem as a Workload: states in host memory, partition of the layers, verification.
// stencil_program.hpp has what runs on a device.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "suites/common/iterative.hpp"
#include "suites/stencil/blocks.hpp"
#include "suites/stencil/reference.hpp"

namespace mgpu::stencil {

class StencilWorkload final : public CheckpointedWorkload<Problem> {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit StencilWorkload(const SuiteParams& params)
      : StencilWorkload(problem_of(params), params) {}

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this};
  }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  Bytes alone_bytes(const DeviceTraits&, Mode mode) const override {
    return resident_bytes(mode, problem_.layers());
  }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override {
    return {false, 0, std::max(problem_.steps / problem_.depth, 1U),
            problem_.halo() * problem_.layer_bytes(), problem_.hides_halos()};
  }
  void connect(PeerGroup& group) override;
  void disconnect() override;
  // Throws Error(unsupported) if a share has fewer layers than its neighbours need.
  void set_partition(std::span<const Owner> owners) override;
  // Returns false, since nothing can be moved, for blocks, stars, norms, and states too large to be
  // shared.
  bool repartition(std::span<const Owner> owners) override;
  void restart() override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by the programs, possibly from several threads at once.
  std::span<const std::byte> initial() const { return {pages_.data(), problem_.host_bytes()}; }
  std::span<std::byte> result() const { return results_.first(problem_.host_bytes()); }
  std::span<std::byte> changes() const { return results_.subspan(problem_.host_bytes()); }
  struct Checkpoint {
    std::span<std::byte> cells, sums, changes;  // `sums` only of a star
  };
  Checkpoint checkpoint(std::uint32_t steps) const;  // place of the checkpoint after `steps` steps
  // Return the size of a state on a device: of all layers, and of the largest share.
  Bytes whole_bytes() const { return state_bytes(problem_.layers()); }
  Bytes state_bytes() const { return state_bytes(held_); }
  // Returns the two states whose layers devices of the group exchange. They are empty if there is
  // no group, or if kernels exchange halos and states are too large to be shared.
  const SharedRing& shared() const { return shared_; }
  // Returns the memory in which kernels of steps exchange halos; null if they do not.
  SharedMemory* halos() { return halos_.get(); }
  // Tells whether devices wait for halos inside the kernels of steps, which hides the wait, instead
  // of by separate commands. Then the time that each device spends on its own share is unknown,
  // which --slow and rebalancing rely on.
  bool hides_waiting() const { return hides_waiting_; }
  void goes_by_kernels() { was_by_kernels_ = true; }
  // Returns the memory in which persistent kernels exchange rows; null if they cannot be used.
  SharedMemory* mail() { return mail_.get(); }
  // Room for persistent kernels on the device at this place in the group.
  struct Room {
    DeviceIndex device;
    // Layers of a share that has neighbours, and of a slice alone.
    std::uint64_t among_others = 0, alone = 0;
    unsigned cores = 0;  // cores of a CPU, which other devices may share
    bool held = false;   // its kernels are throttled on purpose
  };
  void has_room(const Room& room);
  // Tells whether this slice uses persistent kernels in this sample. `alone`: layers that its
  // device has room for.
  bool is_persistent(const Slice& slice, std::uint64_t alone) const;
  void goes_persistent() { was_persistent_ = true; }  // notes that some steps were persistent
  // Returns the unique number of the state after `steps` steps of this sample, which waiting
  // kernels look for.
  std::uint32_t number_of(std::uint32_t steps) const { return first_number_ + steps; }
  // Transfers after a step, and the memory in which packed pieces land; both only of blocks.
  std::span<const Transfer> transfers() const { return transfers_; }
  const SharedRing& landing() const { return landing_; }

 private:
  Bytes state_bytes(std::uint64_t layers) const {
    return (layers + 2 * problem_.halo()) * problem_.layer_bytes();
  }
  // Returns the memory of a program whose states have that many layers.
  Bytes resident_bytes(Mode mode, std::uint64_t layers) const;
  StencilWorkload(const Problem& problem, const SuiteParams& params);
  std::string first_wrong_cell();
  bool decide_persistent() const;
  bool have_cores() const;  // enough for kernels of all owners that wait for each other
  // Throws Error(unsupported) if persistent kernels are required and the owners have no room.
  void check_persistent() const;
  std::string told() const;  // norms for the record

  std::uint64_t held_;  // layers that a device has room for, without halos
  SharedRing shared_, landing_;
  std::unique_ptr<SharedMemory> mail_, halos_;
  std::vector<Room> rooms_;
  bool persistent_ = false;  // all owners of this sample have room together
  bool hides_waiting_ = false;
  std::atomic<bool> was_persistent_ = false;  // true for some steps
  std::atomic<bool> was_by_kernels_ = false;  // true for some exchanges
  std::uint32_t first_number_ = 1;
  std::vector<Transfer> transfers_;
  std::mutex mutex_;  // guards rooms_
  std::optional<Reference> expected_;
};

}  // namespace mgpu::stencil
