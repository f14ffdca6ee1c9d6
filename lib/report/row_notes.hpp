// What is to be known of rows of a table, each thing once, with the rows it is about. Internal to
// lib/report.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/first_few.hpp"

namespace mgpu {

class RowNotes {
 public:
  void add(const std::string& what, const std::string& row) {
    auto at = std::find_if(notes_.begin(), notes_.end(),
                           [&](const auto& known) { return known.first == what; });
    if (at == notes_.end()) at = notes_.insert(at, {what, {}});
    if (std::find(at->second.begin(), at->second.end(), row) == at->second.end())
      at->second.push_back(row);
  }
  // f(what, "equal, dynamic and guided") in the order of their first rows; "all" for several that
  // are all `of` rows there are.
  template <typename F>
  void each(std::size_t of, F f) const {
    for (const auto& [what, rows] : notes_)
      f(what, rows.size() > 1 && rows.size() == of ? std::string("all") : first_few(rows));
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> notes_;
};

}  // namespace mgpu
