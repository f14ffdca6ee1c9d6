// Stages as other GPUs than NVIDIA's are given them, on the devices there are: those of CPUs and of
// NVIDIA are run by the tests of the command line.
#include <doctest/doctest.h>

#include "suites/pipeline/pipeline_workload.hpp"
#include "tests/support/machine.hpp"

using namespace mgpu;
using namespace mgpu::testing;

TEST_CASE(
    "batches go through kernels for GPUs to the bits of the host's stages, whole groups and ragged "
    "ones") {
  SuiteParams params;
  params.size = 150;
  params.seed = 3;
  params.host_threads = 2;
  params.options = {{"stages", "hash,transform:2,product:2,reduction"},
                    {"place", "data"},
                    {"width", "32"},
                    {"batch", "70"}};
  pipeline::DataWorkload workload(pipeline::problem_of(params), params);
  Programs made = make_programs(workload, Mode::resident, Path::gpu, 0, 1, " -DROLLED");
  CHECK(made.programs.front()->kernel_variant() == "groups of 64");
  take_sample(workload, made, "single", Mode::resident);
  made.programs.front()->publish(machine().open.front()->stream());
  wait_for(*machine().open.front());
  made.programs.front()->published();
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}
