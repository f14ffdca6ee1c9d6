// How a text that came from a person is shown back in a one-line message. Pure.
#pragma once

#include <string>
#include <string_view>

namespace mgpu {

// In double quotes, control characters and bytes beyond ASCII escaped as \xNN, cut after 48
// characters with "...": a message stays one short line whatever was typed.
std::string in_quotes(std::string_view text);

}  // namespace mgpu
