// What one device enqueues for a chunk of series: the filter, then the surrogates by one of two
// methods.
#pragma once

#include <map>
#include <memory>

#include "suites/pac/layout.hpp"
#include "suites/pac/tables.hpp"

namespace mgpu::pac {

// A chunk of a slice: series `first` to `first` + `count` - 1 of it.
struct Chunk {
  Buffer* input = nullptr;    // with the rows of `rows`
  Buffer* moments = nullptr;  // likewise
  SeriesRows rows;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  bool accumulate = false;  // moments are added to those that are there
};

// Kernels, constants and buffers of kernels/pac_filter.cl. The first upload() brings the constants
// to the device.
class Filter {
 public:
  Filter(DeviceResources& device, const Problem& problem, const Layout& layout);
  void upload(Stream& stream);
  void enqueue(const Chunk& chunk, Stream& stream);

  // What it leaves on the device of the last chunk, as the kernels' comments have it.
  Buffer& bins() { return *bins_; }
  Buffer& counts() { return *counts_; }
  Buffer& weights() { return *weights_; }
  Buffer& sizes() { return *sizes_; }
  Buffer& totals() { return *totals_; }

 private:
  KernelArg scratch() const;
  Grid grid(std::uint64_t pieces) const;

  const Problem& problem_;
  const FilterShape shape_;
  const FilterTables tables_;
  bool there_ = false;  // the constants
  std::unique_ptr<Kernel> spectrum_, phases_, amplitudes_, weigh_;
  std::unique_ptr<Buffer> roots_, directions_, responses_, ranges_, amplitude_responses_,
      amplitude_ranges_;
  std::unique_ptr<Buffer> spectra_, bins_, counts_, weights_, sizes_, totals_, scratch_;
};

// Moments of the shifts of items [begin, end) of --axis permutation, or of all.
class Surrogates {
 public:
  virtual ~Surrogates() = default;
  virtual void upload(Stream& stream) = 0;
  virtual void enqueue(const Chunk& chunk, Items begin, Items end, Filter& filter,
                       Stream& stream) = 0;
};

// Throws Error(out_of_memory), Error(device).
std::unique_ptr<Surrogates> make_surrogates(DeviceResources& device, const Problem& problem,
                                            const Layout& layout);

}  // namespace mgpu::pac
