// A problem resident on one device: the time of its kernels there, including launches and
// collecting, and whether its results are right. suite_setup.hpp does so on all devices of a
// machine, like a session.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "lib/exec/executor.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu::bench {

class Resident {
 public:
  Resident(Backend& backend, const Device& device, std::unique_ptr<Workload> workload)
      : open_(backend.open(device)), executor_(backend, 1), workload_(std::move(workload)) {
    const Capacity capacity = workload_->capacity(open_->resources().traits(), Mode::resident);
    program_ = workload_->program(open_->resources(), Mode::resident, capacity);
    program_->load(open_->stream());
    finish();
    estimate_.fits = capacity.fits;
    estimate_.pipeline = capacity.pipeline;
  }

  // Executes the whole problem once. Throws Error when the device fails.
  Nanos sample(const std::string& strategy = "single") {
    const Shape& shape = workload_->shape();
    const PlanRequest plan{
        shape.items, shape.granularity, Mode::resident, shape.cost, {&estimate_, 1}, 0, 0};
    const StrategyChoice choice = parse_strategies(strategy).front();
    const auto source = choice.info->make(choice.params)->begin(plan, {});
    SampleRequest request;
    request.workload = workload_.get();
    request.source = source.get();
    request.participants = {{open_.get(), program_.get()}};
    const RawSample raw = executor_.run(request);
    if (raw.failure) throw *raw.failure;
    return raw.makespan();
  }

  // Returns true if the result of the last sample is right.
  bool right() {
    if (workload_->shape().result_on_devices) {  // it is still on the device
      const Completion completion = program_->publish(open_->stream());
      finish();
      if (completion) completion();
    }
    return workload_->verify(VerifyLevel::full, 1).status == Verdict::Status::passed;
  }

  const Shape& shape() const { return workload_->shape(); }
  std::string kernel_variant() const { return program_->kernel_variant(); }

 private:
  void finish() {  // waits for everything on the stream
    const BatchId batch = open_->submit();
    while (!open_->complete(batch)) std::this_thread::yield();
    open_->take(batch);
  }

  std::unique_ptr<OpenDevice> open_;
  Executor executor_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<DeviceProgram> program_;
  DeviceEstimate estimate_;
};

}  // namespace mgpu::bench
