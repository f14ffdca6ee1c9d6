// Replays the corpora of the fuzzers of the command line, config files and inputs of suites.
#include "tests/fuzz/replay.hpp"

using namespace mgpu;

TEST_CASE("inputs that a fuzzer kept are read or refused by options and suites") {
  SUBCASE("config") { fuzz::replay("config", fuzz::config); }
  SUBCASE("command") { fuzz::replay("command", fuzz::command); }
  SUBCASE("terms") { fuzz::replay("terms", fuzz::terms); }
  SUBCASE("descriptor") { fuzz::replay("descriptor", fuzz::descriptor); }
}
