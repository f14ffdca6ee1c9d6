// A thread that looks at everything watched now and then, beside the workers.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lib/measure/telemetry_sources.hpp"

namespace mgpu {

class Telemetry {
 public:
  // `now` must stay callable until the destructor returns.
  Telemetry(std::vector<WatchedThing> things, std::function<Nanos()> now);
  // Waits for the look under way, for a second at most: a driver that hangs in one keeps its
  // thread, and all that uses is leaked.
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Looks once, now, on this thread; not after start().
  void look();
  // From now on, every `interval`.
  void start(Nanos interval);
  // One track per thing that can be read, with what was read since the last call. Each begins with
  // the reading before, so that whatever lies between two calls is enclosed.
  std::vector<TelemetryTrack> take();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mgpu
