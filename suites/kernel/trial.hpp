// Runs trial slices before anything is measured. Each array has poison bytes around the slice's
// part of it, so that a map that declares too little or too much is noticed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "suites/kernel/launches.hpp"
#include "suites/kernel/layout.hpp"

namespace mgpu::kernel {

// Output arrays of the whole problem as one device computes them; one per argument.
using Results = std::vector<std::vector<std::byte>>;

// Number of elements that differ from the expected ones, and the first of them.
struct Difference {
  std::uint64_t element = 0, count = 0;
};
std::optional<Difference> first_difference(const ElementType& type, const Tolerance& tolerance,
                                           std::span<const std::byte> result,
                                           std::span<const std::byte> expected);

class Trial {
 public:
  // `inputs` is the problem's host memory.
  Trial(const Problem& problem, std::span<const std::byte> inputs, DeviceResources& device,
        Launches& launches)
      : problem_(problem), inputs_(inputs), device_(device), launches_(launches) {}

  // Computes all items twice, with different poison, in one slice or in as many as the device holds
  // at once. Throws Error(input) if the results differ or an element is not written, and what run()
  // throws. Returns an empty result if this device cannot be tried.
  Results reference(Items at_once);
  // Computes all rounds of all items, twice like reference().
  Results all_rounds();
  // Returns the bytes of sparse outputs that no kernel writes, by the last of both.
  const std::vector<std::vector<bool>>& unwritten() const { return unwritten_; }
  // Computes slices that are cut differently, in another order, and compares their results. Returns
  // their number; 0: this device cannot be tried.
  std::size_t compare_cuts(const Results& expected,
                           const std::vector<std::vector<bool>>& unwritten);

 private:
  struct Image {
    std::vector<std::byte> bytes;
    Bytes zero = 0;  // offset of index 0
  };
  // Results of some slices, one entry per argument: outputs, appended records, and partial results
  // that a kernel has to combine, keyed by the first item of their slice. complete() moves the last
  // two into `results`.
  struct Gathered {
    Results results;
    std::vector<Records> records;
    std::vector<std::map<Items, std::vector<std::byte>>> partials;
  };
  // Buffers of a slice, one per argument: with the poison around (`whole`), and the part that the
  // kernel gets. An image has no poison around, and is only the part.
  struct Given {
    std::vector<Image> images;
    std::vector<std::unique_ptr<Buffer>> whole, parts;
  };
  std::vector<Image> images_of(const Slice& slice, std::byte poison) const;
  Given give(const Slice& slice, std::vector<Image> images);
  void upload(const Given& given, Stream& stream) const;
  // Runs levels [first, end) of one slice, which replaces its images; returns false if the device
  // cannot be tried. Throws Error(input) for an argument that is written outside of its map.
  bool run(const Slice& slice, std::uint32_t first, std::uint32_t end, std::vector<Image>& images);
  bool run(const Slice& slice, std::byte poison, std::vector<Image>& images);
  // Runs slices level by level: each level gets what those before it wrote, also by other slices,
  // and the combination of the accumulators that it only reads.
  bool run_together(const std::vector<Slice>& slices, std::byte poison,
                    std::vector<std::vector<Image>>& images);
  Results all_rounds(std::byte poison);
  std::optional<Access> use_of(std::size_t argument, std::uint32_t level,
                               std::uint32_t round) const;
  std::string crash_of(const std::string& kernel, const std::string& what) const;
  std::string crash_of(const Slice& slice) const;
  Image image_of(std::size_t argument, const Slice& slice, std::byte poison) const;
  void check_written(std::size_t argument, const Slice& slice, const Image& before,
                     const Image& after) const;
  Gathered nothing_yet() const;
  void take(const Slice& slice, const std::vector<Image>& images, Gathered& into) const;
  // Combines the gathered results after the last slice. Throws Error(input) if a combining kernel
  // writes outside of its first argument.
  void complete(Gathered& gathered, std::byte poison);
  std::vector<std::byte> combined(std::size_t argument,
                                  const std::map<Items, std::vector<std::byte>>& partials,
                                  std::byte poison);
  // Compares what a kernel combined from `count` partial results with the result of one device for
  // all items. Throws Error(input).
  void check_combined(std::size_t argument, std::span<const std::byte> made, std::size_t count,
                      std::span<const std::byte> at_once, const char* how) const;
  void compare_with_one_launch(const Results& results);
  void compare_runs(const Results& with_ones, const Results& with_zeros);
  std::string hint() const;

  const Problem& problem_;
  std::span<const std::byte> inputs_;
  DeviceResources& device_;
  Launches& launches_;
  std::vector<std::vector<bool>> unwritten_;
};

}  // namespace mgpu::kernel
