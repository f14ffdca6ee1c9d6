// Holds what `check` measures of devices and links: the document that --json, --save and --baseline
// share. lib/report/check_judgement.hpp judges it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/device_state.hpp"
#include "lib/report/record.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Rates of devices that a check compares.
struct CheckRate {
  const char* quantity;
  const char* unit;
  double Capability::*figure;
};
inline constexpr CheckRate kCheckRates[] = {
    {"fp32", "FLOP/s", &Capability::fp32_flops},
    {"fp64", "FLOP/s", &Capability::fp64_flops},
    {"int32", "op/s", &Capability::int32_ops},
    {"memory bandwidth", "B/s", &Capability::memory_bytes_per_s},
    {"upload", "B/s", &Capability::pinned_up},
    {"download", "B/s", &Capability::pinned_down}};
// Number of the first of them that depend on the slot of a device: it is compared with those of its
// NUMA node.
inline constexpr std::size_t kCheckRatesOfChip = 4;

// From good to bad, except that `unknown` is what could not be decided.
enum class CheckVerdict { ok, unknown, limited, slow, missing, failed, hung, wrong };
const char* to_string(CheckVerdict verdict);

// Repeated measurements of a quantity of which more is better, in rounds: value k of siblings is of
// the same round, unless a device failed.
struct CheckValues {
  std::string quantity;  // "memory bandwidth"
  std::string unit;
  std::vector<double> values;
  std::size_t first = 0;  // number of values before anything was measured again
};

// Results of one work on one device.
struct CheckedWork {
  std::string work;  // "SHA-256 tree"
  struct Digest {
    std::string digest;
    std::uint64_t runs = 0;
    VerifyStatus reference = VerifyStatus::off;  // comparison with the suite's reference
  };
  std::vector<Digest> digests;
};

// Memory that was filled with patterns and read back.
struct CheckedMemory {
  Bytes bytes = 0;
  std::uint64_t passes = 0;
  std::uint64_t wrong = 0;  // 32-bit words, over all passes
};

// Errors that its memory's own check counted since the driver was loaded.
struct CheckedEcc {
  std::uint64_t corrected = 0, uncorrected = 0;
};

struct CheckedDevice {
  std::string host, started;  // started: when the check began, RFC 3339 in UTC
  std::string label;          // "gpu 3"
  std::string id, identity, name, driver;
  bool cpu = false;
  std::string pci;                         // empty: not known
  std::optional<std::uint32_t> numa_node;  // none: not known
  std::vector<CheckValues> rates;
  std::vector<CheckedWork> works;
  std::optional<CheckedMemory> memory;
  DeviceState before, after;
  std::optional<CheckedEcc> ecc_before, ecc_after;  // none: not counted, or not known
  std::optional<TelemetryFigures> during;
  bool hung = false;
  std::string failed;      // why it was not measured to the end; empty: it was
  std::string other_work;  // "other programs used ..."; empty: none was seen
};

// A link between two devices, of one with the host, or of several devices at once.
struct CheckedLink {
  std::string host;
  std::string from, to;     // ranks of devices, "host"; both empty: all devices at once
  bool cpu = false;         // between CPUs
  std::string models;       // models of its devices, for links of other hosts
  CheckValues rate;         // links with the same words for the quantity are comparable
  std::uint64_t wrong = 0;  // words that arrived wrong
};

// One line of the judgement.
struct CheckFinding {
  CheckVerdict verdict = CheckVerdict::ok;
  std::string host, device;  // device: its id; empty: it is about a link or about several devices
  std::string quantity;      // empty: it is not about a rate
  std::string text;          // the line
  // How much slower, as a share, with its interval; 0: it is not about a rate.
  double slower = 0, low = 0, high = 0;
};

struct CheckDocument {
  std::string tool;  // version of the program
  std::string host, started;
  Nanos took{}, budget{};
  std::vector<CheckedDevice> devices;
  std::vector<CheckedLink> links;
  std::vector<CheckFinding> findings;
  std::vector<std::string> warnings;
  bool hung = false;   // whether `failed` is because something did not answer
  std::string failed;  // why links were not measured to the end, if no device is known to be why
  CheckVerdict verdict = CheckVerdict::ok;
  int exit_code = 0;
};

// Returns what a check knows of a device without measuring. `rank`: among those of the check.
CheckedDevice checked_device(const Device& device, std::size_t rank, const std::string& host);

// Adds the figures of `links` to the document, whose devices are those of the report: rates of
// pairs and of all devices at once, and words that arrived wrong. Adds to those that the document
// has from an earlier call.
void add_links(const Report& report, CheckDocument& document);

std::string check_json(const CheckDocument& document);
std::string check_schema();
// Reads a document of check, or a result of run, calibrate or links as one: rates of its devices
// and links, without repetitions. Throws Error(input) that names the file.
CheckDocument read_check(const std::filesystem::path& file);
// Reads the document without a file's name. Internal to lib/report.
class JsonReader;
CheckDocument read_check_value(const JsonReader& json);

// Returns the tables: devices with their rates relative to the median of their model, links, and
// the findings in lines that begin with "check: ".
std::string check_table(const CheckDocument& document, const TableStyle& style);

}  // namespace mgpu
