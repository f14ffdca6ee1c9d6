#include "suites/common/product_workload.hpp"

#include <algorithm>
#include <cstring>

#include "lib/workload/parallel_for.hpp"
#include "suites/common/sha256_hex.hpp"

namespace mgpu::product {

ProductWorkload::ProductWorkload(const ProductSizes& sizes, Shape shape, unsigned host_threads)
    : sizes_(sizes),
      geometry_(Geometry::of(sizes.rows, sizes.columns, sizes.axis)),
      shape_(std::move(shape)),
      host_threads_(host_threads),
      arrived_(geometry_.items(), false) {}

void ProductWorkload::exchange_among(std::span<const DeviceIndex> members) {
  if (replicated_) replicated_->among(members);
}

// C is poisoned once it was looked at, so that an element nobody computes again cannot pass; before every sample that would cost as
// much as the transfers.
void ProductWorkload::begin_sample() {
  ++sample_;
  std::fill(arrived_.begin(), arrived_.end(), false);
  if (!looked_at_) return;
  looked_at_ = false;
  constexpr std::size_t at_once = std::size_t{1} << 22;
  const std::span<std::byte> bytes = memory().results();
  parallel_for((bytes.size() + at_once - 1) / at_once, host_threads_, [&](std::uint64_t i) {
    const auto part = bytes.subspan(i * at_once, std::min(at_once, bytes.size() - i * at_once));
    std::memset(part.data(), 0xff, part.size());  // not a number
  });
}

void ProductWorkload::arrived(std::span<const Slice> slices) {
  const std::scoped_lock lock(mutex_);
  for (const Slice& slice : slices) {
    for (Items i = slice.begin; i < slice.end; ++i) arrived_[i] = true;
  }
}

std::string ProductWorkload::digest() const { return sha256_hex(memory().results()); }

std::optional<Verdict> ProductWorkload::look_at_what_arrived() {
  looked_at_ = true;
  const auto missing = std::count(arrived_.begin(), arrived_.end(), false);
  if (missing == 0) return std::nullopt;
  return Verdict{Verdict::Status::failed, "whether all of C arrived",
                 std::to_string(missing) + " of " + std::to_string(arrived_.size()) + " parts of C did not arrive on the host"};
}

}  // namespace mgpu::product
