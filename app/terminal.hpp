// Properties of the output streams (width, colour, rewritable lines), and functions that print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/environment.hpp"
#include "app/settings.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Returns the style of tables on stdout. Width: COLUMNS, else the terminal's, else 100. Colour:
// --color, else NO_COLOR, else on if stdout is a terminal that is not TERM=dumb. Prose is wrapped
// on a terminal. Throws Error(usage) for a wrong --color, and for --columns that are not among
// `columns`.
TableStyle table_style(const Settings& settings, const Environment& environment,
                       const std::vector<std::string>& columns = run_column_names());

// Tells whether stderr is a terminal where a progress line may be rewritten. False under CI, whose
// logs would keep every state of it, and if TERM is dumb or not set.
bool progress_in_place(const Environment& environment);

// Returns the columns of the terminal that stderr is; 80 if it is none.
unsigned error_width();

// The last line of stderr, rewritten in place on a terminal that allows it.
class StatusLine {
 public:
  StatusLine() = default;
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { clear(); }
  // Shows the text, shortened to fit `width` and escaped as by print().
  void show(std::string_view text, unsigned width);
  void clear();

 private:
  std::string shown_;
};

// Writes text for people. Control characters other than line ends are escaped, as names from
// devices, files and drivers may have them. Throws Error(output) if not all could be written.
void print(std::string_view text);
// Writes as print(), but keeps colours if the style has them: draw_table() and wrapped_prose() have
// already escaped names from outside.
void print_styled(std::string_view text, const TableStyle& style);
// Writes as print(), with control characters escaped as JSON does, so that the values stay the
// same.
void print_json(std::string_view json);
// Writes bytes unchanged, for other programs.
void print_data(std::string_view data);
// Prints to stderr, after "mgpu-bench: " and with a newline at the end, escaped as by print();
// further lines are indented. Failures are ignored.
void print_error(std::string_view text);

// Writes bytes unchanged to stderr, for other programs. Failures are ignored.
void print_error_data(std::string_view data);

// Collects what commands print while it exists, in place of the standard streams, which then count
// as files: for tests that run commands in process.
class CapturedOutput {
 public:
  CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  ~CapturedOutput();
  std::string out, err;
};

}  // namespace mgpu
