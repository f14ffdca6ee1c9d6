// Records that commands print with --json; their JSON and schemas follow from the fields
// (documents.cpp). Nothing reads them back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/device/device.hpp"
#include "lib/plan/choose.hpp"
#include "lib/plan/mode.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/metrics.hpp"
#include "lib/report/calibration_store.hpp"

namespace mgpu {

struct ListedDevice {
  std::size_t rank = 0;  // position in the set
  Device device;
  std::optional<Capability> capability;
  // When the list was made, by all processes; none: not known.
  std::optional<double> utilisation{};
  std::optional<Bytes> memory_used{};
};

// Pairs devices with their capabilities; both lists have the same length.
std::vector<ListedDevice> listed(const std::vector<Device>& devices,
                                 const std::vector<std::optional<Capability>>& capabilities);

struct DevicesDocument {
  std::vector<ListedDevice> devices;
  std::vector<std::string> warnings;
};

// The origin of a figure of a calibration; none: it failed, or nothing is cached.
enum class CalibrationOrigin { none, cached, measured };
const char* to_string(CalibrationOrigin origin);

struct CalibratedDevice {
  ListedDevice listed;
  std::optional<Bytes> free_memory;  // when it was opened
  CalibrationOrigin origin = CalibrationOrigin::none;
};

struct CalibratedLink {
  LinkCapability link;
  CalibrationOrigin origin = CalibrationOrigin::none;
};

struct CalibratedPair {
  std::string from, to;  // ids
  PeerLink link;
};

struct CalibratedPeers {
  std::vector<CalibratedPair> pairs;
  CalibrationOrigin origin = CalibrationOrigin::none;
};

// A suite's default work (first value of every option, reference size) on one device.
struct SuiteCalibration {
  std::string work, device;       // the suite with its options; the device's id
  std::optional<SuiteRate> rate;  // none: the device cannot do it
  CalibrationOrigin origin = CalibrationOrigin::none;
};

// The noise of a suite's default work on all of the devices and on each: how far its medians lie
// apart (lib/session/noise.hpp).
struct NoiseCalibration {
  std::string work;
  // None: the devices cannot do it, one failed, or the machine was busy.
  std::optional<double> share;
  CalibrationOrigin origin = CalibrationOrigin::none;
};

// The result of one kernel variant on a device.
struct TriedVariant {
  std::string name;
  double ops_per_s = 0;  // 0: not eligible
  std::string why;       // why it is not eligible
};

// The choice of a variant for a suite's work on a device; `variant` is empty if there was no
// choice, or no variant worked.
struct Tuning {
  std::string work, device;
  std::string unit;  // unit of the rates
  CachedVariant variant;
  bool measured = false;            // false: cached
  std::vector<TriedVariant> tried;  // if measured; the default variant first
};

struct CalibrateDocument {
  std::vector<CalibratedDevice> devices;
  std::optional<CalibratedLink> link;
  std::optional<CalibratedPeers> peers;
  std::vector<SuiteCalibration> suites;
  std::vector<NoiseCalibration> noise;
  std::vector<Tuning> tunings;
  std::vector<std::string> warnings;
};

struct ListedOption {
  std::string name, help;
  std::vector<std::string> values;  // the default first
};

struct ListedSuite {
  std::string name, summary, size_name, input;
  std::uint64_t default_size = 0, quick_size = 0;
  std::vector<Mode> modes;
  std::vector<ListedOption> options;
};

// A result that `last` or `last~N` means.
struct ListedResult {
  std::string name, started, what;  // "last~2"; what: suites
  std::size_t cases = 0;
  Nanos measured{};  // sum of all samples
  bool complete = false;
  std::string commit;  // label of that name; empty: none
  std::string file;
  std::string trouble;  // why the file cannot be read; empty: it can
};

// The document of `list`; one of the lists has entries, except that there may be no results.
struct ListDocument {
  std::vector<ListedSuite> suites;
  std::vector<StrategyInfo> strategies;
  std::vector<MetricInfo> metrics;
  std::optional<std::vector<ListedResult>> results;
};

// The choice of `auto` for a problem in one mode.
struct ListedPlan {
  std::string suite, size_name;
  std::uint64_t size = 0;
  Mode mode = Mode::resident;
  std::vector<std::string> devices;  // ids
  PlanChoice choice;
  std::vector<Items> items;  // shares of these devices; empty: not known before the sample
  std::string bottleneck;    // a name of Bottleneck::name
  std::optional<Candidate> by_rule;
};

std::string devices_json(const DevicesDocument& document);
std::string calibrate_json(const CalibrateDocument& document);
std::string list_json(const ListDocument& document);
std::string plan_json(const std::vector<ListedPlan>& plans);

// Return JSON Schemas as text.
std::string devices_schema();
std::string calibrate_schema();
std::string list_schema();
std::string plan_schema();

}  // namespace mgpu
