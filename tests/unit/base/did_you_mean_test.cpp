// Suggestions for misspelt words.
#include <doctest/doctest.h>

#include <vector>

#include "lib/base/quote.hpp"

using namespace mgpu;

TEST_CASE("the nearest known word is offered, and none where too many letters are wrong") {
  const std::vector<std::string> known = {"size", "sub-devices", "strategy", "run"};
  CHECK(did_you_mean("sise", known) == "; did you mean \"size\"?");
  CHECK(did_you_mean("sub-device", known) == "; did you mean \"sub-devices\"?");
  CHECK(did_you_mean("stratgey", known) == "; did you mean \"strategy\"?");
  CHECK(did_you_mean("rnu", known) == "; did you mean \"run\"?");
  const std::vector<std::string> alike = {"kernel",
                                          "merkle"};  // two letters to change, or two to swap
  CHECK(did_you_mean("merkel", alike) == "; did you mean \"merkle\"?");
  CHECK(did_you_mean("colour", known).empty());
  CHECK(did_you_mean("sub", known).empty());  // two letters of three differ from "run"
  CHECK(did_you_mean("x", known).empty());
  CHECK(did_you_mean(std::string(100'000, 's'), known).empty());
}
