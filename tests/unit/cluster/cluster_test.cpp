// Whole runs on ranks that are threads, each with fake devices in real time.
#include "lib/cluster/cluster.hpp"

#include <doctest/doctest.h>

#include "lib/cluster/post.hpp"
#include "lib/cluster/wire.hpp"
#include "lib/exec/leak.hpp"
#include "lib/exec/wait.hpp"
#include "tests/support/cluster_ranks.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu {
namespace {

using namespace std::chrono_literals;
using test::MemoryNetwork;

using test::device_of;
using test::OtherRanks;

std::unique_ptr<Cluster> rank_zero(MemoryNetwork& network) {
  return test::join_as(0, network, {device_of(0, 2e7)}, test::sum_kernels());
}

SessionOptions options_for(Backend& backend, Items items, const std::string& strategies) {
  SessionOptions options = test::options_for(3, items);
  options.strategies = parse_strategies(strategies);
  options.devices = backend.enumerate().devices;
  options.stop.exactly = 2;
  return options;
}

}  // namespace

TEST_CASE("three ranks give what one process gives, under strategies of every kind") {
  MemoryNetwork network(3);
  OtherRanks others(network, {{device_of(1, 1e7)}, {device_of(2, 2e7)}}, test::sum_kernels());
  const auto cluster = rank_zero(network);
  Report report;
  {
    const auto backend = cluster->backend();
    const SessionOptions options = options_for(
        *backend, 1 << 14, testing::is_thorough() ? "all" : "single,equal,dynamic,adaptive");
    REQUIRE(options.devices.size() == 3);
    CHECK(options.devices[2].id == "2/0:0");
    test::Stopping observer;
    report = run_session(*backend, options, {}, observer);
  }
  const std::string expected = std::to_string(test::SumWorkload(1 << 14).reference());
  CHECK(report.runs.size() >= 2 * 4);
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.strategy);
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::passed);
    CHECK(run.verify.digest == expected);
  }
  REQUIRE(report.cluster);
  CHECK(report.cluster->library == "memory");
  REQUIRE(report.cluster->nodes.size() == 3);
  for (const NodeRecord& node : report.cluster->nodes) {
    CHECK(node.host == "host" + std::to_string(node.node));
    CHECK(!node.lost);
    if (node.node == 0) continue;
    REQUIRE(node.begin);  // all ranks share a clock
    CHECK(node.begin->low <= 0ns);
    CHECK(node.begin->high >= 0ns);
    CHECK(node.end.has_value());
  }
  // Commands of other ranks are mapped to the one clock, inside the sample.
  const Timeline& timeline = test::find(report, "equal", Mode::resident).timeline;
  CHECK(timeline.commands.size() >= 3);
  for (const Command& command : timeline.commands) CHECK(command.ended >= command.started);
  cluster->leave(0);
  others.join();
  CHECK(others.said().empty());
  CHECK(network.aborted_with() == -1);
}

TEST_CASE("a rank that dies in the middle is lost, others do its work, and leaving ends all") {
  MemoryNetwork network(3);
  OtherRanks others(network, {{device_of(1, 2e7)}, {device_of(2, 2e7)}}, test::sum_kernels());
  auto cluster = rank_zero(network);
  Report report;
  {
    const auto backend = cluster->backend();
    SessionOptions options = options_for(*backend, 1 << 16, "equal,dynamic");
    options.modes = {Mode::resident};
    options.stop.exactly = 20;
    std::size_t begun = 0;
    test::g_faults.at_begin = [&] {
      if (++begun == 70) network.kill(2);
    };
    test::Stopping observer;
    report = run_session(*backend, options, {}, observer);
    test::g_faults = {};
    CHECK_THROWS_WITH_AS(backend->open(options.devices[2], {}),
                         doctest::Contains("rank 2 on host2"), Error);
  }
  CHECK(report.complete);
  const std::string expected = std::to_string(test::SumWorkload(1 << 16).reference());
  for (const RunRecord& run : report.runs) {
    CHECK(run.verify.status == VerifyStatus::passed);
    CHECK(run.verify.digest == expected);
  }
  REQUIRE(report.cluster);
  CHECK(report.cluster->nodes[2].lost.has_value());
  CHECK(!report.cluster->nodes[1].lost);
  cluster->leave(5);
  CHECK(network.aborted_with() == 5);
  others.join();
  // The dead rank received nothing, and the other one nothing after the abort, unless it was told
  // to leave just before.
  REQUIRE(others.said().size() >= 1);
  CHECK(others.said().size() <= 2);
  CHECK(others.said().front().find("rank 0") != std::string::npos);
  leak(std::move(cluster));
}

TEST_CASE("other arguments are refused, and the others are told to leave") {
  MemoryNetwork network(2);
  OtherRanks others(network, {{device_of(1, 1e7)}}, test::sum_kernels(), "run sum -n 3");
  CHECK_THROWS_WITH_AS(rank_zero(network), doctest::Contains("\"run sum -n 3\""), Error);
  others.join();
  CHECK(others.said().empty());
}

TEST_CASE("a message that is damaged is refused before it takes memory or becomes a value") {
  Writer out(Call::answer);
  out.put(std::uint64_t{1} << 60).put(std::uint8_t{2});
  const Message message = out.take();
  const auto reader = [&] {
    Reader in(message);
    in.get<Call>();
    return in;
  };
  CHECK_THROWS_AS(reader().count(), Error);
  CHECK_THROWS_AS(reader().bytes(), Error);
  Reader in = reader();
  in.get<std::uint64_t>();
  CHECK_THROWS_AS(in.get<bool>(), Error);
  Reader short_one = reader();
  short_one.get<std::uint64_t>();
  CHECK_THROWS_AS(short_one.get<std::uint16_t>(), Error);
}

TEST_CASE("handlers that fail lose the ranks that they were told of, all of them") {
  MemoryNetwork network(3);
  const auto now = [] { return Nanos(std::chrono::steady_clock::now().time_since_epoch()); };
  Post zero([&] { return network.transport(0); }, now),
      one([&] { return network.transport(1); }, now);
  zero.start({.message = [](RankNumber, const Message&) { throw std::runtime_error("bad"); },
              .clock = {},
              .lost = [](RankNumber, const std::string&) { throw std::runtime_error("worse"); }});
  one.start({});
  one.send(0, Writer(Call::answer).take());
  while (!zero.lost(1) || !zero.lost(2)) std::this_thread::yield();
  CHECK(zero.lost(1) == "bad");
  zero.abort(0);
  one.abort(0);
}

TEST_CASE("what fails on another rank says which it is, and of what kind") {
  MemoryNetwork network(2);
  FakeDevice small = device_of(1, 1e7);
  small.facts.global_memory = small.facts.max_allocation = 1 << 20;
  small.script = fails_from(FakeCall::launch, 1, FakeFault::Kind::error);
  OtherRanks others(network, {{small}}, test::sum_kernels());
  const auto cluster = rank_zero(network);
  {
    const auto backend = cluster->backend();
    const auto devices = backend->enumerate().devices;
    const auto device = backend->open(devices[1], {});
    DeviceResources& resources = device->resources();
    CHECK(resources.traits().id == "1/0:0");
    try {
      resources.allocate(1 << 30);
      FAIL("it does not fit");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::out_of_memory);
      CHECK(std::string(error.what()).find("(rank 1 on host1)") != std::string::npos);
    }
    const auto in = resources.allocate(64), out = resources.allocate(64);
    const auto kernel = resources.kernel("sum.cl", "sum_slice", "");
    std::vector<std::uint64_t> values{1, 2, 3, 4, 5, 6, 7, 8}, sums(8);
    // These rows are packed for sending and unpacked at the receiver.
    Stream& stream = device->stream();
    stream.upload_rows(*in, std::as_bytes(std::span(values)).data(),
                       {.length = 8, .count = 4, .device_stride = 8, .host_stride = 16});
    stream.launch(*kernel, {},
                  {in.get(), std::uint64_t{0}, std::uint64_t{4}, out.get(), std::uint32_t{0}});
    stream.download(*out, 0, std::as_writable_bytes(std::span(sums)).first(8));
    stream.download_rows(*in, std::as_writable_bytes(std::span(sums)).data() + 8,
                         {.length = 8, .count = 2, .device_stride = 8, .host_stride = 24});
    const BatchId batch = device->submit();
    wait_for(*backend, *device, batch);
    CHECK(sums == std::vector<std::uint64_t>{1 + 9 + 25 + 49, 1, 0, 0, 3, 0, 0, 0});
    CHECK(device->take(batch).size() == 8);  // the fake device copies row by row
    // The second launch fails.
    stream.launch(*kernel, {},
                  {in.get(), std::uint64_t{0}, std::uint64_t{4}, out.get(), std::uint32_t{0}});
    const BatchId second = device->submit();
    CHECK_THROWS_WITH_AS(wait_for(*backend, *device, second),
                         doctest::Contains("(rank 1 on host1)"), Error);
    CHECK(try_drain(*backend, *device));
  }
  cluster->leave(0);
}

}  // namespace mgpu
