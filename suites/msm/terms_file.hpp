// Terms from files.
//
// The format follows from the name's ending, .bin or .hex, else from the first character: JSON
// begins with {, anything else is CSV.
//
// JSON: {"curve": "bn254", "terms": [{"scalar": "5", "x": "0x1", "y": "0x2"}, ..]}. The curve is
// bn254 or bls12_381. Each of these keys appears once, and no other key. Numbers are texts, as they
// do not fit JSON numbers.
//
// CSV: the first line has the names scalar, x, y and optionally curve, each once, in any order.
// Each further line is a term, with a field per name. Fields are separated by commas; spaces and
// tabs around them, or one pair of double quotes, are removed. Every line ends with a line feed, or
// carriage return and line feed, the last line as well: a file that was cut short within a number
// would otherwise have another number. Missing lines cannot be detected.
//
// Numbers in both are decimal without leading zeros, or hexadecimal with 0x.
//
// .bin: records of x, y and scalar in the encoding of EIP-2537 (BLS12-381: twice 64 bytes, of which
// the first 16 are zeros, and 32 bytes) or EIP-196 (BN254: 32 bytes thrice), most significant byte
// first, and nothing else. .hex: the same bytes as pairs of hexadecimal digits; a line has any
// number of bytes and may begin with 0x.
//
// Points: coordinates below the modulus of the field, on the curve, and for BLS12-381 in the
// subgroup of order r, which --trust-input leaves untested. Infinity is x = y = 0.
//
// Scalars: integers below 2^256. They are reduced modulo r, which changes no multiple of a point of
// the subgroup. If the subgroup was not tested, they must be below r.
//
// At least one term.
#pragma once

#include <filesystem>

#include "suites/msm/terms.hpp"

namespace mgpu::msm {

// Summary of these formats for the help.
extern const char* const terms_file_help;

enum class Trust { nothing, subgroup };

// Reads a file on `threads` threads. Throws Error(input) that names the first wrong term and its
// mistake. A curve that the file names must be `curve`. subgroup.hpp has the cost of testing
// points.
Terms terms_from_file(const std::filesystem::path& file, Curve curve, Trust trust,
                      unsigned threads);

}  // namespace mgpu::msm
