// Telemetry of GPUs, from NVIDIA's library or from the files of amdgpu, i915 and xe (Linux
// Documentation/gpu/amdgpu/thermal.rst, ABI/testing/sysfs-driver-intel-*-hwmon).
#include <algorithm>
#include <cctype>

#include "lib/measure/small_files.hpp"
#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

class NvmlSource final : public TelemetrySource {
 public:
  NvmlSource(const Nvml& nvml, Nvml::Handle gpu) : nvml_(nvml), gpu_(gpu) {}

  TelemetryReading read(Nanos elapsed) override {
    const NvmlFigures figures = nvml_.figures(gpu_);
    TelemetryReading reading;
    const auto put = [&](Gauge gauge, const auto& value) {
      if (value) reading[gauge] = static_cast<double>(*value);
    };
    put(Gauge::clock, figures.clock_mhz);
    put(Gauge::memory_clock, figures.memory_clock_mhz);
    put(Gauge::power, figures.power_w);
    put(Gauge::temperature, figures.temperature_c);
    put(Gauge::utilisation, figures.utilisation);
    put(Gauge::memory_used, figures.memory_used);
    reading.energy_j = figures.energy_j.value_or(TelemetryReading::unknown);
    reading.throttle = throttle_of(figures.clock_limits.value_or(0));
    since_counted_ += elapsed;
    if (elapsed <= Nanos{} || since_counted_ >= std::chrono::seconds(1)) {
      since_counted_ = Nanos{};
      const auto processes = nvml_.compute_processes(gpu_);
      // Subtracts one for this process, which cannot be found by its id: a container numbers it
      // differently.
      others_ = processes ? std::max(0.0, *processes - 1.0) : TelemetryReading::unknown;
      link_ = nvml_.pcie_link(gpu_);
    }
    put(Gauge::pcie_generation, link_.generation);
    put(Gauge::pcie_width, link_.width);
    reading[Gauge::other_processes] = others_;
    return reading;
  }

 private:
  static std::uint32_t throttle_of(std::uint64_t limits) {
    std::uint32_t bits = 0;
    if ((limits & Nvml::kSoftwarePowerCap) != 0) bits |= throttle::power_cap;
    if ((limits & (Nvml::kSoftwareThermal | Nvml::kHardwareThermal)) != 0)
      bits |= throttle::thermal;
    if ((limits & Nvml::kPowerBrake) != 0) bits |= throttle::power_brake;
    // NVML sets this bit along with the two that say why.
    if ((limits & Nvml::kHardwareSlowdown) != 0 &&
        (limits & (Nvml::kHardwareThermal | Nvml::kPowerBrake)) == 0)
      bits |= throttle::hardware;
    if ((limits & Nvml::kSyncBoost) != 0) bits |= throttle::sync_boost;
    return bits;
  }

  const Nvml& nvml_;
  Nvml::Handle gpu_;
  Nanos since_counted_{};
  double others_ = TelemetryReading::unknown;
  Nvml::PcieLink link_;
};

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

class SysfsSource final : public TelemetrySource {
 public:
  explicit SysfsSource(const fs::path& card) {
    const fs::path device = card / "device";
    fs::path sensors = device / "hwmon";
    std::error_code error;
    for (fs::directory_iterator it(device / "hwmon", error), end; !error && it != end;
         it.increment(error))
      sensors = it->path();
    const auto set = [&](Gauge gauge, FileGauge file) {
      files_[static_cast<std::size_t>(gauge)] = std::move(file);
    };
    set(Gauge::clock, first_of({{sensors / "freq1_input", 1e-6},
                                {card / "gt_act_freq_mhz", 1},
                                {card / "gt/gt0/rps_act_freq_mhz", 1}}));
    set(Gauge::memory_clock, first_of({{sensors / "freq2_input", 1e-6}}));
    set(Gauge::power,
        first_of({{sensors / "power1_average", 1e-6}, {sensors / "power1_input", 1e-6}}));
    set(Gauge::temperature, first_of({{sensors / "temp1_input", 1e-3}}));
    set(Gauge::utilisation, first_of({{device / "gpu_busy_percent", 1e-2}}));
    set(Gauge::memory_used, first_of({{device / "mem_info_vram_used", 1}}));
    energy_ = first_of({{sensors / "energy1_input", 1e-6}});
  }

  bool has_any() const {
    return !energy_.file.empty() || std::any_of(files_.begin(), files_.end(),
                                                [](const FileGauge& f) { return !f.file.empty(); });
  }

  TelemetryReading read(Nanos elapsed) override {
    TelemetryReading reading;
    for (std::size_t g = 0; g < kGauges; ++g) reading.values[g] = files_[g].read();
    reading.energy_j = energy_.read();
    if (std::isnan(reading[Gauge::power]) && elapsed > Nanos{})
      reading[Gauge::power] = (reading.energy_j - before_) / seconds(elapsed);
    before_ = reading.energy_j;
    return reading;
  }

 private:
  std::array<FileGauge, kGauges> files_;
  FileGauge energy_;
  double before_ = TelemetryReading::unknown;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::unique_ptr<TelemetrySource> make_nvml_source(const Nvml& nvml, Nvml::Handle gpu) {
  return std::make_unique<NvmlSource>(nvml, gpu);
}

std::unique_ptr<TelemetrySource> make_sysfs_source(const fs::path& root, const std::string& pci) {
  std::error_code error;
  for (fs::directory_iterator it(root / "sys/class/drm", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("card") || name.find('-') != std::string::npos)
      continue;  // skips connectors, such as card0-DP-1
    std::error_code unreadable;
    const fs::path device = fs::canonical(it->path() / "device", unreadable);
    if (unreadable || lower(device.filename().string()) != lower(pci)) continue;
    auto source = std::make_unique<SysfsSource>(it->path());
    if (source->has_any()) return source;
  }
  return nullptr;
}

std::vector<WatchedThing> find_telemetry(std::span<const Device> devices,
                                         const TelemetryPlaces& places) {
  std::vector<WatchedThing> things;
  WatchedThing& host = things.emplace_back();
  host.of = kHost;
  // Read every fourth time: its ticks are 10 ms, and reading takes up to a millisecond on a large
  // machine.
  host.every = 4;
  host.reader = make_host_source(places.root);
  if (std::isnan(host.reader->read(Nanos{})[Gauge::memory_used])) {
    host.reason =
        "there is no " + (places.root / "proc/meminfo").string() + ": not Linux, or hidden";
    host.reader = nullptr;
  } else {
    host.source = "procfs, sysfs";
  }
  const bool host_known = host.reader != nullptr;
  const std::string host_reason = host.reason;
  for (const Device& device : devices) {
    WatchedThing thing;
    thing.of = device.id;
    if (device.is_elsewhere()) {
      thing.reason = "it belongs to another node";
      things.push_back(std::move(thing));
      continue;
    }
    const Nvml* const nvml = device.is_cpu() ? nullptr : places.nvml();
    const Nvml::Handle gpu = nvml != nullptr ? nvml->find(device) : nullptr;
    if (device.is_cpu()) {
      (host_known ? thing.source : thing.reason) = host_known ? kHost : host_reason;
    } else if (gpu != nullptr) {
      thing.source = "NVML";
      thing.reader = make_nvml_source(*nvml, gpu);
    } else if (device.pci && (thing.reader = make_sysfs_source(places.root, *device.pci))) {
      thing.source = "sysfs";
    } else {
      thing.reason = std::string(nvml != nullptr ? "NVML does not know it" : "there is no NVML") +
                     (device.pci ? ", and sysfs has no figures of " + *device.pci
                                 : ", and it has no PCI address to find it in sysfs by");
    }
    things.push_back(std::move(thing));
  }
  return things;
}

}  // namespace mgpu
