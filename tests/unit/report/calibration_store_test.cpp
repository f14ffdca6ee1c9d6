// Calibrations on disk: what comes back, and above all what does not.
#include "lib/report/calibration_store.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/golden.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::test;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

const CalibrationBasis kBasis{"0.1.0 abc", "__kernel void f() {}"};

Device clone(const std::string& id) {
  Device d;
  d.id = id;
  d.name = "Fake GPU";
  d.platform = "Fake";
  d.platform_version = "OpenCL 3.0";
  d.driver_version = "1.0";
  d.compute_units = 4;
  return d;
}

Device device(const std::string& id) {
  Device d = clone(id);
  d.uuid = "0000-" + id;
  return d;
}

Capability capability() {
  Capability c;
  c.fp32_flops = 65.5e12;
  c.int32_ops = 33.25e12;
  c.memory_bytes_per_s = 4.25e12;
  c.pinned_up = 55.3e9;
  c.pinned_down = 55.1e9;
  c.pageable_up = 10.1e9;
  c.pageable_down = 1.0 / 3 * 1e10;
  c.launch = Nanos{9100};
  c.next_launch = Nanos{3800};
  return c;
}

struct Warned {
  std::vector<std::string> lines;
  operator std::vector<std::string>&() { return lines; }
};

fs::path only_file(const fs::path& folder) {
  REQUIRE(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  return fs::directory_iterator(folder)->path();
}

// What is said of a cached file whose text was replaced; it must never be used.
std::string refusal(const CalibrationStore& store, const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
  Warned warned;
  CHECK_FALSE(store.load(device("0:0"), warned));
  REQUIRE(warned.lines.size() == 1);
  return warned.lines.front();
}

}  // namespace

TEST_CASE("a calibration comes back as it was cached, to the last bit") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path() / "new" / "folder", kBasis);
  Warned warned;
  CHECK_FALSE(store.load(device("0:0"), warned));
  store.save(device("0:0"), capability(), warned);
  const auto back = store.load(device("0:0"), warned);
  REQUIRE(back);
  const Capability cached = capability();
  CHECK(back->fp32_flops == cached.fp32_flops);
  CHECK(back->fp64_flops == 0);
  CHECK(back->int32_ops == cached.int32_ops);
  CHECK(back->memory_bytes_per_s == cached.memory_bytes_per_s);
  CHECK(back->pinned_up == cached.pinned_up);
  CHECK(back->pinned_down == cached.pinned_down);
  CHECK(back->pageable_up == cached.pageable_up);
  CHECK(back->pageable_down == cached.pageable_down);
  CHECK(back->launch == cached.launch);
  CHECK(back->next_launch == cached.next_launch);
  CHECK(warned.lines.empty());
}

TEST_CASE("every device has its own, whatever its place in the list") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Warned warned;
  store.save(device("0:0"), capability(), warned);
  CHECK_FALSE(store.load(device("0:1"), warned));
  Device moved = device("0:0");  // another was hidden: the same UUID at another place
  moved.id = "0:7";
  CHECK(store.load(moved, warned));

  Device part = device("0:0"), other_part = part, smaller_part = part;
  part.id = "0:0.0";
  other_part.id = "0:0.1";
  smaller_part.id = "0:0.0";
  smaller_part.compute_units = 2;
  store.save(part, capability(), warned);
  CHECK(store.load(part, warned));
  CHECK_FALSE(store.load(other_part, warned));
  CHECK_FALSE(store.load(smaller_part, warned));

  // What another node's does includes the way there; that of node 0 is this one's.
  Device there = device("0:0");
  there.node = DeviceNode{0, "here"};
  CHECK(store.load(there, warned));
  there.node = DeviceNode{1, "there"};
  CHECK_FALSE(store.load(there, warned));

  // Neither UUID nor PCI address: only the id is left.
  store.save(clone("0:0"), capability(), warned);
  CHECK(store.load(clone("0:0"), warned));
  CHECK_FALSE(store.load(clone("0:1"), warned));
  CHECK(warned.lines.empty());
}

TEST_CASE("another driver, tool or kernel makes it stale: a warning, and replaced in place") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Warned warned;
  store.save(device("0:0"), capability(), warned);
  Device updated = device("0:0");
  updated.driver_version = "1.1";
  CHECK_FALSE(store.load(updated, warned));
  CHECK_FALSE(
      CalibrationStore(folder.path(), {"0.1.0 def", kBasis.kernels}).load(device("0:0"), warned));
  CHECK_FALSE(CalibrationStore(folder.path(), {kBasis.tool, kBasis.kernels + " "})
                  .load(device("0:0"), warned));
  REQUIRE(warned.lines.size() == 3);
  CHECK(warned.lines[0] ==
        "a cached calibration of Fake GPU is not used: it was made with another driver");
  CHECK(has(warned.lines[1], "another build of mgpu-bench"));
  CHECK(has(warned.lines[2], "other kernels"));
  store.save(updated, capability(), warned);
  CHECK(store.load(updated, warned));
  only_file(folder.path());
}

TEST_CASE("a damaged file is never used and never fatal, wherever it is cut") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Warned warned;
  store.save(device("0:0"), capability(), warned);
  const fs::path file = only_file(folder.path());
  const std::string good = file_text(file);
  for (std::size_t size = 0; size < good.rfind('}'); ++size)
    refusal(store, file, good.substr(0, size));
  CHECK(has(refusal(store, file, "garbage"), "not JSON"));
  CHECK(has(refusal(store, file, ""), "empty"));
  CHECK(has(refusal(store, file, "[]"), "an object expected"));
  CHECK(has(refusal(store, file, R"({"schema": "mgpu-bench/result", "schema_version": 1})"),
            "another kind of file"));
  CHECK(has(refusal(store, file, std::string(1000, '[')), file.string()));
  std::ofstream(file, std::ios::binary) << good;
  CHECK(store.load(device("0:0"), warned));
}

TEST_CASE("figures that cannot be are refused by name") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Warned warned;
  store.save(device("0:0"), capability(), warned);
  const fs::path file = only_file(folder.path());
  const Json good = Json::parse(file_text(file));
  const auto with = [&](const char* name, const Json& value) {
    Json bad = good;
    bad["capability"][name] = value;
    return refusal(store, file, bad.dump());
  };
  for (const char* rate :
       {"fp32_flops", "fp64_flops", "int32_ops", "memory_bytes_per_s", "pinned_up_bytes_per_s",
        "pinned_down_bytes_per_s", "pageable_up_bytes_per_s", "pageable_down_bytes_per_s"}) {
    for (const Json& value : {Json(0), Json(-1.5), Json(1e300), Json("fast"), Json(true)})
      CHECK(has(with(rate, value), rate));
    if (std::string(rate) != "fp64_flops") CHECK(has(with(rate, nullptr), "figures are missing"));
  }
  for (const char* time : {"launch_ns", "next_launch_ns"}) {
    for (const Json& value :
         {Json(0), Json(-5), Json(1.5), Json(std::int64_t{1} << 50), Json("soon")})
      CHECK(has(with(time, value), time));
    CHECK(has(with(time, nullptr), "figures are missing"));
  }
  Json bad = good;
  bad["capability"].erase("int32_ops");
  CHECK(has(refusal(store, file, bad.dump()), "capability.int32_ops: missing"));
  bad["capability"] = Json::object();
  CHECK(has(refusal(store, file, bad.dump()), "figures are missing"));
  bad = good;
  bad["of"]["name"] = "Other GPU";
  CHECK(has(refusal(store, file, bad.dump()), "another device"));
  bad = good;
  bad["schema_version"] = 1;
  CHECK(has(refusal(store, file, bad.dump()), "another version"));
}

TEST_CASE("what devices do together belongs to the set, not to its order") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  const std::vector<Device> set = {device("0:0"), device("0:1"), device("0:2")};
  const std::vector<Device> turned = {device("0:2"), device("0:0"), device("0:1")},
                            fewer = {device("0:0"), device("0:1")};
  Warned warned;
  const LinkRate up({55e9, 110e9, 170e9});
  store.save_link(set, {{}, up, 98e9}, warned);
  const auto back = store.load_link(turned, warned);
  REQUIRE(back);
  CHECK(back->up == up);
  CHECK(back->down == 98e9);
  CHECK(back->devices == std::vector<std::string>{"0:2", "0:0", "0:1"});
  CHECK_FALSE(store.load_link(fewer, warned));
  CHECK(warned.lines.empty());

  const fs::path file = only_file(folder.path());
  Json bad = Json::parse(file_text(file));
  bad["link"]["down_bytes_per_s"] = 0;
  std::ofstream(file) << bad.dump();
  CHECK_FALSE(store.load_link(set, warned));
  REQUIRE(warned.lines.size() == 1);
  CHECK(has(warned.lines[0], "link.down_bytes_per_s"));
  bad["link"]["down_bytes_per_s"] = 98e9;
  bad["link"]["up_bytes_per_s"][1] = 0;
  std::ofstream(file) << bad.dump();
  CHECK_FALSE(store.load_link(set, warned));
  REQUIRE(warned.lines.size() == 2);
  CHECK(has(warned.lines[1], "link.up_bytes_per_s[1]"));
}

TEST_CASE(
    "what a suite's kernels reach comes back with its smaller problem, and impossible figures are "
    "refused") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Warned warned;
  SuiteRate rate;
  rate.ops_per_s = 5.5e9;
  rate.slice = Nanos(95'000);
  rate.fixed = Nanos(440'000);
  rate.unit = "digits/s";
  rate.fewer_ops = 1310720;
  rate.fewer = Nanos(345'000);
  store.save_suite(device("0:0"), "msm", rate, warned);
  const auto back = store.load_suite(device("0:0"), "msm", warned);
  REQUIRE(back);
  CHECK(back->ops_per_s == rate.ops_per_s);
  CHECK(back->slice == rate.slice);
  CHECK(back->fixed == rate.fixed);
  CHECK(back->unit == rate.unit);
  CHECK(back->fewer_ops == rate.fewer_ops);
  CHECK(back->fewer == rate.fewer);
  CHECK_FALSE(store.load_suite(device("0:0"), "merkle", warned));
  CHECK(warned.lines.empty());

  const fs::path file = only_file(folder.path());
  const Json good = Json::parse(file_text(file));
  const auto with = [&](const char* name, const Json& value) {
    Json bad = good;
    bad["rate"][name] = value;
    std::ofstream(file, std::ios::binary) << bad.dump();
    Warned lines;
    const bool cached = store.load_suite(device("0:0"), "msm", lines).has_value();
    REQUIRE(cached == lines.lines.empty());
    return cached ? std::string() : lines.lines.front();
  };
  CHECK(has(with("ops_per_s", 0), "ops_per_s"));
  CHECK(has(with("slice_ns", -1), "impossible figures"));
  CHECK(has(with("fewer_ns", -1), "impossible figures"));
  CHECK(has(with("fewer_ns", "long"), "fewer_ns"));
  for (const Json& value : {Json(0), Json(-3), Json(1e300), Json("many")})
    CHECK(has(with("fewer_ops", value), "fewer_ops"));
  CHECK(with("fewer_ns", 0).empty());  // none was measured
}

TEST_CASE("a folder that cannot be written is a warning; an empty one keeps nothing") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  const CalibrationStore blocked(folder.path() / "file" / "calibration", kBasis);
  Warned warned;
  CHECK_FALSE(blocked.load(device("0:0"), warned));
  CHECK(warned.lines.empty());
  blocked.save(device("0:0"), capability(), warned);
  REQUIRE(warned.lines.size() == 1);
  CHECK(has(warned.lines[0], "is not cached"));

  const CalibrationStore none({}, kBasis);
  none.save(device("0:0"), capability(), warned);
  none.save_link(std::vector<Device>{device("0:0")}, {{}, 1, 1}, warned);
  CHECK_FALSE(none.load(device("0:0"), warned));
  CHECK(warned.lines.size() == 1);
}
