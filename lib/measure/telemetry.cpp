#include "lib/measure/telemetry.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace mgpu {

struct Telemetry::State {
  std::vector<WatchedThing> things;
  std::function<Nanos()> now;
  std::size_t looks = 0;
  std::vector<Nanos> last;  // per thing: time of its last reading, 0: none yet

  std::mutex mutex;  // guards the participants below
  std::condition_variable changed;
  std::vector<TelemetryTrack> tracks;  // per thing
  bool running = false, stopping = false;

  // Takes readings without the lock: take() must not wait for a driver.
  void look() {
    for (std::size_t i = 0; i < things.size(); ++i) {
      if (things[i].reader == nullptr || looks % things[i].every != 0) continue;
      const Nanos at = now();
      TelemetryReading reading = things[i].reader->read(last[i] > Nanos{} ? at - last[i] : Nanos{});
      reading.at = last[i] = at;
      const std::lock_guard lock(mutex);
      if (stopping) return;
      tracks[i].readings.push_back(reading);
    }
    ++looks;
  }

  void run(Nanos interval) {
    try {
      for (;;) {
        look();
        std::unique_lock lock(mutex);
        if (changed.wait_for(lock, interval, [&] { return stopping; })) break;
      }
    } catch (...) {  // ends quietly: no measurement needs more readings
    }
    const std::lock_guard lock(mutex);
    running = false;
    changed.notify_all();
  }
};

Telemetry::Telemetry(std::vector<WatchedThing> things, std::function<Nanos()> now)
    : state_(std::make_shared<State>()) {
  state_->last.resize(things.size());
  for (const WatchedThing& thing : things) state_->tracks.push_back({thing.of, {}});
  state_->things = std::move(things);
  state_->now = std::move(now);
}

Telemetry::~Telemetry() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return !state_->running; });
}

void Telemetry::look() { state_->look(); }

void Telemetry::start(Nanos interval) {
  state_->running = true;
  std::thread([state = state_, interval] { state->run(interval); }).detach();
}

std::vector<TelemetryTrack> Telemetry::take() {
  std::vector<TelemetryTrack> taken;
  const std::lock_guard lock(state_->mutex);
  for (std::size_t i = 0; i < state_->tracks.size(); ++i) {
    if (state_->things[i].reader == nullptr) continue;
    TelemetryTrack& track = state_->tracks[i];
    taken.push_back(track);
    if (track.readings.size() > 1)
      track.readings.erase(track.readings.begin(), track.readings.end() - 1);
  }
  return taken;
}

}  // namespace mgpu
