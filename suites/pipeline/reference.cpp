#include "suites/pipeline/reference.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/pipeline/stage_kernels.hpp"

namespace mgpu::pipeline {
namespace {

using Words = std::vector<std::uint32_t>;
constexpr std::uint64_t modulus = 998244353;

std::array<std::uint32_t, 8> sha256_of(const Words& words) {
  std::vector<unsigned char> message;
  for (const std::uint32_t word : words)
    for (int shift = 24; shift >= 0; shift -= 8)
      message.push_back(static_cast<unsigned char>(word >> shift));
  unsigned char digest[EVP_MAX_MD_SIZE];
  if (EVP_Digest(message.data(), message.size(), digest, nullptr, EVP_sha256(), nullptr) != 1)
    throw Error(ErrorKind::internal, "OpenSSL computes no SHA-256");
  std::array<std::uint32_t, 8> out{};
  for (std::size_t i = 0; i < 32; ++i) out[i / 4] = out[i / 4] << 8 | digest[i];
  return out;
}

std::uint32_t rotated(std::uint32_t x, std::uint32_t by) {
  by %= 32;
  return by == 0 ? x : x << by | x >> (32 - by);
}

void hash(Words& words) {
  const auto digest = sha256_of(words);
  for (std::size_t j = 0; j < words.size(); ++j)
    words[j] ^= rotated(digest[j % 8], static_cast<std::uint32_t>(j / 8));
}

// Transforms even and odd words separately, and combines them (Cooley and Tukey).
std::vector<std::uint64_t> transformed(const std::vector<std::uint64_t>& x, std::uint64_t root) {
  const std::size_t n = x.size();
  if (n == 1) return x;
  std::vector<std::uint64_t> even, odd, out(n);
  for (std::size_t i = 0; i < n; i += 2) {
    even.push_back(x[i]);
    odd.push_back(x[i + 1]);
  }
  even = transformed(even, root * root % modulus);
  odd = transformed(odd, root * root % modulus);
  std::uint64_t w = 1;
  for (std::size_t k = 0; k < n / 2; ++k, w = w * root % modulus) {
    const std::uint64_t y = odd[k] * w % modulus;
    out[k] = (even[k] + y) % modulus;
    out[k + n / 2] = (even[k] + modulus - y) % modulus;
  }
  return out;
}

// 3 generates the multiplicative group of the modulus, whose order is 119 2^23.
void transform(Words& words) {
  std::uint64_t root = 1, left = (modulus - 1) / words.size(), base = 3;
  for (; left > 0; left /= 2, base = base * base % modulus)
    if (left % 2 == 1) root = root * base % modulus;
  std::vector<std::uint64_t> x;
  for (const std::uint32_t word : words) x.push_back(word % modulus);
  x = transformed(x, root);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(x[i]);
}

void multiply(Words& words, const Words& matrix, std::size_t side) {
  Words out(words.size(), 0);
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t k = 0; k < side; ++k)
      out[i] += words[i / side * side + k] * matrix[k * side + i % side];
  words = out;
}

Words reduced(const Words& words, std::uint32_t passes) {
  Words out(reduced_width, 0);
  for (std::size_t j = 0; j < words.size(); ++j)
    for (std::uint32_t t = 1; t <= passes; ++t)
      out[j % reduced_width] += rotated(words[j], t) * (2 * t + 1);
  return out;
}

float number_in(std::uint32_t word) { return std::bit_cast<float>(word); }
std::uint32_t word_of(float number) { return std::bit_cast<std::uint32_t>(number); }

void shorten(Words& words, const std::vector<float>& weights, std::size_t side) {
  Words out;
  for (std::size_t n = 0; n < words.size(); ++n) {
    float least = INFINITY;
    for (std::size_t i = 0; i < side; ++i)
      least = std::min(least, number_in(words[n / side * side + i]) + weights[i * side + n % side]);
    out.push_back(word_of(least));
  }
  words = out;
}

// Replaces the pair from word i on by the polynomial and its derivative times the pair's own. Each
// rounding is that of the definition: the value by one multiply-add, its derivative by a
// multiplication and one.
void differentiate(Words& words, std::size_t i, const std::vector<float>& coefficients,
                   std::uint32_t passes) {
  const float value = number_in(words[i]) / 8, slope = number_in(words[i + 1]) / 8;
  float sum = 0, derivative = 0;
  for (std::size_t k = 0; k < passes * coefficients.size(); ++k) {
    const float product = sum * slope;
    derivative = std::fma(derivative, value, product);
    sum = std::fma(sum, value, coefficients[k % coefficients.size()]);
  }
  words[i] = word_of(sum);
  words[i + 1] = word_of(derivative);
}

// Returns the sign of the product of two blades, which are sets of vectors of square 1: that of the
// permutation which sorts their vectors.
float sign_of(unsigned left, unsigned right) {
  std::vector<int> vectors;
  for (const unsigned blade : {left, right})
    for (int v = 0; v < 3; ++v)
      if ((blade >> v & 1) != 0) vectors.push_back(v);
  unsigned exchanged = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i)
    for (std::size_t j = i + 1; j < vectors.size(); ++j) exchanged += vectors[i] > vectors[j];
  return exchanged % 2 == 0 ? 1.0f : -1.0f;
}

// Multiplies the multivector from word `at` on by a factor from the right. The terms of a component
// are added in the order of the left factor's blades.
void turn(Words& words, std::size_t at, const std::vector<float>& factor) {
  static const std::vector<float> signs = [] {
    std::vector<float> all;
    for (unsigned n = 0; n < 64; ++n) all.push_back(sign_of(n / 8, n % 8));
    return all;
  }();
  std::uint32_t out[8];
  for (unsigned k = 0; k < 8; ++k) {
    float sum = 0;
    for (unsigned i = 0; i < 8; ++i)
      sum = std::fma(number_in(words[at + i]), signs[i * 8 + (i ^ k)] * factor[i ^ k], sum);
    out[k] = word_of(sum);
  }
  std::copy(std::begin(out), std::end(out), words.begin() + static_cast<std::ptrdiff_t>(at));
}

void through_real(const Problem& problem, const Stage& stage, Words& words) {
  const std::uint32_t side = std::min(stage.width, 16u);
  const std::vector<float> numbers = numbers_of(problem, stage.kind, side);
  if (stage.kind == Kind::dual)
    for (std::size_t i = 0; i < words.size(); i += 2)
      differentiate(words, i, numbers, stage.passes);
  for (std::uint32_t pass = 0; pass < stage.passes; ++pass) {
    if (stage.kind == Kind::tropical) shorten(words, numbers, side);
    if (stage.kind == Kind::clifford)
      for (std::size_t i = 0; i < words.size(); i += 8) turn(words, i, numbers);
  }
}

void through(const Problem& problem, std::size_t s, Words& words) {
  const Stage& stage = problem.stages[s];
  if (problem.takes_words(s))
    for (std::uint32_t& word : words)
      word = word_of(std::ldexp(static_cast<float>(static_cast<std::int32_t>(word)), -31));
  if (stage.is_real()) return through_real(problem, stage, words);
  if (stage.kind == Kind::reduction) {
    words = reduced(words, stage.passes);
    return;
  }
  const std::uint32_t side = std::min(stage.width, 16u);
  const Words matrix = stage.kind == Kind::product ? matrix_of(problem, side) : Words();
  for (std::uint32_t pass = 0; pass < stage.passes; ++pass) {
    if (stage.kind == Kind::hash) hash(words);
    if (stage.kind == Kind::transform) transform(words);
    if (stage.kind == Kind::product) multiply(words, matrix, side);
  }
}

// Returns distinct records in ascending order.
std::vector<std::uint64_t> chosen(const Problem& problem, std::uint64_t most, std::uint64_t seed) {
  std::vector<std::uint64_t> records{0, problem.records - 1};
  if (problem.records <= most) {
    for (std::uint64_t i = 0; i < problem.records; ++i) records.push_back(i);
  } else {
    for (std::uint64_t i = 0; i < most; ++i) {  // one from each of `most` parts
      const std::uint64_t begin = problem.records * i / most,
                          end = problem.records * (i + 1) / most;
      records.push_back(begin + splitmix64(seed, i) % (end - begin));
    }
  }
  std::sort(records.begin(), records.end());
  records.erase(std::unique(records.begin(), records.end()), records.end());
  return records;
}

}  // namespace

std::vector<std::uint32_t> through_all(const Problem& problem,
                                       std::span<const std::uint32_t> record) {
  Words words(record.begin(), record.end());
  for (std::size_t s = 0; s < problem.stages.size(); ++s) through(problem, s, words);
  return words;
}

Finding check(const Problem& problem, std::span<const std::uint32_t> records,
              std::span<const std::uint32_t> results, bool whole, std::uint64_t seed,
              unsigned threads) {
  const std::vector<std::uint64_t> which = chosen(problem, whole ? 65536 : 512, seed);
  const std::size_t in = problem.width(), out = problem.width_after();
  std::atomic<std::uint64_t> wrong{problem.records};  // the first wrong record
  parallel_for(which.size(), threads, [&](std::uint64_t n) {
    const std::uint64_t i = which[n];
    const Words expected = through_all(problem, records.subspan(i * in, in));
    if (std::equal(expected.begin(), expected.end(),
                   results.begin() + static_cast<std::ptrdiff_t>(i * out)))
      return;
    for (std::uint64_t first = wrong; i < first && !wrong.compare_exchange_weak(first, i);) {
    }
  });
  const bool all = which.size() == problem.records;
  Finding finding;
  finding.method = (all ? "all " + std::to_string(problem.records)
                        : std::to_string(which.size()) + " of " + std::to_string(problem.records)) +
                   " records in " + std::to_string(problem.batches()) + " batches of " +
                   std::to_string(problem.batch) +
                   ", bit for bit, with all stages on the host (SHA-256 by OpenSSL)";
  if (wrong == problem.records) return finding;
  const Words expected = through_all(problem, records.subspan(wrong * in, in));
  for (std::size_t k = 0; k < out; ++k) {
    const std::uint32_t found = results[wrong * out + k];
    if (found == expected[k]) continue;
    finding.message = "word " + std::to_string(k) + " of record " + std::to_string(wrong) + " is " +
                      std::to_string(found) + ", not " + std::to_string(expected[k]);
    break;
  }
  return finding;
}

}  // namespace mgpu::pipeline
