// The commands that a device enqueues per chunk of series: the filter, then the surrogates by one
// of two methods.
#pragma once

#include <map>
#include <memory>

#include "suites/pac/layout.hpp"
#include "suites/pac/tables.hpp"

namespace mgpu::pac {

// A chunk of a slice: its series `first` to `first` + `count` - 1.
struct Chunk {
  Buffer* input = nullptr;    // has the rows of `rows`
  Buffer* moments = nullptr;  // has the rows of `rows`
  SeriesRows rows;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  bool accumulate = false;  // add to the moments in the buffer
};

// Kernels, constants and buffers of kernels/pac_filter.cl. The first upload() copies the constants
// to the device.
class Filter {
 public:
  Filter(DeviceResources& device, const Problem& problem, const Layout& layout);
  void upload(Stream& stream);
  void enqueue(const Chunk& chunk, Stream& stream);

  // Results of the last chunk, which stay on the device; the kernels' comments have their formats.
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
  std::size_t local_ = 1;  // work-items of a group
  const FilterTables tables_;
  bool there_ = false;  // the constants are on the device
  std::unique_ptr<Kernel> spectrum_, phases_, amplitudes_, weigh_;
  std::unique_ptr<Buffer> roots_, directions_, responses_, ranges_, amplitude_responses_,
      amplitude_ranges_;
  std::unique_ptr<Buffer> spectra_, bins_, counts_, weights_, sizes_, totals_, scratch_;
};

// Computes the moments of the shifts of items [begin, end) of --axis permutation, or of all shifts.
class Surrogates {
 public:
  virtual ~Surrogates() = default;
  virtual void upload(Stream& stream) = 0;
  virtual void enqueue(const Chunk& chunk, Items begin, Items end, Filter& filter,
                       Stream& stream) = 0;
};

// Makes the method of `layout`. Throws Error(out_of_memory), Error(device).
std::unique_ptr<Surrogates> make_surrogates(DeviceResources& device, const Problem& problem,
                                            const Layout& layout);

}  // namespace mgpu::pac
