// A JSON value with the path that led to it, so that every error names the field. Internal to lib/report.
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

// Every reading function throws Error(input) "runs[3].time_ns.median: a whole number expected".
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;
  explicit JsonReader(const Json& json, std::string path = {}) : json_(&json), path_(std::move(path)) {}

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

  std::string string() const {
    expect(json_->is_string(), "a string");
    return json_->get<std::string>();
  }
  bool boolean() const {
    expect(json_->is_boolean(), "true or false");
    return json_->get<bool>();
  }
  template <typename T>
  T integer() const {
    std::optional<T> value = whole<T>(*json_);
    expect(value.has_value(), "a whole number in range");
    return *value;
  }
  Nanos nanos() const { return Nanos{integer<std::int64_t>()}; }
  double number() const {  // null stands for what was not finite
    if (json_->is_null()) return std::numeric_limits<double>::quiet_NaN();
    expect(json_->is_number(), "a number");
    return json_->get<double>();
  }
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
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, path_.empty() ? what : path_ + ": " + what);
  }
  void expect(bool ok, const char* what) const {
    if (!ok) fail(std::string(what) + " expected");
  }

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
      if (v < std::numeric_limits<T>::min() || v > std::numeric_limits<T>::max()) return std::nullopt;
    } else {
      if (v < 0 || static_cast<std::uint64_t>(v) > std::numeric_limits<T>::max()) return std::nullopt;
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

}  // namespace mgpu
