#include "lib/report/kinds.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/report/json_build.hpp"

namespace mgpu {

namespace {

using SchemaJson = nlohmann::ordered_json;

// Writes whole numbers without ".0".
void put_limit(JsonValue& schema, const char* name, std::optional<double> limit) {
  if (limit && *limit == static_cast<double>(static_cast<std::int64_t>(*limit)))
    put(schema, name, static_cast<std::int64_t>(*limit));
  else if (limit)
    put(schema, name, *limit);
}

void name_all_keys(SchemaJson& schema) {
  for (SchemaJson& inner : schema)
    if (inner.is_structured()) name_all_keys(inner);
  if (schema.is_object() && schema.contains("properties") && schema["properties"].is_object() &&
      !schema.contains("additionalProperties"))
    schema["additionalProperties"] = false;
}

}  // namespace

JsonValue type_schema(const char* type) { return json_object({{"type", type}}); }

JsonValue whole_schema(std::optional<std::int64_t> least, std::optional<std::int64_t> most) {
  JsonValue schema = type_schema("integer");
  if (least) put(schema, "minimum", *least);
  if (most) put(schema, "maximum", *most);
  return schema;
}

JsonValue number_schema(std::optional<double> least, std::optional<double> most) {
  JsonValue schema = nullable(type_schema("number"));
  put_limit(schema, "minimum", least);
  put_limit(schema, "maximum", most);
  return schema;
}

JsonValue list_schema(JsonValue items) {
  return json_object({{"type", "array"}, {"items", std::move(items)}});
}

JsonValue map_schema(JsonValue values) {
  return json_object({{"type", "object"}, {"additionalProperties", std::move(values)}});
}

JsonValue object_schema(const char* meaning) {
  JsonValue schema;
  if (*meaning) put(schema, "description", meaning);
  put(schema, "type", "object");
  put(schema, "required", json_list());
  put(schema, "properties", json_object());
  return schema;
}

void add_property(JsonValue& object, const char* name, bool required, JsonValue schema) {
  if (required) object.json()["required"].push_back(name);
  put_inside(object, "properties", name, std::move(schema));
}

void add_properties(JsonValue& object, JsonValue others) {
  for (SchemaJson& name : others.json()["required"]) object.json()["required"].push_back(name);
  object.json()["properties"].update(others.json()["properties"]);
}

void add_members(JsonValue& object, const JsonValue& others) {
  object.json().update(others.json());
}

JsonValue reference(const char* definition) {
  return json_object({{"$ref", std::string("#/definitions/") + definition}});
}

bool defines(const JsonValue& definitions, const char* name) {
  return definitions.json().contains(name);
}

JsonValue nullable(JsonValue schema) {
  SchemaJson& json = schema.json();
  if (json.contains("enum")) {
    json["enum"].push_back(nullptr);
    return schema;
  }
  if (json.contains("$ref"))
    return json_object({{"oneOf", json_list({type_schema("null"), std::move(schema)})}});
  SchemaJson& type = json["type"];
  if (type.is_string()) type = {type, "null"};
  return schema;
}

JsonValue described(JsonValue schema, const char* meaning, const char* also) {
  JsonValue whole = json_object();
  if (*meaning) put(whole, "description", meaning);
  add_members(whole, schema);
  if (also) add_members(whole, json_of_text(also));
  if (whole.json().contains("required") && whole.json()["required"].empty())
    whole.json().erase("required");
  return whole;
}

void write_id(const DocumentId& id, JsonValue& document) {
  put(document, "schema", id.schema);
  put(document, "schema_version", id.version);
}

bool has_schema(const DocumentId& id, const JsonReader& document) {
  return document.has("schema") && document.at("schema").is_string() &&
         document.at("schema").string() == id.schema;
}

void expect_id(const DocumentId& id, const JsonReader& document) {
  const std::string schema = document.at("schema").string();
  if (schema != id.schema)
    document.at("schema").fail(fmt::format(
        "{} is not \"{}\"{}", in_quotes(schema), id.schema,
        schema == "mgpu-bench/links" ? ": an older mgpu-bench wrote it; measure again" : ""));
  const JsonReader version = document.at("schema_version");
  const auto number = version.integer<std::int32_t>();
  if (number > id.version)
    version.fail(fmt::format("{} is newer than this tool reads ({})", number, id.version));
  if (number == id.version) return;
  const std::string older =
      fmt::format("{} is older than this tool reads ({})", number, id.version);
  if (!document.has("tool")) version.fail(older);
  const JsonReader tool = document.at("tool");
  version.fail(
      fmt::format("{}: mgpu-bench {} (git {}) wrote it; measure again, or read it with "
                  "that one",
                  older, tool.at("version").string(), tool.at("git").string()));
}

JsonValue id_schema(const DocumentId& id) {
  JsonValue object = object_schema("");
  add_property(object, "schema", true,
               described(json_object({{"const", id.schema}}), "kind of the document", nullptr));
  add_property(object, "schema_version", true,
               described(json_object({{"const", id.version}}), "version of its form", nullptr));
  return object;
}

std::string schema_text_of(const DocumentId& id, const char* title, const JsonValue& schema,
                           JsonValue definitions, Keys keys) {
  const std::string_view name = std::string_view(id.schema).substr(sizeof("mgpu-bench/") - 1);
  JsonValue whole = json_object(
      {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
       {"$id", fmt::format("https://mgpu-bench.example/schemas/{}-{}.json", name, id.version)},
       {"title", fmt::format("{}, version {}", title, id.version)}});
  add_members(whole, schema);
  if (!definitions.json().empty()) put(whole, "definitions", std::move(definitions));
  if (keys == Keys::named) name_all_keys(whole.json());
  return json_text(whole);
}

JsonValue json_of_text(const char* text) { return JsonValue(SchemaJson::parse(text)); }

}  // namespace mgpu
