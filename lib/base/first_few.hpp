// Names in a sentence.
#pragma once

#include <span>
#include <string>

namespace mgpu {

// "a", "a and b", "a, b, c and d"; of more than four the first three: "a, b, c and 9 more". Empty
// of none.
std::string first_few(std::span<const std::string> names);

}  // namespace mgpu
