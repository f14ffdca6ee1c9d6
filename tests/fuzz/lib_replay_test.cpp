// The parsers of lib on the inputs that their fuzzers kept.
#include "tests/fuzz/replay.hpp"

using namespace mgpu;

TEST_CASE("inputs that a fuzzer kept are read or refused: result files") {
  fuzz::replay("result", fuzz::result);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: scenarios") {
  fuzz::replay("scenario", fuzz::scenario);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: results as scenarios") {
  fuzz::replay("from_result", fuzz::from_result);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: two results to compare") {
  fuzz::replay("compare", fuzz::compare);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: calibrations") {
  fuzz::replay("calibration", fuzz::calibration);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: traces") {
  fuzz::replay("trace", fuzz::trace);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: values of options") {
  fuzz::replay("values", fuzz::values);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: NumPy files") {
  fuzz::replay("npy", fuzz::npy);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: compressed files") {
  fuzz::replay("gzip", fuzz::gzip);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: files of /proc and /sys") {
  fuzz::replay("host", fuzz::host);
}
