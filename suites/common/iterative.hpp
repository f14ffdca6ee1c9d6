// Shared parts of suites that iterate over a fixed partition: each device keeps a share of the
// items for a whole sample and after an iteration ("round") sends other devices what they need of
// it. Contains neighbours, alternating memory, the order of an iteration, and checkpoints. A
// suite adds the size of a layer, how much of it others need, and its kernels.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/pages.hpp"
#include "lib/workload/workload.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/common/sha256_hex.hpp"

namespace mgpu {

// Returns the owner of this share, or null if fewer than two owners are given or none has it.
const Owner* owner_of(std::span<const Owner> owners, const Slice& share);

// Returns the devices of all owners except `self`.
std::vector<DeviceIndex> other_owners(std::span<const Owner> owners, DeviceIndex self);

// The owners of the layers before and after a share; null if there is none. If periodic, the first
// owner's layers follow the last owner's.
struct Neighbours {
  const Owner *before = nullptr, *after = nullptr;
  std::vector<DeviceIndex> devices() const;  // without repetition
};
Neighbours neighbours_of(std::span<const Owner> owners, const Slice& share, bool periodic);

// Layers [begin, end) of a share that another share needs. The other share numbers them `shift`
// higher.
struct Strip {
  std::int64_t begin = 0, end = 0, shift = 0;
};
// Returns the parts of `mine` that lie in `theirs` extended by `halo` layers on either side. Layers
// are periodic with `period` if it is above 0.
std::vector<Strip> strips_of(const Slice& mine, const Slice& theirs, std::uint32_t halo,
                             Items period);

// Throws Error(unsupported) if a share has fewer layers than its neighbours need. The message calls
// the layers `layers` and names --`option`.
void check_shares(std::span<const Owner> owners, Items needed, const char* layers,
                  const char* option);

// Shared memory of a group, allocated `turns` times. Iterations use the copies in turn, so that
// data for the next iteration arrive in memory that no kernel reads.
class SharedRing {
 public:
  // Throws what PeerGroup::allocate throws, and is then empty.
  void allocate(PeerGroup& group, Bytes size, unsigned turns = 2);
  void free() { all_.clear(); }
  explicit operator bool() const { return !all_.empty(); }
  SharedMemory& operator[](std::uint64_t turn) const { return *all_[turn % all_.size()]; }
  std::size_t turns() const { return all_.size(); }

 private:
  std::vector<std::unique_ptr<SharedMemory>> all_;
};

// Tells whether kernels of each of so many devices reach the memory of all others.
bool kernels_reach(SharedMemory& memory, std::size_t devices);

// One device's pieces of a SharedRing. If that is empty or the device is in no group: `own` buffers
// of the device.
class Ring {
 public:
  Ring(const SharedRing& shared, DeviceResources& device, Bytes size, unsigned own = 2);
  Buffer& operator[](std::uint64_t turn) const { return *all_[turn % all_.size()]; }

 private:
  std::vector<std::unique_ptr<Buffer>> own_;
  std::vector<Buffer*> all_;
};

// A suite's problem, its results in host memory, and the partition of a sample.
template <class Problem_>
class PartitionedWorkload : public Workload, public IterativeWorkload, public PeerExchange {
 public:
  const Shape& shape() const override { return shape_; }
  std::span<const std::byte> transfer_memory() const override { return {pages_.data(), bytes_}; }
  void set_partition(std::span<const Owner> owners) override {
    owners_.assign(owners.begin(), owners.end());
  }
  void begin_sample() override { arrivals_.begin_sample(results_); }
  void merge() override {}
  std::string digest() const override { return sha256_hex(results_); }

  // Called by programs, on several threads at once.
  const Problem_& problem() const { return problem_; }
  std::span<const Owner> owners() const { return owners_; }
  std::uint64_t sample() const { return arrivals_.sample(); }
  // Notes that these items are on the host.
  void arrived(const Slice& items) { arrivals_.arrived({&items, 1}); }

 protected:
  // Allocates `host_bytes` of pages for `what`. `results` is the number of results that arrive; 0
  // means one per item. Throws Error(out_of_memory).
  PartitionedWorkload(const Problem_& problem, const SuiteParams& params, Bytes host_bytes,
                      const std::string& what, Items results = 0)
      : problem_(problem),
        shape_(shape_of(problem_)),
        host_threads_(params.host_threads),
        bytes_(host_bytes),
        pages_(host_bytes, what),
        arrivals_(results > 0 ? results : shape_.items, host_threads_) {}

  const Problem_ problem_;
  Shape shape_;
  const unsigned host_threads_;
  const Bytes bytes_;
  Pages pages_;
  std::span<std::byte> results_;  // part of the pages; the input of the digest
  std::vector<Owner> owners_;
  Arrivals arrivals_;
};

// Tracks which checkpoints of a sample are complete. Host memory has two places for checkpoints,
// used in turn: one is complete while the next one arrives. Thread-safe.
class Checkpoints : public MovableWorkload {
 public:
  std::uint32_t checkpointed_rounds() const override;
  void restart() override;
  bool may_checkpoint(std::uint32_t rounds) const override;
  // Notes that these items of the checkpoint after `rounds` iterations are on the host.
  void checkpointed(const Slice& items, std::uint32_t rounds);
  // Number of iterations done in the state that the sample begins with.
  std::uint32_t begun_from() const { return begun_from_; }

 protected:
  // `every`: iterations from one checkpoint to the next; 0 means no checkpoints.
  Checkpoints(Items items, std::uint32_t every) : items_(items), every_(every) {}
  ~Checkpoints() = default;
  void forget_checkpoints();
  unsigned place(std::uint32_t rounds) const { return every_ == 0 ? 0 : rounds / every_ % 2; }

 private:
  const Items items_;
  const std::uint32_t every_;
  mutable std::mutex mutex_;
  std::uint32_t complete_ = 0, begun_from_ = 0;
  Items next_ = 0;  // items of the checkpoint after `complete_` that have arrived
};

template <class Problem_>
class CheckpointedWorkload : public PartitionedWorkload<Problem_>, public Checkpoints {
 public:
  void begin_sample() override {
    forget_checkpoints();
    restart();
  }
  void restart() override {
    Checkpoints::restart();
    PartitionedWorkload<Problem_>::begin_sample();
  }

 protected:
  CheckpointedWorkload(const Problem_& problem, const SuiteParams& params, Bytes host_bytes,
                       const std::string& what)
      : PartitionedWorkload<Problem_>(problem, params, host_bytes, what),
        Checkpoints(this->shape_.items, problem.checkpoint_rounds) {}
};

inline constexpr Bytes kCopyPiece = 16;
// Copies a part of a state that later iterations change (kernels/copy_part.cl). `first` and `size`
// are multiples of kCopyPiece.
void copy_part(Kernel& copy, Buffer& from, Buffer& to, Bytes first, Bytes size, Stream& stream);

// One device's part of a PartitionedWorkload.
template <class Workload_>
class PartitionedProgram : public DeviceProgram, public IterativeProgram {
 public:
  ProgramInterfaces interfaces() override { return {.iterative = this}; }
  void prepare(Stream&) override {}
  ResultPolicy result_policy() const override {
    return mode_ == Mode::end_to_end ? ResultPolicy::slice : ResultPolicy::publish;
  }
  void finished(const Slice& slice) override { workload_.arrived(slice); }
  Completion publish(Stream& stream) override {
    if (mode_ == Mode::end_to_end || sample_ != workload_.sample() || !done_) return {};
    bring_result(*done_, stream);
    return [this] { finished(*done_); };
  }

 protected:
  // `peer` is null if the device exchanges nothing and shares no sample.
  PartitionedProgram(Workload_& workload, Mode mode, Peer* peer)
      : workload_(workload), problem_(workload.problem()), mode_(mode), peer_(peer) {}
  virtual void bring_result(const Slice& slice, Stream& stream) = 0;
  // Notes the device's share of the current sample.
  void settle(const Slice& slice) {
    sample_ = workload_.sample();
    done_ = slice;
  }
  void settle_between_neighbours(const Slice& slice, bool periodic) {
    settle(slice);
    neighbours_ = neighbours_of(workload_.owners(), slice, periodic);
    others_ = neighbours_.devices();
  }
  // Waits until the other devices have reached this point and their data have arrived.
  void meet() {
    if (!others_.empty()) peer_->sync(others_, others_);
  }
  // Waits until all devices that share the sample have reached this point.
  void meet_all() {
    others_ = other_owners(workload_.owners(), peer_->self());
    meet();
  }
  Completion checkpointed(const Slice& slice, std::uint32_t rounds) {
    return [this, slice, rounds] { workload_.checkpointed(slice, rounds); };
  }

  Workload_& workload_;
  decltype(std::declval<Workload_&>().problem()) problem_;
  const Mode mode_;
  Peer* const peer_;
  Neighbours neighbours_;
  std::vector<DeviceIndex> others_;  // devices it exchanges with
  std::optional<Slice> done_;
  std::uint64_t sample_ = 0;  // sample of `done_`
};

// Computes a workload whose devices exchange halos after every `depth` steps. A device first
// computes what others need and sends it, then computes the rest, then waits for their halos.
// Buffers are used in turn, so that halos for the next step arrive in memory that no kernel reads.
// If `depth` is above 1, devices synchronise one step before the exchange, so that no halo arrives
// in memory that is still in use.
template <class Workload_>
class HaloProgram : public PartitionedProgram<Workload_> {
 public:
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override {
    const std::int64_t depth = this->problem_.depth, since = round % this->problem_.depth;
    const bool alone = this->others_.empty(), last = is_last(round),
               exchange = since + 1 == depth && !last && !alone,
               ahead = exchange && this->problem_.overlap && step_edges(slice, round, stream);
    if (ahead) send(slice, round, stream);
    step_share(slice, round, ahead ? -depth : alone ? 0 : depth - 1 - since, stream);
    if (exchange && !ahead) send(slice, round, stream);
    measure(slice, round, stream);
    if (exchange) {
      this->meet();
      take(slice, round, stream);
    } else if (since + 2 == depth && round + 2 < this->problem_.steps) {
      this->meet();
    }
    if (last && this->mode_ == Mode::end_to_end) this->bring_result(slice, stream);
  }

 protected:
  using PartitionedProgram<Workload_>::PartitionedProgram;
  bool is_last(std::uint32_t round) const { return round + 1 == this->problem_.steps; }
  // Computes the edges that others need. Returns false if they are to be computed with the rest.
  virtual bool step_edges(const Slice& slice, std::uint32_t round, Stream& stream) = 0;
  // Computes the share, extended by the halo that `more` further steps need before the next
  // exchange. If `more` is negative, the edges of -`more` steps are computed already.
  virtual void step_share(const Slice& slice, std::uint32_t round, std::int64_t more,
                          Stream& stream) = 0;
  virtual void send(const Slice& slice, std::uint32_t round, Stream& stream) = 0;
  // Records figures of the step.
  virtual void measure(const Slice&, std::uint32_t /*round*/, Stream&) {}
  virtual void take(const Slice&, std::uint32_t /*round*/, Stream&) {}  // unpacks what others sent
};

}  // namespace mgpu
