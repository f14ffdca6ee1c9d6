#include "lib/layer/recorder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

namespace mgpu::layer {

using namespace command_log;

const cl_icd_dispatch* next = nullptr;
constinit std::atomic<Recorder*> recorder{nullptr};

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
// The writer's pause: what is not yet in the file is lost if the process is killed. It polls as
// late as that while the program goes on, whose calls wait for the driver when others use it.
constexpr std::uint64_t kPause = 2 * kMillisecond, kLongestPause = 16 * kMillisecond;
constexpr std::uint64_t kCostPeriod = 100 * kMillisecond, kClockPeriod = 1000 * kMillisecond;
constexpr std::uint64_t kExitPatience = 2000 * kMillisecond;

std::uint64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Waits for a semaphore until a time of now_ns at most.
void wait_for(sem_t& semaphore, std::uint64_t until_ns) {
  const timespec until{static_cast<time_t>(until_ns / 1'000'000'000u),
                       static_cast<long>(until_ns % 1'000'000'000u)};
  while (::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
  }
}

// Returns the number that a launcher of MPI has set, or -1.
std::int32_t launched(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == 0) continue;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end == 0 && value >= 0 && value <= INT32_MAX) return static_cast<std::int32_t>(value);
  }
  return -1;
}

std::string command_line() {
  constexpr std::size_t kMost = 64 * 1024;
  std::string text(kMost, 0);
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = file < 0 ? 0 : ::read(file, text.data(), text.size());
  if (file >= 0) ::close(file);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

Recorder::Recorder(std::string folder, bool with_times, bool forked)
    : times(with_times), folder_(std::move(folder)), forked_(forked) {
  ::sem_init(&wake_, 0, 0);
  ::sem_init(&written_, 0, 0);
  ::pthread_key_create(&key_, [](void* state) {
    static_cast<ThreadState*>(state)->ended.store(true, std::memory_order_release);
    current = {};
  });
}

bool Recorder::open() {
  if (!collector_.open(folder_)) return false;
  write_process();
  return true;
}

void Recorder::write_process() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string line = command_line();
  Process process{};
  process.pid = static_cast<std::uint32_t>(::getpid());
  process.parent_pid = static_cast<std::uint32_t>(::getppid());
  process.start_ns = now_ns();
  process.realtime_ns = read_clock(CLOCK_REALTIME);
  process.mpi_rank = launched({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"});
  process.mpi_size = launched({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  process.times = times;
  process.forked = forked_;
  process.host_bytes = static_cast<std::uint32_t>(std::strlen(host));
  process.command_line_bytes = static_cast<std::uint32_t>(line.size());
  const std::size_t size = sizeof process + padded(process.host_bytes + line.size());
  process.header = {Kind::process, sizeof process, static_cast<std::uint32_t>(size)};
  std::string record(reinterpret_cast<const char*>(&process), sizeof process);
  record += host + line;
  record.resize(size);
  collector_.append(bytes_of(record));
}

ThreadState& Recorder::add_thread() {
  std::call_once(started_, [&] { start(); });
  // Owned by the collector, until the thread has ended.
  ThreadState* state = collector_.add_thread().get();
  ::pthread_setspecific(key_, state);
  current = {this, state};
  char name[32] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  Thread thread{};
  thread.id = state->id;
  thread.tid = static_cast<std::uint32_t>(::gettid());
  thread.name_bytes = static_cast<std::uint32_t>(std::strlen(name));
  push(Kind::thread, thread, {bytes_of(name)});
  return *state;
}

void Recorder::push_bytes(Piece record, std::initializer_list<Piece> tail, const void* handle,
                          std::uint32_t flags) {
  ThreadState& state = thread();
  std::size_t bytes = record.size();
  for (const Piece& piece : tail) bytes += piece.size();
  const std::size_t size = padded(bytes);
  const std::size_t entry_size = (sizeof(Entry) + size + 15) / 16 * 16;
  std::byte* place = state.ring.reserve(entry_size);
  while (place == nullptr) {
    ThreadState::add(state.waits, 1);
    collector_.drain();
    place = state.ring.reserve(entry_size);
  }
  new (place) Entry{static_cast<std::uint32_t>(entry_size), flags, handle};
  std::byte* to = std::copy(record.begin(), record.end(), place + sizeof(Entry));
  reinterpret_cast<RecordHeader*>(place + sizeof(Entry))->size = static_cast<std::uint32_t>(size);
  for (const Piece& piece : tail) to = std::copy(piece.begin(), piece.end(), to);
  std::fill_n(to, size - bytes, std::byte{});
  const bool half_full = state.ring.publish();
  if (half_full && !woken_.exchange(true, std::memory_order_relaxed)) ::sem_post(&wake_);
  if (stopped_.load(std::memory_order_relaxed)) {
    collector_.drain();
    collector_.poll();
  }
}

void Recorder::start() {
  // Signals are for the program's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t writer{};
  has_writer_ = ::pthread_create(
                    &writer, nullptr,
                    [](void* self) -> void* {
                      static_cast<Recorder*>(self)->write();
                      return nullptr;
                    },
                    this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (has_writer_)
    ::pthread_detach(writer);
  else
    stopped_ = true;  // each call writes for itself
}

void Recorder::write() {
  ::pthread_setname_np(::pthread_self(), "mgpu-profile");
  std::uint64_t pause = kPause, next_poll = 0, next_cost = 0, next_clock = 0;
  for (bool last = false; !last;) {
    last = stopping_.load(std::memory_order_acquire);
    woken_.store(false, std::memory_order_relaxed);
    const bool any = collector_.drain();
    if (!any || last || now_ns() >= next_poll) {
      collector_.poll();
      next_poll = now_ns() + kLongestPause - kPause;
    }
    pause = any ? kPause : std::min(pause * 2, kLongestPause);
    const std::uint64_t now = now_ns();
    if (times && (now >= next_clock || last)) {
      collector_.sample_clocks();
      next_clock = now + kClockPeriod;
    }
    if ((any && now >= next_cost) || last) {
      collector_.write_cost(read_clock(CLOCK_THREAD_CPUTIME_ID));
      next_cost = now + kCostPeriod;
    }
    if (!last) wait_for(wake_, now + pause);
  }
  ::sem_post(&written_);
}

void Recorder::stop() {
  if (stopping_.exchange(true)) return;
  if (has_writer_) {
    ::sem_post(&wake_);
    wait_for(written_, now_ns() + kExitPatience);  // it may be stuck in a driver
  }
  stopped_ = true;
  Exit exit{};
  exit.header = {Kind::exit, sizeof exit, sizeof exit};
  exit.time_ns = now_ns();
  collector_.append(std::as_bytes(std::span(&exit, 1)));
}

namespace {

// Belongs to the process that began to record: the parent, in a child.
constinit std::atomic<const Recorder*> ancestor{nullptr};

}  // namespace

bool begin_recording() {
  const char* folder = std::getenv(kFolderVariable);
  const char* with_times = std::getenv(kTimesVariable);
  if (folder == nullptr || *folder == 0) return false;
  const std::unique_ptr<char, void (*)(void*)> path(::realpath(folder, nullptr), std::free);
  const bool times = with_times == nullptr || std::string_view(with_times) != "0";
  if (path == nullptr) return false;
  auto own = std::make_unique<Recorder>(path.get(), times, false);
  if (!own->open()) return false;
  ancestor = own.get();
  recorder = own.release();
  ::pthread_atfork(nullptr, nullptr, [] { recorder = nullptr; });
  stop_at_exit();
  return true;
}

Recorder& begin_child_recording() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (Recorder* const there = recorder.load()) return *there;
  const Recorder& parent = *ancestor.load();
  auto* own = new Recorder(parent.folder(), parent.times, true);
  own->open();  // if that fails, its records go nowhere
  recorder = own;
  return *own;
}

void stop_at_exit() {
  std::atexit([] {
    if (Recorder* const own = recorder.load()) own->stop();
  });
}

}  // namespace mgpu::layer
