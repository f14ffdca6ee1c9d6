#include "lib/history/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/fnv.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/run_groups.hpp"

namespace mgpu {
namespace {

constexpr std::string_view kSchema = "mgpu-bench/history/1", kSchemas = "mgpu-bench/history/";
constexpr std::string_view kBegin = R"({"schema":"mgpu-bench/history/)";
constexpr std::string_view kMetrics = R"(,"metrics":{)", kEnvironment = R"(},"environment":{)";

// Returns the devices of a case.
std::vector<const DeviceRecord*> devices_of(const Report& report, const RunRecord& run) {
  std::vector<const DeviceRecord*> all;
  for (const std::string& id : run.devices)
    for (const DeviceRecord& device : report.devices)
      if (device.device.id == id) all.push_back(&device);
  return all;
}

// Returns the texts, each once, in order of their first appearance.
std::string each_once(const std::vector<std::string>& texts) {
  std::vector<std::string> once;
  for (const std::string& text : texts)
    if (!text.empty() && std::find(once.begin(), once.end(), text) == once.end())
      once.push_back(text);
  return fmt::format("{}", fmt::join(once, ", "));
}

// Returns "2 x NVIDIA H200, 1 x AMD MI300X".
std::string models(const std::vector<const DeviceRecord*>& devices) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const DeviceRecord* record : devices) {
    const std::string& name = record->device.name;
    const auto same =
        std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == name; });
    if (same == counts.end())
      counts.emplace_back(name, 1);
    else
      ++same->second;
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  return text;
}

template <typename Text>
std::string each_once(const std::vector<const DeviceRecord*>& devices, Text text_of) {
  std::vector<std::string> texts;
  for (const DeviceRecord* record : devices) texts.push_back(text_of(*record));
  return each_once(texts);
}

// Returns everything that may change between two runs and explain a change of their times.
std::map<std::string, std::string> attributes(const Report& report, const RunRecord& run) {
  std::map<std::string, std::string> all = report.environment;
  const std::vector<const DeviceRecord*> devices = devices_of(report, run);
  all["driver"] = each_once(devices, [](const auto& d) { return d.device.driver_version; });
  all["platform"] = each_once(devices, [](const auto& d) { return d.device.platform_version; });
  all["uuid"] = each_once(devices, [](const auto& d) { return d.device.uuid.value_or(""); });
  for (const SettingInfo& info : kSettingTable)
    if (info.matters != SettingInfo::Matters::never)
      all[info.label] = each_once(devices, [&](const auto& d) {
        const auto& value = d.before[info.setting];
        return value ? in_words(info, *value) : std::string();
      });
  all["mgpu-bench"] = report.tool.version + (report.tool.git.empty() ? "" : " " + report.tool.git);
  for (const auto& [key, value] : report.labels)
    if (key != "commit" && key != "rerun") all["label " + key] = value;
  std::erase_if(all, [](const auto& one) { return one.second.empty(); });
  return all;
}

std::string label(const Report& report, const char* key) {
  const auto found = report.labels.find(key);
  return found == report.labels.end() ? "" : found->second;
}

std::string machine_of(const Report& report) {
  if (const std::string given = label(report, "machine"); !given.empty()) return given;
  const auto host = report.environment.find("host");
  return host == report.environment.end() ? "unknown" : host->second;
}

// Returns the result's id: its own, else a hash of what no other result has.
std::string id_of(const Report& report) {
  if (!report.id.empty()) return report.id;
  Fnv1a sum;
  sum.add(report.started);
  sum.add(machine_of(report));
  for (const RunRecord& run : report.runs)
    for (const Nanos sample : run.samples) sum.add(std::to_string(sample.count()) + ' ');
  return sum.hex();
}

template <typename Map>
JsonValue object_of(const Map& map) {
  JsonValue object = json_object();
  for (const auto& [key, value] : map) put(object, key, value);
  return object;
}

JsonValue flags_of(const Report& report, const RunRecord& run) {
  std::vector<std::string> flags;
  if (!run.faults.empty() || !run.warnings.empty() || !run.invalidated.empty())
    flags.emplace_back("disturbed");
  if (!label(report, "rerun").empty()) flags.emplace_back("rerun");
  return JsonValue(flags);
}

// Returns the metrics of a case that are ratios, to four digits.
std::map<std::string, double> ratios_of(const RunRecord& run) {
  std::map<std::string, double> ratios;
  for (const MetricInfo& metric : all_metrics())
    if (const auto& value = run.metrics.*metric.value)
      ratios[metric.name] = std::strtod(fmt::format("{:.4g}", *value).c_str(), nullptr);
  return ratios;
}

// Returns the end of the string that begins at `at`, which is behind its opening quote; npos: it
// has none.
std::size_t string_end(std::string_view json, std::size_t at) {
  for (;; ++at) {
    at = json.find('"', at);
    if (at == std::string_view::npos) return at;
    std::size_t escapes = 0;
    while (json[at - 1 - escapes] == '\\') ++escapes;
    if (escapes % 2 == 0) return at;
  }
}

// Returns the end of the value that begins at `at`; npos: it has none.
std::size_t value_end(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  for (; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') {
      at = string_end(json, at + 1);
      if (at == std::string_view::npos) return at;
      if (depth == 0) return at + 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return std::string_view::npos;
}

// Calls f(key, value) for each member of a JSON object, with the value as it is written. Returns
// false if the text is not one whole object; `open`: an object without its closing brace. Takes a
// tenth of the time of a parser that builds values.
template <typename F>
bool each_member(std::string_view json, F f, bool open = false) {
  const auto skip_spaces = [&](std::size_t at) {
    while (at < json.size() && (json[at] == ' ' || json[at] == '\t' || json[at] == '\r')) ++at;
    return at;
  };
  std::size_t at = skip_spaces(0);
  if (at == json.size() || json[at] != '{') return false;
  at = skip_spaces(at + 1);
  if (at < json.size() && json[at] == '}') return skip_spaces(at + 1) == json.size();
  for (;;) {
    if (at >= json.size() || json[at] != '"') return false;
    const std::size_t key = at + 1, key_end = string_end(json, key);
    if (key_end == std::string_view::npos) return false;
    at = skip_spaces(key_end + 1);
    if (at >= json.size() || json[at] != ':') return false;
    const std::size_t value = skip_spaces(at + 1);
    std::size_t end = value_end(json, value);
    if (end == std::string_view::npos && open) end = json.size();
    if (end == std::string_view::npos || end == value) return false;
    f(json.substr(key, key_end - key), json.substr(value, end - value));
    at = skip_spaces(end);
    if (open && at == json.size()) return true;
    if (at < json.size() && json[at] == '}') return skip_spaces(at + 1) == json.size();
    if (at >= json.size() || json[at] != ',') return false;
    at = skip_spaces(at + 1);
  }
}

// Returns the text that a JSON string stands for. Throws Error(input) for an escape that is none.
std::string decoded(std::string_view value) {
  const std::string_view inner = value.substr(1, value.size() - 2);
  if (inner.find('\\') == std::string_view::npos) return std::string(inner);
  const JsonValue json = parse_json_value(value);
  return JsonReader(json).string();
}

// Reads lines into a ResultHistory.
class LineReader {
 public:
  LineReader(const std::string& name, ResultHistory& history) : name_(name), history_(history) {}

  void read(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (take(line)) continue;
      // A writer that was killed may have left the beginning of a line, which another one follows.
      const std::size_t next = line.rfind(kBegin);
      const bool torn = next == std::string_view::npos || next == 0 || !take(line.substr(next));
      history_.warnings.push_back(fmt::format(
          "{}: line {}: {}", name_, number,
          !newer_.empty() ? fmt::format("skipped: {} is of another version", in_quotes(newer_))
          : torn          ? "skipped: it is torn or damaged"
                          : "a torn line before it is skipped"));
    }
    for (auto& [key, runs] : runs_) history_.series.push_back({key, std::move(runs)});
  }

 private:
  // Returns the text without quotes; a text with escapes is decoded and stored.
  std::string_view text_of(std::string_view value) {
    if (value.size() < 2 || value.front() != '"') return {};
    const std::string_view inner = value.substr(1, value.size() - 2);
    if (inner.find('\\') == std::string_view::npos) return inner;
    return history_.texts.emplace_back(decoded(value));
  }

  // Does what line.find() does, which is slow where many places begin like the text.
  static std::size_t find(std::string_view line, std::string_view text, std::size_t from = 0) {
    if (from >= line.size()) return line.npos;
    const void* found = ::memmem(line.data() + from, line.size() - from, text.data(), text.size());
    if (found == nullptr) return line.npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
  }

  static double number_of(std::string_view value) {
    double number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
  }

  // Returns false if the line is torn, damaged or of another version.
  bool take(std::string_view line) try {
    newer_.clear();
    std::string_view schema, kind, series, reason, who;
    HistoryRun run;
    const std::pair<std::string_view, std::string_view*> texts[] = {{"result", &run.result},
                                                                    {"at", &run.at},
                                                                    {"series", &series},
                                                                    {"case", &run.case_name},
                                                                    {"machine", &run.machine},
                                                                    {"commit", &run.commit},
                                                                    {"version", &run.version},
                                                                    {"schema", &schema},
                                                                    {"kind", &kind},
                                                                    {"reason", &reason},
                                                                    {"who", &who}};
    const std::pair<std::string_view, double*> numbers[] = {
        {"time_ns", &run.time}, {"low_ns", &run.low}, {"high_ns", &run.high}, {"mad_ns", &run.mad}};
    const auto put_into = [&](std::string_view key, std::string_view value) {
      if (value.front() == '"') {
        for (const auto& [name, text] : texts)
          if (name == key) return void(*text = text_of(value));
      } else if (key == "n") {
        run.n = static_cast<std::uint64_t>(number_of(value));
      } else if (key == "metrics") {
        run.metrics = value;
      } else if (key == "environment") {
        run.environment = value;
      } else if (key == "flags") {
        run.disturbed = value.find("\"disturbed\"") != std::string_view::npos;
        run.rerun = value.find("\"rerun\"") != std::string_view::npos;
      } else {
        for (const auto& [name, number] : numbers)
          if (name == key) *number = number_of(value);
      }
    };
    // The lines of this program end with metrics and environment, two thirds of a line.
    const std::size_t metrics = find(line, kMetrics),
                      environment = find(line, kEnvironment, metrics);
    if (environment != line.npos && line.ends_with("}}")) {
      run.metrics = line.substr(metrics, environment + 1 - metrics).substr(kMetrics.size() - 1);
      run.environment = line.substr(environment).substr(kEnvironment.size() - 1);
      run.environment.remove_suffix(1);
      if (!each_member(line.substr(0, metrics), put_into, true)) return false;
    } else if (!each_member(line, put_into)) {
      return false;
    }
    if (schema != kSchema) {
      if (schema.starts_with(kSchemas)) newer_ = schema;
      return false;
    }
    if (kind == "run") {
      const auto is_time = [](double ns) { return ns >= 0 && ns <= JsonReader::kMostTime; };
      const bool whole = !run.result.empty() && !run.at.empty() && !series.empty() &&
                         !run.case_name.empty() && run.n > 0 && run.time > 0 && is_time(run.time) &&
                         is_time(run.low) && is_time(run.high) && is_time(run.mad);
      if (whole) runs_[series].push_back(run), ++history_.lines;
      return whole;
    }
    if ((kind != "exclude" && kind != "ack") || run.result.empty() || reason.empty()) return false;
    (kind == "ack" ? history_.acknowledgements : history_.exclusions)
        .push_back({run.result, series, reason, who, run.at});
    ++history_.lines;
    return true;
  } catch (const Error&) {  // an escape that is none
    return false;
  }

  const std::string& name_;
  ResultHistory& history_;
  std::string newer_;
  std::unordered_map<std::string_view, std::vector<HistoryRun>> runs_;
};

auto order_of(const HistoryRun& run) {
  return std::tie(run.at, run.result, run.case_name, run.time, run.environment);
}
auto order_of(const HistoryMark& mark) {
  return std::tie(mark.at, mark.result, mark.series, mark.reason, mark.who);
}

template <typename T>
void sort_in_order(std::vector<T>& all) {
  std::sort(all.begin(), all.end(),
            [](const T& a, const T& b) { return order_of(a) < order_of(b); });
}

const HistoryMark* mark_on(const std::vector<HistoryMark>& marks, std::string_view series,
                           std::string_view result) {
  const auto found = std::find_if(marks.begin(), marks.end(), [&](const HistoryMark& mark) {
    return mark.result == result && (mark.series.empty() || mark.series == series);
  });
  return found == marks.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(std::string_view from, const std::string& text, const std::string& why,
                         const std::vector<std::string>& known) {
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} {}; expected: {}", from, in_quotes(text), why,
                          known.empty() ? "one that the history has" : first_few(known)));
}

}  // namespace

std::string history_series(const Report& report, const RunRecord& run) {
  std::string params;
  const auto of_suite = report.defaults.find(run.suite);
  for (const auto& [name, value] : run.params) {
    const bool usual = of_suite != report.defaults.end() && of_suite->second.contains(name) &&
                       of_suite->second.at(name) == value;
    if (!usual && !follows_size(report, run, name))
      params += fmt::format(", {}={}", name, param_shown(value));
  }
  const std::vector<const DeviceRecord*> devices = devices_of(report, run);
  const std::string driver = each_once(devices, [](const auto& d) {
    const std::string& version = d.device.driver_version;
    return version.substr(0, version.find('.'));
  });
  return fmt::format("{} {}, {}{}, {}{}", run.suite, strategy_label(run), to_string(run.mode),
                     params, models(devices), driver.empty() ? "" : ", driver " + driver);
}

std::string series_id(std::string_view series) { return fnv1a_hex(series).substr(0, 8); }

ResultLines history_lines(const Report& report) {
  if (is_links(report))
    throw Error(ErrorKind::input, "is a result of links; expected: one of mgpu-bench run");
  if (report.started.size() < 7)
    throw Error(ErrorKind::input, "has no date; expected: a result of this version of run");
  const std::string id = id_of(report), machine = machine_of(report);
  std::string file = machine + '-' + report.started.substr(0, 7) + ".jsonl";
  std::replace_if(
      file.begin(), file.end(),
      [](char c) { return c == '/' || static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }, '-');
  if (file.front() == '.') file.front() = '-';
  ResultLines all;
  for (const RunRecord& run : report.runs) {
    const Summary time = summarise(run.samples);
    if (run.status != Status::ok || run.verify.status != VerifyStatus::passed ||
        time.median <= Nanos{}) {
      ++all.left_out;
      continue;
    }
    const JsonValue json =
        json_object({{"schema", kSchema},
                     {"kind", "run"},
                     {"result", id},
                     {"at", report.started},
                     {"series", history_series(report, run)},
                     {"case", case_name(run)},
                     {"machine", machine},
                     {"commit", json_or_null(label(report, "commit"))},
                     {"time_ns", time.median},
                     {"n", time.n},
                     {"low_ns", time.ci95_low},
                     {"high_ns", time.ci95_high},
                     {"mad_ns", time.mad},
                     {"flags", flags_of(report, run)},
                     {"version", report.tool.version},
                     {"digest", std::string_view(run.verify.digest).substr(0, 16)},
                     {"metrics", object_of(ratios_of(run))},
                     {"environment", object_of(attributes(report, run))}});
    all.lines.push_back({file, id, case_name(run), flat_json(json) + '\n'});
  }
  return all;
}

const HistoryMark* ResultHistory::acknowledgement(std::string_view key,
                                                  std::string_view result) const {
  return mark_on(acknowledgements, key, result);
}

void read_history_text(std::string_view text, const std::string& name, ResultHistory& history) {
  ++history.files;
  history.bytes += text.size();
  LineReader(name, history).read(text);
}

void finish_history(ResultHistory& history) {
  std::sort(history.series.begin(), history.series.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  std::vector<HistorySeries> merged;
  for (HistorySeries& one : history.series) {
    if (merged.empty() || merged.back().key != one.key) {
      merged.push_back(std::move(one));
    } else {
      std::vector<HistoryRun>& runs = merged.back().runs;
      runs.insert(runs.end(), one.runs.begin(), one.runs.end());
    }
  }
  history.series = std::move(merged);
  sort_in_order(history.exclusions);
  sort_in_order(history.acknowledgements);
  std::sort(history.warnings.begin(), history.warnings.end());
  for (HistorySeries& series : history.series) {
    sort_in_order(series.runs);
    const auto end =
        std::unique(series.runs.begin(), series.runs.end(), [](const auto& a, const auto& b) {
          return a.result == b.result && a.case_name == b.case_name;
        });
    history.repeated += static_cast<std::size_t>(series.runs.end() - end);
    series.runs.erase(end, series.runs.end());
    if (!history.exclusions.empty())
      for (HistoryRun& run : series.runs)
        run.excluded = mark_on(history.exclusions, series.key, run.result);
  }
}

ResultHistory read_history(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) files.push_back(entry->path());
  }
  if (error)
    throw Error(ErrorKind::input,
                fmt::format("{}: {}; expected: a folder that mgpu-bench history add DIR RESULT or "
                            "run --history DIR made",
                            folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  ResultHistory history;
  for (const std::filesystem::path& file : files) {
    try {
      const bool packed = file.extension() == ".gz";
      const std::string_view text =
          packed ? history.texts.emplace_back(read_text_file(file, FileKind::regular))
                 : history.mapped.emplace_back(file).text();
      read_history_text(text, file.filename().string(), history);
    } catch (const Error& problem) {
      throw Error(ErrorKind::input, file.string() + ": " + problem.what());
    }
  }
  finish_history(history);
  return history;
}

const HistorySeries& find_series(const ResultHistory& history, std::string_view from,
                                 const std::string& text) {
  std::vector<const HistorySeries*> named, holding;
  std::vector<std::string> known;
  for (const HistorySeries& series : history.series) {
    const std::string id = series.id();
    if (series.key == text || id == text) return series;
    if (id.starts_with(text)) named.push_back(&series);
    if (series.key.find(text) != std::string_view::npos) holding.push_back(&series);
    known.push_back(id);
  }
  for (const auto& found : {named, holding})
    if (found.size() == 1 && !text.empty()) return *found.front();
  const bool several = !named.empty() || !holding.empty();
  refuse(from, text, several ? "means several series" : "is no series", known);
}

std::vector<std::string> find_results(const ResultHistory& history, std::string_view from,
                                      const std::string& text) {
  std::set<std::string> named, of_commit;
  std::map<std::string_view, std::string> by_date;
  for (const HistorySeries& series : history.series) {
    for (const HistoryRun& run : series.runs) {
      if (run.result.starts_with(text)) named.emplace(run.result);
      if (!run.commit.empty() && run.commit.starts_with(text)) of_commit.emplace(run.result);
      by_date[run.at] = run.result;
    }
  }
  std::vector<std::string> known;  // the newest first
  for (auto run = by_date.rbegin(); run != by_date.rend(); ++run) known.push_back(run->second);
  if (text.empty() || (named.empty() && of_commit.empty())) refuse(from, text, "is no run", known);
  if (named.size() > 1) refuse(from, text, "begins the ids of several runs", known);
  const std::set<std::string>& found = named.empty() ? of_commit : named;
  return {found.begin(), found.end()};
}

std::string mark_line(std::string_view kind, const HistoryMark& mark) {
  return flat_json(json_object({{"schema", kSchema},
                                {"kind", kind},
                                {"result", mark.result},
                                {"series", json_or_null(mark.series)},
                                {"reason", mark.reason},
                                {"who", json_or_null(mark.who)},
                                {"at", mark.at}})) +
         '\n';
}

std::map<std::string, std::string> members_of(std::string_view object) {
  std::map<std::string, std::string> members;
  each_member(object, [&](std::string_view key, std::string_view value) {
    std::string& text = members[std::string(key)] = value;
    try {
      if (value.front() == '"') text = decoded(value);
    } catch (const Error&) {  // a damaged text stays as it is
    }
  });
  return members;
}

}  // namespace mgpu
