// Kinds of values in files: how each is written and read, and what the JSON Schema says about it.
// Internal to lib/report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/name.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/units.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_reader.hpp"

namespace mgpu {

// Return parts of JSON Schemas.
JsonValue type_schema(const char* type);
JsonValue whole_schema(std::optional<std::int64_t> least, std::optional<std::int64_t> most = {});
JsonValue number_schema(std::optional<double> least, std::optional<double> most);  // or null
JsonValue list_schema(JsonValue items);
JsonValue map_schema(JsonValue values);
JsonValue object_schema(const char* meaning);
void add_property(JsonValue& object, const char* name, bool required, JsonValue schema);
// Adds the properties of `others`, an object schema.
void add_properties(JsonValue& object, JsonValue others);
void add_members(JsonValue& object, const JsonValue& others);
JsonValue reference(const char* definition);
bool defines(const JsonValue& definitions, const char* name);
JsonValue nullable(JsonValue schema);
// Returns the schema with the description first and the members of `also` last; both may be empty.
JsonValue described(JsonValue schema, const char* meaning, const char* also);
// Identifies a kind of document by its first two members, "schema" and "schema_version".
struct DocumentId {
  const char* schema;  // "mgpu-bench/result"
  int version;
};
void write_id(const DocumentId& id, JsonValue& document);
// Throws Error(input) if it is another document or another version, in one line that names the
// build of the tool that wrote the document, if it says so.
void expect_id(const DocumentId& id, const JsonReader& document);
bool has_schema(const DocumentId& id, const JsonReader& document);
JsonValue id_schema(const DocumentId& id);
// Returns the JSON Schema of a whole document as text; `title` names the document: "mgpu-bench
// result file". `keys`: whether objects may have unnamed members.
enum class Keys { any, named };
std::string schema_text_of(const DocumentId& id, const char* title, const JsonValue& schema,
                           JsonValue definitions, Keys keys);
JsonValue json_of_text(const char* text);

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
struct UnwrappedType {
  using type = T;
};
template <typename T>
struct UnwrappedType<std::optional<T>> {
  using type = T;
};
template <typename T>
using Unwrapped = typename UnwrappedType<T>::type;

// Tells whether K is the kind of the value in an optional T, not of the optional itself.
template <typename K, typename T>
constexpr bool unwraps() {
  if constexpr (kIsOptional<T>) {
    return !std::is_same_v<decltype(K::read(std::declval<const JsonReader&>())), T>;
  } else {
    return false;
  }
}

template <typename T>
struct Kind;

template <>
struct Kind<bool> {
  static JsonItem write(bool value) { return value; }
  static bool read(const JsonReader& json) { return json.boolean(); }
  static JsonValue schema(JsonValue&) { return type_schema("boolean"); }
};

template <>
struct Kind<std::string> {
  static JsonItem write(const std::string& text) { return text; }
  static std::string read(const JsonReader& json) { return json.string(); }
  static JsonValue schema(JsonValue&) { return type_schema("string"); }
};

// A text that is null if empty.
struct TextOrNull {
  static JsonItem write(const std::string& text) { return json_or_null(text); }
  static std::string read(const JsonReader& json) {
    return json.is_null() ? std::string() : json.string();
  }
  static JsonValue schema(JsonValue&) { return nullable(type_schema("string")); }
};

template <>
struct Kind<Name> {
  static JsonItem write(const Name& name) { return name.text(); }
  static Name read(const JsonReader& json) { return Name(json.string()); }
  static JsonValue schema(JsonValue&) { return type_schema("string"); }
};

template <std::integral T, T Least = std::numeric_limits<T>::lowest(),
          T Most = std::numeric_limits<T>::max()>
struct Whole {
  static JsonItem write(T value) { return value; }
  static T read(const JsonReader& json) { return json.integer<T>(Least, Most); }
  static JsonValue schema(JsonValue&) {
    if (std::is_signed_v<T> && Least == std::numeric_limits<T>::lowest()) return whole_schema({});
    return whole_schema(static_cast<std::int64_t>(Least));
  }
};
template <std::integral T>
struct Kind<T> : Whole<T> {};

// A whole number with both limits in its schema, for files that people write.
template <std::integral T, T Least, T Most>
struct Between : Whole<T, Least, Most> {
  static JsonValue schema(JsonValue&) {
    return whole_schema(static_cast<std::int64_t>(Least), static_cast<std::int64_t>(Most));
  }
};

template <>
struct Kind<DeviceIndex> {
  static JsonItem write(DeviceIndex index) { return index.value; }
  static DeviceIndex read(const JsonReader& json) { return {json.integer<std::uint32_t>()}; }
  static JsonValue schema(JsonValue&) { return whole_schema(0); }
};

// A number, or null if it is not finite.
template <std::int64_t... Range>
struct Real {
  static JsonItem write(double value) { return finite_json(value); }
  static double read(const JsonReader& json) { return json.number(static_cast<double>(Range)...); }
  static JsonValue schema(JsonValue&) { return schema_from(static_cast<double>(Range)...); }

 private:
  static JsonValue schema_from() { return number_schema({}, {}); }
  static JsonValue schema_from(double least) { return number_schema(least, {}); }
  static JsonValue schema_from(double least, double most) { return number_schema(least, most); }
};
template <>
struct Kind<double> : Real<> {};

// A number that is never null.
template <std::int64_t Least, std::int64_t Most>
struct Finite : Real<Least, Most> {
  static double read(const JsonReader& json) {
    return json.finite(static_cast<double>(Least), static_cast<double>(Most));
  }
  static JsonValue schema(JsonValue& definitions) {
    return described(Real<Least, Most>::schema(definitions), "", R"({"type": "number"})");
  }
};

// A number above 0.
template <std::int64_t Most>
struct Positive : Real<0, Most> {
  static double read(const JsonReader& json) {
    return json.finite(0, static_cast<double>(Most), false);
  }
  static JsonValue schema(JsonValue&) {
    return json_object({{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", Most}});
  }
};

// A duration.
template <std::int64_t Most = JsonReader::kMostTime>
struct Duration {
  static JsonItem write(Nanos time) { return time; }
  static Nanos read(const JsonReader& json) { return json.duration(Most); }
  static JsonValue schema(JsonValue&) { return whole_schema(0); }
};
template <>
struct Kind<Nanos> : Duration<> {};

// A time since something, or a difference of times: it may be negative.
struct Moment {
  static JsonItem write(Nanos time) { return time; }
  static Nanos read(const JsonReader& json) { return json.nanos(); }
  static JsonValue schema(JsonValue&) { return whole_schema({}); }
};

// The values of an enumeration whose words to_string() knows; specialised per enumeration.
template <typename Enum>
inline constexpr std::initializer_list<Enum> kAllOf{};

// Returns the value whose to_string() is `word`.
template <typename Enum>
std::optional<Enum> from_string(std::string_view word) {
  for (const Enum value : kAllOf<Enum>)
    if (word == to_string(value)) return value;
  return std::nullopt;
}

template <typename Enum>
requires std::is_enum_v<Enum>
struct Kind<Enum> {
  static JsonItem write(Enum value) { return to_string(value); }
  static Enum read(const JsonReader& json) {
    const std::string word = json.string();
    const std::optional<Enum> value = from_string<Enum>(word);
    if (!value) {
      std::vector<std::string> words;
      for (const Enum each : kAllOf<Enum>) words.emplace_back(to_string(each));
      json.refuse_word(word, words);
    }
    return *value;
  }
  static JsonValue schema(JsonValue&) {
    JsonValue words = json_list();
    for (const Enum value : kAllOf<Enum>) append(words, to_string(value));
    return json_object({{"enum", std::move(words)}});
  }
};

template <typename T>
struct Kind<std::optional<T>> {
  static JsonValue write(const std::optional<T>& value) {
    return value ? JsonValue(Kind<T>::write(*value)) : JsonValue();
  }
  static std::optional<T> read(const JsonReader& json) { return json.optional(Kind<T>::read); }
  static JsonValue schema(JsonValue& definitions) { return nullable(Kind<T>::schema(definitions)); }
};

// A list whose elements are of kind K.
template <typename K>
struct Each {
  using T = decltype(K::read(std::declval<const JsonReader&>()));
  static JsonValue write(const std::vector<T>& values) {
    JsonValue list = json_list();
    for (const T& value : values) append(list, K::write(value));
    return list;
  }
  static std::vector<T> read(const JsonReader& json) {
    std::vector<T> values;
    json.elements([&](const JsonReader& element) { values.push_back(K::read(element)); });
    return values;
  }
  static JsonValue schema(JsonValue& definitions) { return list_schema(K::schema(definitions)); }
};
template <typename T>
struct Kind<std::vector<T>> : Each<Kind<T>> {};

template <typename T>
struct Kind<std::map<std::string, T>> {
  static JsonValue write(const std::map<std::string, T>& map) {
    JsonValue object = json_object();
    for (const auto& [name, value] : map) put(object, name, Kind<T>::write(value));
    return object;
  }
  static std::map<std::string, T> read(const JsonReader& json) {
    std::map<std::string, T> map;
    json.members([&](const std::string& name, const JsonReader& value) {
      map[name] = Kind<T>::read(value);
    });
    return map;
  }
  static JsonValue schema(JsonValue& definitions) {
    return map_schema(Kind<T>::schema(definitions));
  }
};

}  // namespace mgpu
