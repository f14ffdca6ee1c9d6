// Why pairs are staged, in as few lines as there are reasons.
#include "lib/exec/peer_notes.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

TEST_CASE("a reason that all pairs have is one line without their names") {
  const std::vector<StagedPair> staged = {{"0:0", "0:1", "no driver"}, {"0:1", "0:0", "no driver"}};
  CHECK(notes_of(staged, 2) == std::vector<std::string>{"staged between all devices: no driver"});
}

TEST_CASE("a reason that some pairs have is one line that names them, the first few of many") {
  std::vector<StagedPair> staged = {
      {"0:0", "1:0", "one"}, {"0:0", "2:0", "other"}, {"1:0", "0:0", "one"}};
  CHECK(notes_of(staged, 6) ==
        std::vector<std::string>{"staged from 0:0 to 1:0 and 1:0 to 0:0: one",
                                 "staged from 0:0 to 2:0: other"});
  for (int i = 0; i < 12; ++i) staged.push_back({"3:0", "4:" + std::to_string(i), "other"});
  CHECK(notes_of(staged, 99)[1] ==
        "staged from 0:0 to 2:0, 3:0 to 4:0, 3:0 to 4:1 and 10 more: other");
}

TEST_CASE("no pair was refused: there is nothing to say") { CHECK(notes_of({}, 2).empty()); }
