// How a text that came from a person is shown back in a one-line message, and given to a shell.
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgpu {

// In double quotes, control characters and bytes beyond ASCII escaped as \xNN, cut after 48
// characters with "...": a message stays one short line whatever was typed.
std::string in_quotes(std::string_view text);

// Returns `word` quoted if a shell would not take it for one word.
std::string shell_word(const std::string& word);

// Names in a sentence.

// "a", "a and b", "a, b, c and d"; of more than four the first three: "a, b, c and 9 more". Empty
// of none.
std::string first_few(std::span<const std::string> names);

// The known word that a misspelt one was probably meant to be.

// '; did you mean "size"?' for a name that is nearly one of `known`, else nothing. To be put behind
// a refusal.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace mgpu
