// Output files: they are written whole or not at all, and refusals name the file.
#include "lib/base/output_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> g_calls;  // calls of fsync and rename, in order
bool g_dies_at_rename = false;

}  // namespace

// Replaces the functions of the C library in this program.
extern "C" int fsync(int fd) {
  struct stat info {};
  g_calls.push_back(::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? "fsync of a folder"
                                                                     : "fsync of a file");
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (g_dies_at_rename) ::_exit(9);
  g_calls.push_back("rename");
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

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
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a file is written whole, over an older one, in folders that are made, and alone") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "a" / "b" / "out.json", link = folder.path() / "link.json";
  write_file_atomically(file, std::string(300'000, 'x'));
  CHECK(fs::file_size(file) == 300'000);
  // An older file keeps its permissions, and a symbolic link stays one.
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(file, link);
  OutputFile(link).put("new");
  CHECK(fs::is_symlink(link));
  CHECK(test::file_text(file) == "new");
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(files_in(file.parent_path()) == 1);
}

TEST_CASE("a name that cannot be written is refused by the check and by the writing alike") {
  const test::TemporaryFolder folder;
  write_file_atomically(folder.path() / "plain", "1");
  for (const fs::path& file :
       {fs::path(), folder.path(), folder.path() / "", folder.path() / "plain" / "out.json",
        folder.path() / std::string(300, 'n'), fs::path("/proc/no-such-place/out.json")}) {
    CAPTURE(file);
    const std::string before = output_error([&] { OutputFile{file}; });
    const std::string after = output_error([&] { OutputFile(file).put("x"); });
    CHECK(before.starts_with("cannot write \"" + file.string() + "\": "));
    CHECK(after.starts_with("cannot write \"" + file.string() + "\": "));
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a directory and a file without write permission are refused" *
          doctest::skip(::geteuid() == 0)) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json";
  write_file_atomically(file, "1");
  fs::permissions(file, fs::perms::owner_read);
  CHECK_FALSE(output_error([&] { OutputFile{file}; }).empty());
  CHECK_FALSE(output_error([&] { write_file_atomically(file, "2"); }).empty());
  fs::permissions(file, fs::perms::owner_all);
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  CHECK_FALSE(output_error([&] { OutputFile{folder.path() / "new.json"}; }).empty());
  CHECK_FALSE(output_error([&] { write_file_atomically(file, "2"); }).empty());
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(test::file_text(file) == "1");
}

TEST_CASE("a disk that is full is noticed, and devices are written to, never replaced") {
  if (fs::exists("/dev/full"))
    CHECK(output_error([] { OutputFile("/dev/full").write("x"); }) ==
          "cannot write \"/dev/full\": No space left on device");
  OutputFile{"/dev/null"};
  OutputFile("/dev/null").write("x");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("checking leaves no file behind, and an older one as it was") {
  const test::TemporaryFolder folder;
  OutputFile{folder.path() / "sub" / "out.json"};
  CHECK(files_in(folder.path() / "sub") == 0);
  write_file_atomically(folder.path() / "old.json", "old");
  OutputFile{folder.path() / "old.json"};
  CHECK(test::file_text(folder.path() / "old.json") == "old");
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("checks of one name at the same time do not disturb each other") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json";
  const auto check_often = [&] {
    for (int k = 0; k < 300; ++k) {
      const std::string told = output_error([&] { OutputFile{file}; });
      if (!told.empty()) return told;
    }
    return std::string();
  };
  auto other = std::async(std::launch::async, check_often);
  CHECK(check_often() == "");
  CHECK(other.get() == "");
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("a file is on disk before it takes its name, and the name before it counts") {
  const test::TemporaryFolder folder;
  g_calls.clear();
  write_file_atomically(folder.path() / "out.json", "x");
  CHECK(g_calls == std::vector<std::string>{"fsync of a file", "rename", "fsync of a folder"});
}

TEST_CASE("what a process leaves that is killed at the rename goes when the file is next written") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json", other = folder.path() / "other.json";
  write_file_atomically(file, "old");
  const pid_t child = ::fork();
  if (child == 0) {
    g_dies_at_rename = true;
    write_file_atomically(file, "new");
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WEXITSTATUS(status) == 9);
  CHECK(test::file_text(file) == "old");
  REQUIRE(files_in(folder.path()) == 2);
  write_file_atomically(other, "1");  // does not affect the others, which have another file
  CHECK(files_in(folder.path()) == 3);
  write_file_atomically(file, "newer");
  CHECK(files_in(folder.path()) == 2);
  CHECK(test::file_text(file) == "newer");
}

TEST_CASE("a temporary that its writer still holds stays, also beside a name without a folder") {
  const test::TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  {
    AtomicFile slow("out.json");
    slow.write("slow");
    write_file_atomically("out.json", "quick");
    CHECK(files_in(folder.path()) == 2);
    slow.commit();
  }
  CHECK(test::file_text(folder.path() / "out.json") == "slow");
  CHECK(files_in(folder.path()) == 1);
  fs::current_path(before);
}

TEST_CASE("one that is never committed leaves the older file as it was; a stream may write it") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json";
  write_file_atomically(file, "old");
  {
    AtomicFile never(file);
    never.write("half of");
    CHECK(files_in(folder.path()) == 2);
  }
  CHECK(test::file_text(file) == "old");
  CHECK(files_in(folder.path()) == 1);
  AtomicFile out(file);
  std::ofstream(out.temporary()) << "by a stream\n";
  out.commit();
  CHECK(test::file_text(file) == "by a stream\n");
}

TEST_CASE("two runs cannot hold one file: the second is told by whom it is held") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "sub" / "out.json";
  {
    const FileLock first(file);
    write_file_atomically(file, "the file is another one after this");
    fs::create_symlink(file, folder.path() / "link.json");
    for (const fs::path& name :
         {file, folder.path() / "link.json", folder.path() / "sub" / ".." / "sub" / "out.json"}) {
      CAPTURE(name);
      try {
        const FileLock second(name);
        FAIL("locked twice");
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::usage);
        CHECK(std::string(error.what())
                  .starts_with("\"" + name.string() + "\": another run (process " +
                               std::to_string(::getpid()) + ") is writing"));
      }
    }
    const FileLock another(folder.path() / "sub" / "trace.json");
    OutputFile{file};
  }
  CHECK(files_in(folder.path() / "sub") == 1);
  const FileLock again(file);
}

TEST_CASE("the lock of a process that was killed is not a lock") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json";
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(file);
    ::_exit(9);  // skips its destructor
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(files_in(folder.path()) == 1);
  CHECK_FALSE(FileLock::is_held(file));
  {
    const FileLock mine(file);
    CHECK(FileLock::is_held(file));
  }
  CHECK(files_in(folder.path()) == 0);
  CHECK_FALSE(FileLock::is_held(file));
}

TEST_CASE("pipes and devices are nobody's") { const FileLock one("/dev/null"), two("/dev/null"); }

TEST_CASE("a link to nothing leads to the new file; one of ours is replaced, not followed") {
  const test::TemporaryFolder folder;
  const fs::path link = folder.path() / "link.json", target = folder.path() / "sub" / "new.json";
  fs::create_symlink("sub/new.json", link);
  OutputFile file(link);
  CHECK_FALSE(fs::exists(target));
  file.put("1");
  CHECK(fs::is_symlink(link));
  CHECK(test::file_text(target) == "1");
  fs::remove(link);  // the target of the link was resolved before
  file.put("2");
  CHECK(test::file_text(target) == "2");
  CHECK_FALSE(fs::exists(link));
  fs::create_symlink(target, link);
  write_file_atomically(link, "3");
  CHECK_FALSE(fs::is_symlink(link));
  CHECK(test::file_text(target) == "2");
  fs::create_symlink("b", folder.path() / "a");
  fs::create_symlink("a", folder.path() / "b");
  CHECK(output_error([&] { OutputFile{folder.path() / "a"}; }).ends_with("symbolic links"));
}

TEST_CASE("a pipe gets one document, the last, and is refused if nobody reads it") {
  const test::TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(output_error([&] { OutputFile{pipe}; }).ends_with("start its reader first"));
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  {
    OutputFile file(pipe);
    CHECK_FALSE(file.is_replaced());
    file.put("incomplete");
    file.put("complete");
    file.finish();
    file.finish();
  }
  char text[64] = {};
  CHECK(::read(reader, text, sizeof text) == 8);
  CHECK(std::string(text) == "complete");
  ::close(reader);
}

TEST_CASE("what a process has open is written to, at the end, under all of its names") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "printed", link = folder.path() / "stdout";
  const int kept = ::dup(STDOUT_FILENO);
  fs::create_symlink("/proc/self/fd/1", link);
  for (const fs::path& name : {fs::path("-"), link, file}) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    std::fflush(stdout);
    ::dup2(fd, STDOUT_FILENO);
    ::close(fd);
    OutputFile output(name);
    const bool is_standard_output = output.is_standard_output();
    (void)!::write(STDOUT_FILENO, "first ", 6);
    output.put("not yet ");
    output.put("last");
    output.finish();
    ::dup2(kept, STDOUT_FILENO);
    CAPTURE(name);
    CHECK(is_standard_output);
    CHECK(test::file_text(file) == "first last");
    CHECK(fs::is_symlink(link));
  }
  ::close(kept);
  OutputFile shared(file, OutputFile::Mode::append);
  shared.write(", and more");
  CHECK(test::file_text(file) == "first last, and more");
}

TEST_CASE("the outputs of a command are found by their names, one at most on standard output") {
  const test::TemporaryFolder folder;
  OutputFiles outputs;
  outputs.add(folder.path() / "a.json.gz").put("text");
  CHECK_FALSE(outputs.take_standard_output());
  const OutputFile& printed = outputs.add("-");
  CHECK(&printed == &outputs.at("-"));
  CHECK(outputs.take_standard_output());
  CHECK_THROWS_AS(outputs.add("-"), Error);
  for (const char* same : {"a.json.gz", "sub/../a.json.gz"}) {
    CAPTURE(same);
    CHECK_THROWS_WITH_AS(outputs.add(folder.path() / same), doctest::Contains("another output"),
                         Error);
  }
  outputs.remove(folder.path() / "a.json.gz");
  CHECK(outputs.add(folder.path() / "a.json.gz").had_content());
}
