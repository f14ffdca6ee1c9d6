#include "suites/common/arrivals.hpp"

#include <algorithm>
#include <cstring>

#include "lib/workload/parallel_for.hpp"

namespace mgpu {

void Arrivals::begin_sample(std::span<std::byte> results) {
  ++sample_;
  std::fill(arrived_.begin(), arrived_.end(), false);
  if (!looked_at_) return;
  looked_at_ = false;
  constexpr std::size_t at_once = std::size_t{1} << 22;
  parallel_for(ceil_div(results.size(), at_once), host_threads_, [&](std::uint64_t i) {
    const auto part = results.subspan(i * at_once, std::min(at_once, results.size() - i * at_once));
    std::memset(part.data(), 0xff, part.size());
  });
}

void Arrivals::arrived(std::span<const Slice> slices) {
  const std::scoped_lock lock(mutex_);
  for (const Slice& slice : slices) {
    for (Items i = slice.begin; i < slice.end; ++i) arrived_[i] = true;
  }
}

std::optional<Verdict> Arrivals::look(const char* what) {
  looked_at_ = true;
  const auto missing = std::count(arrived_.begin(), arrived_.end(), false);
  if (missing == 0) return std::nullopt;
  return Verdict{Verdict::Status::failed, std::string("whether all ") + what + " arrived",
                 std::to_string(missing) + " of " + std::to_string(arrived_.size()) + ' ' + what +
                     " did not arrive on the host"};
}

}  // namespace mgpu
