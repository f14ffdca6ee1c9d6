// Digests against those of Python's hashlib.
#include "suites/common/sha256_hex.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace mgpu;

TEST_CASE("a large result has its digest whether or not one like it had") {
  std::vector<std::byte> bytes(9 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  for (int turn = 0; turn < 2; ++turn) {
    CAPTURE(turn);
    CHECK(sha256_hex(bytes) == "b8b5dabaa3454f7fa46a97c51cec9ccd118ffc0d61df6e46d845ef200a2fd1bb");
    bytes[5 << 20] ^= std::byte{1};
    CHECK(sha256_hex(bytes) == "94b14b4ecdca84e36b7c68c84003ef9d4a1131793149686f22c9777a9492f414");
    bytes[5 << 20] ^= std::byte{1};
  }
}
