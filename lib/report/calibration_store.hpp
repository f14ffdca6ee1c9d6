// Calibrations cached on disk: one small JSON file per device and two per set of devices. What
// cannot be trusted is never used: a file that is damaged, of something else, or of another driver,
// tool or kernel is a warning, and whoever asked measures again.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/device/device.hpp"

namespace mgpu {

// What the figures depend on besides the device and its driver.
struct CalibrationBasis {
  std::string tool;     // its version, to the commit
  std::string kernels;  // text of the kernels that measure
};

// The kernel variant of a suite that was fastest on a device.
struct CachedVariant {
  std::string name;
  double ops_per_s = 0;
};

class CalibrationStore {
 public:
  // An empty folder: nothing is read and nothing is cached.
  CalibrationStore(std::filesystem::path folder, const CalibrationBasis& basis);

  // None when there is none that can be used; a file that is there but cannot be used adds a line
  // to `warnings`.
  std::optional<Capability> load(const Device& device, std::vector<std::string>& warnings) const;
  // Of this set of devices, in whatever order.
  std::optional<LinkCapability> load_link(std::span<const Device> devices,
                                          std::vector<std::string>& warnings) const;
  // Between the devices of this set, likewise, and in this order; empty when there are none that
  // can be used.
  PeerLinks load_peers(std::span<const Device> devices, std::vector<std::string>& warnings) const;
  // Of a suite with its options (`work`) on a device.
  std::optional<SuiteRate> load_suite(const Device& device, const std::string& work,
                                      std::vector<std::string>& warnings) const;

  // How far medians of it lie apart on this set of devices, in whatever order.
  std::optional<double> load_noise(std::span<const Device> devices, const std::string& work,
                                   std::vector<std::string>& warnings) const;
  // Of a suite's work on a device.
  std::optional<CachedVariant> load_variant(const Device& device, const std::string& work,
                                            std::vector<std::string>& warnings) const;

  // Atomically, over what was there. A folder that cannot be written adds a line to `warnings`: it
  // costs a later run time, no more.
  void save(const Device& device, const Capability& capability,
            std::vector<std::string>& warnings) const;
  void save_suite(const Device& device, const std::string& work, const SuiteRate& rate,
                  std::vector<std::string>& warnings) const;
  void save_noise(std::span<const Device> devices, const std::string& work, double share,
                  std::vector<std::string>& warnings) const;
  void save_variant(const Device& device, const std::string& work, const CachedVariant& variant,
                    std::vector<std::string>& warnings) const;
  void save_link(std::span<const Device> devices, const LinkCapability& link,
                 std::vector<std::string>& warnings) const;
  void save_peers(std::span<const Device> devices, const PeerLinks& links,
                  std::vector<std::string>& warnings) const;

 private:
  std::filesystem::path folder_;
  std::string tool_, kernels_;  // the latter as a hash
};

}  // namespace mgpu
