#include "lib/report/findings_json.hpp"

#include "lib/report/json_text.hpp"

namespace mgpu {

using Json = nlohmann::ordered_json;

Json findings_json(const Findings& findings) {
  Json j = {{"figures", Json::array()}, {"milestones", Json::array()}, {"curves", Json::array()}};
  for (const auto& figure : findings.figures)
    j["figures"].push_back({{"name", figure.name}, {"value", number_json(figure.value)}});
  for (const auto& milestone : findings.milestones)
    j["milestones"].push_back({{"name", milestone.name},
                               {"rounds", milestone.rounds},
                               {"time_ns", milestone.time.count()}});
  for (const auto& curve : findings.curves) {
    Json values = Json::array();
    for (const double value : curve.values) values.push_back(number_json(value));
    j["curves"].push_back(
        {{"name", curve.name}, {"rounds", curve.rounds}, {"values", std::move(values)}});
  }
  return j;
}

Findings read_findings(const JsonReader& j) {
  Findings findings;
  j.at("figures").elements([&](const JsonReader& e) {
    findings.figures.push_back({e.at("name").string(), e.at("value").number()});
  });
  j.at("milestones").elements([&](const JsonReader& e) {
    findings.milestones.push_back({e.at("name").string(), e.at("rounds").integer<std::uint32_t>(),
                                   e.at("time_ns").duration()});
  });
  j.at("curves").elements([&](const JsonReader& e) {
    Findings::Curve curve{e.at("name").string(), {}, {}};
    e.at("rounds").elements(
        [&](const JsonReader& of) { curve.rounds.push_back(of.integer<std::uint32_t>()); });
    e.at("values").elements([&](const JsonReader& of) { curve.values.push_back(of.number()); });
    if (curve.rounds.size() != curve.values.size())
      e.at("values").fail("as many as rounds expected");
    findings.curves.push_back(std::move(curve));
  });
  return findings;
}

}  // namespace mgpu
