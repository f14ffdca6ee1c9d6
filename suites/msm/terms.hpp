// The terms of a problem in host memory: points and scalars, from a seed or from a file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "suites/msm/host_points.hpp"

namespace mgpu::msm {

enum class Scalars { uniform, witness, equal };
constexpr std::array<std::string_view, 3> scalar_names{"uniform", "witness", "equal"};

// Point i is (first + i * step) times the generator.
struct KnownLogs {
  Scalar first{}, step{};
};

// In one block of pages, so that it can be pinned in place.
class Terms {
 public:
  Terms(Curve curve, std::uint64_t count);  // points at infinity, scalars 0
  // Everything is a function of seed and term alone. Scalars: uniform below r; a mix as witnesses have it (a quarter each 0, 1,
  // below 2^16, uniform); one and the same for all terms.
  static Terms random(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed, unsigned threads);

  Curve curve() const { return curve_; }
  std::uint64_t count() const { return count_; }
  const std::optional<KnownLogs>& logs() const { return logs_; }

  std::span<const std::byte> memory() const { return {data_.get(), points_size_ + count_ * sizeof(Scalar)}; }
  std::span<const std::byte> point_bytes(std::uint64_t begin, std::uint64_t end) const;   // as HostPoints has them
  std::span<const std::byte> scalar_bytes(std::uint64_t begin, std::uint64_t end) const;  // below r, least significant byte first
  std::span<const Scalar> scalars() const { return {scalar_data(), count_}; }
  std::span<std::byte> point(std::uint64_t i) { return {data_.get() + i * affine_bytes(curve_), affine_bytes(curve_)}; }
  std::span<Scalar> scalars() { return {scalar_data(), count_}; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  Scalar* scalar_data() const { return reinterpret_cast<Scalar*>(data_.get() + points_size_); }

  Curve curve_;
  std::uint64_t count_;
  Bytes points_size_;
  std::unique_ptr<std::byte[], Free> data_;
  std::optional<KnownLogs> logs_;
};

// Host memory of `count` terms; throws Error(usage) above 2^40.
Bytes bytes_of_terms(Curve curve, std::uint64_t count);

// JSON {"curve": .., "terms": [{"scalar": "0x..", "x": "0x..", "y": "0x.."}]}, or CSV with the columns scalar, x, y in any order in
// a header line, and perhaps curve. Scalars of up to 256 bits are reduced modulo r; infinity is x = y = 0. Throws Error(input)
// naming the term. A curve named in the file must be `curve`.
std::uint64_t count_in_file(const std::filesystem::path& file);
Terms terms_from_file(const std::filesystem::path& file, Curve curve);

}  // namespace mgpu::msm
