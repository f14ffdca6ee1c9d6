// Uses Linux's vfork, and prctl in the child. posix_spawn cannot ask for a signal when the parent
// dies, and fork would share pages copy-on-write that a driver has pinned for its device.
#include "lib/base/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

constexpr Nanos kGrace = std::chrono::seconds(1);  // time from SIGTERM to SIGKILL
constexpr int kBetweenQuestions = 10;              // ms between two calls of `stop`
constexpr int kFailureFd = 3;                      // the child's descriptor after standard error
constexpr int kFirstFree = kFailureFd + 1;

// Owns a file descriptor and closes it.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void refuse(const ChildCommand& command, ErrorKind kind, const char* what, int error) {
  throw Error(kind, fmt::format("{}: {}: {}", command.words.front(), what, std::strerror(error)));
}

// Moves `fd` above the descriptors that a child is given: they may be closed in this process, so
// that a pipe here may get their numbers.
Fd opened(const ChildCommand& command, int fd) {
  const Fd low(fd);
  Fd high(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
  if (high.get() < 0) refuse(command, ErrorKind::input, "cannot be run", errno);
  return high;
}

struct Pipe {
  explicit Pipe(const ChildCommand& command) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) refuse(command, ErrorKind::input, "cannot be run", errno);
    from = opened(command, ends[0]);
    into = opened(command, ends[1]);
    ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  }
  Fd from, into;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Everything the child needs, prepared before it starts: it shares this process's memory until it
// execs.
struct Prepared {
  const char* folder;  // null: the current one
  char** words;
  char** variables;  // null: inherits this process's
  int input, output, errors, failure;
  pid_t parent;
  long descriptors;
  sigset_t signals;
};

// Reports errno to the parent and ends a child that has not executed the program yet.
[[noreturn]] void fail() {
  const int error = errno;
  static_cast<void>(!::write(kFailureFd, &error, sizeof error));
  ::_exit(127);
}

// Runs in the child, and makes system calls only.
[[noreturn]] void become(const Prepared& prepared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(127);  // the parent died before the prctl
  ::setpgid(0, 0);
  ::dup2(prepared.input, STDIN_FILENO);
  ::dup2(prepared.output, STDOUT_FILENO);
  ::dup2(prepared.errors, STDERR_FILENO);
  ::dup3(prepared.failure, kFailureFd, O_CLOEXEC);
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, kFirstFree, ~0u, 0) != 0)
#endif
    for (int fd = kFirstFree; fd < prepared.descriptors; ++fd) ::close(fd);
  if (prepared.folder != nullptr && ::chdir(prepared.folder) != 0) fail();
  // Handlers are code of this process, and must not run in the child.
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL || (action.sa_handler == SIG_IGN && number != SIGPIPE))
      continue;
    action.sa_handler = SIG_DFL;
    action.sa_flags = 0;
    ::sigaction(number, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &prepared.signals, nullptr);
  if (prepared.variables != nullptr)
    ::execve(prepared.words[0], prepared.words, prepared.variables);
  else
    ::execv(prepared.words[0], prepared.words);
  fail();
}

pid_t begin(Prepared& prepared) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &prepared.signals);
  const pid_t child = ::vfork();
  if (child == 0) become(prepared);
  ::pthread_sigmask(SIG_SETMASK, &prepared.signals, nullptr);
  return child;
}

// A one-shot alarm on the kernel's timer; 0: never.
class Alarm {
 public:
  void set(Nanos after) {
    timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(after);
    itimerspec span = {};
    span.it_value = {whole.count(), (after - whole).count()};
    ::timerfd_settime(timer_.get(), 0, &span, nullptr);
  }
  int fd() const { return timer_.get(); }
  bool rang() const {
    std::uint64_t times = 0;
    return ::read(timer_.get(), &times, sizeof times) == sizeof times;
  }

 private:
  Fd timer_;
};

// Reads all that is there and keeps the last MiB.
void read_all(Fd& from, std::string& into) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  char part[4096];
  for (ssize_t count = 0; from.get() >= 0;) {
    count = ::read(from.get(), part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return from.close();
    into.append(part, static_cast<std::size_t>(count));
    if (into.size() > 2 * kMost) into.erase(0, into.size() - kMost);
  }
}

// A running child process, which is killed with this object.
class Child {
 public:
  explicit Child(const ChildCommand& command)
      : command_(command), output_(command), errors_(command) {
    std::vector<std::string> words = command.words, environment = command.environment;
    const std::vector<char*> argv = pointers(words), variables = pointers(environment);
    Pipe failure(command);
    const Fd nothing = opened(command, ::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::string folder = command.folder.string();
    // While SIGCHLD is ignored, the kernel discards the child's exit status.
    struct sigaction action = {};
    if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      ::signal(SIGCHLD, SIG_DFL);
    Prepared prepared{folder.empty() ? nullptr : folder.c_str(),
                      const_cast<char**>(argv.data()),
                      environment.empty() ? nullptr : const_cast<char**>(variables.data()),
                      nothing.get(),
                      output_.into.get(),
                      errors_.into.get(),
                      failure.into.get(),
                      ::getpid(),
                      std::min(::sysconf(_SC_OPEN_MAX), 65536L),
                      {}};
    pid_ = begin(prepared);
    const int error = errno;
    if (pid_ < 0) refuse(command, ErrorKind::input, "cannot be run", error);
    for (Fd* fd : {&failure.into, &output_.into, &errors_.into}) fd->close();
    int failed = 0;
    ::fcntl(failure.from.get(), F_SETFL, 0);  // read() waits until the exec closes the pipe
    if (::read(failure.from.get(), &failed, sizeof failed) == sizeof failed)
      refuse(command, ErrorKind::input, "cannot be run", failed);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  ChildEnd wait() {
    ChildEnd made;
    std::optional<ChildEnd::How> why;
    unsigned signals = 0;  // number of signals sent to the group
    Alarm alarm;
    if (command_.limit > Nanos{}) alarm.set(command_.limit);
    while (!is_over()) {
      pollfd watched[] = {{output_.from.get(), POLLIN, 0},
                          {errors_.from.get(), POLLIN, 0},
                          {alarm.fd(), POLLIN, 0}};
      ::poll(watched, std::size(watched), kBetweenQuestions);
      read_all(output_.from, made.output);
      read_all(errors_.from, made.errors);
      const bool late = alarm.rang();
      if (!why && late) why = ChildEnd::How::timed_out;
      if (!why && command_.stop && command_.stop()) why = ChildEnd::How::stopped;
      if (!why || (signals > 0 && !late)) continue;
      if (signals == 2) break;  // not even SIGKILL ends a process that hangs inside a driver
      ::kill(-pid_, signals++ == 0 ? SIGTERM : SIGKILL);
      alarm.set(kGrace);
    }
    const int status = end();
    read_all(output_.from, made.output);
    read_all(errors_.from, made.errors);
    made.how = why.value_or(WIFEXITED(status) ? ChildEnd::How::exited : ChildEnd::How::killed);
    made.code = made.how == ChildEnd::How::exited ? WEXITSTATUS(status)
                : WIFSIGNALED(status)             ? WTERMSIG(status)
                                                  : 0;
    return made;
  }

 private:
  // Leaves the child a zombie, so that its process id keeps denoting the group.
  bool is_over() const {
    siginfo_t info = {};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
      return info.si_pid == pid_;
    if (errno == EINTR) return false;
    refuse(command_, ErrorKind::internal, "its exit status cannot be read", errno);
  }

  // Kills the rest of the group. Returns the status of the child if it has one.
  int end() {
    int status = 0;
    if (pid_ < 0) return status;
    ::kill(-pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), &status, WNOHANG);
    return status;
  }

  const ChildCommand& command_;
  Pipe output_, errors_;
  pid_t pid_ = -1;
};

}  // namespace

ChildEnd run_child_process(const ChildCommand& command) { return Child(command).wait(); }

}  // namespace mgpu
