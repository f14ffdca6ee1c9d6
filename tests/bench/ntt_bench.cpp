// One transform on a CPU: the kernels, and a radix-4 loop in C++ with -O2 -march=native, both on
// all cores. items_per_second is elements/s.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "lib/base/embedded.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/ntt/field.hpp"
#include "suites/suites.hpp"
#include "tests/bench/failure.hpp"
#include "tests/bench/resident.hpp"

namespace {

using namespace mgpu;
using namespace mgpu::ntt;

constexpr unsigned kBits = 20;
constexpr std::size_t kSize = std::size_t{1} << kBits;

// Montgomery's form with R = 2^32: factors are R times their value.
struct Fast31 {
  using Exact = BabyBear;
  using Word = std::uint32_t;
  static constexpr Word p = 0x78000001, inverse = 0x88000001;  // inverse p = 1 mod 2^32
  static Word add(Word a, Word b) { return std::min(a + b, a + b - p); }
  static Word subtract(Word a, Word b) { return std::min(a - b, a - b + p); }
  static Word multiply(Word a, Word factor) {
    const std::uint64_t product = std::uint64_t{a} * factor;
    const Word low = static_cast<Word>(product) * inverse;
    const Word r =
        static_cast<Word>(product >> 32) - static_cast<Word>((std::uint64_t{low} * p) >> 32);
    return std::min(r, r + p);
  }
  static Word factor(std::uint64_t value) { return static_cast<Word>((value << 32) % p); }
};

// 2^64 = 2^32 - 1.
struct FastGoldilocks {
  using Exact = Goldilocks;
  using Word = std::uint64_t;
  static constexpr Word p = 0xffffffff00000001, epsilon = 0xffffffff;
  static Word add(Word a, Word b) { return subtract(a, p - b); }
  static Word subtract(Word a, Word b) { return a - b - (a < b ? epsilon : 0); }
  static Word multiply(Word a, Word b) {
    const Wide product = static_cast<Wide>(a) * b;
    const auto low = static_cast<Word>(product), high = static_cast<Word>(product >> 64);
    const Word top = high >> 32, rest = low - top - (low < top ? epsilon : 0);
    const Word more = (high & epsilon) * epsilon, sum = rest + more;
    const Word folded = sum < more ? sum + epsilon : sum;
    return folded >= p ? folded - p : folded;
  }
  static Word factor(std::uint64_t value) { return value; }
};

template <class F>
std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = F::Exact::multiply(base, base))
    if (exponent & 1) result = F::Exact::multiply(result, base);
  return result;
}

// A transform in place, decimation in frequency; results are in the order of reversed digits.
template <class F>
class Radix4 {
 public:
  using Word = typename F::Word;
  Radix4() : root_(power<F>(F::Exact::generator, (F::p - 1) / kSize)), powers_(kSize) {
    std::uint64_t value = 1;
    for (Word& each : powers_) {
      each = F::factor(value);
      value = F::Exact::multiply(value, root_);
    }
  }

  void run(Word* data, unsigned threads) const {
    std::barrier<> together(threads);
    std::vector<std::jthread> all;
    for (unsigned t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        for (std::size_t block = kSize; block > 1; block /= 4) {
          step(data, block, t * (kSize / 4) / threads, (t + 1) * (kSize / 4) / threads);
          together.arrive_and_wait();
        }
      });
  }

  // Tells whether some results are values of the input's polynomial.
  bool right(const std::vector<Word>& input, const std::vector<Word>& result) const {
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{12345}, kSize - 1}) {
      const std::uint64_t at = power<F>(root_, k);
      std::uint64_t value = 0;
      for (std::size_t i = kSize; i-- > 0;)
        value = F::Exact::add(F::Exact::multiply(value, at), input[i]);
      std::size_t place = 0;
      for (unsigned digit = 0; digit < kBits; digit += 2)
        place |= (k >> digit & 3) << (kBits - 2 - digit);
      if (result[place] != value) return false;
    }
    return true;
  }

 private:
  // Butterflies [begin, end) of the step with blocks of that size.
  void step(Word* data, std::size_t block, std::size_t begin, std::size_t end) const {
    const std::size_t quarter = block / 4, stride = kSize / block;
    const Word turn = powers_[kSize / 4];
    while (begin < end) {
      const std::size_t first = begin % quarter, last = std::min(quarter, first + end - begin);
      Word* const at = data + begin / quarter * block;
      for (std::size_t j = first; j < last; ++j) {
        const Word a = at[j], b = at[j + quarter], c = at[j + 2 * quarter], d = at[j + 3 * quarter];
        const Word even = F::add(a, c), odd = F::subtract(a, c), sum = F::add(b, d),
                   turned = F::multiply(F::subtract(b, d), turn);
        at[j] = F::add(even, sum);
        at[j + quarter] = F::multiply(F::add(odd, turned), powers_[j * stride]);
        at[j + 2 * quarter] = F::multiply(F::subtract(even, sum), powers_[2 * j * stride]);
        at[j + 3 * quarter] = F::multiply(F::subtract(odd, turned), powers_[3 * j * stride]);
      }
      begin += last - first;
    }
  }

  const std::uint64_t root_;
  std::vector<Word> powers_;
};

template <class F>
void BM_ntt_radix4(benchmark::State& state) {
  const Radix4<F> transform;
  std::vector<typename F::Word> input(kSize);
  for (std::size_t i = 0; i < kSize; ++i)
    input[i] = static_cast<typename F::Word>(splitmix64(1, i) % F::p);
  std::vector<typename F::Word> data = input;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  transform.run(data.data(), threads);
  if (!transform.right(input, data)) return bench::fail(state, "wrong result");
  for (auto _ : state) transform.run(data.data(), threads);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kSize));
}

void BM_ntt_kernel(benchmark::State& state, const char* field) {
  try {
    const auto backend = make_cl_backend({embedded_kernels(), {}});
    for (const Device& device : backend->enumerate().devices) {
      if (!device.is_cpu()) continue;
      for (const SuiteInfo& suite : all_suites()) {
        if (suite.name != "ntt") continue;
        SuiteParams params = problem_of_reference_size({&suite, {}}, true).params;
        params.size = kSize;
        params.seed = params.devices = 1;
        params.options["field"] = field;
        bench::Resident transform(*backend, device, suite.make(params));
        transform.sample();
        if (!transform.right()) return bench::fail(state, "wrong result");
        for (auto _ : state) state.SetIterationTime(seconds(transform.sample()));
        state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kSize));
        return;
      }
    }
    bench::fail(state, "no OpenCL CPU device");
  } catch (const std::exception& error) {
    bench::fail(state, error.what());
  }
}

BENCHMARK_TEMPLATE(BM_ntt_radix4, Fast31)->UseRealTime();
BENCHMARK_TEMPLATE(BM_ntt_radix4, FastGoldilocks)->UseRealTime();
BENCHMARK_CAPTURE(BM_ntt_kernel, babybear, "babybear")->UseManualTime();
BENCHMARK_CAPTURE(BM_ntt_kernel, goldilocks, "goldilocks")->UseManualTime();

}  // namespace
