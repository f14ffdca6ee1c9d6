// Calibrations cached on disk: one small JSON file per device and two per set of devices. A file
// that is damaged, of another device, or made with another driver, tool or kernel is never used: it
// gives a warning, and the caller measures again.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/device/device.hpp"

namespace mgpu {

// Inputs that the figures depend on besides the device and its driver.
struct CalibrationBasis {
  std::string tool;     // its version, with the commit
  std::string kernels;  // source text of the kernels that measure
};

// The kernel variant of a suite that was fastest on a device.
struct CachedVariant {
  std::string name;
  double ops_per_s = 0;
};

class CalibrationStore {
 public:
  // Reads and caches nothing if the folder is empty.
  CalibrationStore(std::filesystem::path folder, const CalibrationBasis& basis);

  // Returns none without a usable file; a file that exists but cannot be used adds a line to
  // `warnings`.
  std::optional<Capability> load(const Device& device, std::vector<std::string>& warnings) const;
  // Returns the figures of this set of devices, in any order.
  std::optional<LinkCapability> load_link(std::span<const Device> devices,
                                          std::vector<std::string>& warnings) const;
  // Returns the links between the devices of this set, given in any order, in the order of
  // `devices`; empty without a usable file.
  PeerLinks load_peers(std::span<const Device> devices, std::vector<std::string>& warnings) const;
  // Returns the rate of a suite with its options (`work`) on a device.
  std::optional<SuiteRate> load_suite(const Device& device, const std::string& work,
                                      std::vector<std::string>& warnings) const;

  // Returns the noise of this work on this set of devices, in any order: how far its medians lie
  // apart.
  std::optional<double> load_noise(std::span<const Device> devices, const std::string& work,
                                   std::vector<std::string>& warnings) const;
  // Returns the fastest variant of a suite's work on a device.
  std::optional<CachedVariant> load_variant(const Device& device, const std::string& work,
                                            std::vector<std::string>& warnings) const;

  // Replaces the cached figures atomically. A folder that cannot be written only adds a line to
  // `warnings`: a later run then measures again.
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
  std::string tool_, kernels_;  // kernels_: as a hash
};

}  // namespace mgpu
