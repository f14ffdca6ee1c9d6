// The stages on one device: kernels, their tables, what lies between two of them, and what each
// takes there.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "suites/pipeline/problem.hpp"

namespace mgpu::pipeline {

// Records in a buffer, from a word on.
struct Records {
  Buffer* buffer = nullptr;
  std::uint64_t word = 0;
};

// Work-items of a work-group of `hash` and `product` that a device may be given, the one taken by
// default first.
std::vector<std::size_t> groups_for(const DeviceTraits& device);
std::string variant_name(std::size_t group);

class StageKernels {
 public:
  // `group` is one of groups_for() the device. Builds all kernels and allocates three buffers of a
  // batch. `problem` outlives it. Throws Error(out_of_memory), Error(device), Error(timeout),
  // Error(unsupported).
  StageKernels(DeviceResources& device, const Problem& problem, std::size_t group);

  // Stages [first, end) of `count` records, from one place to another, which may be memory of
  // another device. What lies between goes through two of the buffers; the third is for the caller.
  void run(std::size_t first, std::size_t end, const Records& from, const Records& to,
           std::uint64_t count, Stream& stream);
  Buffer& spare() { return *buffers_[2]; }

  // Executes each stage on a batch a few times, and says how long it takes in the best case: where
  // the next stage is on this device, and where its records go to `next`, memory of another one
  // that has room for those of any stage but the last (null: there is none). Nothing where the
  // device cannot be tried at set-up. Blocks. Throws what DeviceResources::try_out does.
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
  std::vector<std::size_t> items_;               // by stage: work-items that transform a record
  std::vector<std::unique_ptr<Buffer>> tables_;  // by stage; null: it has none
  std::array<std::unique_ptr<Buffer>, 3> buffers_;
};

Bytes buffer_bytes(const Problem& problem);  // of each

// The matrix of products, row by row: odd seeded words.
std::vector<std::uint32_t> matrix_of(const Problem& problem, std::uint32_t side);

}  // namespace mgpu::pipeline
