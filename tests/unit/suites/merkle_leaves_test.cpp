// The leaves of the merkle suite: made of a seed, or read from files, and which files are refused.
#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/merkle/reference.hpp"
#include "suites/merkle/sha256.hpp"
#include "tests/support/ct_vectors.hpp"
#include "tests/support/merkle_host.hpp"
#include "tests/support/merkle_reference.hpp"

using namespace mgpu;
using namespace mgpu::merkle;
using mgpu::test::kind_of_error;
using mgpu::test::merkle_params;
using mgpu::test::TemporaryFile;

TEST_CASE("random leaves depend on the seed and their index only") {
  const auto bytes = [](const Leaves& leaves) {
    return std::vector(leaves.bytes().begin(), leaves.bytes().end());
  };
  const auto one = bytes(Leaves::random(200001, 7, 1));
  CHECK(one == bytes(Leaves::random(200001, 7, 4)));
  const auto fewer = bytes(Leaves::random(1000, 7, 3));
  CHECK(std::equal(fewer.begin(), fewer.end(), one.begin()));
  CHECK(fewer != bytes(Leaves::random(1000, 8, 3)));
  // SplitMix64 from 1234567: the first output of the published reference implementation is
  // 6457827717110365317 (0x599ed017fb08fc85).
  const Leaves known = Leaves::random(1, 1234567, 1);
  CHECK(std::to_integer<int>(known.bytes()[0]) == 0x85);
  CHECK(std::to_integer<int>(known.bytes()[7]) == 0x59);
}

TEST_CASE(
    "a file's leaves are its bytes, the last one filled up with zeros where that is asked for") {
  const TemporaryFile file(std::string(64, 'a') + "bcd");
  CHECK(count_in_file(file.path, Remainder::pad) == 3);
  const auto leaves =
      testing::split_leaves(Leaves::from_file(file.path, 3, Remainder::pad).bytes());
  CHECK(leaves[1] == leaves[0]);
  CHECK(leaves[0][31] == 'a');
  CHECK(leaves[2][2] == 'd');
  CHECK(std::all_of(leaves[2].begin() + 3, leaves[2].end(), [](auto byte) { return byte == 0; }));

  file.write(std::string(64, 'a'));
  for (const Remainder any : {Remainder::refuse, Remainder::pad, Remainder::short_leaf}) {
    CHECK(count_in_file(file.path, any) == 2);
    const Leaves two = Leaves::from_file(file.path, 2, any);
    CHECK(two.content(0, 2).size() == 64);
    CHECK(two.unused_bits() == 0);
    CHECK(kind_of_error([&] { Leaves::from_file(file.path, 3, any); }) == ErrorKind::input);
  }
  file.write("");
  CHECK(count_in_file(file.path, Remainder::refuse) == 0);
  CHECK(Leaves::from_file(file.path, 0, Remainder::refuse).bytes().empty());
}

TEST_CASE(
    "a file that is not a multiple of 32 bytes is refused, but for --pad and for RFC 6962, whose "
    "leaves may be of any length") {
  const SuiteInfo suite = merkle_suite();
  const TemporaryFile file(std::string(64, 'a') + "bcd");
  const auto size_of = [&](const std::string& tree, bool pad) {
    SuiteParams p = merkle_params(0, tree);
    if (pad) p.options["pad"] = "yes";
    p.input = file.path;
    return suite.size_of_input(p);
  };
  for (const std::string tree : {"plain", "rfc6962-digests"}) {
    CHECK(kind_of_error([&] { size_of(tree, false); }) == ErrorKind::input);
    CHECK(size_of(tree, true) == 3);
    SuiteParams p = merkle_params(3, tree);
    p.input = file.path;
    CHECK(kind_of_error([&] { suite.make(p); }) == ErrorKind::input);
  }
  CHECK(size_of("rfc6962", false) == 3);
  CHECK(size_of("rfc6962", true) == 3);
  const Leaves leaves = Leaves::from_file(file.path, 3, Remainder::short_leaf);
  CHECK(leaves.content(0, 2).size() == 64);
  CHECK(leaves.content(2, 3).size() == 3);
  CHECK(leaves.bytes().size() == 96);
  CHECK(leaves.unused_bits() == 232);
  try {
    size_of("plain", false);
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* part : {"67 bytes", "3 are left over", "--pad", "rfc6962"})
      CHECK(message.find(part) != std::string::npos);
  }
}

TEST_CASE("a directory or a missing file is an input error") {
  CHECK(kind_of_error([] {
          count_in_file(std::filesystem::temp_directory_path(), Remainder::pad);
        }) == ErrorKind::input);
  CHECK(kind_of_error([] { count_in_file("no such file", Remainder::pad); }) == ErrorKind::input);
  SuiteParams gone = merkle_params(3, "plain");
  gone.input = "no such file";
  CHECK(kind_of_error([&] { merkle_suite().make(gone); }) == ErrorKind::input);
}
