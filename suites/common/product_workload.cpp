#include "suites/common/product_workload.hpp"

#include <utility>

#include "suites/common/sha256_hex.hpp"

namespace mgpu::product {

ProductWorkload::ProductWorkload(const ProductSizes& sizes, Shape shape, unsigned host_threads)
    : sizes_(sizes),
      geometry_(Geometry::of(sizes.rows, sizes.columns, sizes.axis)),
      shape_(std::move(shape)),
      arrivals_(geometry_.items(), host_threads) {}

void ProductWorkload::exchange_among(std::span<const DeviceIndex> members) {
  if (replicated_) replicated_->among(members);
}

std::string ProductWorkload::digest() const { return sha256_hex(memory().results()); }

}  // namespace mgpu::product
