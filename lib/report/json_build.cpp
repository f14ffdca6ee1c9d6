#include "lib/report/json_build.hpp"

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

}  // namespace mgpu
