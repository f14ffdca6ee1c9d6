// Describes the fields of a record once: a table of rows per struct, from which JSON is written and
// read, and from which the JSON Schema follows. Internal to lib/report.
//
//   template <>
//   const Description<Move>& description<Move>() {
//     static const Description<Move> kMove{
//         {field<&Move::round>("round", "rounds done when shares changed"),
//          field<&Move::shares>("shares", "items per device since")}};
//     return kMove;
//   }
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/report/kinds.hpp"

namespace mgpu {

template <typename Record>
struct Field {
  const char* name;
  const char* meaning;
  void (*write)(const Field&, const Record&, JsonValue& object);
  void (*read)(const Field&, const JsonReader& object, Record&);
  JsonValue (*schema)(const Field&, JsonValue& definitions);
  std::vector<Field> inner = {};             // rows of a group
  bool absent_if_zero = false;               // zero, empty or false: the field is absent
  bool (*present)(const Record&) = nullptr;  // if it returns false, the field is absent
  // Takes a record with the fields before this one: if it returns false, this one is absent, else
  // it is required.
  bool (*applies)(const Record&) = nullptr;
  bool (*known)(const Record&, bool zero) = nullptr;  // if it returns false, the field is null
  const char* also = nullptr;                         // further members of its schema, as JSON
  const char* unit = nullptr;  // of a number whose name does not end in its unit; "1": none
  bool many = false;  // stands for several members: `schema` returns an object schema of them

  Field if_any() const { return with(&Field::absent_if_zero, true); }
  Field when(bool (*is_present)(const Record&)) const { return with(&Field::present, is_present); }
  Field only_if(bool (*it_applies)(const Record&)) const {
    return with(&Field::applies, it_applies);
  }
  Field null_unless(bool (*is_known)(const Record&, bool zero)) const {
    return with(&Field::known, is_known);
  }
  Field with_schema(const char* json) const { return with(&Field::also, json); }
  Field in(const char* its_unit) const { return with(&Field::unit, its_unit); }

  bool optional() const { return absent_if_zero || present != nullptr; }
  bool applies_to(const Record& record) const { return !applies || applies(record); }

 private:
  template <typename T>
  Field with(T Field::*member, T value) const {
    Field changed = *this;
    changed.*member = value;
    return changed;
  }
};

template <typename Record>
struct Description {
  std::vector<Field<Record>> fields;
  const char* meaning = "";
  const char* name = nullptr;  // name under "definitions"; null: inlined where used
  // Rejects impossible values and completes the record.
  void (*finish)(const JsonReader& json, Record& record) = nullptr;
  const char* also = nullptr;
  Keys keys = Keys::any;  // named: reading rejects other keys
};

// Specialised in the file that describes the record.
template <typename Record>
const Description<Record>& description();

template <typename Record>
void write_fields(const std::vector<Field<Record>>& fields, const Record& record,
                  JsonValue& object) {
  for (const Field<Record>& field : fields)
    if (field.applies_to(record) && (!field.present || field.present(record)))
      field.write(field, record, object);
}

template <typename Record>
void read_fields(const std::vector<Field<Record>>& fields, const JsonReader& object,
                 Record& record) {
  object.expect(object.is_object(), "an object");
  for (const Field<Record>& field : fields)
    if (field.applies_to(record) && (field.many || !field.optional() || object.has(field.name)))
      field.read(field, object, record);
}

template <typename Record>
JsonValue schema_of_fields(const std::vector<Field<Record>>& fields, const char* meaning,
                           const char* also, JsonValue& definitions) {
  JsonValue schema = object_schema(meaning);
  for (const Field<Record>& field : fields) {
    JsonValue inner = field.schema(field, definitions);
    if (field.many) {
      add_properties(schema, std::move(inner));
    } else {
      if (field.known) inner = nullable(std::move(inner));
      if (field.unit) put(inner, "unit", field.unit);
      add_property(schema, field.name, !field.optional() && !field.applies,
                   described(std::move(inner), field.meaning, field.also));
    }
  }
  return described(std::move(schema), "", also);
}

template <typename Record>
void refuse_unnamed(const std::vector<Field<Record>>& fields, const JsonReader& object) {
  object.expect(object.is_object(), "an object");
  std::vector<std::string> names;
  for (const Field<Record>& field : fields) {
    names.emplace_back(field.name);
    if (!field.inner.empty() && object.has(field.name))
      refuse_unnamed(field.inner, object.at(field.name));
  }
  object.refuse_other_keys(names);
}

template <typename Record>
void read_record(const JsonReader& json, Record& record) {
  const Description<Record>& of = description<Record>();
  if (of.keys == Keys::named) refuse_unnamed(of.fields, json);
  read_fields(of.fields, json, record);
  if (of.finish) of.finish(json, record);
}

// Kind of nested records: structs that have a description.
template <typename T>
struct Kind {
  static JsonValue write(const T& record) {
    JsonValue object = json_object();
    write_fields(description<T>().fields, record, object);
    return object;
  }
  static T read(const JsonReader& json) {
    T record{};
    read_record(json, record);
    return record;
  }
  static JsonValue schema(JsonValue& definitions) {
    const Description<T>& of = description<T>();
    if (!of.name) return schema_of_fields(of.fields, of.meaning, of.also, definitions);
    if (!defines(definitions, of.name)) {
      put(definitions, of.name, nullptr);  // reserves its place before the definitions it uses
      put(definitions, of.name, schema_of_fields(of.fields, of.meaning, of.also, definitions));
    }
    return reference(of.name);
  }
};

namespace field_access {

// Returns the member at the end of a path through members and optional members; null if one of them
// is empty.
template <auto Step, auto... Rest, typename T>
auto find(const T& record) {
  const auto& member = record.*Step;
  if constexpr (sizeof...(Rest) == 0) {
    return &member;
  } else if constexpr (kIsOptional<std::remove_cvref_t<decltype(member)>>) {
    return member ? find<Rest...>(*member) : nullptr;
  } else {
    return find<Rest...>(member);
  }
}

// Returns the same member for assignment, and creates optional members on the path.
template <auto Step, auto... Rest, typename T>
auto& reach(T& record) {
  auto& member = record.*Step;
  if constexpr (sizeof...(Rest) == 0) {
    return member;
  } else if constexpr (kIsOptional<std::remove_cvref_t<decltype(member)>>) {
    if (!member) member.emplace();
    return reach<Rest...>(*member);
  } else {
    return reach<Rest...>(member);
  }
}

template <typename T>
bool is_zero(const T& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (kIsOptional<T>) {
    return !value.has_value();
  } else if constexpr (requires { value.any(); }) {
    return !value.any();
  } else if constexpr (requires { value == T{}; }) {
    return value == T{};
  } else {
    return false;
  }
}

// The record that a member belongs to, or that a function or lambda takes.
template <typename F>
struct RecordOf : RecordOf<decltype(&F::operator())> {};
template <typename T, typename Record>
struct RecordOf<T Record::*> {
  using type = Record;
};
template <typename T, typename Lambda, typename Record>
struct RecordOf<T (Lambda::*)(const Record&) const> {
  using type = Record;
};
template <typename T, typename Record>
struct RecordOf<T (*)(const Record&)> {
  using type = Record;
};

template <typename K, typename Record, typename T>
void write_value(const Field<Record>& field, const Record& record, const T* value,
                 JsonValue& object) {
  const bool zero = !value || is_zero(*value);
  if (field.absent_if_zero && zero) return;
  if (!value || (field.known && !field.known(record, zero))) {
    put(object, field.name, nullptr);
  } else if constexpr (unwraps<K, T>()) {
    if (*value)
      put(object, field.name, K::write(**value));
    else
      put(object, field.name, nullptr);
  } else {
    put(object, field.name, K::write(*value));
  }
}

template <typename K, auto... Path, typename Record>
void read_value(const Field<Record>& field, const JsonReader& object, Record& record) {
  const JsonReader json = object.at(field.name);
  if (field.known && json.is_null()) return;
  auto& value = reach<Path...>(record);
  if constexpr (unwraps<K, std::remove_cvref_t<decltype(value)>>()) {
    if (!json.is_null() || field.absent_if_zero) value = K::read(json);
  } else {
    value = K::read(json);
  }
}

template <typename K, typename T, typename Record>
JsonValue schema_of_value(const Field<Record>& field, JsonValue& definitions) {
  JsonValue schema = K::schema(definitions);
  if (unwraps<K, T>() && !field.absent_if_zero) schema = nullable(std::move(schema));
  return schema;
}

template <auto... Path>
struct Member;
template <auto First, auto... Rest>
struct Member<First, Rest...> {
  using Record = typename RecordOf<decltype(First)>::type;
  using Value = std::remove_cvref_t<decltype(reach<First, Rest...>(std::declval<Record&>()))>;
};

}  // namespace field_access

// Returns a row for the member at the end of `Path`, whose values are of kind K.
template <typename K, auto... Path>
auto field_as(const char* name, const char* meaning = "") {
  using Member = field_access::Member<Path...>;
  using Record = typename Member::Record;
  using T = typename Member::Value;
  return Field<Record>{name, meaning,
                       [](const Field<Record>& field, const Record& record, JsonValue& object) {
                         field_access::write_value<K>(field, record,
                                                      field_access::find<Path...>(record), object);
                       },
                       [](const Field<Record>& field, const JsonReader& object, Record& record) {
                         field_access::read_value<K, Path...>(field, object, record);
                       },
                       field_access::schema_of_value<K, T, Record>};
}

template <auto... Path>
auto field(const char* name, const char* meaning = "") {
  return field_as<Kind<Unwrapped<typename field_access::Member<Path...>::Value>>, Path...>(name,
                                                                                           meaning);
}

// Returns a row whose value `Get` computes from the record for writing. Reading assigns the member
// at the end of `Path`; without a path, Description::finish may read it.
template <auto Get, auto... Path>
auto computed(const char* name, const char* meaning = "") {
  using Record = typename field_access::RecordOf<decltype(Get)>::type;
  using T = std::remove_cvref_t<decltype(Get(std::declval<const Record&>()))>;
  using K = Kind<Unwrapped<T>>;
  return Field<Record>{name, meaning,
                       [](const Field<Record>& field, const Record& record, JsonValue& object) {
                         const T value = Get(record);
                         field_access::write_value<K>(field, record, &value, object);
                       },
                       [](const Field<Record>& field, const JsonReader& object, Record& record) {
                         if constexpr (sizeof...(Path) > 0)
                           field_access::read_value<K, Path...>(field, object, record);
                       },
                       field_access::schema_of_value<K, T, Record>};
}

// Returns a row for an object of further rows of the same record.
template <typename Record>
Field<Record> group(const char* name, const char* meaning, std::vector<Field<Record>> rows) {
  return {name,
          meaning,
          [](const Field<Record>& field, const Record& record, JsonValue& object) {
            JsonValue value;
            if (!field.known || field.known(record, false)) {
              value = json_object();
              write_fields(field.inner, record, value);
            }
            put(object, field.name, std::move(value));
          },
          [](const Field<Record>& field, const JsonReader& object, Record& record) {
            const JsonReader json = object.at(field.name);
            if (!field.known || !json.is_null()) read_fields(field.inner, json, record);
          },
          [](const Field<Record>& field, JsonValue& definitions) {
            return schema_of_fields(field.inner, "", nullptr, definitions);
          },
          std::move(rows)};
}

// Returns a row for members that another table names.
template <typename Record>
Field<Record> many(decltype(Field<Record>::write) write, decltype(Field<Record>::read) read,
                   decltype(Field<Record>::schema) schema) {
  return {.name = "", .meaning = "", .write = write, .read = read, .schema = schema, .many = true};
}

// Returns a row that includes the rows of a described member next to the record's own.
template <auto Member>
auto spread() {
  using Record = typename field_access::Member<Member>::Record;
  using T = typename field_access::Member<Member>::Value;
  return many<Record>(
      [](const Field<Record>&, const Record& record, JsonValue& object) {
        write_fields(description<T>().fields, record.*Member, object);
      },
      [](const Field<Record>&, const JsonReader& object, Record& record) {
        read_record(object, record.*Member);
      },
      [](const Field<Record>&, JsonValue& definitions) {
        return schema_of_fields(description<T>().fields, "", nullptr, definitions);
      });
}

// Returns a row for the identity of a document; reading refuses others.
template <typename Record, const DocumentId& Id>
Field<Record> document_id() {
  return many<Record>(
      [](const Field<Record>&, const Record&, JsonValue& object) { write_id(Id, object); },
      [](const Field<Record>&, const JsonReader& object, Record&) { expect_id(Id, object); },
      [](const Field<Record>&, JsonValue&) { return id_schema(Id); });
}

// Returns the JSON Schema of a document as text.
template <typename Record>
std::string schema_document(const DocumentId& id, const char* title, Keys keys = Keys::any) {
  JsonValue definitions = json_object();
  JsonValue schema = Kind<Record>::schema(definitions);
  return schema_text_of(id, title, schema, std::move(definitions), keys);
}

}  // namespace mgpu
