// What the output streams can show: width, colour, and whether a line may be rewritten in place.
#pragma once

#include <string_view>

#include "app/environment.hpp"
#include "app/settings.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// For tables on stdout. Width: COLUMNS, else the terminal's, else 100. Colour: --color, else NO_COLOR, else when stdout is a
// terminal that is not TERM=dumb. Prose is wrapped on a terminal. Throws Error(usage) for another --color.
TableStyle table_style(const Settings& settings, const Environment& environment);

// Is stderr a terminal where a progress line may be rewritten? Not under CI, whose logs would keep every state of it.
bool progress_in_place(const Environment& environment);

// Columns of the terminal that stderr is; 80 when it is none.
unsigned error_width();

// Writes all of it, or throws Error(output).
void print(std::string_view text);
void print_error(std::string_view text);  // to stderr, "mgpu-bench: " before it and a newline after it; failures are ignored

}  // namespace mgpu
