// Reads and writes arrays in NumPy's .npy format
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): little-endian float32,
// float64, int32, uint32 or uint64; matrices in C or Fortran order, and arrays of up to three
// dimensions in C order. Suites use it for --input and --save-data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

enum class NpyNumbers { real, int32, words };

struct NpyShape {
  std::uint64_t rows = 0, columns = 0;
  Bytes element = 4;  // bytes per element; 4: float32, int32 or uint32, 8: float64 or uint64
  NpyNumbers numbers = NpyNumbers::real;
  // Returns the size of the elements; UINT64_MAX if it exceeds 64 bits.
  Bytes bytes() const { return saturating_multiply(saturating_multiply(rows, columns), element); }
};

// Returns the shape in the file's header, whose elements must be `numbers`, and checks that the
// file has the length that the header implies. Throws Error(input), naming the option, the file and
// what is expected.
NpyShape read_npy_shape(const std::filesystem::path& file, const char* option = "--input",
                        NpyNumbers numbers = NpyNumbers::real);

struct NpyArray {
  std::vector<std::uint64_t> extents;  // one to three dimensions
  Bytes element = 4;
};

// Returns the extents in the header of an array of one to three dimensions, with the same checks.
NpyArray read_npy_array(const std::filesystem::path& file, const char* option = "--input");

// Reads the elements, row by row, into `to`, which has shape.bytes(); those of a matrix in Fortran
// order are transposed. The first two of three
// dimensions together count as rows; an array of one dimension is one row. Throws Error(input),
// also if the file's shape has changed since it was read.
void read_npy(const std::filesystem::path& file, const NpyShape& shape, std::span<std::byte> to,
              const char* option = "--input");

// Writes version 1.0 to a temporary file next to `file` and renames it, so that `file` is complete
// or not there. Throws Error(output), naming --save-data.
void write_npy(const std::filesystem::path& file, const NpyShape& shape,
               std::span<const std::byte> elements);

}  // namespace mgpu
