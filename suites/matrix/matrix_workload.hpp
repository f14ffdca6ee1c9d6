// One product as a Workload: operands, what came back of C, digest and verification. What runs on a device is in
// matrix_program.hpp.
#pragma once

#include <mutex>
#include <optional>

#include "lib/exchange/replicated_input.hpp"
#include "lib/workload/workload.hpp"
#include "suites/matrix/kernels.hpp"
#include "suites/matrix/operands.hpp"
#include "suites/matrix/problem.hpp"
#include "suites/matrix/reference.hpp"

namespace mgpu::matrix {

Shape shape_of(const Problem& problem);

class MatrixWorkload : public Workload {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit MatrixWorkload(const SuiteParams& params);

  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  bool prefer(const DeviceTraits& device, const std::string& variant) override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode, const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override { return operands_.all(); }
  Exchanged exchanged(Mode mode) const override {
    return {mode == Mode::end_to_end && shape_.cost.replicated > 0 && problem_.summed() > 0, 0};
  }
  void connect(PeerGroup& group) override { replicated_.emplace(group, shape_.cost.replicated); }
  void disconnect() override { replicated_.reset(); }
  void exchange_among(std::span<const DeviceIndex> members) override;
  void begin_sample() override;
  void merge() override {}
  std::string digest() const override;  // SHA-256 of the bytes of C
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // For the programs, which may call from several threads at once.
  const Problem& problem() const { return problem_; }
  const Geometry& geometry() const { return geometry_; }
  const Operands& operands() const { return operands_; }
  std::span<std::byte> c() { return operands_.c(); }
  // By rows B, by columns A, where devices gather it; null: each brings all of it itself.
  ReplicatedInput* replicated() { return replicated_ ? &*replicated_ : nullptr; }
  std::uint64_t sample() const { return sample_; }
  void arrived(std::span<const Slice> slices);  // these items of C are on the host

 private:
  std::vector<Variant> candidates(const DeviceTraits& device) const;

  Problem problem_;
  Geometry geometry_;
  Operands operands_;
  unsigned host_threads_;
  Shape shape_;
  Reference reference_;
  std::optional<ReplicatedInput> replicated_;
  std::uint64_t sample_ = 0;  // number of the sample
  bool looked_at_ = true;     // C holds a result that was verified: a stale one must not pass again
  std::mutex mutex_;          // over arrived_
  std::vector<bool> arrived_;
  std::map<std::string, std::string> preferred_;  // by device: the name of a variant
};

}  // namespace mgpu::matrix
