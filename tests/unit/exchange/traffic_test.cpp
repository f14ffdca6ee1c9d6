// What collectives send and wait for, counted while they run on 1 to 8 devices of the fake backend,
// and compared with what each algorithm needs.
#include "lib/exchange/traffic.hpp"

#include <doctest/doctest.h>

#include "tests/support/collective_check.hpp"
#include "tests/support/collective_kernels.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Bytes kSmall = 4096, kLarge = Bytes{1} << 20;  // below and above what is sent at once

// Returns the traffic of a call that is not the first of its kind.
Traffic traffic_on(std::size_t devices, Collective collective, Bytes bytes, PeerPath path) {
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < devices; ++i) fakes.push_back(fake_device("0:" + std::to_string(i)));
  FakeBackend backend(fakes, collective_kernels());
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const Device& device : backend.enumerate().devices) open.push_back(backend.open(device));
  Connected connected(backend, open, devices, path, bytes);
  const CollectiveCall call{collective, Element::f32, Reduction::sum, bytes / 4, {}};
  CHECK(connected.right(call, 1));
  connected.collectives().begin_count();
  CHECK(connected.right(call, 2));
  const Traffic traffic = connected.collectives().end_count();
  CHECK(connected.right(call, 3));  // no longer counted
  return traffic;
}

}  // namespace

TEST_CASE("steps of collectives do not grow with the devices, and bytes are those that they need") {
  for (std::size_t n = 1; n <= 8; ++n) {
    const auto check = [&](Collective collective, Bytes bytes, std::uint64_t steps, Bytes sent,
                           PeerPath path = PeerPath::staged) {
      CAPTURE(n);
      CAPTURE(to_string(collective));
      CAPTURE(bytes);
      const Traffic traffic = traffic_on(n, collective, bytes, path);
      CHECK(traffic.steps == (n > 1 ? steps : 0));
      CHECK(traffic.sent == (n > 1 ? sent : 0));
    };
    const std::uint64_t others = n - 1;
    // The largest part of elements that are shared by n devices, in units of 16 bytes.
    const auto part = [&](Bytes bytes) {
      Bytes largest = 0;
      for (std::size_t i = 0; i < n; ++i)
        largest = std::max(largest, part_of(bytes / 4, Element::f32, n, i).size() * 4);
      return largest;
    };
    check(Collective::barrier, 0, 1, 0);
    check(Collective::broadcast, kSmall, 2, others * kSmall);
    // Devices say that they have come, send everything to all, and say that it is there.
    check(Collective::all_reduce, kSmall, 2, others * kSmall);
    check(Collective::all_gather, kSmall, 2, others * part(kSmall));
    check(Collective::all_to_all, kSmall, 2, kSmall - kSmall / n / 16 * 16);
    check(Collective::neighbours, kSmall, 2, std::min<std::uint64_t>(others, 2) * kSmall);
    if (n == 1 || n == 2 || n == 4 || n == 8) {  // parts of the same size
      check(Collective::reduce_scatter, kLarge, 2, kLarge - kLarge / n);
      // Parts are scattered, and gathered: both ends tell that memory is free again.
      check(Collective::all_reduce, kLarge, 2, 2 * (kLarge - kLarge / n));
      check(Collective::reduce, kLarge, 3, kLarge);
      // Its kernels store their sums into the memory of the others.
      check(Collective::all_reduce, kLarge, 2, 2 * (kLarge - kLarge / n), PeerPath::direct);
    }
    if (n > 2) check(Collective::broadcast, kLarge, 3, kLarge);
  }
}
