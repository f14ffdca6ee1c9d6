// Estimates corrected by a sample: a simulation with them takes as long as the sample did.
#include "lib/plan/as_measured.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "lib/base/error.hpp"
#include "lib/plan/rounds.hpp"
#include "tests/support/simulated_set.hpp"

using namespace mgpu;
using test::SimulatedSet;

namespace {

// Records each assignment, and whether it was held back until nothing else was in flight.
class Recorder final : public SliceSource {
 public:
  Recorder(SliceSource& source, std::size_t devices) : source_(source), finished_(devices, 0) {
    sample.devices.resize(devices);
  }
  Answer next(DeviceIndex device) override {
    Answer answer = source_.next(device);
    if (const auto* slice = std::get_if<Slice>(&answer)) {
      auto& given = sample.devices[device.value].slices;
      given.push_back({*slice, !given.empty() && finished_[device.value] == given.size()});
    }
    return answer;
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override {
    ++finished_[device.value];
    source_.finished(device, slice, busy);
  }
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override {
    source_.rejected(device, slice, at_most);
  }
  void lost(DeviceIndex device, std::span<const Slice> slices) override {
    source_.lost(device, slices);
  }
  void joined(DeviceIndex device) override { source_.joined(device); }

  MeasuredSample sample;

 private:
  SliceSource& source_;
  std::vector<std::size_t> finished_;
};

SimulatedSet measured_set(std::size_t count, bool end_to_end = false) {
  SimulatedSet set(count, 60'000, 15'000, "launch=50 fixed=400 merge=1000 per_slice=200");
  if (end_to_end) set.set("end-to-end in=32 up=50");
  if (end_to_end) set.request.link_up = LinkRate({50e9, 80e9, 90e9});
  return set;
}

// Returns the sample that is "measured" if these devices are the truth.
MeasuredSample measured(SimulatedSet& truth, const std::string& strategy) {
  const PlanRequest& request = truth.asked();
  const StrategyChoice choice = parse_strategies(strategy).front();
  const auto source = begin_strategy(*choice.info, choice.params, request, {});
  Recorder recorder(*source, request.devices.size());
  const Simulation simulation = simulate(request, recorder);
  MeasuredSample sample = std::move(recorder.sample);
  for (std::size_t i = 0; i < request.devices.size(); ++i) {
    sample.devices[i].busy = simulation.devices[i].busy;
    sample.devices[i].finish = simulation.devices[i].finish;
  }
  sample.merge = simulation.merge;
  sample.makespan = simulation.makespan;
  return sample;
}

Nanos time_under(SimulatedSet set, const SetEstimates& corrected, const std::string& strategy) {
  set.estimates = corrected.devices;
  set.request.link_up = corrected.link_up;
  set.request.link_down = corrected.link_down;
  set.request.merge = corrected.merge;
  set.request.exchange = corrected.exchange;
  return set.under(strategy).makespan;
}

bool near(Nanos a, Nanos b, double share = 0.01) {
  return std::abs(seconds(a) - seconds(b)) <= share * seconds(b);
}

}  // namespace

TEST_CASE("estimates that said how long a sample takes stay as they are") {
  for (const bool end_to_end : {false, true}) {
    for (const char* strategy : {"equal", "dynamic", "guided", "stealing"}) {
      SimulatedSet estimated = measured_set(3, end_to_end);
      const SetEstimates corrected = as_measured(estimated.asked(), measured(estimated, strategy));
      for (const DeviceEstimate& device : corrected.devices) {
        CHECK(device.items_per_s == doctest::Approx(1e9).epsilon(1e-3));
        CHECK(near(device.fixed, Nanos{400}));
      }
      CHECK(near(corrected.merge.fixed, Nanos{1000}));
      CHECK(corrected.link_up.limited() == estimated.request.link_up.limited());
      if (corrected.link_up.limited())
        CHECK(corrected.link_up.of(3) == doctest::Approx(90e9).epsilon(1e-3));
    }
  }
}

TEST_CASE("a device that took twice as long has half the rate, also under other strategies") {
  SimulatedSet estimated = measured_set(2), truth = estimated;
  truth.estimates[1].items_per_s /= 2;
  truth.estimates[1].launch *= 2;
  truth.estimates[1].fixed *= 2;
  truth.request.merge.fixed *= 3;
  truth.request.merge.per_slice *= 3;
  for (const char* strategy : {"equal", "dynamic", "guided"}) {
    const SetEstimates corrected = as_measured(estimated.asked(), measured(truth, strategy));
    CHECK(corrected.devices[0].items_per_s == doctest::Approx(1e9).epsilon(1e-3));
    CHECK(corrected.devices[1].items_per_s == doctest::Approx(0.5e9).epsilon(1e-3));
    CHECK(near(corrected.merge.per_slice, Nanos{600}));
    for (const char* other : {"equal", "capability", "latency", "dynamic"}) {
      CHECK(near(time_under(estimated, corrected, other), measured(truth, other).makespan));
    }
  }
}

TEST_CASE("of work in rounds who was busy for longer is slower, however long the others waited") {
  SimulatedSet estimated(2, 60'000, 15'000, "fixed=400");
  estimated.request.rounds = 10;
  estimated.request.exchange = {PeerLinks(2, {PeerPath::direct, 1e9, Nanos{50}}), false, 0, 9, 40};
  SimulatedSet truth = estimated;
  truth.estimates[1].items_per_s /= 2;
  const SetEstimates corrected = as_measured(estimated.asked(), measured(truth, "equal"));
  CHECK(corrected.devices[0].items_per_s == doctest::Approx(1e9).epsilon(0.03));
  CHECK(corrected.devices[1].items_per_s == doctest::Approx(0.5e9).epsilon(0.03));
  CHECK(near(time_under(estimated, corrected, "equal"), measured(truth, "equal").makespan));
  CHECK(near(time_under(estimated, corrected, "capability"), measured(truth, "capability").makespan,
             0.05));
}

TEST_CASE("a device that works alone is as it was alone") {
  SimulatedSet estimated = measured_set(1);
  estimated.estimates[0].per_peer_contention = Nanos{100};
  estimated.asked();
  const DeviceEstimate alone = as_measured_alone(estimated.request, Nanos{90'000});
  CHECK(alone.per_peer_contention == Nanos{});
  estimated.estimates[0] = alone;
  CHECK(near(estimated.under("single").makespan, Nanos{90'000}, 1e-4));
}

TEST_CASE("where the link is what took longer, the link is slower") {
  SimulatedSet estimated = measured_set(3, true), truth = estimated;
  truth.request.link_up = LinkRate({50e9, 60e9, 60e9});
  const MeasuredSample sample = measured(truth, "equal");
  const SetEstimates corrected = as_measured(estimated.asked(), sample);
  CHECK(corrected.link_up.of(3) < 75e9);
  CHECK(near(time_under(estimated, corrected, "equal"), sample.makespan));
}

TEST_CASE("links between devices are slower where everything was, and where combining was") {
  for (const bool combines : {false, true}) {
    CAPTURE(combines);
    SimulatedSet estimated = measured_set(3, true), truth = estimated;
    for (SimulatedSet* set : {&estimated, &truth}) {
      set->request.cost.replicated = 8 << 20;
      set->request.exchange = {PeerLinks(3, {PeerPath::direct, 1e11, Nanos{500}}), !combines,
                               combines ? 8u << 20 : 0};
    }
    for (std::size_t from = 0; from < 3; ++from)
      for (std::size_t to = 0; to < 3; ++to)
        truth.request.exchange.links.of(from, to).bytes_per_s = 1e10;
    const MeasuredSample sample = measured(truth, "equal");
    const SetEstimates corrected = as_measured(estimated.asked(), sample);
    CHECK(corrected.exchange.links.of(0, 1).bytes_per_s < 8e10);
    CHECK(near(time_under(estimated, corrected, "equal"), sample.makespan));
  }
}

TEST_CASE("a device without a part was as slow as all the others; what came late counts") {
  SimulatedSet estimated = measured_set(2), truth = estimated;
  for (DeviceEstimate& device : truth.estimates)
    device.items_per_s /= 3, device.launch *= 3, device.fixed *= 3;
  MeasuredSample sample = measured(truth, "single");
  const SetEstimates corrected = as_measured(estimated.asked(), sample);
  for (const DeviceEstimate& device : corrected.devices)
    CHECK(device.items_per_s == doctest::Approx(1e9 / 3).epsilon(1e-3));
  const Nanos late = sample.makespan;
  sample.makespan += late;  // the sample takes twice as long, the device does not
  CHECK(near(time_under(estimated, as_measured(estimated.asked(), sample), "single"),
             sample.makespan, 0.02));
}

TEST_CASE("times that are no measurement end in figures that can be used") {
  SimulatedSet estimated = measured_set(2);
  MeasuredSample sample = measured(estimated, "equal");
  sample.devices[0].finish = sample.makespan = Nanos::max();
  sample.devices[1].finish = Nanos{1};
  for (const DeviceEstimate& device : as_measured(estimated.asked(), sample).devices) {
    CHECK(device.items_per_s > 0);
    CHECK(std::isfinite(device.items_per_s));
    CHECK(device.fixed >= Nanos{});
    CHECK(seconds(device.fixed) <= 1e6);
  }
}

TEST_CASE("a sample that is not every item once says nothing") {
  SimulatedSet estimated = measured_set(2);
  const MeasuredSample right = measured(estimated, "equal");
  const auto refused = [&](const std::function<void(MeasuredSample&)>& change) {
    MeasuredSample wrong = right;
    change(wrong);
    CHECK_THROWS_AS(as_measured(estimated.asked(), wrong), Error);
  };
  CHECK_NOTHROW(as_measured(estimated.asked(), right));
  refused([](MeasuredSample& sample) { sample.devices[1].slices.pop_back(); });
  refused([](MeasuredSample& sample) {
    sample.devices[0].slices.push_back(sample.devices[1].slices.front());
  });
  refused([](MeasuredSample& sample) { sample.devices[0].slices.front().slice.begin += 1; });
  refused([](MeasuredSample& sample) { sample.devices.pop_back(); });
}
