#include "suites/common/passed_verdicts.hpp"

#include <doctest/doctest.h>

namespace mgpu {

TEST_CASE("passed verdicts: bits that passed are not compared again; all others are") {
  PassedVerdicts passed;
  int compared = 0;
  const auto look = [&](VerifyLevel level, std::uint64_t seed, const char* digest,
                        Verdict::Status status) {
    return passed
        .of(level, seed, digest,
            [&] {
              ++compared;
              return Verdict{status, std::to_string(compared), ""};
            })
        .method;
  };
  using enum VerifyLevel;
  using Status = Verdict::Status;
  CHECK(look(sample, 1, "a", Status::failed) == "1");
  CHECK(look(sample, 1, "a", Status::passed) == "2");
  CHECK(look(sample, 1, "a", Status::failed) == "2");
  CHECK(look(sample, 1, "b", Status::passed) == "3");
  CHECK(look(sample, 2, "a", Status::passed) == "4");
  CHECK(look(full, 1, "a", Status::off) == "5");
  CHECK(look(full, 1, "a", Status::passed) == "6");
}

}  // namespace mgpu
