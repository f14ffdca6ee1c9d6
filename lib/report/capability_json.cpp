#include "lib/report/capability_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quote.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

// Far beyond what hardware does: a figure above it is damage.
constexpr double kMostRate = 1e18;

JsonValue capability_json(const std::optional<Capability>& capability) {
  return capability ? Kind<Capability>::write(*capability) : json_object();
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
  return Kind<Capability>::read(json);
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

bool is_complete(const Capability& of) {
  const auto rates = {of.fp32_flops,  of.int32_ops,   of.memory_bytes_per_s, of.pinned_up,
                      of.pinned_down, of.pageable_up, of.pageable_down};
  return std::all_of(rates.begin(), rates.end(), [](double rate) { return rate > 0; }) &&
         of.launch > Nanos{} && of.next_launch > Nanos{};
}

}  // namespace mgpu
