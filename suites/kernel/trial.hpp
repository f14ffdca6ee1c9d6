// Slices by themselves, before anything is measured: each array has poison around what the slice
// has of it, so that a map that says too little, or too much, shows.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "suites/kernel/launches.hpp"
#include "suites/kernel/layout.hpp"

namespace mgpu::kernel {

// By argument: the whole array as one device makes it, where it is an output.
using Results = std::vector<std::vector<std::byte>>;

// The first element, counted in the array, that is not as in `expected`; nothing where all are.
struct Difference {
  std::uint64_t element = 0, count = 0;
};
std::optional<Difference> first_difference(const ElementType& type, const Tolerance& tolerance,
                                           std::span<const std::byte> result,
                                           std::span<const std::byte> expected);

class Trial {
 public:
  // `inputs`: host memory of the problem.
  Trial(const Problem& problem, std::span<const std::byte> inputs, DeviceResources& device,
        Launches& launches)
      : problem_(problem), inputs_(inputs), device_(device), launches_(launches) {}

  // All items in one slice, or as many as the device holds, twice with different poison. Throws
  // Error(input) where the results differ, where an element is not written, and what run() throws.
  // Empty: this device cannot be tried.
  Results reference(Items at_once);
  // Likewise of all rounds, once.
  Results all_rounds();
  // The bytes that no kernel writes; only of sparse outputs. After reference().
  const std::vector<std::vector<bool>>& unwritten() const { return unwritten_; }
  // Slices that are cut otherwise, in another order: their results against these.
  void compare_cuts(const Results& expected, const std::vector<std::vector<bool>>& unwritten);

 private:
  struct Image {
    std::vector<std::byte> bytes;
    Bytes zero = 0;  // where index 0 is
  };
  // What came of some slices, by argument: outputs, records that were appended, and what a kernel
  // has to combine, by the first item of its slice. The last two are in `results` after complete().
  struct Gathered {
    Results results;
    std::vector<Records> records;
    std::vector<std::map<Items, std::vector<std::byte>>> partials;
  };
  // What a slice is given of each argument, on the device and around it.
  struct Given {
    std::vector<Image> images;
    std::vector<std::unique_ptr<Buffer>> whole, parts;
  };
  Given give(const Slice& slice, std::byte poison);
  // Throws Error(input) for an argument that is written where it should not be.
  bool run(const Slice& slice, std::byte poison, std::vector<Image>& images);
  std::string crash_of(const std::string& kernel, const std::string& what) const;
  std::string crash_of(const Slice& slice) const;
  Image image_of(std::size_t argument, const Slice& slice, std::byte poison) const;
  void check_written(std::size_t argument, const Slice& slice, const Image& before,
                     const Image& after) const;
  Gathered nothing_yet() const;
  void take(const Slice& slice, const std::vector<Image>& images, Gathered& into) const;
  // When all slices are taken. Throws Error(input) where a kernel that combines writes what it
  // should not.
  void complete(Gathered& gathered, std::byte poison);
  std::vector<std::byte> combined(std::size_t argument,
                                  const std::map<Items, std::vector<std::byte>>& partials,
                                  std::byte poison);
  // What a kernel made of `count` partial results, against what one device makes of all items.
  // Throws Error(input).
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
