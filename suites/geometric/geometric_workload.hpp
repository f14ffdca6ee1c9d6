// Products of many multivectors as a Workload. Devices exchange nothing.
#pragma once

#include <map>

#include "lib/workload/pages.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/common/passed_verdicts.hpp"
#include "suites/geometric/kernel_text.hpp"
#include "suites/geometric/problem.hpp"

namespace mgpu::geometric {

struct Variant {
  std::string name;
  KernelForm form;
};
// Returns the variants that a device can run, best first.
std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem);

class GeometricWorkload final : public Workload, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit GeometricWorkload(const SuiteParams& params);

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
  std::string digest() const override;  // SHA-256 of the bytes of the products
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Called by programs, possibly from several threads at once.
  const Problem& problem() const { return problem_; }
  std::span<const std::byte> operand(unsigned which) const {
    return {pages_.data() + which * place(), problem_.operand_bytes()};
  }
  std::span<std::byte> result() { return {pages_.data() + 2 * place(), problem_.operand_bytes()}; }
  Arrivals& arrivals() { return arrivals_; }

 private:
  Bytes place() const { return in_pages(problem_.operand_bytes()); }
  void read(const SuiteParams& params);

  Problem problem_;
  Shape shape_;
  unsigned host_threads_;
  Pages pages_;
  Arrivals arrivals_;
  PassedVerdicts passed_;
};

}  // namespace mgpu::geometric
