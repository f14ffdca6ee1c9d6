// Every strategy file and every suite folder is in its table, and every suite describes its
// problems before they are made, as the command line requires.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "lib/plan/strategy.hpp"
#include "lib/predict/size_choice.hpp"
#include "lib/predict/suite_rates.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::test {
namespace {

using Names = std::set<std::string>;

// Returns the names of folders and files, without extensions.
Names names_in(const std::string& folder) {
  Names found;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() / folder))
    if (entry.is_directory() || folder != "suites") found.insert(entry.path().stem().string());
  found.erase("common");
  CHECK_FALSE(found.empty());
  return found;
}

// Calls f with valid parameters of a suite: every value of each named option in turn, the other
// options at their defaults; counts are not varied. Returns the sum of its results.
std::size_t for_variations(const SuiteInfo& info, const auto& f) {
  std::vector<SuiteParams> all{suite_params(info.name, 64, {}, 1)};
  for (const SuiteOption& option : info.options) {
    if (option.kind != SuiteOption::Kind::name) continue;
    for (const std::string& value : option.values)
      all.push_back(suite_params(info.name, 64, {{option.name, value}}, 1));
  }
  std::size_t tried = 0;
  for (SuiteParams& params : all) {
    std::string given = info.name;
    for (const auto& [option, value] : params.options) given += ' ' + option + '=' + value;
    CAPTURE(given);
    try {
      info.check(params);
    } catch (const Error&) {
      continue;  // incompatible with the defaults of other options
    }
    tried += f(params);
  }
  return tried;
}

}  // namespace

TEST_CASE("registration: messages name work by the options that were changed, never by a key") {
  const auto words = [](const char* suite, std::map<std::string, std::string> options) {
    const SuiteParams params = suite_params(suite, 96, std::move(options), 1);
    const auto all = all_suites();
    const auto info = std::find_if(all.begin(), all.end(),
                                   [&](const SuiteInfo& one) { return one.name == suite; });
    return work_in_words({&*info, params});
  };
  for (const SuiteInfo& info : all_suites()) CHECK(words(info.name.c_str(), {}) == info.name);
  CHECK(words("merkle", {{"tree", "rfc6962"}}) == "merkle --tree rfc6962");
  CHECK(words("kernel", {{"kernel", "moments"}, {"guards", "off"}}) ==
        "kernel --kernel moments --guards off");
}

TEST_CASE("registration: the tables hold one strategy per file and one suite per folder") {
  Names strategies, suites;
  for (const StrategyInfo& info : all_strategies()) strategies.insert(info.name);
  CHECK(strategies == names_in("lib/plan/strategies"));
  CHECK(all_strategies().size() == strategies.size());
  for (const SuiteInfo& info : all_suites()) suites.insert(info.name);
  CHECK(suites == names_in("suites"));
  CHECK(all_suites().size() == suites.size());
}

TEST_CASE("registration: every suite says what the command line needs to know of it") {
  for (const SuiteInfo& info : all_suites()) {
    CAPTURE(info.name);
    CHECK_FALSE((info.summary.empty() || info.size_name.empty() || info.input.empty()));
    CHECK((info.default_size > 0 && info.quick_size > 0));
    CHECK((info.shape != nullptr && info.host_bytes != nullptr && info.size_of_input != nullptr &&
           info.check != nullptr && info.make != nullptr));
    for (const Mode& universal : {Mode::resident, Mode::end_to_end})
      CHECK(std::find(info.modes.begin(), info.modes.end(), universal) != info.modes.end());
    // Mode names are valid in files and in --mode, and a name means the same mode in all suites.
    for (const Mode& mode : info.modes) {
      CHECK((mode_named(mode.name) == mode && mode.name != "both" && mode.name != "all"));
      for (const SuiteInfo& other : all_suites())
        for (const Mode& same : other.modes)
          CHECK((!(same == mode) || (same.inputs_resident == mode.inputs_resident &&
                                     same.outputs_resident == mode.outputs_resident)));
    }
  }
}

TEST_CASE("registration: the shape of a problem is known before it is made") {
  for (const SuiteInfo& info : all_suites()) {
    const std::size_t tried = for_variations(info, [&](SuiteParams& params) {
      if (info.optional.resolve != nullptr) info.optional.resolve(params);
      const Shape before = info.shape(params);
      const auto workload = info.make(params);
      const Shape& made = workload->shape();
      CHECK((before.items == made.items && before.ops == made.ops));
      CHECK((before.bytes_in == made.bytes_in && before.bytes_out == made.bytes_out));
      CHECK(before.cost.ops == made.cost.ops);
      return true;
    });
    CHECK_MESSAGE(tried > 1, info.name);
  }
}

TEST_CASE("registration: host memory is known of any size, up to what a host with 8 TiB holds") {
  for (const SuiteInfo& info : all_suites()) {
    if (info.descriptors) continue;  // the descriptor gives the sizes
    for_variations(info, [&](SuiteParams& params) {
      for (params.size = 1; params.size <= std::uint64_t{1} << 40; params.size *= 2) {
        Bytes bytes = 0;
        CHECK_NOTHROW(bytes = info.host_bytes(params));
        if (bytes > Bytes{1} << 43) break;
      }
      return true;
    });
  }
}

TEST_CASE("registration: what CPUs are measured with before a run is small, whatever is asked") {
  for (const SuiteInfo& info : all_suites()) {
    const std::size_t tried = for_variations(info, [&](const SuiteParams& params) {
      try {
        const Problem reference = problem_of_reference_size({&info, params}, true);
        info.check(reference.params);
        CHECK(info.host_bytes(reference.params) <= Bytes{256} << 20);
      } catch (const Error&) {
        return false;  // incompatible with the defaults of other options
      }
      return true;
    });
    CHECK_MESSAGE(tried > 1, info.name);
  }
}

TEST_CASE("registration: the small problems of --quick can be split over two devices and eight") {
  for (const SuiteInfo& info : all_suites()) {
    if (info.descriptors) continue;
    CAPTURE(info.name);
    for (const std::size_t devices : {2, 8}) {
      const Problem like = default_problem(info);
      const std::uint64_t size = size_to_split(like, info.quick_size, devices);
      CHECK(too_few_pieces(problem_of_size(like, size), kLeastGranules * devices).empty());
    }
  }
}

}  // namespace mgpu::test
