// Arrays in NumPy's .npy format
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): C order, little-endian
// float32, float64 or int32; matrices, and arrays of up to three dimensions. For --input and
// --output of suites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

enum class NpyNumbers { real, int32 };

struct NpyShape {
  std::uint64_t rows = 0, columns = 0;
  Bytes element = 4;  // 4: float32 or int32, 8: float64
  NpyNumbers numbers = NpyNumbers::real;
  // UINT64_MAX where no file could have so many.
  Bytes bytes() const { return saturating_multiply(saturating_multiply(rows, columns), element); }
};

// Of the file's header, which must have these numbers; checks that the file is as long as it says.
// Throws Error(input), naming the option, the file and what is accepted.
NpyShape read_npy_shape(const std::filesystem::path& file, const char* option = "--input",
                        NpyNumbers numbers = NpyNumbers::real);

struct NpyArray {
  std::vector<std::uint64_t> extents;  // one to three
  Bytes element = 4;
};

// Likewise of an array of one to three dimensions.
NpyArray read_npy_array(const std::filesystem::path& file, const char* option = "--input");

// The elements, row by row, into `to`, which has shape.bytes(); of three dimensions the first two
// are rows, of one there is one row. Throws Error(input), also when the file changed its shape
// meanwhile.
void read_npy(const std::filesystem::path& file, const NpyShape& shape, std::span<std::byte> to,
              const char* option = "--input");

// Version 1.0, written beside `file` and renamed, so that it is whole or not there. Throws
// Error(output), naming --output.
void write_npy(const std::filesystem::path& file, const NpyShape& shape,
               std::span<const std::byte> elements);

}  // namespace mgpu
