// JSON -> Timeline: tables of rows, the columns in the order the writer gives them; further columns
// of newer files are skipped. A file whose columns are others is refused, so that no number is
// taken for another.
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/quote.hpp"
#include "lib/report/json_names.hpp"
#include "lib/report/json_reader.hpp"

namespace mgpu {

namespace {

using namespace json_names;
using Json = JsonReader::Json;

// One row of a table; cells are read in order.
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
  Enum word(std::initializer_list<Enum> all) {
    const std::string& text = string();
    const std::optional<Enum> value = from_string(text, all);
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

}  // namespace

Timeline read_timeline(const JsonReader& json) {
  Timeline t;
  t.devices = json.at("devices").integer<std::uint32_t>();
  t.makespan = json.at("makespan_ns").duration();
  if (json.has("uncertainty_ns")) {
    const JsonReader uncertainty = json.at("uncertainty_ns");
    uncertainty.elements([&](const JsonReader& e) { t.uncertainty.push_back(e.duration()); });
    if (!t.uncertainty.empty() && t.uncertainty.size() != t.devices)
      uncertainty.fail("not one for each device");
  }
  const JsonReader merge = json.at("merge");
  t.merge_begin = merge.at("begin_ns").nanos();
  t.merge_end = merge.at("end_ns").nanos();
  t.merged_on = merge.at("on").optional(
      [](const JsonReader& j) { return DeviceIndex{j.integer<std::uint32_t>()}; });
  if (t.merged_on && t.merged_on->value >= t.devices) merge.at("on").fail("no such device");
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
    c.kind = row.word(
        {CommandKind::upload, CommandKind::compute, CommandKind::download, CommandKind::exchange});
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
      info.path = row.word({PeerPath::direct, PeerPath::staged, PeerPath::host});
      info.arrives = row.boolean();
    }
    if (round < columns.size()) c.round = row.round_at(round);
    t.commands.push_back(std::move(c));
  });
  rows(json, "spans", kSpanColumns, [&](Row row) {
    HostSpan s;
    s.device = row.device(t.devices);
    s.state = row.word({HostState::in_flight, HostState::sync, HostState::idle, HostState::waking});
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
  return t;
}

}  // namespace mgpu
