// Telemetry of GPUs from NVIDIA's library, and the search for the source of every device.
#include <algorithm>
#include <utility>

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
    reading.throttle = throttle_of(figures.clock_limits.value_or(0));
    reading.throttle_known = figures.clock_limits.has_value();
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

  TelemetryReading read_energy(Nanos) override {
    TelemetryReading reading;
    reading.energy_j = nvml_.energy(gpu_).value_or(TelemetryReading::unknown);
    if (energy_readings_++ % 20 == 0)
      reading[Gauge::power] = nvml_.power_now(gpu_).value_or(TelemetryReading::unknown);
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
  unsigned energy_readings_ = 0;
};

// Reads energy and power of another source.
class EnergySource final : public TelemetrySource {
 public:
  explicit EnergySource(std::unique_ptr<TelemetrySource> whole) : whole_(std::move(whole)) {}
  TelemetryReading read(Nanos elapsed) override { return whole_->read_energy(elapsed); }
  TelemetryReading read_energy(Nanos elapsed) override { return whole_->read_energy(elapsed); }

 private:
  std::unique_ptr<TelemetrySource> whole_;
};

// Figures that every GPU has. Others are of some vendors only.
constexpr std::pair<Gauge, const char*> kOfGpus[] = {{Gauge::clock, "clock"},
                                                     {Gauge::memory_clock, "memory clock"},
                                                     {Gauge::temperature, "temperature"},
                                                     {Gauge::utilisation, "utilisation"},
                                                     {Gauge::memory_used, "used memory"}};

// Reads once, and returns which figures are missing: "no clock, energy counter"; empty: none is.
std::string missing_figures(TelemetrySource& gpu) {
  const TelemetryReading reading = gpu.read(Nanos{});
  std::string missing;
  const auto add = [&](bool known, const char* name) {
    if (!known) missing += (missing.empty() ? "no " : ", ") + std::string(name);
  };
  for (const auto& [gauge, name] : kOfGpus) add(!std::isnan(reading[gauge]), name);
  const bool energy = !std::isnan(reading.energy_j);  // power is known from the second reading on
  add(energy || !std::isnan(reading[Gauge::power]), "power");
  add(energy, "energy counter");
  add(reading.throttle_known, "reasons of throttling");
  return missing;
}

}  // namespace

std::unique_ptr<TelemetrySource> make_nvml_source(const Nvml& nvml, Nvml::Handle gpu) {
  return std::make_unique<NvmlSource>(nvml, gpu);
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
      thing.reason = missing_figures(*thing.reader);
    } else {
      thing.reason = std::string(nvml != nullptr ? "NVML does not know it" : "there is no NVML") +
                     (device.pci ? ", and sysfs has no figures of " + *device.pci
                                 : ", and it has no PCI address to find it in sysfs by");
    }
    things.push_back(std::move(thing));
  }
  return things;
}

std::vector<WatchedThing> find_energy(std::span<const Device> devices,
                                      const TelemetryPlaces& places) {
  std::vector<WatchedThing> things = find_telemetry(devices, places);
  for (WatchedThing& thing : things) {
    if (thing.reader == nullptr) continue;
    const TelemetryReading first = thing.reader->read_energy(Nanos{});
    thing.every = 1;
    if (!std::isnan(first.energy_j) || !std::isnan(first[Gauge::power])) {
      thing.reader = std::make_unique<EnergySource>(std::move(thing.reader));
      continue;
    }
    thing.reader = nullptr;
    thing.reason = thing.of == kHost ? why_no_rapl(places.root)
                                     : "its driver reports neither energy nor power";
  }
  return things;
}

}  // namespace mgpu
