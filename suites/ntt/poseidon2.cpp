#include "suites/ntt/poseidon2.hpp"

#include <algorithm>
#include <bitset>

namespace mgpu::ntt {
namespace {

// The generator of constants that the authors of Poseidon published: Grain's shift register of 80
// bits, seeded with the parameters; of each pair of bits the first tells whether the second counts.
class Grain {
 public:
  explicit Grain(unsigned partial_rounds) {
    append(1, 2);  // a prime field
    append(0, 4);  // S-box x^d
    append(31, 12);
    append(Poseidon2::width, 12);
    append(Poseidon2::full_rounds, 10);
    append(partial_rounds, 10);
    append((1u << 30) - 1, 30);
    for (int i = 0; i < 160; ++i) clock();
  }
  // Returns the next number below `p`, of 31 bits.
  std::uint64_t below(std::uint64_t p) {
    for (;;) {
      std::uint64_t value = 0;
      for (int bits = 0; bits < 31;) {
        const bool counts = clock(), bit = clock();
        if (!counts) continue;
        value = value << 1 | (bit ? 1 : 0);
        ++bits;
      }
      if (value < p) return value;
    }
  }

 private:
  void append(unsigned value, unsigned bits) {
    while (bits-- > 0) shift((value >> bits & 1) != 0);
  }
  // The oldest bit is the highest one.
  void shift(bool bit) {
    state_ <<= 1;
    state_[0] = bit;
  }
  bool clock() {
    bool bit = false;
    for (const std::size_t tap : {0, 13, 23, 38, 51, 62}) bit ^= state_[79 - tap];
    shift(bit);
    return bit;
  }

  std::bitset<80> state_;
};

}  // namespace

Poseidon2::Poseidon2(Field field)
    : is_koalabear_(field == Field::koalabear),
      p_(is_koalabear_ ? KoalaBear::modulus[0] : BabyBear::modulus[0]) {
  const auto part = [&](unsigned k) {  // 1 / 2^k
    return is_koalabear_ ? inverse_of_power_of_two<KoalaBear>(k)
                         : inverse_of_power_of_two<BabyBear>(k);
  };
  const auto minus = [&](std::uint64_t x) { return p_ - x; };
  diagonal_ = {minus(2), 1, 2, part(1), 3, 4, minus(part(1)), minus(3), minus(4), part(8)};
  const unsigned least = is_koalabear_ ? 24 : 27;
  const std::array<std::uint64_t, 6> rest =
      is_koalabear_ ? std::array{part(3),        part(least),    minus(part(8)),
                                 minus(part(3)), minus(part(4)), minus(part(least))}
                    : std::array{part(2),        part(3),        part(least),
                                 minus(part(8)), minus(part(4)), minus(part(least))};
  std::copy(rest.begin(), rest.end(), diagonal_.begin() + 10);
  inverse_factor_ = part(32);
  Grain grain(partial_rounds());
  for (std::size_t i = 0; i < full_rounds * width + partial_rounds(); ++i)
    constants_.push_back(grain.below(p_));
}

std::uint64_t Poseidon2::s_box(std::uint64_t x) const {
  const std::uint64_t cube = multiply(multiply(x, x), x);
  return is_koalabear_ ? cube : multiply(multiply(cube, cube), x);
}

void Poseidon2::mix(State& state) const {
  constexpr std::uint64_t circulant[4] = {2, 3, 1, 1};
  State mixed{};
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j < width; ++j)
      mixed[i] += (i / 4 == j / 4 ? 2 : 1) * circulant[(j + 4 - i % 4) % 4] * state[j];
  for (std::size_t i = 0; i < width; ++i) state[i] = mixed[i] % p_;
}

void Poseidon2::permute(State& state) const {
  const std::uint64_t* constant = constants_.data();
  mix(state);
  for (unsigned round = 0; round < full_rounds + partial_rounds(); ++round) {
    const bool full = round < full_rounds / 2 || round >= full_rounds / 2 + partial_rounds();
    for (std::size_t i = 0; i < (full ? width : 1); ++i)
      state[i] = s_box((state[i] + *constant++) % p_);
    if (full) {
      mix(state);
      continue;
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t word : state) sum += word;
    for (std::size_t i = 0; i < width; ++i) state[i] = (sum + diagonal_[i] * state[i]) % p_;
  }
}

Poseidon2::Digest Poseidon2::hash(std::span<const std::uint64_t> row) const {
  State state{};
  for (; !row.empty(); row = row.subspan(std::min(rate, row.size()))) {
    std::copy_n(row.begin(), std::min(rate, row.size()), state.begin());
    permute(state);
  }
  Digest digest;
  for (std::size_t i = 0; i < rate; ++i) digest[i] = static_cast<std::uint32_t>(state[i]);
  return digest;
}

Poseidon2::Digest Poseidon2::compress(const Digest& left, const Digest& right) const {
  State state;
  std::copy(left.begin(), left.end(), state.begin());
  std::copy(right.begin(), right.end(), state.begin() + rate);
  permute(state);
  Digest digest;
  for (std::size_t i = 0; i < rate; ++i) digest[i] = static_cast<std::uint32_t>(state[i]);
  return digest;
}

Poseidon2::Digest Poseidon2::without_factor(Digest digest) const {
  for (std::uint32_t& word : digest)
    word = static_cast<std::uint32_t>(multiply(word, inverse_factor_));
  return digest;
}

Poseidon2::Digest Poseidon2::root(std::vector<Digest> leaves) const {
  for (; leaves.size() > 1; leaves.resize(leaves.size() / 2))
    for (std::size_t i = 0; i < leaves.size() / 2; ++i)
      leaves[i] = compress(leaves[2 * i], leaves[2 * i + 1]);
  return leaves.front();
}

}  // namespace mgpu::ntt
