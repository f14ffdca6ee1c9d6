#include "lib/report/findings_json.hpp"

#include <utility>

namespace mgpu {

JsonValue findings_json(const Findings& findings) {
  JsonValue figures = json_list(), milestones = json_list(), curves = json_list();
  for (const auto& figure : findings.figures)
    append(figures, json_object({{"name", figure.name}, {"value", finite_json(figure.value)}}));
  for (const auto& milestone : findings.milestones)
    append(milestones, json_object({{"name", milestone.name},
                                    {"rounds", milestone.rounds},
                                    {"time_ns", milestone.time}}));
  for (const auto& curve : findings.curves) {
    JsonValue values = json_list();
    for (const double value : curve.values) append(values, finite_json(value));
    append(curves,
           json_object(
               {{"name", curve.name}, {"rounds", curve.rounds}, {"values", std::move(values)}}));
  }
  return json_object({{"figures", std::move(figures)},
                      {"milestones", std::move(milestones)},
                      {"curves", std::move(curves)}});
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
