// Names, order and number of the results that are saved without --result. Uses files on disk and no
// device.
#include "app/saved_results.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "lib/base/error.hpp"
#include "lib/report/journal.hpp"

using namespace mgpu;
namespace fs = std::filesystem;

namespace {

const std::string kMoment = "2026-03-07T04:05:06Z";

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "saved-results-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  fs::path operator/(const std::string& name) const { return path_ / name; }
  operator const fs::path&() const { return path_; }
  void put(const std::string& name) const { std::ofstream(path_ / name) << "{}"; }

  std::vector<std::string> names() const {  // in order, without locks and other files
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (!entry.path().filename().string().starts_with("."))
        all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  fs::path path_;
};

std::vector<std::string> names_of(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  return names;
}

// Saves as a run that ends at once.
fs::path save(const fs::path& folder, const char* what, std::size_t most = kMostSaved) {
  OutputFiles outputs;
  return new_saved_result(folder, kMoment, what, outputs, most);
}

}  // namespace

TEST_CASE(
    "a result is named after when it began and what it measures, and one of the same second after "
    "that too") {
  const Folder folder;
  const std::string first = save(folder, "merkle").filename().string();
  CHECK(first == "2026-03-07T040506Z-merkle.json.gz");
  folder.put(first);
  const std::string second = save(folder, "all").filename().string();
  CHECK(second == "2026-03-07T040506Z.2-all.json.gz");
  folder.put(second + ".journal");  // all that remains of a run that was killed early
  const std::string third = save(folder, "matrix+msm").filename().string();
  CHECK(third == "2026-03-07T040506Z.3-matrix+msm.json.gz");
  folder.put(third);
  CHECK(names_of(saved_results(folder, false)) == std::vector{third, first});
  CHECK(names_of(saved_results(folder, true)) == std::vector{third, second, first});
}

TEST_CASE(
    "two runs that begin in the same second get different files while neither has written one") {
  const Folder folder;
  OutputFiles of_one, of_other;
  const fs::path one = new_saved_result(folder, kMoment, "merkle", of_one),
                 other = new_saved_result(folder, kMoment, "merkle", of_other);
  CHECK(one != other);
  CHECK(folder.names().empty());
}

TEST_CASE("the tenth result of a second began after the ninth") {
  const Folder folder;
  folder.put("2026-03-07T040506Z.9-merkle.json.gz");
  folder.put("2026-03-07T040506Z.10-merkle.json.gz");
  CHECK(names_of(saved_results(folder, false)).front() == "2026-03-07T040506Z.10-merkle.json.gz");
}

TEST_CASE("the oldest results make room for a new one, with their journals") {
  const Folder folder;
  for (const char* name :
       {"2026-01-01T000000Z-merkle.json.gz", "2026-01-01T000000Z-merkle.json.gz.journal",
        "2026-01-02T000000Z-all.json.gz.journal", "2026-01-03T000000Z-msm.json.gz",
        "2026-01-04T000000Z-msm.json.gz"})
    folder.put(name);
  OutputFiles outputs;
  std::vector<fs::path> removed;
  new_saved_result(folder, kMoment, "merkle", outputs, 3, &removed);
  CHECK(names_of(removed) == std::vector<std::string>{"2026-01-01T000000Z-merkle.json.gz",
                                                      "2026-01-02T000000Z-all.json.gz"});
  CHECK(folder.names() == std::vector<std::string>{"2026-01-03T000000Z-msm.json.gz",
                                                   "2026-01-04T000000Z-msm.json.gz"});
}

TEST_CASE("what has a name of its own is neither a saved result nor removed") {
  const Folder folder;
  const std::vector<std::string> own = {
      "2026-01-01T000000Z-merkle-before.json.gz", "2026-01-01T000000Z-merkle.json",
      "2026-01-01T000000Z.1-merkle.json.gz",      "2026-01-01T000000Z.json.gz",
      "2026-01-01T000000Z.x-merkle.json.gz",      "base.json.gz",
      "copy-of-2026-01-01T000000Z-merkle.json.gz"};
  for (const std::string& name : own) folder.put(name);
  save(folder, "merkle", 1);
  CHECK(folder.names() == own);
  CHECK(saved_results(folder, true).empty());
}

TEST_CASE("a result that a run is writing is not removed") {
  const Folder folder;
  folder.put("2026-01-01T000000Z-merkle.json.gz");
  folder.put("2026-01-02T000000Z-merkle.json.gz");
  const FileLock writer(folder / "2026-01-01T000000Z-merkle.json.gz");
  save(folder, "merkle", 2);
  CHECK(folder.names() == std::vector<std::string>{"2026-01-01T000000Z-merkle.json.gz"});
}

TEST_CASE(
    "a folder that cannot be made is an error of output, and one that is missing has no results") {
  const Folder folder;
  folder.put("file");
  CHECK_THROWS_AS(save(folder / "file" / "mgpu-bench", "merkle"), Error);
  CHECK(saved_results(folder / "missing", true).empty());
  CHECK(save(folder / "made" / "mgpu-bench", "merkle").parent_path() ==
        folder / "made" / "mgpu-bench");
}

TEST_CASE("last counts back from the run that began last, and a path is a file") {
  CHECK(saved_index("report", "last") == 0);
  CHECK(saved_index("report", "last~0") == 0);
  CHECK(saved_index("report", "last~12") == 12);
  for (const char* file : {"./last", "last.json", "lasting", "last-1", "", "LAST"})
    CHECK_FALSE(saved_index("report", file));
  for (const char* bad : {"last~", "last~x", "last~-1", "last~1x", "last~99999999999999999999999"})
    CHECK_THROWS_AS(saved_index("report", bad), Error);
}

TEST_CASE("the suites of a result are in its name, all of them as one word") {
  const std::vector<std::string> one{"merkle"}, two{"matrix", "msm"};
  CHECK(suites_word(one, 4) == "merkle");
  CHECK(suites_word(two, 4) == "matrix+msm");
  CHECK(suites_word(two, 2) == "all");
  CHECK(suites_word(one, 1) == "merkle");
}
