// The command line, config files and inputs of suites on the inputs that their fuzzers kept.
#include "tests/fuzz/replay.hpp"

using namespace mgpu;

TEST_CASE("inputs that a fuzzer kept are read or refused: config files") {
  fuzz::replay("config", fuzz::config);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: command lines") {
  fuzz::replay("command", fuzz::command);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: inputs of suites") {
  fuzz::replay("terms", fuzz::terms);
}
TEST_CASE("inputs that a fuzzer kept are read or refused: descriptors of kernels") {
  fuzz::replay("descriptor", fuzz::descriptor);
}
