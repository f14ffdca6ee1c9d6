// What one device does for an ensemble: it trains one member after the other.
#pragma once

#include "suites/pinn/ensemble_workload.hpp"
#include "suites/pinn/gradients.hpp"

namespace mgpu::pinn {

class EnsembleProgram final : public DeviceProgram {
 public:
  // For slices of up to so many members.
  EnsembleProgram(EnsembleWorkload& workload, DeviceResources& device, Mode mode, Way way, std::uint64_t members);

  std::string kernel_variant() const override { return way_.name; }
  void load(Stream& stream) override;
  void prepare(Stream&) override {}
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  Brings brings() const override { return Brings::slice; }
  void finished(const Slice& slice) override;

 private:
  void bring_states(const Slice& members, Stream& stream);
  void train(std::uint64_t number, Stream& stream);
  void draw(const Problem& member, std::uint32_t step, Stream& stream);
  void step(std::uint32_t round, Stream& stream);
  unsigned launches_of(std::uint32_t round) const;
  bool draws_before(std::uint32_t round) const { return round > 0 && problem_.resample > 0 && round % problem_.resample == 0; }
  std::vector<float> own_layout(const float* from) const;
  Ending ending(const float* from) const;
  Buffer& parameters_after(std::uint32_t steps) { return *parameters_[steps % 2]; }
  std::uint64_t of_member() const { return 5 * std::uint64_t{count_} + 3 * std::uint64_t{problem_.steps}; }  // numbers it ends with

  EnsembleWorkload& workload_;
  const Problem& problem_;
  const Mode mode_;
  const Way way_;
  const Network wide_;  // as it is on the device
  const std::uint32_t count_, stride_, hidden_;
  const std::uint64_t members_;  // of a slice
  const std::size_t local_;
  const bool in_series_;
  std::unique_ptr<Gradients> gradients_;
  std::unique_ptr<Kernel> draw_, begin_, adam_, keep_;
  std::unique_ptr<Buffer> states_, parameters_[2], mean_, square_, transposed_, gradient_, losses_, points_, shards_, list_;
  std::unique_ptr<Buffer> endings_[2];  // by slot
  std::vector<float> staged_, landing_[2];
  Slice under_way_[2];
};

}  // namespace mgpu::pinn
