// The sum of squares of SumWorkload, whose partial sums stay on the devices until all are ready:
// each device puts its own into the others' memory, and the first one downloads them all.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tests/support/squares_sum.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

class CombinedSum : public SquaresSum, public PeerExchange {
 public:
  WorkloadInterfaces interfaces() override { return {.exchange = this}; }
  static constexpr std::uint64_t kMostSlices = 4096;  // per device and sample

  explicit CombinedSum(Items items) : SquaresSum(items, {0, 0, 1, 0}) {}
  Exchanged exchanged(Mode) const override { return {false, 8}; }
  void connect(PeerGroup& group) override {
    group_ = &group;
    sums_ = group.allocate(group.size() * kMostSlices * 8);
  }
  void disconnect() override { sums_.reset(); }
  bool combines() const override { return sums_ != nullptr; }
  void exchange_among(std::span<const DeviceIndex> participants) override {
    members_.assign(participants.begin(), participants.end());
  }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode, const Capacity&) override {
    return std::make_unique<Program>(*this, device);
  }
  void begin_sample() override {
    SquaresSum::begin_sample();
    counts_.clear();
  }

 private:
  class Program final : public DeviceProgram, public CombiningProgram {
   public:
    ProgramInterfaces interfaces() override { return {.combining = this}; }
    Program(CombinedSum& workload, DeviceResources& device)
        : workload_(workload),
          kernel_(device.kernel("sum.cl", "sum_slice", "")),
          in_(device.allocate(workload.shape_.bytes_in)),
          out_(device.allocate(kMostSlices * 8)) {
      if (workload.sums_ && device.peer() != nullptr) place_ = device.peer()->self();
    }
    void load(Stream& stream) override { stream.upload(*in_, 0, workload_.transfer_memory()); }
    void prepare(Stream&) override { made_ = brought_ = 0; }
    void enqueue(const Slice& slice, unsigned, Stream& stream) override {
      stream.launch(*kernel_, Grid{}, {in_.get(), slice.begin, slice.size(), out_.get(), made_++});
    }
    Completion collect(Stream& stream) override {
      if (!combines()) {
        bring_own(stream);
        return [this] { add_arrived(); };
      }
      return [this] {
        const std::lock_guard lock(workload_.mutex_);
        workload_.counts_[*place_] = made_;
      };
    }
    Completion bring(bool together, Stream& stream) override {
      if (!combines()) return {};
      const Completion arrived = [this] { add_arrived(); };
      if (!together) {
        bring_own(stream);
        return arrived;
      }
      Peer& peer = workload_.group_->peer(*place_);
      std::vector<DeviceIndex> others = workload_.members_;
      std::erase(others, *place_);
      const DeviceIndex first = workload_.members_.front();
      for (const DeviceIndex to : others)
        peer.put(*out_, 0, *workload_.sums_, to, place_->value * kMostSlices * 8, made_ * Bytes{8});
      peer.sync(others, others);
      if (*place_ != first) return arrived;
      Bytes at = made_;
      bring_own(stream);
      for (const auto& [device, count] : workload_.counts_) {
        if (device == first) continue;
        arriving_.resize(at + count);
        stream.download(workload_.sums_->piece(first), device.value * kMostSlices * 8,
                        std::as_writable_bytes(std::span(arriving_).subspan(at, count)));
        at += count;
      }
      return arrived;
    }

   private:
    bool combines() const {
      const auto& participants = workload_.members_;
      return place_ &&
             std::find(participants.begin(), participants.end(), *place_) != participants.end();
    }
    void bring_own(Stream& stream) {
      arriving_.reserve(4 * kMostSlices);  // pending transfers must not move
      arriving_.resize(made_ - brought_);
      stream.download(*out_, brought_ * Bytes{8}, std::as_writable_bytes(std::span(arriving_)));
      brought_ = made_;
    }
    void add_arrived() {
      for (const std::uint64_t sum : arriving_) workload_.add(sum);
      arriving_.clear();
    }

    CombinedSum& workload_;
    std::optional<DeviceIndex> place_;
    std::unique_ptr<Kernel> kernel_;
    std::unique_ptr<Buffer> in_, out_;
    std::uint32_t made_ = 0, brought_ = 0;
    std::vector<std::uint64_t> arriving_;
  };

  PeerGroup* group_ = nullptr;
  std::unique_ptr<SharedMemory> sums_;
  std::vector<DeviceIndex> members_;
  std::map<DeviceIndex, std::uint32_t> counts_;
};

}  // namespace mgpu::test
