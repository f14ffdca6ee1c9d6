#include "lib/report/check_judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "lib/base/add_once.hpp"
#include "lib/base/stats.hpp"
#include "lib/report/check_statistics.hpp"

namespace mgpu {

const char* to_string(CheckVerdict verdict) {
  constexpr const char* kWords[] = {"ok",      "cannot tell", "limited", "slow",
                                    "missing", "failed",      "hung",    "wrong"};
  return kWords[static_cast<std::size_t>(verdict)];
}

namespace {

// If more than one in so many links are slower, it is for the topology of the machine.
constexpr std::size_t kTopology = 3;

bool can_be_judged(const CheckedDevice& device) { return device.failed.empty(); }

const CheckValues* rates_of(const CheckedDevice& device, const std::string& quantity) {
  for (const CheckValues& rate : device.rates)
    if (rate.quantity == quantity && !rate.values.empty()) return &rate;
  return nullptr;
}

std::string model_key(const CheckedDevice& device) { return device.name + '\n' + device.driver; }

bool is_earlier_of(const CheckedDevice& known, const CheckedDevice& device) {
  return known.host == device.host && known.identity == device.identity;
}

// Rounds of measuring again, and of them those of links, which have several values per round.
constexpr std::size_t kLeastAgain = 3, kMostAgain = 48, kLinksAgain = 4;
// Fewest values of a second measurement that confirm the first.
constexpr std::size_t kLeastSecond = 3;

enum class Decision {
  fine,
  noise,     // seems slower, but that may be noise
  doubtful,  // is slower, but perhaps not by the floor, or was not measured again
  slow
};

// A device is compared with its siblings, with others of its model, and with itself earlier.
constexpr std::size_t kWaysToCompare = 3;

struct ComparedRate {
  TrimmedMean mine, others;   // of logarithms
  std::vector<double> again;  // logarithms of the second measurement
  double floor = 0;           // smaller differences do not matter
  double spread = 0;          // equal things differ by so much
};

std::string in_percent(const Slowness& found) {
  return fmt::format("{:.1f}..{:.1f} %", found.low * 100, found.high * 100);
}

std::string one_or_several(std::size_t count, const char* one, const char* several) {
  return count == 1 ? one : fmt::format("{} {}", count, several);
}

class Judge {
 public:
  Judge(const CheckDocument& document, std::span<const CheckDocument> known,
        const CheckRules& rules)
      : document_(document),
        known_(known),
        rules_(rules),
        quantiles_(rules.alpha / static_cast<double>(comparisons(document))) {}

  void run() {
    faults();
    ecc_errors();
    for (const std::vector<const CheckedDevice*>& group : groups()) {
      for (const std::string& quantity : quantities(group)) rates(group, quantity);
      settings(group);
      works(group);
    }
    links();
    load();
    if (rules_.whole_machine) missing();
    std::stable_sort(
        findings.begin(), findings.end(),
        [](const CheckFinding& a, const CheckFinding& b) { return a.verdict > b.verdict; });
    say_once();
  }

  std::vector<CheckFinding> findings;
  CheckDoubts doubts;

 private:
  using Group = std::vector<const CheckedDevice*>;

  static std::size_t comparisons(const CheckDocument& document) {
    std::size_t count = document.links.size();
    for (const CheckedDevice& device : document.devices) count += device.rates.size();
    return std::max<std::size_t>(1, count) * kWaysToCompare;
  }

  Decision decide(const ComparedRate& of, Slowness& found) {
    found = slowness_of(of.mine, of.others, quantiles_);
    const double floor = std::max(of.floor, of.spread);
    if (found.slower <= of.floor) return Decision::fine;
    // More measurements also tell more about the spread.
    if (found.slower <= floor) return Decision::noise;
    // Chance does not make something slower by twice the floor and leave it comparable.
    const bool much = found.slower > 2 * floor;
    if (of.mine.freedom == 0) return much ? Decision::doubtful : Decision::noise;
    if (found.low <= floor) return found.low > 0 || much ? Decision::doubtful : Decision::noise;
    if (!rules_.again) return Decision::slow;
    if (of.again.size() < kLeastSecond) return Decision::doubtful;
    return 1 - std::exp(median(of.again) - of.others.mean) > floor ? Decision::slow
                                                                   : Decision::doubtful;
  }

  // Returns the values of the second measurement.
  static std::vector<double> second_of(const std::vector<double>& all, std::size_t first) {
    if (first == 0 || first >= all.size()) return {};
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
  }

  static std::string subject(const CheckedDevice& device) {
    return fmt::format("{} ({})", device.label,
                       device.pci.empty() ? device.id : "pci " + device.pci);
  }

  CheckFinding& add(CheckVerdict verdict, const CheckedDevice& device, std::string text) {
    CheckFinding& finding = findings.emplace_back();
    finding.verdict = verdict;
    finding.host = device.host;
    finding.device = device.id;
    finding.text = subject(device) + " " + std::move(text);
    return finding;
  }

  // Keeps the worst finding about a rate of a device: it is compared with several others.
  void say_once() {
    std::vector<std::string> said;
    std::erase_if(findings, [&](const CheckFinding& finding) {
      if (finding.quantity.empty() || finding.device.empty()) return false;
      const std::size_t before = said.size();
      add_once(said, finding.device + '\n' + finding.quantity);
      return said.size() == before;
    });
  }

  void faults() {
    if (!document_.failed.empty()) {
      CheckFinding& finding = findings.emplace_back();
      finding.verdict = document_.hung ? CheckVerdict::hung : CheckVerdict::failed;
      finding.host = document_.host;
      finding.text = document_.failed;
    }
    for (const CheckedDevice& device : document_.devices) {
      if (!device.failed.empty())
        add(device.hung ? CheckVerdict::hung : CheckVerdict::failed, device,
            (device.hung ? "hung: " : "failed: ") + device.failed);
      if (device.memory && device.memory->wrong > 0)
        add(CheckVerdict::wrong, device,
            fmt::format("read back {} of its memory",
                        one_or_several(device.memory->wrong, "1 wrong word", "wrong words")));
    }
  }

  // Errors that hardware counted: one that was not corrected during the check is a wrong word.
  void ecc_errors() {
    for (const CheckedDevice& device : document_.devices) {
      if (!device.ecc_before || !device.ecc_after) continue;
      const std::uint64_t before = device.ecc_before->uncorrected,
                          after = device.ecc_after->uncorrected;
      if (after > before)
        add(CheckVerdict::wrong, device,
            fmt::format("had {} in its memory during the check",
                        one_or_several(after - before, "an uncorrected ECC error",
                                       "uncorrected ECC errors")));
      else if (after > 0)
        add(CheckVerdict::limited, device,
            fmt::format(
                "had {} in its memory since its driver was loaded",
                one_or_several(after, "an uncorrected ECC error", "uncorrected ECC errors")));
    }
  }

  // Returns the devices of each host, model and driver.
  std::vector<Group> groups() const {
    std::map<std::string, Group> by_model;
    std::vector<std::string> order;
    for (const CheckedDevice& device : document_.devices) {
      const std::string key = device.host + '\n' + model_key(device);
      add_once(order, key);
      by_model[key].push_back(&device);
    }
    std::vector<Group> all;
    for (const std::string& key : order) all.push_back(by_model[key]);
    return all;
  }

  static std::vector<std::string> quantities(const Group& group) {
    std::vector<std::string> names;
    for (const CheckedDevice* device : group)
      for (const CheckValues& rate : device->rates) add_once(names, rate.quantity);
    return names;
  }

  double floor_of(const CheckedDevice& device) const {
    return rules_.floor.value_or(device.cpu ? rules_.cpu : rules_.device);
  }

  static std::string slowness_in_words(const Slowness& found, const std::string& quantity,
                                       const std::string& than, bool certain) {
    const double percent = found.slower * 100;
    if (certain)
      return fmt::format("is {:.1f} % slower in {} than {} ({})", percent, quantity, than,
                         in_percent(found));
    if (found.low > 0)
      return fmt::format("may be slower in {} than {}, by {:.1f} % ({})", quantity, than, percent,
                         in_percent(found));
    return fmt::format(
        "seems {:.0f} % slower in {} than {}, but its values differ too much to tell", percent,
        quantity, than);
  }

  // Adds what was decided about a rate, or only notes that it is to be measured again.
  void conclude(const CheckedDevice& device, const std::string& quantity, Decision decision,
                const Slowness& found, const std::string& than) {
    if (decision == Decision::fine) return;
    if (decision != Decision::slow) add_once(doubts.rates, quantity);
    if (decision == Decision::noise) return;
    const bool disturbed = !device.other_work.empty();
    const bool slow = decision == Decision::slow && !disturbed;
    std::string text = slowness_in_words(found, quantity, than, decision == Decision::slow);
    if (disturbed) text += "; " + device.other_work;
    if (device.during && device.during->throttle != 0)
      text += fmt::format("; its clock was held down: {}",
                          fmt::join(throttle_words(device.during->throttle), ", "));
    CheckFinding& finding =
        add(slow ? CheckVerdict::slow : CheckVerdict::unknown, device, std::move(text));
    finding.quantity = quantity;
    finding.slower = found.slower;
    finding.low = found.low;
    finding.high = found.high;
  }

  void rates(const Group& group, const std::string& quantity) {
    Group judged;
    for (const CheckedDevice* device : group)
      if (can_be_judged(*device) && rates_of(*device, quantity) != nullptr)
        judged.push_back(device);
    const auto told = [&](const CheckedDevice* device) {
      return known_rates(*device, quantity, false).size() > 0 ||
             known_rates(*device, quantity, true).size() > 0;
    };
    const bool all_told = std::all_of(judged.begin(), judged.end(), told);
    const auto same = [&](const CheckRate& rate) { return quantity == rate.quantity; };
    const bool by_slot = std::any_of(kCheckRates + kCheckRatesOfChip, std::end(kCheckRates), same);
    std::map<std::uint32_t, Group> by_node;
    for (const CheckedDevice* device : judged)
      by_node[by_slot ? device->numa_node.value_or(0) : 0].push_back(device);
    for (const auto& [node, siblings] : by_node)
      if (siblings.size() > 2 || !all_told) by_siblings(siblings, quantity);
    for (const CheckedDevice* device : judged) {
      by_known(*device, quantity, false);
      by_known(*device, quantity, true);
    }
  }

  void by_siblings(const Group& group, const std::string& quantity) {
    struct Judged {
      Decision decision;
      Slowness found;
    };
    if (group.size() < 2) return;
    std::size_t rounds = ~std::size_t{0};
    for (const CheckedDevice* device : group)
      rounds = std::min(rounds, rates_of(*device, quantity)->values.size());
    // Returns the middle of the devices in a round, without one of them.
    const auto middle_in = [&](std::size_t round, const CheckedDevice* without) {
      std::vector<double> logs;
      for (const CheckedDevice* one : group)
        if (one != without) logs.push_back(std::log(rates_of(*one, quantity)->values[round]));
      return median(logs);
    };
    std::vector<TrimmedMean> relative;  // to all devices of the round
    for (const CheckedDevice* device : group) {
      std::vector<double> logs = logs_of(rates_of(*device, quantity)->values);
      logs.resize(rounds);
      for (std::size_t k = 0; k < rounds; ++k) logs[k] -= middle_in(k, nullptr);
      relative.push_back(trimmed_mean(std::move(logs)));
    }
    std::vector<Judged> all;
    std::size_t behind = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const CheckValues& mine = *rates_of(*group[i], quantity);
      std::vector<double> logs = logs_of(mine.values);
      logs.resize(rounds);
      for (std::size_t k = 0; k < rounds; ++k) logs[k] -= middle_in(k, group[i]);
      Others others;
      for (std::size_t k = 0; k < group.size(); ++k)
        if (k != i) others.add(relative[k]);
      Judged& judged = all.emplace_back();
      judged.decision = decide({trimmed_mean(logs),
                                {},
                                second_of(logs, mine.first),
                                floor_of(*group[i]),
                                others.spread()},
                               judged.found);
      behind += judged.decision >= Decision::doubtful ? 1 : 0;
    }
    const bool split = 2 * behind >= group.size();
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (split && all[i].decision >= Decision::doubtful)
        cannot_tell_which(group, *group[i], quantity, all[i].decision, all[i].found);
      else
        conclude(*group[i], quantity, all[i].decision, all[i].found,
                 "its " + one_or_several(group.size() - 1, "sibling", "siblings"));
    }
  }

  // Half of the devices or more are slower than the others.
  void cannot_tell_which(const Group& group, const CheckedDevice& device,
                         const std::string& quantity, Decision decision, const Slowness& found) {
    if (decision != Decision::slow) add_once(doubts.rates, quantity);
    CheckFinding& finding = add(CheckVerdict::unknown, device, "");
    finding.quantity = quantity;
    finding.slower = found.slower;
    finding.low = found.low;
    finding.high = found.high;
    finding.text =
        subject(device) + " " +
        slowness_in_words(found, quantity,
                          "its " + one_or_several(group.size() - 1, "sibling", "siblings"),
                          decision == Decision::slow);
    if (found.low > 0)
      finding.text += group.size() == 2
                          ? "; of two devices either may be at fault: --baseline FILE tells"
                          : "; so is half of them, and which are at fault --baseline FILE tells";
    if (!device.other_work.empty()) finding.text += "; " + device.other_work;
  }

  // Returns the rates in earlier checks of the device itself, or of others of its model.
  Others known_rates(const CheckedDevice& device, const std::string& quantity, bool own) const {
    Others all;
    for (const CheckDocument& document : known_)
      for (const CheckedDevice& known : document.devices) {
        if (model_key(known) != model_key(device) || is_earlier_of(known, device) != own) continue;
        if (const CheckValues* rate = rates_of(known, quantity))
          all.add(trimmed_mean(logs_of(rate->values)), known.host + known.started);
      }
    return all;
  }

  static ComparedRate compared(const CheckValues& rate, const Others& others, double floor) {
    const std::vector<double> logs = logs_of(rate.values);
    return {trimmed_mean(logs), others.middle(), second_of(logs, rate.first), floor,
            others.spread()};
  }

  void by_known(const CheckedDevice& device, const std::string& quantity, bool own) {
    const Others known = known_rates(device, quantity, own);
    if (known.size() == 0) return;
    Slowness found;
    const Decision decision =
        decide(compared(*rates_of(device, quantity), known, floor_of(device)), found);
    conclude(device, quantity, decision, found,
             own ? "in " + one_or_several(known.size(), "an earlier check", "earlier checks")
                 : one_or_several(known.size(), "another of its model",
                                  "others of its model in earlier checks"));
  }

  // A setting that most siblings have otherwise, and a link that works with fewer lanes than it
  // has.
  void settings(const Group& group) {
    for (const SettingInfo& info : kSettingTable) {
      if (info.matters != SettingInfo::Matters::decisive) continue;
      std::map<std::string, std::size_t> counts;
      for (const CheckedDevice* device : group)
        if (const auto& value = device->after[info.setting]) ++counts[in_words(info, *value)];
      const auto most =
          std::max_element(counts.begin(), counts.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (counts.size() < 2) continue;
      const bool majority = 2 * most->second > group.size();
      for (const CheckedDevice* device : group) {
        const auto& value = device->after[info.setting];
        if (!value || (majority && in_words(info, *value) == most->first)) continue;
        add(majority ? CheckVerdict::limited : CheckVerdict::unknown, *device,
            fmt::format("has {}: {}; {} of its siblings: {}", info.label, in_words(info, *value),
                        most->second, most->first));
      }
    }
    for (const CheckedDevice* device : group) {
      if (!device->during) continue;
      const auto& lanes = (*device->during)[Gauge::pcie_width];
      const auto& width = device->after[Setting::pcie_width_max];
      if (lanes && width && lanes->max < std::get<double>(*width))
        add(CheckVerdict::limited, *device,
            fmt::format("works with {} PCIe lanes of {}", lanes->max, std::get<double>(*width)));
      for (const SettingChange& change : setting_changes(device->before, device->after))
        add(CheckVerdict::unknown, *device,
            fmt::format("changed its {} during the check: {} -> {}", change.info->label,
                        change.before, change.after));
    }
  }

  void works(const Group& group) {
    std::vector<std::string> names;
    for (const CheckedDevice* device : group)
      for (const CheckedWork& work : device->works) add_once(names, work.work);
    for (const std::string& name : names) agree(group, name);
  }

  static const CheckedWork* work_named(const CheckedDevice& device, const std::string& name) {
    for (const CheckedWork& work : device.works)
      if (work.work == name) return &work;
    return nullptr;
  }

  // Equal devices give equal bits: results that differ from those of most devices are wrong, and so
  // are those that the reference refuses.
  void agree(const Group& group, const std::string& name) {
    std::map<std::string, std::size_t> votes;
    for (const CheckedDevice* device : group) {
      const CheckedWork* work = work_named(*device, name);
      if (!work) continue;
      const CheckedWork::Digest* most = nullptr;
      for (const CheckedWork::Digest& one : work->digests)
        if (one.reference != VerifyStatus::failed && (!most || one.runs > most->runs)) most = &one;
      if (most) ++votes[most->digest];
    }
    std::size_t best = 0, with_best = 0;
    std::string agreed;
    for (const auto& [digest, count] : votes) {
      with_best = count > best ? 1 : with_best + (count == best ? 1 : 0);
      if (count > best) best = count, agreed = digest;
    }
    for (const CheckedDevice* device : group) {
      const CheckedWork* work = work_named(*device, name);
      if (!work) continue;
      std::uint64_t runs = 0, wrong = 0, other = 0;
      for (const CheckedWork::Digest& one : work->digests) {
        runs += one.runs;
        const bool refused = one.reference == VerifyStatus::failed;
        const bool minority = with_best == 1 && one.digest != agreed;
        wrong += refused || minority ? one.runs : 0;
        other += !refused && with_best > 1 ? one.runs : 0;
      }
      if (wrong > 0)
        add(CheckVerdict::wrong, *device,
            fmt::format("computed a wrong {}: {} of {} runs", name, wrong, runs));
      else if (other > 0)
        add(CheckVerdict::unknown, *device,
            fmt::format("computed other bits of a {} than its siblings, all within the error bound "
                        "of the reference",
                        name));
    }
  }

  static std::string link_name(const CheckedLink& link) {
    return link.from.empty() ? "all devices" : fmt::format("link {}-{}", link.from, link.to);
  }

  void links() {
    std::map<std::string, std::vector<const CheckedLink*>> comparable;
    for (const CheckedLink& link : document_.links) {
      if (link.wrong > 0) {
        CheckFinding& finding = findings.emplace_back();
        finding.verdict = CheckVerdict::wrong;
        finding.host = link.host;
        finding.text = fmt::format("{} delivered {} ({})", link_name(link),
                                   one_or_several(link.wrong, "1 wrong word", "wrong words"),
                                   link.rate.quantity);
      }
      // CPUs copy within the host's memory: their data are checked, their rates only shown.
      if (!link.rate.values.empty() && !link.cpu)
        comparable[link.host + '\n' + link.models + '\n' + link.rate.quantity].push_back(&link);
    }
    for (const auto& [key, group] : comparable) {
      bool told = true;
      for (const CheckedLink* link : group) told &= link_by_known(*link);
      if (group.size() > 2 || !told) link_by_others(group);
    }
  }

  void link_by_others(const std::vector<const CheckedLink*>& group) {
    if (group.size() < 2) return;
    std::vector<CheckFinding> before = std::exchange(findings, {});
    std::vector<TrimmedMean> means;
    for (const CheckedLink* link : group) means.push_back(trimmed_mean(logs_of(link->rate.values)));
    for (std::size_t i = 0; i < group.size(); ++i) {
      Others others;
      for (std::size_t k = 0; k < group.size(); ++k)
        if (k != i) others.add(means[k]);
      judge_link(*group[i], others, "the others", group.size() < 3);
    }
    // Leaves it to earlier checks if so many are slow: the machine is then built so.
    if (group.size() > 2 && kTopology * findings.size() > group.size()) findings.clear();
    before.insert(before.end(), findings.begin(), findings.end());
    findings = std::move(before);
  }

  bool link_by_known(const CheckedLink& link) {
    Others known;
    for (const CheckDocument& document : known_)
      for (const CheckedLink& other : document.links)
        if (other.rate.quantity == link.rate.quantity && other.models == link.models &&
            other.from.empty() == link.from.empty() && !other.rate.values.empty())
          known.add(trimmed_mean(logs_of(other.rate.values)), document.started);
    if (known.size() > 0) judge_link(link, known, "those of earlier checks", false);
    return known.size() > 0;
  }

  void judge_link(const CheckedLink& link, const Others& others, const char* of_whom, bool of_two) {
    Slowness found;
    const Decision decision =
        decide(compared(link.rate, others, rules_.floor.value_or(rules_.link)), found);
    if (decision == Decision::fine) return;
    doubts.links |= decision != Decision::slow;
    if (decision == Decision::noise) return;
    const std::string* load = nullptr;
    for (const CheckedDevice& device : document_.devices)
      if (device.host == link.host && !device.other_work.empty()) load = &device.other_work;
    CheckFinding& finding = findings.emplace_back();
    const bool slow = decision == Decision::slow && !of_two && load == nullptr;
    finding.verdict = slow ? CheckVerdict::slow : CheckVerdict::unknown;
    finding.host = link.host;
    finding.quantity = link.rate.quantity;
    finding.slower = found.slower;
    finding.low = found.low;
    finding.high = found.high;
    finding.text =
        fmt::format("{} {} {:.0f} % of {} ({:.0f}..{:.0f} %) {}{}", link_name(link),
                    decision == Decision::slow ? "carries" : "may carry only",
                    (1 - found.slower) * 100, of_two ? "the other" : of_whom,
                    (1 - found.high) * 100, (1 - found.low) * 100, link.rate.quantity,
                    of_two ? ", but of two either may be at fault: --baseline FILE tells" : "");
    if (load != nullptr) finding.text += "; " + *load;
  }

  void load() {
    std::vector<std::string> told;
    for (const CheckedDevice& device : document_.devices) {
      if (device.other_work.empty()) continue;
      const std::size_t before = told.size();
      add_once(told, device.host + device.other_work);
      if (told.size() == before) continue;
      CheckFinding& finding = findings.emplace_back();
      finding.verdict = CheckVerdict::unknown;
      finding.host = device.host;
      finding.text = device.other_work + ": check an idle machine";
    }
  }

  // Names devices that the newest earlier check of this host has.
  void missing() {
    std::string newest;
    for (const CheckDocument& document : known_)
      for (const CheckedDevice& known : document.devices)
        if (known.host == document_.host) newest = std::max(newest, known.started);
    for (const CheckDocument& document : known_) {
      for (const CheckedDevice& known : document.devices) {
        const auto is_here = [&](const CheckedDevice& device) {
          return is_earlier_of(known, device);
        };
        if (known.host == document_.host && known.started == newest &&
            std::none_of(document_.devices.begin(), document_.devices.end(), is_here))
          add(CheckVerdict::missing, known,
              fmt::format("is missing: {}, in the check of {}", known.name, known.started));
      }
    }
  }

  const CheckDocument& document_;
  std::span<const CheckDocument> known_;
  const CheckRules& rules_;
  Quantiles quantiles_;
};

}  // namespace

std::vector<CheckFinding> judge(const CheckDocument& document, std::span<const CheckDocument> known,
                                const CheckRules& rules) {
  Judge judge(document, known, rules);
  judge.run();
  return std::move(judge.findings);
}

CheckDoubts doubts_of(const CheckDocument& document, std::span<const CheckDocument> known,
                      const CheckRules& rules) {
  Judge judge(document, known, rules);
  judge.run();
  return std::move(judge.doubts);
}

void settle_doubts(CheckDocument& document, std::span<const CheckDocument> known,
                   const CheckRules& rules, const CheckAgain& again) {
  std::size_t links = 0;
  for (std::size_t round = 0; round < kMostAgain; ++round) {
    if (round >= kLeastAgain && again.is_over()) return;
    CheckDoubts doubts = doubts_of(document, known, rules);
    doubts.links &= links < kLinksAgain;
    if (!doubts.any()) return;
    for (CheckedDevice& device : document.devices)
      for (CheckValues& rate : device.rates)
        if (rate.first == 0 && std::count(doubts.rates.begin(), doubts.rates.end(), rate.quantity))
          rate.first = rate.values.size();
    if (!doubts.rates.empty()) again.rates(doubts.rates);
    if (!doubts.links) continue;
    ++links;
    for (CheckedLink& link : document.links)
      if (link.rate.first == 0) link.rate.first = link.rate.values.size();
    again.links();
  }
}

void conclude(CheckDocument& document, std::span<const CheckDocument> known,
              const CheckRules& rules) {
  document.findings = judge(document, known, rules);
  document.verdict = CheckVerdict::ok;
  for (const CheckFinding& finding : document.findings)
    document.verdict = std::max(document.verdict, finding.verdict);
}

}  // namespace mgpu
