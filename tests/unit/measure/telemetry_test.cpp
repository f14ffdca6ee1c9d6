// Telemetry of a machine, read from a fake NVIDIA library and a made-up tree of /proc and /sys; and
// the thread that reads it.
#include "lib/measure/telemetry.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "lib/measure/device_state.hpp"
#include "lib/measure/device_status.hpp"
#include "lib/measure/ecc_errors.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/paths.hpp"

using namespace mgpu;

namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

// A machine of two cores, one package and one AMD GPU at 0000:03:00.0.
class FakeMachine {
 public:
  FakeMachine() {
    host(100, 300, 1'000'000);
    put("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  400 kB\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n");
    put("sys/devices/system/cpu/cpuidle/scaling_cur_freq", "1\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "4\n");
    put("sys/class/hwmon/hwmon0/name", "nvme\n");
    put("sys/class/hwmon/hwmon0/temp1_input", "99000\n");
    put("sys/class/hwmon/hwmon1/name", "coretemp\n");
    put("sys/class/hwmon/hwmon1/temp1_input", "55500\n");
    put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "2000000\n");
    put("sys/class/powercap/intel-rapl:0:0/energy_uj", "777\n");  // the cores' part of the package
    const std::string gpu = "sys/devices/pci0000:00/0000:03:00.0/";
    put(gpu + "gpu_busy_percent", "42\n");
    put(gpu + "mem_info_vram_used", "123456\n");
    put(gpu + "hwmon/hwmon5/power1_average", "210000000\n");
    put(gpu + "hwmon/hwmon5/temp1_input", "70000\n");
    put(gpu + "hwmon/hwmon5/freq1_input", "2400000000\n");
    fs::create_directories(root() / "sys/class/drm/card0");
    fs::create_directories(root() / "sys/class/drm/card0-DP-1");
    fs::create_directory_symlink(root() / gpu, root() / "sys/class/drm/card0/device");
  }

  // Sets ticks since the start, out of 1000 (used by this process, by all processes), and the
  // package's energy.
  void host(int own, int busy, int energy_uj) {
    put("proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(ticks_ - busy) +
                         " 0 0 0 0 0 0\ncpu0 0 0 0\n");
    put("proc/self/stat", "17 (odd ) name) R 1 1 1 0 -1 4194304 100 0 0 0 " +
                              std::to_string(own - 10) + " 10 0 0 20 0\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", std::to_string(energy_uj) + "\n");
    ticks_ += 1000;
  }
  void put(const std::string& file, const std::string& text) {
    fs::create_directories((root() / file).parent_path());
    std::ofstream(root() / file) << text;
  }
  // Adds a GPU, as a driver would: files under its PCI folder and under its card.
  void gpu(int number, const std::string& pci,
           std::initializer_list<std::pair<const char*, const char*>> of_device,
           std::initializer_list<std::pair<const char*, const char*>> of_card = {}) {
    const std::string device = "sys/devices/pci0000:00/" + pci + "/",
                      card = "sys/class/drm/card" + std::to_string(number) + "/";
    for (const auto& [file, text] : of_device) put(device + file, std::string(text) + "\n");
    for (const auto& [file, text] : of_card) put(card + file, std::string(text) + "\n");
    fs::create_directories(root() / card);
    fs::create_directory_symlink(root() / device, root() / (card + "device"));
  }
  fs::path root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  int ticks_ = 1000;
};

Device watched_gpu(const std::string& id, std::optional<std::string> pci) {
  Device device;
  device.id = id;
  device.pci = std::move(pci);
  return device;
}

const Nvml* fake_nvml() {
  static const auto loaded = Nvml::load(test::fake_nvml_library());
  return loaded.get();
}
const Nvml* no_nvml() { return nullptr; }

// A source that counts its readings and blocks in one while it is held.
class CountingSource final : public TelemetrySource {
 public:
  CountingSource(std::atomic<int>& looks, std::atomic<bool>& held) : looks_(looks), held_(held) {}
  TelemetryReading read(Nanos) override {
    TelemetryReading reading;
    reading[Gauge::power] = ++looks_;
    while (held_) std::this_thread::yield();
    return reading;
  }
  TelemetryReading read_energy(Nanos elapsed) override { return read(elapsed); }

 private:
  std::atomic<int>& looks_;
  std::atomic<bool>& held_;
};

}  // namespace

namespace {

std::vector<WatchedThing> watching(std::unique_ptr<TelemetrySource> source) {
  std::vector<WatchedThing> things;
  things.push_back({"a", "test", "", std::move(source), 1});
  return things;
}

}  // namespace

TEST_CASE("of the host are read load, memory, clocks, temperature, and energy, which wraps") {
  FakeMachine machine;
  const auto source = make_host_source(machine.root());
  const TelemetryReading first = source->read(Nanos{});
  CHECK(first[Gauge::memory_used] == 600 * 1024);
  CHECK(first[Gauge::clock] == 2500);
  CHECK(first[Gauge::temperature] == 55.5);
  CHECK(first.energy_j == 0);
  CHECK(first.throttle == 0);
  for (const Gauge gauge : {Gauge::load, Gauge::other_load, Gauge::power, Gauge::utilisation})
    CHECK(std::isnan(first[gauge]));

  machine.host(300, 1000, 1'500'000);  // 700 of 1000 ticks busy, 200 of them by this process
  machine.put("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "5\n");
  const TelemetryReading second = source->read(std::chrono::milliseconds(100));
  CHECK(second[Gauge::load] == doctest::Approx(0.7));
  CHECK(second[Gauge::other_load] == doctest::Approx(0.5));
  CHECK(second[Gauge::power] == doctest::Approx(5));
  CHECK(second.throttle == throttle::thermal);

  machine.host(300, 1000, 250'000);  // 0.5 J to the end of the range, 0.25 J from its beginning
  const TelemetryReading third = source->read(std::chrono::milliseconds(100));
  CHECK(third.energy_j == doctest::Approx(1.25));
  CHECK(third.throttle == 0);
}

TEST_CASE("a GPU is found in sysfs by its PCI address; what its driver hides is not known") {
  const FakeMachine machine;
  const auto source = make_sysfs_source(machine.root(), "0000:03:00.0");
  REQUIRE(source);
  const TelemetryReading reading = source->read(Nanos{});
  CHECK(reading[Gauge::utilisation] == doctest::Approx(0.42));
  CHECK(reading[Gauge::power] == doctest::Approx(210));
  CHECK(reading[Gauge::temperature] == doctest::Approx(70));
  CHECK(reading[Gauge::clock] == doctest::Approx(2400));
  CHECK(reading[Gauge::memory_used] == 123456);
  CHECK(std::isnan(reading[Gauge::memory_clock]));
  CHECK(std::isnan(reading.energy_j));
  CHECK_FALSE(make_sysfs_source(machine.root(), "0000:04:00.0"));
  CHECK_FALSE(make_sysfs_source(machine.root() / "nothing", "0000:03:00.0"));
}

namespace {

// Returns amdgpu's metrics of format 1.3 with this status of throttling.
std::string amd_metrics(std::uint64_t status, char revision = 3) {
  std::string text(120, '\0');
  text[0] = 120;
  text[2] = 1;
  text[3] = revision;
  std::memcpy(text.data() + 68, "\xff\xff\xff\xff", 4);  // the status of one chip only
  std::memcpy(text.data() + 112, &status, sizeof status);
  return text;
}

}  // namespace

TEST_CASE("amdgpu tells power, current and temperature that throttle, in one format of metrics") {
  FakeMachine machine;
  const std::string metrics = "sys/devices/pci0000:00/0000:03:00.0/gpu_metrics";
  const auto source = make_sysfs_source(machine.root(), "0000:03:00.0");
  REQUIRE(source);
  CHECK_FALSE(source->read(Nanos{}).throttle_known);
  const std::pair<std::uint64_t, std::uint32_t> cases[] = {
      {0, 0},
      {std::uint64_t{1} << 0, throttle::power_cap},  // PPT0
      {std::uint64_t{1} << 16, throttle::hardware},  // TDC_GFX
      {std::uint64_t{1} << 36, throttle::thermal},   // TEMP_HOTSPOT
      {std::uint64_t{1} << 57, throttle::hardware},  // FIT
      {std::uint64_t{0x100000001}, throttle::thermal | throttle::power_cap}};
  for (const auto& [status, bits] : cases) {
    CAPTURE(status);
    machine.put(metrics, amd_metrics(status));
    CHECK(source->read(Nanos{}).throttle == bits);
    CHECK(source->read(Nanos{}).throttle_known);
  }
  for (const std::string& other :
       {amd_metrics(1, 4), amd_metrics(1).substr(0, 100), amd_metrics(~std::uint64_t{0})}) {
    machine.put(metrics, other);
    CHECK(source->read(Nanos{}).throttle == 0);
    CHECK_FALSE(source->read(Nanos{}).throttle_known);
  }
}

TEST_CASE("an MI300 has no edge sensor: its hottest spot and its memory are read") {
  FakeMachine machine;
  machine.gpu(7, "0000:c1:00.0",
              {{"hwmon/hwmon2/name", "amdgpu"},
               {"hwmon/hwmon2/power1_input", "750000000"},
               {"hwmon/hwmon2/temp2_input", "64000"},
               {"hwmon/hwmon2/temp3_input", "58000"},
               {"hwmon/hwmon2/freq1_input", "2100000000"},
               {"hwmon/hwmon2/freq2_input", "1300000000"}});
  const auto source = make_sysfs_source(machine.root(), "0000:c1:00.0");
  REQUIRE(source);
  const TelemetryReading reading = source->read(Nanos{});
  CHECK(reading[Gauge::power] == doctest::Approx(750));
  CHECK(reading[Gauge::temperature] == doctest::Approx(64));
  CHECK(reading[Gauge::memory_temperature] == doctest::Approx(58));
  CHECK(reading[Gauge::memory_clock] == doctest::Approx(1300));
}

TEST_CASE("xe has its clocks per tile, sensors of package and memory, and a counter of energy") {
  FakeMachine machine;
  machine.gpu(1, "0000:07:00.0",
              {{"tile0/gt0/freq0/act_freq", "2350"},
               {"tile0/gt0/freq0/throttle/status", "1"},
               {"tile0/gt0/freq0/throttle/reason_pl1", "1"},
               {"tile0/gt0/freq0/throttle/reason_thermal", "0"},
               {"tile0/gt0/freq0/throttle/reason_vr_tdc", "0"},
               {"tile0/gt1/freq0/act_freq", "3000"},  // the part for video
               {"tile0/gt1/freq0/throttle/status", "1"},
               {"tile0/gt1/freq0/throttle/reason_thermal", "1"},
               {"tile1/gt2/freq0/act_freq", "2400"},
               {"tile1/gt2/freq0/throttle/status", "0"},
               {"tile1/gt2/freq0/throttle/reason_vr_tdc", "1"},  // status decides
               {"hwmon/hwmon3/name", "xe"},
               {"hwmon/hwmon3/energy2_input", "5000000"},
               {"hwmon/hwmon3/temp2_input", "52000"},
               {"hwmon/hwmon3/temp3_input", "61000"},
               {"hwmon/hwmon3/power1_max", "190000000"},
               {"hwmon/hwmon3/power1_cap", "240000000"}});
  const auto source = make_sysfs_source(machine.root(), "0000:07:00.0");
  REQUIRE(source);
  const TelemetryReading first = source->read(Nanos{});
  CHECK(first[Gauge::clock] == 2400);
  CHECK(first[Gauge::temperature] == doctest::Approx(52));
  CHECK(first[Gauge::memory_temperature] == doctest::Approx(61));
  CHECK(first.throttle == throttle::power_cap);
  CHECK(std::isnan(first[Gauge::power]));
  const std::string sensors = "sys/devices/pci0000:00/0000:07:00.0/hwmon/hwmon3/";
  machine.put(sensors + "energy2_input", "14000000\n");
  CHECK(source->read(std::chrono::milliseconds(100))[Gauge::power] == doctest::Approx(90));
  machine.put(sensors + "energy1_input", "1000000\n");
  CHECK(make_sysfs_source(machine.root(), "0000:07:00.0")->read(Nanos{}).energy_j == 1);

  fs::create_directories(machine.root() / "sys/bus/pci/devices");
  fs::create_directory_symlink(machine.root() / "sys/devices/pci0000:00/0000:07:00.0",
                               machine.root() / "sys/bus/pci/devices/0000:07:00.0");
  const auto limit = [&] {
    return read_device_state(watched_gpu("0:0", "0000:07:00.0"),
                             {machine.root(), &no_nvml})[Setting::power_limit];
  };
  CHECK(limit() == SettingValue(190.0));
  machine.put(sensors + "power1_max", "0\n");
  CHECK_FALSE(limit());
}

TEST_CASE("of the sensors of i915 those of the card are read, whatever their order") {
  for (const bool card_first : {true, false}) {
    CAPTURE(card_first);
    FakeMachine machine;
    machine.gpu(2, "0000:09:00.0",
                {{"hwmon/hwmon4/name", card_first ? "i915" : "i915_gt0"},
                 {"hwmon/hwmon4/energy1_input", card_first ? "3000000" : "1000000"},
                 {"hwmon/hwmon10/name", card_first ? "i915_gt0" : "i915"},
                 {"hwmon/hwmon10/energy1_input", card_first ? "1000000" : "3000000"}},
                {{"gt_act_freq_mhz", "1500"},
                 {"gt/gt0/rps_act_freq_mhz", "2050"},
                 {"gt/gt0/throttle_reason_status", "1"},
                 {"gt/gt0/throttle_reason_thermal", "1"},
                 {"gt/gt0/throttle_reason_vr_tdc", "1"},
                 {"gt/gt0/throttle_reason_pl1", "0"},
                 {"gt/gt1/throttle_reason_status", "1"},
                 {"gt/gt1/throttle_reason_pl1", "1"}});
    const auto source = make_sysfs_source(machine.root(), "0000:09:00.0");
    REQUIRE(source);
    const TelemetryReading reading = source->read(Nanos{});
    CHECK(reading.energy_j == doctest::Approx(3));
    CHECK(reading[Gauge::clock] == 2050);
    CHECK(reading.throttle == (throttle::thermal | throttle::hardware));
    const auto found =
        find_telemetry(std::vector{watched_gpu("0:0", "0000:09:00.0")}, {machine.root(), &no_nvml});
    CHECK(found[1].source == "sysfs");
    CHECK(found[1].reason == "no memory clock, temperature, utilisation, used memory");
  }
}

TEST_CASE("NVML tells clocks, power, temperature, throttling, and who else is there") {
  REQUIRE(fake_nvml());
  const auto source =
      make_nvml_source(*fake_nvml(), fake_nvml()->find(watched_gpu("0:0", "0000:1a:00.0")));
  source->read(Nanos{});
  const TelemetryReading second = source->read(std::chrono::milliseconds(50));
  CHECK(second[Gauge::clock] == 1980);
  CHECK(second[Gauge::memory_clock] == 3201);
  CHECK(second[Gauge::power] == doctest::Approx(345.6));
  CHECK(second[Gauge::temperature] == 61);
  CHECK(second[Gauge::utilisation] == doctest::Approx(0.97));
  CHECK(second[Gauge::memory_used] == 400);
  CHECK(second[Gauge::other_processes] == 2);
  CHECK(second[Gauge::pcie_generation] == 1);
  CHECK(second[Gauge::pcie_width] == 8);
  CHECK(second.throttle == (throttle::power_cap | throttle::thermal));

  Device part = watched_gpu("0:1", std::nullopt);
  part.uuid = "8912fe00-0000-0000-0000-000000000001";
  const TelemetryReading of_part =
      make_nvml_source(*fake_nvml(), fake_nvml()->find(part))->read(Nanos{});
  CHECK(of_part[Gauge::memory_used] == 70);
  CHECK(of_part.throttle == 0);
  for (const Gauge gauge :
       {Gauge::clock, Gauge::power, Gauge::temperature, Gauge::utilisation, Gauge::other_processes})
    CHECK(std::isnan(of_part[gauge]));
}

TEST_CASE("settings of CPUs are those of cpufreq, of GPUs without NVML those in sysfs") {
  FakeMachine machine;
  const TelemetryPlaces places{machine.root(), &no_nvml};
  Device cpu = watched_gpu("1:0", std::nullopt);
  cpu.type = DeviceType::cpu;
  CHECK_FALSE(read_device_state(cpu, places)[Setting::governor]);
  const std::string cpus = "sys/devices/system/cpu/";
  machine.put(cpus + "cpu0/cpufreq/scaling_governor", "powersave\n");
  machine.put(cpus + "cpu1/cpufreq/scaling_governor", "performance\n");
  machine.put(cpus + "cpu1/cpufreq/scaling_max_freq", "3500000\n");
  machine.put(cpus + "cpufreq/boost", "0\n");
  DeviceState state = read_device_state(cpu, places);
  CHECK(state[Setting::governor] == SettingValue("performance, powersave"));
  CHECK(state[Setting::clock_max] == SettingValue(3500.0));
  CHECK(state[Setting::boost] == SettingValue(false));
  machine.put(cpus + "intel_pstate/no_turbo", "0\n");
  CHECK(read_device_state(cpu, places)[Setting::boost] == SettingValue(true));
  cpu.node = DeviceNode{1, "other"};
  CHECK(read_device_state(cpu, places) == DeviceState{});

  const std::string gpu = "sys/bus/pci/devices/0000:03:00.0/";
  machine.put(gpu + "max_link_speed", "16.0 GT/s PCIe\n");
  machine.put(gpu + "max_link_width", "16\n");
  machine.put(gpu + "hwmon/hwmon5/power1_cap", "300000000\n");
  state = read_device_state(watched_gpu("0:0", "0000:03:00.0"), places);
  CHECK(state[Setting::pcie_generation_max] == SettingValue(4.0));
  CHECK(state[Setting::pcie_width_max] == SettingValue(16.0));
  CHECK(state[Setting::power_limit] == SettingValue(300.0));
  CHECK(read_device_state(watched_gpu("0:0", std::nullopt), places) == DeviceState{});
}

TEST_CASE(
    "counters of energy are NVML's, hwmon's, of gpu_metrics and of RAPL; others have a reason") {
  FakeMachine machine;
  Device part = watched_gpu("0:3", std::nullopt), cpu = watched_gpu("1:0", std::nullopt);
  part.uuid = "8912fe00-0000-0000-0000-000000000001";
  cpu.type = DeviceType::cpu;
  machine.gpu(1, "0000:04:00.0", {{"hwmon/hwmon6/energy1_input", "3000000"}});
  const std::vector<Device> devices{watched_gpu("0:0", "0000:1a:00.0"),
                                    watched_gpu("0:1", "0000:03:00.0"),
                                    watched_gpu("0:2", "0000:04:00.0"), part, cpu};
  const auto find = [&] { return find_energy(devices, {machine.root(), &fake_nvml}); };
  std::string metrics(32, '\0');
  metrics[2] = 1, metrics[3] = 3, metrics[26] = 5;  // 5 J in units of 2^-16 J
  auto found = find();
  REQUIRE(found.size() == 6);
  const TelemetryReading first = found[1].reader->read(Nanos{});
  TelemetryReading later = first;
  while (later.energy_j == first.energy_j) later = found[1].reader->read(Nanos{});
  CHECK(std::remainder(later.energy_j - first.energy_j, 345.6 * 0.02) ==
        doctest::Approx(0).epsilon(1e-3));
  const TelemetryReading of_amd = found[2].reader->read(Nanos{});
  CHECK(std::isnan(of_amd.energy_j));
  CHECK(of_amd[Gauge::power] == doctest::Approx(210));
  machine.put("sys/devices/pci0000:00/0000:03:00.0/gpu_metrics", metrics);
  CHECK(found[2].reader->read(Nanos{}).energy_j == doctest::Approx(5));
  CHECK(found[3].reader->read(Nanos{}).energy_j == doctest::Approx(3));
  CHECK(found[4].reader == nullptr);
  CHECK(found[4].reason.find("neither energy nor power") != std::string::npos);
  CHECK(found[5].source == kHost);
  found[0].reader->read(Nanos{});
  machine.host(100, 300, 1'500'000);
  CHECK(found[0].reader->read(Nanos{1}).energy_j == doctest::Approx(0.5));
  fs::remove(machine.root() / "sys/class/powercap/intel-rapl:0/energy_uj");
  found = find();
  CHECK(found[0].reader == nullptr);
  CHECK(found[0].reason.find("RAPL") != std::string::npos);
}

TEST_CASE("each device has a source or a reason why it has none") {
  const FakeMachine machine;
  Device cpu = watched_gpu("1:0", std::nullopt);
  cpu.type = DeviceType::cpu;
  const std::vector<Device> devices{
      watched_gpu("0:0", "0000:1a:00.0"), watched_gpu("0:1", "0000:03:00.0"),
      watched_gpu("0:2", "0000:05:00.0"), watched_gpu("0:3", std::nullopt), cpu};
  const auto found = find_telemetry(devices, {machine.root(), &fake_nvml});
  std::vector<std::string> sources;
  for (const WatchedThing& thing : found) sources.push_back(thing.of + " " + thing.source);
  CHECK(sources == std::vector<std::string>{"host procfs, sysfs", "0:0 NVML", "0:1 sysfs", "0:2 ",
                                            "0:3 ", "1:0 " + found.back().source});
  CHECK(found[1].reason == "");
  CHECK(found[2].reason == "no memory clock, energy counter, reasons of throttling");
  CHECK(found[3].reason.find("0000:05:00.0") != std::string::npos);
  CHECK(found[4].reason.find("PCI") != std::string::npos);
  const auto nothing = find_telemetry(devices, {machine.root() / "nothing", &no_nvml});
  for (const WatchedThing& thing : nothing) {
    CAPTURE(thing.of);
    CHECK((thing.reader == nullptr && thing.source == "" && thing.reason != ""));
  }
}

TEST_CASE("what is taken begins with the reading before, and rare readings are made rarely") {
  std::atomic<int> often = 0, seldom = 0;
  std::atomic<bool> held = false;
  std::vector<WatchedThing> things;
  things.push_back({"a", "test", "", std::make_unique<CountingSource>(often, held), 1});
  things.push_back({"b", "", "none", nullptr, 1});
  things.push_back({"c", "test", "", std::make_unique<CountingSource>(seldom, held), 4});
  Nanos time{100};
  Telemetry telemetry(std::move(things), [&] { return time += Nanos{1}; });
  for (int look = 0; look < 5; ++look) telemetry.look();
  const auto first = telemetry.take(), second = telemetry.take();
  REQUIRE(first.size() == 2);
  CHECK(first[0].readings.size() == 5);
  CHECK(first[1].of == "c");
  CHECK(first[1].readings.size() == 2);
  CHECK(first[0].readings.front().at < first[0].readings.back().at);
  REQUIRE(second[0].readings.size() == 1);
  CHECK(second[0].readings.front().at == first[0].readings.back().at);
}

TEST_CASE("the thread looks until its owner goes, who does not wait for a driver that hangs") {
  static std::atomic<int> looks = 0;
  static std::atomic<bool> held = false;
  {
    Telemetry telemetry(watching(std::make_unique<CountingSource>(looks, held)),
                        [] { return Nanos{1}; });
    telemetry.start(std::chrono::milliseconds(1));
    while (looks < 3) std::this_thread::yield();
    CHECK(telemetry.take().front().readings.size() >= 1);
    held = true;
    const int before = looks;
    while (looks == before) std::this_thread::yield();  // it is blocked in a reading
  }
  const int at_end = looks;
  held = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(looks == at_end);
}

TEST_CASE("a source that throws ends the watching, and what was read before is kept") {
  struct Throwing final : TelemetrySource {
    explicit Throwing(std::atomic<int>& counted) : looks(counted) {}
    TelemetryReading read(Nanos) override {
      if (++looks == 3) throw std::runtime_error("no such file");
      return {};
    }
    TelemetryReading read_energy(Nanos elapsed) override { return read(elapsed); }
    std::atomic<int>& looks;
  };
  std::atomic<int> looks = 0;
  Telemetry telemetry(watching(std::make_unique<Throwing>(looks)), [] { return Nanos{1}; });
  telemetry.start(std::chrono::milliseconds(1));
  while (looks < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(looks == 3);
  CHECK(telemetry.take().front().readings.size() == 2);
}

TEST_CASE("errors of memory are counted by NVML, sysfs or EDAC; else they are not known") {
  FakeMachine machine;
  const TelemetryPlaces places{machine.root(), fake_nvml};
  const auto nvidia = read_ecc_errors(watched_gpu("0:0", "0000:1a:00.0"), places);
  REQUIRE(nvidia);
  CHECK((nvidia->corrected == 7 && nvidia->uncorrected == 2));
  const Device amd = watched_gpu("0:1", "0000:03:00.0");
  CHECK_FALSE(read_ecc_errors(amd, places));
  machine.put("sys/bus/pci/devices/0000:03:00.0/ras/umc_err_count", "ue: 1\nce: 30\n");
  const auto counted = read_ecc_errors(amd, places);
  REQUIRE(counted);
  CHECK((counted->corrected == 30 && counted->uncorrected == 1));
  Device cpu = watched_gpu("1:0", std::nullopt);
  cpu.type = DeviceType::cpu;
  CHECK_FALSE(read_ecc_errors(cpu, places));
  for (const char* controller : {"mc0", "mc1"}) {
    const std::string folder = std::string("sys/devices/system/edac/mc/") + controller;
    machine.put(folder + "/ce_count", "4\n");
    machine.put(folder + "/ue_count", "1\n");
  }
  CHECK((read_ecc_errors(cpu, places)->corrected == 8));
  CHECK((read_ecc_errors(cpu, places)->uncorrected == 2));
}

TEST_CASE("the status of devices is what their sources report, and says what is unknown and why") {
  FakeMachine machine;
  std::vector<Device> devices{watched_gpu("0:0", "0000:1a:00.0"),
                              watched_gpu("0:1", "0000:03:00.0"), watched_gpu("0:2", std::nullopt),
                              watched_gpu("1:0", std::nullopt)};
  devices[0].global_memory = 1000;
  devices[1].global_memory = 500'000;
  devices[2].global_memory = 77;
  devices[3].global_memory = 1'024'000;
  devices[3].type = DeviceType::cpu;
  StatusReader reader(devices, {machine.root(), fake_nvml});
  machine.host(150, 800, 2'000'000);
  const std::vector<DeviceStatus> all = reader.read(std::chrono::seconds(1), 100);
  REQUIRE(all.size() == 4);
  CHECK(all[0].source == "NVML");
  CHECK((all[0].free == 600 && all[0].used == 400));
  CHECK((all[0].used_by_others == 300 && all[0].allocated == 100));
  CHECK(*all[0].allocation == doctest::Approx(0.4));
  CHECK(*all[0].utilisation == doctest::Approx(0.97));
  CHECK(*all[0].temperature_c == 61);
  CHECK(all[0].reason == "");
  CHECK(all[1].source == "sysfs");
  CHECK((all[1].used == 123'456 && all[1].free == 376'544));
  CHECK(*all[1].utilisation == doctest::Approx(0.42));
  CHECK(*all[1].temperature_c == 70);
  CHECK((!all[2].used && !all[2].free && !all[2].used_by_others && !all[2].allocation));
  CHECK(all[2].total == 77);
  CHECK(all[2].reason.starts_with("used memory, utilisation, temperature: NVML does not know it"));
  CHECK(all[3].source == "host");
  CHECK((all[3].used == 600 * 1024 && all[3].free == 400 * 1000 + 9'600));
  CHECK(*all[3].utilisation == doctest::Approx(0.5));
  CHECK(*all[3].temperature_c == doctest::Approx(55.5));
}
