// Calibrations on disk: those that can be loaded again, and especially those that must not.
#include "lib/report/calibration_store.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/golden.hpp"
#include "tests/support/json_texts.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

const CalibrationBasis kBasis{"0.1.0 abc", "__kernel void f() {}"};
using Warnings = std::vector<std::string>;

Device device_without_uuid(const std::string& id) {
  Device d;
  d.id = id;
  d.name = "Fake GPU";
  d.platform = "Fake";
  d.platform_version = "OpenCL 3.0";
  d.driver_version = "1.0";
  d.compute_units = 4;
  return d;
}

Device calibrated(const std::string& id = "0:0") {
  Device d = device_without_uuid(id);
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

// A store in a folder of its own.
struct Shelf {
  TemporaryFolder folder;
  CalibrationStore store{folder.path() / "new" / "folder", kBasis};
  Warnings warnings;

  std::filesystem::path file() const {
    const std::filesystem::directory_iterator files(folder.path() / "new" / "folder");
    REQUIRE(std::distance(begin(files), end(files)) == 1);
    return std::filesystem::directory_iterator(folder.path() / "new" / "folder")->path();
  }
  // Returns the message of `load` about the file with this text instead; nothing may be loaded.
  template <class Load>
  std::string refusal(const std::string& text, Load load) {
    std::ofstream(file(), std::ios::binary) << text;
    Warnings lines;
    CHECK_FALSE(load(lines));
    REQUIRE(lines.size() == 1);
    return lines.front();
  }
  std::string refusal(const std::string& text) {
    return refusal(text, [&](Warnings& to) { return store.load(calibrated(), to); });
  }
  bool loads(const Device& device) { return store.load(device, warnings).has_value(); }
};

// Checks that all of these parts are in a text: "launch_ns|above".
bool names(const std::string& text, const char* part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("a calibration comes back as it was cached, to the last bit") {
  Shelf shelf;
  CHECK_FALSE(shelf.loads(calibrated()));
  shelf.store.save(calibrated(), capability(), shelf.warnings);
  const auto back = shelf.store.load(calibrated(), shelf.warnings);
  REQUIRE(back);
  const Capability cached = capability();
  for (const auto rate :
       {&Capability::fp32_flops, &Capability::fp64_flops, &Capability::int32_ops,
        &Capability::memory_bytes_per_s, &Capability::pinned_up, &Capability::pinned_down,
        &Capability::pageable_up, &Capability::pageable_down})
    CHECK((*back).*rate == cached.*rate);
  CHECK(back->launch == cached.launch);
  CHECK(back->next_launch == cached.next_launch);
  CHECK(shelf.warnings.empty());
}

TEST_CASE("every device has its own, whatever its place in the list") {
  Shelf shelf;
  shelf.store.save(calibrated(), capability(), shelf.warnings);
  Device moved = calibrated();  // another device was hidden: the same UUID at another position
  moved.id = "0:7";
  Device part = calibrated(), other_part = part, smaller_part = part;
  part.id = smaller_part.id = "0:0.0";
  other_part.id = "0:0.1";
  smaller_part.compute_units = 2;
  // Results of another node's device include the network; those of node 0 are local.
  Device root = calibrated(), there = root;
  root.node = DeviceNode{0, "here"};
  there.node = DeviceNode{1, "there"};
  CHECK_FALSE(shelf.loads(calibrated("0:1")));
  CHECK(shelf.loads(moved));
  CHECK(shelf.loads(root));
  CHECK_FALSE(shelf.loads(there));
  shelf.store.save(part, capability(), shelf.warnings);
  CHECK(shelf.loads(part));
  CHECK_FALSE(shelf.loads(other_part));
  CHECK_FALSE(shelf.loads(smaller_part));
  // Without UUID and PCI address only the id identifies it.
  shelf.store.save(device_without_uuid("0:0"), capability(), shelf.warnings);
  CHECK(shelf.loads(device_without_uuid("0:0")));
  CHECK_FALSE(shelf.loads(device_without_uuid("0:1")));
  CHECK(shelf.warnings.empty());
}

TEST_CASE("another driver, tool or kernel makes it stale: a warning, and replaced in place") {
  Shelf shelf;
  const auto folder = shelf.folder.path() / "new" / "folder";
  shelf.store.save(calibrated(), capability(), shelf.warnings);
  Device updated = calibrated();
  updated.driver_version = "1.1";
  CHECK_FALSE(shelf.loads(updated));
  CHECK_FALSE(
      CalibrationStore(folder, {"0.1.0 def", kBasis.kernels}).load(calibrated(), shelf.warnings));
  CHECK_FALSE(CalibrationStore(folder, {kBasis.tool, kBasis.kernels + " "})
                  .load(calibrated(), shelf.warnings));
  REQUIRE(shelf.warnings.size() == 3);
  names(shelf.warnings[0], "Fake GPU");
  names(shelf.warnings[0], "another driver");
  names(shelf.warnings[1], "another build");
  names(shelf.warnings[2], "other kernels");
  shelf.store.save(updated, capability(), shelf.warnings);
  CHECK(shelf.loads(updated));
  shelf.file();
}

TEST_CASE("a damaged file is never used and never fatal, wherever it is cut") {
  Shelf shelf;
  shelf.store.save(calibrated(), capability(), shelf.warnings);
  const std::string good = file_text(shelf.file());
  for (std::size_t size = 0; size < good.rfind('}'); ++size) shelf.refusal(good.substr(0, size));
  names(shelf.refusal("garbage"), "not JSON");
  names(shelf.refusal(""), "empty");
  names(shelf.refusal("[]"), "an object");
  names(shelf.refusal(R"({"schema": "mgpu-bench/result", "schema_version": 1})"), "is not");
  names(shelf.refusal(std::string(1000, '[')), shelf.file().c_str());
  std::ofstream(shelf.file(), std::ios::binary) << good;
  CHECK(shelf.loads(calibrated()));
  const std::filesystem::path pipe = shelf.file();
  std::filesystem::remove(pipe);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);  // no writer ever opens it
  CHECK_FALSE(shelf.loads(calibrated()));
  names(shelf.warnings.back(), "regular");
}

TEST_CASE("figures that cannot be are refused by name") {
  Shelf shelf;
  shelf.store.save(calibrated(), capability(), shelf.warnings);
  const std::string good = file_text(shelf.file());
  const auto with = [&](const std::string& edits) { return shelf.refusal(edited(good, edits)); };
  const std::string of = "/capability/";
  for (const char* rate :
       {"fp32_flops", "fp64_flops", "int32_ops", "memory_bytes_per_s", "pinned_up_bytes_per_s",
        "pinned_down_bytes_per_s", "pageable_up_bytes_per_s", "pageable_down_bytes_per_s"}) {
    for (const char* value : {" 0", " -1.5", " 1e300", " \"fast\"", " true"})
      names(with(of + rate + value), rate);
    if (std::string(rate) != "fp64_flops") names(with(of + rate + " null"), "missing");
  }
  for (const char* time : {"launch_ns", "next_launch_ns"}) {
    for (const char* value : {" 0", " -5", " 1.5", " 1125899906842624", " \"soon\""})
      names(with(of + time + value), time);
    names(with(of + time + " null"), "missing");
  }
  names(with("/capability/int32_ops"), "capability.int32_ops");
  names(with("/capability {}"), "missing");
  names(with("/of/name \"Other GPU\""), "another device");
  names(with("/schema_version 1"), "older than this tool reads");
}

TEST_CASE("what devices do together belongs to the set, not to its order") {
  Shelf shelf;
  const std::vector<Device> set = {calibrated("0:0"), calibrated("0:1"), calibrated("0:2")};
  const std::vector<Device> turned = {set[2], set[0], set[1]}, fewer = {set[0], set[1]};
  const LinkRate up({55e9, 110e9, 170e9});
  shelf.store.save_link(set, {{}, up, 98e9}, shelf.warnings);
  const auto back = shelf.store.load_link(turned, shelf.warnings);
  REQUIRE(back);
  CHECK(back->up == up);
  CHECK(back->down == 98e9);
  CHECK(back->devices == std::vector<std::string>{"0:2", "0:0", "0:1"});
  CHECK_FALSE(shelf.store.load_link(fewer, shelf.warnings));
  CHECK(shelf.warnings.empty());
  const std::string good = file_text(shelf.file());
  const auto load = [&](Warnings& to) { return shelf.store.load_link(set, to); };
  names(shelf.refusal(edited(good, "/link/down_bytes_per_s 0"), load), "link.down_bytes_per_s");
  names(shelf.refusal(edited(good, "/link/up_bytes_per_s/1 0"), load), "link.up_bytes_per_s[1]");
}

TEST_CASE("what a suite's kernels reach comes back with its smaller problem, or is refused") {
  Shelf shelf;
  SuiteRate rate;
  rate.ops_per_s = 5.5e9;
  rate.slice = Nanos(95'000);
  rate.fixed = Nanos(440'000);
  rate.unit = "digits/s";
  rate.fewer_ops = 1310720;
  rate.fewer = Nanos(345'000);
  rate.busy = true;
  shelf.store.save_suite(calibrated(), "msm", rate, shelf.warnings);
  const auto back = shelf.store.load_suite(calibrated(), "msm", shelf.warnings);
  REQUIRE(back);
  CHECK((back->ops_per_s == rate.ops_per_s && back->fewer_ops == rate.fewer_ops));
  CHECK(std::vector{back->slice, back->fixed, back->fewer} ==
        std::vector{rate.slice, rate.fixed, rate.fewer});
  CHECK(back->unit == rate.unit);
  CHECK(back->busy);
  CHECK_FALSE(shelf.store.load_suite(calibrated(), "merkle", shelf.warnings));
  CHECK(shelf.warnings.empty());
  const std::string good = file_text(shelf.file());
  const auto load = [&](Warnings& to) { return shelf.store.load_suite(calibrated(), "msm", to); };
  for (const auto& [edit, part] : {std::pair{"/rate/ops_per_s 0", "ops_per_s"},
                                   {"/rate/slice_ns -1", "slice_ns"},
                                   {"/rate/fewer_ns -1", "fewer_ns"},
                                   {"/rate/fewer_ns \"long\"", "fewer_ns"},
                                   {"/rate/fewer_ops 0", "fewer_ops"},
                                   {"/rate/fewer_ops -3", "fewer_ops"},
                                   {"/rate/fewer_ops 1e300", "fewer_ops"},
                                   {"/rate/fewer_ops \"many\"", "fewer_ops"}})
    names(shelf.refusal(edited(good, edit), load), part);
  std::ofstream(shelf.file()) << edited(good, "/rate/fewer_ns 0");  // none was measured
  CHECK(load(shelf.warnings));
}

TEST_CASE("a folder that cannot be written is a warning; an empty one keeps nothing") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  const CalibrationStore blocked(folder.path() / "file" / "calibration", kBasis), none({}, kBasis);
  Warnings warnings;
  CHECK_FALSE(blocked.load(calibrated(), warnings));
  CHECK(warnings.empty());
  blocked.save(calibrated(), capability(), warnings);
  REQUIRE(warnings.size() == 1);
  names(warnings[0], "is not cached");
  none.save(calibrated(), capability(), warnings);
  none.save_link(std::vector<Device>{calibrated()}, {{}, 1, 1}, warnings);
  CHECK_FALSE(none.load(calibrated(), warnings));
  CHECK(warnings.size() == 1);
}
