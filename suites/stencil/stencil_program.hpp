// One device's work: it keeps its layers and, on both sides, halos of neighbours. Steps go from the
// initial state to one of two others, and then alternate between these. A star also has sums, which
// no other device needs.
#pragma once

#include "suites/stencil/kernel_exchange.hpp"
#include "suites/stencil/persistent.hpp"
#include "suites/stencil/stencil_workload.hpp"

namespace mgpu::stencil {

class StencilProgram final : public HaloProgram<StencilWorkload>, public MovableProgram {
 public:
  StencilProgram(StencilWorkload& workload, DeviceResources& device, Mode mode);

  ProgramInterfaces interfaces() override { return {.iterative = this, .movable = this}; }
  void load(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;
  std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first, std::uint32_t most,
                               Stream& stream) override;
  void move(const Slice& from, const Slice& to, std::uint32_t steps, Stream& stream) override;
  Completion checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) override;
  void finished(const Slice& slice) override;
  Completion publish(Stream& stream) override;

 private:
  struct Layers {  // local numbers in a state; the share begins at `halo_`
    std::uint32_t first = 0, end = 0;
  };
  // Uploads `count` layers from `layer` on of a state in host memory to the local number `at` on.
  void upload(std::span<const std::byte> host, std::uint64_t layer, std::uint64_t count, Buffer& to,
              std::uint64_t at, Stream& stream);
  void upload_share(std::span<const std::byte> host, const Slice& slice, Buffer& to,
                    Stream& stream);
  void download(Buffer& from, const Slice& slice, std::span<std::byte> host, Stream& stream);
  // Returns the rows of changes: by norm and layer, of the share on the device and of all layers on
  // the host.
  Rows changes_of(const Slice& slice) const;
  void bring_result(const Slice& slice, Stream& stream) override;
  bool step_edges(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void step_share(const Slice& slice, std::uint32_t round, std::int64_t more,
                  Stream& stream) override;
  void send(const Slice& slice, std::uint32_t round, Stream& stream) override;
  void measure(const Slice& slice, std::uint32_t round, Stream& stream) override;
  // Enqueues a step. `exchange`: uses the kernel that exchanges halos; null: no exchange.
  void step(const Slice& slice, std::uint32_t round, Layers layers, Stream& stream,
            const KernelExchange::Step* exchange = nullptr);
  bool goes_by_kernels(const Slice& slice) const;
  std::uint32_t enqueue_series(const Slice& slice, std::uint32_t first, std::uint32_t most,
                               Stream& stream);
  void step_by_kernel(const Slice& slice, std::uint32_t round, bool hides_waiting, Stream& stream);
  void make_persistent(DeviceResources& device);
  StencilWorkload::Room room_of(const DeviceTraits& traits) const;
  void launch_persistent(const Slice& slice, std::uint32_t first, std::uint32_t steps,
                         Stream& stream);
  void download_status(Stream& stream);
  bool is_whole() const {
    return !(persistent_ && persistent_->waited_in_vain()) &&
           !(by_kernels_ && by_kernels_->waited_in_vain());
  }
  bool reads_all(std::uint32_t round) const { return round == 0 && mode_ == Mode::resident; }
  Buffer& before(std::uint32_t round) { return round == 0 ? *initial_ : state_after(round); }
  void take_share(const Slice& slice);  // sets the share and its neighbours
  // Both find the state after `steps` steps, at least one: which of the two it is, and this
  // device's buffer.
  std::uint32_t turn_after(std::uint32_t steps) const { return steps + 1 + moves_; }
  Buffer& state_after(std::uint32_t steps) { return states_[turn_after(steps)]; }

  const std::uint32_t halo_;
  bool grouped_;  // work-items of a group add up in local memory
  const unsigned vector_, strip_;
  const std::uint32_t series_;
  const std::size_t local_;  // work-items of a group, which a kernel may have fewer of
  std::unique_ptr<Kernel> kernel_, change_, copy_kernel_;
  std::unique_ptr<Persistent> persistent_;
  std::unique_ptr<KernelExchange> by_kernels_;
  std::unique_ptr<Buffer> initial_, sums_;
  std::unique_ptr<Buffer> changes_;  // one number per norm and layer of the share
  // Copies of the last checkpoint, during its download.
  std::unique_ptr<Buffer> copy_, copy_of_sums_;
  const Ring states_;
  std::uint32_t moves_ = 0;  // moves in this sample, each from one state into the other
  bool mailed_ = false;      // neighbours' halos of the current state are in the mail
  bool signalled_ = false;   // neighbours have signalled that theirs are there
};

}  // namespace mgpu::stencil
