// Device time stamps mapped to the host's clock: exact if the clocks are sane, clamped to bounds
// otherwise.
#include "lib/exec/sample.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "lib/profile/metrics.hpp"

using namespace mgpu;

namespace {

RawSample sample_with_kernel(std::uint64_t started, std::uint64_t ended) {
  RawSample sample;
  sample.begin = Nanos{5'000'000'000};
  sample.end = Nanos{5'000'100'000};
  RawCommand command;
  command.started = started;
  command.ended = ended;
  sample.batches.push_back({DeviceIndex{0}, 0, {command}});
  return sample;
}

ClockMap exact_clock() {
  ClockMap map;
  map.method = "bounds";
  map.reference_device = 1'790'000'000'000'000'000ull;
  map.reference_host = Nanos{5'000'000'000};
  map.drift_ppb = -8500;
  map.uncertainty = Nanos{6'000};
  return map;
}

}  // namespace

TEST_CASE("a timeline holds what its clocks are sure of") {
  const ClockMap map = exact_clock();
  const Timeline t =
      to_timeline(sample_with_kernel(map.reference_device + 10'000, map.reference_device + 20'000),
                  std::span(&map, 1));
  CHECK(t.uncertainty == std::vector<Nanos>{Nanos{6'000}});
  CHECK(t.commands.at(0).started == Nanos{10'000});
  CHECK(device_parts(t)[0].compute == Nanos{10'000});
}

TEST_CASE("no stamp overflows, whatever the device gives and whatever its clock was fitted to") {
  const std::uint64_t reference = exact_clock().reference_device;
  for (const std::uint64_t stamp : std::initializer_list<std::uint64_t>{
           std::uint64_t{0}, reference + (1ull << 62), reference + (1ull << 63),
           reference - (1ull << 62), std::numeric_limits<std::uint64_t>::max()}) {
    CAPTURE(stamp);
    ClockMap map = exact_clock();
    for (const double drift :
         {0.0, -8500.0, 1e18, -1e18, std::numeric_limits<double>::quiet_NaN()}) {
      map.drift_ppb = drift;
      const Timeline t =
          to_timeline(sample_with_kernel(reference + 10'000, stamp), std::span(&map, 1));
      const Command& c = t.commands.at(0);
      CHECK(c.ended <= kFarthest);
      CHECK(c.ended >= -kFarthest);
      CHECK_FALSE(device_parts(t)[0].unknown.empty());
      CHECK(device_parts(t)[0].busy == Nanos{});
    }
  }
}

TEST_CASE("items that another device computed than the one whose first share they were in") {
  RawSample sample;
  const auto slice = [&](std::uint32_t device, Items begin, Items end, bool lost = false) {
    sample.slices.push_back({{DeviceIndex{device}, 0, begin, end, {}, {}}, lost});
  };
  slice(0, 0, 60);
  slice(1, 100, 200);
  slice(2, 60, 80);                 // of device 0
  slice(0, 200, 240);               // of device 2
  slice(1, 80, 100);                // of device 0
  slice(2, 240, 300);               // its own
  slice(1, 200, 300, true);         // lost with the device
  CHECK(items_moved(sample) == 0);  // no shares were set apart
  sample.first_shares = {100, 100, 100};
  CHECK(items_moved(sample) == 20 + 40 + 20);
  sample.first_shares = {110, 90, 100};
  CHECK(items_moved(sample) == 20 + 40 + 20 + 10);  // a part of the second slice
}
