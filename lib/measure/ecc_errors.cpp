// Reads files of Linux that its kernel documents: gpu/amdgpu/ras.rst, admin-guide/ras.rst.
#include "lib/measure/ecc_errors.hpp"

#include <charconv>

#include "lib/base/small_files.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

// Returns the number after a word such as "ue: ".
std::optional<std::uint64_t> number_after(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t value = 0;
  const char* const begin = text.data() + at + word.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<EccErrors> of_amd_gpu(const fs::path& folder) {
  const std::string text = small_file(folder / "ras/umc_err_count");
  const auto uncorrected = number_after(text, "ue: "), corrected = number_after(text, "ce: ");
  if (!uncorrected || !corrected) return std::nullopt;
  return EccErrors{*corrected, *uncorrected};
}

// Returns the sums over all memory controllers.
std::optional<EccErrors> of_host(const fs::path& root) {
  std::optional<EccErrors> all;
  for (unsigned k = 0;; ++k) {
    const fs::path folder = root / "sys/devices/system/edac/mc" / ("mc" + std::to_string(k));
    const auto corrected = small_number(folder / "ce_count"),
               uncorrected = small_number(folder / "ue_count");
    if (!corrected || !uncorrected) return all;
    if (!all) all.emplace();
    all->corrected += static_cast<std::uint64_t>(*corrected);
    all->uncorrected += static_cast<std::uint64_t>(*uncorrected);
  }
}

}  // namespace

std::optional<EccErrors> read_ecc_errors(const Device& device, const TelemetryPlaces& places) {
  if (device.is_elsewhere()) return std::nullopt;
  if (device.is_cpu()) return of_host(places.root);
  const Nvml* const nvml = places.nvml();
  if (const Nvml::Handle gpu = nvml != nullptr ? nvml->find(device) : nullptr; gpu != nullptr) {
    const auto corrected = nvml->ecc_errors(gpu, false), uncorrected = nvml->ecc_errors(gpu, true);
    if (!corrected || !uncorrected) return std::nullopt;
    return EccErrors{*corrected, *uncorrected};
  }
  return device.pci ? of_amd_gpu(places.root / "sys/bus/pci/devices" / *device.pci) : std::nullopt;
}

}  // namespace mgpu
