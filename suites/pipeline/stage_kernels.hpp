// The stages on one device: kernels, their tables, the buffers between stages, and their measured
// times.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "suites/pipeline/problem.hpp"

namespace mgpu::pipeline {

// Records in a buffer, starting at a word.
struct Records {
  Buffer* buffer = nullptr;
  std::uint64_t word = 0;
};

// Returns the work-group sizes of `hash` and `product` that a device supports, the default first.
std::vector<std::size_t> groups_for(const DeviceTraits& device);
std::string variant_name(std::size_t group);

class StageKernels {
 public:
  // Builds all kernels, of fused stages one, and allocates three buffers of a batch. `group` is one
  // of groups_for() the device. `problem` must outlive this object. Throws Error(out_of_memory),
  // Error(device), Error(timeout), Error(unsupported).
  StageKernels(DeviceResources& device, const Problem& problem, std::size_t group);

  // Runs stages [first, end) on `count` records from one place to another, which may be memory of
  // another device. Two of the buffers have the records between stages; the third is the caller's.
  void run(std::size_t first, std::size_t end, const Records& from, const Records& to,
           std::uint64_t count, Stream& stream);
  Buffer& spare() { return *buffers_[2]; }

  // Runs each stage on a batch a few times and returns the shortest times: with the next stage on
  // this device, and with the records written to `next`, memory of another device with room for
  // those of any stage but the last (null: there is none). Returns nothing if stages are fused or
  // the device cannot be measured at set-up. Blocks. Throws the errors of DeviceResources::try_out.
  std::optional<StageTimes> measure(Buffer* next);

 private:
  void add_kernel(const std::string& entry, std::size_t first, std::size_t end);
  void launch(std::size_t stage, const Records& from, const Records& to, std::uint64_t count,
              Stream& stream);
  void fill_buffers();
  std::optional<double> seconds_of(std::size_t stage, Buffer& to);

  DeviceResources& device_;
  const Problem& problem_;
  const std::size_t group_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // one per stage, or one for all
  std::vector<std::size_t> items_;  // work-items per record of a transform; one per stage
  std::vector<std::unique_ptr<Buffer>> tables_;  // one per stage; null if it has no table
  std::array<std::unique_ptr<Buffer>, 3> buffers_;
};

Bytes buffer_bytes(const Problem& problem);  // size of each buffer

// Returns the matrix of products, row by row: odd seeded words.
std::vector<std::uint32_t> matrix_of(const Problem& problem, std::uint32_t side);

// Returns the numbers that a real stage computes with, seeded:
// - `tropical`: the matrix of min-plus products, row by row, from 0 up to 1, 0 on the diagonal, so
//   that results lie between the numbers of their row;
// - `dual`: the eight coefficients that each pass adds to the polynomial, from -1/4 up to 1/4;
// - `clifford`: the multivector that others are multiplied by, a rotor times cos t + e123 sin t,
//   which changes no norm.
std::vector<float> numbers_of(const Problem& problem, Kind kind, std::uint32_t side);

// Returns the work-items of the kernel of fused stages, for which `group` is enough if all of them
// are stages of rows; else work-groups have whole records.
std::size_t fused_group(const Problem& problem, std::size_t group);

}  // namespace mgpu::pipeline
