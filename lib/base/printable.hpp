// Text from outside (device names, file names, what files hold) as a terminal may be shown it:
// nothing in it moves the cursor, changes colours, or reorders what is read. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgpu {

// Length in bytes of the code point of well-formed UTF-8 that begins at `at` (RFC 3629); 0 where
// none does.
std::size_t utf8_length(std::string_view text, std::size_t at);

// The code point of a sequence of that length.
char32_t utf8_code_point(std::string_view sequence);

// One line: bytes that are no UTF-8 and control characters (C0, DEL, C1) become \xNN, invisible
// characters that order or join the text around them (bidirectional controls, line separators,
// tags) \u{NNNN}. Everything else stays.
std::string printable(std::string_view text);

// Several lines, of which all but the first are indented, so that none passes for a message of its
// own.
std::string printable_lines(std::string_view text);

// Text of several lines of ours: line ends stay, everything else is treated as by printable().
std::string printable_text(std::string_view text);

// Text that holds colours of ours: the escape sequences that set them (ESC [ digits and semicolons
// m) and line ends stay, everything else is treated as by printable().
std::string printable_colored(std::string_view text);

// JSON whose strings may hold such characters, as JSON of the same meaning without them: \uNNNN.
std::string printable_json(std::string_view json);

}  // namespace mgpu
