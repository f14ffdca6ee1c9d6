// How a text that came from a person is shown back in a one-line message, and given to a shell.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace mgpu {

// In double quotes, control characters and bytes beyond ASCII escaped as \xNN, cut after 48
// characters with "...": a message stays one short line whatever was typed.
std::string in_quotes(std::string_view text);

// Returns `word` quoted if a shell would not take it for one word.
std::string shell_word(const std::string& word);

}  // namespace mgpu
