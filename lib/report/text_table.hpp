// A table of text cells for a terminal of a given width. What the columns mean is in
// table_writer.cpp. Internal to lib/report.
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
  int importance =
      0;  // the least important columns are dropped first when the width does not do; 0: never
  bool cut = false;       // cells may be shortened, with "..", before any column is dropped
  std::string full = {};  // what it is called where it is hidden, if the name occurs twice
};

struct TextRow {
  std::vector<std::string>
      cells;               // one per column; fewer: the last one runs on to the end of the line
  const char* color = "";  // an escape sequence, used only when the table is drawn in colour
};

// Columns a printable text takes: its code points.
std::size_t display_width(std::string_view text);
// At most `width` columns, the cut marked by "..".
std::string shortened(const std::string& text, std::size_t width);

// Of the columns in `choosable` those in `chosen` stay, however wide, and the others are left out;
// nothing changes where none is chosen.
void choose_columns(std::span<const std::string> choosable, std::span<const std::string> chosen,
                    std::vector<TextColumn>& columns, std::vector<TextRow>& rows);

// Columns that the width has no room for are left out; their names are added to `hidden`, each
// once.
std::string draw_table(std::vector<TextColumn> columns, std::vector<TextRow> rows,
                       std::size_t width, bool color, std::vector<std::string>& hidden);
// "2 columns hidden: overlap, residue (HINT)\n", broken at the width; empty when there are none.
std::string hidden_line(const std::vector<std::string>& hidden, const std::string& hint,
                        std::size_t width);

}  // namespace mgpu
