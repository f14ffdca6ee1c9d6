// Judges devices and links by comparison with others of the same model and driver: siblings in the
// host, other hosts, and their own history. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/report/check.hpp"

namespace mgpu {

struct CheckRules {
  // Differences up to these are ignored. `floor` replaces all of them.
  double device = 0.02, cpu = 0.1, link = 0.05;
  std::optional<double> floor;
  double alpha = 0.01;  // chance of a false alarm anywhere in a check
  // A device is blamed only if it was also slow when it was measured again. False for files, of
  // which nothing can be measured again.
  bool again = true;
  bool whole_machine = true;  // devices of this host in the baseline that are not here are missing
};

// Returns the findings, the worst first; none if nothing is wrong. `known`: earlier checks.
std::vector<CheckFinding> judge(const CheckDocument& document, std::span<const CheckDocument> known,
                                const CheckRules& rules);

// Quantities to measure again: those with a finding that is not final.
struct CheckDoubts {
  std::vector<std::string> rates;
  bool links = false;
  bool any() const { return links || !rates.empty(); }
};
CheckDoubts doubts_of(const CheckDocument& document, std::span<const CheckDocument> known,
                      const CheckRules& rules);

// Measures what is doubtful again, round by round, until nothing is or `is_over` says so, but a few
// rounds in any case.
struct CheckAgain {
  // Adds one value of each of these quantities to every device.
  std::function<void(const std::vector<std::string>& quantities)> rates;
  std::function<void()> links;  // adds values of all links
  std::function<bool()> is_over;
};
void settle_doubts(CheckDocument& document, std::span<const CheckDocument> known,
                   const CheckRules& rules, const CheckAgain& again);

// Sets the findings and the verdict of the document.
void conclude(CheckDocument& document, std::span<const CheckDocument> known,
              const CheckRules& rules);

// Returns what --save writes: the devices and links of `fresh` that nothing was found about, and
// the earlier ones of the file, the last 20 of each.
CheckDocument baseline_with(const std::optional<CheckDocument>& earlier,
                            const CheckDocument& fresh);

struct NamedCheck {
  std::string name;  // of its file
  CheckDocument document;
};
// Judges the newest check of each node by its siblings, the other nodes and its own earlier checks.
CheckDocument merge_checks(std::span<const NamedCheck> files, CheckRules rules);

}  // namespace mgpu
