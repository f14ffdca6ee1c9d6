// Every strategy file and every suite folder is in its table: nothing that was added can be
// missing, and nothing else is there.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "lib/plan/strategy.hpp"
#include "lib/predict/suite_rates.hpp"
#include "suites/suites.hpp"

using namespace mgpu;
namespace fs = std::filesystem;

TEST_CASE(
    "the table of strategies holds one entry for each file in lib/plan/strategies, called by its "
    "name") {
  std::set<std::string> files, names;
  for (const auto& entry : fs::directory_iterator(MGPU_SOURCE_DIR "/lib/plan/strategies"))
    files.insert(entry.path().stem().string());
  for (const StrategyInfo& info : all_strategies()) names.insert(info.name);
  CHECK_FALSE(files.empty());
  CHECK(files == names);
  CHECK(all_strategies().size() == names.size());
}

TEST_CASE(
    "the table of suites holds one entry for each folder in suites but what they share, called by "
    "its name") {
  std::set<std::string> folders, names;
  for (const auto& entry : fs::directory_iterator(MGPU_SOURCE_DIR "/suites")) {
    if (entry.is_directory() && entry.path().filename() != "common")
      folders.insert(entry.path().filename().string());
  }
  for (const SuiteInfo& info : all_suites()) names.insert(info.name);
  CHECK_FALSE(folders.empty());
  CHECK(folders == names);
}

TEST_CASE("every suite says what the command line needs to know of it") {
  for (const SuiteInfo& info : all_suites()) {
    CAPTURE(info.name);
    CHECK_FALSE(info.summary.empty());
    CHECK_FALSE(info.size_name.empty());
    CHECK_FALSE(info.input.empty());
    CHECK(info.default_size > 0);
    CHECK(info.quick_size > 0);
    for (const Mode& universal : {Mode::resident, Mode::end_to_end})
      CHECK(std::find(info.modes.begin(), info.modes.end(), universal) != info.modes.end());
    for (const Mode& mode :
         info.modes) {  // a name that files and --mode can have, of a mode that is nobody else's
      CHECK(mode_named(mode.name) == mode);
      CHECK(mode.name != "both");
      CHECK(mode.name != "all");
      for (const SuiteInfo& other : all_suites()) {
        for (const Mode& same : other.modes) {
          if (same == mode)
            CHECK((same.inputs_resident == mode.inputs_resident &&
                   same.outputs_resident == mode.outputs_resident));
        }
      }
    }
    CHECK((info.shape != nullptr));
    CHECK((info.host_bytes != nullptr));
    CHECK((info.size_of_input != nullptr));
    CHECK((info.check != nullptr));
    CHECK((info.make != nullptr));
  }
}

namespace {

// All values of each option in turn, the others as they come; counts are left alone.
std::vector<SuiteParams> variations_of(const SuiteInfo& info) {
  SuiteParams standard;
  standard.size = 96;
  standard.seed = 1;
  for (const SuiteOption& option : info.options) {
    if (option.kind != SuiteOption::Kind::flag)
      standard.options[option.name] = option.values.front();
  }
  std::vector<SuiteParams> all{standard};
  for (const SuiteOption& option : info.options) {
    if (option.kind != SuiteOption::Kind::name) continue;
    for (const std::string& value : option.values) {
      all.push_back(standard);
      all.back().options[option.name] = value;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the shape of a problem is known before it is made") {
  for (const SuiteInfo& info : all_suites()) {
    std::size_t tried = 0;
    for (SuiteParams& params : variations_of(info)) {
      try {
        if (info.check != nullptr) info.check(params);
      } catch (const Error&) {
        continue;  // not with the other options as they come
      }
      if (info.resolve != nullptr) info.resolve(params);
      for (const auto& [name, value] : params.options) CAPTURE(name + "=" + value);
      const Shape before = info.shape(params);
      const auto workload = info.make(params);
      const Shape& made = workload->shape();
      CHECK(before.items == made.items);
      CHECK(before.bytes_in == made.bytes_in);
      CHECK(before.bytes_out == made.bytes_out);
      CHECK(before.cost.ops == made.cost.ops);
      CHECK(before.ops == made.ops);
      ++tried;
    }
    CHECK(tried > 1);
  }
}

TEST_CASE(
    "what a problem takes of the host is known of any size, up to the largest that a host with 8 "
    "TiB has room for") {
  for (const SuiteInfo& info : all_suites()) {
    if (info.own != nullptr) continue;  // sizes are the descriptor's
    for (SuiteParams params : variations_of(info)) {
      CAPTURE(info.name);
      try {
        info.check(params);
      } catch (const Error&) {
        continue;  // not with the other options as they come
      }
      std::string given;
      for (const auto& [option, value] : params.options) given += option + '=' + value + ' ';
      CAPTURE(given);
      for (params.size = 1; params.size <= std::uint64_t{1} << 40; params.size *= 2) {
        CAPTURE(params.size);
        Bytes bytes = 0;
        CHECK_NOTHROW(bytes = info.host_bytes(params));
        if (bytes > Bytes{1} << 43) break;
      }
    }
  }
}

TEST_CASE("what CPUs are measured with before a run is small, whatever options name") {
  for (const SuiteInfo& info : all_suites()) {
    CAPTURE(info.name);
    std::size_t tried = 0;
    for (const SuiteParams& params : variations_of(info)) {
      Problem reference;
      try {
        reference = problem_of_reference_size({&info, params}, true);
        info.check(reference.params);
      } catch (const Error&) {
        continue;  // not with the other options as they come
      }
      for (const auto& [name, value] : reference.params.options) CAPTURE(name + "=" + value);
      CHECK(info.host_bytes(reference.params) <= Bytes{256} << 20);
      ++tried;
    }
    CHECK(tried > 1);
  }
}
