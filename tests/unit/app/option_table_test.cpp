// Fields in the table of options: values are stored in them, and results record those that say how
// samples were taken.
#include <doctest/doctest.h>

#include <algorithm>

#include "app/run_request.hpp"
#include "lib/base/error.hpp"
#include "suites/suites.hpp"

using namespace mgpu;

namespace {

RunRequest with(const std::vector<std::pair<std::string, std::string>>& given) {
  Settings settings;
  for (const OptionSpec& option : run_options({})) {
    for (const auto& [name, value] : given) {
      if (name == option.name) settings.offer(option, {value, "--" + name, Given::Layer::flag});
    }
  }
  return read_measurement(settings, {});
}

ParamMap recorded(const RunRequest& request) { return recorded_options(request, run_options({})); }

// Returns a value other than the default.
std::string some_value(const OptionSpec& option) {
  if (!option.field.words.empty()) return option.field.words.at(1);
  return option.kind == OptionSpec::Kind::flag ? "true" : option.value_name == "TIME" ? "7ms" : "7";
}

}  // namespace

TEST_CASE("values go to their fields, whose defaults stay where nothing is given") {
  const RunRequest request = with({{"samples", "9"},
                                   {"verify", "off"},
                                   {"timeout", "2s"},
                                   {"require-devices", "3"},
                                   {"strict", "on"}});
  CHECK(request.session.stop.exactly == 9);
  CHECK(request.session.stop.warmup == 1);
  CHECK(request.session.verify == VerifyLevel::off);
  CHECK(request.session.case_timeout == Nanos{2'000'000'000});
  CHECK_FALSE(request.session.time_limit);
  CHECK(request.require_devices == 3);
  CHECK(request.strict);
  CHECK_FALSE(request.quiet);
}

TEST_CASE("samples and warm-up that are given win over those of a quick run, in whatever order") {
  const RunRequest request = with({{"quick", "true"}, {"samples", "9"}, {"warmup", "4"}});
  CHECK(request.session.stop.exactly == 9);
  CHECK(request.session.stop.warmup == 4);
  CHECK(request.session.stop.least == StopRule::quick().least);
}

TEST_CASE("values that a field cannot have are refused with what is accepted") {
  const auto refusal = [](const char* name, const char* value) {
    try {
      with({{name, value}});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("samples", "0") == "--samples: \"0\" is too small; expected: 1 or more");
  CHECK(refusal("time-limit", "0s") == "--time-limit: \"0s\" is no time at all");
  CHECK(refusal("verify", "much") == "--verify: \"much\" is unknown; expected: full, sample, off");
  CHECK(refusal("strict", "perhaps") ==
        "--strict: \"perhaps\" is not a boolean; expected: true, false");
}

TEST_CASE("recorded are options that have a value, given or by default") {
  const ParamMap standard = recorded(with({}));
  CHECK(standard.at("build_timeout_ns") == ParamValue(std::int64_t{300'000'000'000}));
  CHECK(standard.at("verify") == ParamValue("full"));
  CHECK(standard.at("warmup") == ParamValue(std::int64_t{1}));
  for (const char* name : {"quick", "samples", "timeout_ns", "strict", "time_limit_ns"})
    CHECK_FALSE(standard.contains(name));
  CHECK(recorded(with({{"quick", "on"}})).at("quick") == ParamValue("yes"));
}

TEST_CASE(
    "every option that says how samples were taken is recorded with what was given, under its "
    "name") {
  const ParamMap standard = recorded(with({}));
  for (const OptionSpec& option : run_options({})) {
    if ((option.uses & OptionSpec::recorded) == 0) continue;
    CAPTURE(option.name);
    REQUIRE(option.field.read);
    const ParamMap now = recorded(with({{option.name, some_value(option)}}));
    std::string name = option.name + option.field.unit;
    std::replace(name.begin(), name.end(), '-', '_');
    REQUIRE(now.contains(name));
    CHECK_FALSE((standard.contains(name) && standard.at(name) == now.at(name)));
  }
}

TEST_CASE(
    "the row of a suite's option names all suites that have it, and is in their tables only") {
  const auto all = all_suites();
  for (const OptionSpec& option : run_options(all)) {
    CAPTURE(option.name);
    std::vector<std::string> having;
    for (const SuiteInfo& suite : all)
      if (std::any_of(suite.options.begin(), suite.options.end(),
                      [&](const SuiteOption& own) { return own.name == option.name; }))
        having.push_back(suite.name);
    CHECK(option.suites == having);
  }
}

TEST_CASE(
    "texts of options begin with a capital or a value, and say what each value is by default") {
  for (const SuiteInfo& suite : all_suites()) {
    for (const OptionSpec& option : suite_options(suite)) {
      CAPTURE(suite.name);
      CAPTURE(option.name);
      CHECK(option.group == "Suite " + suite.name);
      CHECK_FALSE(option.help.starts_with("of "));
      const bool has_default = option.kind == OptionSpec::Kind::value && option.name != "input";
      CHECK(option.help.ends_with(")") == has_default);
      CHECK((option.help.find("(default: ") != std::string::npos) == has_default);
    }
  }
}

TEST_CASE("a command records the options that it takes") {
  const ParamMap simulated = recorded_options(with({{"samples", "3"}}), simulate_options());
  CHECK(simulated.at("samples") == ParamValue(std::int64_t{3}));
  CHECK_FALSE(simulated.contains("verify"));
}
