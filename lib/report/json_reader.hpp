// A JSON value with the path that led to it, so that every error names the field. Internal to
// lib/report.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

// Every reading function throws Error(input) 'runs[3].time_ns.median: "x" is not accepted: a whole
// number from 0 to 9'.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;
  explicit JsonReader(const Json& json, std::string path = {})
      : json_(&json), path_(std::move(path)) {}

  const Json& json() const { return *json_; }
  bool is_null() const { return json_->is_null(); }

  JsonReader at(const char* key) const {
    expect(json_->is_object(), "an object");
    const auto found = json_->find(key);
    const std::string path = path_.empty() ? key : path_ + '.' + key;
    if (found == json_->end()) throw Error(ErrorKind::input, path + ": missing");
    return JsonReader(*found, path);
  }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }
  // Calls f(key, value) for each member of an object.
  template <typename F>
  void members(F f) const {
    expect(json_->is_object(), "an object");
    for (const auto& [key, value] : json_->items()) f(key, JsonReader(value, path_ + '.' + key));
  }
  // Calls f(element) for each element of an array.
  template <typename F>
  void elements(F f) const {
    expect(json_->is_array(), "a list");
    std::size_t k = 0;
    for (const Json& value : *json_) f(JsonReader(value, path_ + '[' + std::to_string(k++) + ']'));
  }

  // `value` stands in that row and column of this table.
  JsonReader cell(const Json& value, std::size_t row, std::size_t column) const {
    return JsonReader(
        value, path_ + ": row " + std::to_string(row) + ", column " + std::to_string(column));
  }

  std::string string() const {
    expect(json_->is_string(), "a string");
    return json_->get<std::string>();
  }
  bool boolean() const {
    expect(json_->is_boolean(), "true or false");
    return json_->get<bool>();
  }
  // Both ends included.
  template <typename T>
  T integer(T least = std::numeric_limits<T>::lowest(),
            T most = std::numeric_limits<T>::max()) const {
    const std::optional<T> value = whole<T>(*json_);
    if (!value || *value < least || *value > most) refuse_whole(least, most);
    return *value;
  }
  template <typename T>
  [[noreturn]] void refuse_whole(T least, T most) const {
    refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  // A moment, which may lie before the one that times are counted from.
  Nanos nanos() const { return Nanos{integer<std::int64_t>(-kMostTime, kMostTime)}; }
  // A time that something takes.
  Nanos duration(std::int64_t most = kMostTime) const {
    return Nanos{integer<std::int64_t>(0, most)};
  }
  // From `least` to `most`. Null stands for what was not finite, and is NaN.
  double number(double least = -kMostNumber, double most = kMostNumber) const {
    if (json_->is_null()) return std::numeric_limits<double>::quiet_NaN();
    return finite(least, most);
  }
  // Likewise, but null is refused; `zero`: of those from 0, 0 is accepted too.
  double finite(double least, double most, bool zero = true) const;
  std::vector<std::string> strings() const {
    std::vector<std::string> all;
    elements([&](const JsonReader& element) { all.push_back(element.string()); });
    return all;
  }
  // None for null, else what `read` makes of it.
  template <typename F>
  auto optional(F read) const -> std::optional<decltype(read(*this))> {
    if (json_->is_null()) return std::nullopt;
    return read(*this);
  }
  // What it is, and what would be right: a line that begins with the field.
  [[noreturn]] void refuse(const std::string& accepted) const;
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, path_.empty() ? what : path_ + ": " + what);
  }
  void expect(bool ok, const char* what) const {
    if (!ok) fail(std::string(what) + " expected");
  }

  // Beyond these a figure is damage, or was made up to do some: a sum of what a file holds could
  // overflow.
  static constexpr std::int64_t kMostTime = 10'000'000'000'000'000;  // nanoseconds: 116 days
  static constexpr double kMostNumber = 1e30;

  // The integer, if it is one and fits T.
  template <typename T>
  static std::optional<T> whole(const Json& j) {
    if (!j.is_number_integer()) return std::nullopt;
    if (j.is_number_unsigned()) {
      const auto v = j.get<std::uint64_t>();
      if (v > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return std::nullopt;
      return static_cast<T>(v);
    }
    const auto v = j.get<std::int64_t>();
    if constexpr (std::numeric_limits<T>::is_signed) {
      if (v < std::numeric_limits<T>::min() || v > std::numeric_limits<T>::max())
        return std::nullopt;
    } else {
      if (v < 0 || static_cast<std::uint64_t>(v) > std::numeric_limits<T>::max())
        return std::nullopt;
    }
    return static_cast<T>(v);
  }

 private:
  const Json* json_;
  std::string path_;
};

// In timeline_json_read.cpp.
struct Timeline;
Timeline read_timeline(const JsonReader& json);

// In plan_json_read.cpp.
struct PlanRecord;
// Saturates where nothing can be predicted: see from_seconds().
Nanos read_prediction(const JsonReader& json);
// Files written before predictions were made have neither estimates nor the request.
PlanRecord read_plan(const JsonReader& json);

}  // namespace mgpu
