// Does for one case at a time what lib/session/group_run.cpp does for a whole table of cases.
#include "tests/bench/suite_setup.hpp"

#include <algorithm>
#include <map>
#include <thread>

#include "lib/base/embedded.hpp"
#include "lib/device/selection.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "lib/predict/suite_rates.hpp"

namespace mgpu::bench {
namespace {

constexpr Nanos kTimeout = std::chrono::seconds(60);

std::vector<Device> default_devices(Backend& backend) {
  const std::vector<Device> all = backend.enumerate().devices;
  std::vector<Device> chosen;
  for (const std::size_t index : default_selection(all)) chosen.push_back(all[index]);
  if (chosen.empty()) throw Error(ErrorKind::no_device, "there is no OpenCL device");
  if (chosen.size() == 1 && chosen[0].is_cpu() && chosen[0].compute_units > 1)
    return backend.split(chosen[0], std::min(chosen[0].compute_units, 8u));
  return chosen;
}

}  // namespace

Machine::Machine() : backend_(make_cl_backend({embedded_kernels(), {}})) {
  for (const Device& facts : default_devices(*backend_)) {
    SessionDevice device;
    device.facts = facts;
    device.open = backend_->open(facts);
    device.free_memory = device.open->free_memory();
    devices_.push_back(std::move(device));
  }
  executor_ = std::make_unique<Executor>(*backend_, devices_.size());
}

bool Machine::only_gpus() const {
  return std::none_of(devices_.begin(), devices_.end(),
                      [](const SessionDevice& device) { return device.facts.is_cpu(); });
}

std::string Machine::words() const {
  std::map<std::string, std::size_t> counts;
  for (const SessionDevice& device : devices_) ++counts[device.facts.name];
  std::string words;
  for (const auto& [name, count] : counts)
    words += (words.empty() ? "" : ", ") + std::to_string(count) + " x " + name;
  return words;
}

SuiteSetup::SuiteSetup(Machine& machine, const SuiteInfo& suite, std::uint64_t size, Mode mode)
    : machine_(machine), mode_(mode) {
  SuiteParams params =
      problem_of_reference_size({&suite, {}}, true).params;  // every option at its default
  params.size = size;
  params.seed = 1;
  params.devices = machine.devices().size();
  if (suite.check != nullptr) suite.check(params);
  if (suite.optional.resolve != nullptr) suite.optional.resolve(params);
  workload_ = suite.make(params);
  std::vector<OpenDevice*> open;
  for (SessionDevice& device : machine.devices()) open.push_back(device.open.get());
  pinned_ = machine.backend().pin(workload_->transfer_memory(), open);
  prepared_.resize(open.size());
  for (std::uint32_t i = 0; i < open.size(); ++i) {
    Prepared& mine = prepared_[i];
    mine.capacity = workload_->capacity(open[i]->resources().traits(), mode);
    if (mine.capacity.fits == 0)
      throw Error(ErrorKind::unsupported,
                  machine.devices()[i].facts.id + ": " + mine.capacity.reason);
    mine.program = workload_->program(open[i]->resources(), mode, mine.capacity);
    if (SelfTested* const self_tested = mine.program->interfaces().self_tested) {
      const Completion completion = self_tested->self_test(open[i]->stream());
      finish_on(i);
      completion();
    }
    if (mode == Mode::end_to_end) continue;
    mine.program->load(open[i]->stream());
    finish_on(i);
  }
  case_.asked = open.size();
  std::vector<KnownDevice> known;
  for (std::size_t i = 0; i < open.size(); ++i) {
    case_.devices.push_back(i);
    known.push_back({.facts = &machine.devices()[i].facts});
  }
  predictor_.emplace(*workload_, mode, std::move(known), open.size(), nullptr, nullptr);
  for (std::size_t i = 0; i < open.size(); ++i)
    predictor_->set_capacity(i, prepared_[i].capacity, machine.devices()[i].free_memory);
  probe(case_.devices);  // a warm-up
  for (const std::size_t i : case_.devices) probe({&i, 1});
  probe(case_.devices);
  case_.prediction.estimates = predictor_->estimate(case_.devices);
}

void SuiteSetup::finish_on(std::size_t index) {
  OpenDevice& device = *machine_.devices()[index].open;
  finish_batch(machine_.backend(), device, device.submit());
}

std::vector<Participant> SuiteSetup::participants(std::span<const std::size_t> devices) {
  std::vector<Participant> participants;
  for (const std::size_t i : devices)
    participants.push_back({machine_.devices()[i].open.get(), prepared_[i].program.get()});
  return participants;
}

void SuiteSetup::probe(std::span<const std::size_t> devices) {
  const auto faults =
      predictor_->probe(machine_.backend(), machine_.executor(), devices, participants(devices));
  if (!faults.empty()) throw Error(ErrorKind::device, faults.front().what);
}

void SuiteSetup::begin(const StrategyChoice& strategy) {
  case_.choice = &strategy;
  case_.history.clear();
}

Nanos SuiteSetup::sample() {
  const auto source = predictor_->begin(case_.prediction, case_.strategy(), case_.history);
  SampleRequest request;
  request.workload = workload_.get();
  request.source = source.get();
  request.merge_device = fastest_of(case_.prediction.estimates.devices);
  request.timeout = kTimeout;
  request.participants = participants(case_.devices);
  const RawSample raw = machine_.executor().run(request);
  if (raw.failure) throw *raw.failure;
  if (!raw.faults.empty()) throw Error(ErrorKind::device, raw.faults.front().what);
  case_.history.push_back(share_of(raw, case_.devices.size()));
  return raw.makespan();
}

void SuiteSetup::verify() {
  if (workload_->shape().result_on_devices) {
    for (std::size_t i = 0; i < case_.devices.size(); ++i) {
      const Completion completion =
          prepared_[i].program->publish(machine_.devices()[i].open->stream());
      finish_on(i);
      if (completion) completion();
    }
  }
  const Verdict verdict = workload_->verify(VerifyLevel::full, 1);
  if (verdict.status != Verdict::Status::passed)
    throw Error(ErrorKind::device, "wrong result: " + verdict.message);
}

}  // namespace mgpu::bench
