// A signal handler can reach nothing but a global: this file holds the program's only one.
#include "app/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace mgpu {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not take a lock");

extern "C" void on_stop_signal(int signal_number) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal_number)) _exit(128 + signal_number);
}

}  // namespace

void install_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // drivers do not expect their system calls to be interrupted
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void ignore_stop_signals() {
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
}

void outlive_readers() { ::signal(SIGPIPE, SIG_IGN); }

int stop_signal() { return received.load(); }

}  // namespace mgpu
