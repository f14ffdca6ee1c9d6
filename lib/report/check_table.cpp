// Prints the table and the verdict of a check.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/add_once.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/stats.hpp"
#include "lib/report/check.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

constexpr const char* kNoFigure = "-";

std::string rate_cell(const CheckedDevice& device, const CheckRate& rate) {
  for (const CheckValues& values : device.rates)
    if (values.quantity == rate.quantity && !values.values.empty())
      return format_si(median(values.values));
  return kNoFigure;
}

std::string works_cell(const CheckedDevice& device) {
  std::uint64_t runs = 0;
  bool agree = true;
  for (const CheckedWork& work : device.works) {
    agree &= work.digests.size() == 1;
    for (const CheckedWork::Digest& one : work.digests) runs += one.runs;
  }
  return runs == 0 ? kNoFigure : fmt::format("{}{}", runs, agree ? "" : " !");
}

// Returns the word of the worst finding about the device.
const char* verdict_of(const CheckDocument& document, const CheckedDevice& device) {
  CheckVerdict worst = CheckVerdict::ok;
  for (const CheckFinding& finding : document.findings)
    if (finding.device == device.id && finding.host == device.host)
      worst = std::max(worst, finding.verdict);
  return to_string(worst);
}

std::string devices_part(const CheckDocument& document, bool hosts, const TableStyle& style,
                         std::vector<std::string>& hidden) {
  std::vector<TextColumn> columns{{"device", "", false}, {"verdict", "", false}};
  if (hosts) columns.insert(columns.begin(), {"host", "", false, 30, true});
  for (const CheckRate& rate : kCheckRates) {
    const bool of_memory = rate.figure == &Capability::memory_bytes_per_s;
    columns.push_back({of_memory ? "memory" : rate.quantity, rate.unit, true});
  }
  columns.push_back({"results", "runs", true});
  columns.push_back({"tested", "", true, 20});
  std::vector<TextRow> rows;
  for (const CheckedDevice& device : document.devices) {
    TextRow row{{device.label, verdict_of(document, device)}, ""};
    if (hosts) row.cells.insert(row.cells.begin(), device.host);
    for (const CheckRate& rate : kCheckRates) row.cells.push_back(rate_cell(device, rate));
    row.cells.push_back(works_cell(device));
    row.cells.push_back(device.memory ? format_bytes(static_cast<double>(device.memory->bytes))
                                      : kNoFigure);
    rows.push_back(std::move(row));
  }
  return draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
}

// Returns a matrix of the links between pairs of devices, or a line per link of another quantity.
std::string links_part(const CheckDocument& document, const std::string& quantity,
                       const TableStyle& style, std::vector<std::string>& hidden) {
  std::vector<std::string> from, to;
  std::string lines;
  for (const CheckedLink& link : document.links) {
    if (link.rate.quantity != quantity || link.rate.values.empty()) continue;
    if (link.from.empty()) {
      lines += fmt::format("{}: {}B/s\n", printable(quantity), format_si(median(link.rate.values)));
      continue;
    }
    add_once(from, link.from);
    add_once(to, link.to);
  }
  if (from.empty()) return lines;
  const auto by_rank = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  std::sort(from.begin(), from.end(), by_rank);
  std::sort(to.begin(), to.end(), by_rank);
  std::vector<TextColumn> columns{{"GB/s", "", false}};
  for (const std::string& name : to) columns.push_back({name, "", true, 10});
  std::vector<TextRow> rows;
  for (const std::string& row : from) {
    TextRow& cells = rows.emplace_back(TextRow{{row}, ""});
    for (const std::string& column : to) {
      std::string cell = kNoFigure;
      for (const CheckedLink& link : document.links)
        if (link.rate.quantity == quantity && link.from == row && link.to == column &&
            !link.rate.values.empty())
          cell = fmt::format("{:.1f}", median(link.rate.values) / 1e9);
      cells.cells.push_back(std::move(cell));
    }
  }
  return lines + "\n" + printable(quantity) + "\n" +
         draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
}

std::string names_of(const CheckDocument& document) {
  std::vector<std::string> names;
  for (const CheckedDevice& device : document.devices) add_once(names, device.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string check_table(const CheckDocument& document, const TableStyle& style) {
  std::vector<std::string> hosts, quantities, hidden;
  for (const CheckedDevice& device : document.devices) add_once(hosts, device.host);
  for (const CheckedLink& link : document.links) add_once(quantities, link.rate.quantity);
  std::string text = printable(names_of(document)) + "\n";
  text += devices_part(document, hosts.size() > 1, style, hidden);
  std::string links;
  // Links of several hosts do not fit into one matrix.
  for (const std::string& quantity : quantities)
    if (hosts.size() < 2) links += links_part(document, quantity, style, hidden);
  text += links + hidden_line(hidden, "a wider terminal, or --json", style.width) + "\n";
  for (const CheckFinding& finding : document.findings) {
    const std::string where = hosts.size() > 1 ? finding.host + ": " : "";
    text += wrapped_prose(printable("check: " + where + finding.text) + "\n", style, 2);
  }
  const std::size_t count = document.devices.size();
  text += fmt::format("check: {}: {} {}", to_string(document.verdict), count,
                      count == 1 ? "device" : "devices");
  return text + (document.took > Nanos{} ? " in " + format_duration(document.took) : "") + "\n";
}

}  // namespace mgpu
