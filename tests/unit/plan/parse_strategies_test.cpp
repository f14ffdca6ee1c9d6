// Strategies as given on a command line.
#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "lib/plan/strategy.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;

namespace {

std::vector<std::string> labels(std::string_view text) {
  std::vector<std::string> out;
  for (const StrategyChoice& choice : parse_strategies(text)) out.push_back(choice.label());
  return out;
}

std::string refused_choice(std::string_view text) {
  return test::refusal([&] { parse_strategies(text); });
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("the table leads with single, equal, proportional, dynamic; every entry works") {
  const auto table = all_strategies();
  REQUIRE(table.size() >= 4);
  CHECK(table[0].name == "single");
  CHECK(table[1].name == "equal");
  CHECK(table[2].name == "proportional");
  CHECK(table[3].name == "dynamic");
  for (const StrategyInfo& info : table) {
    CAPTURE(info.name);
    StrategyParams params;
    for (const StrategyParam& param : info.params) {
      CHECK(param.min <= param.standard);
      CHECK(param.standard <= param.max);
      CHECK_FALSE(param.help.empty());
      params[param.name] = param.standard;
    }
    CHECK(info.make(params) != nullptr);
    CHECK_FALSE(info.summary.empty());
  }
}

TEST_CASE("names and parameters are read, and a label shows what differs from the default") {
  CHECK(labels("equal") == Labels{"equal"});
  CHECK(labels("dynamic,single") == Labels{"dynamic", "single"});
  CHECK(labels("dynamic:chunks=32") == Labels{"dynamic:chunks=32"});
  CHECK(labels("dynamic:chunks=0") == Labels{"dynamic"});
  CHECK(parse_strategies("dynamic:chunks=32")[0].params.at("chunks") == 32);
  CHECK(parse_strategies("dynamic")[0].params.at("chunks") == 0);
}

TEST_CASE("all is every strategy, and repeats are dropped") {
  CHECK(labels("all").size() == all_strategies().size());
  CHECK(labels("equal,equal,dynamic:chunks=0,dynamic") == Labels{"equal", "dynamic"});
  CHECK(labels("dynamic:chunks=2,dynamic:chunks=4") ==
        Labels{"dynamic:chunks=2", "dynamic:chunks=4"});
  CHECK(labels("equal,all").size() == all_strategies().size());
  CHECK(labels("all,dynamic:chunks=2").size() == all_strategies().size() + 1);
}

TEST_CASE("what is no strategy, parameter or value is refused, with what is accepted") {
  struct Known {
    std::vector<std::string> texts;
    std::vector<const char*> parts;
  };
  for (const Known& known :
       {Known{{"", "fastest", "equal,", ",equal", "Equal", "equal dynamic", "all:chunks=2"},
              {"--strategy: unknown strategy", "all, auto, single, equal, proportional, dynamic"}},
        {{"equal,fastest"}, {"\"fastest\""}},
        {{"dynamic:chunk=3"}, {"dynamic", "\"chunk\"", "chunks"}},
        {{"dynamic:"}, {"dynamic", "\"\""}},
        {{"equal:chunks=3"}, {"equal", "\"chunks\"", "none"}},
        {{"dynamic:chunks=", "dynamic:chunks=x", "dynamic:chunks=4097", "dynamic:chunks=-1",
          "dynamic:chunks=2.5", "dynamic:chunks=nan", "dynamic:chunks=inf", "dynamic:chunks=8x",
          "dynamic:chunks= 8", "dynamic:chunks=+8", "dynamic:chunks=1e99", "dynamic:chunks=0x10",
          "dynamic:chunks"},
         {"--strategy: dynamic: chunks", "a whole number from 0 to 4096"}},
        {{"dynamic:chunks=2:chunks=3"}, {"twice"}},
        {{"guided:variant=", "guided:variant=fac", "guided:variant=1", "guided:variant=Factoring",
          "guided:variant=factoring "},
         {"guided: variant", "hguided, factoring, trapezoid, weighted-factoring"}}}) {
    for (const std::string& text : known.texts) {
      CAPTURE(text);
      for (const std::string part : known.parts) {
        CAPTURE(part);
        CHECK(test::has(refused_choice(text), part));
      }
    }
  }
}

TEST_CASE("a parameter with names is read and written by name") {
  CHECK(labels("guided:variant=factoring") == Labels{"guided:variant=factoring"});
  CHECK(labels("guided:variant=hguided,guided") == Labels{"guided"});
  CHECK(labels("guided:K=4:variant=weighted-factoring") ==
        Labels{"guided:variant=weighted-factoring:K=4"});
  const StrategyChoice choice = parse_strategies("guided:variant=trapezoid")[0];
  const StrategyParam& variant = choice.info->params[0];
  CHECK(variant.name == "variant");
  CHECK(variant.text(choice.params.at("variant")) == "trapezoid");
}
