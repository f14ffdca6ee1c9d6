// Fits a table into a width: first cuts long names to 20 columns, then drops whole columns, the
// least important first, then cuts names further.
#include "lib/report/text_table.hpp"

#include <algorithm>
#include <cstdint>

#include "lib/base/add_once.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

namespace {

constexpr std::size_t kGap = 2, kShortName = 20, kShortestName = 8;

bool continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::vector<std::size_t> widths_of(const std::vector<TextColumn>& columns,
                                   const std::vector<TextRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TextColumn& c : columns)
    widths.push_back(std::max(display_width(c.name), display_width(c.unit)));
  for (const TextRow& row : rows)
    for (std::size_t k = 0; k < row.cells.size(); ++k)
      if (row.cells.size() == columns.size() || k + 1 < row.cells.size())
        widths[k] = std::max(widths[k], display_width(row.cells[k]));
  return widths;
}

std::size_t total_width(const std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t w : widths) total += w + kGap;
  return total > kGap ? total - kGap : 0;
}

void cut_names(const std::vector<TextColumn>& columns, std::vector<TextRow>& rows,
               std::size_t width) {
  for (TextRow& row : rows)
    for (std::size_t k = 0; k < row.cells.size(); ++k)
      if (columns[k].cut) row.cells[k] = shortened(row.cells[k], width);
}

void erase_column(std::size_t k, std::vector<TextColumn>& columns, std::vector<TextRow>& rows) {
  const auto at = static_cast<std::ptrdiff_t>(k);
  const std::size_t whole = columns.size() - (columns.back().name.empty() ? 1 : 0);
  for (TextRow& row : rows)
    if (row.cells.size() >= whole) row.cells.erase(row.cells.begin() + at);
  columns.erase(columns.begin() + at);
}

// Drops the least important column; returns false if all columns left must stay.
bool drop_column(std::vector<TextColumn>& columns, std::vector<TextRow>& rows,
                 std::vector<std::string>& hidden) {
  std::size_t least = columns.size();
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (columns[k].importance > 0 &&
        (least == columns.size() || columns[k].importance < columns[least].importance))
      least = k;
  if (least == columns.size()) return false;
  const std::string& name = columns[least].full.empty() ? columns[least].name : columns[least].full;
  add_once(hidden, name);
  erase_column(least, columns, rows);
  return true;
}

std::string line(const std::vector<TextColumn>& columns, const std::vector<std::size_t>& widths,
                 const std::vector<std::string>& cells, std::size_t width) {
  std::string out;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    if (k > 0) out.append(kGap, ' ');
    // A row without numbers ends with its reason.
    if (cells.size() < columns.size() && k + 1 == cells.size()) {
      const std::size_t used = display_width(out);
      out += shortened(cells[k], width > used + kShortName ? width - used : kShortName);
      break;
    }
    const std::string padding(widths[k] - display_width(cells[k]), ' ');
    out += columns[k].right ? padding + cells[k] : cells[k] + padding;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continuation(c); }));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size() && used + 2 < width; ++used) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text, at), 1);
    out += text.substr(at, length);
    at += length;
  }
  return out + "..";
}

void choose_columns(std::span<const std::string> choosable, std::span<const std::string> chosen,
                    std::vector<TextColumn>& columns, std::vector<TextRow>& rows) {
  if (chosen.empty()) return;
  for (TextColumn& column : columns)
    if (std::find(chosen.begin(), chosen.end(), column.name) != chosen.end()) column.importance = 0;
  for (const std::string& name : choosable) {
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) continue;
    const auto at = std::find_if(columns.begin(), columns.end(),
                                 [&](const TextColumn& c) { return c.name == name; });
    if (at != columns.end())
      erase_column(static_cast<std::size_t>(at - columns.begin()), columns, rows);
  }
}

std::string hidden_line(const std::vector<std::string>& hidden, const std::string& hint,
                        std::size_t width) {
  if (hidden.empty()) return "";
  std::string names;
  for (const std::string& name : hidden) names += (names.empty() ? "" : ", ") + name;
  const std::string count =
      std::to_string(hidden.size()) + (hidden.size() == 1 ? " column" : " columns");
  return wrapped_prose(count + " hidden: " + names + " (" + hint + ")\n",
                       {static_cast<unsigned>(width), false, true}, 2);
}

std::string draw_table(std::vector<TextColumn> columns, std::vector<TextRow> rows,
                       std::size_t width, bool color, std::vector<std::string>& hidden) {
  for (TextRow& row : rows)
    for (std::string& cell : row.cells) cell = printable(cell);
  for (TextColumn& column : columns)
    for (std::string* text : {&column.name, &column.unit, &column.full}) *text = printable(*text);
  const auto too_wide = [&] { return total_width(widths_of(columns, rows)) > width; };
  if (too_wide()) cut_names(columns, rows, kShortName);
  while (too_wide() && drop_column(columns, rows, hidden)) {
  }
  for (std::size_t name = kShortName; too_wide() && name-- > kShortestName;)
    cut_names(columns, rows, name);
  const auto widths = widths_of(columns, rows);
  std::vector<std::string> names, units;
  for (const TextColumn& c : columns) {
    names.push_back(c.name);
    units.push_back(c.unit);
  }
  std::string out = line(columns, widths, names, width) + '\n';
  const std::string unit_line = line(columns, widths, units, width);
  if (!unit_line.empty()) out += unit_line + '\n';
  for (const TextRow& row : rows) {
    const bool colored = color && *row.color != '\0';
    if (colored) out += row.color;
    out += line(columns, widths, row.cells, width);
    if (colored) out += "\x1b[0m";
    out += '\n';
  }
  return out;
}

}  // namespace mgpu
