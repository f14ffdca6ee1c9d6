// A signal handler can reach only globals: this file has the only ones of the program.
#include "app/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace mgpu {
namespace {

constexpr unsigned kSecondsToStop = 2;

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not take a lock");

// Last words of the process; written before the handler that reads them can run, and never freed.
std::atomic<const std::string*> last_words{nullptr};

extern "C" void on_stop_signal(int signal_number) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal_number)) _exit(128 + signal_number);
  alarm(kSecondsToStop);
}

extern "C" void on_alarm(int) {
  const std::string* const words = last_words;
  if (words != nullptr) static_cast<void>(!::write(STDERR_FILENO, words->data(), words->size()));
  _exit(128 + received);
}

void handle(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // drivers do not expect their system calls to be interrupted
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void install_stop_signals() {
  handle(SIGALRM, on_alarm);
  handle(SIGINT, on_stop_signal);
  handle(SIGTERM, on_stop_signal);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) handle(SIGHUP, on_stop_signal);
}

void ignore_stop_signals() {
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_IGN);
}

void outlive_readers() { ::signal(SIGPIPE, SIG_IGN); }

int stop_signal() { return received.load(); }

ExitCode stop_code() { return static_cast<ExitCode>(128 + stop_signal()); }

void set_last_words(const std::string& text) {
  last_words = new std::string(text);  // the previous text may be in use
}

void stopped_in_time() { alarm(0); }

}  // namespace mgpu
