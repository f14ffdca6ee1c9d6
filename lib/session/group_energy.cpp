// Measures the energy of a group's cases, after their samples.
#include <algorithm>
#include <ranges>
#include <set>
#include <thread>
#include <utility>

#include "lib/session/group_run.hpp"

namespace mgpu {

// Measures the power of each device alone if the automatic choice needs it.
void Group::measure_power() {
  const Objective objective = given_.options.objective;
  if (objective == Objective::time) return;
  std::map<std::size_t, Power> power;
  for (Case& the_case : result_.cases) {
    if (!the_case.alone() || the_case.closed) continue;
    const auto block = energy_block(the_case);
    const std::size_t device = the_case.devices.front();
    if (!block) {
      if (!stopped())
        given_.observer.warning("--objective: auto chooses by time, as power is not known: " +
                                the_case.energy_reason);
      return;
    }
    const bool cpu = given_.devices[device].facts.is_cpu();
    const EnergyFigures& figures = block->counters[cpu ? 0 : device + 1];
    power[device] = {figures.idle_w, *figures.joules / seconds(figures.run)};
  }
  power_ = std::move(power);
  predictor_.set_objective(objective);
}

// Executes two blocks for each case that has a row, those after the first ones in reverse order: a
// device that grows warm while they last then costs all of them alike. Of devices alone, rows are
// those that are the fastest of the first N for a number of devices.
void Group::measure_energy() {
  if (!given_.options.energy) return;
  std::set<const Case*> shown;
  std::vector<std::size_t> counts = given_.options.device_counts;
  counts.push_back(in_set_);
  for (const std::size_t count : counts)
    shown.insert(&fastest_alone(std::span(result_.cases).first(count)));
  std::vector<Case*> rows;
  for (Case& the_case : result_.cases)
    if (the_case.status == Status::ok && !the_case.times.empty() &&
        (!the_case.alone() || shown.contains(&the_case)))
      rows.push_back(&the_case);
  for (Case* row : rows) row->energy = energy_block(*row);
  for (Case* row : std::views::reverse(rows)) {
    if (!row->energy) continue;
    if (const auto again = energy_block(*row)) *row->energy = mean_of(*row->energy, *again);
    row->energy_reason.clear();  // what the first block found is known in any case
  }
}

// Executes one block of a case. None: the case says why.
std::optional<EnergyBlock> Group::energy_block(Case& the_case) {
  the_case.energy_reason = "it was interrupted, or its counter did not advance";
  if (given_.backend.is_virtual()) {
    the_case.energy_reason = "the devices and their clock are simulated";
    return std::nullopt;
  }
  const auto usable = [&](std::size_t i) { return is_usable(i); };
  if (stopped()) return std::nullopt;
  connect_those_left();
  if (!std::all_of(the_case.devices.begin(), the_case.devices.end(), usable)) {
    the_case.energy_reason = "a device of the case has failed since";
    return std::nullopt;
  }
  std::vector<Device> devices;
  for (const SessionDevice& device : given_.devices) devices.push_back(device.facts);
  EnergyReader reader(devices, given_.options.telemetry.value_or(TelemetryPlaces{}),
                      [&backend = given_.backend] { return backend.now(); });
  std::vector<bool> decides(devices.size() + 1);
  for (const std::size_t i : the_case.devices) decides[reader.counter_of(i)] = true;
  for (const std::size_t i : the_case.devices) {
    if (const std::string& reason = reader.reasons()[reader.counter_of(i)]; !reason.empty()) {
      the_case.energy_reason = given_.devices[i].facts.id + ": " + reason;
      return std::nullopt;
    }
  }
  Progress progress = progress_of(result_.cases, given_.problem, given_.mode, given_.options.stop);
  progress.what += std::string(", energy of ") + the_case.strategy().info->name;
  given_.observer.progress(progress);
  if (idle_.empty()) {
    if (!sleep(kEnergySettles)) return std::nullopt;
    reader.take();
    if (!sleep(2 * kLeastEnergyWindow)) return std::nullopt;
    for (const TelemetryTrack& track : reader.take())
      idle_.push_back(idle_power(track).value_or(IdlePower{}));
  }
  for (const std::size_t i : the_case.devices) {
    if (idle_[reader.counter_of(i)].watts > 0) continue;
    the_case.energy_reason = given_.devices[i].facts.id + ": its counter does not advance";
    return std::nullopt;
  }
  auto block =
      mgpu::measure_energy({[&] { return execute_for_energy(the_case); },
                            [&](Nanos pause) { sleep(pause); }, [&] { return reader.take(); }},
                           idle_, decides);
  if (!block) return std::nullopt;
  for (const std::size_t i : the_case.devices)
    if (!block->counters[reader.counter_of(i)].joules) return std::nullopt;
  the_case.energy_reason.clear();
  for (std::size_t i = 0; i < block->counters.size(); ++i)
    block->counters[i].reason = reader.reasons()[i];
  return block;
}

// Executes the case once, unverified. Returns none if it has no result or is to stop.
std::optional<TimeWindow> Group::execute_for_energy(Case& the_case) {
  if (stopped()) return std::nullopt;
  SampleRequest request = request_of(the_case, ~std::uint32_t{0});
  std::unique_ptr<SliceSource> source;
  try {
    source = predictor_.begin(the_case.prediction, the_case.strategy(), the_case.history);
  } catch (const Error& error) {
    the_case.energy_reason = error.what();
    return std::nullopt;
  }
  request.source = source.get();
  exchange(request, the_case.prediction, the_case.devices);
  const RawSample sample = execute(request);
  if (sample.interrupted) return std::nullopt;
  for (const DeviceFault& fault : sample.faults) {
    the_case.energy_reason = fault.what;
    note_loss(the_case.devices[fault.device.value], fault);
  }
  if (sample.failure) the_case.energy_reason = sample.failure->what();
  if (!sample.faults.empty() || sample.failure) return std::nullopt;
  return TimeWindow{sample.begin, sample.end};
}

// Returns false if the session is to stop.
bool Group::sleep(Nanos time) {
  constexpr Nanos kLook = std::chrono::milliseconds(100);
  for (const Nanos until = given_.backend.now() + time; given_.backend.now() < until;) {
    if (stopped()) return false;
    std::this_thread::sleep_for(std::min(kLook, until - given_.backend.now()));
  }
  return true;
}

}  // namespace mgpu
