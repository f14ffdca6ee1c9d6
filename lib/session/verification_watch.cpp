#include "lib/session/verification_watch.hpp"

#include <fmt/format.h>

#include <memory>

#include "lib/base/quantity.hpp"

namespace mgpu {
namespace {

constexpr Nanos kLong = std::chrono::seconds(5);
constexpr Nanos kMeasured = std::chrono::milliseconds(200);  // time spent before the first estimate

struct State {
  Nanos begin{};
  bool told = false;
};

}  // namespace

HostWatch verification_watch(Backend& backend, SessionObserver& observer) {
  const auto state = std::make_shared<State>();
  HostWatch watch;
  watch.stop = [&observer] { return observer.stop_requested(); };
  watch.command_limit = backend.limits().answer + backend.limits().build;
  watch.progress = [&, state](const HostWork& work, std::uint64_t done) {
    const Nanos now = backend.now();
    if (done == 0) state->begin = now;
    const Nanos spent = now - state->begin;
    if (state->told || done == 0 || spent < kMeasured || work.sample.empty()) return;
    const Nanos whole =
        from_seconds(seconds(spent) * static_cast<double>(work.total) / static_cast<double>(done));
    if (whole < kLong) return;
    state->told = true;
    observer.remark(
        fmt::format("the verification of all {} {} will take about {}; --verify sample checks {}",
                    work.total, work.parts, format_duration(whole), work.sample));
  };
  return watch;
}

}  // namespace mgpu
