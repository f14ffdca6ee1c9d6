#include "suites/common/finite.hpp"

#include <fmt/format.h>

#include <cmath>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

template <class Real>
std::string told(const std::string& input, std::uint64_t columns,
                 std::span<const std::byte> bytes) {
  const std::span values(reinterpret_cast<const Real*>(bytes.data()), bytes.size() / sizeof(Real));
  std::uint64_t count = 0, first = 0;
  for (std::uint64_t i = values.size(); i-- > 0;) {
    if (std::isfinite(values[i])) continue;
    ++count;
    first = i;
  }
  if (count == 0) return "";
  return fmt::format(
      "{}: {} of {} values {} no finite number{}, the first, in row {}, column {}, "
      "is {}",
      input, count, values.size(), count == 1 ? "is" : "are", count == 1 ? "" : "s",
      first / columns, first % columns, values[first]);
}

}  // namespace

std::string told_non_finite(const std::string& input, const NpyShape& shape,
                            std::span<const std::byte> values) {
  return shape.element == sizeof(double) ? told<double>(input, shape.columns, values)
                                         : told<float>(input, shape.columns, values);
}

std::string non_finite_caveat(const std::string& input, const NpyShape& shape,
                              std::span<const std::byte> values) {
  const std::string why = told_non_finite(input, shape, values);
  return why.empty() ? "" : why + ": results that depend on them are none either";
}

void refuse_non_finite(const std::string& input, const NpyShape& shape,
                       std::span<const std::byte> values) {
  if (const std::string why = told_non_finite(input, shape, values); !why.empty())
    throw Error(ErrorKind::input, why + "; expected: finite numbers");
}

}  // namespace mgpu
