// Poseidon2 of width 16 in KoalaBear and BabyBear on the host, in plain arithmetic: the reference
// of hashes, and the constants, which kernels take, too. Grassi et al., Poseidon2 (eprint
// 2023/323), with the matrices of Plonky3.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "suites/ntt/field.hpp"

namespace mgpu::ntt {

class Poseidon2 {
 public:
  static constexpr std::size_t width = 16, rate = 8;
  static constexpr unsigned full_rounds = 8;
  using State = std::array<std::uint64_t, width>;  // canonical
  using Digest = std::array<std::uint32_t, rate>;  // canonical

  static bool has(Field field) { return field == Field::babybear || field == Field::koalabear; }
  // `field` is one that it has.
  explicit Poseidon2(Field field);

  std::uint64_t modulus() const { return p_; }
  unsigned degree() const { return is_koalabear_ ? 3 : 7; }
  unsigned partial_rounds() const { return is_koalabear_ ? 20 : 13; }
  // Returns the constants in the order of the rounds: 16 for a full round, one for a partial one.
  std::span<const std::uint64_t> constants() const { return constants_; }

  void permute(State& state) const;
  // Returns the padding-free hash of a row: blocks of 8 overwrite the first half of the state.
  Digest hash(std::span<const std::uint64_t> row) const;
  // Returns the first half of the permuted pair.
  Digest compress(const Digest& left, const Digest& right) const;
  // Returns a digest of the kernels, which is in Montgomery form, as canonical words.
  Digest without_factor(Digest digest) const;
  // Returns the root of a tree of a power of two of leaves.
  Digest root(std::vector<Digest> leaves) const;

 private:
  std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const { return a * b % p_; }
  std::uint64_t s_box(std::uint64_t x) const;
  void mix(State& state) const;

  const bool is_koalabear_;
  const std::uint64_t p_;
  std::array<std::uint64_t, width> diagonal_{};
  std::vector<std::uint64_t> constants_;
  std::uint64_t inverse_factor_ = 1;  // 1 / 2^32
};

}  // namespace mgpu::ntt
