// What the output streams can show: width, colour, and whether a line may be rewritten in place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/environment.hpp"
#include "app/settings.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// For tables on stdout. Width: COLUMNS, else the terminal's, else 100. Colour: --color, else
// NO_COLOR, else when stdout is a terminal that is not TERM=dumb. Prose is wrapped on a terminal.
// Throws Error(usage) for another --color, and for --columns that are not among `columns`.
TableStyle table_style(const Settings& settings, const Environment& environment,
                       const std::vector<std::string>& columns = run_column_names());

// Is stderr a terminal where a progress line may be rewritten? Not under CI, whose logs would keep
// every state of it, nor where TERM is dumb or not set.
bool progress_in_place(const Environment& environment);

// Columns of the terminal that stderr is; 80 when it is none.
unsigned error_width();

// The last line of stderr, which is rewritten where it is a terminal, on one that allows that.
class StatusLine {
 public:
  StatusLine() = default;
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { clear(); }
  // Shortened to fit `width`, escaped as by print().
  void show(std::string_view text, unsigned width);
  void clear();

 private:
  std::string shown_;
};

// Writes all of it, or throws Error(output). What is for people: control characters in it, which
// names from devices, files and drivers may hold, are escaped, but for line ends.
void print(std::string_view text);
// Writes as print(), but where tables are in colour their colours stay, too: draw_table() and
// wrapped_prose(), which make them, have escaped what came from outside.
void print_styled(std::string_view text, const TableStyle& style);
// JSON: likewise, in the escapes of JSON, so that it says the same.
void print_json(std::string_view json);
// What other programs read: bytes as they are.
void print_data(std::string_view data);
// To stderr, "mgpu-bench: " before it and a newline after it, escaped as by print(); further lines
// are indented. Failures are ignored.
void print_error(std::string_view text);

// What commands print while it exists, instead of on the standard streams, which count as files:
// for tests that run commands in process.
class CapturedOutput {
 public:
  CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  ~CapturedOutput();
  std::string out, err;
};

}  // namespace mgpu
