// Common part of workloads that sum the squares of 64-bit values, modulo 2^64: the values, their
// shape and the reference. Derived workloads differ in how they combine partial sums.
#pragma once

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu::test {

class SquaresSum : public Workload {
 public:
  const Shape& shape() const override { return shape_; }
  Capacity capacity(const DeviceTraits&, Mode) const override {
    return {shape_.items, std::max<Items>(shape_.items / 8, 1), shape_.items * 8, {}};
  }
  std::span<const std::byte> transfer_memory() const override {
    return std::as_bytes(std::span(values_));
  }
  void begin_sample() override { sum_ = 0; }
  void merge() override {}
  std::string digest() const override { return std::to_string(sum_); }
  std::string right() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values_) sum += value * value;
    return std::to_string(sum);
  }
  Verdict verify(VerifyLevel, std::uint64_t) override {
    if (digest() == right()) return {Verdict::Status::passed, "a loop", {}};
    return {Verdict::Status::failed, "a loop", digest() + " instead of " + right()};
  }
  void write_result(const std::filesystem::path&) const override {}

 protected:
  SquaresSum(Items items, ItemCost cost) : values_(items) {
    std::iota(values_.begin(), values_.end(), std::uint64_t{3});
    shape_.items = items;
    shape_.cost = cost;
    shape_.ops = static_cast<double>(items);
    shape_.rate_unit = "items/s";
    shape_.bytes_in = items * 8;
    shape_.bytes_out = 8;
  }
  void add(std::uint64_t sum) {
    const std::lock_guard lock(mutex_);
    sum_ += sum;
  }

  std::vector<std::uint64_t> values_;
  Shape shape_;
  std::mutex mutex_;
  std::uint64_t sum_ = 0;
};

}  // namespace mgpu::test
