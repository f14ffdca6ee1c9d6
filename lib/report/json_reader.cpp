
#include "lib/report/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/quote.hpp"

namespace mgpu {

bool JsonReader::is_null() const { return json_->is_null(); }
bool JsonReader::is_object() const { return json_->is_object(); }
bool JsonReader::is_list() const { return json_->is_array(); }
bool JsonReader::is_string() const { return json_->is_string(); }
bool JsonReader::is_number() const { return json_->is_number(); }
bool JsonReader::is_whole() const { return json_->is_number_integer(); }
std::size_t JsonReader::size() const { return json_->size(); }

JsonReader JsonReader::at(const char* key) const {
  expect(json_->is_object(), "an object");
  const auto found = json_->find(key);
  std::string path = path_.empty() ? key : path_ + '.' + key;
  if (found == json_->end()) throw Error(ErrorKind::input, path + ": missing");
  return JsonReader(*found, std::move(path));
}

bool JsonReader::has(const char* key) const { return json_->is_object() && json_->contains(key); }

namespace {

// Returns the k-th member; an ordered object stores its members contiguously.
const auto& member_of(const nlohmann::ordered_json& object, std::size_t k) {
  return object.get_ref<const nlohmann::ordered_json::object_t&>().begin()[k];
}

}  // namespace

const std::string& JsonReader::key_of(std::size_t k) const { return member_of(*json_, k).first; }

JsonReader JsonReader::member(std::size_t k) const {
  const auto& [key, value] = member_of(*json_, k);
  return JsonReader(value, path_ + '.' + key);
}

JsonReader JsonReader::element(std::size_t k) const {
  return JsonReader((*json_)[k], path_ + '[' + std::to_string(k) + ']');
}

JsonReader JsonReader::cell(const Json& value, std::size_t row, std::size_t column) const {
  return JsonReader(value,
                    path_ + ": row " + std::to_string(row) + ", column " + std::to_string(column));
}

std::string JsonReader::string() const {
  expect(json_->is_string(), "a string");
  return json_->get_ref<const std::string&>();
}

bool JsonReader::boolean() const {
  expect(json_->is_boolean(), "true or false");
  return json_->get<bool>();
}

std::optional<std::int64_t> JsonReader::whole(const Json& json, std::int64_t least,
                                              std::int64_t most) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  const auto value = json.get<std::int64_t>();
  if (value < least || value > most) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> JsonReader::whole(const Json& json, std::uint64_t least,
                                               std::uint64_t most) {
  if (!json.is_number_integer()) return std::nullopt;
  if (!json.is_number_unsigned() && json.get<std::int64_t>() < 0) return std::nullopt;
  const auto value = json.get<std::uint64_t>();
  if (value < least || value > most) return std::nullopt;
  return value;
}

std::int64_t JsonReader::within(std::int64_t least, std::int64_t most) const {
  const std::optional<std::int64_t> value = whole(*json_, least, most);
  if (!value) refuse_whole(least, most);
  return *value;
}

std::uint64_t JsonReader::within(std::uint64_t least, std::uint64_t most) const {
  const std::optional<std::uint64_t> value = whole(*json_, least, most);
  if (!value) refuse_whole(least, most);
  return *value;
}

Nanos JsonReader::nanos() const { return Nanos{within(-kMostTime, kMostTime)}; }

Nanos JsonReader::duration(std::int64_t most) const { return Nanos{within(std::int64_t{0}, most)}; }

double JsonReader::number(double least, double most) const {
  if (json_->is_null()) return std::numeric_limits<double>::quiet_NaN();
  return finite(least, most);
}

double JsonReader::finite(double least, double most, bool zero) const {
  const double read = number_or_nan();
  if (!(read >= least && read <= most && (zero || read > 0))) {
    refuse(fmt::format("a number {} {:g}, at most {:g}", zero ? "from" : "above", least, most));
  }
  return read;
}

double JsonReader::number_or_nan() const {
  return json_->is_number() ? json_->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::string> JsonReader::strings() const {
  std::vector<std::string> all;
  elements([&](const JsonReader& element) { all.push_back(element.string()); });
  return all;
}

void JsonReader::refuse(const std::string& accepted) const {
  const std::string value = json_->is_array()    ? "a list"
                            : json_->is_object() ? "an object"
                            : json_->is_string()
                                ? "the text " + in_quotes(json_->get_ref<const std::string&>())
                                : in_quotes(json_->dump());
  fail(value + "; expected: " + accepted);
}

void JsonReader::refuse_word(const std::string& word, const std::vector<std::string>& known) const {
  fail(fmt::format("{} is unknown; expected: {}{}", in_quotes(word), fmt::join(known, ", "),
                   did_you_mean(word, known)));
}

void JsonReader::refuse_other_keys(const std::vector<std::string>& known) const {
  members([&](const std::string& key, const JsonReader&) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail(fmt::format("unknown key {}; expected: {}{}", in_quotes(key), fmt::join(known, ", "),
                       did_you_mean(key, known)));
  });
}

void JsonReader::refuse_whole(std::int64_t least, std::int64_t most) const {
  refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

void JsonReader::refuse_whole(std::uint64_t least, std::uint64_t most) const {
  refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

void JsonReader::fail(const std::string& what) const {
  throw Error(ErrorKind::input, path_.empty() ? what : path_ + ": " + what);
}

void JsonReader::fail_expected(const char* what) const { fail(std::string(what) + " expected"); }

}  // namespace mgpu
