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
double value_of(const Fill& fill, bool whole, double high, std::uint64_t seed, std::uint64_t lane) {
  switch (fill.kind) {
    case FillKind::uniform:
      if (whole)
        return std::ceil(fill.low) +
               (std::floor(high) - std::ceil(fill.low) + 1) * unit(splitmix64(seed, lane));
      return fill.low + (high - fill.low) * unit(splitmix64(seed, lane));
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

bool is_float(Base base) { return base == Base::f16 || base == Base::f32 || base == Base::f64; }

Number number_for(Base base, double value) {
  if (is_float(base)) return Number::of(value);
  return Number::of(static_cast<std::int64_t>(std::floor(std::clamp(value, -9.2e18, 9.2e18))));
}

double high_of(const Fill& fill, Base base) {
  return fill.has_usual_bound ? usual_bound(base) : fill.high;
}

void check_fill(const Argument& one) {
  const Fill& fill = one.fill;
  if (fill.kind == FillKind::zero || fill.kind == FillKind::file || fill.kind == FillKind::copy)
    return;
  const std::vector<Lane> lanes = lanes_of(one.type);
  if (lanes.empty() || one.type.base == Base::f16)
    throw Error(ErrorKind::input, one.where + ".fill gives numbers to " + one.type.name +
                                      "; expected: zero, file" +
                                      (lanes.empty() ? ", or the fields of the struct" : ""));
  for (const Lane& lane : lanes) {
    if (fill.kind == FillKind::constant && !fits_base(lane.base, one.constant))
      throw Error(ErrorKind::input, fmt::format("{}.fill.value is {}, which is no {}", one.where,
                                                one.constant.real(), name_of(lane.base)));
    for (const double bound : {fill.low, high_of(fill, lane.base)}) {
      if (fill.kind == FillKind::uniform && !fits_base(lane.base, number_for(lane.base, bound)))
        throw Error(ErrorKind::input, fmt::format("{}.fill reaches {}, which is no {}", one.where,
                                                  bound, name_of(lane.base)));
    }
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
  const std::vector<Lane> lanes = lanes_of(one.type);
  const bool padded = one.type.lanes == 3 || !one.type.members.empty();
  constexpr std::uint64_t at_once = 1 << 16;
  const auto fill = [&](std::uint64_t e) {
    std::byte* const at = to.data() + e * one.type.size;
    if (padded) std::memset(at, 0, one.type.size);
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const Base base = lanes[l].base;
      std::byte* const to_lane = at + lanes[l].at;
      if (one.fill.kind == FillKind::constant) {
        put_number(base, one.constant, to_lane);
      } else if (one.fill.kind == FillKind::index) {
        put_number(base, Number::of(static_cast<std::int64_t>(one.modulo > 0 ? e % one.modulo : e)),
                   to_lane);
      } else {
        const double value = value_of(one.fill, !is_float(base), high_of(one.fill, base), seed,
                                      e * lanes.size() + l);
        put_number(base, number_for(base, value), to_lane);
      }
    }
  };
  parallel_for(one.elements, threads, fill, at_once);
}

}  // namespace mgpu::kernel
