// Terms from files.
//
// What a file holds goes by the end of its name, .bin or .hex, else by its first character: JSON
// begins with {, all else is CSV.
//
// JSON: {"curve": "bn254", "terms": [{"scalar": "5", "x": "0x1", "y": "0x2"}, ..]}. The curve is
// bn254 or bls12_381. These keys and no others, each once; numbers are texts, as they do not fit
// those of JSON.
//
// CSV: a first line with the names scalar, x, y and perhaps curve, each once, in any order; then a
// line for each term, with a field for each name. Fields are separated by commas, with spaces and
// tabs or a pair of double quotes around them. Every line ends with a line feed, or carriage return
// and line feed; the last too, as else a file that was cut short within a number would be one with
// another number. That lines are missing altogether cannot be seen.
//
// Numbers in both: decimal without leading zeros, or hexadecimal with 0x.
//
// .bin: records of x, y and scalar as EIP-2537 (BLS12-381: 64 bytes, 16 of them zeros in front,
// twice, and 32 bytes) or EIP-196 (BN254: 32 bytes thrice) encode them, most significant byte
// first, and nothing else. .hex: the same as hexadecimal digits, two a byte, in lines of any number
// of bytes, which may begin with 0x.
//
// Points: coordinates below the modulus of the field; on the curve; of BLS12-381 in the subgroup of
// order r too, which
// --trust-input leaves untested. Infinity is x = y = 0.
//
// Scalars: whole numbers below 2^256, reduced modulo r, which changes no multiple of a point of the
// subgroup. Where the subgroup was not tested they must be below r.
//
// At least one term.
#pragma once

#include <filesystem>

#include "suites/msm/terms.hpp"

namespace mgpu::msm {

// The above in a few words, for the help.
extern const char* const terms_file_help;

enum class Trust { nothing, subgroup };

// Throws Error(input) that names the first term that is wrong, and what is wrong with it. A curve
// that the file names must be `curve`. What that takes is described in subgroup.hpp; on `threads`
// threads.
Terms terms_from_file(const std::filesystem::path& file, Curve curve, Trust trust,
                      unsigned threads);

}  // namespace mgpu::msm
