// How a slowed device's kernels are made to take longer: behind those of a batch its queue spins
// for as long as they are known to need (GPUs, slowed from the start), else it is held until the
// host has seen how long they took.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "lib/opencl/cl_holds.hpp"
#include "lib/opencl/cl_spin.hpp"
#include "lib/opencl/kernel_times.hpp"

namespace mgpu {

class ClSlowDown {
 public:
  struct Added {
    cl::Event since, end;          // it begins when `since` ends
    std::optional<Nanos> counted;  // a spin that counts for so long
  };

  // Spins from now on where it can. Throws as ClSpin::open.
  void may_spin(const cl::Context& context, const cl::CommandQueue& queue,
                const cl::Program& program, const std::function<void(const cl::Event&)>& wait) {
    spin_.open(context, queue, program, wait);
  }
  void launched(LaunchKey key, cl::Event event) { kernels_.push_back({key, std::move(event)}); }
  // Behind the kernels launched since the last time; nothing when there were none, or when what
  // they owe is less than a spin takes: the next one makes up for it. Throws cl::Error.
  std::optional<Added> add(const cl::Context& context, const cl::CommandQueue& queue,
                           ClHolds& holds, const SlowDown& slow_down);

  // Seen afterwards.
  void took(LaunchKey key, Nanos time) { times_.saw(key, time); }
  void spun(Nanos counted, Nanos time) { spin_.learn(counted, time); }

 private:
  struct Launched {
    LaunchKey key;
    cl::Event event;
  };
  std::optional<Nanos> expected(const SlowDown& slow_down)
      const;  // of the kernels; nothing: not known yet, or no matter for a spin

  std::vector<Launched> kernels_;
  KernelTimes times_;
  ClSpin spin_;
  Nanos owed_{};  // by spins that were not worth it; below zero: the last was too long
};

}  // namespace mgpu
