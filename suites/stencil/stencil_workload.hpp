// One problem as a Workload: states in host memory, who owns which layers, digest and verification. What runs on a device is in
// stencil_program.hpp.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/workload/checkpoints.hpp"
#include "lib/workload/pages.hpp"
#include "lib/workload/workload.hpp"
#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

class StencilWorkload final : public Workload {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit StencilWorkload(const SuiteParams& params);

  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode, const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override { return {pages_.data(), kept_states() * problem_.host_bytes()}; }
  Exchanged exchanged(Mode) const override {
    return {false, 0, std::max(problem_.steps / problem_.depth, 1U), problem_.depth * problem_.layer_bytes()};
  }
  void connect(PeerGroup& group) override;
  void disconnect() override;
  // Throws Error(unsupported) where a share has fewer layers than others need of it.
  void own(std::span<const Owner> owners) override;
  bool move(std::span<const Owner> owners) override;
  void begin_sample() override;
  std::uint32_t rounds_kept() const override { return checkpoints_.complete(); }
  void begin_again() override;
  bool may_checkpoint(std::uint32_t rounds) const override { return checkpoints_.may_take(rounds); }
  void merge() override {}
  std::string digest() const override;  // SHA-256 of the cells' bytes
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  std::span<const std::byte> initial() const { return {pages_.data(), problem_.host_bytes()}; }
  std::span<std::byte> result() { return {pages_.data() + problem_.host_bytes(), problem_.host_bytes()}; }
  std::span<std::byte> checkpoint(std::uint32_t rounds) {
    return {pages_.data() + (2 + checkpoints_.place(rounds)) * problem_.host_bytes(), problem_.host_bytes()};
  }
  void checkpointed(const Slice& layers, std::uint32_t rounds) { checkpoints_.arrived(layers, rounds); }
  std::uint32_t begun_from() const { return begun_from_; }  // steps done in the state that the sample begins with
  std::uint64_t sample() const { return sample_; }
  void arrived(const Slice& layers);  // these are on the host
  // The two states that devices of the group exchange layers of; null: there is no group.
  SharedMemory* shared(unsigned which) { return shared_[which].get(); }
  std::span<const Owner> owners() const { return owners_; }
  // Who owns the layers before and after these; null: nobody else.
  struct Neighbours {
    const Owner *before = nullptr, *after = nullptr;
  };
  Neighbours neighbours(const Slice& share) const;

 private:
  unsigned kept_states() const { return problem_.checkpoint_rounds > 0 ? 4 : 2; }
  std::span<const float> floats(std::span<const std::byte> bytes) const {
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }

  Problem problem_;
  Shape shape_;
  unsigned host_threads_;
  Pages pages_;  // the initial state, the result, and two checkpoints where there are any
  Checkpoints checkpoints_;
  std::uint32_t begun_from_ = 0;
  std::unique_ptr<SharedMemory> shared_[2];
  std::vector<Owner> owners_;
  std::uint64_t sample_ = 0;
  bool looked_at_ = true;      // the result was verified: a stale one must not pass again
  std::mutex mutex_;           // over arrived_
  std::vector<bool> arrived_;  // by layer
  std::optional<std::vector<float>> expected_;
};

}  // namespace mgpu::stencil
