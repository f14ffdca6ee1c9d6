// Files of the program itself: files planted by others cannot block it, and caches stay small.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "lib/base/error.hpp"
#include "lib/base/folder_limit.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_file.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;

namespace {

namespace fs = std::filesystem;

void write_bytes(const fs::path& file, std::size_t size, int hours_ago) {
  std::ofstream(file) << std::string(size, 'x');
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
}

}  // namespace

TEST_CASE("of the program's own files only regular ones are read, and no pipe is waited for") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "file", pipe = folder.path() / "pipe";
  write_bytes(file, 3, 0);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(read_text_file(file, FileKind::regular) == "xxx");
  for (const char* const other : {pipe.c_str(), "/dev/null", "/dev/zero"})
    CHECK_THROWS_WITH_AS(read_text_file(other, FileKind::regular), "is no regular file", Error);
  for (const FileKind kind : {FileKind::any, FileKind::regular}) {
    CHECK_THROWS_WITH_AS(read_text_file(folder.path(), kind), "is a directory", Error);
    CHECK_THROWS_AS(read_text_file(folder.path() / "none", kind), Error);
  }
  CHECK(read_text_file("/dev/null").empty());
}

TEST_CASE("a pipe in the place of a temporary that was left is not waited for") {
  const test::TemporaryFolder folder;
  const fs::path target = folder.path() / "r.json";
  const AtomicFile probe(target);
  const std::string name = probe.temporary().filename().string();
  const fs::path pipe = folder.path() / (name.substr(0, name.rfind('-')) + "-left.tmp");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  write_file_atomically(target, "x");
  CHECK(test::file_text(target) == "x");
}

TEST_CASE(
    "of a folder that is too large go the oldest files of its kind, and what was left of some") {
  const test::TemporaryFolder folder;
  const auto file = [&](const char* name) { return folder.path() / name; };
  write_bytes(file("a.bin"), 100, 3);
  write_bytes(file("b.bin"), 100, 2);
  write_bytes(file("c.bin"), 100, 1);
  write_bytes(file("c.bin.17.0"), 100, 2);
  write_bytes(file("d.bin.17.1"), 100, 0);  // perhaps still being written
  write_bytes(file("other"), 1000, 9);
  REQUIRE(::mkfifo(file("pipe.bin").c_str(), 0600) == 0);
  fs::create_directory(file("folder.bin"));
  const auto left = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  };
  using Names = std::vector<std::string>;
  limit_folder(folder.path(), ".bin", 300);
  CHECK(left() ==
        Names{"a.bin", "b.bin", "c.bin", "d.bin.17.1", "folder.bin", "other", "pipe.bin"});
  limit_folder(folder.path(), ".bin", 150);
  CHECK(left() == Names{"c.bin", "d.bin.17.1", "folder.bin", "other", "pipe.bin"});
  limit_folder(folder.path() / "none", ".bin", 0);
}
