// Tables of short texts: inputs with their expected results.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mgpu::test {

// Parses "2^20 = 1048576; 1k = 1000": pairs separated by semicolons or line ends, without the
// blanks around each part. A line that begins with "= " continues the one before; one without " = "
// is a remark.
inline std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view rows) {
  std::string joined(rows);
  for (std::size_t at = 0; (at = joined.find("= ", at)) != std::string::npos; ++at) {
    const std::size_t before = joined.find_last_not_of(' ', at == 0 ? 0 : at - 1);
    if (before != std::string::npos && joined[before] == '\n') joined[before] = ' ';
  }
  std::string_view table = joined;
  const auto stripped = [](std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
    return std::string(text.substr(begin, text.find_last_not_of(" \n") + 1 - begin));
  };
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!table.empty()) {
    const std::size_t end = std::min(table.find_first_of(";\n"), table.size());
    const std::string_view row = table.substr(0, end);
    const std::size_t is = row.find(" = ");
    if (is != std::string_view::npos)
      pairs.emplace_back(stripped(row.substr(0, is)), stripped(row.substr(is + 2)));
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  return pairs;
}

}  // namespace mgpu::test
