// Shows text that a person typed in a one-line message, and quotes words for a shell. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgpu {

// Returns the text in double quotes, with control characters and bytes beyond ASCII escaped as
// \xNN, cut after 48 characters with "...": a message stays one short line whatever was typed.
std::string in_quotes(std::string_view text);

// Returns `word` quoted if a shell would not take it for one word.
std::string shell_word(const std::string& word);

// Lists of names in a sentence.

// Returns "a", "a and b" or "a, b and c"; an empty text for none.
std::string in_words(std::span<const std::string> names);

// Returns the names in words; of more than four the first three, "a, b, c and 9 more"; an empty
// text for none.
std::string first_few(std::span<const std::string> names);

// Suggestions for misspelt words.

// Returns '; did you mean "size"?' if the name is close to one of `known`, else nothing. The caller
// appends it to an error message.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace mgpu
