#include "app/compare_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/device_set.hpp"
#include "app/environment.hpp"
#include "app/exports.hpp"
#include "lib/base/add_once.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/comparison_exports.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

constexpr std::uint64_t kFewestRounds = 5;  // fewer rounds suffice for no test
constexpr std::uint64_t kMostResamples = 100'000;

// Reads the metrics: those that are named are judged.
void read_metrics(const Settings& settings, CompareOptions& options) {
  const Given* given = settings.find("metrics");
  if (given == nullptr) return;
  std::vector<Compared> metrics;
  for (const std::string& name : split_commas(given->value)) {
    const auto found = std::find_if(kAllCompared.begin(), kAllCompared.end(),
                                    [&](Compared m) { return name == info(m).name; });
    if (found == kAllCompared.end()) {
      throw Error(
          ErrorKind::usage,
          fmt::format("{}: {} is unknown; expected: time, speedup, efficiency, imbalance, energy",
                      given->from, in_quotes(name)));
    }
    add_once(metrics, *found);
  }
  options.metrics = options.judged = metrics;
}

std::optional<std::filesystem::path> output_file(const Settings& settings, const char* name,
                                                 CompareRequest& request) {
  const Given* given = settings.find(name);
  if (given == nullptr) return std::nullopt;
  if (given->value.empty()) throw Error(ErrorKind::usage, given->from + ": the file name is empty");
  request.outputs.add(given->value, output_mode(given->value));
  return given->value;
}

void read_rounds(const Settings& settings, CompareRequest& request) {
  const Given* with = settings.find("with");
  const Given* rounds = settings.find("interleave");
  const bool minimum = choose(settings, "round-value", {"median", "minimum"}) == "minimum";
  if (rounds == nullptr) {
    if (with != nullptr)
      throw Error(ErrorKind::usage, with->from + ": only with --interleave, which runs it");
    return;
  }
  request.rounds = count_setting(settings, "interleave", kFewestRounds, 0);
  request.options.rounds = minimum ? RoundValue::minimum : RoundValue::median;
  if (with == nullptr)
    throw Error(ErrorKind::usage,
                "--interleave: --with says what is run, as in --with 'merkle -d gpu -s equal'");
  request.with = with->value;
  if (request.confirm > 0)
    throw Error(ErrorKind::usage,
                "--confirm: not with --interleave, where more rounds say the same");
}

// Takes what follows the last "--" as NEW, or the second of two words.
void read_sides(const Invocation& invocation, CompareRequest& request) {
  const std::vector<std::string>& arguments = invocation.arguments;
  const std::size_t fresh = arguments.size() == 2 ? 1 : invocation.after_mark;
  if (fresh == 0 || fresh >= arguments.size() ||
      (invocation.settings.has("interleave") && arguments.size() != 2)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("compare: it needs saved results: BASE NEW, or several: BASE ... -- NEW "
                    "... (with --interleave two programs or settings); {} given",
                    arguments.size()));
  }
  const auto middle = arguments.end() - static_cast<std::ptrdiff_t>(fresh);
  request.base.assign(arguments.begin(), middle);
  request.fresh.assign(middle, arguments.end());
}

}  // namespace

CompareRequest read_compare_request(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  CompareRequest request;
  read_sides(invocation, request);
  read_metrics(settings, request.options);
  if (const Given* floor = settings.find("floor"))
    request.options.floor = read_share(*floor, 0, 10);
  if (const Given* alpha = settings.find("alpha"))
    request.options.alpha = read_share(*alpha, 1e-9, 0.5);
  request.options.bootstrap.seed =
      count_setting(settings, "seed", 0, request.options.bootstrap.seed);
  const std::uint64_t resamples =
      count_setting(settings, "resamples", 100, request.options.bootstrap.resamples);
  if (resamples > kMostResamples) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: {} is too many; expected: 100 to {}", settings.find("resamples")->from,
                    in_quotes(settings.find("resamples")->value), kMostResamples));
  }
  request.options.bootstrap.resamples = resamples;
  const std::string fail_on =
      choose(settings, "fail-on", {"regression", "inconclusive", "nothing"});
  request.fail_on = fail_on == "regression" ? FailOn::regression
                    : fail_on == "nothing"  ? FailOn::nothing
                                            : FailOn::inconclusive;
  request.ignore_environment = settings.is_on("ignore-environment");
  request.allow_missing = settings.is_on("allow-missing");
  request.with_resamples = settings.is_on("with-resamples");
  request.quiet = settings.is_on("quiet");
  request.json = settings.is_on("json");
  request.confirm = count_setting(settings, "confirm", 1, 0);
  read_rounds(settings, request);
  if (const Given* ignored = settings.find("ignore"))
    request.ignored = split_commas(ignored->value);
  request.only_changed = settings.has("only");
  if (request.only_changed) choose(settings, "only", {"changed"});
  request.exports = read_exports(settings, comparison_export_kinds());
  add_outputs(request.exports, request.outputs);
  request.result_file = output_file(settings, "result", request);
  request.markdown_file = output_file(settings, "markdown", request);
  refuse_two_on_standard_output(request.json, request.outputs);
  return request;
}

}  // namespace mgpu
