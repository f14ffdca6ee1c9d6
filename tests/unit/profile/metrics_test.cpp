// Metrics and parts of T: the check values of the design, and timelines whose every part is known.
#include "lib/profile/metrics.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "lib/base/error.hpp"
#include "lib/profile/rounds.hpp"
#include "tests/support/timelines.hpp"

using namespace mgpu;
using test::TimelineBuilder;

namespace {

std::vector<Nanos> nanos(std::initializer_list<std::int64_t> values) {
  std::vector<Nanos> all;
  for (const std::int64_t v : values) all.push_back(Nanos{v});
  return all;
}

Nanos sum(const DeviceParts& p) {
  return p.upload + p.compute + p.download + p.exchange + p.launch + p.sync + p.idle;
}

}  // namespace

TEST_CASE("busy times 10, 12, 8, 20 give balance 0.40, imbalance 60 % and DeRose 50 %") {
  const auto busy = nanos({10, 12, 8, 20});
  CHECK(balance(busy).value() == doctest::Approx(0.40));
  CHECK(imbalance_percent(busy).value() == doctest::Approx(60.0));
  CHECK(imbalance_derose_percent(busy).value() == doctest::Approx(50.0));
}

TEST_CASE(
    "an exchange counts where nothing else runs, its bytes where they leave and where they "
    "arrive") {
  const Timeline t = TimelineBuilder(2, 100)
                         .upload(0, kPrepare, 0, 20)
                         .exchange(0, 1, false, 10, 40, 64)
                         .compute(0, 0, 30, 90)
                         .exchange(1, 0, true, 0, 40)
                         .compute(1, 0, 40, 100)
                         .span(0, HostState::in_flight, 0, 90)
                         .span(0, HostState::sync, 90, 100)
                         .span(1, HostState::in_flight, 0, 100)
                         .merge(100, 100)
                         .get();
  const std::vector<DeviceParts> parts = device_parts(t);
  CHECK(parts[0].exchange == Nanos{10});  // from 20 to 30
  CHECK(parts[1].exchange == Nanos{40});
  for (const DeviceParts& p : parts) {
    CHECK(p.exchanges);
    CHECK(p.residue == Nanos{0});
    CHECK(sum(p) == Nanos{100});
  }
  CHECK(parts[0].bytes_sent == 64);
  CHECK(parts[1].bytes_received == 64);
  CHECK(parts[1].bytes_sent + parts[0].bytes_received == 0);
  CHECK(parts[0].transfer_total == Nanos{20});
  using Times = DeviceParts::ExchangeTimes;
  CHECK(parts[0].exchange_times == Times{Nanos{10}, Nanos{30}, Nanos{}});
  CHECK(parts[1].exchange_times == Times{Nanos{}, Nanos{40}, Nanos{40}});
  const Metrics m = compute_metrics(t, parts, {Nanos{100}, {}, {}, {}});
  CHECK(m.exchange_share.value() == doctest::Approx(0.25));
  CHECK(m.waiting_share.value() == doctest::Approx(0.2));
  CHECK(m.exchange_overlap.value() == doctest::Approx(10.0 / 70));
  const Timeline none = TimelineBuilder(1, 10).compute(0, 0, 0, 10).get();
  CHECK_FALSE(device_parts(none)[0].exchange_times);
  const Metrics without = compute_metrics(none, device_parts(none), {Nanos{10}, {}, {}, {}});
  CHECK_FALSE(without.exchange_share);
  CHECK_FALSE(without.waiting_share);
  CHECK_FALSE(without.exchange_overlap);
}

TEST_CASE(
    "a device waits where it receives and neither computes nor transfers, also while it sends") {
  const Timeline t = TimelineBuilder(2, 100)
                         .exchange(0, 1, true, 0, 50)
                         .exchange(0, 1, false, 10, 60, 8)
                         .upload(0, kPrepare, 5, 15)
                         .compute(0, 0, 40, 70)
                         .get();
  CHECK(device_parts(t)[0].exchange_times ==
        DeviceParts::ExchangeTimes{Nanos{20}, Nanos{60}, Nanos{30}});
}

TEST_CASE(
    "imbalance of rounds: longest over mean time under kernels of each round, and the round in "
    "which it is greatest") {
  const Timeline t =
      TimelineBuilder(2, 200)
          .compute(0, 0, 0, 99)  // of no round
          .compute(0, 0, 100, 110)
          .of_round(4)
          .compute(0, 0, 105, 120)  // 20 in all
          .of_round(4)
          .compute(1, 0, 100, 120)
          .of_round(4)
          .compute(0, 0, 120, 150)
          .of_round(5)
          .compute(1, 0, 120, 130)
          .of_round(5)
          .exchange(1, 0, true, 130, 150)
          .of_round(5)
          .compute(0, 0, 150, 250)  // 50 of it inside the sample, and the other does nothing
          .of_round(6)
          .exchange(1, 0, true, 160, 170)
          .of_round(7)
          .get();
  const RoundImbalance rounds = round_imbalance(t).value();
  CHECK(rounds.mean == doctest::Approx((0.0 + 50 + 100) / 3));
  CHECK(rounds.worst == doctest::Approx(100));
  CHECK(rounds.worst_round == 6);
  const Metrics m = compute_metrics(t, std::vector<DeviceParts>(2), {Nanos{200}, {}, {}, {}});
  CHECK(m.round_imbalance_percent == rounds.mean);
  CHECK(m.worst_round_imbalance_percent == rounds.worst);
  CHECK_FALSE(round_imbalance(TimelineBuilder(1, 10).compute(0, 0, 0, 10).of_round(0).get()));
  CHECK_FALSE(
      round_imbalance(TimelineBuilder(2, 10).compute(0, 0, 0, 10).compute(1, 0, 0, 10).get()));
  CHECK_THROWS_AS(round_imbalance(TimelineBuilder(2, 10).compute(2, 0, 0, 10).of_round(0).get()),
                  Error);
}

TEST_CASE("devices that take 10, 20 and 40 alone have ideal_speedup 1.75, and equal ones n") {
  CHECK(ideal_speedup(nanos({10, 20, 40})).value() == doctest::Approx(1.75));
  CHECK(ideal_speedup(nanos({30, 30, 30, 30})).value() == doctest::Approx(4.0));
  CHECK(ideal_speedup(nanos({30})).value() == doctest::Approx(1.0));
  CHECK_FALSE(ideal_speedup(nanos({})));
  CHECK_FALSE(ideal_speedup(nanos({10, 0})));
}

TEST_CASE(
    "the serial fraction is 0 at ideal_speedup, 1 without speedup and undefined for one device") {
  CHECK(karp_flatt(4, 4).value() == doctest::Approx(0.0));
  CHECK(karp_flatt(1, 4).value() == doctest::Approx(1.0));
  CHECK(karp_flatt(2, 4).value() == doctest::Approx((0.5 - 0.25) / 0.75));
  CHECK_FALSE(karp_flatt(1, 1));
  CHECK_FALSE(karp_flatt(0, 4));
}

TEST_CASE(
    "figures that need two devices are undefined for one, and for devices that did nothing at "
    "all") {
  CHECK_FALSE(balance(nanos({5})));
  CHECK_FALSE(imbalance_percent(nanos({5})));
  CHECK_FALSE(imbalance_derose_percent(nanos({5})));
  CHECK_FALSE(balance(nanos({0, 0})));
  CHECK_FALSE(imbalance_percent(nanos({0, 0})));
  CHECK_FALSE(imbalance_derose_percent(nanos({0, 0})));
  CHECK(balance(nanos({0, 7})).value() == 0);
  CHECK(imbalance_percent(nanos({0, 7})).value() == doctest::Approx(100.0));
  CHECK(imbalance_derose_percent(nanos({0, 7})).value() == doctest::Approx(100.0));
}

TEST_CASE("every part of a hand-made timeline is what was put there, and the residue is 0") {
  // upload 10-30, compute 25-60, download 55-80 of one slice; in flight 5-85, sync 85-100, idle
  // 0-5.
  const Timeline t = TimelineBuilder(1, 100)
                         .upload(0, 0, 10, 30, 1000)
                         .compute(0, 0, 25, 60)
                         .download(0, 0, 55, 80, 64)
                         .span(0, HostState::idle, 0, 5)
                         .span(0, HostState::in_flight, 5, 85)
                         .span(0, HostState::sync, 85, 100)
                         .slice(0, 0, 0, 40)
                         .get();
  const DeviceParts p = device_parts(t).at(0);
  CHECK(p.compute == Nanos{35});
  CHECK(p.upload == Nanos{15});    // 20, of which 5 under compute
  CHECK(p.download == Nanos{20});  // 25, of which 5 under compute
  CHECK(p.launch == Nanos{10});    // 5-10 and 80-85
  CHECK(p.sync == Nanos{15});
  CHECK(p.idle == Nanos{5});
  CHECK(p.residue == Nanos{0});
  CHECK(p.busy == Nanos{70});
  CHECK(p.finish == Nanos{80});
  CHECK(p.transfer_total == Nanos{45});
  CHECK(p.transfer_hidden == Nanos{10});
  CHECK(p.items == 40);
  CHECK(p.slices == 1);
  CHECK(p.bytes_in == 1000);
  CHECK(p.bytes_out == 64);
}

TEST_CASE("time under several commands counts once: compute before upload before download") {
  const Timeline t = TimelineBuilder(1, 50)
                         .upload(0, 0, 0, 30)
                         .upload(0, 1, 20, 40)  // two uploads that overlap each other
                         .compute(0, 0, 10, 15)
                         .download(0, 0, 12, 50)
                         .get();
  const DeviceParts p = device_parts(t).at(0);
  CHECK(p.compute == Nanos{5});
  CHECK(p.upload == Nanos{35});
  CHECK(p.download == Nanos{10});
  CHECK(p.transfer_total == Nanos{50});
  CHECK(p.transfer_hidden == Nanos{5});
  CHECK(p.busy == Nanos{50});
}

TEST_CASE(
    "a hole in the host's spans shows as residue, and spans that overlap show as a negative one") {
  TimelineBuilder hole(1, 100);
  hole.compute(0, 0, 10, 40).span(0, HostState::in_flight, 0, 50).span(0, HostState::sync, 70, 100);
  CHECK(device_parts(hole.get()).at(0).residue == Nanos{20});
  TimelineBuilder twice(1, 100);
  twice.compute(0, 0, 10, 40)
      .span(0, HostState::in_flight, 0, 60)
      .span(0, HostState::sync, 50, 100);
  CHECK(device_parts(twice.get()).at(0).residue == Nanos{-10});
}

TEST_CASE("a command outside every span counts as a command and leaves no residue behind") {
  const Timeline t = TimelineBuilder(1, 100)
                         .compute(0, 0, 40, 60)
                         .span(0, HostState::in_flight, 0, 40)
                         .span(0, HostState::idle, 60, 100)
                         .get();
  const DeviceParts p = device_parts(t).at(0);
  CHECK(p.launch == Nanos{40});
  CHECK(p.idle == Nanos{40});
  CHECK(p.compute == Nanos{20});
  CHECK(p.residue == Nanos{0});
}

TEST_CASE("commands running while the host waits or idles count as commands, not as sync or idle") {
  const Timeline t = TimelineBuilder(1, 100)
                         .compute(0, 0, 0, 30)
                         .download(0, 0, 50, 60)
                         .span(0, HostState::idle, 0, 40)
                         .span(0, HostState::sync, 40, 100)
                         .get();
  const DeviceParts p = device_parts(t).at(0);
  CHECK(p.idle == Nanos{10});
  CHECK(p.sync == Nanos{50});
  CHECK(p.launch == Nanos{0});
  CHECK(p.residue == Nanos{0});
}

TEST_CASE("what a clock error moves outside the sample is not part of T") {
  const Timeline t = TimelineBuilder(1, 100)
                         .upload(0, 0, -7, 10)
                         .compute(0, 0, 10, 109)
                         .download(0, 0, 110, 120)
                         .span(0, HostState::in_flight, 0, 100)
                         .get();
  const DeviceParts p = device_parts(t).at(0);
  CHECK(p.upload == Nanos{10});
  CHECK(p.compute == Nanos{90});
  CHECK(p.download == Nanos{0});
  CHECK(p.finish == Nanos{100});
  CHECK(p.residue == Nanos{0});
}

TEST_CASE("a device that did nothing has only waiting time") {
  const Timeline t = TimelineBuilder(2, 100)
                         .compute(0, 0, 0, 100)
                         .span(0, HostState::in_flight, 0, 100)
                         .span(1, HostState::sync, 0, 100)
                         .slice(0, 0, 0, 8)
                         .get();
  const auto parts = device_parts(t);
  CHECK(parts.at(1).sync == Nanos{100});
  CHECK(parts.at(1).residue == Nanos{0});
  CHECK(parts.at(1).finish == Nanos{0});
  const Metrics m = compute_metrics(t, parts, {});
  CHECK(m.balance.value() == 0);
  CHECK(m.sync_share.value() == doctest::Approx(0.5));
  CHECK(m.utilisation_stdev.value() == doctest::Approx(0.5));
  CHECK_FALSE(m.overlap);
}

TEST_CASE(
    "a merge on a device is that device's work but not its finish; a merge on the host is "
    "nobody's") {
  TimelineBuilder on_device(2, 100);
  on_device.compute(0, 0, 0, 50)
      .compute(1, 0, 0, 60)
      .compute(0, kMerge, 70, 90)
      .merge(65, 95, DeviceIndex{0});
  on_device.span(0, HostState::in_flight, 0, 50)
      .span(0, HostState::sync, 50, 70)
      .span(0, HostState::in_flight, 70, 100);
  const auto parts = device_parts(on_device.get());
  CHECK(parts.at(0).finish == Nanos{50});
  CHECK(parts.at(0).busy == Nanos{70});
  CHECK(parts.at(0).launch == Nanos{10});
  CHECK(parts.at(0).residue == Nanos{0});
  TimelineBuilder on_host(1, 100);
  on_host.compute(0, 0, 0, 60)
      .merge(60, 100)
      .span(0, HostState::in_flight, 0, 60)
      .span(0, HostState::sync, 60, 100);
  CHECK(device_parts(on_host.get()).at(0).sync == Nanos{40});
}

TEST_CASE("a timeline of no time has no shares, and one of no devices has no parts") {
  const Timeline t = TimelineBuilder(2, 0).get();
  const Metrics m = compute_metrics(t, device_parts(t), {});
  CHECK_FALSE(m.comm_share);
  CHECK_FALSE(m.sync_share);
  CHECK_FALSE(m.utilisation_stdev);
  CHECK_FALSE(m.balance);
  CHECK_FALSE(m.prediction_error);
  CHECK(device_parts(Timeline{}).empty());
  CHECK_FALSE(compute_metrics(Timeline{}, {}, {}).comm_share);
}

TEST_CASE("an event of a device that the timeline does not have is our own mistake and is named") {
  CHECK_THROWS_AS(device_parts(TimelineBuilder(1, 10).compute(1, 0, 0, 5).get()), Error);
  CHECK_THROWS_AS(device_parts(TimelineBuilder(1, 10).span(3, HostState::idle, 0, 5).get()), Error);
  CHECK_THROWS_AS(device_parts(TimelineBuilder(1, 10).slice(1, 0, 0, 5).get()), Error);
}

TEST_CASE("the metrics of two unequal devices are those of the definitions") {
  // 1:3 devices that share 75 : 25 of 100 items; T 25 against 30 and 90 alone.
  const Timeline t = TimelineBuilder(2, 25)
                         .upload(0, 0, 0, 5)
                         .compute(0, 0, 3, 23)
                         .upload(1, 0, 0, 5)
                         .compute(1, 0, 5, 20)
                         .span(0, HostState::in_flight, 0, 25)
                         .span(1, HostState::in_flight, 0, 20)
                         .span(1, HostState::sync, 20, 25)
                         .slice(0, 0, 0, 60)
                         .slice(1, 0, 60, 100)
                         .get();
  const MetricsInput input{Nanos{25}, {Nanos{30}, Nanos{90}}, Nanos{20}, 0.5};
  const Metrics m = compute_metrics(t, device_parts(t), input);
  CHECK(m.speedup.value() == doctest::Approx(1.2));
  CHECK(m.ideal_speedup.value() == doctest::Approx(4.0 / 3));
  CHECK(m.efficiency.value() == doctest::Approx(0.9));
  CHECK(m.karp_flatt.value() == doctest::Approx((1 / 1.2 - 0.75) / 0.25));
  CHECK(m.balance.value() == doctest::Approx(20.0 / 23));
  CHECK(m.overlap.value() == doctest::Approx(2.0 / 10));
  CHECK(m.comm_share.value() == doctest::Approx(8.0 / 50));
  CHECK(m.sync_share.value() == doctest::Approx(5.0 / 50));
  CHECK(m.share_error.value() == doctest::Approx(0.6));  // device 1 has 0.40 where 0.25 were ideal
  CHECK(m.prediction_error.value() == doctest::Approx(0.2));
  CHECK(m.roofline_fraction.value() == 0.5);
  CHECK(m.utilisation_stdev.value() == doctest::Approx(0.1));  // 0.8 and 0.6
}

TEST_CASE("speedup, ideal_speedup and what follows from them need every device's time alone") {
  const Timeline t = TimelineBuilder(2, 25).compute(0, 0, 0, 20).slice(0, 0, 0, 10).get();
  const Metrics m =
      compute_metrics(t, device_parts(t), {Nanos{25}, {Nanos{30}, std::nullopt}, {}, {}});
  CHECK_FALSE(m.speedup);
  CHECK_FALSE(m.ideal_speedup);
  CHECK_FALSE(m.efficiency);
  CHECK_FALSE(m.karp_flatt);
  CHECK_FALSE(m.share_error);
  CHECK_FALSE(compute_metrics(t, device_parts(t), {Nanos{25}, {Nanos{30}}, {}, {}}).ideal_speedup);
}

TEST_CASE("one device has a speedup of its own but nothing that compares devices") {
  const Timeline t = TimelineBuilder(1, 20).compute(0, 0, 0, 20).slice(0, 0, 0, 10).get();
  const Metrics m = compute_metrics(t, device_parts(t), {Nanos{20}, {Nanos{20}}, {}, {}});
  CHECK(m.speedup.value() == doctest::Approx(1.0));
  CHECK(m.efficiency.value() == doctest::Approx(1.0));
  CHECK_FALSE(m.karp_flatt);
  CHECK_FALSE(m.balance);
  CHECK_FALSE(m.share_error);
  CHECK_FALSE(m.utilisation_stdev);
}

TEST_CASE(
    "on random pipelines with gapless spans the parts of every device add up to T with no "
    "residue") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    Timeline t = test::random_pipeline(random);
    for (std::uint32_t d = 0; d < t.devices; ++d) {
      std::int64_t at = 0;
      for (int k = 0; at < t.makespan.count(); ++k) {
        const std::int64_t to = std::min(
            t.makespan.count(), at + std::uniform_int_distribution<std::int64_t>(1, 200)(random));
        t.spans.push_back({{d}, static_cast<HostState>(k % 3), Nanos{at}, Nanos{to}});
        at = to;
      }
    }
    for (const DeviceParts& p : device_parts(t)) {
      if (!p.unknown.empty()) continue;  // a kernel that takes no time
      CHECK(p.residue == Nanos{0});
      CHECK(sum(p) == t.makespan);
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
    CHECK((std::string(m.unit) == "x" || std::string(m.unit) == "1" || std::string(m.unit) == "%"));
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
}
