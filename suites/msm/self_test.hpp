// The self-test of a device: it compares kernels/msm_self_test.cl with the arithmetic of
// host_points.hpp on random values and on those that exercise carries, borrows and special cases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/workload/stream.hpp"
#include "suites/msm/curve.hpp"

namespace mgpu::msm {

class SelfTest {
 public:
  // `options` are the build options of the other kernels.
  SelfTest(Curve curve, DeviceResources& device, const std::string& options);
  void enqueue(Stream& stream);
  // Throws Error(unsupported) that names the first wrong operation. Call it after the commands are
  // complete.
  void check() const;

 private:
  Curve curve_;
  std::size_t field_cases_, point_cases_;
  std::vector<std::byte> values_, points_, field_answers_, point_answers_;
  std::unique_ptr<Kernel> field_, sum_;
  std::unique_ptr<Buffer> values_buffer_, points_buffer_, field_buffer_, sums_buffer_;
};

}  // namespace mgpu::msm
