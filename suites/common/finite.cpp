#include "suites/common/finite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu {
namespace {

template <class Real>
std::string told(const std::string& input, std::uint64_t columns,
                 std::span<const std::byte> bytes) {
  const std::span values(reinterpret_cast<const Real*>(bytes.data()), bytes.size() / sizeof(Real));
  constexpr std::uint64_t at_once = std::uint64_t{1} << 20;
  struct Part {
    std::uint64_t count = 0, first = 0;
  };
  std::vector<Part> parts(ceil_div(values.size(), at_once));
  parallel_for(parts.size(), std::thread::hardware_concurrency(), [&](std::uint64_t part) {
    Part here;
    const std::uint64_t begin = part * at_once;
    for (std::uint64_t i = std::min<std::uint64_t>(values.size(), begin + at_once); i-- > begin;) {
      if (std::isfinite(values[i])) continue;
      ++here.count;
      here.first = i;
    }
    parts[part] = here;
  });
  std::uint64_t count = 0, first = 0;
  for (const Part& part : parts) {
    if (count == 0) first = part.first;
    count += part.count;
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
