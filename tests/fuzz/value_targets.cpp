// Fuzz targets for values of options, and for small files of other formats.
#include <algorithm>
#include <fstream>
#include <optional>

#include "lib/base/gzip.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/device/selection.hpp"
#include "lib/measure/telemetry_sources.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/report/requirement.hpp"
#include "lib/workload/npy.hpp"
#include "tests/fuzz/targets.hpp"

namespace mgpu::fuzz {
namespace {

void select(std::string_view text) {
  Device gpu, cpu;
  gpu.id = "0:0";
  gpu.name = "H200";
  gpu.uuid = "abcd";
  gpu.pci = "0000:01:00.0";
  cpu.id = "1:0.1";
  cpu.name = "Xeon";
  cpu.type = DeviceType::cpu;
  const Device devices[] = {gpu, cpu};
  Selector::parse(text).apply(devices);
  no_device_message(text, devices, {});
}

void check_printable(std::string_view text) {
  for (const std::string& shown : {printable(text), in_quotes(text)}) {
    for (const char c : shown) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        throw Error(ErrorKind::internal, "a control character is shown");
    }
    if (printable(shown) != shown) throw Error(ErrorKind::internal, "what is printable is not");
  }
  printable_lines(text);
  printable_colored(text);
  printable_json(text);
}

}  // namespace

void values(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  refusing([&] {
    switch (static_cast<unsigned char>(input[0]) % 8) {
      case 0:
        parse_count("--size", text);
        break;
      case 1:
        format_bytes(static_cast<double>(parse_bytes("--cap-memory", text)));
        break;
      case 2:
        format_duration(parse_duration("--timeout", text));
        break;
      case 3:
        select(text);
        break;
      case 4:
        for (const StrategyChoice& choice : parse_strategies(text)) {
          choice.info->make(choice.params);
          choice.label();
        }
        break;
      case 5:
        parse_requirements("--require", text);
        break;
      default:
        check_printable(text);
    }
  });
}

void npy(std::string_view input) {
  const std::filesystem::path file = scratch() / "input.npy";
  std::ofstream(file, std::ios::binary) << input;
  refusing([&] {
    const NpyShape shape = read_npy_shape(file);
    if (shape.bytes() > 1 << 20) return;
    std::vector<std::byte> elements(shape.bytes());
    read_npy(file, shape, elements);
  });
}

// Checks that reading in one piece and in many gives the same data, and that compressing and
// reading it again restores it.
void gzip(std::string_view input) {
  const auto read = [](std::string_view file, std::size_t piece) {
    Gunzip gunzip(std::size_t{1} << 20);
    for (; !file.empty(); file.remove_prefix(std::min(piece, file.size())))
      gunzip.take(file.substr(0, piece));
    return gunzip.text();
  };
  const auto outcome = [&](std::size_t piece) -> std::optional<std::string> {
    std::optional<std::string> text;
    refusing([&] { text = read(input, piece); });
    return text;
  };
  const std::optional<std::string> text = outcome(input.size());
  if (outcome(1) != text || outcome(7) != text)
    throw Error(ErrorKind::internal, "what is read depends on the pieces");
  const std::string packed = text ? mgpu::gzip(*text) : std::string();
  if (text && read(packed, packed.size()) != *text)
    throw Error(ErrorKind::internal, "what is compressed does not come back");
}

// Cuts the input at empty lines into the contents of a machine's files, in the order below.
void host(std::string_view input) {
  static const char* const files[] = {"proc/stat",
                                      "proc/self/stat",
                                      "proc/meminfo",
                                      "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                                      "sys/class/hwmon/hwmon0/name",
                                      "sys/class/hwmon/hwmon0/temp1_input",
                                      "sys/class/powercap/intel-rapl:0/energy_uj",
                                      "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
                                      "sys/bus/pci/devices/0000:01:00.0/gpu_busy_percent",
                                      "sys/bus/pci/devices/0000:01:00.0/mem_info_vram_used"};
  const std::filesystem::path root = scratch() / "root";
  for (const char* name : files) {
    const std::size_t end = input.find("\n\n");
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << input.substr(0, end);
    input = end == std::string_view::npos ? std::string_view() : input.substr(end + 2);
  }
  const auto machine = make_host_source(root);
  machine->read({});
  machine->read(Nanos{1'000'000});
  if (const auto gpu = make_sysfs_source(root, "0000:01:00.0")) gpu->read(Nanos{1'000'000});
}

}  // namespace mgpu::fuzz
