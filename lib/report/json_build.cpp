
#include "lib/report/json_build.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace mgpu {

using Json = nlohmann::ordered_json;

Json JsonItem::json() const {
  switch (kind_) {
    case Kind::null:
      break;
    case Kind::boolean:
      return boolean_;
    case Kind::integer:
      return integer_;
    case Kind::natural:
      return natural_;
    case Kind::real:
      return real_;
    case Kind::text:
      return text_;
    case Kind::moved:
      return std::move(moved_->json());
    case Kind::copied:
      return copied_->json();
    case Kind::texts:
      return list<std::string>();
    case Kind::reals:
      return list<double>();
    case Kind::naturals32:
      return list<std::uint32_t>();
    case Kind::naturals64:
      return list<std::uint64_t>();
    case Kind::times: {
      Json all = Json::array();
      for (const Nanos time : list<Nanos>()) all.push_back(time.count());
      return all;
    }
  }
  return nullptr;
}

void JsonValue::Delete::operator()(Json* json) const { delete json; }

JsonValue::JsonValue(JsonItem item) : json_(new Json(item.json())) {}

JsonValue::JsonValue(Json&& json) : json_(new Json(std::move(json))) {}

const Json& JsonValue::json() const {
  static const Json null;
  return json_ ? *json_ : null;
}

Json& JsonValue::json() {
  if (!json_) json_.reset(new Json);
  return *json_;
}

JsonItem finite_json(double value) {
  return std::isfinite(value) ? JsonItem(value) : JsonItem(nullptr);
}

JsonItem finite_json(const std::optional<double>& value) {
  return value ? finite_json(*value) : JsonItem(nullptr);
}

JsonItem json_or_null(std::string_view text) {
  return text.empty() ? JsonItem(nullptr) : JsonItem(text);
}

JsonValue json_object(std::initializer_list<JsonMember> members) {
  Json object = Json::object();
  for (const JsonMember& member : members) object[std::string(member.name)] = member.value.json();
  return JsonValue(std::move(object));
}

JsonValue json_list(std::initializer_list<JsonItem> items) {
  Json list = Json::array();
  list.get_ref<Json::array_t&>().reserve(items.size());
  for (const JsonItem& item : items) list.push_back(item.json());
  return JsonValue(std::move(list));
}

void put(JsonValue& object, std::string_view name, JsonItem value) {
  object.json()[std::string(name)] = value.json();
}

void put_inside(JsonValue& object, std::string_view outer, std::string_view name, JsonItem value) {
  object.json()[std::string(outer)][std::string(name)] = value.json();
}

void append(JsonValue& list, JsonItem value) { list.json().push_back(value.json()); }

// Layout of JSON text. nlohmann's own indentation puts every number on its own line: 100,000
// commands would be a million lines.

namespace {

using Json = nlohmann::ordered_json;

// Tells whether a flat object stays on one line.
bool short_enough(const std::string& text, std::size_t depth) {
  return text.size() + 2 * depth <= 120;
}

void write(const Json& j, std::size_t depth, std::string& out) {
  const auto new_line = [&](std::size_t d) { out.append("\n").append(2 * d, ' '); };
  const bool nested = j.is_structured() && std::any_of(j.begin(), j.end(), [](const Json& e) {
                        return e.is_structured();
                      });
  if (j.empty() || !j.is_structured() || (j.is_array() && !nested)) {
    out += flat_json(j);
    return;
  }
  const bool object = j.is_object();
  if (object && !nested) {
    const std::string line = flat_json(j);
    if (short_enough(line, depth)) {
      out += line;
      return;
    }
  }
  out += object ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : j.items()) {
    if (!first) out += ',';
    first = false;
    new_line(depth + 1);
    if (object) {
      append_json_string(out, key);
      out += ": ";
    }
    write(value, depth + 1, out);
  }
  new_line(depth);
  out += object ? '}' : ']';
}

}  // namespace

std::string indented_json(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string flat_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_json_string(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c < 127 && c != '"' && c != '\\';
  });
  if (plain)
    out.append(1, '"').append(text).append(1, '"');
  else
    out += flat_json(Json(text));
}

std::string json_text(const nlohmann::ordered_json& json) {
  std::string out;
  write(json, 0, out);
  out += '\n';
  return out;
}

}  // namespace mgpu
