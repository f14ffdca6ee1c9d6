// Many transforms as a Workload, whose items they are. Devices exchange nothing.
#pragma once

#include "lib/workload/pages.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/common/passed_verdicts.hpp"
#include "suites/ntt/passes.hpp"

namespace mgpu::ntt {

class BatchWorkload final : public Workload, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  BatchWorkload(const Problem& problem, const SuiteParams& params);

  WorkloadInterfaces interfaces() override { return {.tunable = this}; }
  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override {
    return {pages_.data(), host_bytes(problem_)};
  }
  void begin_sample() override { arrivals_.begin_sample(result()); }
  void merge() override {}
  std::string digest() const override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by programs, possibly from several threads at once.
  const Problem& problem() const { return problem_; }
  std::span<const std::byte> input() const { return {pages_.data(), problem_.bytes()}; }
  std::span<std::byte> result() const {
    return {pages_.data() + in_pages(problem_.bytes()), problem_.result_bytes()};
  }
  std::span<std::byte> result_of(const Slice& slice) const {
    const Bytes each = problem_.result_bytes() / problem_.batch;
    return result().subspan(slice.begin * each, slice.size() * each);
  }
  Arrivals& arrivals() { return arrivals_; }

 private:
  Problem problem_;
  Shape shape_;
  unsigned host_threads_;
  Pages pages_;
  Arrivals arrivals_;
  PassedVerdicts passed_;
};

}  // namespace mgpu::ntt
