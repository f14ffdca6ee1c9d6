// Names that are stored once.
#include "lib/base/name.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace mgpu;

static_assert(std::is_trivially_copyable_v<Name> && sizeof(Name) == sizeof(void*));

TEST_CASE("equal names are one, whatever they were made from, and others are not") {
  const std::string text = "sum_slice";
  const Name a(text), b(std::string("sum_") + "slice"), c("delay");
  CHECK(a == b);
  CHECK(&a.text() == &b.text());
  CHECK_FALSE(a == c);
  CHECK(a == "sum_slice");
  CHECK(a != "sum");
  CHECK(c.text() == "delay");
}

TEST_CASE("no name is empty, and so is an empty one") {
  CHECK(Name().empty());
  CHECK(Name("").empty());
  CHECK(Name() == Name(""));
  CHECK(Name() == "");
  CHECK(Name().text().empty());
  CHECK_FALSE(Name(" ").empty());
}

TEST_CASE("names made by many threads at once are the same ones") {
  constexpr std::size_t kThreads = 8, kNames = 200;
  std::vector<std::vector<Name>> made(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t k = 0; k < kNames; ++k)
        made[t].emplace_back("kernel " + std::to_string((k * (t + 1)) % kNames));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t)
    for (std::size_t k = 0; k < kNames; ++k)
      CHECK(made[t][k] == "kernel " + std::to_string((k * (t + 1)) % kNames));
}
