// The table of devices --status.
#include <doctest/doctest.h>

#include "lib/report/device_status_report.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using test::has;

TEST_CASE("the status table has a figure or a dash per cell, and says why there is a dash") {
  DeviceStatus known{"0:0",
                     "GPU",
                     Bytes{80} << 30,
                     Bytes{60} << 30,
                     Bytes{20} << 30,
                     Bytes{20} << 30,
                     0,
                     0.25,
                     0.97,
                     61.4,
                     "NVML",
                     ""};
  DeviceStatus unknown;
  unknown.id = "0:1";
  unknown.total = Bytes{1} << 30;
  unknown.reason = "temperature: there is no NVML";
  const std::vector<DeviceStatus> devices{known, unknown};
  const std::string table = status_table(devices, {.width = 200});
  CHECK(has(table, "20.0 GiB"));
  CHECK(has(table, "60.0 GiB"));
  CHECK(has(table, " 25 "));
  CHECK(has(table, " 97 "));
  CHECK(has(table, " 61 "));
  CHECK(has(table, "0:1: - for temperature: there is no NVML"));
  CHECK_FALSE(has(table, "0:0: - for"));
  const std::string line = status_json_line(devices);
  CHECK(line.find('\n') + 1 == line.size());
  CHECK(has(line, R"("allocated_bytes":0,"allocation":0.25)"));
  CHECK(has(line, R"("free_bytes":null)"));
}
