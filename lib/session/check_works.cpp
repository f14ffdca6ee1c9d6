#include "lib/session/check_works.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/exec/leak.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/predict/probe.hpp"

namespace mgpu {

struct WorkRuns::State {
  struct PreparedProgram {
    Capacity capacity;
    std::unique_ptr<DeviceProgram> program;  // null: the device cannot do the work
  };

  Backend& backend;
  Executor& executor;
  CheckWork work;
  std::unique_ptr<Workload> workload;
  std::map<OpenDevice*, PreparedProgram> programs = {};
  std::map<std::string, VerifyStatus> verified = {};
  bool in_use = false;  // a device that failed may still use all this

  PreparedProgram& prepare(OpenDevice& device) {
    const auto known = programs.find(&device);
    if (known != programs.end()) return known->second;
    PreparedProgram& mine = programs[&device];
    mine.capacity = workload->capacity(device.resources().traits(), Mode::resident);
    if (mine.capacity.fits < workload->shape().items) return mine;
    mine.program = workload->program(device.resources(), Mode::resident, mine.capacity);
    if (SelfTested* const self_tested = mine.program->interfaces().self_tested)
      complete(backend, device, self_tested->self_test(device.stream()));
    mine.program->load(device.stream());
    finish_batch(backend, device, device.submit());
    return mine;
  }

  void compute(OpenDevice& device, const PreparedProgram& mine) {
    const Shape& shape = workload->shape();
    std::vector<DeviceEstimate> estimates(1);
    estimates.front().items_per_s = 1;
    estimates.front().fits = mine.capacity.fits;
    estimates.front().pipeline = mine.capacity.pipeline;
    PlanRequest plan;
    plan.items = shape.items;
    plan.granularity = shape.granularity;
    plan.mode = Mode::resident;
    plan.cost = cost_of(*workload, Mode::resident);
    plan.devices = estimates;
    plan.rounds = shape.rounds;
    const StrategyChoice choice = strategy_with(&StrategyTraits::equal_shares);
    const auto source = choice.info->make(choice.params)->begin(plan, {});
    SampleRequest request;
    request.workload = workload.get();
    request.source = source.get();
    request.participants = {{&device, mine.program.get()}};
    request.timeout = backend.limits().answer;
    request.stop = backend.limits().stop;
    const RawSample sample = executor.run(request);
    for (const DeviceFault& fault : sample.faults) throw Error(fault.kind, fault.what);
    if (sample.interrupted) throw Error(ErrorKind::interrupted, "stopped");
    if (sample.failure) throw Error(*sample.failure);
  }

  VerifyStatus verify(const std::string& digest) {
    const auto known = verified.find(digest);
    if (known != verified.end()) return known->second;
    const Verdict verdict = workload->verify(work.verify, 1);
    return verified[digest] = verdict.status == Verdict::Status::failed   ? VerifyStatus::failed
                              : verdict.status == Verdict::Status::passed ? VerifyStatus::passed
                                                                          : VerifyStatus::off;
  }
};

WorkRuns::WorkRuns(Backend& backend, Executor& executor, const CheckWork& work,
                   std::span<const Device> devices)
    : state_(std::make_unique<State>(
          State{backend, executor, work, make_workload(work.problem, devices)})) {
  const WaitLimits& limits = backend.limits();
  state_->workload->set_host_watch({limits.stop, nullptr, limits.answer + limits.build});
}

WorkRuns::~WorkRuns() {
  if (state_->in_use) leak(std::move(state_));
}

void WorkRuns::leave() { state_->in_use = true; }

bool WorkRuns::run(OpenDevice& device, CheckedWork& results) {
  try {
    const State::PreparedProgram& mine = state_->prepare(device);
    if (!mine.program) return false;
    state_->compute(device, mine);
    complete(state_->backend, device, mine.program->publish(device.stream()));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported || error.kind() == ErrorKind::out_of_memory) {
      state_->programs[&device].program.reset();
      return false;
    }
    throw;
  }
  const std::string digest = state_->workload->digest();
  auto one = std::find_if(results.digests.begin(), results.digests.end(),
                          [&](const auto& known) { return known.digest == digest; });
  if (one == results.digests.end())
    one = results.digests.insert(one, {digest, 0, state_->verify(digest)});
  ++one->runs;
  return true;
}

}  // namespace mgpu
