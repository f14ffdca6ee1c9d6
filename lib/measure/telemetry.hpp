// A thread that reads everything watched at intervals, next to the workers.
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
  // Waits for the reading in progress, a second at most: a driver that hangs in one keeps the
  // thread, and everything it uses is leaked.
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Reads once, now, on the calling thread; not after start().
  void look();
  // Starts a thread that reads every `interval`.
  void start(Nanos interval);
  // Returns one track per thing that can be read, with the readings since the last call. Each
  // begins with the last reading before, so that readings enclose all time between two calls.
  std::vector<TelemetryTrack> take();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mgpu
