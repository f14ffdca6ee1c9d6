// Multi-scalar multiplications over the same points as a Workload: how it is split, what devices
// return, and how that is merged and verified. msm_program.hpp has what runs on a device.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string_view>

#include "suites/msm/bases.hpp"
#include "suites/msm/windows.hpp"

namespace mgpu::msm {

// Whether windows share their buckets by a table of multiples of the points: if it fits and is
// faster, never, or always.
enum class FixedBase { automatic, no, yes };
inline constexpr std::array<std::string_view, 3> fixed_base_names{"auto", "no", "yes"};

struct MsmOptions {
  Axis axis = Axis::points;  // of a single sum; several are split as wholes
  std::uint64_t sums = 1;    // as the terms have
  FixedBase fixed_base = FixedBase::automatic;
  unsigned window_bits = 0;  // 0: the cheapest size
  Limit limit = Limit::latency;
  std::size_t devices = 1;
  unsigned host_threads = 1;
  // Entries of a window that stay in a GPU's L2 cache (50 MB on an H200) while they are written in
  // random order.
  std::uint64_t cached_entries = std::uint64_t{1} << 23;
  std::uint64_t together = entries_together;
};

// Returns the shape of a problem with seeded points.
Shape shape_of_seeded(Curve curve, std::uint64_t points, const MsmOptions& options);

class MsmWorkload : public Workload, public TimedMerge, public SizedByDevices {
 public:
  MsmWorkload(std::shared_ptr<Terms> terms, const MsmOptions& options);
  MsmWorkload(Terms terms, const MsmOptions& options)
      : MsmWorkload(std::make_shared<Terms>(std::move(terms)), options) {}

  WorkloadInterfaces interfaces() override {
    return {.timed_merge = this, .sized_by_devices = this};
  }
  const Shape& shape() const override { return shape_; }
  ItemCost cost(Mode mode) const override;
  Demand demand(const DeviceTraits& device) const override;
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override { return terms_->memory(); }
  void set_device_count(std::size_t devices) override;
  void begin_sample() override;
  void merge() override;
  void rehearse_merge(std::size_t parts) override;
  std::string digest() const override;  // x and y in hexadecimal; of several: their SHA-256
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;

  // Used by the programs.
  const Terms& terms() const { return *terms_; }
  const MsmOptions& options() const { return options_; }
  const Problem& problem() const { return problem_; }
  const Windows& windows() const { return windows_; }  // windows of the current sample
  bool fold() const { return fold_; }
  const Bases& bases();  // made by the first call; requires points with known logarithms
  void add_partial(std::uint64_t sum, const SumBytes& partial);  // thread-safe; any order

 private:
  std::string text_of(const PlainPoint& point) const;
  std::vector<PlainPoint> affine_sums() const;
  PlainPoint reference_of(std::uint64_t sum) const;

  std::shared_ptr<Terms> terms_;
  MsmOptions options_;
  const HostPoints& points_;
  PlainPoint infinity_;
  bool fold_;
  Problem problem_;
  Shape shape_;
  double multiply_adds_ = 0, multiply_adds_with_table_ = 0;  // lower bounds
  std::optional<Bases> bases_;
  Windows windows_;
  std::mutex mutex_;                              // guards partials_
  std::vector<SumBytes> partials_;                // by sum
  std::vector<PlainPoint> results_, references_;  // by sum; empty: not known yet
};

}  // namespace mgpu::msm
