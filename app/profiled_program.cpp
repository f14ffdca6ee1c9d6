#include "app/profiled_program.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "app/child_run.hpp"
#include "lib/base/error.hpp"
#include "lib/exec/wall_clock.hpp"

namespace mgpu {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> running{0};
static_assert(std::atomic<pid_t>::is_always_lock_free, "a signal handler may not take a lock");

// Passes a signal on, unless the terminal sent it to all processes in the foreground.
extern "C" void pass_on(int number, siginfo_t* info, void*) {
  const int before = errno;
  const pid_t program = running;
  if (program > 0 && info != nullptr && info->si_code <= 0) ::kill(program, number);
  errno = before;
}

// While it exists, signals are passed on to the program. Those that are ignored stay so, for the
// program, too.
class PassedOnSignals {
 public:
  PassedOnSignals() {
    ::sigemptyset(&all_);
    for (const int number : kPassedOn) ::sigaddset(&all_, number);
    for (std::size_t k = 0; k < std::size(kPassedOn); ++k) {
      struct sigaction action = {};
      ::sigaction(kPassedOn[k], nullptr, &before_[k]);
      if (before_[k].sa_handler == SIG_IGN) continue;
      action.sa_sigaction = pass_on;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      ::sigaction(kPassedOn[k], &action, nullptr);
    }
  }
  PassedOnSignals(const PassedOnSignals&) = delete;
  PassedOnSignals& operator=(const PassedOnSignals&) = delete;
  ~PassedOnSignals() {
    running = 0;
    for (std::size_t k = 0; k < std::size(kPassedOn); ++k)
      ::sigaction(kPassedOn[k], &before_[k], nullptr);
  }
  const sigset_t& all() const { return all_; }

 private:
  sigset_t all_;
  struct sigaction before_[std::size(kPassedOn)];
};

// Holds the settings that the program is started with.
class SpawnSettings {
 public:
  explicit SpawnSettings(bool quiet, const sigset_t& mask) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &mask);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
    if (!quiet) return;
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> as_pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& words,
                       const std::vector<std::string>& variables, bool quiet) {
  std::vector<std::string> argv = words, environment = environment_with(variables);
  // While SIGCHLD is ignored, the kernel discards the program's exit status.
  struct sigaction action = {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
    ::signal(SIGCHLD, SIG_DFL);
  const PassedOnSignals signals;
  sigset_t before;
  // Blocked until it is known whom a signal is passed on to.
  ::sigprocmask(SIG_BLOCK, &signals.all(), &before);
  const Nanos begin = steady_now();
  pid_t program = 0;
  const SpawnSettings settings(quiet, before);
  const int error =
      ::posix_spawnp(&program, argv.front().c_str(), settings.actions(), settings.attributes(),
                     as_pointers(argv).data(), as_pointers(environment).data());
  if (error == 0) running = program;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    throw CannotStart{error == ENOENT ? 127 : 126,
                      fmt::format("{}: {}", words.front(), std::strerror(error))};
  int status = 0;
  while (::waitpid(program, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), steady_now() - begin};
}

std::filesystem::path profiling_layer() {
  namespace fs = std::filesystem;
  constexpr const char* name = "libmgpu-bench-profile.so";
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path installed = folder.parent_path() / MGPU_PLUGIN_FOLDER;
  for (const fs::path& place : {folder, installed})
    if (fs::exists(place / name, ignored)) return place / name;
  throw Error(ErrorKind::input,
              fmt::format("profile: {} is in neither {} nor {}; expected: the library that the "
                          "package and the build of mgpu-bench have (cmake --build --preset "
                          "release)",
                          name, folder.string(), installed.string()));
}

}  // namespace mgpu
