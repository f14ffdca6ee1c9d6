// What one device does where shares are cut along two axes: it computes its patches in states of
// the whole size, in which every cell has its place on every device. What others need of a few
// layers is put there; of columns it is packed, put, and unpacked.
#pragma once

#include <optional>

#include "suites/stencil/stencil_workload.hpp"

namespace mgpu::stencil {

class BlocksProgram final : public DeviceProgram, public IterativeProgram {
 public:
  BlocksProgram(StencilWorkload& workload, DeviceResources& device, Mode mode);

  ProgramInterfaces interfaces() override { return {.iterative = this}; }
  void load(Stream& stream) override;
  void prepare(Stream&) override {}
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  Brings brings() const override {
    return mode_ == Mode::end_to_end ? Brings::slice : Brings::publish;
  }
  void finished(const Slice& slice) override { workload_.arrived(slice); }
  Completion publish(Stream& stream) override;

 private:
  std::uint64_t place(std::uint64_t layer, std::uint64_t aside) const {  // of a cell in a state
    return layer * problem_.layer_bytes() / problem_.element + aside * problem_.unit();
  }
  template <class Each>
  void each_rectangle(const Patch& patch, const Each& each) const;
  void step(const std::vector<Patch>& patches, std::uint32_t round, Stream& stream);
  void send(std::uint32_t round, Stream& stream);
  void take(std::uint32_t round, Stream& stream);
  void copy(Buffer& from, Buffer& to, const Patch& patch, std::uint64_t landing, bool out,
            Stream& stream);
  void download(Stream& stream);
  void meet();
  Buffer& before(std::uint32_t round) { return round == 0 ? *initial_ : state((round - 1) % 2); }
  Buffer& state(unsigned which) {
    return peer_ != nullptr ? workload_.shared(which)->piece(peer_->self()) : *own_[which];
  }

  StencilWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const std::size_t local_;
  Peer* peer_;  // null: it exchanges nothing, and shares no sample
  std::unique_ptr<Kernel> kernel_, copy_;
  std::unique_ptr<Buffer> initial_, own_[2], sums_, packed_;
  std::vector<Patch> mine_;
  std::vector<Transfer> sends_, takes_;
  std::vector<DeviceIndex> others_;  // of these
  std::optional<Slice> done_;
  std::uint64_t sample_ = 0;  // of that
};

}  // namespace mgpu::stencil
