// A table of text cells for a terminal of a given width. table_writer.cpp has the meaning of
// columns. Internal to lib/report.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/printable.hpp"

namespace mgpu {

struct TextColumn {
  std::string name, unit;  // two header lines; the unit may be empty
  bool right = true;       // numbers to the right, words to the left
  // The least important columns are dropped first if the width is too small; 0: never.
  int importance = 0;
  bool cut = false;       // cells may be shortened, with "..", before a column is dropped
  std::string full = {};  // name among hidden columns, if `name` occurs twice
};

struct TextRow {
  // One per column; if fewer, the last one extends to the end of the line.
  std::vector<std::string> cells;
  const char* color = "";  // an escape sequence, used only when the table is drawn in colour
};

// A last column without a name: rows that have no cell for it end with their last cell, however
// long.
inline const TextColumn kRestOfLine{"", "", false};

// Returns the terminal columns that a printable text takes: its number of code points.
std::size_t display_width(std::string_view text);
// Returns at most `width` columns of the text, with ".." where it was cut.
std::string shortened(const std::string& text, std::size_t width);

// Keeps of the columns in `choosable` only those in `chosen`, however wide; changes nothing if none
// is chosen.
void choose_columns(std::span<const std::string> choosable, std::span<const std::string> chosen,
                    std::vector<TextColumn>& columns, std::vector<TextRow>& rows);

// Draws the table. Drops columns that do not fit; appends their names to `hidden`, each once.
std::string draw_table(std::vector<TextColumn> columns, std::vector<TextRow> rows,
                       std::size_t width, bool color, std::vector<std::string>& hidden);
// Returns "2 columns hidden: overlap, residue (HINT)" and a line end, broken at the width; empty if
// there are none.
std::string hidden_line(const std::vector<std::string>& hidden, const std::string& hint,
                        std::size_t width);

}  // namespace mgpu
