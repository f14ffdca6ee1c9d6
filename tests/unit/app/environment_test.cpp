// Limits of a process as its control groups state them, from made-up trees; folders by the XDG
// rules; remarks on PoCL's cache.
#include "app/environment.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/golden.hpp"

using namespace mgpu;

namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

void put_file(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("the least limit of a control group and those around it counts; max is none") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path(), groups = root / "sys/fs/cgroup";
  const auto limit = [&](const char* name) { return control_group_limit(root, name); };
  CHECK_FALSE(limit("cpu.max"));
  put_file(root / "proc/self/cgroup", "1:name=systemd:/x\n0::/job/step\n");
  put_file(groups / "job/step/cpu.max", "max 100000\n");
  CHECK_FALSE(limit("cpu.max"));
  put_file(groups / "job/cpu.max", "150000 100000\n");
  put_file(groups / "cpu.max", "400000 100000\n");
  CHECK(limit("cpu.max") == 1.5);
  put_file(groups / "job/step/memory.max", "1073741824\n");
  put_file(groups / "job/memory.max", "max\n");
  CHECK(limit("memory.max") == 1073741824.0);
  put_file(root / "proc/self/cgroup", "0::/\n");
  CHECK(limit("cpu.max") == 4);
  put_file(groups / "cpu.max", "");
  CHECK_FALSE(limit("cpu.max"));
}

TEST_CASE("a relative path counts as not set, for every folder of the user") {
  using Folder = fs::path (*)(const Environment&);
  for (const auto& [name, folder_of] :
       {std::pair<const char*, Folder>{"XDG_CACHE_HOME", &cache_directory},
        {"XDG_STATE_HOME", &state_directory}}) {
    CAPTURE(name);
    CHECK(folder_of(Environment(Variables{{name, "/x"}, {"HOME", "/h"}})) == "/x/mgpu-bench");
    CHECK(folder_of(Environment(Variables{{name, "x"}, {"HOME", "/h"}})) ==
          folder_of(Environment(Variables{{"HOME", "/h"}})));
    CHECK(folder_of(Environment(Variables{{name, "x"}, {"HOME", "h"}})).empty());
    CHECK(folder_of(Environment(Variables{{"HOME", "/h"}})).string().starts_with("/h/."));
  }
}

TEST_CASE("PoCL's cache is blamed when it cannot be written, and its folder is named") {
  const test::TemporaryFolder folder;
  const auto trouble = [](const char* name, const fs::path& value) {
    return pocl_cache_trouble(Environment(Variables{{name, value.string()}}));
  };
  const fs::path file = folder.path() / "file";
  put_file(file, "");
  for (const char* name : {"POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
    CAPTURE(name);
    CHECK(trouble(name, folder.path() / name) == "");
    const std::string said = trouble(name, file);
    CHECK(said.find(file.string()) != std::string::npos);
    CHECK(said.find("POCL_CACHE_DIR") != std::string::npos);
  }
}

TEST_CASE("a disk that is full is the trouble of PoCL's cache, too") {
  std::error_code error;
  if (fs::space("/proc", error).available != 0 || error) return;
  CHECK(pocl_cache_trouble(Environment(Variables{{"POCL_CACHE_DIR", "/proc"}})).find("/proc") !=
        std::string::npos);
}

TEST_CASE("of variables that hide devices, none is named that the program sets by itself") {
  CHECK(device_variables(Environment(Variables{{"POCL_AFFINITY", "1"}, {"POCL_DEVICES", "x"}})) ==
        std::vector<std::string>{"POCL_DEVICES=x"});
}
