#include "suites/kernel/data.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>

#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::kernel {
namespace {

// Maps a random word to [0, 1) with 53 bits.
double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

// Computes the value of a lane. `whole`: the caller rounds it down to an integer, so uniform values
// have to reach `high`.
double value_of(const Fill& fill, bool whole, std::uint64_t seed, std::uint64_t lane) {
  switch (fill.kind) {
    case FillKind::uniform:
      if (whole)
        return std::ceil(fill.low) +
               (std::floor(fill.high) - std::ceil(fill.low) + 1) * unit(splitmix64(seed, lane));
      return fill.low + (fill.high - fill.low) * unit(splitmix64(seed, lane));
    case FillKind::normal: {  // Box-Muller transform
      const double u = 1 - unit(splitmix64(seed, 2 * lane)),
                   v = unit(splitmix64(seed, 2 * lane + 1));
      return fill.low +
             fill.high * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    }
    default:
      return fill.low + fill.high * static_cast<double>(lane);
  }
}

Number number_for(const Argument& one, double value) {
  if (one.type.is_float()) return Number::of(value);
  return Number::of(static_cast<std::int64_t>(std::floor(std::clamp(value, -9.2e18, 9.2e18))));
}

void check_fill(const Argument& one) {
  const Fill& fill = one.fill;
  if (fill.kind == FillKind::zero || fill.kind == FillKind::file || fill.kind == FillKind::copy)
    return;
  if (one.type.base == Base::none || one.type.base == Base::f16)
    throw Error(ErrorKind::input,
                one.where + ".fill gives numbers to " + one.type.name + "; expected: zero, file");
  if (fill.kind == FillKind::constant && !fits_base(one.type.base, one.constant))
    throw Error(ErrorKind::input, fmt::format("{}.fill.value is {}, which is no {}", one.where,
                                              one.constant.real(), one.type.name));
  for (const double bound : {fill.low, fill.high}) {
    if (fill.kind == FillKind::uniform && !fits_base(one.type.base, number_for(one, bound)))
      throw Error(ErrorKind::input, fmt::format("{}.fill reaches {}, which is no {}", one.where,
                                                bound, one.type.name));
  }
}

}  // namespace

void read_values(const std::string& where, const std::filesystem::path& file,
                 const ElementType& type, std::span<std::byte> to) {
  if (file.extension() == ".npy") {
    const NpyShape shape = read_npy_shape(file, where.c_str());
    const bool same = shape.bytes() == to.size() && type.is_float() && shape.element == type.lane();
    if (!same) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} has {} x {} values of {} bits; expected: {} bytes of {}",
                              where, in_quotes(file.string()), shape.rows, shape.columns,
                              shape.element * 8, to.size(), type.name));
    }
    return read_npy(file, shape, to, where.c_str());
  }
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error)
    throw Error(ErrorKind::input,
                fmt::format("{}: {}: {}", where, in_quotes(file.string()), error.message()));
  if (size != to.size())
    throw Error(ErrorKind::input, fmt::format("{}: {} has {} bytes; expected: {}", where,
                                              in_quotes(file.string()), size, to.size()));
  std::ifstream in(file, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size())))
    throw Error(ErrorKind::input,
                fmt::format("{}: {} cannot be read", where, in_quotes(file.string())));
}

void fill_array(const Problem& problem, std::size_t argument, unsigned threads,
                std::span<std::byte> to) {
  const Argument& one = problem.args[argument];
  check_fill(one);
  if (one.fill.kind == FillKind::zero) {
    std::memset(to.data(), 0, to.size());
    return;
  }
  if (one.fill.kind == FillKind::file)
    return read_values(one.where + ".fill.path", one.fill.file, one.type, to);
  const std::uint64_t seed =
      splitmix64(problem.seed ^ one.fill.seed * 0x9e3779b97f4a7c15u, argument);
  const Bytes lane = one.type.lane();
  const unsigned lanes = one.type.lanes;
  constexpr std::uint64_t at_once = 1 << 16;
  const auto fill = [&](std::uint64_t e) {
    std::byte* const at = to.data() + e * one.type.size;
    if (one.type.lanes == 3) std::memset(at, 0, one.type.size);
    for (unsigned l = 0; l < lanes; ++l) {
      if (one.fill.kind == FillKind::constant) {
        put_number(one.type.base, one.constant, at + l * lane);
      } else if (one.fill.kind == FillKind::index) {
        put_number(one.type.base,
                   Number::of(static_cast<std::int64_t>(one.modulo > 0 ? e % one.modulo : e)),
                   at + l * lane);
      } else {
        const double value = value_of(one.fill, !one.type.is_float(), seed, e * lanes + l);
        put_number(one.type.base, number_for(one, value), at + l * lane);
      }
    }
  };
  parallel_for(one.elements, threads, fill, at_once);
}

}  // namespace mgpu::kernel
