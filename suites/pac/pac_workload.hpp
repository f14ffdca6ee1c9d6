// Phase-amplitude coupling as a Workload: series, returned results, digest and verification.
// pac_program.hpp has what runs on a device.
#pragma once

#include <mutex>
#include <optional>

#include "suites/common/arrivals.hpp"
#include "suites/common/passed_verdicts.hpp"
#include "suites/pac/host_data.hpp"
#include "suites/pac/layout.hpp"
#include "suites/pac/reference.hpp"

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
  // Return memory for a slice of a folder's recordings, pinned if any is left, and take it back.
  std::span<float> take_stage();
  void give_back_stage(std::span<float> stage);
  // Reads the slice's recordings, on this device's part of the host's threads. Errors are kept for
  // digest(), since no device is to blame for them.
  void read(const Slice& slice, std::span<float> to);
  // Reads all recordings of a folder; programs that load at the same time share them.
  std::shared_ptr<const Pages> read_all();
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
  Reference reference() const;
  Verdict compare(bool full, std::uint64_t seed);
  // Returns the results by the names of recordings, whatever order these were handed out in.
  std::span<const Moments> by_name() const;
  std::optional<Method> method(const DeviceTraits& device) const;
  std::string peak() const;
  void add_pending();

  Problem problem_;
  unsigned host_threads_;
  HostData data_;
  std::vector<std::uint32_t> order_;     // of a folder's recordings; empty: there is no folder
  mutable std::vector<Moments> sorted_;  // by_name(), if shuffled; empty: not made yet
  Shape shape_;
  Arrivals arrivals_;
  std::mutex load_mutex_;                 // guards all_
  mutable std::mutex mutex_;              // guards what follows, and sorted_
  std::vector<std::span<Moments>> free_;  // unused pinned parts
  std::vector<std::span<float>> free_stages_;
  std::optional<Error> unread_;                    // first error of reading in this sample
  std::weak_ptr<const Pages> all_;                 // what read_all() returned
  std::vector<std::span<const Moments>> pending_;  // parts that merge() has to add
  bool begun_ = false;                             // the result holds some parts already
  PassedVerdicts passed_;
};

}  // namespace mgpu::pac
