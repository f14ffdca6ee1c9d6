// Work of suites whose results show whether devices compute right: each device computes all of it
// alone, again and again, and all results must have the same bits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/executor.hpp"
#include "lib/report/check.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

struct CheckWork {
  std::string words;  // "SHA-256 tree"
  Problem problem;
  VerifyLevel verify = VerifyLevel::full;  // of each digest that is new
};

class WorkRuns {
 public:
  // `devices`: those that will run it. Throws Error(out_of_memory).
  WorkRuns(Backend& backend, Executor& executor, const CheckWork& work,
           std::span<const Device> devices);
  ~WorkRuns();
  WorkRuns(const WorkRuns&) = delete;
  WorkRuns& operator=(const WorkRuns&) = delete;

  // Runs the work once on the device, which must outlive this object, and adds the result to
  // `results`. Returns false if the device cannot do it. Throws Error(device), Error(timeout),
  // Error(interrupted): the device must then be given up.
  bool run(OpenDevice& device, CheckedWork& results);
  // Leaks everything at the end, as a device that failed may be using it.
  void leave();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu
