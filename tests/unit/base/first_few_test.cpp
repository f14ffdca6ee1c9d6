// Lists of names in a sentence.
#include <doctest/doctest.h>

#include <vector>

#include "lib/base/quote.hpp"

using namespace mgpu;

TEST_CASE("few names are all in a sentence, of many the first three and the number of others") {
  std::vector<std::string> names;
  CHECK(first_few(names) == "");
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) names.emplace_back(name);
  const auto of = [&](std::size_t n) { return first_few(std::span(names).first(n)); };
  CHECK(of(1) == "a");
  CHECK(of(2) == "a and b");
  CHECK(of(4) == "a, b, c and d");
  CHECK(of(5) == "a, b, c and 2 more");
  CHECK(of(6) == "a, b, c and 3 more");
}
