// Telemetry of GPUs from the files that Linux documents: of amdgpu in Documentation/gpu/amdgpu/
// thermal.rst and driver-misc.rst, of i915 and xe in ABI/testing/sysfs-driver-intel-i915-hwmon and
// sysfs-driver-intel-xe-hwmon, of xe also in the sections "Xe GT Frequency Management" and "Xe GT
// Throttle" of its sources.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <utility>

#include "lib/base/small_files.hpp"
#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Returns the entries of a folder whose names are `prefix` and a number, in order of the numbers.
std::vector<fs::path> numbered(const fs::path& folder, std::string_view prefix) {
  std::vector<std::pair<unsigned, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const char* const last = name.data() + name.size();
    unsigned number = 0;
    const auto [stop, bad] = std::from_chars(name.data() + prefix.size(), last, number);
    if (bad == std::errc() && stop == last) found.emplace_back(number, it->path());
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> folders;
  for (auto& [number, path] : found) folders.push_back(std::move(path));
  return folders;
}

// A file that begins with a number, and the factor to the gauge's unit.
struct FileGauge {
  fs::path file;
  double factor = 1;
  double read() const {
    const auto value = file.empty() ? std::nullopt : small_number(file);
    return value ? *value * factor : TelemetryReading::unknown;
  }
};

FileGauge first_of(std::initializer_list<FileGauge> candidates) {
  for (const FileGauge& candidate : candidates)
    if (small_number(candidate.file)) return candidate;
  return {};
}

// Returns the parts of an Intel GPU that compute: of i915 gt0, of xe the first GT of each tile. The
// others encode and decode video.
std::vector<fs::path> computing_parts(const fs::path& card) {
  std::vector<fs::path> parts;
  for (const fs::path& tile : numbered(card / "device", "tile")) {
    const std::vector<fs::path> of_tile = numbered(tile, "gt");
    if (!of_tile.empty()) parts.push_back(of_tile.front());
  }
  std::error_code ignored;
  if (parts.empty() && fs::exists(card / "gt/gt0", ignored)) parts.push_back(card / "gt/gt0");
  return parts;
}

// Reasons for which i915 and xe throttle, as they name them, and ours. `p0_freq` of xe is missing:
// the clock is as high as the hardware allows.
constexpr std::pair<const char*, std::uint32_t> kIntelReasons[] = {
    {"pl1", throttle::power_cap},       {"pl2", throttle::power_cap},
    {"pl4", throttle::power_cap},       {"psys_pl1", throttle::power_cap},
    {"psys_pl2", throttle::power_cap},  {"psys_crit", throttle::power_cap},
    {"thermal", throttle::thermal},     {"soc_thermal", throttle::thermal},
    {"mem_thermal", throttle::thermal}, {"soc_avg_thermal", throttle::thermal},
    {"vr_thermal", throttle::thermal},  {"vr_thermalert", throttle::thermal},
    {"ratl", throttle::thermal},        {"prochot", throttle::thermal},
    {"vr_tdc", throttle::hardware},     {"iccmax", throttle::hardware},
    {"fastvmode", throttle::hardware}};

// Files of one part of an Intel GPU: `status` tells whether it throttles, the others why.
struct IntelThrottle {
  fs::path status;
  std::vector<std::pair<fs::path, std::uint32_t>> reasons;

  std::uint32_t read() const {
    std::uint32_t bits = 0;
    if (small_number(status).value_or(0) == 0) return bits;
    for (const auto& [file, bit] : reasons)
      if (small_number(file).value_or(0) != 0) bits |= bit;
    return bits;
  }
};

std::vector<IntelThrottle> intel_throttles(const fs::path& card) {
  std::vector<IntelThrottle> found;
  for (const fs::path& part : computing_parts(card)) {
    for (const fs::path& prefix : {part / "freq0/throttle/reason_", part / "throttle_reason_"}) {
      IntelThrottle one;
      // xe: throttle/status; i915: throttle_reason_status.
      one.status = prefix.filename() == "reason_" ? prefix.parent_path() / "status"
                                                  : fs::path(prefix.string() + "status");
      if (!small_number(one.status)) continue;
      for (const auto& [name, bit] : kIntelReasons)
        if (fs::path file = prefix.string() + name; small_number(file))
          one.reasons.emplace_back(std::move(file), bit);
      found.push_back(std::move(one));
      break;
    }
  }
  return found;
}

// Reads the throttle status of amdgpu's file gpu_metrics, if it has format 1.3: discrete GPUs of
// RDNA 1 to 3 and CDNA 1 and 2. This is the only format of them whose status means the same on
// every chip: 16 bits each of power, current, temperature and others (kgd_pp_interface.h,
// amdgpu_smu.h). Returns none of another format.
std::optional<std::uint32_t> amd_throttle(const fs::path& metrics) {
  constexpr std::size_t kStatusAt = 112, kSize = kStatusAt + sizeof(std::uint64_t);
  const std::string text = small_file(metrics);
  if (text.size() < kSize || text[2] != 1 || text[3] != 3) return std::nullopt;
  std::uint64_t status = 0;
  std::memcpy(&status, text.data() + kStatusAt, sizeof status);
  if (status == ~std::uint64_t{0}) return std::nullopt;  // the chip has none
  constexpr std::uint64_t kSixteen = 0xffff;
  std::uint32_t bits = 0;
  if ((status & kSixteen) != 0) bits |= throttle::power_cap;
  if ((status >> 32 & kSixteen) != 0) bits |= throttle::thermal;
  if ((status & (kSixteen << 16 | kSixteen << 48)) != 0) bits |= throttle::hardware;
  return bits;
}

// Reads the energy that amdgpu's file gpu_metrics has accumulated, in J, if it has one of the
// formats 1.1 to 1.4, where it is at the same place, in units of 2^-16 J. Returns none of another
// format.
std::optional<double> amd_energy(const fs::path& metrics) {
  constexpr std::size_t kEnergyAt = 24;
  std::uint64_t units = 0;
  const std::string text = small_file(metrics);
  if (text.size() < kEnergyAt + sizeof units || text[2] != 1 || text[3] < 1 || text[3] > 4)
    return std::nullopt;
  std::memcpy(&units, text.data() + kEnergyAt, sizeof units);
  if (units == 0 || units == ~std::uint64_t{0}) return std::nullopt;  // the chip has none
  return std::ldexp(static_cast<double>(units), -16);
}

class SysfsSource final : public TelemetrySource {
 public:
  explicit SysfsSource(const fs::path& card)
      : metrics_(card / "device/gpu_metrics"), throttles_(intel_throttles(card)) {
    const fs::path device = card / "device", sensors = sensors_of(device);
    const auto set = [&](Gauge gauge, FileGauge file) {
      files_[static_cast<std::size_t>(gauge)] = std::move(file);
    };
    for (const fs::path& part : computing_parts(card))
      if (small_number(part / "freq0/act_freq")) clocks_.push_back(part / "freq0/act_freq");
    set(Gauge::clock, first_of({{sensors / "freq1_input", 1e-6},
                                {card / "gt/gt0/rps_act_freq_mhz", 1},
                                {card / "gt_act_freq_mhz", 1}}));
    set(Gauge::memory_clock, first_of({{sensors / "freq2_input", 1e-6}}));
    set(Gauge::power,
        first_of({{sensors / "power1_average", 1e-6}, {sensors / "power1_input", 1e-6}}));
    // The second is the hottest spot of amdgpu, whose MI300 has no first, and the package of xe.
    set(Gauge::temperature,
        first_of({{sensors / "temp1_input", 1e-3}, {sensors / "temp2_input", 1e-3}}));
    set(Gauge::memory_temperature, first_of({{sensors / "temp3_input", 1e-3}}));
    set(Gauge::utilisation, first_of({{device / "gpu_busy_percent", 1e-2}}));
    set(Gauge::memory_used, first_of({{device / "mem_info_vram_used", 1}}));
    // The first is that of the card, the second of its package.
    energy_ = first_of({{sensors / "energy1_input", 1e-6}, {sensors / "energy2_input", 1e-6}});
  }

  bool has_any() const {
    return !clocks_.empty() || !energy_.file.empty() ||
           std::any_of(files_.begin(), files_.end(),
                       [](const FileGauge& f) { return !f.file.empty(); });
  }

  TelemetryReading read(Nanos elapsed) override {
    TelemetryReading reading;
    for (std::size_t g = 0; g < kGauges; ++g) reading.values[g] = files_[g].read();
    for (const fs::path& clock : clocks_)
      if (const auto mhz = small_number(clock))
        reading[Gauge::clock] = std::fmax(reading[Gauge::clock], *mhz);
    reading.energy_j = energy_.read();
    if (std::isnan(reading[Gauge::power]) && elapsed > Nanos{})
      reading[Gauge::power] = (reading.energy_j - before_) / seconds(elapsed);
    before_ = reading.energy_j;
    for (const IntelThrottle& one : throttles_) reading.throttle |= one.read();
    const auto amd = amd_throttle(metrics_);
    reading.throttle |= amd.value_or(0);
    reading.throttle_known = amd || !throttles_.empty();
    return reading;
  }

  TelemetryReading read_energy(Nanos) override {
    TelemetryReading reading;
    reading.energy_j = energy_.read();
    if (energy_.file.empty())
      reading.energy_j = amd_energy(metrics_).value_or(TelemetryReading::unknown);
    reading[Gauge::power] = files_[static_cast<std::size_t>(Gauge::power)].read();
    return reading;
  }

 private:
  std::array<FileGauge, kGauges> files_;
  std::vector<fs::path> clocks_;  // of each tile: the highest counts
  FileGauge energy_;
  fs::path metrics_;
  std::vector<IntelThrottle> throttles_;
  double before_ = TelemetryReading::unknown;
};

}  // namespace

fs::path sensors_of(const fs::path& device) {
  const std::vector<fs::path> all = numbered(device / "hwmon", "hwmon");
  for (const fs::path& one : all)
    if (small_file(one / "name", 64).find("_gt") == std::string::npos) return one;
  return all.empty() ? device / "hwmon" : all.front();
}

std::unique_ptr<TelemetrySource> make_sysfs_source(const fs::path& root, const std::string& pci) {
  // Connectors, such as card0-DP-1, are not numbered.
  for (const fs::path& card : numbered(root / "sys/class/drm", "card")) {
    std::error_code unreadable;
    const fs::path device = fs::canonical(card / "device", unreadable);
    if (unreadable || lower_case(device.filename().string()) != lower_case(pci)) continue;
    auto source = std::make_unique<SysfsSource>(card);
    if (source->has_any()) return source;
  }
  return nullptr;
}

}  // namespace mgpu
