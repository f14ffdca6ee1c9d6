// Measured capability in the result file and in the tables of devices.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/table_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;
using Json = nlohmann::ordered_json;

namespace {

Capability some() {
  Capability c;
  c.fp32_flops = 65.5e12;
  c.memory_bytes_per_s = 4.25e12;
  c.pinned_up = 55.3e9;
  c.launch = Nanos{9100};
  return c;
}

std::string refusal_of(const Json& capability) {
  Json json = to_json(test::sample_report());
  json["devices"][1]["capability"] = capability;
  try {
    report_from_json(json);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE(
    "the result file holds the capability of calibrated devices, and an empty one of others") {
  Report report = test::sample_report();
  report.devices[0].capability = some();
  const Json json = to_json(report);
  CHECK(json["devices"][0]["capability"]["fp32_flops"] == 65.5e12);
  CHECK(json["devices"][0]["capability"]["launch_ns"] == 9100);
  CHECK(json["devices"][0]["capability"]["fp64_flops"].is_null());
  CHECK(json["devices"][1]["capability"] == Json::object());
  const Report back = report_from_json(json);
  REQUIRE(back.devices[0].capability);
  CHECK(back.devices[0].capability->pinned_up == 55.3e9);
  CHECK(back.devices[0].capability->fp64_flops == 0);
  CHECK(back.devices[0].capability->launch == Nanos{9100});
  CHECK_FALSE(back.devices[1].capability);
  CHECK(to_json_text(back) == to_json_text(report));
}

TEST_CASE("a rate that is not finite is written as not measured") {
  Report report = test::sample_report();
  report.devices[0].capability = some();
  report.devices[0].capability->int32_ops = std::numeric_limits<double>::infinity();
  CHECK(to_json(report)["devices"][0]["capability"]["int32_ops"].is_null());
}

TEST_CASE("an impossible capability in a result file is named by its path") {
  CHECK(refusal_of(nullptr).empty());
  CHECK(refusal_of(3) == "devices[1].capability: an object expected");
  CHECK(refusal_of({{"fp32_flops", 1}}) == "devices[1].capability.fp64_flops: missing");
  CHECK(has(refusal_of({{"fp32_flops", -1}}),
            "devices[1].capability.fp32_flops: a number above zero"));
}

TEST_CASE("the list of devices shows what was measured, only where something was") {
  const std::vector<Device> devices = {test::sample_device("0:0", 0, "0000:1a:00.0", 0).device,
                                       test::sample_device("0:1", 1, "0000:1b:00.0", 0).device};
  const TableStyle wide{300, false};
  const std::string plain = device_table(devices, wide);
  CHECK_FALSE(has(plain, "FLOP/s"));
  std::vector<std::optional<Capability>> measured(2);
  CHECK(device_table(devices, wide, measured) == plain);
  measured[1] = some();
  const std::string table = device_table(devices, wide, measured);
  CHECK(has(table, "TFLOP/s"));
  CHECK(has(table, "65.5"));
  CHECK(has(table, "TB/s"));
  CHECK(has(table, "55.3"));
  CHECK_FALSE(has(table, "down  0"));
}

TEST_CASE("a calibration in a table: one unit a column, what is unknown a dash") {
  Device device;
  device.id = "0:0";
  device.name = "GPU";
  Capability slow = some();
  slow.fp32_flops = 152e9;
  const std::vector<CalibrationRow> rows = {{device, some(), Bytes{3} << 30, "measured"},
                                            {device, slow, std::nullopt, "cached"},
                                            {device, std::nullopt, std::nullopt, "failed"}};
  const std::string table = calibration_table(rows, {300, false});
  CHECK(has(table, "65.500"));
  CHECK(has(table, " 0.152"));
  CHECK(has(table, "3.00 GiB  measured"));
  CHECK(has(table, "-  cached"));
  CHECK(has(table, "-  failed"));
  CHECK(has(table, "9.1"));
}
