// How the kernels of a slowed device are made to take longer. If it is a GPU, slowed from the
// start, its queue spins behind the kernels of a batch for the extra time that they are known to
// need; else it is held until the host has seen how long they took.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "lib/opencl/cl_spin.hpp"
#include "lib/opencl/cl_stalls.hpp"
#include "lib/opencl/kernel_times.hpp"

namespace mgpu {

class ClSlowDown {
 public:
  struct Added {
    cl::Event since, end;          // begins when `since` ends
    std::optional<Nanos> counted;  // counting time of a spin
  };

  // Spins from now on if it can. Throws what ClSpin::open throws.
  void may_spin(const cl::Context& context, const cl::CommandQueue& queue,
                const cl::Program& program, const std::function<void(const cl::Event&)>& wait) {
    spin_.open(context, queue, program, wait);
  }
  void launched(LaunchKey key, cl::Event event) { kernels_.push_back({key, std::move(event)}); }
  // Adds the extra time of the kernels launched since the last call. Returns nothing when there
  // were none, or when what they owe is shorter than a spin: the next call makes up for it. Throws
  // cl::Error.
  std::optional<Added> add(const cl::Context& context, const cl::CommandQueue& queue,
                           ClStalls& stalls, const SlowDown& slow_down);

  // Record times that were measured afterwards.
  void took(LaunchKey key, Nanos time) { times_.saw(key, time); }
  void spun(Nanos counted, Nanos time) { spin_.learn(counted, time); }

 private:
  struct Launched {
    LaunchKey key;
    cl::Event event;
  };
  // Returns the extra time of the kernels; nothing: not known yet, or not suitable for a spin.
  std::optional<Nanos> expected(const SlowDown& slow_down) const;

  std::vector<Launched> kernels_;
  KernelTimes times_;
  ClSpin spin_;
  Nanos owed_{};  // extra time too short to spin for; below zero: the last spin was too long
};

}  // namespace mgpu
