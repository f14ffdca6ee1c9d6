// The selector language: every term, every malformed one, and the default set.
#include "lib/device/selection.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "tests/support/pairs.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using test::pairs_of;

namespace {

using Indices = std::vector<std::size_t>;

Device listed(std::string id, DeviceType type, std::string name, double score) {
  Device d;
  d.id = std::move(id);
  d.type = type;
  d.name = std::move(name);
  d.score = score;
  return d;
}

// Returns two H200, an older GPU, two sub-devices of a CPU and an accelerator, best first.
std::vector<Device> machine() {
  std::vector<Device> list{listed("0:0", DeviceType::gpu, "NVIDIA H200", 100),
                           listed("0:1", DeviceType::gpu, "NVIDIA H200", 100),
                           listed("2:0", DeviceType::gpu, "Radeon Pro", 90),
                           listed("10:0", DeviceType::accelerator, "FPGA", 40),
                           listed("1:0.0", DeviceType::cpu, "pthread-Xeon", 20),
                           listed("1:0.1", DeviceType::cpu, "pthread-Xeon", 20)};
  list[0].uuid = "0a1b2c3d-0000-0000-0000-000000000001";
  list[1].uuid = "0a1b2c3d-0000-0000-0000-000000000002";
  list[0].pci = "0000:1a:00.0";
  list[1].pci = "0000:3b:00.0";
  return list;
}

Indices chosen(std::string_view text) { return Selector::parse(text).apply(machine()).chosen; }

std::string refused_selector(std::string_view text) {
  return test::refusal([&] { Selector::parse(text); });
}

}  // namespace

TEST_CASE("terms choose by rank, identifier, kind, name, UUID and PCI address, in their order") {
  for (const auto& [text, expected] : pairs_of(R"(
         3 = 3; 003 = 3; 0:1 = 1; 00:01 = 1; 1:0.1 = 5; 0:* = 0 1; 1:* = 4 5; gpu = 0 1 2
         cpu = 4 5; accelerator = 3; all = 0 1 2 3 4 5; gpu:2 = 0 1; gpu:9 = 0 1 2
         all:4 = 0 1 2 3; name~h200 = 0 1; name~Pro = 2; uuid=GPU-0a1b = 0 1; pci=0000:1A = 0
         uuid=0A1B2C3D-0000-0000-0000-000000000002 = 1
         2,0 = 2 0; 2 , 0 = 2 0; cpu,gpu = 4 5 0 1 2; 1,gpu,0:1 = 1 0 2
         gpu,!0 = 1 2; !0,gpu = 1 2; all,!cpu,!name~h200 = 2 3; !cpu = 0 1 2 3
         !gpu:2 = 2 3 4 5; gpu,!all = )")) {
    CAPTURE(text);
    std::string found;
    for (const std::size_t index : chosen(text))
      found += (found.empty() ? "" : " ") + std::to_string(index);
    CHECK(found == expected);
  }
  CHECK(chosen(" 2 , 0\t") == Indices{2, 0});
}

TEST_CASE("devices of other nodes have theirs before the identifier") {
  std::vector<Device> list = machine();
  for (const char* id : {"2/0:0", "2/0:1", "12/0:0"}) {
    list.push_back(listed(id, DeviceType::gpu, "NVIDIA H200", 100));
    list.back().node = DeviceNode{list.back().id.front() == '2' ? 2u : 12u, "host"};
    list.back().uuid = list[0].uuid;
  }
  const auto of = [&](std::string_view text) { return Selector::parse(text).apply(list).chosen; };
  CHECK(of("2/0:1") == Indices{7});
  CHECK(of("02/0:*") == Indices{6, 7});
  CHECK(of("0/0:1") == Indices{1});  // node 0 has no such device
  CHECK(of("0:*") == Indices{0, 1});
  CHECK(of("!2/0:0,gpu:9") == Indices{0, 1, 2, 7, 8});
  for (const char* text : {"2/", "2/0", "/0:1", "2/3/0:1", "x/0:1", "2/0:1/"})
    CHECK(!refused_selector(text).empty());
  // The same number on another node names another device.
  CHECK(default_selection(list) == Indices{0, 1, 2, 6, 7, 8});
  const std::vector<Device> cpus{listed("0:0", DeviceType::cpu, "cpu", 20),
                                 listed("1/0:0", DeviceType::cpu, "cpu", 20)};
  CHECK(default_selection(cpus) == Indices{0, 1});
}

TEST_CASE("well-formed terms that match nothing are told, as they were written") {
  const auto result = Selector::parse("gpu:1,77,name~Voodoo,!uuid=ff,custom,9:9").apply(machine());
  CHECK(result.chosen == Indices{0});
  CHECK(result.unmatched ==
        std::vector<std::string>{"77", "name~Voodoo", "!uuid=ff", "custom", "9:9"});
  const auto nothing = Selector::parse("all").apply({});
  CHECK(nothing.chosen.empty());
  CHECK(nothing.unmatched == std::vector<std::string>{"all"});
}

TEST_CASE("terms that ask for more devices than there are are told, with how many there are") {
  const auto result = Selector::parse("gpu:9,cpu:2,custom:3,accelerator:2").apply(machine());
  REQUIRE(result.shorter.size() == 2);
  CHECK(result.shorter[0].written == "gpu:9");
  CHECK(result.shorter[0].matched == 3);
  CHECK(result.shorter[1].written == "accelerator:2");
  CHECK(result.unmatched == std::vector<std::string>{"custom:3"});
}

TEST_CASE("a malformed term is an error that names it and says in one line what is accepted") {
  const std::string_view terms[] = {"",
                                    "!",
                                    "!!gpu",
                                    "gpu:",
                                    "gpu:0",
                                    "gpu:x",
                                    "gpu:-1",
                                    "gpu:1:2",
                                    "gpu:99999999999",
                                    "cpu: 2",
                                    "all:",
                                    "name~",
                                    "uuid=",
                                    "pci=",
                                    "uuid=GPU-",
                                    "0:",
                                    ":0",
                                    "0:x",
                                    "0:1.",
                                    "0:1.x",
                                    "0:.1",
                                    "0:**",
                                    "0:*.1",
                                    "0:1:2",
                                    "-1",
                                    "+1",
                                    "1.5",
                                    "0x1",
                                    "1e3",
                                    "4294967296",
                                    "99999999999999999999999",
                                    "0:99999999999",
                                    "gpus",
                                    "GPU",
                                    "name=H200",
                                    "*",
                                    "gpu\ncpu"};
  for (const std::string_view term : terms) {
    CAPTURE(term);
    const std::string message = refused_selector(term);
    CHECK(test::has(message, "--devices: bad term"));
    CHECK(test::has(message, "expected: RANK"));
    CHECK_FALSE(test::has(message, "\n"));
  }
  CHECK(test::has(refused_selector("gpu,gpus,cpu"), "\"gpus\": unknown word; name~gpus selects"));
  CHECK(test::has(refused_selector("gpus"), "did you mean \"gpu\"?"));
  CHECK(test::has(refused_selector("nvidia"), "unknown word; name~nvidia selects devices by"));
  CHECK_FALSE(test::has(refused_selector("gpu\ncpu"), "name~gpu"));
  CHECK(test::has(refused_selector("gpu,"), "\"\""));
  CHECK(test::has(refused_selector(",gpu"), "\"\""));
  CHECK(test::has(refused_selector("gpu,,cpu"), "\"\""));
}

TEST_CASE("by default all graphics are used, else all processors, never both") {
  CHECK(default_selection(machine()) == Indices{0, 1, 2});
  const std::vector<Device> no_gpu{listed("5:0", DeviceType::accelerator, "FPGA", 40),
                                   listed("1:0", DeviceType::cpu, "Xeon", 20)};
  CHECK(default_selection(no_gpu) == Indices{1});
  CHECK(default_selection({}).empty());
}

TEST_CASE("two clones of one processor on one platform are two devices") {
  std::vector<Device> clones{listed("0:0", DeviceType::cpu, "pthread", 20),
                             listed("0:1", DeviceType::cpu, "pthread", 20)};
  clones[0].uuid = clones[1].uuid = "same";
  CHECK(default_selection(clones) == Indices{0, 1});
}

TEST_CASE("a processor seen through two platforms is used through the better-scored one") {
  const std::vector<Device> cpus{listed("1:0", DeviceType::cpu, "Xeon", 30),
                                 listed("0:0", DeviceType::cpu, "Xeon", 20),
                                 listed("0:1", DeviceType::cpu, "Xeon", 20)};
  CHECK(default_selection(cpus) == Indices{0});
  const std::vector<Device> unsorted{listed("0:0", DeviceType::cpu, "Xeon", 20),
                                     listed("1:0", DeviceType::cpu, "Xeon", 30)};
  CHECK(default_selection(unsorted) == Indices{1});
}

TEST_CASE("a GPU seen through two platforms is used once, through its vendor's") {
  std::vector<Device> list{listed("1:0", DeviceType::gpu, "pocl-cuda H200", 90),
                           listed("0:0", DeviceType::gpu, "H200", 100),
                           listed("0:1", DeviceType::gpu, "H200", 100)};
  list[0].pci = list[2].pci = "0000:3b:00.0";
  list[1].pci = "0000:1a:00.0";
  CHECK(default_selection(list) == Indices{1, 2});
  list[0].pci.reset();
  CHECK(default_selection(list) == Indices{0, 1, 2});  // they may be different devices
  list[0].uuid = list[1].uuid = "u";
  CHECK(default_selection(list) == Indices{1, 2});
}

TEST_CASE("parts of one GPU on one platform are all used, though they share its address") {
  std::vector<Device> parts{listed("0:0", DeviceType::gpu, "MIG 1g", 80),
                            listed("0:1", DeviceType::gpu, "MIG 1g", 80)};
  parts[0].pci = parts[1].pci = "0000:1a:00.0";
  CHECK(default_selection(parts) == Indices{0, 1});
}

TEST_CASE("when no device is left the message names what was looked at") {
  const std::vector<std::string> platforms{"NVIDIA CUDA", "Portable Computing Language"};
  CHECK(test::has(no_device_message("", {}, {}), "no OpenCL platform"));
  CHECK(test::has(no_device_message("gpu", {}, platforms),
                  "NVIDIA CUDA, Portable Computing Language"));
  const std::string message = no_device_message("cpu:1", machine(), platforms);
  CHECK(test::has(message, "\"cpu:1\""));
  CHECK(test::has(message, "0:0 NVIDIA H200 (gpu)"));
  CHECK(test::has(message, "1:0.1 pthread-Xeon (cpu)"));
  CHECK(test::has(no_device_message("", std::vector<Device>{machine()[3]}, platforms),
                  "10:0 FPGA (accelerator)"));
}

TEST_CASE("the best devices are those of the highest score x (1 - utilisation), in their order") {
  std::vector<Device> list{listed("0:0", DeviceType::gpu, "fast", 95),
                           listed("0:1", DeviceType::gpu, "slower", 80),
                           listed("0:2", DeviceType::gpu, "slowest", 50)};
  // 95 at 80 % are 19, 80 at 30 % are 56, and 50 that idle are 50.
  const std::vector<double> use{0.8, 0.3, 0};
  CHECK(best_devices(list, use, 1) == Indices{1});
  CHECK(best_devices(list, use, 2) == Indices{1, 2});
  CHECK(best_devices(list, use, 3) == Indices{0, 1, 2});
  CHECK(best_devices(list, use, 9) == Indices{0, 1, 2});
  CHECK(best_devices(list, {}, 2) == Indices{0, 1});
  CHECK(best_devices(list, std::vector<double>{1, 1, 1}, 1) == Indices{0});
  for (Device& device : list) device.score = 80;
  CHECK(best_devices(list, std::vector<double>{0.5, 0.2, 0.2}, 1) == Indices{1});
  CHECK(best_devices(list, {}, 1) == Indices{0});
}
