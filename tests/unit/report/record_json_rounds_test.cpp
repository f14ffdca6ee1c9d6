// The result file, of work that goes in rounds: exchanges, numbers of rounds and chains of stages
// come back.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using Json = nlohmann::ordered_json;

TEST_CASE(
    "exchanges come back in each of their parts, and files without any have none of these keys") {
  Report report = test::sample_report();
  CHECK(to_json_text(report).find("exchange") == std::string::npos);
  RunRecord& run = report.runs.front();
  Command put;
  put.device = {1};
  put.kind = CommandKind::exchange;
  put.label = Name("put");
  put.bytes = 4096;
  put.ended = Nanos{7};
  put.exchange = ExchangeInfo{{0}, PeerPath::staged, true};
  run.timeline.commands.push_back(put);
  DeviceParts& parts = run.per_device.front().parts;
  parts.exchanges = true;
  parts.exchange = Nanos{70};
  parts.exchange_times = {Nanos{5}, Nanos{75}, Nanos{60}};
  parts.bytes_sent = 4096;
  parts.bytes_received = 2048;
  run.metrics.exchange_share = 0.125;
  run.metrics.waiting_share = 0.0625;
  run.bottleneck.free_exchange = Nanos{5};
  const RunRecord back = report_from_json(Json::parse(to_json_text(report))).runs.front();
  CHECK(back.timeline.commands.back().exchange == put.exchange);
  CHECK(back.timeline.commands.back().kind == CommandKind::exchange);
  CHECK_FALSE(back.timeline.commands.front().exchange);
  CHECK(back.per_device.front().parts.exchanges);
  CHECK(back.per_device.front().parts.exchange == Nanos{70});
  CHECK(back.per_device.front().parts.bytes_sent == 4096);
  CHECK(back.per_device.front().parts.bytes_received == 2048);
  CHECK_FALSE(back.per_device.back().parts.exchanges);
  CHECK(back.per_device.front().parts.exchange_times == parts.exchange_times);
  CHECK_FALSE(back.per_device.back().parts.exchange_times);
  CHECK(back.metrics.exchange_share == 0.125);
  CHECK(back.metrics.waiting_share == 0.0625);
  CHECK(back.bottleneck.free_exchange == Nanos{5});
  Json older = Json::parse(to_json_text(report));
  for (const char* key : {"exchange_total_ns", "exchange_hidden_ns", "waiting_ns"})
    older["runs"][0]["per_device"][0].erase(key);
  const Report read = report_from_json(older);
  CHECK(read.runs.front().per_device.front().parts.exchange == Nanos{70});
  CHECK_FALSE(read.runs.front().per_device.front().parts.exchange_times);
  CHECK(to_json_text(read).find("waiting_ns") == std::string::npos);
}

TEST_CASE(
    "how a chain of stages went comes back, and devices that the run does not have are refused") {
  Report report = test::sample_report();
  CHECK(to_json_text(report).find("\"chain\"") == std::string::npos);
  RunRecord& run = report.runs.front();
  REQUIRE(run.devices.size() == 2);
  run.chain = ChainPhases{
      Nanos{10}, Nanos{20}, {1},
      Nanos{30}, Nanos{33}, {{{0}, Name("hash"), Nanos{25}}, {{1}, Name("reduce"), Nanos{30}}}};
  run.metrics.filling_share = 0.25;
  run.metrics.period_ratio = 1.1;
  const Json json = Json::parse(to_json_text(report));
  const RunRecord back = report_from_json(json).runs.front();
  CHECK(back.chain == run.chain);
  CHECK(back.metrics.filling_share == 0.25);
  CHECK(back.metrics.period_ratio == 1.1);
  const auto refused = [&](const char* pointer, const Json& value) {
    Json changed = json;
    changed["runs"][0]["chain"][Json::json_pointer(pointer)] = value;
    CHECK_THROWS_AS(report_from_json(changed), Error);
  };
  refused("/slowest_device", 2);
  refused("/stages/0/device", 2);
  refused("/stages", Json::array());
  refused("/busy_ns", "long");
}

TEST_CASE(
    "numbers of rounds come back with and without exchanges, and files of work without any have no "
    "column for them") {
  Report report = test::sample_report();
  CHECK(to_json_text(report).find("round\"") == std::string::npos);
  RunRecord& run = report.runs.front();
  run.metrics.worst_round_imbalance_percent = 12.5;
  run.worst_round = 7;
  run.timeline.commands.at(1).round = 7;
  run.borders = {{2, {10, 10}, {{4, {12, 8}}, {8, {13, 7}}}}, {3, {13, 7}, {{16, {14, 6}}}}};
  const auto commands_read = [&] {
    return report_from_json(Json::parse(to_json_text(report))).runs.front().timeline.commands;
  };
  const RunRecord with_rounds = report_from_json(Json::parse(to_json_text(report))).runs.front();
  CHECK(with_rounds.worst_round == 7u);
  REQUIRE(with_rounds.borders.size() == 2);
  CHECK(with_rounds.borders[0].sample == 2);
  CHECK(with_rounds.borders[0].first == std::vector<Items>{10, 10});
  REQUIRE(with_rounds.borders[0].moves.size() == 2);
  CHECK(with_rounds.borders[0].moves[1].round == 8);
  CHECK(with_rounds.borders[0].moves[1].shares == std::vector<Items>{13, 7});
  CHECK(with_rounds.borders[1].moves[0].shares == std::vector<Items>{14, 6});
  CHECK(with_rounds.metrics.worst_round_imbalance_percent == 12.5);
  std::vector<Command> back = commands_read();
  CHECK_FALSE(back.at(0).round);
  CHECK(back.at(1).round == 7u);
  run.timeline.commands.at(0).kind = CommandKind::exchange;
  run.timeline.commands.at(0).exchange = ExchangeInfo{{1}, PeerPath::staged, true};
  run.timeline.commands.at(0).round = 4'000'000'000u;
  back = commands_read();
  CHECK(back.at(0).round == 4'000'000'000u);
  CHECK(back.at(0).exchange == run.timeline.commands.at(0).exchange);
  CHECK(back.at(1).round == 7u);
  CHECK_FALSE(back.at(2).round);
  Json json = Json::parse(to_json_text(report));
  json["runs"][0]["timeline"]["commands"][1].back() = -1;
  CHECK_THROWS_WITH_AS(report_from_json(json), doctest::Contains("commands"), Error);
}
