// The known word that a misspelt one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgpu {

// '; did you mean "size"?' for a name that is nearly one of `known`, else nothing. To be put behind
// a refusal.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace mgpu
