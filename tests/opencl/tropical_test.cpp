// Kernels of the tropical and the geometric suite that other GPUs than NVIDIA's are given, on the
// devices there are: those of CPUs and of NVIDIA are run by the tests of the command line.
#include <doctest/doctest.h>

#include "suites/geometric/geometric_workload.hpp"
#include "suites/suites.hpp"
#include "tests/support/machine.hpp"

using namespace mgpu;
using namespace mgpu::testing;

namespace {

std::unique_ptr<Workload> workload_of(const char* suite, std::uint64_t size,
                                      const std::map<std::string, std::string>& given) {
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != suite) continue;
    SuiteParams params;
    params.size = size;
    params.seed = 5;
    params.host_threads = 2;
    for (const SuiteOption& option : info.options)
      if (option.kind != SuiteOption::Kind::flag)
        params.options[option.name] = option.values.front();
    for (const auto& [name, value] : given) params.options[name] = value;
    return info.make(params);
  }
  return nullptr;
}

void check_as_gpu(Workload& workload, std::size_t devices, const char* strategy) {
  Programs made = make_programs(workload, Mode::resident, Path::gpu, 0, devices, " -DROLLED");
  take_sample(workload, made, strategy, Mode::resident);
  for (std::size_t i = 0; i < made.programs.size(); ++i) {
    made.programs[i]->publish(machine().open[i]->stream());
    wait_for(*machine().open[i]);
    made.programs[i]->published();
  }
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}

}  // namespace

TEST_CASE(
    "portable products are those of a plain loop, and so is which k they are of, on ragged "
    "shapes") {
  const auto workload = workload_of("tropical", 70,
                                    {{"cols", "37"},
                                     {"inner", "45"},
                                     {"paths", "yes"},
                                     {"data", "negative"},
                                     {"density", "0.3"}});
  check_as_gpu(*workload, 0, "equal");
}

TEST_CASE(
    "portable rounds of shortest paths give Dijkstra's lengths and paths, with blocks that are "
    "closed in two steps") {
  const auto workload = workload_of("tropical", 290,
                                    {{"op", "apsp"},
                                     {"precision", "int32"},
                                     {"paths", "yes"},
                                     {"data", "negative"},
                                     {"density", "0.03"}});
  check_as_gpu(*workload, 1, "single");
}

TEST_CASE(
    "multivectors that go by way of local memory are multiplied as those that do not, to the same "
    "bits") {
  const auto workload = workload_of("geometric", 700, {{"algebra", "2,1,1"}, {"op", "sandwich"}});
  const auto names = workload->kernel_variants(AsGpu(machine().open.front()->resources()).traits());
  REQUIRE(names.front() == "staged 64 large");
  REQUIRE(names.back() == "direct 32 large");
  check_as_gpu(*workload, 0, "equal");
  const std::string staged = workload->digest();
  REQUIRE(workload->prefer(AsGpu(machine().open.front()->resources()).traits(), names.back()));
  check_as_gpu(*workload, 1, "single");
  CHECK(workload->digest() == staged);
}
