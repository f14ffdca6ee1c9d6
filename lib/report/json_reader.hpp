// A JSON value with its path in the document, so that every error names the field. Internal to
// lib/report. Readers need only this header: json.hpp, which takes seconds to parse and
// instantiate, is included by json_reader.cpp alone.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"
#include "lib/report/given_limits.hpp"

namespace mgpu {

// Reads a value. Every reading function throws Error(input) 'runs[3].time_ns.median: "x"; expected:
// a whole number from 0 to 9'.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;
  explicit JsonReader(const Json& json, std::string path = {})
      : json_(&json), path_(std::move(path)) {}

  const Json& json() const { return *json_; }
  bool is_null() const;
  bool is_object() const;
  bool is_list() const;
  bool is_string() const;
  bool is_number() const;
  bool is_whole() const;     // a number without fraction or exponent
  std::size_t size() const;  // elements or members

  JsonReader at(const char* key) const;
  bool has(const char* key) const;
  // Calls f(key, value) for each member of an object.
  template <typename F>
  void members(F f) const {
    expect(is_object(), "an object");
    for (std::size_t k = 0, count = size(); k < count; ++k) f(key_of(k), member(k));
  }
  // Calls f(element) for each element of an array.
  template <typename F>
  void elements(F f) const {
    expect(is_list(), "a list");
    for (std::size_t k = 0, count = size(); k < count; ++k) f(element(k));
  }

  // Returns a reader of `value`, the cell in that row and column of this table.
  JsonReader cell(const Json& value, std::size_t row, std::size_t column) const;

  std::string string() const;
  bool boolean() const;
  // Reads an integer from `least` to `most`, both included.
  template <typename T>
  T integer(T least = std::numeric_limits<T>::lowest(),
            T most = std::numeric_limits<T>::max()) const {
    return static_cast<T>(within(Widest<T>{least}, Widest<T>{most}));
  }
  // Reads a point in time, which may be negative.
  Nanos nanos() const;
  // Reads a duration.
  Nanos duration(std::int64_t most = kMostTime) const;
  // Reads a number from `least` to `most`. Null stands for a non-finite number and gives NaN.
  double number(double least = -kMostNumber, double most = kMostNumber) const;
  // Reads a number from `least` to `most`, not null. `zero`: whether 0 is allowed if `least` is 0.
  double finite(double least, double most, bool zero = true) const;
  double number_or_nan() const;  // NaN also if it is not a number
  std::vector<std::string> strings() const;
  // Returns none for null, else read(value).
  template <typename F>
  auto optional(F read) const -> std::optional<decltype(read(*this))> {
    if (is_null()) return std::nullopt;
    return read(*this);
  }
  // Throws the value and what is expected, in a line that begins with the field.
  [[noreturn]] void refuse(const std::string& accepted) const;
  [[noreturn]] void refuse_whole(std::int64_t least, std::int64_t most) const;
  [[noreturn]] void refuse_whole(std::uint64_t least, std::uint64_t most) const;
  [[noreturn]] void refuse_word(const std::string& word,
                                const std::vector<std::string>& known) const;
  // Refuses members of an object that are not `known`: a misspelt key would change the question.
  void refuse_other_keys(const std::vector<std::string>& known) const;
  [[noreturn]] void fail(const std::string& what) const;
  void expect(bool ok, const char* what) const {
    if (!ok) fail_expected(what);
  }

  // Larger figures are damage or malicious: sums of a file's figures could overflow.
  static constexpr std::int64_t kMostTime = 10'000'000'000'000'000;  // nanoseconds: 116 days
  static constexpr double kMostNumber = 1e30;

  // The type as which integers of T's signedness are read.
  template <typename T>
  using Widest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  // Returns the integer if it is one from `least` to `most`.
  static std::optional<std::int64_t> whole(const Json& json, std::int64_t least, std::int64_t most);
  static std::optional<std::uint64_t> whole(const Json& json, std::uint64_t least,
                                            std::uint64_t most);

 private:
  const std::string& key_of(std::size_t k) const;
  JsonReader member(std::size_t k) const;
  JsonReader element(std::size_t k) const;
  std::int64_t within(std::int64_t least, std::int64_t most) const;
  std::uint64_t within(std::uint64_t least, std::uint64_t most) const;
  [[noreturn]] void fail_expected(const char* what) const;

  const Json* json_;
  std::string path_;
};

// Defined in record_json.cpp, profile_fields.cpp and scenario_json.cpp.
struct ProfileReport;
struct Report;
struct Scenario;
ProfileReport read_profile_value(const JsonReader& json);
Report read_report_value(const JsonReader& json);
Scenario read_scenario_value(const JsonReader& json);

}  // namespace mgpu
