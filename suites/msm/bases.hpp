// The points of a seeded problem made on a device, before the samples: it is faster there than making them on the host and sending
// them (2^24 points of BN254: see results/msm.md), and a device that shares nothing with the host's memory needs no more than this.
#pragma once

#include <memory>
#include <vector>

#include "lib/workload/stream.hpp"
#include "suites/msm/terms.hpp"

namespace mgpu::msm {

// What devices start from: point `block` * b + j is starts[b] plus row[j], both affine; row[0] is infinity.
struct Bases {
  std::uint32_t block = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> starts, row;
};
Bases bases_of(Curve curve, std::uint64_t count, const KnownLogs& logs, unsigned threads);

// Their use by one device; lives until its commands are complete.
class BaseMaker {
 public:
  // `options` as the kernels of points are built with; `bases` outlives it.
  BaseMaker(const Bases& bases, DeviceResources& device, const std::string& options, std::size_t group);
  void enqueue(Stream& stream, Buffer& points);
  static Bytes buffer_bytes(Curve curve, std::uint64_t count);

 private:
  const Bases& bases_;
  std::size_t group_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Buffer> starts_, row_;
};

}  // namespace mgpu::msm
