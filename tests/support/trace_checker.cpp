// Rules to which trace importers hold files: those whose breach Perfetto counts as an import error,
// and those for which Tracy and speedscope throw. Sources: Perfetto's json_trace_parser.cc and
// slice_tracker.cc, Tracy's import-chrome.cpp.
#include "tests/support/trace_checker.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "lib/report/json_file.hpp"

namespace mgpu::test {

namespace {

using TraceJson = nlohmann::ordered_json;

// Latest valid time. Beyond 2^41 us a double steps by more than half a nanosecond: such times were
// not counted from the beginning of the run.
constexpr double kLatest = 2199023255552.0;
constexpr std::size_t kMostBreaches = 100;

struct Span {  // a complete event in nanoseconds, and its position in the file
  std::int64_t begin = 0, end = 0;
  std::size_t index = 0;
};

struct Thread {
  std::vector<Span> spans;
  std::vector<std::int64_t> latest_end;  // latest end among spans[0..k], once sorted
};

struct FlowEnd {
  std::uint32_t tid = 0;
  std::int64_t at = 0;
  std::size_t index = 0;
};

using FlowId = std::tuple<std::string, std::string, std::string>;  // cat, name, id

class Checker {
 public:
  std::vector<std::string> check(const TraceJson& events) {
    for (index_ = 0; index_ < events.size(); ++index_) event(events[index_]);
    nesting();
    flows();
    if (left_out_ > 0) breaches_.push_back("and " + std::to_string(left_out_) + " more");
    return std::move(breaches_);
  }

 private:
  void breach(std::size_t index, const std::string& what) {
    if (breaches_.size() < kMostBreaches)
      breaches_.push_back("event " + std::to_string(index) + ": " + what);
    else
      ++left_out_;
  }
  void breach(const std::string& what) { breach(index_, what); }

  void event(const TraceJson& e) {
    if (!e.is_object()) return breach("is not an object");
    const auto ph = e.find("ph");
    if (ph == e.end() || !ph->is_string() || ph->get_ref<const std::string&>().size() != 1)
      return breach("ph is not one character");
    const char kind = ph->get_ref<const std::string&>()[0];
    if (std::string_view("MXCsfibe").find(kind) == std::string_view::npos)
      return breach(std::string("ph \"") + kind + "\" is none of M X C s f i b e");
    if (e.contains("args") && !e["args"].is_object()) return breach("args is not an object");
    const std::string name = text(e, "name");
    if (name.empty()) breach("name is missing, empty or not a string");
    const auto pid = id(e, "pid"), tid = id(e, "tid");
    if (!pid || (!tid && kind != 'C')) return;
    if (tid) {
      const auto [known, fresh] = process_of_.emplace(*tid, *pid);
      if (!fresh && known->second != *pid)
        breach("tid " + std::to_string(*tid) + " belongs to another pid already");
    }
    if (kind == 'M') return metadata(e, name);
    const auto ts = time(e, "ts");
    if (!ts) return;
    if (kind == 'X') complete(e, *tid, *ts);
    if (kind == 'C') counter(e, *pid);
    if (kind == 'i') instant(e);
    if (kind == 's' || kind == 'f') flow(e, kind, name, {*tid, *ts, index_});
  }

  static std::string text(const TraceJson& e, const char* key) {
    const auto found = e.find(key);
    return found != e.end() && found->is_string() ? found->get<std::string>() : std::string();
  }

  // Returns pid or tid. They must be JSON integers in 1 .. 2^32-1: strings throw in Tracy, and 0
  // and larger values are not kept distinct by Perfetto.
  std::optional<std::uint32_t> id(const TraceJson& e, const char* key) {
    const auto found = e.find(key);
    if (found == e.end() && *key == 't' && e["ph"] == "C")
      return std::nullopt;  // counters belong to a process
    if (found == e.end() || !found->is_number_unsigned() || *found == 0u ||
        found->get<std::uint64_t>() > 0xffffffffull) {
      breach(std::string(key) + " is not an integer from 1 to 2^32-1");
      return std::nullopt;
    }
    return found->get<std::uint32_t>();
  }

  std::optional<std::int64_t> time(const TraceJson& e, const char* key) {
    const auto found = e.find(key);
    if (found == e.end() || !found->is_number())
      return breach(std::string(key) + " is not a number"), std::nullopt;
    const double us = found->get<double>();
    if (us < 0) return breach(std::string(key) + " is negative"), std::nullopt;
    if (!(us < kLatest))
      return breach(std::string(key) + " is too large to hold nanoseconds: not zero-based"),
             std::nullopt;
    return std::llround(us * 1000);
  }

  void metadata(const TraceJson& e, const std::string& name) {
    const TraceJson args = e.value("args", TraceJson::object());
    if (name == "process_name" || name == "thread_name") {
      if (text(args, "name").empty()) breach(name + " is empty or not a string");
    } else if (name == "process_sort_index" || name == "thread_sort_index") {
      const auto index = args.find("sort_index");
      if (index == args.end() || !index->is_number()) breach("sort_index is not a number");
    }
  }

  void complete(const TraceJson& e, std::uint32_t tid, std::int64_t ts) {
    const auto dur = time(e, "dur");
    if (dur) threads_[tid].spans.push_back({ts, ts + *dur, index_});
  }

  void counter(const TraceJson& e, std::uint32_t pid) {
    const TraceJson args = e.value("args", TraceJson::object());
    if (args.empty()) breach("a counter without a series");
    for (const auto& [series, value] : args.items()) {
      if (!value.is_number()) breach("counter \"" + series + "\" is not a number");
      const auto [known, fresh] = process_of_series_.emplace(series, pid);
      if (!fresh && known->second != pid)
        breach("series \"" + series + "\" belongs to another pid already");
    }
  }

  // Checks an instant event. Without a scope it is the thread's; an unknown letter is counted as an
  // error and the event is dropped.
  void instant(const TraceJson& e) {
    const auto scope = e.find("s");
    if (scope != e.end() && *scope != "t" && *scope != "p" && *scope != "g")
      breach("an instant's s is none of t p g");
  }

  void flow(const TraceJson& e, char kind, const std::string& name, const FlowEnd& end) {
    const auto id = e.find("id");
    std::string key;
    if (id != e.end() && id->is_number_integer())
      key = std::to_string(id->get<std::int64_t>());
    else if (id != e.end() && id->is_string())
      key = hexadecimal(id->get<std::string>());
    if (key.empty()) return breach("flow id is neither an integer nor a hexadecimal string");
    const FlowId flow_id{text(e, "cat"), name, key};
    if (kind == 's') {
      if (!starts_.emplace(flow_id, end).second) breach("flow id " + key + " is used twice");
      return;
    }
    if (text(e, "bp") != "e")
      breach("a flow end without bp \"e\" binds to the next slice, not to this one");
    ends_.emplace_back(flow_id, end);
  }

  static std::string hexadecimal(std::string text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.erase(0, 2);
    if (text.empty() || text.size() > 16 ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      return {};
    return std::to_string(std::stoull(text, nullptr, 16));
  }

  void nesting() {
    for (auto& [tid, thread] : threads_) {
      // Sorts outer spans before inner ones, and equal ones in the file's order.
      std::stable_sort(thread.spans.begin(), thread.spans.end(), [](const Span& a, const Span& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
      std::vector<Span> open;
      std::int64_t latest = 0;
      for (const Span& s : thread.spans) {
        while (!open.empty() && open.back().end <= s.begin) open.pop_back();
        if (!open.empty() && s.end > open.back().end)
          breach(s.index, "overlaps event " + std::to_string(open.back().index) + " on tid " +
                              std::to_string(tid) + " without nesting");
        open.push_back(s);
        latest = std::max(latest, s.end);
        thread.latest_end.push_back(latest);
      }
    }
  }

  // Returns true if a slice is open on the thread at that time, among those that stand before it in
  // the file or begin earlier.
  bool enclosed(const FlowEnd& end) const {
    const auto found = threads_.find(end.tid);
    if (found == threads_.end()) return false;
    const auto& spans = found->second.spans;
    auto after = std::upper_bound(spans.begin(), spans.end(), end.at,
                                  [](std::int64_t t, const Span& s) { return t < s.begin; });
    // Importers sort by time and keep the file's order at equal times: a slice that begins at the
    // arrow's time must stand before the arrow.
    while (after != spans.begin() && std::prev(after)->begin == end.at &&
           std::prev(after)->index > end.index)
      --after;
    if (after == spans.begin()) return false;
    return found->second.latest_end[static_cast<std::size_t>(after - spans.begin()) - 1] > end.at;
  }

  void flows() {
    std::set<FlowId> ended;
    for (const auto& [flow_id, end] : ends_) {
      ended.insert(flow_id);
      const auto start = starts_.find(flow_id);
      if (start == starts_.end())
        breach(end.index, "a flow end without a start");
      else if (end.at < start->second.at)
        breach(end.index, "a flow end before its start");
      if (!enclosed(end)) breach(end.index, "a flow end outside any slice");
    }
    for (const auto& [flow_id, start] : starts_) {
      if (!ended.contains(flow_id)) breach(start.index, "a flow start without an end");
      if (!enclosed(start)) breach(start.index, "a flow start outside any slice");
    }
  }

  std::size_t index_ = 0, left_out_ = 0;
  std::vector<std::string> breaches_;
  std::map<std::uint32_t, std::uint32_t> process_of_;
  std::map<std::string, std::uint32_t> process_of_series_;
  std::map<std::uint32_t, Thread> threads_;
  std::map<FlowId, FlowEnd> starts_;
  std::vector<std::pair<FlowId, FlowEnd>> ends_;
};

}  // namespace

std::vector<std::string> check_chrome_trace(std::string_view text) {
  TraceJson trace;
  try {
    trace = parse_json(text);
  } catch (const Error& error) {
    return {error.what()};
  }
  if (trace.is_array()) return Checker().check(trace);
  if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array())
    return {"neither a list of events nor an object with a list \"traceEvents\""};
  return Checker().check(trace["traceEvents"]);
}

}  // namespace mgpu::test
