// A file is named after a hash of who was measured ("of"), so that a newer calibration replaces an
// older one; what it was measured with ("by") is inside and compared whole, like "of".
#include "lib/report/calibration_store.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/fnv.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_file.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/peer_links_json.hpp"

namespace mgpu {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCalibrationSchema = "mgpu-bench/calibration";
// 2: what fewer devices than all carry together; 3: a suite's smaller problem; 4: what the host
// takes for it.
constexpr int kCalibrationVersion = 4;

// ".1" of the sub-device 0:0.1, else nothing.
std::string part_of(const Device& device) {
  const std::size_t dot = device.id.find('.');
  return dot == std::string::npos ? "" : device.id.substr(dot);
}

// The same device again, also when others were hidden or reordered. Two CPUs of one name can only
// be distinguished by their ids; parts of a CPU differ by number and by size. What another node's
// does includes the way there.
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

// Positions in `devices`, in the order of identities().
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

// Names that are no UTF-8 come out of flat_json() replaced, and out of a file as they were written:
// what is cached is compared as text.
fs::path file_of(const fs::path& folder, const char* kind, const JsonValue& of) {
  return folder / (std::string(kind) + "-" + fnv1a_hex(flat_json(of)) + ".json");
}

struct Cached {
  JsonValue document;
  bool found = false;
  std::string changed;  // what it was made with another of: "driver"; empty: it can be used
};

// The document in `file`; throws Error(input) when it is none of ours, or not of these devices.
Cached read_cached(const fs::path& file, const JsonValue& of, const JsonValue& by) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    if (error) throw Error(ErrorKind::input, error.message());
    return {};
  }
  Cached cached{parse_json_value(read_text_file(file, FileKind::regular)), true, {}};
  const JsonReader json(cached.document);
  if (json.at("schema").string() != kCalibrationSchema)
    json.at("schema").fail("another kind of file");
  if (json.at("schema_version").integer<int>() != kCalibrationVersion)
    json.at("schema_version").fail("of another version of the tool");
  if (flat_json(json.at("of").json()) != flat_json(of))
    throw Error(ErrorKind::input, "it is of another device");
  JsonReader(by).members([&](const std::string& what, const JsonReader& value) {
    if (cached.changed.empty() &&
        flat_json(json.at("by").at(what.c_str()).json()) != flat_json(value.json()))
      cached.changed = what;
  });
  return cached;
}

JsonValue document(const JsonValue& of, const JsonValue& by) {
  return json_object({{"schema", kCalibrationSchema},
                      {"schema_version", kCalibrationVersion},
                      {"of", of},
                      {"by", by}});
}

std::string damaged(const fs::path& file, const std::string& why) {
  return "the calibration in " + file.string() + " is not used: " + why;
}

// Without the file's name: the same line for all devices of a kind.
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

void write(const fs::path& file, const JsonValue& document, std::vector<std::string>& warnings) {
  try {
    write_file_atomically(file, json_text(document));
  } catch (const Error& error) {
    warnings.push_back(std::string("the calibration is not cached: ") + error.what());
  }
}

}  // namespace

CalibrationStore::CalibrationStore(fs::path folder, const CalibrationBasis& basis)
    : folder_(std::move(folder)), tool_(basis.tool), kernels_(fnv1a_hex(basis.kernels)) {}

std::optional<Capability> CalibrationStore::load(const Device& device,
                                                 std::vector<std::string>& warnings) const {
  if (folder_.empty()) return std::nullopt;
  const JsonValue of = identity(device);
  const fs::path file = file_of(folder_, "device", of);
  try {
    const Cached cached = read_cached(
        file, of,
        json_object({{"driver", driver(device)}, {"tool", tool_}, {"kernels", kernels_}}));
    if (!cached.changed.empty()) warnings.push_back(outdated(device.name, cached.changed));
    if (!cached.found || !cached.changed.empty()) return std::nullopt;
    const JsonReader json = JsonReader(cached.document).at("capability");
    const auto capability = read_capability(json);
    if (!capability || !is_complete(*capability)) json.fail("figures are missing");
    return capability;
  } catch (const Error& error) {
    warnings.push_back(damaged(file, error.what()));
    return std::nullopt;
  }
}

std::optional<LinkCapability> CalibrationStore::load_link(
    std::span<const Device> devices, std::vector<std::string>& warnings) const {
  if (folder_.empty()) return std::nullopt;
  const JsonValue of = identities(devices);
  const fs::path file = file_of(folder_, "link", of);
  try {
    const Cached cached = read_cached(
        file, of,
        json_object({{"driver", drivers(devices)}, {"tool", tool_}, {"kernels", kernels_}}));
    if (!cached.changed.empty())
      warnings.push_back(outdated("all devices together", cached.changed));
    if (!cached.found || !cached.changed.empty()) return std::nullopt;
    const JsonReader json = JsonReader(cached.document).at("link");
    LinkCapability link{
        {}, carried(json.at("up_bytes_per_s")), carried(json.at("down_bytes_per_s"))};
    for (const Device& device : devices) link.devices.push_back(device.id);
    return link;
  } catch (const Error& error) {
    warnings.push_back(damaged(file, error.what()));
    return std::nullopt;
  }
}

PeerLinks CalibrationStore::load_peers(std::span<const Device> devices,
                                       std::vector<std::string>& warnings) const {
  if (folder_.empty()) return {};
  const JsonValue of = identities(devices);
  const fs::path file = file_of(folder_, "peers", of);
  try {
    const Cached cached =
        read_cached(file, of, json_object({{"driver", drivers(devices)}, {"tool", tool_}}));
    if (!cached.changed.empty())
      warnings.push_back(outdated("all devices together", cached.changed));
    if (!cached.found || !cached.changed.empty()) return {};
    const PeerLinks links =
        read_peer_links(JsonReader(cached.document).at("links"), devices.size());
    std::vector<std::size_t> places(devices.size());
    const std::vector<std::size_t> order = in_order_of_identities(devices);
    for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
    return links.among(places);
  } catch (const Error& error) {
    warnings.push_back(damaged(file, error.what()));
    return {};
  }
}

void CalibrationStore::save_peers(std::span<const Device> devices, const PeerLinks& links,
                                  std::vector<std::string>& warnings) const {
  if (folder_.empty()) return;
  const JsonValue of = identities(devices);
  JsonValue json = document(of, json_object({{"driver", drivers(devices)}, {"tool", tool_}}));
  put(json, "links", peer_links_json(links.among(in_order_of_identities(devices))));
  write(file_of(folder_, "peers", of), json, warnings);
}

std::optional<SuiteRate> CalibrationStore::load_suite(const Device& device, const std::string& work,
                                                      std::vector<std::string>& warnings) const {
  if (folder_.empty()) return std::nullopt;
  const JsonValue of = json_object({{"device", identity(device)}, {"work", work}});
  const fs::path file = file_of(folder_, "suite", of);
  try {
    const Cached cached =
        read_cached(file, of, json_object({{"driver", driver(device)}, {"tool", tool_}}));
    if (!cached.changed.empty())
      warnings.push_back(outdated(work + " on " + device.name, cached.changed));
    if (!cached.found || !cached.changed.empty()) return std::nullopt;
    const JsonReader json = JsonReader(cached.document).at("rate");
    SuiteRate rate;
    rate.ops_per_s = read_rate(json.at("ops_per_s"));
    rate.slice = json.at("slice_ns").nanos();
    rate.fixed = json.at("fixed_ns").nanos();
    rate.unit = json.at("unit").string();
    if (json.at("fewer_ns").nanos() != Nanos{}) {
      rate.fewer_ops = read_rate(json.at("fewer_ops"));
      rate.fewer = json.at("fewer_ns").nanos();
    }
    rate.host_ops_per_s = json.at("host_ops_per_s").number();
    rate.busy = json.has("busy") && json.at("busy").boolean();
    const bool possible = rate.host_ops_per_s >= 0 && rate.ops_per_s > 0 && rate.slice >= Nanos{} &&
                          rate.fixed >= Nanos{} && rate.fewer >= Nanos{};
    if (!possible) json.fail("impossible figures");
    return rate;
  } catch (const Error& error) {
    warnings.push_back(damaged(file, error.what()));
    return std::nullopt;
  }
}

std::optional<double> CalibrationStore::load_noise(std::span<const Device> devices,
                                                   const std::string& work,
                                                   std::vector<std::string>& warnings) const {
  if (folder_.empty()) return std::nullopt;
  const JsonValue of = json_object({{"devices", identities(devices)}, {"work", work}});
  const fs::path file = file_of(folder_, "noise", of);
  try {
    const Cached cached =
        read_cached(file, of, json_object({{"driver", drivers(devices)}, {"tool", tool_}}));
    if (!cached.changed.empty())
      warnings.push_back(outdated("the noise of " + work, cached.changed));
    if (!cached.found || !cached.changed.empty()) return std::nullopt;
    const JsonReader json = JsonReader(cached.document).at("noise");
    const double share = json.number();
    json.expect(share >= 0 && share < 1e6, "a share");
    return share;
  } catch (const Error& error) {
    warnings.push_back(damaged(file, error.what()));
    return std::nullopt;
  }
}

void CalibrationStore::save_noise(std::span<const Device> devices, const std::string& work,
                                  double share, std::vector<std::string>& warnings) const {
  if (folder_.empty()) return;
  const JsonValue of = json_object({{"devices", identities(devices)}, {"work", work}});
  JsonValue json = document(of, json_object({{"driver", drivers(devices)}, {"tool", tool_}}));
  put(json, "noise", share);
  write(file_of(folder_, "noise", of), json, warnings);
}

void CalibrationStore::save_suite(const Device& device, const std::string& work,
                                  const SuiteRate& rate, std::vector<std::string>& warnings) const {
  if (folder_.empty()) return;
  const JsonValue of = json_object({{"device", identity(device)}, {"work", work}});
  JsonValue json = document(of, json_object({{"driver", driver(device)}, {"tool", tool_}}));
  put(json, "rate",
      json_object({{"ops_per_s", rate.ops_per_s},
                   {"slice_ns", rate.slice.count()},
                   {"fixed_ns", rate.fixed.count()},
                   {"unit", rate.unit},
                   {"fewer_ops", rate.fewer_ops},
                   {"fewer_ns", rate.fewer.count()},
                   {"host_ops_per_s", rate.host_ops_per_s}}));
  if (rate.busy) put_inside(json, "rate", "busy", true);
  write(file_of(folder_, "suite", of), json, warnings);
}

std::optional<CachedVariant> CalibrationStore::load_variant(
    const Device& device, const std::string& work, std::vector<std::string>& warnings) const {
  if (folder_.empty()) return std::nullopt;
  const JsonValue of = json_object({{"device", identity(device)}, {"work", work}});
  const fs::path file = file_of(folder_, "variant", of);
  try {
    const Cached cached =
        read_cached(file, of, json_object({{"driver", driver(device)}, {"tool", tool_}}));
    if (!cached.changed.empty())
      warnings.push_back(outdated(work + ", tuned, on " + device.name, cached.changed));
    if (!cached.found || !cached.changed.empty()) return std::nullopt;
    const JsonReader json = JsonReader(cached.document).at("variant");
    CachedVariant variant{json.at("name").string(), read_rate(json.at("ops_per_s"))};
    if (variant.name.empty() || !(variant.ops_per_s > 0)) json.fail("impossible figures");
    return variant;
  } catch (const Error& error) {
    warnings.push_back(damaged(file, error.what()));
    return std::nullopt;
  }
}

void CalibrationStore::save_variant(const Device& device, const std::string& work,
                                    const CachedVariant& variant,
                                    std::vector<std::string>& warnings) const {
  if (folder_.empty()) return;
  const JsonValue of = json_object({{"device", identity(device)}, {"work", work}});
  JsonValue json = document(of, json_object({{"driver", driver(device)}, {"tool", tool_}}));
  put(json, "variant", json_object({{"name", variant.name}, {"ops_per_s", variant.ops_per_s}}));
  write(file_of(folder_, "variant", of), json, warnings);
}

void CalibrationStore::save(const Device& device, const Capability& capability,
                            std::vector<std::string>& warnings) const {
  if (folder_.empty()) return;
  const JsonValue of = identity(device);
  JsonValue json = document(
      of, json_object({{"driver", driver(device)}, {"tool", tool_}, {"kernels", kernels_}}));
  put(json, "capability", capability_json(capability));
  write(file_of(folder_, "device", of), json, warnings);
}

void CalibrationStore::save_link(std::span<const Device> devices, const LinkCapability& link,
                                 std::vector<std::string>& warnings) const {
  if (folder_.empty()) return;
  const JsonValue of = identities(devices);
  JsonValue json = document(
      of, json_object({{"driver", drivers(devices)}, {"tool", tool_}, {"kernels", kernels_}}));
  put(json, "link",
      json_object({{"up_bytes_per_s", link_rate_json(link.up)},
                   {"down_bytes_per_s", link_rate_json(link.down)}}));
  write(file_of(folder_, "link", of), json, warnings);
}

}  // namespace mgpu
