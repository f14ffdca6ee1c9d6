// Runs every kernel once, at sizes of a few items, as GPUs and as CPUs launch it. To be run under
// Oclgrind, which interprets each instruction (check.py does so). Results are verified too.
#include <doctest/doctest.h>

#include "lib/measure/calibration.hpp"
#include "suites/msm/msm_workload.hpp"
#include "tests/oclgrind/simulator.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::test {
namespace {

// Does the work of a worker on this thread: Oclgrind 21.10 crashes if another thread launches while
// it looks for uninitialised values.
void compute(Workload& workload, Mode mode, bool cpu, Items slice = 0) {
  INFO(to_string(mode), cpu ? " as on CPUs" : " as on GPUs");
  OpenDevice& device = simulator();
  Stream& stream = device.stream();
  Disguised resources(device, cpu);
  const Capacity capacity = workload.capacity(resources.traits(), mode);
  REQUIRE(capacity.fits > 0);
  const auto program = workload.program(resources, mode, capacity);
  if (SelfTested* const self_tested = program->interfaces().self_tested) {
    const Completion completion = self_tested->self_test(stream);
    finish(device);
    completion();
  }
  if (mode != Mode::end_to_end) program->load(stream);
  finish(device);
  if (SizedByDevices* const sized = workload.sized_by_devices()) sized->set_device_count(1);
  workload.begin_sample();
  program->prepare(stream);
  const Items items = workload.shape().items, most = slice > 0 ? slice : capacity.pipeline;
  unsigned number = 0;
  for (Items begin = 0; begin < items; begin += most, ++number) {
    const Slice part{begin, std::min(items, begin + most)};
    program->enqueue(part, number % 2, stream);
    finish(device);
    for (std::uint32_t round = 0; round < workload.shape().rounds;) {
      round += program->interfaces().iterative->enqueue_rounds(
          part, round, workload.shape().rounds - round, stream);
      finish(device);
    }
    if (program->result_policy() == ResultPolicy::slice) program->finished(part);
  }
  const auto complete = [&](const Completion& completion) {
    finish(device);
    if (completion) completion();
  };
  complete(program->collect(stream));
  DeviceMerge* const merge = workload.device_merge();
  if (merge != nullptr &&
      merge->merge_on_device(resources.traits(), std::chrono::microseconds(1))) {
    complete(program->interfaces().merging->merge(stream));
  } else {
    workload.merge();
  }
  complete(program->publish(stream));
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}

constexpr bool kAsGpu = false, kAsCpu = true;

std::unique_ptr<Workload> workload_of(const char* suite, std::uint64_t size, const Options& given,
                                      std::size_t devices = 1) {
  std::string text = suite;
  for (const auto& [name, value] : given) text += ' ' + name + '=' + value;
  CAPTURE(text);
  SuiteParams params = suite_params(suite, size, given);
  params.host_threads = 1;
  params.devices = devices;
  return suite_named(suite).make(params);
}

void compute(const char* suite, std::uint64_t size, const Options& given, Mode mode, bool cpu,
             Items slice = 0) {
  compute(*workload_of(suite, size, given), mode, cpu, slice);
}

void compute_trees(bool cpu) {
  for (const char* tree : {"plain", "rfc6962", "rfc6962-digests"})
    for (const std::uint64_t leaves : {1, 3, 6})
      compute("merkle", leaves, {{"tree", tree}}, leaves % 2 ? Mode::resident : Mode::end_to_end,
              cpu);
  compute("merkle", 21, {}, Mode::end_to_end, cpu, 3);
  compute("merkle", 5, {{"trees", "3"}}, Mode::resident, cpu);
  for (const std::uint64_t leaves : {1, 3, 37})
    compute("merkle", leaves, {{"tree", "bitcoin"}}, Mode::resident, cpu);
  for (const char* hash : {"sha256", "keccak256", "blake3"})
    for (const auto& [tree, bytes] : {std::pair{"hashed", "5"}, {"rfc6962", "139"}})
      compute("merkle", 3, {{"hash", hash}, {"tree", tree}, {"leaf-bytes", bytes}},
              Mode::end_to_end, cpu);
  compute("merkle", 3, {{"hash", "blake3"}, {"tree", "hashed"}, {"leaf-bytes", "2050"}},
          Mode::end_to_end, cpu);
}

void compute_fisher(std::uint64_t points, const Options& options,
                    const std::vector<bool>& on_cpus = {kAsGpu, kAsCpu}) {
  for (const bool cpu : on_cpus)
    for (const Mode mode : {Mode::resident, Mode::end_to_end})
      compute("fisher", points, options, mode, cpu);
}

void compute_models(bool cpu) {
  for (const auto& [model, dim] : {std::pair{"softmax", "10"},
                                   {"softmax", "70"},
                                   {"logistic", "7"},
                                   {"gaussian", "6"},
                                   {"gaussian", "40"}})
    compute_fisher(3, {{"regime", "models"}, {"model", model}, {"dim", dim}, {"scores", "9"}},
                   {cpu});
}

void compute_stencils(bool cpu) {
  for (const char* precision : {"fp32", "fp64"}) {
    for (const auto& [kind, radius, size] : {std::tuple{"jacobi2d", "2", 37},
                                             {"heat3d", "2", 9},
                                             {"star", "1", 37},
                                             {"star", "4", 37}}) {
      for (const bool split : {false, true}) {
        Options options{{"kind", kind}, {"precision", precision}, {"iterations", "2"}};
        if (*kind == 's') options["radius"] = radius;
        if (split) options["split"] = "blocks";
        if (!split && *kind == 'j') options["check-every"] = "1";
        // One of the two devices computes everything.
        compute(*workload_of("stencil", static_cast<std::uint64_t>(size), options, split ? 2 : 1),
                cpu ? Mode::resident : Mode::end_to_end, cpu);
      }
    }
  }
}

void compute_stages(bool cpu) {
  for (const auto& [place, mode] :
       {std::pair{"data", Mode::end_to_end}, {"pipeline", Mode::resident}})
    compute("pipeline", 5,
            {{"stages", "hash,transform,product:2,reduction:2,hash"},
             {"place", place},
             {"width", "32"},
             {"batch", "3"}},
            mode, cpu);
  for (const char* fuse : {"no", "yes"})
    compute("pipeline", 5,
            {{"stages", "tropical,dual,transform,clifford:2,product,reduction:2"},
             {"place", "data"},
             {"width", "32"},
             {"batch", "3"},
             {"fuse", fuse}},
            Mode::resident, cpu);
}

void compute_tropical(bool cpu) {
  compute("tropical", 6, {{"op", "network"}, {"layers", "3"}, {"width", "7"}, {"iterations", "3"}},
          Mode::resident, cpu);
  for (const bool is_first : {true, false}) {
    const Options numbers{{"precision", is_first ? "fp32" : "int32"},
                          {"semiring", is_first ? "min-plus" : "max-plus"},
                          {"data", "negative"},
                          {"density", "0.4"}};
    auto product = numbers, graph = numbers;
    product.insert({{"cols", "37"}, {"inner", "11"}, {"axis", cpu ? "tiles" : "cols"}});
    graph.insert({"op", "apsp"});
    (is_first ? product : graph)["paths"] = "yes";
    compute("tropical", 35, product, cpu ? Mode::end_to_end : Mode::resident, cpu);
    compute("tropical", 35, graph, cpu ? Mode::resident : Mode::end_to_end, cpu);
  }
}

}  // namespace
}  // namespace mgpu::test

// The linker replaces clBuildProgram by the second, which calls it (tests/CMakeLists.txt).
// NOLINTBEGIN(bugprone-reserved-identifier): these names are the linker's.
extern "C" decltype(clBuildProgram) __real_clBuildProgram;
extern "C" cl_int CL_API_CALL __wrap_clBuildProgram(cl_program program, cl_uint count,
                                                    const cl_device_id* devices,
                                                    const char* options,
                                                    void(CL_CALLBACK* notify)(cl_program, void*),
                                                    void* data) {
  mgpu::test::let_this_thread_write();
  return __real_clBuildProgram(program, count, devices, options, notify, data);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace mgpu::test {

TEST_CASE("merkle, as on GPUs") { compute_trees(kAsGpu); }
TEST_CASE("merkle, as on CPUs") { compute_trees(kAsCpu); }

TEST_CASE("msm") {
  bool cpu = false;
  for (const char* curve : {"bn254", "bls12_381"}) {
    for (const Mode mode : {Mode::resident, msm::scalars_mode, Mode::end_to_end}) {
      compute("msm", 5,
              {{"curve", curve},
               {"axis", mode == msm::scalars_mode ? "windows" : "points"},
               {"scalars", mode == Mode::resident ? "witness" : "uniform"},
               {"window", "4"}},
              mode, cpu);
      cpu = !cpu;
    }
  }
}

TEST_CASE("msm, a batch") {
  compute("msm", 5, {{"batch", "3"}, {"window", "4"}}, msm::scalars_mode, kAsGpu);
}

TEST_CASE("matrix") {
  for (const bool cpu : {kAsGpu, kAsCpu})
    for (const char* precision : {"fp32", "fp64"})
      for (const char* axis : {"rows", "cols", "tiles"})
        compute("matrix", 37,
                {{"precision", precision},
                 {"axis", axis},
                 {"cols", "41"},
                 {"inner", "19"},
                 {"alpha", "1.5"},
                 {"beta", "2"}},
                *axis == 'c' ? Mode::resident : Mode::end_to_end, cpu);
}

TEST_CASE("fisher, one matrix from scores") {
  compute_fisher(70, {{"dim", "21"}});
  compute_fisher(33, {{"dim", "9"}, {"precision", "fp64"}});
  compute_fisher(40, {{"model", "logistic"}, {"dim", "7"}});
  compute_fisher(30, {{"model", "softmax"}, {"dim", "5"}, {"classes", "4"}});
}

TEST_CASE("fisher, a matrix at each point from scores drawn there, as on GPUs") {
  compute_models(kAsGpu);
}
TEST_CASE("fisher, a matrix at each point from scores drawn there, as on CPUs") {
  compute_models(kAsCpu);
}

TEST_CASE("fisher, closed forms") {
  for (const char* family : {"normal", "normal-variance", "gamma", "gamma-mean", "beta", "poisson",
                             "geometric", "exponential", "laplace", "binomial"}) {
    for (const char* precision : {"fp32", "fp64"})
      compute_fisher(7, {{"regime", "closed"}, {"family", family}, {"precision", precision}});
  }
  for (const char* family : {"dirichlet", "categorical", "categorical-free"}) {
    for (const char* dim : {"5", "40"})
      compute_fisher(3, {{"regime", "closed"}, {"family", family}, {"dim", dim}});
  }
}

TEST_CASE("stencil, as on GPUs") { compute_stencils(kAsGpu); }
TEST_CASE("stencil, as on CPUs") { compute_stencils(kAsCpu); }

// Uses one work-group, which is its own neighbour: others would only begin when it ends.
TEST_CASE("persistent stencil, as on GPUs") {
  for (const char* precision : {"fp32", "fp64"})
    compute("stencil", 37, {{"precision", precision}, {"iterations", "4"}, {"steps", "persistent"}},
            Mode::resident, kAsGpu);
}

TEST_CASE("lbm, as on GPUs") {
  for (const char* flow : {"taylor-green", "cavity", "channel"})
    for (const auto& [lattices, storage] : {std::pair{"two", "fp32"}, {"one", "fp16"}})
      compute("lbm", 5,
              {{"case", flow},
               {"planes", "4"},
               {"iterations", "3"},
               {"lattices", lattices},
               {"storage", storage}},
              Mode::end_to_end, kAsGpu);
}

TEST_CASE("phase-amplitude coupling") {
  for (const auto& [length, sums, axis] : {std::tuple{"64", "direct", "batch"},
                                           {"63", "direct", "permutation"},
                                           {"256", "transform", "permutation"}}) {
    Options options{{"channels", "1"}, {"pha", "8:8:1"},   {"amp", "60:60:1"}, {"bins", "4"},
                    {"perm", "5"},     {"length", length}, {"sums", sums},     {"axis", axis}};
    if (*sums == 'd') options["fs"] = "128", options["amp"] = "40:40:1";
    for (const bool cpu : {kAsGpu, kAsCpu}) compute("pac", 1, options, Mode::end_to_end, cpu, 5);
  }
}

TEST_CASE("tropical, as on GPUs") { compute_tropical(kAsGpu); }
TEST_CASE("tropical, as on CPUs") { compute_tropical(kAsCpu); }

TEST_CASE("geometric") {
  for (const char* precision : {"fp32", "fp64"}) {
    for (const auto& [algebra, operation] : {std::pair{"3,0,0", "geometric"},
                                             {"2,0,1", "sandwich"},
                                             {"1,1,0", "outer"},
                                             {"0,0,0", "inner"}}) {
      for (const bool cpu : {kAsGpu, kAsCpu}) {
        const auto workload = workload_of(
            "geometric", 70, {{"algebra", algebra}, {"op", operation}, {"precision", precision}});
        const DeviceTraits traits = Disguised(simulator(), cpu).traits();
        for (const std::string& variant : workload->tunable()->kernel_variants(traits)) {
          CAPTURE(variant);
          REQUIRE(workload->tunable()->prefer(traits, variant));
          compute(*workload, cpu ? Mode::resident : Mode::end_to_end, cpu);
        }
      }
    }
  }
}

TEST_CASE("ntt") {
  for (const char* field : {"babybear", "goldilocks", "bn254"}) {
    for (const auto& [order, batch] : {std::pair{"nn", "1"}, {"nr", "2"}, {"rn", "1"}}) {
      for (const bool cpu : {kAsGpu, kAsCpu}) {
        const auto workload = workload_of(
            "ntt", 64, {{"field", field}, {"order", order}, {"batch", batch}, {"op", "intt"}});
        compute(*workload, cpu ? Mode::resident : Mode::end_to_end, cpu);
      }
    }
  }
  for (const bool cpu : {kAsGpu, kAsCpu}) {
    for (const char* op : {"lde", "commit"})
      compute(*workload_of("ntt", 16, {{"field", "koalabear"}, {"op", op}, {"batch", "9"}}),
              Mode::resident, cpu);
  }
}

TEST_CASE("calibration") {
  OpenDevice& device = simulator();
  Disguised resources(device, false);
  for (const char* options : {"-DFLOATS=float4 -DUINTS=uint4 -DDOUBLES=double2 -DLINEAR",
                              "-DFLOATS=float -DUINTS=uint -DDOUBLES=double"}) {
    const auto kernel = [&](const char* entry) {
      return resources.kernel(kCalibrationKernels, entry, options);
    };
    constexpr std::size_t items = 4;
    const std::vector<std::byte> zeros(items * 64);
    const auto from = resources.allocate(zeros.size()), to = resources.allocate(zeros.size());
    device.stream().upload(*from, 0, zeros);
    const auto fp32 = kernel("fp32"), fp64 = kernel("fp64"), int32 = kernel("int32"),
               copy = kernel("copy"), nothing = kernel("nothing"), least = kernel("least");
    const Grid grid{{items, 1, 1}, {1, 1, 1}};
    device.stream().launch(*fp32, grid, {to.get(), std::uint32_t{1}, 0.5f, 0.0f});
    device.stream().launch(*fp64, grid, {to.get(), std::uint32_t{1}, 0.5, 0.0});
    device.stream().launch(*int32, grid, {to.get(), std::uint32_t{1}, std::uint32_t{5}});
    device.stream().launch(*copy, grid, {from.get(), to.get(), std::uint32_t{4}});
    device.stream().launch(*nothing, {{1, 1, 1}, {1, 1, 1}}, {std::uint32_t{0}});
    device.stream().launch(*least, grid, {to.get()});
    finish(device);
  }
  const auto out = resources.allocate(4);
  const auto spin = resources.kernel("spin.cl", "spin", "");
  device.stream().launch(*spin, {{1, 1, 1}, {1, 1, 1}}, {out.get(), std::uint32_t{2}});
  finish(device);
}

TEST_CASE("pipeline, as on GPUs") { compute_stages(kAsGpu); }
TEST_CASE("pipeline, as on CPUs") { compute_stages(kAsCpu); }

}  // namespace mgpu::test
