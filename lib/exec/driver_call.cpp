#include "lib/exec/driver_call.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"

namespace mgpu {
namespace {

constexpr Nanos kBetweenStops = std::chrono::milliseconds(2);

// Outlives the caller if it must.
struct Call {
  std::mutex mutex;
  std::condition_variable returned;
  std::function<void()> function;
  bool over = false;
  std::exception_ptr failure;
};

void run(const std::shared_ptr<Call>& call) {
  std::exception_ptr failure;
  try {
    call->function();
  } catch (...) {
    failure = std::current_exception();
  }
  call->function = nullptr;  // what it holds is released here, before the caller goes on
  const std::lock_guard lock(call->mutex);
  call->failure = std::move(failure);
  call->over = true;
  call->returned.notify_all();
}

}  // namespace

void driver_call(const std::string& what, Nanos limit, const StopCheck& stop,
                 std::function<void()> function) {
  if (stop && stop()) throw Error(ErrorKind::interrupted, "stopped before " + what);
  const auto call = std::make_shared<Call>();
  call->function = std::move(function);
  try {
    std::thread(run, call).detach();
  } catch (const std::system_error&) {  // no thread can be had: rather wait than give up
    return call->function();
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::unique_lock lock(call->mutex);
  while (!call->returned.wait_for(lock, kBetweenStops, [&] { return call->over; })) {
    if (std::chrono::steady_clock::now() >= deadline)
      throw Error(ErrorKind::timeout, what + " took longer than " + format_duration(limit));
    if (stop && stop()) throw Error(ErrorKind::interrupted, "stopped during " + what);
  }
  if (call->failure) std::rethrow_exception(std::exchange(call->failure, nullptr));
}

}  // namespace mgpu
