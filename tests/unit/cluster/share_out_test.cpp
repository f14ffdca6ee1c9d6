// Assignment of devices to ranks, and the settings that ranks must have in common.
#include "lib/cluster/share_out.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace mgpu {
namespace {

Device gpu(const std::string& id, const std::string& uuid) {
  Device device;
  device.id = id;
  device.name = "H200";
  device.platform = "NVIDIA CUDA";
  device.driver_version = "580";
  device.uuid = uuid;
  device.score = 90;
  return device;
}

Device cpu(const std::string& id) {
  Device device = gpu(id, "pocl");  // every rank has that device
  device.name = "cpu";
  device.platform = "Portable Computing Language";
  device.type = DeviceType::cpu;
  device.score = 20;
  return device;
}

std::vector<std::string> ids(const SharedOut& shared) {
  std::vector<std::string> all;
  for (const OwnedDevice& owned : shared.devices) all.push_back(owned.device.id);
  return all;
}

}  // namespace

TEST_CASE("a rank on a host by itself has all its devices, best first") {
  const SharedOut shared =
      share_out({{"a", {gpu("0:0", "x"), cpu("1:0")}}, {"b", {gpu("0:0", "y"), cpu("1:0")}}});
  CHECK(ids(shared) == std::vector<std::string>{"0:0", "1/0:0", "1:0", "1/1:0"});
  CHECK(shared.devices[1].device.node->host == "b");
  CHECK(shared.devices[1].device.is_elsewhere());
  CHECK(!shared.devices[0].device.is_elsewhere());
  CHECK(shared.notes.empty());
}

TEST_CASE("ranks on one host share its devices out") {
  const RankDevices all{"a", {gpu("0:0", "x"), gpu("0:1", "y"), gpu("0:2", "z"), cpu("1:0")}};
  const SharedOut shared = share_out({all, all});
  CHECK(ids(shared) == std::vector<std::string>{"0:0", "0:2", "1/0:1", "1:0"});
  CHECK(shared.devices.back().holders == std::vector<RankNumber>{0, 1});
  REQUIRE(shared.notes.size() == 1);
  CHECK(shared.notes.front().find("ranks 0, 1") != std::string::npos);
}

TEST_CASE("a launcher that gives each rank a GPU of its own has shared them out already") {
  const SharedOut shared =
      share_out({{"a", {gpu("0:0", "x")}}, {"a", {gpu("0:0", "y")}}, {"a", {}}});
  CHECK(ids(shared) == std::vector<std::string>{"0:0", "1/0:0"});
  CHECK(shared.notes == std::vector<std::string>{"rank 2 on a sees no device"});
}

TEST_CASE("two CPUs of one rank stay two though they say they are the same") {
  const RankDevices two{"a", {cpu("0:0"), cpu("0:1")}};
  CHECK(ids(share_out({two, two})) == std::vector<std::string>{"0:0", "1/0:1"});
  CHECK(ids(share_out({two})) == std::vector<std::string>{"0:0", "0:1"});
}

TEST_CASE("ids of all ranks") {
  CHECK(global_id(0, "0:1.2") == "0:1.2");
  CHECK(global_id(12, "0:1.2") == "12/0:1.2");
  CHECK(local_id("12/0:1.2").rank == 12);
  CHECK(local_id("12/0:1.2").id == "0:1.2");
  CHECK(local_id("0:1").rank == 0);
  CHECK(local_id("0:1").id == "0:1");
}

TEST_CASE("what differs between ranks is named") {
  const auto names = [](const std::string& text, std::initializer_list<const char*> parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const char* part) { return text.find(part) != std::string::npos; });
  };
  const Fingerprint first{"a", "1.0", "sum 1", "run merkle"};
  Fingerprint other = first;
  other.host = "b";
  CHECK(difference(first, other).empty());
  other.arguments = "run msm";
  CHECK(names(difference(first, other), {"arguments", "run merkle", "run msm"}));
  other.program = "sum 2";
  CHECK(names(difference(first, other), {"program", "sum 1", "sum 2"}));
  other.version = "1.1";
  CHECK(names(difference(first, other), {"version 1.0 on a", "1.1 on b"}));

  const RankDevices mine{"a", {gpu("0:0", "x"), cpu("1:0")}};
  RankDevices its{"b", {gpu("0:0", "y")}};
  CHECK(driver_difference(mine, its).empty());
  its.devices.front().driver_version = "575";
  CHECK(names(driver_difference(mine, its), {"NVIDIA CUDA", "580", "575"}));
}

}  // namespace mgpu
