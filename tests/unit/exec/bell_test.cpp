// A bell wakes whoever waits, and nothing is missed that comes between looking and waiting.
#include "lib/exec/bell.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace mgpu;

namespace {

constexpr Nanos kFarTooLong = std::chrono::minutes(1);

bool comes_back(Bell& bell, std::uint64_t heard) {
  const auto begin = std::chrono::steady_clock::now();
  bell.wait(heard, kFarTooLong);
  return std::chrono::steady_clock::now() - begin < kFarTooLong;
}

}  // namespace

TEST_CASE("a bell that has rung since it was counted keeps nobody waiting") {
  Bell bell;
  const std::uint64_t heard = bell.count();
  bell.ring();
  CHECK(bell.count() == heard + 1);
  CHECK(comes_back(bell, heard));
}

TEST_CASE("a bell wakes who waits, every time") {
  Bell bell;
  constexpr int rings = 100;
  std::atomic<std::uint64_t> seen = bell.count();
  std::jthread ringer([&] {
    for (int i = 0; i < rings; ++i) {
      while (seen != bell.count()) std::this_thread::yield();
      bell.ring();
    }
  });
  for (int i = 0; i < rings; ++i) {
    const std::uint64_t heard = seen;
    REQUIRE(comes_back(bell, heard));
    seen = bell.count();
    CHECK(seen == heard + 1);
  }
}

TEST_CASE("a bell that does not ring is waited for so long and no longer") {
  Bell bell;
  const auto begin = std::chrono::steady_clock::now();
  bell.wait(bell.count(), std::chrono::milliseconds(5));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(5));
  CHECK(bell.count() == 0);
}
