// Data that is known everywhere: collectives return the expected data, and every other result is
// counted.
#include "lib/exchange/verifiable.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/support/collective_check.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Returns the contents of the devices after a call on such inputs, by plain loops.
std::vector<Bytestring> outputs_of(const CollectiveCall& call, std::size_t devices,
                                   std::uint64_t seed) {
  std::vector<Bytestring> inputs, outputs;
  for (std::uint32_t i = 0; i < devices; ++i) {
    inputs.emplace_back(input_bytes(call, devices, {i}));
    fill_input(call, {i}, 0, seed, inputs.back());
    outputs.emplace_back(output_bytes(call, devices, {i}), kPoison);
  }
  return expected_outputs(call, inputs, outputs);
}

}  // namespace

TEST_CASE("what plain loops make of the inputs is right, to the element, for every collective" *
          doctest::test_suite("one thread")) {
  for (const std::size_t n : testing::first_when_quick<std::size_t>(2, {1, 3, 2, 8})) {
    for (const Collective collective : all_collectives()) {
      for (const Element element : all_elements()) {
        for (const Reduction reduction : all_reductions()) {
          const CollectiveCall call{
              collective, element, reduction, 203, {static_cast<std::uint32_t>(n - 1)}};
          CAPTURE(n);
          CAPTURE(to_string(collective));
          CAPTURE(to_string(element));
          const auto outputs = outputs_of(call, n, 7);
          const Bytes size = bytes_of(element);
          for (std::uint32_t i = 0; i < n; ++i) {
            const std::span<const std::byte> output = outputs[i];
            CHECK(count_wrong(call, n, {i}, 0, 7, output) == 0);
            const Bytes half = output.size() / 2 / size * size;  // size of the first of two windows
            CHECK(count_wrong(call, n, {i}, half / size, 7, output.subspan(half)) == 0);
            if (output.empty()) continue;
            Bytestring changed(output.begin(), output.end());
            changed[changed.size() / 2] ^= std::byte{1};
            changed.back() ^= std::byte{0x80};
            CHECK(count_wrong(call, n, {i}, 0, 7, changed) == 2);
          }
        }
      }
    }
  }
}

TEST_CASE("outputs that nobody wrote, and those of an earlier call, are wrong") {
  const CollectiveCall call{Collective::all_reduce, Element::f32, Reduction::sum, 4096, {}};
  const Bytestring poison(4096 * 4, kPoison);
  CHECK(count_wrong(call, 4, {0}, 0, 1, poison) == 4096);
  const auto earlier = outputs_of(call, 4, 1);
  CHECK(count_wrong(call, 4, {0}, 0, 1, earlier[0]) == 0);
  CHECK(count_wrong(call, 4, {0}, 0, 2, earlier[0]) > 4000);  // few sums are equal by chance
}

TEST_CASE("words tell their source and their place") {
  Bytestring words(4096);
  fill_words(3, words);
  CHECK(count_wrong_words(3, words) == 0);
  CHECK(count_wrong_words(4, words) == 1024);
  CHECK(count_wrong_words(3, std::span(words).subspan(4)) == 1023);
  words[100] ^= std::byte{1};
  CHECK(count_wrong_words(3, words) == 1);
}
