// One problem as a Workload: states in host memory, who owns which layers, verification. What runs
// on a device is in stencil_program.hpp.
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
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Exchanged exchanged(Mode) const override {
    return {false, 0, std::max(problem_.steps / problem_.depth, 1U),
            problem_.halo() * problem_.layer_bytes(), problem_.hides_halos()};
  }
  void connect(PeerGroup& group) override;
  void disconnect() override;
  // Throws Error(unsupported) where a share has fewer layers than others need of it.
  void set_partition(std::span<const Owner> owners) override;
  // Of blocks, stars, norms, and states that are too large to be shared nothing is moved.
  bool repartition(std::span<const Owner> owners) override;
  void restart() override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  std::span<const std::byte> initial() const { return {pages_.data(), problem_.host_bytes()}; }
  std::span<std::byte> result() const { return results_.first(problem_.host_bytes()); }
  std::span<std::byte> changes() const { return results_.subspan(problem_.host_bytes()); }
  struct Checkpoint {
    std::span<std::byte> cells, sums, changes;  // sums: of a star
  };
  Checkpoint checkpoint(std::uint32_t steps) const;  // where it has its place
  // Of a state on a device: of all layers, and of the largest share.
  Bytes whole_bytes() const {
    return (problem_.layers() + 2 * problem_.halo()) * problem_.layer_bytes();
  }
  Bytes state_bytes() const { return (held_ + 2 * problem_.halo()) * problem_.layer_bytes(); }
  // The two states that devices of the group exchange layers of; empty: there is no group, or halos
  // are exchanged by kernels and states are too large to be shared.
  const SharedRing& shared() const { return shared_; }
  // Where kernels of steps exchange halos; null: they do not.
  SharedMemory* halos() { return halos_.get(); }
  // Whether devices wait for halos inside the kernels of steps, where that is hidden, or by
  // commands of their own: how long each is busy with its own share does not show then, which
  // --slow and moving borders go by.
  bool hides_waiting() const { return hides_waiting_; }
  void goes_by_kernels() { was_by_kernels_ = true; }
  // Where persistent kernels are asked for, or may be chosen: where those of neighbours write what
  // they need of each other.
  SharedMemory* mail() { return mail_.get(); }
  // What persistent kernels of a device have room for, where there may be any: the one that has
  // this place in the group.
  struct Room {
    DeviceIndex device;
    std::uint64_t among_others = 0,
                  alone = 0;  // layers of a share that has neighbours, and of a slice by itself
    unsigned cores = 0;       // of a CPU, which others may compute on as well: they are all taken
    bool held = false;        // its kernels are held up on purpose
  };
  void has_room(const Room& room);
  // Does it in this sample, with this slice? Its device has room for so many by itself.
  bool is_persistent(const Slice& slice, std::uint64_t alone) const;
  void goes_persistent() { was_persistent_ = true; }  // it did, for some of its steps
  // Of the state after so many steps of this sample, for those who wait for it: no other one has
  // it.
  std::uint32_t number_of(std::uint32_t steps) const { return first_number_ + steps; }
  // Where shares are blocks: what is sent after a step, and where pieces of it land.
  std::span<const Transfer> transfers() const { return transfers_; }
  const SharedRing& landing() const { return landing_; }

 private:
  StencilWorkload(const Problem& problem, const SuiteParams& params);
  std::string first_wrong_cell();
  bool decide_persistent() const;
  bool have_cores() const;  // the owners, for kernels that wait for each other
  void check_persistent()
      const;                 // they are asked for: throws Error(unsupported) where owners cannot
  std::string told() const;  // of norms, for the record

  std::uint64_t held_;  // layers that a device has room for, besides halos
  SharedRing shared_, landing_;
  std::unique_ptr<SharedMemory> mail_, halos_;
  std::vector<Room> rooms_;
  bool persistent_ = false;  // the owners of this sample have room, all of them together
  bool hides_waiting_ = false;
  std::atomic<bool> was_persistent_ = false;  // some of its steps
  std::atomic<bool> was_by_kernels_ = false;  // some of its exchanges
  std::uint32_t first_number_ = 1;
  std::vector<Transfer> transfers_;
  std::mutex mutex_;  // over rooms_
  std::optional<Reference> expected_;
};

}  // namespace mgpu::stencil
