// One tropical product as a Workload, and one device's part of it.
#pragma once

#include <map>

#include "suites/common/passed_verdicts.hpp"
#include "suites/common/product_program.hpp"
#include "suites/common/product_workload.hpp"
#include "suites/tropical/kernels.hpp"

namespace mgpu::tropical {

class TropicalProduct final : public ProductWorkload {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  TropicalProduct(const Problem& problem, const SuiteParams& params);

  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  const Problem& problem() const { return problem_; }
  ProductMemory& memory() override { return operands_; }
  const ProductMemory& memory() const override { return operands_; }

 private:
  bool has_variant(const DeviceTraits& device, const std::string& variant) const override;
  // A and B, seeded or read from the files of --input.
  struct Operands : ProductMemory {
    Operands(const Problem& problem, const SuiteParams& params);
    template <class Number>
    void fill(const Problem& problem, const SuiteParams& params);
    bool ordered = false;
  };
  std::vector<Variant> candidates(const DeviceTraits& device) const;
  Purpose purpose() const { return {false, operands_.ordered}; }

  Problem problem_;
  unsigned host_threads_;
  Operands operands_;
  PassedVerdicts passed_;
};

class TropicalProductProgram final : public ProductProgram {
 public:
  // Takes slices of at most `fits` items. `workload` must outlive this object. Throws
  // Error(out_of_memory), Error(device).
  TropicalProductProgram(TropicalProduct& workload, DeviceResources& device, Mode mode, Items fits,
                         Kernels kernels);

  std::string kernel_variant() const override { return kernels_.variant.name(); }

 private:
  void multiply(const Part& part, const Buffers& buffers, Stream& stream) override;
  void pack_rows(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                 std::uint32_t count, Stream& stream) override;
  void pack_columns(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                    std::uint32_t count, Stream& stream) override;

  const Kernels kernels_;
};

// Writes the values and, with paths, NAME.paths.npy next to them. Throws Error(output).
void write_result_files(const std::filesystem::path& file, const Problem& problem,
                        std::span<const std::byte> values, std::span<const std::byte> paths);

}  // namespace mgpu::tropical
