// An object of a file that people write: every key is known, every number in its range. Internal to
// lib/report.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/did_you_mean.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/given_limits.hpp"
#include "lib/report/json_reader.hpp"

namespace mgpu {

// Reading throws Error(input), as JsonReader does, for unknown keys too: a misspelt one would
// change what is asked.
class StrictObject {
 public:
  StrictObject(JsonReader json, std::initializer_list<const char*> known) : json_(std::move(json)) {
    json_.expect(json_.is_object(), "an object");
    json_.members([&](const std::string& key, const JsonReader&) {
      if (std::find(known.begin(), known.end(), key) != known.end()) return;
      const std::vector<std::string> words(known.begin(), known.end());
      json_.fail(fmt::format("unknown key {}; accepted: {}{}", in_quotes(key),
                             fmt::join(known, ", "), did_you_mean(key, words)));
    });
  }

  bool has(const char* key) const { return json_.has(key); }
  JsonReader at(const char* key) const { return json_.at(key); }

  template <typename T>
  T whole(const char* key, T least, T most, std::optional<T> standard = {}) const {
    return standard && !has(key) ? *standard : at(key).integer<T>(least, most);
  }
  Nanos nanos(const char* key) const {
    return Nanos{whole<std::int64_t>(key, 0, kMostGivenTime, 0)};
  }
  // From `least`, or above 0 when that is 0 and zero makes no sense.
  double number(const char* key, double least, double most, std::optional<double> standard = {},
                bool zero = true) const {
    return standard && !has(key) ? *standard : at(key).finite(least, most, zero);
  }
  std::string text(const char* key, std::string standard) const {
    return has(key) ? at(key).string() : standard;
  }

 private:
  JsonReader json_;
};

}  // namespace mgpu
