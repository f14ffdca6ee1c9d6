// POSIX: sigaction. The handler calls nothing but write and sigaction, which signals allow.
#include "lib/base/crash_note.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
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

std::mutex notes_mutex;          // over the next two
std::vector<const char*> notes;  // the last is the one that is written
struct sigaction replaced_actions[std::size(kCrashes)];
std::atomic<const char*> current_note{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);

void say(const char* text) { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

// What caused the signal happens again once this returns, and then ends the process.
extern "C" void on_crash(int number) {
  const char* const line = current_note.exchange(nullptr);
  for (std::size_t i = 0; i < std::size(kCrashes); ++i) {
    ::sigaction(kCrashes[i].number, &replaced_actions[i], nullptr);
    if (line == nullptr || kCrashes[i].number != number) continue;
    say(line);
    say(kCrashes[i].name);
  }
}

}  // namespace

CrashNote::CrashNote(const std::string& line) : line_("mgpu-bench: " + printable(line)) {
  const std::scoped_lock lock(notes_mutex);
  if (notes.empty()) {
    struct sigaction action = {};
    action.sa_handler = on_crash;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(kCrashes); ++i)
      ::sigaction(kCrashes[i].number, &action, &replaced_actions[i]);
  }
  notes.push_back(line_.c_str());
  current_note = notes.back();
}

CrashNote::~CrashNote() {
  const std::scoped_lock lock(notes_mutex);
  notes.erase(std::find(notes.begin(), notes.end(), line_.c_str()));
  current_note = notes.empty() ? nullptr : notes.back();
  if (!notes.empty()) return;
  for (std::size_t i = 0; i < std::size(kCrashes); ++i)
    ::sigaction(kCrashes[i].number, &replaced_actions[i], nullptr);
}

}  // namespace mgpu
