// Loops on a few host threads, and exceptions in them.
#include "lib/workload/parallel_for.hpp"

#include <doctest/doctest.h>

#include <new>
#include <optional>

#include "lib/workload/thread_team.hpp"

using namespace mgpu;

namespace {

// Returns the error of a loop of 1000, by either kind of loop, in which index 500 throws `thrown`.
template <class Thrown>
Error loop_error(bool team, unsigned threads, const Thrown& thrown) {
  std::optional<Error> got;
  std::atomic<int> calls = 0;
  const auto body = [&](std::uint64_t i) {
    ++calls;
    if (i >= 500) throw thrown;
  };
  try {
    ThreadTeam of_threads(threads);
    team ? of_threads.for_each(1000, body) : parallel_for(1000, threads, body);
  } catch (const Error& error) {
    got = error;
  }
  REQUIRE(got.has_value());
  CHECK(calls >= 501);
  // No thread continues after the first exception.
  CHECK(calls <= 500 + static_cast<int>(std::max(threads, 1u)));
  return *got;
}

}  // namespace

TEST_CASE("parallel_for calls every index once, on however many threads") {
  for (const unsigned threads : {0u, 1u, 2u, 7u}) {
    std::vector<int> calls(100);
    parallel_for(calls.size(), threads, [&](std::uint64_t i) { ++calls[i]; });
    CHECK(std::count(calls.begin(), calls.end(), 1) == 100);
    parallel_for(0, threads, [&](std::uint64_t) { calls.clear(); });
    CHECK(calls.size() == 100);
  }
}

TEST_CASE("an exception on any thread arrives where the loop was started, and stops the loop") {
  for (const bool team : {false, true}) {
    for (const unsigned threads : {1u, 2u, 5u}) {
      CAPTURE(team);
      CAPTURE(threads);
      const Error own = loop_error(team, threads, Error(ErrorKind::input, "row 500 is bad"));
      CHECK(own.kind() == ErrorKind::input);
      CHECK(std::string(own.what()) == "row 500 is bad");
      const Error other = loop_error(team, threads, std::overflow_error("numeric overflow"));
      CHECK(other.kind() == ErrorKind::internal);
      CHECK(std::string(other.what()) == "numeric overflow");
      CHECK(loop_error(team, threads, std::bad_alloc()).kind() == ErrorKind::out_of_memory);
      CHECK(loop_error(team, threads, 7).kind() == ErrorKind::internal);
    }
  }
}

TEST_CASE("a team whose loop threw does the next one") {
  ThreadTeam team(3);
  for (int turn = 0; turn < 20; ++turn) {
    CHECK_THROWS_AS(team.for_each(100,
                                  [](std::uint64_t i) {
                                    if (i == 50) throw std::bad_alloc();
                                  }),
                    Error);
    std::atomic<int> calls = 0;
    team.for_each(100, [&](std::uint64_t) { ++calls; });
    CHECK(calls == 100);
  }
}
