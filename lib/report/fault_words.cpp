#include "lib/report/fault_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/add_once.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/scale.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

std::string grouped(Items n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

namespace {

std::string spaced(std::string word) {
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

// Returns 1st, 2nd, 3rd, 11th.
std::string ordinal(std::size_t n) {
  const std::size_t last = n % 100 / 10 == 1 ? 0 : n % 10;
  return std::to_string(n) + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

const InvalidatedSample* sample_of(const Fault& fault, const RunRecord* run) {
  return run != nullptr && fault.sample && *fault.sample < run->invalidated.size()
             ? &run->invalidated[*fault.sample]
             : nullptr;
}

std::string which_sample(const Fault& fault, const RunRecord* run) {
  const InvalidatedSample* sample = sample_of(fault, run);
  if (sample == nullptr || !sample->samples_before) return "a sample";
  std::size_t number = *sample->samples_before + 1;  // invalidated samples before it count too
  for (std::size_t k = 0; k < *fault.sample; ++k)
    number += run->invalidated[k].samples_before <= sample->samples_before;
  return fmt::format("the {} sample", ordinal(number));
}

std::string where(const Fault& fault, const RunRecord* run) {
  if (fault.phase == "sample") return "in " + which_sample(fault, run);
  if (fault.phase == "merge") return "in the merge of " + which_sample(fault, run);
  if (fault.phase == "set_up") return "at set-up";
  if (fault.phase == "warm_up") return "in the warm-up";
  if (fault.phase == "probe") return "while rates were probed";
  if (fault.phase == "publish") return "when the result was brought to the host";
  if (fault.phase == "verify") return "when results were verified";
  if (fault.phase == "clock") return "when its clock was compared with the host's";
  return "at: " + spaced(fault.phase);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string efficiency_words(const Fault& fault) {
  const auto known = [](const std::optional<double>& v) { return v && std::isfinite(*v); };
  if (!known(fault.efficiency_before) || !known(fault.efficiency_after)) return "";
  return fmt::format(" Efficiency was {} before and is {} with the devices that were left.",
                     percent(*fault.efficiency_before), percent(*fault.efficiency_after));
}

std::string items_words(const Fault& fault) {
  if (fault.items_lost == 0) return "";
  const std::string took = fault.recovery ? ", which took " + format_duration(*fault.recovery) : "";
  const bool one = fault.items_lost == 1;
  if (fault.items_redone == 0)
    return fmt::format("; {} item{} lost with it", grouped(fault.items_lost),
                       one ? " was" : "s were");
  if (fault.items_redone >= fault.items_lost)
    return fmt::format("; its {} item{} computed again by the others{}", grouped(fault.items_lost),
                       one ? " was" : "s were", took);
  return fmt::format("; {} of its {} items were computed again by the others{}",
                     grouped(fault.items_redone), grouped(fault.items_lost), took);
}

std::string rounds_words(const Fault& fault) {
  if (!fault.restarted) return "";
  const auto& [round, after] = *fault.restarted;
  const std::string from = round == 0
                               ? "from the beginning"
                               : fmt::format("from the checkpoint after round {}", grouped(round));
  const std::string again =
      fault.round && *fault.round > round
          ? fmt::format(", so that {} rounds were done again", grouped(*fault.round - round))
          : "";
  return fmt::format("; the sample was begun again {}, {} later{}", from, format_duration(after),
                     again);
}

std::string when_cell(const Fault& fault, const RunRecord* run) {
  std::string text = sample_of(fault, run) != nullptr ? which_sample(fault, run) : "";
  if (text.starts_with("the ")) text.erase(0, 4);
  if (fault.at) text += (text.empty() ? "" : ", ") + format_duration(*fault.at);
  return text.empty() ? "-" : text;
}

std::string duration_cell(const std::optional<Nanos>& t) { return t ? format_duration(*t) : "-"; }

std::string efficiency_cell(const Fault& fault) {
  if (!fault.efficiency_before && !fault.efficiency_after) return "-";
  return number_cell(fault.efficiency_before, 1, 100) + " -> " +
         number_cell(fault.efficiency_after, 1, 100);
}

TextRow fault_row(const Fault& fault, const RunRecord* run) {
  const std::string redone =
      fault.items_redone < fault.items_lost ? fmt::format(" ({} redone)", fault.items_redone) : "";
  return {{run != nullptr ? run->suite + ' ' + strategy_label(*run) : "-", fault.device,
           spaced(fault.kind), spaced(fault.phase), when_cell(fault, run),
           duration_cell(fault.detection), std::to_string(fault.items_lost) + redone,
           duration_cell(fault.recovery), efficiency_cell(fault), fault.what}};
}

}  // namespace

std::string what_happened(const Fault& fault) {
  const char* verb = fault.kind == "hang"            ? "hung"
                     : fault.kind == "out_of_memory" ? "ran out of memory"
                     : fault.kind == "wrong_result"  ? "gave a wrong result"
                                                     : "failed";
  return fmt::format("device {} {}", fault.device, verb);
}

std::string devices_text(const RunRecord& run) {
  const std::size_t asked = asked_for(run);
  return asked > run.devices.size() ? fmt::format("{} of {}", run.devices.size(), asked)
                                    : std::to_string(run.devices.size());
}

std::vector<std::string> fault_notes(const RunRecord& run) {
  std::vector<std::string> notes;
  for (const Fault& fault : run.faults) add_once(notes, what_happened(fault));
  if (const std::size_t n = run.invalidated.size(); n > 0)
    notes.push_back(n == 1 ? "1 sample that a fault disturbed is not counted"
                           : fmt::format("{} samples that faults disturbed are not counted", n));
  if (asked_for(run) > run.devices.size())
    notes.push_back(fmt::format("measured on {} devices", devices_text(run)));
  for (const PerDevice& p : run.per_device)
    if (!p.parts.unknown.empty())
      notes.push_back(fmt::format("where the time of device {} went is not known: {}", p.device,
                                  p.parts.unknown));
  return notes;
}

std::string other_load_words(std::span<const double> shares) {
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  const auto percent = [](double share) { return std::round(share * 10) * 10; };
  if (percent(*least) == percent(*most))
    return fmt::format("other programs used about {:.0f} % of the cores", percent(*most));
  return fmt::format("other programs used {:.0f}-{:.0f} % of the cores", percent(*least),
                     percent(*most));
}

std::optional<double> other_load_in(const std::string& warning) {
  constexpr int kSteps = 10;  // loads are rounded to tenths
  for (int step = 0; step <= kSteps; ++step) {
    const double share = static_cast<double>(step) / kSteps;
    if (warning == other_load_words(std::span(&share, 1))) return share;
  }
  return std::nullopt;
}

bool is_inapplicable(const RunRecord& run) {
  return run.status == Status::unsupported && run.reason &&
         run.reason->starts_with("not applicable");
}

std::string fault_sentence(const Fault& fault, const RunRecord* run) {
  std::string text = fmt::format("{} {}", what_happened(fault), where(fault, run));
  if (fault.round) text += fmt::format(", in round {}", grouped(*fault.round + 1));
  if (!fault.what.empty()) text += fmt::format(" ({})", fault.what);
  if (fault.detection)
    text += fmt::format(", which was found after {}", format_duration(*fault.detection));
  text += items_words(fault) + rounds_words(fault);
  if (const InvalidatedSample* sample = sample_of(fault, run))
    text += sample->reason.empty() ? "; this sample is not part of the figures"
                                   : fmt::format("; this sample has no result: {}", sample->reason);
  return text + '.' + efficiency_words(fault);
}

std::string fault_table(const Report& report, const TableStyle& style) {
  std::vector<TextRow> rows;
  for (const Fault& fault : report.faults) rows.push_back(fault_row(fault, nullptr));
  for (const RunRecord& run : report.runs)
    for (const Fault& fault : run.faults) rows.push_back(fault_row(fault, &run));
  if (rows.empty()) return "";
  std::vector<TextColumn> columns = {
      {"case", "", false, 45, true},        {"device", "", false, 0, false},
      {"kind", "", false, 0, false},        {"phase", "", false, 60, false},
      {"when", "", false, 30, false},       {"found after", "", true, 50, false},
      {"items lost", "", true, 70, false},  {"recovery", "", true, 65, false},
      {"efficiency", "%", true, 40, false}, {"message", "", false, 0, true}};
  std::vector<std::string> hidden;
  const std::string table =
      draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
  return "Faults\n" + table + hidden_line(hidden, "the result file has them", style.width);
}

}  // namespace mgpu
