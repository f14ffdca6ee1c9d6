// A notifier wakes every waiting thread and misses no event between checking and waiting.
#include "lib/exec/notifier.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace mgpu;

namespace {

constexpr Nanos kFarTooLong = std::chrono::minutes(1);

bool comes_back(Notifier& notifier, std::uint64_t epoch) {
  const auto begin = std::chrono::steady_clock::now();
  notifier.wait(epoch, kFarTooLong);
  return std::chrono::steady_clock::now() - begin < kFarTooLong;
}

}  // namespace

TEST_CASE("what was notified since the epoch was read keeps nobody waiting") {
  Notifier notifier;
  const std::uint64_t epoch = notifier.epoch();
  notifier.notify();
  CHECK(notifier.epoch() == epoch + 1);
  CHECK(comes_back(notifier, epoch));
}

TEST_CASE("a notifier wakes who waits, every time") {
  Notifier notifier;
  constexpr int notifies = 50;
  std::atomic<std::uint64_t> seen = notifier.epoch();
  std::jthread ringer([&] {
    for (int i = 0; i < notifies; ++i) {
      while (seen != notifier.epoch()) std::this_thread::yield();
      notifier.notify();
    }
  });
  for (int i = 0; i < notifies; ++i) {
    const std::uint64_t epoch = seen;
    REQUIRE(comes_back(notifier, epoch));
    seen = notifier.epoch();
    CHECK(seen == epoch + 1);
  }
}

TEST_CASE("without a notification one waits for so long and no longer") {
  Notifier notifier;
  const auto begin = std::chrono::steady_clock::now();
  notifier.wait(notifier.epoch(), std::chrono::milliseconds(5));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(5));
  CHECK(notifier.epoch() == 0);
}
