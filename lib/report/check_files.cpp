// Documents of several checks as one: a baseline that grows, and the nodes of a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/report/check_judgement.hpp"

namespace mgpu {
namespace {

// Earlier checks of a device, or of a link, that a baseline keeps.
constexpr std::size_t kMostEarlier = 20;

bool is_good(const CheckDocument& document, const CheckedDevice& device) {
  return std::none_of(document.findings.begin(), document.findings.end(),
                      [&](const CheckFinding& finding) {
                        return finding.device == device.id && finding.host == device.host;
                      });
}

// Removes the first of those that are alike, except the last few.
template <typename T, typename Key>
void keep_newest(std::vector<T>& all, const Key& key) {
  std::map<std::string, std::size_t> left;
  for (const T& one : all) ++left[key(one)];
  std::erase_if(all, [&](const T& one) {
    std::size_t& count = left[key(one)];
    return count > kMostEarlier && count-- > 0;
  });
}

bool shares_a_device(const CheckDocument& a, const CheckDocument& b) {
  return a.host == b.host &&
         std::any_of(a.devices.begin(), a.devices.end(), [&](const CheckedDevice& one) {
           return std::any_of(b.devices.begin(), b.devices.end(), [&](const CheckedDevice& other) {
             return one.identity == other.identity;
           });
         });
}

// Returns a document per host and check.
std::vector<CheckDocument> each_check(const CheckDocument& document) {
  std::vector<CheckDocument> all;
  for (const CheckedDevice& device : document.devices) {
    auto at = std::find_if(all.begin(), all.end(), [&](const CheckDocument& one) {
      return one.host == device.host && one.started == device.started;
    });
    if (at == all.end()) {
      at = all.insert(at, CheckDocument{});
      at->tool = document.tool;
      at->host = device.host;
      at->started = device.started;
    }
    at->devices.push_back(device);
  }
  // A file of a single check says which host its links are of.
  for (CheckDocument& one : all)
    if (all.size() == 1) one.links = document.links;
  return all;
}

}  // namespace

CheckDocument baseline_with(const std::optional<CheckDocument>& earlier,
                            const CheckDocument& fresh) {
  CheckDocument all = earlier.value_or(CheckDocument{});
  all.tool = fresh.tool;
  all.host = fresh.host;
  all.started = fresh.started;
  all.budget = fresh.budget;
  all.took = fresh.took;
  all.findings.clear();
  all.warnings.clear();
  for (const CheckedDevice& device : fresh.devices)
    if (is_good(fresh, device)) all.devices.push_back(device);
  const bool links_good =
      std::none_of(fresh.findings.begin(), fresh.findings.end(),
                   [](const CheckFinding& finding) { return finding.device.empty(); });
  if (links_good) all.links.insert(all.links.end(), fresh.links.begin(), fresh.links.end());
  keep_newest(all.devices, [](const CheckedDevice& device) {
    return fmt::format("{}\n{}\n{}", device.host, device.identity, device.driver);
  });
  keep_newest(all.links, [](const CheckedLink& link) {
    return fmt::format("{}\n{}\n{}\n{}\n{}", link.host, link.from, link.to, link.models,
                       link.rate.quantity);
  });
  return all;
}

CheckDocument merge_checks(std::span<const NamedCheck> files, CheckRules rules) {
  rules.again = rules.whole_machine = false;
  std::vector<NamedCheck> checks;
  for (const NamedCheck& file : files)
    for (CheckDocument& one : each_check(file.document)) checks.push_back({file.name, one});
  std::stable_sort(checks.begin(), checks.end(), [](const NamedCheck& a, const NamedCheck& b) {
    return a.document.started > b.document.started;
  });
  CheckDocument merged;
  std::vector<CheckDocument> newest;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const CheckDocument& mine = checks[i].document;
    const auto same_node = [&](const CheckDocument& other) { return shares_a_device(mine, other); };
    if (std::any_of(newest.begin(), newest.end(), same_node)) continue;
    newest.push_back(mine);
    names.push_back(checks[i].name);
  }
  for (std::size_t i = 0; i < newest.size(); ++i) {
    CheckDocument& mine = newest[i];
    std::vector<CheckDocument> known;
    for (const NamedCheck& other : checks)
      if (other.document.host != mine.host || other.document.started != mine.started ||
          !shares_a_device(mine, other.document))
        known.push_back(other.document);
    conclude(mine, known, rules);
    const bool ambiguous = std::count_if(newest.begin(), newest.end(), [&](const auto& other) {
                             return other.host == mine.host;
                           }) > 1;
    const std::string host = ambiguous ? fmt::format("{} ({})", mine.host, names[i]) : mine.host;
    for (CheckedDevice& device : mine.devices) device.host = host;
    for (CheckedLink& link : mine.links) link.host = host;
    for (CheckFinding& finding : mine.findings) finding.host = host;
    merged.verdict = std::max(merged.verdict, mine.verdict);
    merged.devices.insert(merged.devices.end(), mine.devices.begin(), mine.devices.end());
    merged.links.insert(merged.links.end(), mine.links.begin(), mine.links.end());
    merged.findings.insert(merged.findings.end(), mine.findings.begin(), mine.findings.end());
  }
  std::stable_sort(
      merged.findings.begin(), merged.findings.end(),
      [](const CheckFinding& a, const CheckFinding& b) { return a.verdict > b.verdict; });
  return merged;
}

}  // namespace mgpu
