// Loops on persistent threads.
#include "lib/workload/thread_team.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <set>

using namespace mgpu;

TEST_CASE("every index of every loop is called once, and is done when the loop returns") {
  for (const unsigned threads : {0u, 1u, 2u, 7u}) {
    CAPTURE(threads);
    ThreadTeam team(threads);
    std::vector<int> calls(1000);
    for (int loop = 1; loop <= 60; ++loop) {
      const std::size_t n = loop % 3 == 0 ? calls.size() : calls.size() / 2;
      team.for_each(n, [&](std::uint64_t i) { ++calls[i]; });
    }
    team.for_each(0, [&](std::uint64_t) { calls.clear(); });
    CHECK(std::count(calls.begin(), calls.begin() + 500, 60) == 500);
    CHECK(std::count(calls.begin() + 500, calls.end(), 20) == 500);
  }
}

TEST_CASE("a team that never had a loop ends at once") { const ThreadTeam team(4); }

TEST_CASE("others than the caller take part, no more of them than the team has") {
  ThreadTeam team(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int loop = 0; loop < 100; ++loop) {
    team.for_each(64, [&](std::uint64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      const std::scoped_lock lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  CHECK(seen.size() == 3);
  CHECK(seen.contains(std::this_thread::get_id()));
}
