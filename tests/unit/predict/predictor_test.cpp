// Estimates and predictions for unknown devices, for probed ones and by calibration alone; and
// links that devices share.
#include "lib/predict/predictor.hpp"

#include <doctest/doctest.h>

#include "tests/support/gathered_sum.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Two fake GPUs, the second at 0.5 items per microsecond, with programs of a sum.
struct TwoGpus {
  explicit TwoGpus(double first_ops_per_s = 1e6)
      : backend({with_rate("0:0", first_ops_per_s), with_rate("0:1", 0.5e6)}, sum_kernels()),
        executor(backend, 2) {
    facts = backend.enumerate().devices;
    for (const Device& device : facts) {
      open.push_back(backend.open(device));
      const Capacity capacity =
          workload.capacity(open.back()->resources().traits(), Mode::resident);
      programs.push_back(workload.program(open.back()->resources(), Mode::resident, capacity));
      programs.back()->load(open.back()->stream());
      finish_batch(backend, *open.back(), open.back()->submit());
      known.push_back({.facts = &device, .capacity = capacity});
    }
  }
  static FakeDevice with_rate(const std::string& id, double ops_per_s) {
    FakeDevice made = sum_device(id, DeviceType::gpu);
    made.ops_per_s = ops_per_s;
    return made;
  }
  Predictor predictor() {
    return {workload, Mode::resident, known, known.size(), nullptr, nullptr};
  }
  void probe(Predictor& predictor, const std::vector<std::size_t>& devices) {
    std::vector<Participant> participants;
    for (const std::size_t i : devices) participants.push_back({open[i].get(), programs[i].get()});
    REQUIRE(predictor.probe(backend, executor, devices, participants).empty());
  }

  // Returns a predictor with every set of devices probed.
  Predictor probed_predictor() {
    Predictor made = predictor();
    for (const auto& devices : {std::vector<std::size_t>{0}, {1}, {0, 1}}) probe(made, devices);
    return made;
  }

  FakeBackend backend;
  Executor executor;
  SumWorkload workload{1 << 16};
  std::vector<Device> facts;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<KnownDevice> known;
};

const std::vector<std::size_t> kBoth = {0, 1};

StrategyChoice choice_of(const StrategyInfo& info) {
  StrategyChoice choice;
  choice.info = &info;
  for (const StrategyParam& param : info.params) choice.params[param.name] = param.standard;
  return choice;
}

}  // namespace

TEST_CASE("a prediction needs a probe of exactly the devices of the case") {
  TwoGpus gpus;
  Predictor predictor = gpus.predictor();
  Prediction prediction;
  const StrategyChoice equal = strategy_with(&StrategyTraits::equal_shares);
  prediction.estimates = predictor.estimate(kBoth);
  REQUIRE(prediction.estimates.devices.size() == 2);
  CHECK(prediction.estimates.devices[0].items_per_s == 0);
  CHECK(prediction.estimates.devices[0].fits == gpus.known[0].capacity.fits);
  predictor.predict(prediction, equal, {});
  CHECK_FALSE(prediction.expected);

  gpus.probe(predictor, {0});
  gpus.probe(predictor, {1});
  CHECK(predictor.estimate(kBoth).devices[0].items_per_s == 0);
  CHECK(predictor.estimate(std::vector<std::size_t>{1}).devices[0].items_per_s ==
        doctest::Approx(0.5e6).epsilon(0.01));
  gpus.probe(predictor, kBoth);
  prediction.estimates = predictor.estimate(kBoth);
  CHECK(prediction.estimates.devices[0].items_per_s == doctest::Approx(1e6).epsilon(0.01));
  CHECK(prediction.estimates.devices[1].items_per_s == doctest::Approx(0.5e6).epsilon(0.01));
  predictor.predict(prediction, equal, {});
  REQUIRE(prediction.expected);
  CHECK(seconds(prediction.expected->makespan) == doctest::Approx((1 << 15) / 0.5e6).epsilon(0.02));
}

namespace {

// A sum whose merges take 5 us, and 100 ns per part; the first one takes twice as long.
class TimedSum : public SumWorkload, public TimedMerge {
 public:
  TimedSum(FakeBackend& backend, Items items) : SumWorkload(items), backend_(backend) {}
  WorkloadInterfaces interfaces() override { return {.timed_merge = this}; }
  void rehearse_merge(std::size_t parts) override {
    const Nanos takes{5000 + 100 * static_cast<std::int64_t>(parts)};
    backend_.advance(backend_.now() + (calls++ == 0 ? 2 : 1) * takes);
  }
  int calls = 0;

 private:
  FakeBackend& backend_;
};

}  // namespace

TEST_CASE("merges that count are timed on this host, unless estimates are given") {
  TwoGpus gpus;
  TimedSum timed(gpus.backend, 1 << 16);
  Predictor predictor(timed, Mode::resident, gpus.known, 2, nullptr, nullptr);
  CHECK(predictor.estimate(kBoth).merge.per_slice == timed.shape().merge.per_slice);
  predictor.time_merge(gpus.backend);
  CHECK(predictor.estimate(kBoth).merge.fixed == Nanos{5000});
  CHECK(predictor.estimate(kBoth).merge.per_slice == Nanos{100});

  SetEstimates given;
  given.merge.fixed = Nanos{7};
  const int before = timed.calls;
  Predictor told(timed, Mode::resident, gpus.known, 2, nullptr, &given);
  told.time_merge(gpus.backend);
  CHECK(timed.calls == before);
  CHECK(told.estimate(kBoth).merge.fixed == Nanos{7});
}

TEST_CASE("kernels of a GPU take as long beside a CPU as alone, beside a GPU as was seen") {
  TwoGpus alone, together(0.25e6);
  Predictor predictor = alone.predictor();
  alone.probe(predictor, {0});
  alone.probe(predictor, {1});
  together.probe(predictor, kBoth);
  CHECK(predictor.estimate(kBoth).devices[0].items_per_s == doctest::Approx(0.25e6).epsilon(0.01));
  alone.facts[1].type = DeviceType::cpu;
  CHECK(predictor.estimate(kBoth).devices[0].items_per_s == doctest::Approx(1e6).epsilon(0.01));
  alone.facts[0].type = DeviceType::cpu;
  CHECK(predictor.estimate(kBoth).devices[0].items_per_s == doctest::Approx(0.25e6).epsilon(0.01));
}

TEST_CASE("auto is chosen before it is predicted, and what was chosen is what begins") {
  TwoGpus gpus;
  Predictor predictor = gpus.probed_predictor();
  Prediction prediction;
  prediction.estimates = predictor.estimate(kBoth);
  const StrategyChoice automatic = choice_of(auto_strategy());
  predictor.choose(prediction, automatic);
  REQUIRE(prediction.chosen);
  predictor.predict(prediction, automatic, {});
  REQUIRE(prediction.expected);
  CHECK(prediction.expected->makespan == prediction.chosen->chosen.predicted);
  CHECK(seconds(prediction.expected->makespan) == doctest::Approx((1 << 16) / 1.5e6).epsilon(0.05));
  Prediction equal{prediction.estimates, {}, {}};
  predictor.choose(equal, strategy_with(&StrategyTraits::equal_shares));
  CHECK_FALSE(equal.chosen);
}

TEST_CASE("calibration gives rates, and a link unless all are CPUs; what is given wins") {
  TwoGpus gpus;
  const Capability capability{};
  SuiteRate rate;
  rate.ops_per_s = 2e6;
  for (KnownDevice& device : gpus.known) {
    device.capability = &capability;
    device.rate = &rate;
  }
  const LinkCapability link{{"0:0", "0:1"}, 7e9, 6e9};
  const Predictor calibrated(gpus.workload, Mode::resident, gpus.known, 2, &link, nullptr);
  const double ops = cost_of(gpus.workload, Mode::resident).ops;
  CHECK(calibrated.estimate_from_calibration().devices[1].items_per_s ==
        doctest::Approx(2e6 / ops));
  CHECK(calibrated.estimate_from_calibration().link_up == 7e9);
  for (Device& facts : gpus.facts) facts.type = DeviceType::cpu;
  CHECK_FALSE(calibrated.estimate_from_calibration().link_up.limited());

  SetEstimates given;
  given.devices.resize(2);
  given.devices[1].items_per_s = 123;
  given.link_down = 5e9;
  const Predictor overridden(gpus.workload, Mode::resident, gpus.known, 2, &link, &given);
  CHECK(overridden.estimate(kBoth).devices[1].items_per_s == 123);
  CHECK(overridden.estimate(kBoth).link_down == 5e9);
  CHECK_FALSE(overridden.estimate(kBoth).link_up.limited());
}

TEST_CASE("a link carries what was seen, no more than calibrated, and grows as calibrated") {
  const LinkRate calibrated({100e9, 100e9, 130e9, 150e9});
  const std::vector<double> alike(4, 55e9), unlike{50e9, 60e9, 50e9, 40e9};
  const LinkRate slower = link_of(120e9, alike, calibrated);
  CHECK(slower.of(4) == doctest::Approx(120e9));
  CHECK(slower.of(3) == doctest::Approx(104e9));
  CHECK(slower.of(2) == doctest::Approx(80e9));
  CHECK(link_of(220e9, alike, calibrated) == calibrated);
  CHECK(link_of(220e9, {55e9, 55e9, 55e9}, calibrated) == LinkRate({100e9, 100e9, 130e9}));
  CHECK(link_of(110e9, {55e9, 55e9}, calibrated) == 100e9);
  // If the growth is unknown, the rate per device decreases linearly with the number of devices; a
  // single one gets 200.
  const LinkRate link = link_of(120e9, unlike, {});
  CHECK(link.of(4) == doctest::Approx(120e9));
  CHECK(link.of(3) == doctest::Approx(160e9 * (1 - 0.4 * 2 / 3)));
  CHECK(link.of(2) == doctest::Approx(110e9 * (1 - 0.4 / 3)));
  CHECK(link.of(1) == doctest::Approx(60e9));
  CHECK(link_of(200e9, unlike, {}) == 200e9);  // they do not slow each other down
  CHECK(link_of(200e9, unlike, 150e9).of(4) == doctest::Approx(150e9));
  CHECK_FALSE(link_of(0, {0, 0, 0}, {}).limited());  // CPUs
  // The joint rate of a set says nothing about a single device, nor about fewer unless that was
  // measured.
  const LinkCapability all_only{{"0:0", "0:1", "0:2"}, 7e9, 7e9},
      by_count{{"0:0", "0:1", "0:2"}, LinkRate({8e9, 8e9, 9e9}), 7e9};
  CHECK(all_only.knows(3));
  CHECK_FALSE(all_only.knows(2));
  CHECK(by_count.knows(2));
  CHECK_FALSE(by_count.knows(1));
  CHECK(LinkCapability{{"0:0"}, 7e9, 7e9}.knows(1));
}

TEST_CASE("what the set exchanges is estimated among the devices of a case") {
  TwoGpus gpus;
  Predictor predictor = gpus.probed_predictor();
  CHECK_FALSE(predictor.estimate(kBoth).exchange.any());
  CHECK(predictor.estimate(kBoth).devices[0].fixed_shared == Nanos{});
  PeerLinks links(2, {PeerPath::direct, 1e10, Nanos{100}});
  links.of(1, 0).latency = Nanos{200};
  predictor.set_exchange({links, false, 8});
  const SetEstimates both = predictor.estimate(kBoth);
  CHECK(both.exchange.links == links);
  CHECK(both.exchange.combines == 8);
  CHECK_FALSE(both.exchange.gathers);
  // The shared part is only the download of its sum, which was measured.
  for (const DeviceEstimate& device : both.devices) CHECK(device.fixed_shared == Nanos{1});
  CHECK(both.devices[0].fixed >= both.devices[0].fixed_shared);
  const SetEstimates alone = predictor.estimate(std::vector<std::size_t>{1});
  CHECK_FALSE(alone.exchange.any());
  CHECK(alone.devices[0].fixed_shared == Nanos{});
  predictor.set_exchange({});
  CHECK_FALSE(predictor.estimate(kBoth).exchange.any());
}

TEST_CASE("halos that kernels exchange take no time where paths are direct and nobody waits") {
  Exchanged exchanged{false, 0, 100, 65536, true};
  PeerLinks links(3, {PeerPath::direct, 1e11, Nanos{15'000}});
  CHECK_FALSE(exchange_estimate(exchanged, links, false).any());
  const ExchangeEstimate held = exchange_estimate(exchanged, links, true);
  CHECK(held.rounds == 100);
  CHECK(held.halo == 65536);
  CHECK(held.links == links);
  links.of(2, 1).path = PeerPath::staged;
  CHECK(exchange_estimate(exchanged, links, false).rounds == 100);
  links.of(2, 1).path = PeerPath::direct;
  exchanged.hides_halos = false;
  CHECK(exchange_estimate(exchanged, links, false).halo == 65536);
  exchanged = {true, 64, 100, 65536, true};
  const ExchangeEstimate others =
      exchange_estimate(exchanged, links, false);  // which are not hidden
  CHECK(others.gathers);
  CHECK(others.combines == 64);
  CHECK(others.rounds == 0);
}

TEST_CASE("by calibration alone a CPU copies with its cores, a part of what is gathered") {
  GatheredSum workload(1 << 20);  // 8 MiB
  Device facts;
  facts.type = DeviceType::cpu;
  Capability capability;
  capability.pinned_up = 1e9;
  SuiteRate rate;
  rate.ops_per_s = 1e9;
  rate.fixed = Nanos{1000};
  const std::vector<KnownDevice> known(2,
                                       {.facts = &facts, .capability = &capability, .rate = &rate});
  Predictor predictor(workload, Mode::end_to_end, known, 2, nullptr, nullptr);
  constexpr Nanos copying{8 << 20};
  CHECK(predictor.estimate_from_calibration().devices[1].fixed == Nanos{1000} + copying);
  CHECK(predictor.estimate_from_calibration().devices[1].fixed_shared == Nanos{});
  predictor.set_exchange({PeerLinks(2, {PeerPath::host, 1e10, {}}), true, 0});
  CHECK(predictor.estimate_from_calibration().devices[1].fixed == Nanos{1000} + copying);
  CHECK(predictor.estimate_from_calibration().devices[1].fixed_shared == copying);
  const Predictor resident(workload, Mode::resident, known, 2, nullptr, nullptr);
  CHECK(resident.estimate_from_calibration().devices[1].fixed == Nanos{1000});
}

TEST_CASE("devices that a plan does not use exchange nothing") {
  TwoGpus gpus;
  Predictor predictor = gpus.probed_predictor();
  for (const bool fast : {true, false}) {
    CAPTURE(fast);
    predictor.set_exchange(
        {PeerLinks(2, {PeerPath::direct, fast ? 1e12 : 1e6, {}}), false, 1 << 20});
    for (const StrategyChoice& strategy :
         {choice_of(auto_strategy()), parse_strategies("latency").front()}) {
      Prediction prediction;
      prediction.estimates = predictor.estimate(kBoth);
      predictor.choose(prediction, strategy);
      predictor.predict(prediction, strategy, {});
      REQUIRE(prediction.expected);
      const auto source = predictor.begin(prediction, strategy, {});
      CHECK(predictor.exchanging(prediction, *source) == std::vector<bool>(2, fast));
      CHECK((prediction.expected->devices[1].items > 0) == fast);
      CHECK((prediction.expected->merge > Nanos{}) == fast);
      if (prediction.chosen)
        CHECK(prediction.expected->makespan == prediction.chosen->chosen.predicted);
    }
  }
}
