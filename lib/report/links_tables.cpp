#include "lib/report/links_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr const char* kNothing = "-";
constexpr const char* kWrong = "wrong";

// Small sizes are slow: 0.00 would say nothing.
std::string gigabytes(const std::optional<double>& bytes_per_s) {
  if (!bytes_per_s) return kNothing;
  const double value = *bytes_per_s / 1e9;
  return fmt::format("{:.{}f}", value, value > 0 && value < 0.1 ? 4 : 2);
}

std::string microseconds(const std::optional<double>& ns) {
  return ns ? fmt::format("{:.1f}", *ns / 1e3) : kNothing;
}

std::string microseconds(const std::optional<Nanos>& time) {
  return time ? microseconds(std::optional(static_cast<double>(time->count()))) : kNothing;
}

std::string rate_cell(const LinkMoves& moves) {
  return moves.wrong > 0 ? kWrong : gigabytes(rate_of(moves));
}

class LinksText {
 public:
  LinksText(const LinksReport& report, const TableStyle& style) : report_(report), style_(style) {}

  std::string text() {
    paths();
    matrix(LinkTraffic::one_way, true);
    matrix(LinkTraffic::both_ways, true);
    matrix(LinkTraffic::one_way, false);
    matrix(LinkTraffic::both_ways, false);
    at_once();
    latencies();
    collectives();
    if (!hidden_.empty())
      out_ += "\n" + hidden_line(hidden_, "a wider terminal, or --json", style_.width);
    return out_;
  }

 private:
  void title(const std::string& words) {
    out_ += (out_.empty() ? "" : "\n") + wrapped_prose(printable(words) + "\n", style_, 2);
  }
  void draw(std::vector<TextColumn> columns, std::vector<TextRow> rows) {
    out_ += draw_table(std::move(columns), std::move(rows), style_.width, style_.color, hidden_);
  }

  std::vector<std::string> ends() const {
    std::vector<std::string> all{kLinksHost};
    for (const Device& device : report_.devices) all.push_back(device.id);
    return all;
  }

  // Returns the path of all pairs; empty if they differ or there are none.
  std::string one_path() const {
    if (report_.pairs.empty()) return {};
    const PeerPath first = report_.pairs.front().path;
    const bool same = std::all_of(report_.pairs.begin(), report_.pairs.end(),
                                  [&](const LinkPair& pair) { return pair.path == first; });
    return same ? std::string(to_string(first)) : std::string();
  }

  void grid(const std::vector<std::string>& names,
            const std::function<std::string(const std::string&, const std::string&)>& cell) {
    std::vector<TextColumn> columns{{"from", "", false, 0, false}};
    for (const std::string& to : names) columns.push_back({to, "", true, 0, false});
    std::vector<TextRow> rows;
    for (const std::string& from : names) {
      TextRow& row = rows.emplace_back(TextRow{{from}, ""});
      for (const std::string& to : names) row.cells.push_back(cell(from, to));
    }
    draw(std::move(columns), std::move(rows));
  }

  void paths() {
    if (report_.pairs.empty()) return;
    if (const std::string path = one_path(); !path.empty()) {
      title("path between devices: " + path);
    } else {
      title("path between devices, from the row's to the column's");
      std::vector<std::string> names = ends();
      names.erase(names.begin());
      grid(names, [&](const std::string& from, const std::string& to) {
        const auto pair =
            std::find_if(report_.pairs.begin(), report_.pairs.end(),
                         [&](const LinkPair& p) { return p.from == from && p.to == to; });
        return pair == report_.pairs.end() ? std::string(kNothing)
                                           : std::string(to_string(pair->path));
      });
    }
    for (const std::string& note : report_.notes)
      out_ += wrapped_prose(printable(note) + "\n", style_, 2);
  }

  void matrix(LinkTraffic traffic, bool in_use) {
    std::vector<const LinkTransfer*> shown;
    for (const LinkTransfer& transfer : report_.transfers)
      if (transfer.traffic == traffic && transfer.in_use == in_use) shown.push_back(&transfer);
    if (shown.empty()) return;
    const bool one_way = traffic == LinkTraffic::one_way;
    const std::string which = in_use ? "" : ", staged (not in use)";
    title(one_way
              ? fmt::format("one way{}, GB/s: from the row's to the column's, one pair at a time",
                            which)
              : fmt::format("both ways{}, GB/s: the sum of both directions, one pair at a time",
                            which));
    std::vector<std::string> names = ends();
    if (!in_use) names.erase(names.begin());
    grid(names, [&](const std::string& from, const std::string& to) {
      for (const LinkTransfer* transfer : shown) {
        const bool same = transfer->from == from && transfer->to == to,
                   turned = transfer->from == to && transfer->to == from;
        if (same || (!one_way && turned)) return rate_cell(transfer->moves);
      }
      return std::string(kNothing);
    });
  }

  void at_once() {
    if (report_.at_once.empty()) return;
    title(
        "everything at once, GB/s: all together, and of that what each device sent (up, down: what "
        "it moved)");
    std::vector<TextColumn> columns{
        {"what", "", false, 0, false}, {"path", "", false, 0, false}, {"all", "", true, 0, false}};
    for (const Device& device : report_.devices) columns.push_back({device.id, "", true, 1, false});
    std::vector<TextRow> rows;
    for (const LinkAtOnce& row : report_.at_once) {
      std::string what = to_string(row.crowd);
      std::replace(what.begin(), what.end(), '-', ' ');
      TextRow& cells = rows.emplace_back(TextRow{{}, ""});
      cells.cells = {row.in_use ? what : what + " (not in use)",
                     row.path.empty() ? kNothing : row.path, rate_cell(row.moves)};
      for (const Device& device : report_.devices) {
        const auto share = std::find_if(row.devices.begin(), row.devices.end(),
                                        [&](const LinkShare& s) { return s.device == device.id; });
        cells.cells.push_back(share == row.devices.end() ? kNothing
                                                         : gigabytes(rate_of(*share, row.moves)));
      }
    }
    draw(std::move(columns), std::move(rows));
  }

  void latencies() {
    if (report_.latencies.empty()) return;
    title(
        "an exchange of nothing: alone, from the call until it is known to be complete; back to "
        "back, one of many enqueued "
        "together");
    std::vector<TextRow> rows;
    for (const LinkLatency& latency : report_.latencies) {
      const bool pair = latency.devices.size() == 2;
      rows.push_back({{pair ? fmt::format("{}", fmt::join(latency.devices, ", "))
                            : fmt::format("all {}", latency.devices.size()),
                       latency.in_use ? latency.path : latency.path + " (not in use)",
                       microseconds(median_of(latency.alone)),
                       microseconds(queued_ns(latency.queued, latency.queued_calls))},
                      ""});
    }
    draw({{"devices", "", false, 0, false},
          {"path", "", false, 0, false},
          {"alone", "us", true, 0, false},
          {"back to back", "us", true, 0, false}},
         std::move(rows));
  }

  void collectives() {
    const auto same_table = [](const CollectiveRecord& a, const CollectiveRecord& b) {
      return a.op == b.op && a.devices == b.devices;
    };
    for (auto begin = report_.collectives.begin(); begin != report_.collectives.end();) {
      const auto end =
          std::find_if_not(begin, report_.collectives.end(),
                           [&](const CollectiveRecord& r) { return same_table(*begin, r); });
      const std::string formula = fmt::format(
          ": busbw = algbw x {:.4g}, algbw = size / time back to back", begin->bus_factor);
      title(fmt::format("{} on {} device{}{}{}", begin->op, begin->devices.size(),
                        begin->devices.size() == 1 ? "" : "s",
                        begin->path.empty() ? "" : " (" + begin->path + ")",
                        begin->size > 0 ? formula : ""));
      std::vector<TextRow> rows;
      for (auto row = begin; row != end; ++row) {
        rows.push_back(
            {{std::to_string(row->size), std::to_string(row->count), row->element,
              row->reduction.empty() ? "none" : row->reduction, microseconds(median_of(row->alone)),
              microseconds(queued_ns(row->queued, row->queued_calls)),
              gigabytes(algorithm_bandwidth(*row)), gigabytes(bus_bandwidth(*row)),
              std::to_string(row->wrong)},
             ""});
      }
      draw({{"size", "B", true, 0, false},
            {"count", "elements", true, 1, false},
            {"type", "", false, 0, false},
            {"redop", "", false, 0, false},
            {"alone", "us", true, 2, false},
            {"back to back", "us", true, 0, false},
            {"algbw", "GB/s", true, 0, false},
            {"busbw", "GB/s", true, 0, false},
            {"#wrong", "", true, 0, false}},
           std::move(rows));
      begin = end;
    }
  }

  const LinksReport& report_;
  const TableStyle& style_;
  std::string out_;
  std::vector<std::string> hidden_;
};

}  // namespace

std::string links_tables(const LinksReport& report, const TableStyle& style) {
  return LinksText(report, style).text();
}

}  // namespace mgpu
