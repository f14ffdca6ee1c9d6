// Preparations of a device before the samples: it makes the points of a seeded problem, which is
// faster than making them on the host and sending them (2^24 points of BN254: see results/msm.md),
// and the table of multiples of all points.
#pragma once

#include <memory>
#include <vector>

#include "lib/workload/stream.hpp"
#include "suites/msm/terms.hpp"
#include "suites/msm/windows.hpp"

namespace mgpu::msm {

// Inputs from which devices make points: point `block` * b + j is starts[b] plus row[j]. Both are
// affine; row[0] is infinity.
struct Bases {
  std::uint32_t block = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> starts, row;
};
Bases bases_of(Curve curve, std::uint64_t count, const KnownLogs& logs, unsigned threads);

// Makes the points on one device. Must live until its commands are complete.
class BaseMaker {
 public:
  // `options` are the build options of the point kernels; `bases` must outlive this object.
  BaseMaker(const Bases& bases, DeviceResources& device, const std::string& options,
            std::size_t group);
  void enqueue(Stream& stream, Buffer& points);
  static Bytes buffer_bytes(Curve curve, std::uint64_t count);

 private:
  const Bases& bases_;
  std::size_t group_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Buffer> starts_, row_;
};

// Makes all rows of a table but the first, which has the points. Row w has the points multiplied by
// 2^windows.first_bit(w), so that all windows can share the buckets of window 0. Brickell, Gordon,
// McCurley and Wilson, Fast exponentiation with precomputation, 1992.
class TableMaker {
 public:
  TableMaker(const Windows& windows, std::uint64_t points, DeviceResources& device,
             const std::string& options, std::size_t group);
  void enqueue(Stream& stream, Buffer& table);

 private:
  Windows windows_;
  std::uint64_t points_;
  std::size_t group_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace mgpu::msm
