// The language of the fault layer's scripts: when each rule applies, and which scripts are refused.
#include "tests/layer/script.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace {

std::string turns(const std::string& text, int calls, const std::string& device = "0:0") {
  fault::Script script;
  script.read("call=launch " + text + " do=error:-5", "");
  std::string turns;
  for (int i = 0; i < calls; ++i)
    turns += script.at({"clEnqueueNDRangeKernel", device, "k"}).action == fault::Action::error
                 ? 'x'
                 : '.';
  return turns;
}

TEST_CASE("counts: the nth, from then on, every nth, so often, by chance") {
  CHECK(turns("", 4) == "xxxx");
  CHECK(turns("nth=2", 4) == ".x..");
  CHECK(turns("from=3", 5) == "..xxx");
  CHECK(turns("every=2", 6) == ".x.x.x");
  CHECK(turns("from=3 every=2 times=1", 6) == "...x..");
  CHECK(turns("p=0", 100).find('x') == std::string::npos);
  CHECK(turns("p=1", 100).find('.') == std::string::npos);
  CHECK(turns("p=0.5 seed=3", 64) == turns("p=0.5 seed=3", 64));
  CHECK(turns("p=0.5 seed=3", 64) != turns("p=0.5 seed=4", 64));
  CHECK(turns("p=0.5 seed=3", 64) != turns("p=0.5 seed=3", 64, "0:1"));
}

TEST_CASE("devices are counted one by one, and a rule can wait for another") {
  fault::Script script;
  script.read("call=upload nth=2 do=note; after=1 call=upload,launch nth=2 do=hang", "");
  const auto hangs = [&](const char* call, const char* device) {
    return script.at({call, device, {}, 4}).action == fault::Action::hang;
  };
  CHECK_FALSE(hangs("clEnqueueWriteBuffer", "0:0"));
  CHECK_FALSE(hangs("clEnqueueNDRangeKernel", "0:0"));
  CHECK_FALSE(
      hangs("clEnqueueWriteBuffer", "0:0"));  // the second: from now on the rule below counts
  CHECK_FALSE(hangs("clEnqueueNDRangeKernel", "0:0"));
  CHECK_FALSE(hangs("clEnqueueNDRangeKernel", "0:1"));
  CHECK(hangs("clEnqueueWriteBuffer", "0:0"));
  CHECK_FALSE(hangs("clEnqueueNDRangeKernel", "0:0"));
  CHECK_FALSE(hangs("clEnqueueNDRangeKernel", "0:1"));
}

TEST_CASE("the first rule whose turn it is decides, and all count") {
  fault::Script script;
  script.read(" call=launch nth=1 do=error:-5 ;\n do=error:-6 \n;", "");
  CHECK(script.at({"clEnqueueNDRangeKernel", "0:0", {}}).value == -5);
  CHECK(script.at({"clEnqueueNDRangeKernel", "0:0", {}}).value == -6);
}

TEST_CASE("a device pretends by the first rule for it, and its sub-devices with it") {
  fault::Script script;
  script.read("device=0:1.1 be=mi300x; device=0:1 be=rx7900; device=0:1 be=mi300x", "");
  const auto file = [&](const char* device) {
    const auto lie = script.lie(device);
    return lie ? lie->file.substr(lie->file.rfind('/') + 1) : "";
  };
  CHECK(file("0:0") == "");
  CHECK(file("0:1") == "rx7900.toml");
  CHECK(file("0:1.0") == "rx7900.toml");
  CHECK(file("0:1.1") == "mi300x.toml");
  CHECK(script.at({"clFinish", "0:1", {}}).action == fault::Action::none);
}

TEST_CASE("a script that means nothing is refused") {
  for (const char* text : {"call=launch",
                           "do=explode",
                           "do=error",
                           "do=error:5",
                           "do=error:x",
                           "do=delay:-1",
                           "do=hang:3",
                           "nth=2",
                           "nth=x do=hang",
                           "who=me do=hang",
                           "word",
                           "call=lunch do=hang",
                           "do=flip",
                           "call=clFinish do=flip",
                           "call=launch do=vanish",
                           "call=launch do=stamps",
                           "call=launch do=stamps:odd",
                           "call=wait do=fail:-5",
                           "after=1 do=hang",
                           "be=nobody",
                           "be=rx7900 do=hang",
                           "device=0:0 nth=1 be=rx7900"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(fault::Script().read(text, ""), std::invalid_argument);
  }
}

}  // namespace
