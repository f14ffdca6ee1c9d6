// One table of names serves writing, reading and the check for completeness.
#include "lib/report/capability_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/quote.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/json_text.hpp"

namespace mgpu {

namespace {

struct RateField {
  const char* name;
  double Capability::*member;
};
constexpr std::array<RateField, 8> kRates = {{
    {"fp32_flops", &Capability::fp32_flops},
    {"fp64_flops", &Capability::fp64_flops},
    {"int32_ops", &Capability::int32_ops},
    {"memory_bytes_per_s", &Capability::memory_bytes_per_s},
    {"pinned_up_bytes_per_s", &Capability::pinned_up},
    {"pinned_down_bytes_per_s", &Capability::pinned_down},
    {"pageable_up_bytes_per_s", &Capability::pageable_up},
    {"pageable_down_bytes_per_s", &Capability::pageable_down},
}};

struct TimeField {
  const char* name;
  Nanos Capability::*member;
};
constexpr std::array<TimeField, 2> kTimes = {
    {{"launch_ns", &Capability::launch}, {"next_launch_ns", &Capability::next_launch}}};

// Far beyond what hardware does: a figure above them is damage.
constexpr double kMostRate = 1e18;
constexpr Nanos kMostTime = std::chrono::minutes(1);

}  // namespace

JsonValue capability_json(const std::optional<Capability>& capability) {
  JsonValue json = json_object();
  if (!capability) return json;
  for (const RateField& field : kRates) {
    const double rate = (*capability).*field.member;
    put(json, field.name, rate > 0 ? finite_json(rate) : JsonItem(nullptr));
  }
  for (const TimeField& field : kTimes) {
    const Nanos time = (*capability).*field.member;
    put(json, field.name, time > Nanos{} ? JsonItem(time) : JsonItem(nullptr));
  }
  return json;
}

double read_rate(const JsonReader& json) {
  const double rate = json.number();
  json.expect(rate > 0 && rate <= kMostRate, "a number above zero, up to 1e18,");
  return rate;
}

std::optional<Capability> read_capability(const JsonReader& json) {
  if (json.is_null()) return std::nullopt;
  json.expect(json.is_object(), "an object");
  if (json.size() == 0) return std::nullopt;
  Capability capability;
  for (const RateField& field : kRates) {
    const JsonReader value = json.at(field.name);
    if (value.is_null()) continue;
    capability.*field.member = read_rate(value);
  }
  for (const TimeField& field : kTimes) {
    const JsonReader value = json.at(field.name);
    if (value.is_null()) continue;
    capability.*field.member = value.nanos();
    value.expect(capability.*field.member > Nanos{} && capability.*field.member <= kMostTime,
                 "a time above zero, up to a minute,");
  }
  return capability;
}

JsonValue link_rate_json(const LinkRate& rate) {
  if (rate.by_count().size() > 1) return JsonItem(rate.by_count());
  return finite_json(rate.all());
}

LinkRate read_link_rate(const JsonReader& json) {
  const auto rate = [&](const JsonReader& one, bool zero) {
    const double read = one.number_or_nan();
    if (read >= 0 && read <= kMostRate && (zero || read > 0)) return read;
    one.fail(fmt::format("{} is not accepted: a number {} 0, at most {:g}",
                         in_quotes(flat_json(one.json())), zero ? "from" : "above", kMostRate));
  };
  if (!json.is_list()) return rate(json, true);
  std::vector<double> by_count;
  json.elements([&](const JsonReader& one) { by_count.push_back(rate(one, false)); });
  json.expect(!by_count.empty(), "at least one number");
  return LinkRate(std::move(by_count));
}

bool is_complete(const Capability& capability) {
  const auto measured = [&](const RateField& field) {
    return capability.*field.member > 0 || field.member == &Capability::fp64_flops;
  };
  return std::all_of(kRates.begin(), kRates.end(), measured) && capability.launch > Nanos{} &&
         capability.next_launch > Nanos{};
}

}  // namespace mgpu
