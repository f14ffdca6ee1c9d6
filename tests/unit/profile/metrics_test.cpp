// Metrics and parts of T: the check values of the design, and timelines with known parts.
#include "lib/profile/metrics.hpp"

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>

#include "lib/base/error.hpp"
#include "lib/profile/rounds.hpp"
#include "tests/support/pairs.hpp"
#include "tests/support/timelines.hpp"

using namespace mgpu;
using test::drawn;

namespace {

std::vector<Nanos> nanos(std::initializer_list<std::int64_t> values) {
  std::vector<Nanos> all;
  for (const std::int64_t v : values) all.push_back(Nanos{v});
  return all;
}

Nanos sum_of_parts(const DeviceParts& p) {
  return p.upload + p.compute + p.download + p.exchange + p.launch + p.sync + p.idle + p.wake;
}

const std::pair<const char*, Nanos DeviceParts::*> kTimes[] = {
    {"upload", &DeviceParts::upload},
    {"compute", &DeviceParts::compute},
    {"download", &DeviceParts::download},
    {"exchange", &DeviceParts::exchange},
    {"launch", &DeviceParts::launch},
    {"sync", &DeviceParts::sync},
    {"idle", &DeviceParts::idle},
    {"wake", &DeviceParts::wake},
    {"residue", &DeviceParts::residue},
    {"busy", &DeviceParts::busy},
    {"finish", &DeviceParts::finish},
    {"hidden", &DeviceParts::transfer_hidden},
    {"transfers", &DeviceParts::transfer_total}};

// Returns the times of a device that are not 0, with their names.
std::string times_of(const DeviceParts& parts) {
  std::string text;
  for (const auto& [name, time] : kTimes)
    if ((parts.*time).count() != 0)
      text += (text.empty() ? "" : " ") + std::string(name) + " " +
              std::to_string((parts.*time).count());
  return text;
}

// Checks metrics by name, "speedup=1.2 balance=none"; "*=none": all others are none.
void check_metrics(const Metrics& metrics, const std::string& expected) {
  std::set<std::string> named;
  std::istringstream words(expected);
  for (std::string word; words >> word;) {
    CAPTURE(word);
    const std::string name = word.substr(0, word.find('=')), value = word.substr(name.size() + 1);
    named.insert(name);
    for (const MetricInfo& metric : all_metrics()) {
      if (name == "*" ? named.contains(metric.name) : name != metric.name) continue;
      const std::optional<double>& is = metrics.*metric.value;
      CHECK(is.has_value() == (value != "none"));
      if (is && value != "none") CHECK(*is == doctest::Approx(std::stod(value)).epsilon(1e-5));
    }
    CHECK((name == "*" || find_metric(name) != nullptr));
  }
}

Metrics metrics_of(const Timeline& t, const MetricsInput& input) {
  return compute_metrics(t, device_parts(t), input);
}

}  // namespace

TEST_CASE("balance and imbalance of busy times, which need two devices of which one worked") {
  struct Known {
    std::vector<Nanos> busy;
    double balance, percent, derose;  // negative: undefined
  };
  for (const Known& known : {Known{nanos({10, 12, 8, 20}), 0.40, 60, 50},
                             {nanos({5}), -1, -1, -1},
                             {nanos({0, 0}), -1, -1, -1},
                             {nanos({0, 7}), 0, 100, 100}}) {
    CHECK(balance(known.busy).value_or(-1) == doctest::Approx(known.balance));
    CHECK(imbalance_percent(known.busy).value_or(-1) == doctest::Approx(known.percent));
    CHECK(imbalance_derose_percent(known.busy).value_or(-1) == doctest::Approx(known.derose));
  }
}

TEST_CASE("ideal speed-ups, and the serial fraction that is left of them") {
  CHECK(ideal_speedup(nanos({10, 20, 40})).value() == doctest::Approx(1.75));
  CHECK(ideal_speedup(nanos({30, 30, 30, 30})).value() == doctest::Approx(4.0));
  CHECK(ideal_speedup(nanos({30})).value() == doctest::Approx(1.0));
  CHECK_FALSE(ideal_speedup(nanos({})));
  CHECK_FALSE(ideal_speedup(nanos({10, 0})));
  CHECK(karp_flatt(4, 4).value() == doctest::Approx(0.0));
  CHECK(karp_flatt(1, 4).value() == doctest::Approx(1.0));
  CHECK(karp_flatt(2, 4).value() == doctest::Approx((0.5 - 0.25) / 0.75));
  CHECK_FALSE(karp_flatt(1, 1));
  CHECK_FALSE(karp_flatt(0, 4));
}

TEST_CASE("every part of T is what was put into the picture, of the first device") {
  for (const auto& [picture, times] : test::pairs_of(R"(
    one of each, partly under one another
      0: up 0 10..30, run 0 25..60, down 0 55..80, fly 0..85, sync 85..100
      = upload 15 compute 35 download 20 launch 15 sync 15 busy 70 finish 80 hidden 10 transfers 45
    time under several commands counts once: compute before upload before download
      0: up 0 0..30, up 1 20..40, run 0 10..15, down 0 12..50, sync 50..100
      = upload 35 compute 5 download 10 sync 50 busy 50 finish 50 hidden 5 transfers 50
    a hole in the host's spans is residue, spans that overlap a negative one
      0: run 0 10..40, fly 0..50, sync 70..100
      = compute 30 launch 20 sync 30 residue 20 busy 30 finish 40
      0: run 0 10..40, fly 0..60, sync 50..100
      = compute 30 launch 30 sync 50 residue -10 busy 30 finish 40
    commands outside every span, and those while the host waits or idles, are commands
      0: run 0 40..60, fly 0..40, idle 60..100 = compute 20 launch 40 idle 40 busy 20 finish 60
      0: run 0 0..30, down 0 50..60, idle 0..40, sync 40..100
      = compute 30 download 10 sync 50 idle 10 busy 40 finish 60 transfers 10
    what a clock error moves outside the sample is not part of T
      0: up 0 -7..10, run 0 10..109, down 0 110..120, fly 0..100
      = upload 10 compute 90 busy 100 finish 100 transfers 10
    a worker that the operating system lets run late is no mystery
      0: wake 0..25, idle 25..30, run 0 40..60, fly 30..60, sync 60..100
      = compute 20 launch 10 sync 40 idle 5 wake 25 busy 20 finish 60
    a device that did nothing only waits
      0: sync 0..100 = sync 100
    a merge on a device is its work but not its finish, one on the host is nobody's
      0: run 0 0..50, run merge 70..90, merge@0 65..95, fly 0..50, sync 50..70, fly 70..100
      = compute 70 launch 10 sync 20 busy 70 finish 50
      0: run 0 0..60, merge 60..100, fly 0..60, sync 60..100
      = compute 60 sync 40 busy 60 finish 60)")) {
    CAPTURE(picture);
    CHECK(times_of(device_parts(drawn(1, "100", picture)).at(0)) == times);
  }
}

TEST_CASE("items, slices and bytes of a device are counted") {
  const DeviceParts p =
      device_parts(drawn(1, "9", "0: up 0 1..3 1000B, down 0 5..8 64B, items 0 0..40")).at(0);
  CHECK(p.items == 40);
  CHECK(p.slices == 1);
  CHECK(p.bytes_in == 1000);
  CHECK(p.bytes_out == 64);
}

TEST_CASE("the time of a slice lasts from its first command to the end of its last") {
  test::TimelineBuilder b(2, 1000);
  b.upload(0, 0, 10, 50, 8).compute(0, 0, 60, 200).download(0, 0, 210, 240, 8);
  b.compute(0, 1, 190, 300);             // overlaps the first slice
  b.download(0, kCollect, 400, 500, 8);  // belongs to none
  b.compute(1, 0, 900, 1200);            // ends after the sample, by its clock
  const std::vector<Nanos> totals = slice_totals(b.get());
  CHECK(totals == nanos({230 + 110, 100}));
}

TEST_CASE("an exchange counts where nothing else runs, its bytes where they leave and arrive") {
  const Timeline t = drawn(2, "100", R"(
    0: up prep 0..20, put>1 10..40 64B, run 0 30..90, fly 0..90, sync 90..100
    1: wait>0 0..40, run 0 40..100, fly 0..100, merge 100..100)");
  const std::vector<DeviceParts> parts = device_parts(t);
  CHECK(times_of(parts[0]) ==
        "upload 20 compute 60 exchange 10 sync 10 busy 90 finish 90 transfers 20");
  CHECK(times_of(parts[1]) == "compute 60 exchange 40 busy 100 finish 100");
  for (const DeviceParts& p : parts) {
    CHECK(p.exchanges);
    CHECK(sum_of_parts(p) == Nanos{100});
  }
  CHECK(parts[0].bytes_sent == 64);
  CHECK(parts[1].bytes_received == 64);
  CHECK(parts[1].bytes_sent + parts[0].bytes_received == 0);
  using Times = DeviceParts::ExchangeTimes;
  CHECK(parts[0].exchange_times == Times{Nanos{10}, Nanos{30}, Nanos{}});
  CHECK(parts[1].exchange_times == Times{Nanos{}, Nanos{40}, Nanos{40}});
  check_metrics(metrics_of(t, {Nanos{100}, {}, {}, {}}),
                "exchange_share=0.25 waiting_share=0.2 exchange_overlap=0.142857");
  const Timeline none = drawn(1, "10", "0: run 0 0..10");
  CHECK_FALSE(device_parts(none)[0].exchange_times);
  check_metrics(metrics_of(none, {Nanos{10}, {}, {}, {}}),
                "exchange_share=none waiting_share=none exchange_overlap=none");
  // A device waits while it receives and neither computes nor transfers, even if it also sends.
  CHECK(device_parts(
            drawn(2, "100", "0: wait>1 0..50, put>1 10..60 8B, up prep 5..15, run 0 40..70"))[0]
            .exchange_times == Times{Nanos{20}, Nanos{60}, Nanos{30}});
}

TEST_CASE("imbalance of rounds: longest over mean time under kernels, and the worst round") {
  // One kernel belongs to no iteration; 20 each in iteration 4; the end of iteration 6 is outside
  // the sample.
  const Timeline t = drawn(2, "200", R"(
    0: run 0 0..99, run 0 100..110 @4, run 0 105..120 @4, run 0 120..150 @5, run 0 150..250 @6
    1: run 0 100..120 @4, run 0 120..130 @5, wait>0 130..150 @5, wait>0 160..170 @7)");
  const RoundImbalance rounds = round_imbalance(t).value();
  CHECK(rounds.mean == doctest::Approx((0.0 + 50 + 100) / 3));
  CHECK(rounds.worst == doctest::Approx(100));
  CHECK(rounds.worst_round == 6);
  check_metrics(compute_metrics(t, std::vector<DeviceParts>(2), {Nanos{200}, {}, {}, {}}),
                "round_imbalance_percent=50 worst_round_imbalance_percent=100");
  CHECK_FALSE(round_imbalance(drawn(1, "10", "0: run 0 0..10 @0")));
  CHECK_FALSE(round_imbalance(drawn(2, "10", "0: run 0 0..10 1: run 0 0..10")));
  CHECK_THROWS_AS(round_imbalance(drawn(2, "10", "2: run 0 0..10 @0")), Error);
}

TEST_CASE("a timeline of no time has no shares, and one of no devices has no parts") {
  check_metrics(metrics_of(drawn(2, "0", ""), {}), "*=none");
  CHECK(device_parts(Timeline{}).empty());
  check_metrics(compute_metrics(Timeline{}, {}, {}), "*=none");
}

TEST_CASE("an event of a device that the timeline does not have is our own mistake and is named") {
  for (const char* picture : {"1: run 0 0..5", "3: idle 0..5", "1: items 0 0..5"})
    CHECK_THROWS_AS(device_parts(drawn(1, "10", picture)), Error);
}

TEST_CASE("the metrics of two unequal devices are those of the definitions") {
  // Devices with speeds 1:3 share 100 items as 60 : 40; T is 25, against single-device baselines of
  // 30 and 90. Device 1 has 0.40 although 0.25 is ideal.
  const Timeline t = drawn(2, "25", R"(
    0: up 0 0..5, run 0 3..23, fly 0..25, items 0 0..60
    1: up 0 0..5, run 0 5..20, fly 0..20, sync 20..25, items 0 60..100)");
  check_metrics(metrics_of(t, {Nanos{25}, {Nanos{30}, Nanos{90}}, Nanos{20}, 0.5}),
                "speedup=1.2 ideal_speedup=1.333333 efficiency=0.9 karp_flatt=0.333333 "
                "balance=0.869565 overlap=0.2 comm_share=0.16 sync_share=0.1 share_error=0.6 "
                "prediction_error=0.2 roofline_fraction=0.5 utilisation_stdev=0.1");
  const Timeline idle = drawn(2, "100", "0: run 0 0..100, fly 0..100, items 0 0..8 1: sync 0..100");
  check_metrics(metrics_of(idle, {}),
                "balance=0 sync_share=0.5 utilisation_stdev=0.5 overlap=none");
}

TEST_CASE("speed-ups need every device's time alone, and what compares devices several") {
  const std::string none_of_alone =
      "speedup=none ideal_speedup=none efficiency=none karp_flatt=none share_error=none";
  const Timeline two = drawn(2, "25", "0: run 0 0..20, items 0 0..10");
  check_metrics(metrics_of(two, {Nanos{25}, {Nanos{30}, std::nullopt}, {}, {}}), none_of_alone);
  check_metrics(metrics_of(two, {Nanos{25}, {Nanos{30}}, {}, {}}), none_of_alone);
  check_metrics(
      metrics_of(drawn(1, "20", "0: run 0 0..20, items 0 0..10"), {Nanos{20}, {Nanos{20}}, {}, {}}),
      "speedup=1 efficiency=1 karp_flatt=none balance=none share_error=none "
      "utilisation_stdev=none");
  // Two measurements of one device make no speed-up, however different they are.
  check_metrics(metrics_of(drawn(1, "20", "0: run 0 0..20, items 0 0..10"),
                           {Nanos{20}, {Nanos{277}}, {}, {}}),
                "speedup=1 ideal_speedup=1 efficiency=1 karp_flatt=none");
}

TEST_CASE("on random pipelines with gapless spans the parts of every device add up to T") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    Timeline t = test::random_pipeline(random);
    for (std::uint32_t d = 0; d < t.devices; ++d) {
      std::int64_t at = 0;
      for (int k = 0; at < t.makespan.count(); ++k) {
        const std::int64_t to = std::min(
            t.makespan.count(), at + std::uniform_int_distribution<std::int64_t>(1, 200)(random));
        t.spans.push_back({{d}, static_cast<HostState>(k % 4), Nanos{at}, Nanos{to}});
        at = to;
      }
    }
    for (const DeviceParts& p : device_parts(t)) {
      if (!p.unknown.empty()) continue;  // a kernel that takes no time
      CHECK(p.residue == Nanos{0});
      CHECK(sum_of_parts(p) == t.makespan);
      CHECK(p.busy == p.upload + p.compute + p.download);
      CHECK(p.transfer_total - p.transfer_hidden == p.upload + p.download);
      for (const Nanos part : {p.upload, p.compute, p.download, p.launch, p.sync, p.idle})
        CHECK(part >= Nanos{0});
    }
  }
}

TEST_CASE("every metric is listed once, with a unit and a definition") {
  std::set<std::string> names;
  for (const MetricInfo& m : all_metrics()) {
    CHECK(names.insert(m.name).second);
    CHECK(find_metric(m.name) == &m);
    CHECK(std::string(m.definition).size() > 10);
    CHECK((std::string_view(m.unit) == "x" || std::string_view(m.unit) == "1" ||
           std::string_view(m.unit) == "%" || std::string_view(m.unit) == "ms"));
  }
  CHECK(find_metric("speed") == nullptr);
}

TEST_CASE("kinds and states have the names the result file uses") {
  CHECK(std::string(to_string(CommandKind::upload)) == "upload");
  CHECK(std::string(to_string(CommandKind::compute)) == "compute");
  CHECK(std::string(to_string(CommandKind::download)) == "download");
  CHECK(std::string(to_string(HostState::in_flight)) == "in_flight");
  CHECK(std::string(to_string(HostState::sync)) == "sync");
  CHECK(std::string(to_string(HostState::idle)) == "idle");
  CHECK(std::string(to_string(HostState::waking)) == "waking");
}
