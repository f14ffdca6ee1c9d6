// Files are written whole or not at all, and refusals name the file.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;
namespace fs = std::filesystem;

namespace {

template <typename F>
std::string output_error(F write) {
  try {
    write();
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::output);
    CHECK(std::string(e.what()).find('\n') == std::string::npos);
    return e.what();
  }
  return "";
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a file is written whole, over an older one, with missing parents made and nothing left beside it") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "a" / "b" / "out.json";
  write_file_atomically(file, std::string(300'000, 'x'));
  CHECK(fs::file_size(file) == 300'000);
  write_file_atomically(file, "new");
  CHECK(test::file_text(file) == "new");
  CHECK(files_in(file.parent_path()) == 1);
}

TEST_CASE("an older file keeps its permissions and a symbolic link stays one") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json", link = folder.path() / "link.json";
  write_file_atomically(file, "1");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(file, link);
  write_file_atomically(link, "2");
  CHECK(fs::is_symlink(link));
  CHECK(test::file_text(file) == "2");
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a name that cannot be written is refused, by the check before the run and by the writing after it") {
  const test::TemporaryFolder folder;
  write_file_atomically(folder.path() / "plain", "1");
  for (const fs::path& file : {fs::path(), folder.path(), folder.path() / "", folder.path() / "plain" / "out.json",
                               folder.path() / std::string(300, 'n'), fs::path("/proc/no-such-place/out.json")}) {
    CAPTURE(file);
    const std::string before = output_error([&] { check_writable(file); });
    const std::string after = output_error([&] { write_file_atomically(file, "x"); });
    CHECK(before.starts_with("cannot write \"" + file.string() + "\": "));
    CHECK(after.starts_with("cannot write \"" + file.string() + "\": "));
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a directory and a file without write permission are refused" * doctest::skip(::geteuid() == 0)) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json";
  write_file_atomically(file, "1");
  fs::permissions(file, fs::perms::owner_read);
  CHECK_FALSE(output_error([&] { check_writable(file); }).empty());
  CHECK_FALSE(output_error([&] { write_file_atomically(file, "2"); }).empty());
  fs::permissions(file, fs::perms::owner_all);
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  CHECK_FALSE(output_error([&] { check_writable(folder.path() / "new.json"); }).empty());
  CHECK_FALSE(output_error([&] { write_file_atomically(file, "2"); }).empty());
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(test::file_text(file) == "1");
}

TEST_CASE("a disk that is full is noticed, and devices are written to, never replaced") {
  if (fs::exists("/dev/full"))
    CHECK(output_error([] { write_file_atomically("/dev/full", "x"); }) == "cannot write \"/dev/full\": No space left on device");
  check_writable("/dev/null");
  write_file_atomically("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("checking leaves no file behind, and an older one as it was") {
  const test::TemporaryFolder folder;
  check_writable(folder.path() / "sub" / "out.json");
  CHECK(files_in(folder.path() / "sub") == 0);
  write_file_atomically(folder.path() / "old.json", "old");
  check_writable(folder.path() / "old.json");
  CHECK(test::file_text(folder.path() / "old.json") == "old");
  CHECK(files_in(folder.path()) == 2);
}
