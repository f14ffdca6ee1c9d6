// Exchange between OpenCL devices: the data that arrives over each path, and collectives compared
// with plain loops.
#include <doctest/doctest.h>

#include <chrono>

#include "lib/exchange/collectives.hpp"
#include "tests/support/collective_check.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::test {
namespace {

using testing::machine;

constexpr std::uint64_t kLargest =
    300'007;  // elements: several pieces of a staged put, scattered and gathered

// Returns the GPUs of this machine, else its test devices; a lone one is opened several times, each
// time in a context of its own. Among four, broadcasts go in parts.
std::vector<std::unique_ptr<OpenDevice>>& devices_here() {
  Backend& backend = *machine().backend;  // made before, so that it is destroyed after
  static std::vector<std::unique_ptr<OpenDevice>> opened;
  if (!opened.empty()) return opened;
  std::vector<Device> found = backend.enumerate().devices;
  std::erase_if(found, [](const Device& device) { return device.is_cpu(); });
  if (found.empty() && machine().open.size() > 1) return machine().open;
  if (found.empty()) found.push_back(backend.enumerate().devices.front());
  const std::size_t times = found.size() > 1 ? 1 : testing::is_thorough() ? 4 : 2;
  for (const Device& device : found)
    for (std::size_t i = 0; i < times; ++i) opened.push_back(backend.open(device));
  return opened;
}

bool on_cpus() { return devices_here().front()->resources().traits().cpu; }

std::vector<PeerPath> paths_here() {
  std::vector<PeerPath> paths{PeerPath::staged};
  if (on_cpus()) paths.push_back(PeerPath::host);
  if (devices_here().front()->resources().traits().nvidia) paths.push_back(PeerPath::direct);
  return paths;
}

}  // namespace

TEST_CASE("exchange: collectives on every path equal plain loops, the same bits on all devices") {
  for (const PeerPath path : paths_here()) {
    CAPTURE(to_string(path));
    Connected connected(*machine().backend, devices_here(), devices_here().size(), path,
                        kLargest * 8);
    std::uint64_t seed = 1;
    for (const Collective collective : all_collectives()) {
      CAPTURE(to_string(collective));
      const bool in_place = collective == Collective::all_reduce;
      for (const std::uint64_t count :
           {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1021}, kLargest}) {
        ++seed;
        CHECK(connected.right({collective, Element::f32, Reduction::sum, count, {0}}, seed,
                              in_place, seed % 3, 2));
      }
    }
  }
}

// One device is opened several times. What it sends to all others at once does not fit into its
// slots: neither the pieces of one put to each of four, nor the puts to each of nine.
TEST_CASE("exchange: more devices than slots, staged, also with several calls enqueued together") {
  for (const auto& sizes : {std::pair<std::size_t, std::uint64_t>{4, 1'200'001}, {9, 300'007}}) {
    const std::size_t count = sizes.first;
    const std::uint64_t elements = sizes.second;
    CAPTURE(count);
    std::vector<std::unique_ptr<OpenDevice>> often;
    for (std::size_t i = 0; i < count; ++i)
      often.push_back(machine().backend->open(machine().backend->enumerate().devices.front()));
    {
      Connected connected(*machine().backend, often, count, PeerPath::staged, elements * 4);
      for (const Collective collective :
           {Collective::all_reduce, Collective::all_to_all, Collective::broadcast}) {
        CAPTURE(to_string(collective));
        CHECK(connected.right({collective, Element::f32, Reduction::sum, elements, {0}}, count,
                              false, 0, 2));
      }
    }
    for (const auto& device : often) CHECK(try_drain(*machine().backend, *device));
  }
}

TEST_CASE("exchange: every type and operation, of odd sizes") {
  Connected connected(*machine().backend, devices_here(), devices_here().size(), {}, 4096);
  std::uint64_t seed = 100;
  for (const Element element : all_elements()) {
    if (element == Element::f64 && !devices_here().front()->resources().traits().fp64) continue;
    for (const Reduction reduction : all_reductions()) {
      // Each combination is a kernel: the quick tier has one operation for every type.
      if (!testing::is_thorough() &&
          static_cast<std::size_t>(element) % 3 != static_cast<std::size_t>(reduction))
        continue;
      INFO(to_string(element), " ", to_string(reduction));
      CHECK(connected.right({Collective::all_reduce, element, reduction, 509, {0}}, ++seed, false,
                            1));
    }
  }
}

TEST_CASE("exchange: a lost device ends what the others wait for, and the check names it") {
  Connected connected(*machine().backend, devices_here(), 2, PeerPath::staged, 4096);
  OpenDevice& device = *devices_here()[0];
  const DeviceIndex other{1};
  connected.group().peer({0}).sync({}, std::span(&other, 1));
  const BatchId batch = device.submit();
  // On a busy machine the commands before the wait take a while to end.
  const auto begin = std::chrono::steady_clock::now();
  do {
    CHECK_FALSE(device.complete(batch));
  } while (connected.group().awaited_by({0}) != other &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  CHECK(connected.group().awaited_by({0}) == other);
  connected.group().mark_failed(other);
  finish_batch(*machine().backend, device, batch);
  CHECK_THROWS_AS(connected.group().check({0}), Error);
}

TEST_CASE(
    "exchange: a peer that stays away ends a collective of one launch, and the check names it") {
  if (!devices_here().front()->resources().traits().nvidia) return;
  const WaitLimits limits{std::chrono::seconds(4), std::chrono::seconds(60)};
  const LimitsInForce force(*machine().backend, limits);
  // Few elements travel in numbered words, more in tiles.
  for (const std::uint64_t count : {std::uint64_t{1000}, kLargest}) {
    Connected connected(*machine().backend, devices_here(), 2, PeerPath::direct, kLargest * 4);
    const auto memory = connected.group().allocate(kLargest * 4);
    OpenDevice& device = *devices_here()[0];
    connected.collectives().enqueue({0}, {Collective::all_reduce, Element::f32, {}, count, {}},
                                    {&memory->piece({0})}, {memory.get()}, device.stream());
    finish_batch(*machine().backend, device, device.submit());
    CHECK_THROWS_WITH_AS(connected.group().check({0}), doctest::Contains("gave no signal"), Error);
  }
}

TEST_CASE("exchange: a path that a pair does not have is refused") {
  if (machine().open.size() < 2 || !on_cpus()) return;
  const auto connect = [] {
    Connected(*machine().backend, machine().open, 2, PeerPath::direct, 64);
  };
  CHECK(kind_of_error(connect) == ErrorKind::unsupported);
}

}  // namespace mgpu::test
