// Makes text from outside (device names, file names, contents of files) safe for a terminal:
// nothing in it moves the cursor, changes colours, or reorders the text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgpu {

// Returns the length in bytes of the well-formed UTF-8 code point that begins at `at` (RFC 3629); 0
// if none does.
std::size_t utf8_length(std::string_view text, std::size_t at);

// Returns the code point of a sequence of utf8_length() bytes.
char32_t utf8_code_point(std::string_view sequence);

// Returns `text` as one line: invalid UTF-8 and control characters (C0, DEL, C1) become \xNN,
// invisible characters that reorder or join the text around them (bidirectional controls, line
// separators, tags) become \u{NNNN}. Everything else is unchanged.
std::string printable(std::string_view text);

// Returns several lines, all but the first indented, so that none can pass for a message of its
// own.
std::string printable_lines(std::string_view text);

// Treats a text of several lines that this program wrote: line ends are unchanged, everything else
// is treated as by printable().
std::string printable_text(std::string_view text);

// Treats a text that this program coloured: line ends and the escape sequences that set colours
// (ESC [ digits and semicolons m) are unchanged, everything else is treated as by printable().
std::string printable_colored(std::string_view text);

// Returns JSON of the same meaning in which such characters of strings are written as \uNNNN.
std::string printable_json(std::string_view json);

// Returns the text, printable, escaped for XML. XML 1.0 has no control characters but tab and line
// breaks, not even escaped.
std::string xml_text(std::string_view text);

}  // namespace mgpu
