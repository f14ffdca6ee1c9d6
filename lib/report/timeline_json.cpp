// Timelines <-> JSON: tables of rows, with the columns in the order of the writer. Ignores further
// columns of newer files. Rejects a file with other columns, so that no number is mistaken for
// another.
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/quote.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

template <>
inline constexpr std::initializer_list<HostState> kAllOf<HostState> = {
    HostState::in_flight, HostState::sync, HostState::idle, HostState::waking};

namespace {

using Json = JsonReader::Json;

constexpr std::array kCommandColumns = {"device",       "kind",       "slice",
                                        "label",        "bytes",      "queued_ns",
                                        "submitted_ns", "started_ns", "ended_ns"};
constexpr std::array kSpanColumns = {"device", "state", "begin_ns", "end_ns"};
constexpr std::array kSliceColumns = {"device", "slice",       "begin",
                                      "end",    "enqueued_ns", "finished_ns"};

// Columns of commands, after the others.
constexpr std::array<const char*, 3> kExchangeColumns = {"peer", "path", "arrives"};
constexpr const char* kRoundColumn = "round";  // column of commands, after all others

// One row of a table, whose cells are read in order.
class Row {
 public:
  Row(const JsonReader& table, const Json& row, std::size_t number, std::size_t columns)
      : table_(table), row_(row), number_(number) {
    if (!row.is_array() || row.size() != columns)
      fail("a list of " + std::to_string(columns) + " values expected");
  }
  template <typename T>
  T integer(T least = std::numeric_limits<T>::lowest(), T most = std::numeric_limits<T>::max()) {
    using Widest = JsonReader::Widest<T>;
    const std::optional<Widest> value =
        JsonReader::whole(row_[column_], Widest{least}, Widest{most});
    if (!value)
      table_.cell(row_[column_], number_, column_).refuse_whole(Widest{least}, Widest{most});
    ++column_;
    return static_cast<T>(*value);
  }
  Nanos nanos() {
    return Nanos{integer<std::int64_t>(-JsonReader::kMostTime, JsonReader::kMostTime)};
  }
  DeviceIndex device(std::size_t devices) {
    const auto index = integer<std::uint32_t>();
    if (index >= devices)
      fail("device " + std::to_string(index) + " of " + std::to_string(devices));
    return {index};
  }
  const std::string& string() {
    if (!row_[column_].is_string()) fail("a string expected in column " + std::to_string(column_));
    return row_[column_++].get_ref<const std::string&>();
  }
  bool boolean() {
    if (!row_[column_].is_boolean())
      fail("true or false expected in column " + std::to_string(column_));
    return row_[column_++].get<bool>();
  }
  template <typename Enum>
  Enum word() {
    const std::string& text = string();
    const std::optional<Enum> value = from_string<Enum>(text);
    if (!value) fail("unknown word " + in_quotes(text));
    return *value;
  }
  std::optional<std::uint32_t> round_at(std::size_t column) {
    if (row_[column].is_null()) return std::nullopt;
    column_ = column;
    return integer<std::uint32_t>();
  }
  [[noreturn]] void fail(const std::string& what) const {
    table_.fail("row " + std::to_string(number_) + ": " + what);
  }

 private:
  const JsonReader& table_;
  const Json& row_;
  std::size_t number_, column_ = 0;
};

template <std::size_t N, typename F>
void rows(const JsonReader& timeline, const char* name, const std::array<const char*, N>& columns,
          F read) {
  const JsonReader written = timeline.at("columns").at(name);
  const Json& have = written.json();
  if (!have.is_array() || have.size() < N ||
      !std::equal(columns.begin(), columns.end(), have.begin()))
    written.fail("other columns than this tool reads");
  const JsonReader table = timeline.at(name);
  table.expect(table.json().is_array(), "a list");
  std::size_t number = 0;
  for (const Json& row : table.json()) read(Row(table, row, number++, have.size()));
}

template <typename Names>
JsonValue names_json(const Names& names) {
  JsonValue list = json_list();
  for (const char* name : names) append(list, name);
  return list;
}

void put_tables(const Field<Timeline>&, const Timeline& t, JsonValue& object) {
  JsonValue commands = json_list(), spans = json_list(), slices = json_list();
  const bool exchanges = std::any_of(t.commands.begin(), t.commands.end(),
                                     [](const Command& c) { return c.exchange.has_value(); });
  const bool rounds = std::any_of(t.commands.begin(), t.commands.end(),
                                  [](const Command& c) { return c.round.has_value(); });
  JsonValue columns = names_json(kCommandColumns);
  if (exchanges)
    for (const char* column : kExchangeColumns) append(columns, column);
  if (rounds) append(columns, kRoundColumn);
  for (const Command& c : t.commands) {
    JsonValue row = json_list({c.device.value, to_string(c.kind), c.slice, c.label.text(), c.bytes,
                               c.queued, c.submitted, c.started, c.ended});
    if (exchanges) {
      append(row, c.exchange ? JsonItem(c.exchange->peer.value) : JsonItem(nullptr));
      append(row, c.exchange ? JsonItem(to_string(c.exchange->path)) : JsonItem(nullptr));
      append(row, c.exchange ? JsonItem(c.exchange->arrives) : JsonItem(nullptr));
    }
    if (rounds) append(row, c.round);
    append(commands, std::move(row));
  }
  for (const HostSpan& s : t.spans)
    append(spans, json_list({s.device.value, to_string(s.state), s.begin, s.end}));
  for (const SliceRecord& s : t.slices)
    append(slices, json_list({s.device.value, s.slice, s.begin, s.end, s.enqueued, s.finished}));
  put(object, "columns",
      json_object({{"commands", std::move(columns)},
                   {"spans", names_json(kSpanColumns)},
                   {"slices", names_json(kSliceColumns)}}));
  put(object, "commands", std::move(commands));
  put(object, "spans", std::move(spans));
  put(object, "slices", std::move(slices));
}

void read_tables(const Field<Timeline>&, const JsonReader& json, Timeline& t) {
  const JsonReader written = json.at("columns").at("commands");
  const Json& columns = written.json();
  const bool exchanges = columns.is_array() &&
                         columns.size() >= kCommandColumns.size() + kExchangeColumns.size() &&
                         std::equal(kExchangeColumns.begin(), kExchangeColumns.end(),
                                    columns.begin() + kCommandColumns.size());
  const std::size_t round =
      !columns.is_array()
          ? 0
          : static_cast<std::size_t>(std::find(columns.begin(), columns.end(), kRoundColumn) -
                                     columns.begin());
  rows(json, "commands", kCommandColumns, [&](Row row) {
    Command c;
    c.device = row.device(t.devices);
    c.kind = row.word<CommandKind>();
    c.slice = row.integer<std::int32_t>();
    c.label = Name(row.string());
    c.bytes = row.integer<Bytes>();
    c.queued = row.nanos();
    c.submitted = row.nanos();
    c.started = row.nanos();
    c.ended = row.nanos();
    if (c.kind == CommandKind::exchange) {
      if (!exchanges) row.fail("an exchange, and no columns for it");
      ExchangeInfo& info = c.exchange.emplace();
      info.peer = row.device(t.devices);
      info.path = row.word<PeerPath>();
      info.arrives = row.boolean();
    }
    if (round < columns.size()) c.round = row.round_at(round);
    t.commands.push_back(std::move(c));
  });
  rows(json, "spans", kSpanColumns, [&](Row row) {
    HostSpan s;
    s.device = row.device(t.devices);
    s.state = row.word<HostState>();
    s.begin = row.nanos();
    s.end = row.nanos();
    t.spans.push_back(s);
  });
  rows(json, "slices", kSliceColumns, [&](Row row) {
    SliceRecord s;
    s.device = row.device(t.devices);
    s.slice = row.integer<std::int32_t>();
    s.begin = row.integer<Items>();
    s.end = row.integer<Items>();
    if (s.end < s.begin) row.fail("a slice that ends before it begins");
    s.enqueued = row.nanos();
    s.finished = row.nanos();
    t.slices.push_back(s);
  });
}

JsonValue tables_schema(const Field<Timeline>&, JsonValue&) {
  struct Table {
    const char *name, *meaning;
    bool always = true;
  };
  constexpr Table kTables[] = {
      {"commands",
       "device (index into the run's devices), kind (upload, compute, download, exchange), slice "
       "(its number on the device; -1 prepare, -2 collect, -3 merge), label, bytes, queued_ns, "
       "submitted_ns, started_ns, ended_ns; where devices exchange data also peer (the other "
       "device), path (direct, staged, host), arrives (false: to the peer), null for other kinds; "
       "of iterative work also round (from 0; null before the first and after the last)"},
      {"spans",
       "what a device's worker was doing, by the host clock: device, state (in_flight, sync, idle, "
       "waking), begin_ns, end_ns"},
      {"slices",
       "who took what, in order of finishing: device, slice, begin and end of its items, "
       "enqueued_ns, finished_ns"},
      {"telemetry",
       "readings that describe this sample: of, at_ns, then the figures of telemetry_figures by "
       "name; absent: none",
       false},
  };
  JsonValue object = object_schema(""), columns = object_schema("");
  for (const Table& table : kTables)
    add_property(columns, table.name, table.always,
                 described(list_schema(type_schema("string")), "in their order", nullptr));
  add_property(object, "columns", true,
               described(std::move(columns), "names of the cells of each table", nullptr));
  for (const Table& table : kTables)
    add_property(object, table.name, table.always,
                 described(list_schema(list_schema(json_object(
                               {{"type", json_list({"number", "string", "boolean", "null"})}}))),
                           table.meaning, nullptr));
  return object;
}

}  // namespace

template <>
const Description<Timeline>& description<Timeline>() {
  static const Description<Timeline> kTimeline{
      {field_as<Whole<std::size_t, 0, UINT32_MAX>, &Timeline::devices>("devices",
                                                                       "number of devices"),
       field<&Timeline::makespan>("makespan_ns", "time of the sample"),
       field<&Timeline::uncertainty>("uncertainty_ns",
                                     "of each device's clock: its commands lie where they do plus "
                                     "or minus this; empty: not known"),
       group<Timeline>(
           "merge", "merging of partial results",
           {field_as<Moment, &Timeline::merge_begin>("begin_ns", "since the sample began"),
            field_as<Moment, &Timeline::merge_end>("end_ns", "since the sample began"),
            field<&Timeline::merged_on>("on", "index into the run's devices; null: the host")}),
       many<Timeline>(put_tables, read_tables, tables_schema)},
      "Sample number sample_index as tables of rows; times are nanoseconds since it began. Cells "
      "are named by columns; newer files may append columns.",
      "timeline",
      [](const JsonReader& json, Timeline& t) {
        if (!t.uncertainty.empty() && t.uncertainty.size() != t.devices)
          json.at("uncertainty_ns").fail("not one for each device");
        if (t.merged_on && t.merged_on->value >= t.devices)
          json.at("merge").at("on").fail("no such device");
      }};
  return kTimeline;
}

}  // namespace mgpu
