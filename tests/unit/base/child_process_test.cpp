#include "lib/base/child_process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/scratch_folder.hpp"
#include "tests/support/refusal.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;
using How = ChildEnd::How;

ChildCommand shell(const std::string& line) {
  ChildCommand command;
  command.words = {"/bin/sh", "-c", line};
  return command;
}

bool is_running(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return (in >> number >> name >> state) && state != "Z" && state != "X";
}

// Waits for a condition that becomes true sooner or later; otherwise the test's time limit ends it.
template <class Condition>
void wait_until(const Condition& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

pid_t number_in(const fs::path& file) {
  pid_t number = 0;
  wait_until([&] {
    std::ifstream in(file);
    return bool(in >> number);
  });
  return number;
}

}  // namespace

TEST_CASE(
    "a child has its words, environment and folder, and its status and outputs are returned") {
  const ScratchFolder folder("mgpu-test");
  std::ofstream(folder.file("here")) << "x";
  ChildCommand command = shell(
      "ls; cat; echo $A $B; echo no >&2; exit "
      "3");
  command.folder = folder.file("");
  command.environment = {"PATH=/bin:/usr/bin", "A=1", "B=2"};
  const ChildEnd end = run_child_process(command);
  CHECK(end.how == How::exited);
  CHECK(end.code == 3);
  CHECK(end.output == "here\n1 2\n");
  CHECK(end.errors == "no\n");
  CHECK(run_child_process(shell("exit 0")).code == 0);
}

TEST_CASE("a child that is killed, writes much or closes its outputs is waited for") {
  const ChildEnd killed = run_child_process(shell("kill -SEGV $$"));
  CHECK(killed.how == How::killed);
  CHECK(killed.code == SIGSEGV);
  const ChildEnd much = run_child_process(shell("yes | head -c 5000000; echo end"));
  CHECK(much.code == 0);
  CHECK(much.output.size() >= std::size_t{1} << 20);
  CHECK(much.output.size() < 5000000);
  CHECK(much.output.ends_with("end\n"));
  CHECK(run_child_process(shell("exec >&- 2>&-; sleep 0.1; exit 7")).code == 7);
}

TEST_CASE("a program that cannot be run is an error that names it and says why") {
  ChildCommand command;
  command.words = {"/nonexistent/program"};
  const Error error = test::thrown_by([&] { run_child_process(command); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(test::has(error.what(), "/nonexistent/program"));
  command = shell("exit 0");
  command.folder = "/nonexistent";
  CHECK(test::kind_of_error([&] { run_child_process(command); }) == ErrorKind::input);
}

TEST_CASE("the limit and a stop end a child with all that it started") {
  const ScratchFolder folder("mgpu-test");
  const std::string file = folder.file("pid").string();
  ChildCommand command =
      shell("(trap '' TERM; echo $$ >'" + file + "'; while :; do sleep 1; done) & sleep 1000");
  SUBCASE("the limit") {
    command.limit = std::chrono::milliseconds(300);
    CHECK(run_child_process(command).how == How::timed_out);
  }
  SUBCASE("a stop") {
    command.stop = [&] { return fs::exists(file); };
    CHECK(run_child_process(command).how == How::stopped);
  }
  SUBCASE("a stop of one that ignores the signal") {
    command = shell("trap '' TERM; echo $$ >'" + file + "'; while :; do sleep 1; done");
    command.stop = [&] { return fs::exists(file); };
    const ChildEnd end = run_child_process(command);
    CHECK(end.how == How::stopped);
    CHECK(end.code == SIGKILL);
  }
  if (fs::exists(file)) {
    const pid_t process = number_in(file);
    wait_until([&] { return !is_running(process); });
  }
}

TEST_CASE("a child gets no descriptors of this process, and its own signals") {
  const int low = ::open("/dev/null", O_RDONLY), fd = ::fcntl(low, F_DUPFD, 200);
  const std::string of_child = "/proc/$$/fd/" + std::to_string(fd);
  // Uses only the shell: it blocks signals while it starts another program.
  const ChildEnd end =
      run_child_process(shell("[ -e /proc/$$/fd/2 ] && [ ! -e " + of_child +
                              " ]; echo $?; while read -r name value; do"
                              " [ $name = SigBlk: ] && echo $value; done </proc/$$/status; true"));
  ::close(fd);
  ::close(low);
  CHECK(end.output == "0\n0000000000000000\n");
}

TEST_CASE("the status of a child is known where the parent ignores that children end") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const ChildEnd end = run_child_process(shell("exit 9"));
  ::signal(SIGCHLD, before);
  CHECK(end.how == How::exited);
  CHECK(end.code == 9);
}

TEST_CASE("a child dies with this process, however it ends") {
  const ScratchFolder folder("mgpu-test");
  const std::string file = folder.file("pid").string();
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    run_child_process(shell("echo $$ >'" + file + "'; exec sleep 1000"));
    ::_exit(0);
  }
  const pid_t child = number_in(file);
  CHECK(is_running(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  wait_until([&] { return !is_running(child); });
}

}  // namespace mgpu
