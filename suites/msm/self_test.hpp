// The self-test of a device: kernels/msm_self_test.cl against host_points.hpp's arithmetic, on
// values where carries, borrows and special cases are, and on random ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/workload/stream.hpp"
#include "suites/msm/curve.hpp"

namespace mgpu::msm {

class SelfTest {
 public:
  // `options` as the other kernels are built with.
  SelfTest(Curve curve, DeviceResources& device, const std::string& options);
  void enqueue(Stream& stream);
  // After those commands: throws Error(unsupported) naming the first operation that is wrong.
  void check() const;

 private:
  Curve curve_;
  std::size_t field_cases_, point_cases_;
  std::vector<std::byte> values_, points_, field_answers_, point_answers_;
  std::unique_ptr<Kernel> field_, sum_;
  std::unique_ptr<Buffer> values_buffer_, points_buffer_, field_buffer_, sums_buffer_;
};

}  // namespace mgpu::msm
