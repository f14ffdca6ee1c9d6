// One product as a Workload: operands, kernels and verification. The device part is in
// matrix_program.hpp.
#pragma once

#include "suites/common/passed_verdicts.hpp"
#include "suites/common/product_workload.hpp"
#include "suites/matrix/kernels.hpp"
#include "suites/matrix/operands.hpp"
#include "suites/matrix/problem.hpp"
#include "suites/matrix/reference.hpp"

namespace mgpu::matrix {

Shape shape_of(const Problem& problem);

class MatrixWorkload final : public ProductWorkload {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit MatrixWorkload(const SuiteParams& params);

  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  const Problem& problem() const { return problem_; }
  const Operands& operands() const { return operands_; }
  Operands& memory() override { return operands_; }
  const Operands& memory() const override { return operands_; }

 private:
  bool has_variant(const DeviceTraits& device, const std::string& variant) const override;
  std::vector<Variant> candidates(const DeviceTraits& device) const;

  Problem problem_;
  Operands operands_;
  Reference reference_;
  PassedVerdicts passed_;
};

}  // namespace mgpu::matrix
