// Making and reading operands.
#include "suites/matrix/operands.hpp"

#include <algorithm>
#include <cstdlib>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu::matrix {
namespace {

constexpr Bytes page = 4096;
constexpr Bytes paged(Bytes size) { return (size + page - 1) / page * page; }

// Number n of the SplitMix64 sequence that starts at `seed` (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014).
std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

template <class Real>
Real element(std::uint64_t bits, bool integer) {
  if (integer) return static_cast<Real>(static_cast<std::int64_t>(bits % 9) - 4);
  constexpr int kept = sizeof(Real) == 4 ? 24 : 53;  // every one of these values is exact
  return static_cast<Real>(bits >> (64 - kept)) * (Real{2} / static_cast<Real>(std::uint64_t{1} << kept)) - Real{1};
}

template <class Real>
void fill(std::span<std::byte> to, std::uint64_t seed, bool integers, unsigned threads) {
  constexpr std::uint64_t at_once = std::uint64_t{1} << 18;
  auto* values = reinterpret_cast<Real*>(to.data());
  const std::uint64_t count = to.size() / sizeof(Real);
  parallel_for((count + at_once - 1) / at_once, threads, [&](std::uint64_t chunk) {
    const std::uint64_t end = std::min(count, (chunk + 1) * at_once);
    for (std::uint64_t i = chunk * at_once; i < end; ++i) values[i] = element<Real>(splitmix64(seed, i), integers);
  });
}

}  // namespace

void Operands::Free::operator()(std::byte* p) const { std::free(p); }

Bytes Operands::bytes(const Problem& problem) {
  return paged(problem.a_bytes()) + paged(problem.b_bytes()) + (problem.reads_c() ? 2 : 1) * paged(problem.c_bytes()) + page;
}

Operands::Operands(const Problem& problem, const SuiteParams& params)
    : a_size_(problem.a_bytes()),
      b_at_(paged(a_size_)),
      b_size_(problem.b_bytes()),
      c_in_at_(b_at_ + paged(b_size_)),
      c_in_size_(problem.reads_c() ? problem.c_bytes() : 0),
      c_at_(c_in_at_ + paged(c_in_size_)),
      c_size_(problem.c_bytes()),
      size_(c_at_ + paged(c_size_)) {
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(page, bytes(problem))));
  if (!data_) throw Error(ErrorKind::out_of_memory, "no host memory for matrices of " + std::to_string(size_) + " bytes");
  const std::span<std::byte> parts[] = {
      {data_.get(), a_size_}, {data_.get() + b_at_, b_size_}, {data_.get() + c_in_at_, c_in_size_}};
  if (params.input) {
    const NpyShape shapes[] = {{problem.rows, problem.inner, problem.element()},
                               {problem.inner, problem.columns, problem.element()},
                               {problem.rows, problem.columns, problem.element()}};
    read_npy(*params.input, shapes[0], parts[0]);
    for (std::size_t i = 0; i < params.more_inputs.size(); ++i) read_npy(params.more_inputs[i], shapes[i + 1], parts[i + 1]);
    return;
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t seed = splitmix64(params.seed, i);
    if (problem.precision == Precision::fp32) {
      fill<float>(parts[i], seed, problem.integers, params.host_threads);
    } else {
      fill<double>(parts[i], seed, problem.integers, params.host_threads);
    }
  }
}

}  // namespace mgpu::matrix
