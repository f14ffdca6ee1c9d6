// The judgement of check on drawn measurements: healthy machines pass, seeded faults are named.
#include "lib/report/check_judgement.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "lib/base/output_file.hpp"
#include "lib/report/check_statistics.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using test::has;

namespace {

constexpr std::size_t kFirst = 10;  // rounds before anything is measured again
constexpr double kNoise = 0.02, kDrift = 0.01;

// A machine whose rates have normal noise, and drift that all devices share.
struct DrawnMachine {
  explicit DrawnMachine(std::uint64_t seed, std::size_t devices = 8) : draws(seed) {
    document.host = "node1";
    document.started = "2026-11-28T10:00:00Z";
    for (std::size_t i = 0; i < devices; ++i) {
      Device facts;
      facts.id = fmt::format("0:{}", i);
      facts.name = "GPU";
      facts.driver_version = "1";
      facts.uuid = fmt::format("uuid-{}", i);
      facts.pci = fmt::format("0000:{:02x}:00.0", 16 * i + 11);
      CheckedDevice& device =
          document.devices.emplace_back(checked_device(facts, i, document.host));
      device.started = document.started;
      for (const CheckRate& rate : kCheckRates)
        device.rates.push_back({rate.quantity, rate.unit, {}, 0});
      device.works = {{"SHA-256 tree", {{"ab12", 40, VerifyStatus::passed}}}};
      device.memory = CheckedMemory{Bytes{64} << 30, 2, 0};
    }
    factor.assign(devices, std::vector<double>(std::size(kCheckRates), 1));
    for (std::size_t from = 0; from < devices; ++from)
      for (std::size_t to = 0; to < devices; ++to)
        if (from != to)
          document.links.push_back({document.host, std::to_string(from), std::to_string(to), false,
                                    "GPU 1", CheckValues{"one way", "B/s", {}, 0}, 0});
    link_factor.assign(document.links.size(), 1);
  }

  double draw(double rate, double noise = kNoise) { return rate * std::exp(noise * normal(draws)); }
  void measure(std::size_t rate) {
    const double drift = draw(1, kDrift);
    for (std::size_t i = 0; i < document.devices.size(); ++i)
      document.devices[i].rates[rate].values.push_back(draw(1e12 * drift * factor[i][rate]));
  }
  void measure_links() {
    for (std::size_t k = 0; k < document.links.size(); ++k)
      for (int sample = 0; sample < 8; ++sample)
        document.links[k].rate.values.push_back(draw(1e11 * link_factor[k]));
  }
  // Measures and judges as a check does.
  const CheckDocument& check(std::span<const CheckDocument> known = {}) {
    for (std::size_t round = 0; round < kFirst; ++round)
      for (std::size_t rate = 0; rate < std::size(kCheckRates); ++rate) measure(rate);
    measure_links();
    CheckAgain again;
    again.rates = [&](const std::vector<std::string>& quantities) {
      for (std::size_t rate = 0; rate < std::size(kCheckRates); ++rate)
        if (std::count(quantities.begin(), quantities.end(), kCheckRates[rate].quantity) > 0)
          measure(rate);
      ++rounds_again;
    };
    again.links = [&] { measure_links(); };
    again.is_over = [] { return false; };
    const CheckRules rules;
    settle_doubts(document, known, rules, again);
    conclude(document, known, rules);
    return document;
  }

  CheckDocument document;
  std::vector<std::vector<double>> factor;  // by device and rate
  std::vector<double> link_factor;
  std::size_t rounds_again = 0;
  std::mt19937_64 draws;
  std::normal_distribution<double> normal;
};

std::string lines_of(const CheckDocument& document) {
  std::string text;
  for (const CheckFinding& finding : document.findings) text += finding.text + "\n";
  return text;
}

// Checks that there is one finding, with this verdict and these words.
void check_only(const CheckDocument& document, CheckVerdict verdict, const std::string& words) {
  INFO(lines_of(document));
  REQUIRE(document.findings.size() == 1);
  CHECK(document.findings.front().verdict == verdict);
  CHECK(document.verdict == verdict);
  CHECK(has(document.findings.front().text, words));
}

}  // namespace

TEST_CASE("1,000 healthy machines with 2 % noise pass") {
  std::size_t again = 0;
  const std::uint64_t trials = testing::is_thorough() ? 10000 : 1000;
  for (std::uint64_t seed = 1; seed <= trials; ++seed) {
    DrawnMachine machine(seed);
    const CheckDocument& document = machine.check();
    CAPTURE(seed);
    INFO(lines_of(document));
    CHECK(document.findings.empty());
    again += machine.rounds_again > 0 ? 1 : 0;
  }
  CHECK(again > 0);  // some looked slow at first
}

TEST_CASE("200 seeded faults are named, and nothing else is") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    DrawnMachine machine(seed);
    const std::size_t which = seed % 8, rate = seed / 8 % std::size(kCheckRates);
    CheckedDevice& device = machine.document.devices[which];
    const std::string name = fmt::format("gpu {} (pci {})", which, device.pci);
    switch (seed % 5) {
      case 0: {
        machine.factor[which][rate] = 0.95;
        check_only(machine.check(), CheckVerdict::slow, name + " is ");
        const CheckFinding& finding = machine.document.findings.front();
        CHECK(finding.quantity == kCheckRates[rate].quantity);
        CHECK(has(finding.text, "slower in " + finding.quantity + " than its 7 siblings ("));
        CHECK(finding.low > 0.02);
        CHECK(finding.high < 0.12);
        break;
      }
      case 1: {
        const std::size_t link = seed % machine.document.links.size();
        machine.link_factor[link] = 0.8;
        const CheckedLink& slow = machine.document.links[link];
        check_only(machine.check(), CheckVerdict::slow,
                   fmt::format("link {}-{} carries ", slow.from, slow.to));
        CHECK(has(machine.document.findings.front().text, " % of the others ("));
        break;
      }
      case 2: {  // a power cap, which slows arithmetic down
        for (std::size_t i = 0; i < 8; ++i)
          machine.document.devices[i].after[Setting::power_limit] = i == which ? 500.0 : 700.0;
        machine.factor[which][0] = 0.9;
        const CheckDocument& document = machine.check();
        INFO(lines_of(document));
        REQUIRE(document.findings.size() == 2);
        CHECK(document.findings[0].verdict == CheckVerdict::slow);
        CHECK(has(document.findings[0].text, name + " is "));
        CHECK(document.findings[1].text ==
              name + " has power limit: 500 W; 7 of its siblings: 700 W");
        CHECK(document.findings[1].verdict == CheckVerdict::limited);
        break;
      }
      case 3:
        // Whether the reference or the siblings refuse it.
        device.works[0].digests = {
            {"ab12", 39, VerifyStatus::passed},
            {"ab13", 1, seed % 2 ? VerifyStatus::failed : VerifyStatus::passed}};
        check_only(machine.check(), CheckVerdict::wrong,
                   name + " computed a wrong SHA-256 tree: 1 of 40 runs");
        break;
      default: {
        const CheckDocument before = DrawnMachine(seed + 1000).check();
        const CheckDocument known[] = {baseline_with(std::nullopt, before)};
        REQUIRE(known[0].devices.size() == 8);
        if (seed % 2) {
          device.failed = "device " + device.id + " did not answer for 2.00 s";
          device.hung = true;
          for (CheckValues& values : device.rates) values.values = {1};
          check_only(machine.check(known), CheckVerdict::hung, name + " hung: ");
        } else {
          std::vector<CheckedDevice>& devices = machine.document.devices;
          devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(which));
          machine.factor.pop_back();
          check_only(machine.check(known), CheckVerdict::missing, name + " is missing: GPU");
        }
      }
    }
  }
}

TEST_CASE("of two devices only an earlier check tells which is slow") {
  DrawnMachine machine(1, 2);
  machine.factor[1][3] = 0.9;
  const CheckDocument& alone = machine.check();
  INFO(lines_of(alone));
  REQUIRE(alone.findings.size() == 1);
  CHECK(alone.findings.front().verdict == CheckVerdict::unknown);
  CHECK(has(alone.findings.front().text, "of two devices either may be at fault"));

  std::vector<CheckDocument> known;
  for (const std::uint64_t session : {2, 3, 4}) {
    DrawnMachine earlier(session, 2);
    earlier.document.started = fmt::format("2026-11-2{}T10:00:00Z", session);
    for (CheckedDevice& device : earlier.document.devices)
      device.started = earlier.document.started;
    known.push_back(baseline_with(std::nullopt, earlier.check()));
  }
  DrawnMachine later(5, 2);
  later.factor[1][3] = 0.9;
  check_only(later.check(known), CheckVerdict::slow, "slower in memory bandwidth than ");
  CHECK(later.document.findings.front().device == "0:1");

  DrawnMachine slower(6, 2);  // both of them
  slower.factor[0][3] = slower.factor[1][3] = 0.9;
  CHECK(slower.check(known).findings.size() == 2);
  CHECK(slower.document.verdict == CheckVerdict::slow);
}

TEST_CASE("a device is blamed only if it was slow again when it was measured again") {
  for (const double again : {0.0, 1.0, 0.9}) {
    CAPTURE(again);
    DrawnMachine machine(1);
    machine.factor[3][0] = 0.9;
    for (std::size_t round = 0; round < 40; ++round) machine.measure(0);
    machine.factor[3][0] = again;
    for (CheckedDevice& device : machine.document.devices)
      if (again > 0) device.rates[0].first = 40;
    for (std::size_t round = 0; again > 0 && round < 10; ++round) machine.measure(0);
    const std::vector<CheckFinding> found = judge(machine.document, {}, {});
    REQUIRE(found.size() == 1);
    CHECK(found.front().device == "0:3");
    CHECK(found.front().verdict == (again == 0.9 ? CheckVerdict::slow : CheckVerdict::unknown));
    CHECK(doubts_of(machine.document, {}, {}).rates.size() == (again == 0.9 ? 0 : 1));
  }
}

TEST_CASE("half of the devices or a third of the links are no outliers") {
  DrawnMachine machine(1, 4);
  machine.factor[0][0] = machine.factor[1][0] = 0.9;
  for (std::size_t k = 0; k < machine.document.links.size(); k += 2) machine.link_factor[k] = 0.5;
  const CheckDocument& document = machine.check();
  INFO(lines_of(document));
  REQUIRE(document.findings.size() == 2);
  for (const CheckFinding& finding : document.findings) {
    CHECK(finding.verdict == CheckVerdict::unknown);
    CHECK(has(finding.text, "so is half of them"));
  }
}

TEST_CASE("load by other programs is named, and nothing is called slow under it") {
  DrawnMachine machine(1);
  machine.factor[3][0] = 0.8;
  machine.link_factor[5] = 0.5;
  for (CheckedDevice& device : machine.document.devices)
    device.other_work = "other programs used about 70 % of the cores";
  const CheckDocument& document = machine.check();
  INFO(lines_of(document));
  CHECK(document.findings.size() == 3);
  CHECK(document.verdict == CheckVerdict::unknown);
  for (const CheckFinding& finding : document.findings)
    CHECK(has(finding.text, "other programs used about 70 % of the cores"));
}

TEST_CASE("uploads are compared within a NUMA node") {
  DrawnMachine machine(1);
  for (std::size_t i = 0; i < 8; ++i) {
    machine.document.devices[i].numa_node = i < 4 ? 0 : 1;
    if (i >= 4) machine.factor[i][4] = 0.7;
  }
  machine.factor[6][4] = 0.6;
  check_only(machine.check(), CheckVerdict::slow, "slower in upload than its 3 siblings");
}

TEST_CASE("wrong words of memory or of a link are wrong results") {
  DrawnMachine machine(1);
  machine.document.devices[2].memory->wrong = 3;
  check_only(machine.check(), CheckVerdict::wrong, "read back 3 wrong words of its memory");
  DrawnMachine linked(1);
  linked.document.links[0].wrong = 1;
  check_only(linked.check(), CheckVerdict::wrong, "link 0-1 delivered 1 wrong word (one way)");
}

TEST_CASE("an uncorrected ECC error is wrong if it came meanwhile, and else limits the device") {
  DrawnMachine machine(1);
  machine.document.devices[2].ecc_before = CheckedEcc{5, 0};
  machine.document.devices[2].ecc_after = CheckedEcc{9, 2};
  check_only(machine.check(), CheckVerdict::wrong,
             "gpu 2 (pci 0000:2b:00.0) had 2 uncorrected ECC errors in its memory during");
  DrawnMachine earlier(1);
  earlier.document.devices[2].ecc_before = earlier.document.devices[2].ecc_after = CheckedEcc{5, 1};
  check_only(earlier.check(), CheckVerdict::limited, "had an uncorrected ECC error in its memory");
}

TEST_CASE("devices that agree on a digest which the reference refuses are all wrong") {
  DrawnMachine machine(1, 3);
  for (CheckedDevice& device : machine.document.devices)
    device.works[0].digests[0].reference = VerifyStatus::failed;
  CHECK(machine.check().findings.size() == 3);
  CHECK(machine.document.verdict == CheckVerdict::wrong);
  DrawnMachine two(1, 2);  // different bits, each accepted
  two.document.devices[1].works[0].digests[0].digest = "ab13";
  CHECK(two.check().findings.size() == 2);
  CHECK(two.document.verdict == CheckVerdict::unknown);
  CHECK(has(lines_of(two.document), "computed other bits of a SHA-256 tree than its siblings"));
}

TEST_CASE("a baseline leaves out what was found, and keeps the last 20 checks") {
  DrawnMachine machine(1);
  machine.factor[3][0] = 0.8;
  std::optional<CheckDocument> kept = baseline_with(std::nullopt, machine.check());
  CHECK(kept->devices.size() == 7);
  CHECK(kept->links.size() == 56);
  DrawnMachine linked(1);
  linked.link_factor[3] = 0.5;
  CHECK(baseline_with(std::nullopt, linked.check()).links.empty());
  CHECK(baseline_with(std::nullopt, linked.document).devices.size() == 8);
  for (int k = 0; k < 30; ++k) kept = baseline_with(kept, DrawnMachine(2).check());
  CHECK(kept->devices.size() == 8 * 20);
  CHECK(kept->links.size() == 56 * 20);
}

TEST_CASE("of the files of several nodes the newest of each is compared with the others") {
  std::vector<NamedCheck> files;
  for (std::uint64_t node = 0; node < 5; ++node) {
    DrawnMachine machine(node + 1);
    machine.document.host = fmt::format("node{}", node);
    for (std::size_t i = 0; i < 8; ++i) {
      machine.document.devices[i].host = machine.document.host;
      machine.document.devices[i].identity = fmt::format("{}-{}", node, i);
      if (node == 3)  // all of its devices are slow
        machine.factor[i][3] = 0.8;
    }
    files.push_back({fmt::format("{}.json", node), machine.check()});
  }
  CHECK(files[3].document.findings.empty());
  const CheckDocument merged = merge_checks(files, {});
  CHECK(merged.devices.size() == 40);
  REQUIRE(merged.findings.size() == 8);
  for (const CheckFinding& finding : merged.findings) {
    CHECK(finding.host == "node3");
    CHECK(finding.verdict == CheckVerdict::slow);
    CHECK(has(finding.text, "slower in memory bandwidth than 32 others of its model"));
  }
  // An earlier check of the same node is not judged again.
  files.push_back(files[0]);
  files.back().document.started = "2026-11-20T10:00:00Z";
  for (CheckedDevice& device : files.back().document.devices)
    device.started = files.back().document.started;
  CHECK(merge_checks(files, {}).devices.size() == 40);
}

TEST_CASE("the interval of a difference has its level, with outliers at either end") {
  std::mt19937_64 draws(1);
  std::normal_distribution<double> normal;
  std::size_t missed = 0;
  constexpr std::size_t kTrials = 2000;
  Quantiles quantiles(0.1);
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    std::vector<double> logs;
    for (int k = 0; k < 15; ++k) logs.push_back(0.05 + 0.02 * normal(draws));
    const Slowness found = slowness_of(trimmed_mean(logs), {}, quantiles);
    const double truth = 1 - std::exp(0.05);
    missed += found.low <= truth && truth <= found.high ? 0 : 1;
  }
  CHECK(missed > kTrials / 20);
  CHECK(missed < kTrials * 3 / 20);
  std::vector<double> logs(20, 0.05);
  logs.front() = 2;
  logs.back() = -1;
  CHECK(trimmed_mean(logs).mean == doctest::Approx(0.05));
  CHECK(trimmed_mean({0.1, 0.3}).freedom == 0);
}

TEST_CASE("a document is read back as it was written") {
  DrawnMachine machine(1);
  machine.factor[3][0] = 0.8;
  machine.document.devices[0].before[Setting::power_limit] = 700.0;
  const CheckDocument& document = machine.check();
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "mgpu-bench-check-test.json";
  write_file_atomically(file, check_json(document));
  CHECK(check_json(read_check(file)) == check_json(document));
  std::filesystem::remove(file);
}

TEST_CASE("the table fits 80 columns, and each finding is a line") {
  DrawnMachine machine(1);
  machine.factor[3][3] = 0.9;
  const std::string table = check_table(machine.check(), {.width = 80});
  INFO(table);
  CHECK(has(table, "check: gpu 3 (pci 0000:3b:00.0) is "));
  CHECK(has(table, "check: slow: 8 devices"));
  CHECK(has(table, "gpu 3   slow "));
  std::size_t begin = 0;
  for (std::size_t end = table.find('\n'); end != std::string::npos;
       begin = end + 1, end = table.find('\n', begin))
    if (table.compare(begin, 6, "check:") != 0) CHECK(end - begin <= 80);
}
