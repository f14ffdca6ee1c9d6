// Whole sessions of the lbm suite on the fake backend, one of whose devices is lost in the middle
// of a sample: the others begin it again, from a checkpoint where there is one, and its result is
// right.
#include <doctest/doctest.h>

#include "lib/session/session.hpp"
#include "tests/support/lbm_kernels.hpp"
#include "tests/support/rounds_session.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;

TEST_CASE(
    "a sample of lbm that loses a device is begun again by the others, whenever that is, and its "
    "result is right") {
  for (const std::string lattices : {"one", "two"}) {
    for (const std::string every : {"none", "7"}) {
      for (const std::string flow : {"taylor-green", "cavity"}) {
        // Of the eight, four in which every two of them meet.
        if (!testing::is_thorough() &&
            ((lattices == "two") != (every == "7")) != (flow == "cavity"))
          continue;
        std::size_t begun_again = 0, from_a_checkpoint = 0;
        for (std::uint64_t launch = 60; launch < 900; launch += 97) {
          CAPTURE(lattices);
          CAPTURE(every);
          CAPTURE(flow);
          CAPTURE(launch);
          const test::RoundsAsked asked{
              "lbm",
              test::lbm_kernels(flow == "cavity" ? lbm::Flow::cavity : lbm::Flow::taylor_green),
              {{"case", flow},
               {"lattices", lattices},
               {"checkpoint-rounds", every},
               {"planes", "30"}},
              Mode::resident,
              {{}, test::fails_at_launch(launch)},
              4};
          const auto fault = test::fault_of(test::run_rounds(asked));
          if (!fault) continue;
          REQUIRE(fault->begun_again);
          ++begun_again;
          CHECK((every == "none" ? fault->begun_again->round == 0
                                 : fault->begun_again->round % 7 == 0));
          from_a_checkpoint += fault->begun_again->round > 0;
        }
        CHECK(begun_again > 2);
        CHECK((from_a_checkpoint > 0) == (every != "none"));
      }
    }
  }
}
