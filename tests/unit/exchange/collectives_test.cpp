// Collectives on the fake backend: each of them, on any number of devices, of any size and type,
// equals a plain loop; and the effect of failing peers on the others.
#include "lib/exchange/collectives.hpp"

#include <doctest/doctest.h>

#include "tests/support/collective_check.hpp"
#include "tests/support/collective_kernels.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/sum_workload.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

struct Fakes {
  explicit Fakes(std::size_t count, FakeScript script = {}, FakeTime time = FakeTime::is_virtual)
      : backend(devices(count, std::move(script)), collective_kernels(), time) {
    for (const Device& device : backend.enumerate().devices) open.push_back(backend.open(device));
  }
  // Returns the devices, the last of which has the script.
  static std::vector<FakeDevice> devices(std::size_t count, FakeScript script) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(fake_device("0:" + std::to_string(i)));
    made.back().script = std::move(script);
    return made;
  }
  FakeBackend backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
};

constexpr std::uint64_t kLargest = 33'013;  // elements of f64: more than is exchanged at once

}  // namespace

TEST_CASE("devices put into the others from the next one on: no two begin with the same") {
  const std::vector<DeviceIndex> members{{2}, {3}, {5}, {8}};
  CHECK(others_of(members, {2}) == std::vector<DeviceIndex>{{3}, {5}, {8}});
  CHECK(others_of(members, {5}) == std::vector<DeviceIndex>{{8}, {2}, {3}});
  CHECK(others_of(members, {8}) == std::vector<DeviceIndex>{{2}, {3}, {5}});
  CHECK(others_of(members, {9}) == members);
  CHECK(others_of({}, {0}).empty());
}

TEST_CASE("every collective of every type and operation equals a plain loop on 1 to 8 devices" *
          doctest::test_suite("one thread")) {
  // One in N sizes is tested: N is a prime, so that each size comes with every collective, type and
  // operation.
  const std::size_t every = testing::is_thorough() ? 1 : kSanitized ? 7 : 3;
  std::size_t turn = 0;
  for (const std::size_t n : testing::first_when_quick<std::size_t>(4, {1, 2, 3, 8, 4, 5, 6, 7})) {
    Fakes fakes(n);
    Connected connected(fakes.backend, fakes.open, n, {}, kLargest * 8);
    std::uint64_t seed = n;
    for (const Collective collective : all_collectives()) {
      for (const Element element : all_elements()) {
        for (const Reduction reduction : all_reductions()) {
          if (!reduces(collective) && reduction != Reduction::sum) continue;
          for (const std::uint64_t count : testing::first_when_quick<std::uint64_t>(
                   4, {0, 1, 33, 1021, 2, 3, 5, 8, 31, 32, 1000})) {
            if (turn++ % every != 0) continue;
            const CollectiveCall call{
                collective, element, reduction, count, {static_cast<std::uint32_t>(seed % n)}};
            CAPTURE(n);
            CAPTURE(to_string(collective));
            CAPTURE(to_string(element));
            CAPTURE(count);
            ++seed;
            CHECK(connected.right(call, seed, false, seed % 3));
          }
        }
      }
    }
  }
}

TEST_CASE("large calls, which are scattered and gathered, one after another in the same place" *
          doctest::test_suite("one thread")) {
  for (const std::size_t n : testing::first_when_quick<std::size_t>(1, {3, 2, 8})) {
    Fakes fakes(n);
    Connected connected(fakes.backend, fakes.open, n, {}, kLargest * 8);
    for (const Collective collective : all_collectives()) {
      const bool in_place = collective == Collective::broadcast ||
                            collective == Collective::reduce ||
                            collective == Collective::all_reduce;
      const CollectiveCall call{collective, Element::f64, Reduction::sum, kLargest, {1}};
      CAPTURE(n);
      CAPTURE(to_string(collective));
      CHECK(connected.right(call, n, in_place, 1, 3));
    }
  }
}

TEST_CASE("parts are in order, together everything, and equal to 16 bytes" *
          doctest::test_suite("one thread")) {
  for (const Element element : all_elements()) {
    const std::uint64_t granule = 16 / bytes_of(element);
    for (std::size_t parts = 1; parts <= 9; ++parts) {
      for (std::uint64_t count = 0; count < 300; count += testing::is_thorough() ? 1 : 7) {
        const std::uint64_t equal = count / parts;
        std::uint64_t at = 0;
        bool right = true;
        for (std::size_t i = 0; i < parts; ++i) {
          const Part part = part_of(count, element, parts, i);
          right = right && part.begin == at && part.size() + granule > equal &&
                  part.size() < equal + 2 * granule;
          at = part.end;
        }
        CAPTURE(parts);
        CAPTURE(count);
        CHECK((right && at == count));
      }
    }
  }
}

TEST_CASE("a put takes what its bytes take, and a wait ends with the signal: to the nanosecond") {
  Fakes fakes(2);
  Connected connected(fakes.backend, fakes.open, 2, {}, 64);
  const auto memory = connected.group().allocate(1 << 20);
  Peer& first = connected.group().peer({0});
  Peer& second = connected.group().peer({1});
  const DeviceIndex zero{0}, one{1};
  const Nanos begin = fakes.backend.now();
  second.sync({}, std::span(&zero, 1));  // enqueued before the signal that it waits for
  first.put(memory->piece({0}), 0, *memory, one, 0, 1 << 20);
  first.sync(std::span(&one, 1), {});
  const BatchId sent = fakes.open[0]->submit(), arrived = fakes.open[1]->submit();
  while (!fakes.open[0]->complete(sent) || !fakes.open[1]->complete(arrived))
    REQUIRE(fakes.backend.advance({}));
  const auto commands = fakes.open[0]->take(sent), waits = fakes.open[1]->take(arrived);
  REQUIRE(commands.size() == 2);
  REQUIRE(waits.size() == 1);
  const Nanos put = std::chrono::microseconds(2) + from_seconds((1 << 20) / 1e11),
              all = put + std::chrono::microseconds(2);
  CHECK(commands[0].kind == CommandKind::exchange);
  CHECK(commands[0].bytes == 1 << 20);
  CHECK(commands[0].exchange == ExchangeInfo{one, PeerPath::direct, false});
  CHECK(Nanos(static_cast<std::int64_t>(commands[0].ended - commands[0].started)) == put);
  CHECK(waits[0].exchange == ExchangeInfo{zero, PeerPath::direct, true});
  CHECK(waits[0].ended == commands[1].ended);
  CHECK(Nanos(static_cast<std::int64_t>(waits[0].ended - waits[0].started)) == all);
  CHECK(fakes.backend.now() - begin == all);
}

TEST_CASE("a peer that fails in the middle: the others end when it is given up, and name it") {
  const CollectiveCall call{Collective::all_reduce, Element::f64, Reduction::sum, kLargest, {}};
  for (const auto& [kind, of_call, devices] : {std::tuple{FakeFault::Kind::hang, 0, 2},
                                               {FakeFault::Kind::hang, 1, 3},
                                               {FakeFault::Kind::hang, 2, 5},
                                               {FakeFault::Kind::error, 0, 3},
                                               {FakeFault::Kind::error, 1, 5},
                                               {FakeFault::Kind::error, 2, 2}}) {
    const auto at = static_cast<std::uint64_t>(of_call);  // number of a put, and of its two signals
    const auto n = static_cast<std::uint32_t>(devices), bad = n - 1;
    CAPTURE(at);
    CAPTURE(n);
    Fakes fakes(n, fails_from(FakeCall::exchange, at, kind));
    Connected connected(fakes.backend, fakes.open, n, {}, kLargest * 8);
    const auto memory = connected.group().allocate(kLargest * 8);
    std::vector<BatchId> batches;
    for (std::uint32_t i = 0; i < n; ++i) {
      connected.collectives().enqueue({i}, call, {&memory->piece({i}), 0}, {memory.get(), 0},
                                      fakes.open[i]->stream());
      batches.push_back(fakes.open[i]->submit());
    }
    const auto ends = [&](std::uint32_t device) {
      const auto done = [&] { return fakes.open[device]->complete(batches[device]); };
      wait_until(fakes.backend, "device", std::chrono::seconds(1), {}, done, [] {});
    };
    CHECK_THROWS_AS(ends(bad), Error);  // it failed, or does not answer
    bool hung = false;
    for (std::uint32_t i = 0; i < bad; ++i) {
      if (thrown_by([&] { ends(i); }).kind() != ErrorKind::timeout) continue;
      hung = true;
      // It waits for the one that failed, or for another that waits for that one.
      DeviceIndex awaited{i};
      for (std::size_t step = 0; step < n; ++step) awaited = connected.group().awaited_by(awaited);
      CHECK(awaited == DeviceIndex{bad});
    }
    CHECK(hung == (kind == FakeFault::Kind::hang));
    connected.group().mark_failed({bad});
    for (std::uint32_t i = 0; i < bad; ++i) {
      CHECK_NOTHROW(ends(i));
      CHECK(has(thrown_by([&] { connected.group().check({i}); }).what(),
                "device 0:" + std::to_string(bad)));
    }
  }
}

TEST_CASE("a bit that flips on the way is seen") {
  const auto flips = [](FakeCall call, std::uint64_t number) {
    return call == FakeCall::exchange && number == 0 ? FakeFault{FakeFault::Kind::corrupt}
                                                     : FakeFault{};
  };
  Fakes fakes(2, flips);
  Connected connected(fakes.backend, fakes.open, 2, {}, kLargest * 8);
  CHECK_FALSE(connected.right({Collective::all_reduce, Element::u32, Reduction::sum, 1000, {}}, 1));
}

TEST_CASE("in real time, devices on threads of their own") {
  Fakes fakes(4, {}, FakeTime::is_real);
  Connected connected(fakes.backend, fakes.open, 4, {}, kLargest * 8);
  const CollectiveCall call{Collective::all_reduce, Element::f32, Reduction::sum, 66'000, {}};
  const auto memory = connected.group().allocate(call.count * 4);
  std::vector<Bytestring> given, outputs(4, Bytestring(call.count * 4));
  for (std::uint32_t i = 0; i < 4; ++i) {
    given.push_back(random_elements(Element::f32, call.count * 4, i));
    fakes.open[i]->stream().upload(memory->piece({i}), 0, given[i]);
  }
  connected.finish();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        connected.collectives().enqueue({i}, call, {&memory->piece({i}), 0}, {memory.get(), 0},
                                        fakes.open[i]->stream());
        fakes.open[i]->stream().download(memory->piece({i}), 0, outputs[i]);
        finish_batch(fakes.backend, *fakes.open[i], fakes.open[i]->submit());
      });
    }
  }
  CHECK(outputs == expected_outputs(call, given, given));
}
