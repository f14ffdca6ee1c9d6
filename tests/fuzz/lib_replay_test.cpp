// Replays the corpora of the fuzzers of the parsers in lib.
#include "tests/fuzz/replay.hpp"

using namespace mgpu;

TEST_CASE("inputs that a fuzzer kept are read or refused by parsers of lib") {
  SUBCASE("result") { fuzz::replay("result", fuzz::result); }
  SUBCASE("scenario") { fuzz::replay("scenario", fuzz::scenario); }
  SUBCASE("from_result") { fuzz::replay("from_result", fuzz::from_result); }
  SUBCASE("compare") { fuzz::replay("compare", fuzz::compare); }
  SUBCASE("history") { fuzz::replay("history", fuzz::history); }
  SUBCASE("calibration") { fuzz::replay("calibration", fuzz::calibration); }
  SUBCASE("values") { fuzz::replay("values", fuzz::values); }
  SUBCASE("npy") { fuzz::replay("npy", fuzz::npy); }
  SUBCASE("gzip") { fuzz::replay("gzip", fuzz::gzip); }
  SUBCASE("command_log") { fuzz::replay("command_log", fuzz::command_log); }
  SUBCASE("profile") { fuzz::replay("profile", fuzz::profile); }
  SUBCASE("host") { fuzz::replay("host", fuzz::host); }
}
