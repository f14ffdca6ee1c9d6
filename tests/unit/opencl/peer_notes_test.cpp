// Notes why pairs are staged, one line per reason.
#include "lib/opencl/peer_notes.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

TEST_CASE("each reason is one line, which names the first few of its pairs unless all have it") {
  CHECK(notes_of({}, 2).empty());
  std::vector<StagedPair> staged = {{"0:0", "0:1", "no driver"}, {"0:1", "0:0", "no driver"}};
  const auto all = notes_of(staged, 2);
  REQUIRE(all.size() == 1);
  CHECK(all[0].ends_with(": no driver"));
  CHECK(all[0].find("0:") == std::string::npos);
  staged = {{"0:0", "1:0", "one"}, {"0:0", "2:0", "other"}, {"1:0", "0:0", "one"}};
  const auto some = notes_of(staged, 6);
  REQUIRE(some.size() == 2);
  CHECK(some[0].ends_with("0:0 to 1:0 and 1:0 to 0:0: one"));
  CHECK(some[1].ends_with("0:0 to 2:0: other"));
  for (int i = 0; i < 12; ++i) staged.push_back({"3:0", "4:" + std::to_string(i), "other"});
  CHECK(notes_of(staged, 99)[1].ends_with("0:0 to 2:0, 3:0 to 4:0, 3:0 to 4:1 and 10 more: other"));
}
