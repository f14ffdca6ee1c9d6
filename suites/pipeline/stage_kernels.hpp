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
  // Builds all kernels, and allocates three buffers of a batch. `group` is one of groups_for() the
  // device. `problem` must outlive this object. Throws Error(out_of_memory), Error(device),
  // Error(timeout), Error(unsupported).
  StageKernels(DeviceResources& device, const Problem& problem, std::size_t group);

  // Runs stages [first, end) on `count` records from one place to another, which may be memory of
  // another device. Two of the buffers have the records between stages; the third is the caller's.
  void run(std::size_t first, std::size_t end, const Records& from, const Records& to,
           std::uint64_t count, Stream& stream);
  Buffer& spare() { return *buffers_[2]; }

  // Runs each stage on a batch a few times and returns the shortest times: with the next stage on
  // this device, and with the records written to `next`, memory of another device with room for
  // those of any stage but the last (null: there is none). Returns nothing if the device cannot be
  // measured at set-up. Blocks. Throws the errors of DeviceResources::try_out.
  std::optional<StageTimes> measure(Buffer* next);

 private:
  void launch(std::size_t stage, const Records& from, const Records& to, std::uint64_t count,
              Stream& stream);
  void fill_buffers();
  std::optional<double> seconds_of(std::size_t stage, Buffer& to);

  DeviceResources& device_;
  const Problem& problem_;
  const std::size_t group_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::size_t> items_;  // work-items per record of a transform; one per stage
  std::vector<std::unique_ptr<Buffer>> tables_;  // one per stage; null if it has no table
  std::array<std::unique_ptr<Buffer>, 3> buffers_;
};

Bytes buffer_bytes(const Problem& problem);  // size of each buffer

// Returns the matrix of products, row by row: odd seeded words.
std::vector<std::uint32_t> matrix_of(const Problem& problem, std::uint32_t side);

}  // namespace mgpu::pipeline
