// Energy of runs against sensors that are as bad as real ones: their true energy is known.
#include "lib/session/energy_block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace mgpu;

namespace {

// A counter that advances every `period`, and sees power through a lag, for a share of the time,
// as an average of some of its periods. It is read every few milliseconds.
class FakeSensor {
 public:
  double period = 0.1, duty = 1, lag = 0;  // s
  std::size_t averaged = 1;                // periods
  std::mt19937_64 random;

  void spend(double watts, double time) {
    while (time > 0) {
      const double sampled_until = begun_ + duty * length_, ends = begun_ + length_;
      double part = std::min({time, ends - now_, read_at_ - now_});
      const bool sampled = now_ < sampled_until;
      if (sampled) part = std::min(part, sampled_until - now_);
      part = std::max(part, 1e-9);
      const double decay = lag > 0 ? std::exp(-part / lag) : 0;
      if (sampled) seen_ += watts * part + (lagged_ - watts) * lag * (1 - decay);
      lagged_ = watts + (lagged_ - watts) * decay;
      now_ += part;
      time -= part;
      if (now_ >= ends - 1e-10) advance();
      if (now_ >= read_at_ - 1e-10) read();
    }
  }
  Nanos now() const { return from_seconds(now_); }
  std::vector<TelemetryTrack> take() {
    TelemetryTrack taken{"0:0", std::move(readings_)};
    readings_.assign(1, taken.readings.back());
    return {std::move(taken)};
  }

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  }
  void advance() {
    history_.push_back(seen_ / (duty * length_));
    if (history_.size() > averaged) history_.erase(history_.begin());
    power_ = 0;
    for (const double one : history_) power_ += one / static_cast<double>(history_.size());
    counter_ += power_ * length_;
    begun_ = now_;
    length_ = period * uniform(0.95, 1.05);
    seen_ = 0;
  }
  void read() {
    TelemetryReading& reading = readings_.emplace_back();
    reading.at = now();
    reading.energy_j = std::floor(counter_ * 1000) / 1000;  // in mJ
    if (readings_.size() % 20 == 0) reading[Gauge::power] = power_;
    read_at_ = now_ + uniform(0.001, 0.004);
  }

  double now_ = 0, begun_ = 0, length_ = 0.1, seen_ = 0, lagged_ = 0, power_ = 0, counter_ = 0,
         read_at_ = 0;
  std::vector<double> history_;
  std::vector<TelemetryReading> readings_;
};

// A run of two phases of different power.
struct FakeWork {
  double length = 0, first = 0;  // s; the share of the first phase
  double watts[2] = {0, 0};
  double joules() const { return length * (first * watts[0] + (1 - first) * watts[1]); }
};

struct Measured {
  double error = 0;  // relative
  double half_width = 0;
  double seconds = 0;
};

Measured measure(FakeSensor& sensor, const FakeWork& work, double idle_w) {
  sensor.spend(idle_w, 3);
  sensor.take();
  sensor.spend(idle_w, 2);
  const auto idle = idle_power(sensor.take().front());
  REQUIRE(idle);
  const double begin = seconds(sensor.now());
  const EnergyWork hands{[&]() -> std::optional<TimeWindow> {
                           const Nanos from = sensor.now();
                           sensor.spend(work.watts[0], work.length * work.first);
                           sensor.spend(work.watts[1], work.length * (1 - work.first));
                           return TimeWindow{from, sensor.now()};
                         },
                         [&](Nanos pause) { sensor.spend(idle_w, seconds(pause)); },
                         [&] { return sensor.take(); }};
  const auto first = measure_energy(hands, {&*idle, 1}, {true}),
             second = measure_energy(hands, {&*idle, 1}, {true});
  REQUIRE(first);
  REQUIRE(second);
  const EnergyFigures figures = mean_of(*first, *second).counters.front();
  REQUIRE(figures.joules);
  return {*figures.joules / work.joules() - 1, figures.half_width / work.joules(),
          seconds(sensor.now()) - begin};
}

}  // namespace

TEST_CASE("two blocks in mirrored order take a drift out, and their interval has it") {
  const auto block = [](double joules) {
    EnergyFigures figures;
    figures.joules = figures.by_power = joules;
    figures.parts = {joules - 0.1, joules + 0.1};
    figures.runs = 10;
    figures.run = Nanos{300};
    return EnergyBlock{{figures}, {{Nanos{0}, Nanos{3000}}}};
  };
  // The first case takes 10 and 13 J, the second 11 and 12.
  const EnergyBlock cases[] = {mean_of(block(10), block(13)), mean_of(block(11), block(12))};
  for (const EnergyBlock& one : cases) {
    const EnergyFigures& figures = one.counters.front();
    CHECK(*figures.joules == 11.5);
    CHECK(*figures.by_power == 11.5);
    CHECK(figures.runs == 20);
    CHECK(figures.run == Nanos{300});
    CHECK(figures.parts.size() == 4);
    CHECK(one.windows.size() == 2);
  }
  CHECK(cases[0].counters.front().half_width > 1.5);
  EnergyBlock unknown = block(10);
  unknown.counters.front().joules.reset();
  CHECK_FALSE(mean_of(block(10), unknown).counters.front().joules);
}

TEST_CASE("energy of a run is within 2 % of the truth by any sensor, and intervals hold it") {
  std::mt19937_64 random(7);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  };
  std::size_t held = 0, cases = 0;
  double worst = 0, time = 0;
  for (; cases < 1000; ++cases) {
    FakeSensor sensor;
    sensor.random.seed(cases);
    sensor.period = uniform(0.02, 0.1);
    sensor.duty = uniform(0, 1) < 0.5 ? 0.25 : 1;
    sensor.lag = uniform(0, 1) < 0.5 ? 0 : uniform(0, 0.3);
    sensor.averaged =
        uniform(0, 1) < 0.7 ? 1 : static_cast<std::size_t>(std::ceil(1 / sensor.period));
    const double idle_w = uniform(50, 120);
    FakeWork work;
    work.length = 1e-4 * std::pow(3000, uniform(0, 1));
    work.first = uniform(0.1, 0.9);
    for (double& watts : work.watts) watts = uniform(150, 700);
    const Measured measured = measure(sensor, work, idle_w);
    CAPTURE(cases);
    CAPTURE(work.length);
    CAPTURE(sensor.period);
    CAPTURE(sensor.duty);
    CAPTURE(sensor.lag);
    CAPTURE(sensor.averaged);
    CAPTURE(measured.half_width);
    CHECK(std::abs(measured.error) < 0.02);
    worst = std::max(worst, std::abs(measured.error));
    held += std::abs(measured.error) <= measured.half_width;
    time += measured.seconds;
  }
  MESSAGE("worst ", worst, ", held ", held, ", mean time ", time / static_cast<double>(cases));
  CHECK(held >= 950);
}
