// Uses POSIX sigaction. The handler calls only write, nanosleep and sigaction, which are
// async-signal-safe, and appends to a string with reserved capacity.
#include "lib/base/crash_note.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <vector>

#include "lib/base/printable.hpp"

namespace mgpu {
namespace {

struct Crash {
  int number;
  const char* name;
};
constexpr Crash kCrashes[] = {{SIGSEGV, " (SIGSEGV)\n"},
                              {SIGBUS, " (SIGBUS)\n"},
                              {SIGFPE, " (SIGFPE)\n"},
                              {SIGILL, " (SIGILL)\n"},
                              {SIGABRT, " (SIGABRT)\n"}};

constexpr std::size_t kLongestName = 16;

std::mutex notes_mutex;           // guards the next two
std::vector<std::string*> notes;  // the last one is written
struct sigaction replaced_actions[std::size(kCrashes)];
// The line to write. Its capacity has room for the name of a signal as well.
std::atomic<std::string*> current_note{nullptr};
std::atomic<bool> is_written{true};  // false while a thread writes the line
static_assert(std::atomic<std::string*>::is_always_lock_free);

void wait_until_written() {
  const timespec millisecond{0, 1'000'000};
  for (int i = 0; i < 100 && !is_written; ++i) ::nanosleep(&millisecond, nullptr);
}

// Writes the line once, even if several threads crash. The fault recurs when this returns, and then
// ends the process.
extern "C" void on_crash(int number) {
  if (current_note != nullptr) is_written = false;
  std::string* const line = current_note.exchange(nullptr);
  if (line != nullptr) {
    for (const Crash& crash : kCrashes)
      if (crash.number == number) line->append(crash.name);
    static_cast<void>(!::write(STDERR_FILENO, line->data(), line->size()));
    is_written = true;
  }
  wait_until_written();
  for (std::size_t i = 0; i < std::size(kCrashes); ++i)
    ::sigaction(kCrashes[i].number, &replaced_actions[i], nullptr);
}

}  // namespace

CrashNote::CrashNote(const std::string& line) : line_("mgpu-bench: " + printable(line)) {
  line_.reserve(line_.size() + kLongestName);
  const std::scoped_lock lock(notes_mutex);
  if (notes.empty()) {
    struct sigaction action = {};
    action.sa_handler = on_crash;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(kCrashes); ++i)
      ::sigaction(kCrashes[i].number, &action, &replaced_actions[i]);
  }
  notes.push_back(&line_);
  current_note = notes.back();
}

CrashNote::~CrashNote() {
  const std::scoped_lock lock(notes_mutex);
  notes.erase(std::find(notes.begin(), notes.end(), &line_));
  current_note = notes.empty() ? nullptr : notes.back();
  if (!notes.empty()) return;
  for (std::size_t i = 0; i < std::size(kCrashes); ++i)
    ::sigaction(kCrashes[i].number, &replaced_actions[i], nullptr);
}

}  // namespace mgpu
