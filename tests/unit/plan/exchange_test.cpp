// Exchange between devices: the amount, the participants and the time; and how strategies and the
// automatic choice weigh links.
#include "lib/plan/exchange.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "lib/plan/choose.hpp"
#include "lib/plan/completion.hpp"
#include "lib/plan/cost_model.hpp"
#include "lib/plan/simulator.hpp"
#include "tests/support/plan_problem.hpp"

using namespace mgpu;
using namespace mgpu::test;
using namespace std::chrono_literals;

namespace {

constexpr Bytes kMiB = Bytes{1} << 20;

// Returns devices of a million items per second that each need 64 MiB, with 1 GB/s from the host
// and these links between them.
Problem gathering(std::size_t count, double bytes_per_s, Nanos latency = 10us,
                  Items items = 100'000) {
  Problem problem(items, std::vector<double>(count, 1e6));
  problem.request.mode = Mode::end_to_end;
  problem.request.cost.replicated = 64 * kMiB;
  for (DeviceEstimate& device : problem.devices) device.up = device.down = 1e9;
  problem.request.exchange = {PeerLinks(count, {PeerPath::direct, bytes_per_s, latency}), true, 0};
  problem.request.devices = problem.devices;
  return problem;
}

// Returns devices that share 2^17 items and make parts of 64 MiB of a result, which the host merges
// in 10 ms each.
Problem combining(std::size_t count, double bytes_per_s) {
  Problem problem = gathering(count, bytes_per_s, 10us, 1 << 17);
  problem.request.mode = Mode::resident;
  problem.request.cost.replicated = 0;
  problem.request.merge = {0ns, 10ms, true};
  problem.request.exchange.gathers = false;
  problem.request.exchange.combines = 64 * kMiB;
  return problem;
}

Nanos makespan(Problem& problem, std::string_view strategy) {
  const auto source = problem.begin(strategy);
  return simulate(problem.request, *source).makespan;
}

std::vector<std::size_t> all_of(const Problem& problem) {
  std::vector<std::size_t> members(problem.devices.size());
  std::iota(members.begin(), members.end(), std::size_t{0});
  return members;
}

}  // namespace

TEST_CASE("parts of bytes follow one another, are everything, and equal to 16 bytes") {
  for (const Bytes size : {Bytes{0}, Bytes{1}, Bytes{16}, Bytes{100}, Bytes{1'000'003}}) {
    for (const std::size_t parts : {1, 2, 3, 7}) {
      CAPTURE(size);
      CAPTURE(parts);
      Bytes end = 5;
      for (std::size_t i = 0; i < parts; ++i) {
        const ByteRange part = part_of_bytes({5, 5 + size}, parts, i);
        CHECK(part.begin == end);
        CHECK((part.begin - 5) % 16 == 0);
        CHECK(part.size() + 32 > size / parts);
        CHECK(part.size() < size / parts + 32);
        end = part.end;
      }
      CHECK(end == 5 + size);
    }
  }
}

TEST_CASE("a small input is gathered only where that is not left to the device's own choice") {
  CHECK_FALSE(is_gathered(4 * kMiB - 1, true));
  CHECK(is_gathered(4 * kMiB, true));
  CHECK(is_gathered(1, false));
  CHECK_FALSE(is_gathered(0, false));
}

TEST_CASE("data is exchanged where every path is direct, or as asked for, and never staged") {
  const std::vector<PeerPath> direct(6, PeerPath::direct), host(6, PeerPath::host);
  std::vector<PeerPath> mixed = direct;
  mixed[4] = PeerPath::staged;
  CHECK(is_worth_exchanging(direct, {}));
  CHECK(is_worth_exchanging(direct, PeerPath::direct));
  CHECK_FALSE(is_worth_exchanging(mixed, {}));
  CHECK_FALSE(is_worth_exchanging(host, {}));
  CHECK(is_worth_exchanging(host, PeerPath::host));
  CHECK_FALSE(is_worth_exchanging(host, PeerPath::direct));
  CHECK_FALSE(is_worth_exchanging(std::vector(6, PeerPath::staged), PeerPath::staged));
  CHECK(paths_of(PeerLinks(3)) == direct);
}

TEST_CASE("who has a share, or may be given work, exchanges data; never one alone") {
  Problem problem = gathering(4, 1e10);
  const auto who = [&](std::string_view strategy) {
    const auto source = problem.begin(strategy);
    return exchanging(problem.request, *source);
  };
  CHECK(who("equal") == std::vector{true, true, true, true});
  CHECK(who("single") == std::vector(4, false));
  problem.devices[2].fits = problem.devices[2].pipeline = 0;
  CHECK(who("equal") == std::vector{true, true, false, true});
  CHECK(who("dynamic") == std::vector{true, true, false, true});
  problem.devices[1].reserve = true;
  CHECK(who("dynamic") == std::vector{true, false, false, true});
}

TEST_CASE("an input is uploaded once, a part by each; links hide behind uploads") {
  Problem problem = gathering(2, 0, 0ns);  // links without limit
  const double whole = 64.0 * kMiB / 1e9, computing = 0.05;
  CHECK(seconds(makespan(problem, "equal")) ==
        doctest::Approx(whole / 2 + computing).epsilon(1e-6));
  problem.request.exchange.gathers = false;
  CHECK(seconds(makespan(problem, "equal")) == doctest::Approx(whole + computing).epsilon(1e-6));
  // The links are as fast as the host's: the last of four pieces arrives one piece after the upload
  // ends.
  problem = gathering(2, 1e9, 0ns);
  CHECK(seconds(makespan(problem, "equal")) ==
        doctest::Approx(whole / 2 * 1.25 + computing).epsilon(1e-6));
  // Slower links, those of the slowest pair, determine the time.
  problem = gathering(3, 1e9, 100us);
  problem.request.exchange.links.of(1, 2).bytes_per_s = 1e8;
  const double piece = whole / 12;
  const double puts = 4 * (piece * 10 + piece + 2 * 100e-6) + 100e-6;
  CHECK(seconds(makespan(problem, "equal")) ==
        doctest::Approx(piece + puts + 0.1 / 3).epsilon(1e-4));
  problem.request.mode = Mode::resident;
  CHECK(seconds(makespan(problem, "equal")) == doctest::Approx(0.1 / 3).epsilon(1e-4));
}

TEST_CASE("the closed form takes gathering for as long as the simulator does") {
  for (const double rate : {1e8, 5e8, 1e9, 1e10}) {
    Problem problem = gathering(3, rate);
    for (const double link : {0.0, 2e9}) {
      problem.request.link_up = link;
      CAPTURE(rate);
      const std::vector<Items> shares{33'334, 33'333, 33'333};
      const double closed =
          seconds_of_shares(problem.request, estimated_speeds(problem.request).rates, shares);
      CHECK(closed == doctest::Approx(seconds(makespan(problem, "equal"))).epsilon(0.02));
    }
  }
}

TEST_CASE("parts of the result are combined among the devices instead of on the host") {
  Problem problem = combining(2, 1e9);
  const double part = 32.0 * kMiB / 1e9;  // bytes of a part that go to the other
  CHECK(seconds(makespan(problem, "equal")) ==
        doctest::Approx(0.065536 + part + 20e-6).epsilon(1e-6));
  problem.request.exchange = {};
  CHECK(seconds(makespan(problem, "equal")) == doctest::Approx(0.065536 + 20e-3).epsilon(1e-6));
  const ExchangeModel nobody(problem.request, all_of(problem));
  CHECK_FALSE(nobody.combines());
  CHECK(nobody.share_of(0) == 1);
}

TEST_CASE("what each does a part of is less the more exchange, the same without an exchange") {
  Problem problem = combining(4, 0);
  for (DeviceEstimate& device : problem.devices) {
    device.fixed = 5ms;
    device.fixed_shared = 4ms;
  }
  problem.request.exchange.links = PeerLinks(4);
  CHECK(makespan(problem, "equal") == 32'768us + 2ms);
  CHECK(makespan(problem, "single") == 131'072us + 5ms);
  problem.request.exchange = {};
  problem.request.merge = {};
  CHECK(makespan(problem, "equal") == 32'768us + 5ms);
}

TEST_CASE("a part more costs its puts, on devices that combine at the same time") {
  Problem problem = combining(2, 1e9);
  CHECK(merge_per_part(problem.request) == (10us + from_seconds(32.0 * kMiB / 1e9)) / 2);
  problem.request.exchange = {};
  CHECK(merge_per_part(problem.request) == 10ms);
}

TEST_CASE("latency and auto take fewer devices where links are slow, those with fast links") {
  const auto used = [](Problem problem) {
    problem.request.devices = problem.devices;
    const CompletionPlan plan =
        least_completion(problem.request, estimated_speeds(problem.request).rates);
    std::vector<bool> uses;
    for (const double items : plan.items) uses.push_back(items > 0);
    const PlanChoice choice = choose_plan(problem.request);
    CHECK(choice.chosen.devices ==
          static_cast<std::size_t>(std::count(uses.begin(), uses.end(), true)));
    return uses;
  };
  CHECK(used(gathering(4, 1e10)) == std::vector{true, true, true, true});
  // Two need 34 ms for their parts and 168 ms to exchange them; a single device needs 67 ms in all.
  CHECK(used(gathering(4, 2e8)) == std::vector{true, false, false, false});
  // The same links do not matter if nothing is gathered.
  Problem each(gathering(4, 2e8));
  each.request.exchange.gathers = false;
  CHECK(used(each) == std::vector{true, true, true, true});

  Problem pair = gathering(4, 1e8);
  pair.request.exchange.links.of(0, 1).bytes_per_s =
      pair.request.exchange.links.of(1, 0).bytes_per_s = 1e10;
  CHECK(used(pair) == std::vector{true, true, false, false});

  CHECK(used(combining(4, 1e11)) == std::vector{true, true, true, true});
  CHECK(used(combining(4, 1e8)) == std::vector{true, false, false, false});
}

TEST_CASE("auto says what devices exchange") {
  const auto says = [](const Problem& problem, const char* words) {
    std::string all;
    for (const std::string& reason : choose_plan(problem.request).reasons) all += reason + "\n";
    return all.find(words) != std::string::npos;
  };
  CHECK(says(gathering(2, 1e11), "64.0 MiB"));
  CHECK(says(combining(2, 1e11), "combined between"));
  CHECK_FALSE(says(gathering(2, 1e7), "64.0 MiB"));
}
