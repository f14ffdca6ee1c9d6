// Builds JSON. json.hpp takes seconds to parse, and its initializer lists instantiate a constructor
// for every type and every length of name; these functions are compiled once, in json_build.cpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

class JsonValue;

// A value that is passed into an object or a list. Refers to texts, lists and JSON values, which
// must outlive it, so it must not be stored.
class JsonItem {
 public:
  constexpr JsonItem(std::nullptr_t) {}
  template <std::integral T>
  constexpr JsonItem(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::boolean;
      boolean_ = value;
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::integer;
      integer_ = value;
    } else {
      kind_ = Kind::natural;
      natural_ = value;
    }
  }
  constexpr JsonItem(double value) : kind_(Kind::real), real_(value) {}
  constexpr JsonItem(Nanos value) : JsonItem(value.count()) {}
  constexpr JsonItem(const char* text) : JsonItem(std::string_view(text)) {}
  constexpr JsonItem(std::string_view text) : kind_(Kind::text), text_(text) {}
  JsonItem(const std::string& text) : JsonItem(std::string_view(text)) {}
  JsonItem(JsonValue&& json) : kind_(Kind::moved), moved_(&json) {}  // moves from `json`
  JsonItem(const JsonValue& json) : kind_(Kind::copied), copied_(&json) {}
  JsonItem(const std::vector<std::string>& list) : kind_(Kind::texts), list_(&list) {}
  JsonItem(const std::vector<double>& list) : kind_(Kind::reals), list_(&list) {}
  JsonItem(const std::vector<std::uint32_t>& list) : kind_(Kind::naturals32), list_(&list) {}
  JsonItem(const std::vector<std::uint64_t>& list) : kind_(Kind::naturals64), list_(&list) {}
  JsonItem(const std::vector<Nanos>& list) : kind_(Kind::times), list_(&list) {}
  // Null if there is no value.
  template <typename T>
  constexpr JsonItem(const std::optional<T>& value)
      : JsonItem(value ? JsonItem(*value) : JsonItem(nullptr)) {}

  nlohmann::ordered_json json() const;

 private:
  enum class Kind {
    null,
    boolean,
    integer,
    natural,
    real,
    text,
    moved,
    copied,
    texts,
    reals,
    naturals32,
    naturals64,
    times
  };
  template <typename T>
  const std::vector<T>& list() const {
    return *static_cast<const std::vector<T>*>(list_);
  }

  Kind kind_ = Kind::null;
  union {
    bool boolean_;
    std::int64_t integer_ = 0;
    std::uint64_t natural_;
    double real_;
    std::string_view text_;
    JsonValue* moved_;
    const JsonValue* copied_;
    const void* list_;
  };
};

// An owned nlohmann::ordered_json; only json_build.cpp needs more than its name.
class JsonValue {
 public:
  JsonValue() = default;  // null
  JsonValue(JsonItem item);
  explicit JsonValue(nlohmann::ordered_json&& json);

  const nlohmann::ordered_json& json() const;
  nlohmann::ordered_json& json();
  operator const nlohmann::ordered_json&() const { return json(); }

 private:
  struct Delete {
    void operator()(nlohmann::ordered_json* json) const;
  };
  std::unique_ptr<nlohmann::ordered_json, Delete> json_;  // null pointer: JSON null
};

// Return null for numbers that JSON cannot represent.
JsonItem finite_json(double value);
JsonItem finite_json(const std::optional<double>& value);
// Returns null for an empty text.
JsonItem json_or_null(std::string_view text);

struct JsonMember {
  std::string_view name;
  JsonItem value;
};

JsonValue json_object(std::initializer_list<JsonMember> members = {});
JsonValue json_list(std::initializer_list<JsonItem> items = {});

// Sets a member, appending it if there is none of that name; a null `object` becomes an object.
void put(JsonValue& object, std::string_view name, JsonItem value);
// Sets a member of the member `outer`.
void put_inside(JsonValue& object, std::string_view outer, std::string_view name, JsonItem value);
// Appends an element; a null `list` becomes a list.
void append(JsonValue& list, JsonItem value);

// Returns a whole document; in record_json.cpp.
struct Report;
JsonValue report_value(const Report& report);

// Returns JSON as text that a person can scroll through: objects indented, lists of numbers on one
// line, tables one row per line. Invalid UTF-8 is replaced by U+FFFD; non-finite numbers are
// written as null.
std::string json_text(const nlohmann::ordered_json& json);
// Returns JSON in nlohmann's own layout, every value on its own line: for documents without tables,
// printed by commands.
std::string indented_json(const nlohmann::ordered_json& json);
// Returns JSON on one line.
std::string flat_json(const nlohmann::ordered_json& json);
// Appends a string with quotes and escapes to `out`.
void append_json_string(std::string& out, std::string_view text);

}  // namespace mgpu
