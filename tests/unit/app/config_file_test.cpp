// Config files: the accepted syntax, refusals with the line they name, and dumps that parse to the
// same values.
#include "app/config_file.hpp"

#include <doctest/doctest.h>

#include "app/settings.hpp"
#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

std::string value_of(const std::string& written) {
  const std::vector<ConfigEntry> entries = parse_config("key = " + written + "\n");
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].key == "key");
  return entries[0].value;
}

std::string refusal_of(const std::string& text) {
  try {
    parse_config(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "";
}

std::string refused_offer(const OptionSpec& first, const OptionSpec& second) {
  Settings settings;
  settings.offer(first, {"1", "--" + first.name, Given::Layer::flag});
  try {
    settings.offer(second, {"2", "--" + second.name, Given::Layer::flag});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

OptionSpec option(const std::string& name) {
  for (const OptionSpec& spec : run_options({})) {
    if (spec.name == name) return spec;
  }
  FAIL("no such option");
  return {};
}

}  // namespace

TEST_CASE("strings, lists and numbers are values, as they are written") {
  CHECK(value_of("\"a b\"") == "a b");
  CHECK(value_of("\"\"") == "");
  CHECK(value_of("'C:\\x'") == "C:\\x");
  CHECK(value_of(R"("\t\"\\\u00e9\U0001f600")") == "\t\"\\\u00e9\U0001f600");
  CHECK(value_of("\"\"\"two\nlines\"\"\"") == "two\nlines");
  CHECK(value_of("1e6  # a million") == "1e6");
  CHECK(value_of("1_000") == "1_000");
  CHECK(value_of("true") == "true");
  CHECK(value_of("[64, \"2^7\"]") == "64,2^7");
  CHECK(value_of("[\n  1, # one\n  2,\n]") == "1,2");
  CHECK(value_of("[]") == "");
  CHECK(value_of("\"#\" # not this") == "#");
  CHECK(value_of("12\r") == "12");
  CHECK(value_of("[\"\u00e9\", 2.50]") == "\u00e9,2.50");
}

TEST_CASE("sections, dots, comments and blank lines are understood, and lines are counted") {
  const auto entries = parse_config(
      "\xef\xbb\xbf# first\n\n[run]\nsize = 4\n\"time-limit\" = \"1m\"\n[ other . one ]\na.b = 1");
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].section == "run");
  CHECK(entries[0].line == 4);
  CHECK(entries[1].key == "time-limit");
  CHECK(entries[2].section == "other.one.a");
  CHECK(entries[2].key == "b");
  CHECK(entries[2].line == 7);
  CHECK(parse_config("").empty());
}

TEST_CASE("what is not TOML is refused with its line") {
  CHECK(refusal_of("size\n") ==
        "line 1: \"size\": Error while parsing key-value pair: expected '=', saw '\\n'; expected: "
        "KEY = \"TEXT\", a number, true, false or [VALUE, ..]");
  CHECK(refusal_of("a = 1\nsize = \n").starts_with("line 2: \"size = \": "));
  CHECK(refusal_of("a = 1\n\ntime-limit = 10m").starts_with("line 3: \"time-limit = 10m\": "));
  for (const char* bad :
       {"= 1", "a = \"x\n", "a = \"x\" y", "a = [1, 2", "a = [[1]]", "a = {b = 1}", "a = x]",
        "[[run]]\na = 1", "[run", R"(a = "\q")", R"(a = "\u12")", R"(a = "\ud800")",
        R"(a = "\u0000")", "a = \"\xff\"", "a = [{b = 1}]", "size = 2^20"}) {
    CAPTURE(bad);
    CHECK(refusal_of(bad).starts_with("line 1: \""));
  }
  CHECK(refusal_of(std::string("a = \"\0\"", 7)).starts_with("line 1: "));
  CHECK(refusal_of(std::string("\0", 1)).starts_with("line 1: "));
}

TEST_CASE("whatever a value holds comes back from how it is written") {
  for (const std::string& text :
       {std::string(), std::string("a\"b\\c'd"), std::string("\x1b[2J\n\t\x7f"),
        std::string("\u202e\U000e0041"), std::string("caf\u00e9 # x"), std::string("[1, 2]")}) {
    CAPTURE(text);
    const std::string written = config_string(text);
    CHECK(written.find_first_of("\n\x1b\x7f") == std::string::npos);
    CHECK(value_of(written) == text);
  }
  CHECK_THROWS_WITH_AS(config_string("\xff"), "\"\\xff\" is no UTF-8, as TOML has to be", Error);
}

TEST_CASE("another name gives the option its value, with its unit, and not both at once") {
  Settings settings;
  settings.offer(option("sync-timeout-ms"), {"1k", "--sync-timeout-ms", Given::Layer::flag});
  settings.offer(option("timeout"), {"9s", "c.toml: timeout", Given::Layer::config});
  settings.offer(option("device-filter"),
                 {"gpu:2", "MGPU_BENCH_DEVICE_FILTER", Given::Layer::environment});
  REQUIRE(settings.find("timeout"));
  CHECK(settings.find("timeout")->value == "1000ms");
  CHECK(settings.find("timeout")->from == "--sync-timeout-ms");
  CHECK(settings.find("devices")->value == "gpu:2");
  CHECK(refused_offer(option("timeout"), option("sync-timeout-ms")) ==
        "--sync-timeout-ms: another name of --timeout, which is given too; give one of them");
  CHECK(refused_offer(option("strategy"), option("load-balancing-strategy"))
            .find("another name of") != std::string::npos);
  CHECK(refused_offer(option("strategy"), option("devices")).empty());
}
