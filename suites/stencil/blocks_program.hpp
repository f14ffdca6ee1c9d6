// One device's work on shares that are cut along two axes. Its states have the whole size, so that
// every cell has the same place on every device. Transfers of a few layers are put directly;
// columns are packed, put, and unpacked.
#pragma once

#include <optional>

#include "suites/stencil/stencil_workload.hpp"

namespace mgpu::stencil {

class BlocksProgram final : public HaloProgram<StencilWorkload> {
 public:
  BlocksProgram(StencilWorkload& workload, DeviceResources& device, Mode mode);

  void load(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;

 private:
  // Returns the index of a cell in a state.
  std::uint64_t place(std::uint64_t layer, std::uint64_t aside) const {
    return layer * problem_.layer_bytes() / problem_.element + aside * problem_.unit();
  }
  template <class Each>
  void each_rectangle(const Patch& patch, const Each& each) const;
  bool step_edges(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void step_share(const Slice& slice, std::uint32_t round, std::int64_t more,
                  Stream& stream) override;
  void send(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void take(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void bring_result(const Slice& slice, Stream& stream) override;
  void step(const Patch& patch, std::uint32_t round, Stream& stream);
  void copy(Buffer& from, Buffer& to, const Patch& patch, std::uint64_t landing, bool out,
            Stream& stream);
  Buffer& before(std::uint32_t round) { return round == 0 ? *initial_ : states_[round - 1]; }

  std::unique_ptr<Kernel> kernel_, copy_;
  const std::size_t local_;  // work-items of a group
  const Ring states_;
  std::unique_ptr<Buffer> initial_, sums_;
  std::optional<BlockExchange> exchange_;
  std::vector<Patch> mine_;
};

}  // namespace mgpu::stencil
