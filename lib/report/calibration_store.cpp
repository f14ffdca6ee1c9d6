// A file is named after a hash of the devices measured ("of"), so that a newer calibration replaces
// an older one. The driver, tool and kernels ("by") are in the file and compared whole, like "of".
#include "lib/report/calibration_store.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/fnv.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_file.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

namespace fs = std::filesystem;

// Version 2 added the rates of fewer devices than all; 3 a suite's smaller problem; 4 the host's
// time for it.
constexpr DocumentId kCalibrationId{"mgpu-bench/calibration", 4};

// Returns ".1" for the sub-device 0:0.1, else nothing.
std::string part_of(const Device& device) {
  const std::size_t dot = device.id.find('.');
  return dot == std::string::npos ? "" : device.id.substr(dot);
}

// Identifies a device even if others were hidden or reordered. Two CPUs of the same name can only
// be distinguished by their ids; sub-devices of a CPU by number and size. A device of another node
// includes the network to it.
JsonValue identity(const Device& device) {
  std::string which = device.uuid  ? "uuid " + *device.uuid + part_of(device)
                      : device.pci ? "pci " + *device.pci + part_of(device)
                                   : "id " + device.id;
  if (device.is_elsewhere()) which += " of " + device.node->host;
  return json_object({{"platform", device.platform},
                      {"name", device.name},
                      {"which", which},
                      {"compute_units", device.compute_units}});
}

std::string driver(const Device& device) {
  return device.platform_version + " / " + device.driver_version;
}

// Returns positions in `devices`, in the order of identities().
std::vector<std::size_t> in_order_of_identities(std::span<const Device> devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(flat_json(identity(device)));
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
  return order;
}

JsonValue identities(std::span<const Device> devices) {
  JsonValue all = json_list();
  for (const std::size_t i : in_order_of_identities(devices)) append(all, identity(devices[i]));
  return all;
}

std::vector<std::string> drivers(std::span<const Device> devices) {
  std::vector<std::string> all;
  for (const Device& device : devices) all.push_back(driver(device));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// flat_json() replaces invalid UTF-8 in names, which a file may contain unchanged: cached
// identities are compared as text.
fs::path file_of(const fs::path& folder, const char* kind, const JsonValue& of) {
  return folder / (std::string(kind) + "-" + fnv1a_hex(flat_json(of)) + ".json");
}

struct Cached {
  JsonValue document;
  bool found = false;
  std::string changed;  // changed input, such as "driver"; empty: usable
};

// Names one cached figure, such as "link", in the file of `of`, valid if measured with `by`.
struct Place {
  const char* kind;    // prefix of the file's name
  const char* figure;  // the member with the figure
  JsonValue of, by;
};

// Reads the document in `file`. Throws Error(input) if it is not of this tool, or not of these
// devices.
Cached read_cached(const fs::path& file, const JsonValue& of, const JsonValue& by) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    if (error) throw Error(ErrorKind::input, error.message());
    return {};
  }
  Cached cached{parse_json_value(read_text_file(file, FileKind::regular)), true, {}};
  const JsonReader json(cached.document);
  expect_id(kCalibrationId, json);
  if (flat_json(json.at("of").json()) != flat_json(of))
    throw Error(ErrorKind::input, "it is of another device");
  JsonReader(by).members([&](const std::string& what, const JsonReader& value) {
    if (cached.changed.empty() &&
        flat_json(json.at("by").at(what.c_str()).json()) != flat_json(value.json()))
      cached.changed = what;
  });
  return cached;
}

std::string damaged(const fs::path& file, const std::string& why) {
  return "the calibration in " + file.string() + " is not used: " + why;
}

// Returns the suite of a work, which is its first word; the others identify it in files.
std::string suite_of(const std::string& work) { return work.substr(0, work.find(' ')); }

// Omits the file's name, so that the line is the same for all devices of a kind.
std::string outdated(const std::string& whose, const std::string& changed) {
  const std::string by = changed == "tool"      ? "by another build of mgpu-bench"
                         : changed == "kernels" ? "with other kernels"
                                                : "with another " + changed;
  return "a cached calibration of " + whose + " is not used: it was made " + by;
}

LinkRate carried(const JsonReader& json) {
  LinkRate rate = read_link_rate(json);
  json.expect(rate.limited(), "a number above zero");
  return rate;
}

// Returns none without a usable file; `whose` names the subject in warnings.
template <typename Read>
auto load_from(const fs::path& folder, const Place& place, const std::string& whose,
               std::vector<std::string>& warnings, Read read)
    -> std::optional<decltype(read(JsonReader(place.of)))> {
  if (folder.empty()) return std::nullopt;
  const fs::path file = file_of(folder, place.kind, place.of);
  try {
    const Cached cached = read_cached(file, place.of, place.by);
    if (!cached.changed.empty()) warnings.push_back(outdated(whose, cached.changed));
    if (!cached.found || !cached.changed.empty()) return std::nullopt;
    return read(JsonReader(cached.document).at(place.figure));
  } catch (const Error& error) {
    warnings.push_back(damaged(file, error.what()));
    return std::nullopt;
  }
}

void save_to(const fs::path& folder, const Place& place, JsonItem figure,
             std::vector<std::string>& warnings) {
  if (folder.empty()) return;
  JsonValue document = json_object();
  write_id(kCalibrationId, document);
  put(document, "of", place.of);
  put(document, "by", place.by);
  put(document, place.figure, figure);
  try {
    write_file_atomically(file_of(folder, place.kind, place.of), json_text(document));
  } catch (const Error& error) {
    warnings.push_back(std::string("the calibration is not cached: ") + error.what());
  }
}

// The place of figures measured with built-in kernels: the hash of the kernels stands for
// everything else.
Place of_device(const Device& device, const std::string& tool, const std::string& kernels) {
  return {"device", "capability", identity(device),
          json_object({{"driver", driver(device)}, {"tool", tool}, {"kernels", kernels}})};
}

Place of_link(std::span<const Device> devices, const std::string& tool,
              const std::string& kernels) {
  return {"link", "link", identities(devices),
          json_object({{"driver", drivers(devices)}, {"tool", tool}, {"kernels", kernels}})};
}

Place of_peers(std::span<const Device> devices, const std::string& tool) {
  return {"peers", "links", identities(devices),
          json_object({{"driver", drivers(devices)}, {"tool", tool}})};
}

Place of_noise(std::span<const Device> devices, const std::string& work, const std::string& tool) {
  return {"noise", "noise", json_object({{"devices", identities(devices)}, {"work", work}}),
          json_object({{"driver", drivers(devices)}, {"tool", tool}})};
}

// The place of a suite's work on a device. `kind`: "suite" or "variant".
Place of_work(const char* kind, const char* figure, const Device& device, const std::string& work,
              const std::string& tool) {
  return {kind, figure, json_object({{"device", identity(device)}, {"work", work}}),
          json_object({{"driver", driver(device)}, {"tool", tool}})};
}

struct CachedRate {
  static JsonItem write(double rate) { return rate; }
  static double read(const JsonReader& json) { return read_rate(json); }
  static JsonValue schema(JsonValue&) { return type_schema("number"); }
};

}  // namespace

template <>
const Description<SuiteRate>& description<SuiteRate>() {
  static const Description<SuiteRate> kRate{
      {field_as<CachedRate, &SuiteRate::ops_per_s>("ops_per_s"),
       field<&SuiteRate::slice>("slice_ns"), field<&SuiteRate::fixed>("fixed_ns"),
       field<&SuiteRate::unit>("unit"), field<&SuiteRate::fewer_ops>("fewer_ops"),
       field<&SuiteRate::fewer>("fewer_ns"), field<&SuiteRate::host_ops_per_s>("host_ops_per_s"),
       field<&SuiteRate::busy_w>("busy_w").if_any(), field<&SuiteRate::idle_w>("idle_w").if_any(),
       field<&SuiteRate::busy>("busy").if_any()},
      "",
      nullptr,
      [](const JsonReader& json, SuiteRate& rate) {
        if (rate.fewer != Nanos{}) read_rate(json.at("fewer_ops"));
        if (!(rate.host_ops_per_s >= 0 && rate.busy_w >= 0 && rate.idle_w >= 0))
          json.fail("impossible figures");
      }};
  return kRate;
}

template <>
const Description<CachedVariant>& description<CachedVariant>() {
  static const Description<CachedVariant> kVariant{
      {field<&CachedVariant::name>("name"),
       field_as<CachedRate, &CachedVariant::ops_per_s>("ops_per_s")},
      "",
      nullptr,
      [](const JsonReader& json, CachedVariant& variant) {
        if (variant.name.empty()) json.fail("impossible figures");
      }};
  return kVariant;
}

CalibrationStore::CalibrationStore(fs::path folder, const CalibrationBasis& basis)
    : folder_(std::move(folder)), tool_(basis.tool), kernels_(fnv1a_hex(basis.kernels)) {}

std::optional<Capability> CalibrationStore::load(const Device& device,
                                                 std::vector<std::string>& warnings) const {
  return load_from(folder_, of_device(device, tool_, kernels_), device.name, warnings,
                   [](const JsonReader& json) {
                     const auto capability = read_capability(json);
                     if (!capability || !is_complete(*capability)) json.fail("figures are missing");
                     return *capability;
                   });
}

void CalibrationStore::save(const Device& device, const Capability& capability,
                            std::vector<std::string>& warnings) const {
  save_to(folder_, of_device(device, tool_, kernels_), capability_json(capability), warnings);
}

std::optional<LinkCapability> CalibrationStore::load_link(
    std::span<const Device> devices, std::vector<std::string>& warnings) const {
  return load_from(folder_, of_link(devices, tool_, kernels_), "all devices together", warnings,
                   [&](const JsonReader& json) {
                     LinkCapability link{{},
                                         carried(json.at("up_bytes_per_s")),
                                         carried(json.at("down_bytes_per_s"))};
                     for (const Device& device : devices) link.devices.push_back(device.id);
                     return link;
                   });
}

void CalibrationStore::save_link(std::span<const Device> devices, const LinkCapability& link,
                                 std::vector<std::string>& warnings) const {
  save_to(folder_, of_link(devices, tool_, kernels_),
          json_object({{"up_bytes_per_s", link_rate_json(link.up)},
                       {"down_bytes_per_s", link_rate_json(link.down)}}),
          warnings);
}

PeerLinks CalibrationStore::load_peers(std::span<const Device> devices,
                                       std::vector<std::string>& warnings) const {
  return load_from(folder_, of_peers(devices, tool_), "all devices together", warnings,
                   [&](const JsonReader& json) {
                     const PeerLinks links = read_peer_links(json, devices.size());
                     std::vector<std::size_t> places(devices.size());
                     const std::vector<std::size_t> order = in_order_of_identities(devices);
                     for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
                     return links.among(places);
                   })
      .value_or(PeerLinks());
}

void CalibrationStore::save_peers(std::span<const Device> devices, const PeerLinks& links,
                                  std::vector<std::string>& warnings) const {
  save_to(folder_, of_peers(devices, tool_),
          peer_links_json(links.among(in_order_of_identities(devices))), warnings);
}

std::optional<SuiteRate> CalibrationStore::load_suite(const Device& device, const std::string& work,
                                                      std::vector<std::string>& warnings) const {
  return load_from(folder_, of_work("suite", "rate", device, work, tool_),
                   suite_of(work) + " on " + device.name, warnings, Kind<SuiteRate>::read);
}

void CalibrationStore::save_suite(const Device& device, const std::string& work,
                                  const SuiteRate& rate, std::vector<std::string>& warnings) const {
  save_to(folder_, of_work("suite", "rate", device, work, tool_), Kind<SuiteRate>::write(rate),
          warnings);
}

std::optional<double> CalibrationStore::load_noise(std::span<const Device> devices,
                                                   const std::string& work,
                                                   std::vector<std::string>& warnings) const {
  return load_from(folder_, of_noise(devices, work, tool_), "the noise of " + suite_of(work),
                   warnings, [](const JsonReader& json) {
                     const double share = json.number();
                     json.expect(share >= 0 && share < 1e6, "a share");
                     return share;
                   });
}

void CalibrationStore::save_noise(std::span<const Device> devices, const std::string& work,
                                  double share, std::vector<std::string>& warnings) const {
  save_to(folder_, of_noise(devices, work, tool_), share, warnings);
}

std::optional<CachedVariant> CalibrationStore::load_variant(
    const Device& device, const std::string& work, std::vector<std::string>& warnings) const {
  return load_from(folder_, of_work("variant", "variant", device, work, tool_),
                   suite_of(work) + ", tuned, on " + device.name, warnings,
                   Kind<CachedVariant>::read);
}

void CalibrationStore::save_variant(const Device& device, const std::string& work,
                                    const CachedVariant& variant,
                                    std::vector<std::string>& warnings) const {
  save_to(folder_, of_work("variant", "variant", device, work, tool_),
          Kind<CachedVariant>::write(variant), warnings);
}

}  // namespace mgpu
