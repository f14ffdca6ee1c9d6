// One problem as a Workload: states in host memory, who owns which layers, digest and verification.
// What runs on a device is in stencil_program.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/workload/checkpoints.hpp"
#include "lib/workload/pages.hpp"
#include "lib/workload/workload.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/common/shares.hpp"
#include "suites/stencil/blocks.hpp"
#include "suites/stencil/reference.hpp"

namespace mgpu::stencil {

class StencilWorkload final : public Workload,
                              public IterativeWorkload,
                              public MovableWorkload,
                              public PeerExchange {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit StencilWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.iterative = this, .movable = this, .exchange = this};
  }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override;
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
  void begin_sample() override;
  std::uint32_t checkpointed_rounds() const override { return checkpoints_.complete(); }
  void restart() override;
  bool may_checkpoint(std::uint32_t steps) const override { return checkpoints_.may_take(steps); }
  void merge() override {}
  std::string digest()
      const override;  // SHA-256 of the bytes of the cells, and of what norms are made of
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  std::span<const std::byte> initial() const { return {pages_.data(), problem_.host_bytes()}; }
  std::span<std::byte> result() {
    return {pages_.data() + problem_.host_bytes(), problem_.host_bytes()};
  }
  std::span<std::byte> changes() {
    return {result().data() + problem_.host_bytes(), problem_.change_bytes()};
  }
  struct Checkpoint {
    std::span<std::byte> cells, sums, changes;  // sums: of a star
  };
  Checkpoint checkpoint(std::uint32_t steps);  // where it has its place
  void checkpointed(const Slice& layers, std::uint32_t steps) {
    checkpoints_.arrived(layers, steps);
  }
  std::uint32_t begun_from() const {
    return begun_from_;
  }  // steps done in the state that the sample begins with
  // Of a state on a device: of all layers, and of the largest share.
  Bytes whole_bytes() const {
    return (problem_.layers() + 2 * problem_.halo()) * problem_.layer_bytes();
  }
  Bytes state_bytes() const { return (held_ + 2 * problem_.halo()) * problem_.layer_bytes(); }
  std::uint64_t sample() const { return arrivals_.sample(); }
  void arrived(const Slice& items) { arrivals_.arrived({&items, 1}); }  // these are on the host
  // The two states that devices of the group exchange layers of; null: there is no group.
  // where halos are exchanged by kernels, and states are too large to be shared.
  SharedMemory* shared(unsigned which) { return shared_[which].get(); }
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
  std::span<const Owner> owners() const { return owners_; }
  // Where shares are blocks: what is sent after a step, and where pieces of it land.
  std::span<const Transfer> transfers() const { return transfers_; }
  SharedMemory* landing(unsigned which) { return landing_[which].get(); }

 private:
  std::span<const std::byte> outcome()
      const {  // the cells of the result, then what norms are made of
    return {pages_.data() + problem_.host_bytes(), problem_.host_bytes() + problem_.change_bytes()};
  }
  std::string first_wrong_cell();
  bool decide_persistent() const;
  bool have_cores() const;  // the owners, for kernels that wait for each other
  void check_persistent()
      const;                 // they are asked for: throws Error(unsupported) where owners cannot
  std::string told() const;  // of norms, for the record

  Problem problem_;
  Shape shape_;
  std::uint64_t held_;  // layers that a device has room for, besides halos
  unsigned host_threads_;
  Pages pages_;  // the initial state, the result, what norms are made of, and two checkpoints where
                 // there are any
  Checkpoints checkpoints_;
  std::uint32_t begun_from_ = 0;
  std::unique_ptr<SharedMemory> shared_[2], landing_[2], mail_, halos_;
  std::vector<Room> rooms_;
  bool persistent_ = false;  // the owners of this sample have room, all of them together
  bool hides_waiting_ = false;
  std::atomic<bool> was_persistent_ = false;  // some of its steps
  std::atomic<bool> was_by_kernels_ = false;  // some of its exchanges
  std::uint32_t first_number_ = 1;
  std::vector<Owner> owners_;
  std::vector<Transfer> transfers_;
  Arrivals arrivals_;
  std::mutex mutex_;  // over rooms_
  std::optional<Reference> expected_;
};

}  // namespace mgpu::stencil
