// Shared part of workloads that are products of matrices: arrivals of C, gathered operands, and
// poisoning of results. The device part is in product_program.hpp.
#pragma once

#include <optional>

#include "lib/exchange/replicated_input.hpp"
#include "lib/workload/workload.hpp"
#include "suites/common/arrivals.hpp"
#include "suites/common/product_memory.hpp"
#include "suites/common/product_sizes.hpp"

namespace mgpu::product {

class ProductWorkload : public Workload, public PeerExchange, public Tunable {
 public:
  WorkloadInterfaces interfaces() override { return {.exchange = this, .tunable = this}; }
  const Shape& shape() const override { return shape_; }
  std::span<const std::byte> transfer_memory() const override { return memory().all(); }
  Exchanged exchanged(Mode mode) const override {
    return {mode == Mode::end_to_end && shape_.cost.replicated > 0 && sizes_.summed() > 0, 0};
  }
  void connect(PeerGroup& group) override { replicated_.emplace(group, shape_.cost.replicated); }
  void disconnect() override { replicated_.reset(); }
  void exchange_among(std::span<const DeviceIndex> members) override;
  void begin_sample() override { arrivals_.begin_sample(memory().results()); }
  void merge() override {}
  std::string digest() const override;  // SHA-256 of the bytes of C and of the second result

  // Called by programs, possibly from several threads at once.
  const ProductSizes& sizes() const { return sizes_; }
  const Geometry& geometry() const { return geometry_; }
  virtual ProductMemory& memory() = 0;
  virtual const ProductMemory& memory() const = 0;
  // Returns the operand that devices gather: B by rows, A by columns. Null if each device uploads
  // all of it itself.
  ReplicatedInput* replicated() { return replicated_ ? &*replicated_ : nullptr; }
  std::uint64_t sample() const { return arrivals_.sample(); }
  void arrived(std::span<const Slice> slices) {
    arrivals_.arrived(slices);
  }  // these items of C are on the host

 protected:
  ProductWorkload(const ProductSizes& sizes, Shape shape, unsigned host_threads);
  void set_caveats(std::vector<std::string> caveats) { shape_.caveats = std::move(caveats); }
  // Returns a failed verdict if some of C did not arrive. Called before C is verified.
  std::optional<Verdict> look_at_what_arrived() { return arrivals_.look("parts of C"); }

 private:
  ProductSizes sizes_;
  Geometry geometry_;
  Shape shape_;
  std::optional<ReplicatedInput> replicated_;
  Arrivals arrivals_;
};

}  // namespace mgpu::product
