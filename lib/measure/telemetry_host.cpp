// Telemetry of the machine, from files of Linux that its kernel documents
// (Documentation/filesystems/proc.rst, admin-guide/pm/cpufreq.rst, power/powercap,
// hwmon/sysfs-interface.rst).
#include <algorithm>
#include <array>
#include <sstream>

#include "lib/base/small_files.hpp"
#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

// Most clocks that are read: before Linux 5.18 reading one may wake its core.
constexpr std::size_t kClocksAtMost = 8;

std::vector<fs::path> entries(const fs::path& folder, const std::string& begins_with) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(begins_with)) found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string first_word(const fs::path& file) {
  std::string word;
  std::istringstream(small_file(file, 64)) >> word;
  return word;
}

// Returns at most `most` of them, spread evenly.
std::vector<fs::path> spread(std::vector<fs::path> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<fs::path> some;
  for (std::size_t k = 0; k < most; ++k) some.push_back(all[k * all.size() / most]);
  return some;
}

std::vector<fs::path> with_suffix(const std::vector<fs::path>& folders, const char* suffix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::path& folder : folders)
    if (fs::exists(folder / suffix, ignored)) found.push_back(folder / suffix);
  return found;
}

std::vector<fs::path> cpu_sensors(const fs::path& root) {
  std::vector<fs::path> found;
  for (const fs::path& chip : entries(root / "sys/class/hwmon", "hwmon")) {
    const std::string name = first_word(chip / "name");
    if (name == "coretemp" || name == "k10temp" || name == "zenpower" || name == "cpu_thermal")
      found.push_back(chip / "temp1_input");
  }
  if (!found.empty()) return found;
  for (const fs::path& zone : entries(root / "sys/class/thermal", "thermal_zone")) {
    const std::string type = first_word(zone / "type");
    if (type == "x86_pkg_temp" || type.starts_with("cpu")) found.push_back(zone / "temp");
  }
  return found;
}

// Counters of time since the machine started, in ticks of any length.
struct Ticks {
  double all = 0, busy = 0, own = 0;
};

class HostSource final : public TelemetrySource {
 public:
  explicit HostSource(const fs::path& root) : root_(root), sensors_(cpu_sensors(root)) {
    std::vector<fs::path> cpus = entries(root / "sys/devices/system/cpu", "cpu");
    std::erase_if(cpus, [](const fs::path& p) {
      return p.filename().string().find_first_of("0123456789") != 3;
    });
    clocks_ = spread(with_suffix(cpus, "cpufreq/scaling_cur_freq"), kClocksAtMost);
    throttles_ =
        spread(with_suffix(cpus, "thermal_throttle/package_throttle_count"), kClocksAtMost);
    for (const fs::path& zone : entries(root / "sys/class/powercap", "intel-rapl:")) {
      const std::string name = zone.filename().string();
      if (std::count(name.begin(), name.end(), ':') > 1 || !small_number(zone / "energy_uj"))
        continue;  // a part of a package
      packages_.push_back(
          {zone / "energy_uj", small_number(zone / "max_energy_range_uj").value_or(0), 0});
    }
  }

  TelemetryReading read(Nanos elapsed) override {
    TelemetryReading reading;
    read_load(reading);
    read_memory(reading);
    reading[Gauge::clock] = mean(clocks_) * 1e-3;  // kHz
    for (const fs::path& sensor : sensors_) {
      const auto millis = small_number(sensor);
      if (millis)
        reading[Gauge::temperature] = std::fmax(reading[Gauge::temperature], *millis * 1e-3);
    }
    read_energy(reading, elapsed);
    const double throttles = mean(throttles_);
    if (throttles > throttles_before_)
      reading.throttle |= throttle::thermal;  // false for NaN and at the first reading
    throttles_before_ = throttles;
    return reading;
  }

  TelemetryReading read_energy(Nanos elapsed) override {
    TelemetryReading reading;
    read_energy(reading, elapsed);
    return reading;
  }

 private:
  struct Package {
    fs::path file;
    double range = 0, before = 0;  // uJ
  };

  static double mean(const std::vector<fs::path>& files) {
    double sum = 0;
    std::size_t n = 0;
    for (const fs::path& file : files) {
      const auto value = small_number(file);
      sum += value.value_or(0);
      n += value.has_value();
    }
    return n > 0 ? sum / static_cast<double>(n) : TelemetryReading::unknown;
  }

  // The line has: cpu user nice system idle iowait irq softirq steal guest guest_nice. Guest time
  // is already counted in user and nice.
  std::optional<Ticks> ticks() const {
    std::istringstream all(small_file(root_ / "proc/stat", 256));
    std::string word;
    std::array<double, 8> columns{};
    all >> word;
    for (double& column : columns)
      if (!(all >> column)) return std::nullopt;
    Ticks now;
    for (const double column : columns) now.all += column;
    now.busy = now.all - columns[3] - columns[4];
    const std::string self = small_file(root_ / "proc/self/stat", 1024);
    const std::size_t name_end = self.rfind(')');  // the name may contain anything
    if (word != "cpu" || name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(self.substr(name_end + 1));
    for (int field = 3; field <= 13; ++field) fields >> word;
    double user = 0, system = 0;
    if (!(fields >> user >> system)) return std::nullopt;
    now.own = user + system;
    return now;
  }

  void read_load(TelemetryReading& reading) {
    const auto now = ticks();
    if (now && before_ && now->all > before_->all) {
      const double all = now->all - before_->all, busy = now->busy - before_->busy,
                   own = now->own - before_->own;
      reading[Gauge::load] = std::clamp(busy / all, 0.0, 1.0);
      reading[Gauge::other_load] = std::clamp((busy - own) / all, 0.0, 1.0);
    }
    before_ = now;
  }

  void read_memory(TelemetryReading& reading) const {
    std::istringstream lines(small_file(root_ / "proc/meminfo", 512));
    double total = -1, available = -1;
    for (std::string key, unit; lines >> key;) {
      double value = 0;
      if (!(lines >> value >> unit)) break;
      if (key == "MemTotal:") total = value;
      if (key == "MemAvailable:") available = value;
    }
    if (total >= 0 && available >= 0) reading[Gauge::memory_used] = (total - available) * 1024;
  }

  void read_energy(TelemetryReading& reading, Nanos elapsed) {
    if (packages_.empty()) return;
    const bool first = elapsed <= Nanos{};
    double used = 0;
    for (Package& package : packages_) {
      const double now = small_number(package.file).value_or(package.before);
      const double more = now - package.before;
      if (!first) used += more < 0 ? more + package.range : more;  // the counter wraps at its range
      package.before = now;
    }
    energy_ += used * 1e-6;
    reading.energy_j = energy_;
    if (!first) reading[Gauge::power] = used * 1e-6 / seconds(elapsed);
  }

  fs::path root_;
  std::vector<fs::path> sensors_, clocks_, throttles_;
  std::vector<Package> packages_;
  std::optional<Ticks> before_;
  double energy_ = 0, throttles_before_ = TelemetryReading::unknown;
};

}  // namespace

std::string why_no_rapl(const fs::path& root) {
  const fs::path counter = root / "sys/class/powercap/intel-rapl:0/energy_uj";
  std::error_code unknown;
  return fs::exists(counter, unknown)
             ? counter.string() + " may not be read: sudo chmod a+r " + counter.string()
             : "there is no RAPL: no " + counter.string();
}

std::unique_ptr<TelemetrySource> make_host_source(const fs::path& root) {
  return std::make_unique<HostSource>(root);
}

}  // namespace mgpu
