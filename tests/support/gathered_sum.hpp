// The sum of squares of values that every device needs in full: they are gathered if devices
// exchange data. Kernel and reference are those of SumWorkload.
#pragma once

#include <optional>

#include "lib/exchange/replicated_input.hpp"
#include "tests/support/squares_sum.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

class GatheredSum final : public SquaresSum, public PeerExchange {
 public:
  WorkloadInterfaces interfaces() override { return {.exchange = this}; }
  explicit GatheredSum(Items items) : SquaresSum(items, {0, 0, 1, items * 8}) {}
  Exchanged exchanged(Mode mode) const override { return {mode == Mode::end_to_end, 0}; }
  std::vector<ExchangeChoice> choices() const override {
    return {{"--gather off", {}}, {"--gather on", {true, 0}}};
  }
  void connect(PeerGroup& group) override { replicated_.emplace(group, shape_.bytes_in); }
  void disconnect() override { replicated_.reset(); }
  void exchange_among(std::span<const DeviceIndex> participants) override {
    if (replicated_) replicated_->among(participants);
  }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity&) override {
    return std::make_unique<Program>(*this, device, mode);
  }

 private:
  class Program final : public DeviceProgram {
   public:
    Program(GatheredSum& workload, DeviceResources& device, Mode mode)
        : workload_(workload),
          mode_(mode),
          kernel_(device.kernel("sum.cl", "sum_slice", "")),
          out_(device.allocate(16)) {
      if (workload.replicated_ && device.peer() != nullptr)
        place_ = device.peer()->self();
      else
        own_ = device.allocate(workload.shape_.bytes_in);
      in_ = place_ ? &workload.replicated_->piece(*place_) : own_.get();
    }
    void load(Stream& stream) override { stream.upload(*in_, 0, workload_.transfer_memory()); }
    void prepare(Stream& stream) override {
      if (mode_ != Mode::end_to_end) return;
      if (!place_) return load(stream);
      workload_.replicated_->bring(*place_, workload_.transfer_memory(), stream);
    }
    ResultPolicy result_policy() const override { return ResultPolicy::slice; }
    void enqueue(const Slice& slice, unsigned slot, Stream& stream) override {
      stream.launch(*kernel_, Grid{}, {in_, slice.begin, slice.size(), out_.get(), slot});
      stream.download(*out_, slot * 8, std::as_writable_bytes(std::span(&sums_[slot], 1)));
      slots_[slot] = slice;
    }
    void finished(const Slice& slice) override { workload_.add(sums_[slots_[0] == slice ? 0 : 1]); }

   private:
    GatheredSum& workload_;
    Mode mode_;
    std::optional<DeviceIndex> place_;
    std::unique_ptr<Kernel> kernel_;
    std::unique_ptr<Buffer> own_, out_;
    Buffer* in_ = nullptr;
    std::uint64_t sums_[2] = {};
    Slice slots_[2];
  };

  std::optional<ReplicatedInput> replicated_;
};

}  // namespace mgpu::test
