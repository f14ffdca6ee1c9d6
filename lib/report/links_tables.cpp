#include "lib/report/links_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lib/report/case_name.hpp"
#include "lib/report/scale.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

constexpr const char* kNothing = "-";
constexpr const char* kNotInUse = " (not in use)";

using Runs = std::vector<const RunRecord*>;

std::optional<double> rate_of(Bytes bytes, Nanos time) {
  if (bytes == 0 || time <= Nanos{}) return std::nullopt;
  return static_cast<double>(bytes) / seconds(time);
}

std::optional<double> rate_of(const LinkRecord::Share& share) {
  return rate_of(share.bytes, summarise(share.samples).median);
}

// Returns the rate without the factor of a collective.
std::optional<double> rate_of(const RunRecord& run) {
  return rate_of(run.link->bytes, run.time.median);
}

// Rates in GB/s, all with the decimals that give the smallest three significant digits.
class Gigabytes {
 public:
  explicit Gigabytes(const Runs& runs) {
    double least = 0;
    const auto take = [&](std::optional<double> rate) {
      if (rate && (least == 0 || *rate < least)) least = *rate;
    };
    for (const RunRecord* run : runs) {
      take(rate_of(*run));
      for (const LinkRecord::Share& share : run->link->devices) take(rate_of(share));
    }
    scale_ = rate_scale(least, 1e9);
  }
  std::string text(const std::optional<double>& rate) const {
    return rate ? scale_.format(*rate) : kNothing;
  }
  std::string cell(const RunRecord* run) const {
    if (run && run->status != Status::ok) return "wrong";
    return text(run ? rate_of(*run) : std::nullopt);
  }

 private:
  Scale scale_;
};

std::string microseconds(const RunRecord* run) {
  return run && run->time.n > 0
             ? fmt::format("{:.1f}", static_cast<double>(run->time.median.count()) / 1e3)
             : kNothing;
}

class LinksText {
 public:
  LinksText(const Report& report, const TableStyle& style) : report_(report), style_(style) {
    for (const DeviceRecord& of : report.devices) devices_.push_back(of.device.id);
  }

  std::string text() {
    paths();
    for (const bool in_use : {true, false}) {
      matrix("one_way", in_use, "unidirectional", "row = source, column = destination");
      matrix("both_ways", in_use, "bidirectional", "sum of both directions");
    }
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

  // Returns the cases of links in this mode, on paths that are in use, then on others.
  Runs in_mode(const std::string& mode) const {
    Runs found;
    for (const std::string& name : {mode, mode + "_staged"})
      for (const RunRecord& run : report_.runs)
        if (run.link && run.suite == "links" && to_string(run.mode) == name) found.push_back(&run);
    return found;
  }
  static bool in_use(const RunRecord& run) { return !to_string(run.mode).ends_with("_staged"); }
  static std::string path_of(const RunRecord& run) {
    return (run.link->path.empty() ? kNothing : run.link->path) + (in_use(run) ? "" : kNotInUse);
  }

  // Returns the case that differs from this one in its mode only; null: there is none.
  const RunRecord* like(const RunRecord& run, const std::string& mode) const {
    const auto found =
        std::find_if(report_.runs.begin(), report_.runs.end(), [&](const RunRecord& other) {
          return to_string(other.mode) == mode && other.suite == run.suite &&
                 other.strategy == run.strategy && other.params == run.params &&
                 other.devices == run.devices;
        });
    return found == report_.runs.end() ? nullptr : &*found;
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
    const std::vector<LinkPath>& all = report_.paths;
    if (all.empty()) return;
    const auto differs = [&](const LinkPath& pair) { return pair.path != all.front().path; };
    if (std::none_of(all.begin(), all.end(), differs)) {
      title(fmt::format("path between devices: {}", to_string(all.front().path)));
    } else {
      title("path between devices (row = source, column = destination)");
      grid(devices_, [&](const std::string& from, const std::string& to) {
        const auto pair = std::find_if(all.begin(), all.end(), [&](const LinkPath& p) {
          return p.from == from && p.to == to;
        });
        return std::string(pair == all.end() ? kNothing : to_string(pair->path));
      });
    }
    for (const std::string& note : report_.exchange_notes)
      out_ += wrapped_prose(printable(note) + "\n", style_, 2);
  }

  void matrix(const char* mode, bool used, const char* which, const char* meaning) {
    Runs shown = in_mode(mode);
    std::erase_if(shown, [&](const RunRecord* run) { return in_use(*run) != used; });
    if (shown.empty()) return;
    title(fmt::format("{} bandwidth{}, GB/s ({}), one pair at a time", which,
                      used ? "" : ", staged path" + std::string(kNotInUse), meaning));
    std::vector<std::string> names = devices_;
    if (used) names.insert(names.begin(), kLinksHost);
    const Gigabytes gigabytes(shown);
    const bool both_ways = shown.front()->mode.name.starts_with("both");
    grid(names, [&](const std::string& from, const std::string& to) {
      const auto run = std::find_if(shown.begin(), shown.end(), [&](const RunRecord* of) {
        const LinkRecord& link = *of->link;
        return (link.from == from && link.to == to) ||
               (both_ways && link.from == to && link.to == from);
      });
      return gigabytes.cell(run == shown.end() ? nullptr : *run);
    });
  }

  void at_once() {
    const Runs shown = in_mode("all_at_once");
    if (shown.empty()) return;
    title("all devices at once, GB/s: total and per device");
    std::vector<TextColumn> columns{
        {"what", "", false, 0, false}, {"path", "", false, 0, false}, {"all", "", true, 0, false}};
    for (const std::string& device : devices_) columns.push_back({device, "", true, 1, false});
    std::vector<TextRow> rows;
    const Gigabytes gigabytes(shown);
    for (const RunRecord* run : shown) {
      std::string what = run->strategy;
      std::replace(what.begin(), what.end(), '-', ' ');
      TextRow& row = rows.emplace_back(TextRow{{what, path_of(*run), gigabytes.cell(run)}, ""});
      const std::vector<LinkRecord::Share>& shares = run->link->devices;
      for (const std::string& device : devices_) {
        const auto share = std::find_if(shares.begin(), shares.end(),
                                        [&](const auto& of) { return of.device == device; });
        row.cells.push_back(share == shares.end() ? kNothing : gigabytes.text(rate_of(*share)));
      }
    }
    draw(std::move(columns), std::move(rows));
  }

  void latencies() {
    const Runs shown = in_mode("latency_isolated");
    if (shown.empty()) return;
    title(
        "zero-byte exchange latency: isolated (from call to completion), back to back (average of "
        "many calls enqueued together)");
    std::vector<TextRow> rows;
    for (const RunRecord* run : shown) {
      const std::string queued =
          in_use(*run) ? "latency_back_to_back" : "latency_back_to_back_staged";
      rows.push_back({{run->devices.size() == 2 ? fmt::format("{}", fmt::join(run->devices, ", "))
                                                : fmt::format("all {}", run->devices.size()),
                       path_of(*run), microseconds(run), microseconds(like(*run, queued))},
                      ""});
    }
    draw({{"devices", "", false, 0, false},
          {"path", "", false, 0, false},
          {"isolated", "us", true, 0, false},
          {"back to back", "us", true, 0, false}},
         std::move(rows));
  }

  void collectives() {
    Runs all;
    for (const RunRecord& run : report_.runs)
      if (run.link && to_string(run.mode) == "back_to_back") all.push_back(&run);
    for (auto begin = all.begin(); begin != all.end();) {
      const auto end = std::find_if(begin, all.end(), [&](const RunRecord* run) {
        return run->suite != (*begin)->suite || run->devices != (*begin)->devices;
      });
      collective({begin, end});
      begin = end;
    }
  }

  // Draws the table of one collective on one set of devices.
  void collective(const Runs& runs) {
    const RunRecord& first = *runs.front();
    const LinkRecord& link = *first.link;
    title(fmt::format(
        "{} on {} device{}{}{}", first.suite, first.devices.size(),
        first.devices.size() == 1 ? "" : "s", link.path.empty() ? "" : " (" + link.path + ")",
        link.bytes > 0 ? fmt::format(": busbw = algbw x {:.4g}, algbw = size / time back to back",
                                     first.work.ops / static_cast<double>(link.bytes))
                       : ""));
    std::vector<TextRow> rows;
    const Gigabytes gigabytes(runs);
    const auto word = [](const RunRecord& run, const char* name) {
      const auto value = run.params.find(name);
      return value == run.params.end() ? "none" : param_text(value->second);
    };
    const bool compared = std::any_of(runs.begin(), runs.end(), [](const RunRecord* run) {
      return run->link->nccl_tests > Nanos{};
    });
    for (const RunRecord* run : runs) {
      rows.push_back(
          {{std::to_string(run->link->bytes), std::to_string(run->work.items), word(*run, "type"),
            word(*run, "redop"), microseconds(like(*run, "isolated")), microseconds(run),
            gigabytes.text(rate_of(*run)),
            gigabytes.text(rate_of(*run) ? std::optional(run->rate) : std::nullopt),
            std::to_string(run->link->steps), std::to_string(run->link->sent),
            std::to_string(run->link->wrong)},
           ""});
      if (!compared) continue;
      const auto theirs = static_cast<double>(run->link->nccl_tests.count());
      const bool both = theirs > 0 && run->time.n > 0;
      rows.back().cells.push_back(theirs > 0 ? fmt::format("{:.1f}", theirs / 1e3) : kNothing);
      rows.back().cells.push_back(
          both ? fmt::format("{:.2f}", theirs / static_cast<double>(run->time.median.count()))
               : kNothing);
    }
    std::vector<TextColumn> columns{
        {"size", "B", true, 0, false},      {"count", "elements", true, 3, false},
        {"type", "", false, 0, false},      {"redop", "", false, 0, false},
        {"isolated", "us", true, 4, false}, {"back to back", "us", true, 0, false},
        {"algbw", "GB/s", true, 0, false},  {"busbw", "GB/s", true, 0, false},
        {"steps", "", true, 2, false},      {"sent", "B", true, 1, false},
        {"#wrong", "", true, 0, false}};
    if (compared) {
      columns.push_back({"nccl-tests", "us", true, 0, false});
      columns.push_back({"gain", "x", true, 0, false});
    }
    draw(std::move(columns), std::move(rows));
  }

  const Report& report_;
  const TableStyle& style_;
  std::vector<std::string> devices_;
  std::string out_;
  std::vector<std::string> hidden_;
};

}  // namespace

std::string links_tables(const Report& report, const TableStyle& style) {
  return LinksText(report, style).text();
}

}  // namespace mgpu
