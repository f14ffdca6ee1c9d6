// The Fisher matrices of many points as a Workload: inputs, results, digest and verification. The
// device part is in points_program.hpp.
#pragma once

#include "suites/common/arrivals.hpp"
#include "suites/common/passed_verdicts.hpp"
#include "suites/fisher/demand.hpp"
#include "suites/fisher/host_data.hpp"

namespace mgpu::fisher {

class PointsWorkload : public Workload {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit PointsWorkload(const SuiteParams& params);

  const Shape& shape() const override { return shape_; }
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  Demand demand(const DeviceTraits& device) const override { return demand_of(problem_, device); }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override { return data_.all(); }
  void begin_sample() override { arrivals_.begin_sample(data_.result()); }
  void merge() override {}
  std::string digest() const override;  // SHA-256 of the bytes of all upper halves
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file)
      const override;  // one row per point: its dim x dim matrix, float64

  static Bytes host_bytes(const Problem& problem);
  static Shape shape_of(const Problem& problem);

  // Called by programs, possibly from several threads at once.
  const Problem& problem() const { return problem_; }
  const HostData& data() const { return data_; }
  std::span<std::byte> result() { return data_.result(); }
  std::uint64_t first_point(Items item) const;
  Arrivals& arrivals() { return arrivals_; }

 private:
  double element(std::uint64_t point, std::uint64_t place) const;
  // Compares the matrices, or some of them, with the reference.
  Verdict compare(bool full, std::uint64_t seed);

  Problem problem_;
  unsigned host_threads_;
  HostData data_;
  Shape shape_;
  std::string refused_;  // why the precision cannot hold the matrices; empty if it can
  Arrivals arrivals_;
  PassedVerdicts passed_;
};

}  // namespace mgpu::fisher
