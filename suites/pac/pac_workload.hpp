// Phase-amplitude coupling as a Workload: series, returned results, digest and verification.
// pac_program.hpp has what runs on a device.
#pragma once

#include <mutex>
#include <optional>

#include "suites/common/arrivals.hpp"
#include "suites/pac/host_data.hpp"
#include "suites/pac/layout.hpp"

namespace mgpu::pac {

class PacWorkload : public Workload, public TimedMerge, public Tunable {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit PacWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override {
    return {.timed_merge = problem_.axis == Axis::permutation ? this : nullptr, .tunable = this};
  }
  const Shape& shape() const override { return shape_; }
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  Demand demand(const DeviceTraits& device) const override;
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::vector<std::string> kernel_variants(const DeviceTraits& device) const override;
  std::span<const std::byte> transfer_memory() const override { return data_.all(); }
  void begin_sample() override;
  void merge() override;
  void rehearse_merge(std::size_t parts) override;
  std::string digest() const override;  // SHA-256 of the moments of all pairs
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  // Writes a float64 row per series and pair of bands: batch, channel, frequency of the phase and
  // of the amplitude in Hz, index, mean and deviation of the surrogates' indices, z.
  void write_result(const std::filesystem::path& file) const override;

  static Bytes host_bytes(const Problem& problem, std::size_t devices) {
    return HostData::bytes(problem, devices);
  }
  static Shape shape_of(const Problem& problem);

  // Called by the programs, possibly from several threads at once.
  const Problem& problem() const { return problem_; }
  const HostData& data() const { return data_; }
  std::span<Moments> result() { return data_.result(); }
  Arrivals& arrivals() { return arrivals_; }
  // With --axis permutation each device returns moments of all pairs, and merge() adds them up.
  // Returns pinned memory for one device, or an empty span if none is left.
  std::span<Moments> take_part();
  void give_back(std::span<Moments> part);
  // Adds `part` now if it is still to be merged, since the caller will overwrite it.
  void settle(std::span<const Moments> part);
  void add_part(std::span<const Moments> part, std::span<const Slice> slices);

 private:
  bool has_variant(const DeviceTraits& device, const std::string& variant) const override;
  void look_at_series();
  std::optional<Method> method(const DeviceTraits& device) const;
  std::string peak() const;
  void add_pending();

  Problem problem_;
  unsigned host_threads_;
  HostData data_;
  Shape shape_;
  Arrivals arrivals_;
  mutable std::mutex mutex_;
  std::vector<std::span<Moments>> free_;           // unused pinned parts
  std::vector<std::span<const Moments>> pending_;  // parts that merge() has to add
  bool begun_ = false;                             // the result holds some parts already
};

}  // namespace mgpu::pac
