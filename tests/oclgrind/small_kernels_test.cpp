// Every kernel once, at sizes of a few items, as GPUs and as CPUs launch it: to be run under
// Oclgrind, which interprets each instruction (check.py does). Results are verified on the way.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "lib/exec/calibration.hpp"
#include "suites/fisher/gram_workload.hpp"
#include "suites/fisher/points_workload.hpp"
#include "suites/lbm/lbm_workload.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/pac/pac_workload.hpp"
#include "suites/pipeline/pipeline_workload.hpp"
#include "suites/stencil/stencil_workload.hpp"
#include "suites/suites.hpp"
#include "tests/oclgrind/simulator.hpp"
#include "tests/support/fisher_problem.hpp"
#include "tests/support/lbm_params.hpp"
#include "tests/support/pac_problem.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// What a worker does, on this thread: Oclgrind 21.10 crashes when another one launches while it
// looks for uninitialised values.
void compute(Workload& workload, Mode mode, bool cpu, Items slice = 0) {
  CAPTURE(to_string(mode));
  CAPTURE(cpu);
  OpenDevice& device = simulator();
  Stream& stream = device.stream();
  Disguised resources(device, cpu);
  const Capacity capacity = workload.capacity(resources.traits(), mode);
  REQUIRE(capacity.fits > 0);
  const auto program = workload.program(resources, mode, capacity);
  program->self_test(stream);
  finish(device);
  program->self_tested();
  if (mode != Mode::end_to_end) program->load(stream);
  finish(device);
  workload.expect(1);
  workload.begin_sample();
  program->prepare(stream);
  const Items items = workload.shape().items, most = slice > 0 ? slice : capacity.pipeline;
  unsigned number = 0;
  for (Items begin = 0; begin < items; begin += most, ++number) {
    const Slice part{begin, std::min(items, begin + most)};
    program->enqueue(part, number % 2, stream);
    finish(device);
    for (std::uint32_t round = 0; round < workload.shape().rounds;) {
      round += program->enqueue_rounds(part, round, workload.shape().rounds - round, stream);
      finish(device);
    }
    if (program->brings() == Brings::slice) program->finished(part);
  }
  program->collect(stream);
  finish(device);
  program->collected();
  if (workload.merge_on_device(resources.traits())) {
    program->merge(stream);
    finish(device);
    program->merged();
  } else {
    workload.merge();
  }
  program->publish(stream);
  finish(device);
  program->published();
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}

void compute_trees(bool cpu) {
  using merkle::TreeKind;
  for (const TreeKind kind : {TreeKind::plain, TreeKind::rfc6962, TreeKind::rfc6962_digests}) {
    for (const std::uint64_t leaves : {1, 3, 6}) {
      merkle::MerkleWorkload workload(kind, merkle::Leaves::random(leaves, 11 + leaves, 1), 1);
      compute(workload, leaves % 2 ? Mode::resident : Mode::end_to_end, cpu);
    }
  }
  merkle::MerkleWorkload workload(TreeKind::plain, merkle::Leaves::random(21, 5, 1), 1);
  compute(workload, Mode::end_to_end, cpu, 3);
}

void compute_fisher(std::uint64_t points, const std::map<std::string, std::string>& options,
                    const std::vector<bool>& on_cpus = {false, true}) {
  for (const auto& [name, value] : options) CAPTURE(name + "=" + value);
  for (const bool cpu : on_cpus) {
    for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
      const SuiteParams params = testing::fisher_params(points, options);
      if (params.options.at("regime") == "empirical") {
        fisher::GramWorkload workload(params);
        compute(workload, mode, cpu);
      } else {
        fisher::PointsWorkload workload(params);
        compute(workload, mode, cpu);
      }
    }
  }
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

SuiteParams stencil_params(std::uint64_t size, std::map<std::string, std::string> options) {
  SuiteParams params;
  params.size = size;
  params.seed = 5;
  params.options = {{"iterations", "2"},
                    {"depth", "1"},
                    {"split", "auto"},
                    {"overlap", "on"},
                    {"rate", "0.1"},
                    {"radius", "2"},
                    {"steps", "auto"},
                    {"exchange", "auto"},
                    {"initial", "auto"},
                    {"check-every", "never"},
                    {"checkpoint-rounds", "none"}};
  options.merge(params.options);
  params.options = std::move(options);
  return params;
}

// Of one work-group, which is its own neighbour: others would only begin when it ends.
void compute_persistent(bool cpu) {
  for (const char* precision : {"fp32", "fp64"}) {
    stencil::StencilWorkload workload(stencil_params(37, {{"kind", "jacobi2d"},
                                                          {"precision", precision},
                                                          {"iterations", "4"},
                                                          {"steps", "persistent"}}));
    compute(workload, Mode::resident, cpu);
    CHECK(workload.verify(VerifyLevel::full, 0).method.find("by persistent kernels") !=
          std::string::npos);
  }
}

void compute_stencils(bool cpu) {
  for (const char* precision : {"fp32", "fp64"}) {
    for (const auto& [kind, radius, size] : {std::tuple{"jacobi2d", "2", 37},
                                             {"heat3d", "2", 9},
                                             {"star", "1", 37},
                                             {"star", "4", 37}}) {
      CAPTURE(kind);
      CAPTURE(radius);
      CAPTURE(precision);
      SuiteParams params = stencil_params(static_cast<std::uint64_t>(size),
                                          {{"kind", kind},
                                           {"precision", precision},
                                           {"radius", radius},
                                           {"check-every", *kind == 'j' ? "1" : "never"}});
      for (const char* split : {"auto", "blocks"}) {
        params.options["split"] = split;
        if (*split == 'b') params.options["check-every"] = "never";
        params.devices = *split == 'b' ? 2 : 1;  // one of which does it all
        stencil::StencilWorkload workload(params);
        compute(workload, cpu ? Mode::resident : Mode::end_to_end, cpu);
      }
    }
  }
}

void compute_stages(bool cpu) {
  for (const char* place : {"data", "pipeline"}) {
    SuiteParams params;
    params.size = 5;
    params.seed = 2;
    params.host_threads = 1;
    params.options = {{"stages", "hash,transform,product:2,reduction:2,hash"},
                      {"place", place},
                      {"width", "32"},
                      {"batch", "3"}};
    const pipeline::Problem problem = pipeline::problem_of(params);
    if (problem.place == pipeline::Place::data) {
      pipeline::DataWorkload workload(problem, params);
      compute(workload, Mode::end_to_end, cpu);
    } else {
      pipeline::ChainWorkload workload(problem, params);
      compute(workload, Mode::resident, cpu);
    }
  }
}

void compute_flows(bool cpu) {
  for (const char* flow : {"taylor-green", "cavity", "channel"}) {
    for (const char* lattices : {"two", "one"}) {
      CAPTURE(flow);
      CAPTURE(lattices);
      lbm::LbmWorkload workload(lbm_params({flow, 5, 4, 3, {{"lattices", lattices}}}));
      compute(workload, cpu ? Mode::resident : Mode::end_to_end, cpu);
    }
  }
}

// Of options that are not given the first values, which are their defaults.
std::unique_ptr<Workload> workload_of(const char* suite, std::uint64_t size,
                                      const std::map<std::string, std::string>& given) {
  SuiteParams params;
  params.size = size;
  params.seed = 5;
  params.host_threads = 1;
  params.options = given;
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != suite) continue;
    for (const SuiteOption& option : info.options)
      if (option.kind != SuiteOption::Kind::flag)
        params.options.insert({option.name, option.values.front()});
    return info.make(params);
  }
  FAIL("there is no suite " << suite);
  return nullptr;
}

void compute_tropical(bool cpu) {
  for (const bool is_first : {true, false}) {
    const std::map<std::string, std::string> numbers{
        {"precision", is_first ? "fp32" : "int32"},
        {"semiring", is_first ? "min-plus" : "max-plus"},
        {"data", "negative"},
        {"density", "0.4"}};
    auto product = numbers, graph = numbers;
    product.insert({{"cols", "37"}, {"inner", "11"}, {"axis", cpu ? "tiles" : "cols"}});
    graph.insert({"op", "apsp"});
    (is_first ? product : graph)["paths"] = "yes";
    compute(*workload_of("tropical", 35, product), cpu ? Mode::end_to_end : Mode::resident, cpu);
    compute(*workload_of("tropical", 35, graph), cpu ? Mode::resident : Mode::end_to_end, cpu);
  }
}

}  // namespace

// Instead of the loader's, which it calls.
extern "C" cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count,
                                             const cl_device_id* devices, const char* options,
                                             void(CL_CALLBACK* notify)(cl_program, void*),
                                             void* data) {
  let_this_thread_write();
  static const auto real =
      reinterpret_cast<decltype(&clBuildProgram)>(::dlsym(RTLD_NEXT, "clBuildProgram"));
  return real(program, count, devices, options, notify, data);
}

TEST_CASE("merkle, as on GPUs") { compute_trees(false); }
TEST_CASE("merkle, as on CPUs") { compute_trees(true); }

TEST_CASE("msm") {
  using namespace msm;
  std::size_t turn = 0;
  for (const Curve curve : {Curve::bn254, Curve::bls12_381}) {
    for (const Mode mode : {Mode::resident, scalars_mode, Mode::end_to_end}) {
      MsmOptions options;
      options.axis = mode == scalars_mode ? Axis::windows : Axis::points;
      options.window_bits = 4;
      options.devices = 1;
      MsmWorkload workload(
          Terms::random(curve, 5, mode == Mode::resident ? Scalars::witness : Scalars::uniform, 8,
                        1),
          options);
      compute(workload, mode, turn++ % 2 == 1);
    }
  }
}

TEST_CASE("matrix") {
  for (const bool cpu : {false, true}) {
    for (const char* precision : {"fp32", "fp64"}) {
      for (const char* axis : {"rows", "cols", "tiles"}) {
        SuiteParams params;
        params.size = 37;
        params.seed = 5;
        params.host_threads = 1;
        params.options = {{"precision", precision}, {"axis", axis},    {"cols", "41"},
                          {"inner", "19"},          {"alpha", "1.5"},  {"beta", "2"},
                          {"data", "uniform"},      {"kernel", "auto"}};
        matrix::MatrixWorkload workload(params);
        compute(workload, *axis == 'c' ? Mode::resident : Mode::end_to_end, cpu);
      }
    }
  }
}

TEST_CASE("fisher, one matrix from scores") {
  compute_fisher(70, {{"dim", "21"}});
  compute_fisher(33, {{"dim", "9"}, {"precision", "fp64"}});
  compute_fisher(40, {{"model", "logistic"}, {"dim", "7"}});
  compute_fisher(30, {{"model", "softmax"}, {"dim", "5"}, {"classes", "4"}});
}

TEST_CASE("fisher, a matrix at each point from scores drawn there, as on GPUs") {
  compute_models(false);
}
TEST_CASE("fisher, a matrix at each point from scores drawn there, as on CPUs") {
  compute_models(true);
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

TEST_CASE("stencil, as on GPUs") { compute_stencils(false); }
TEST_CASE("stencil, as on CPUs") { compute_stencils(true); }
TEST_CASE("persistent stencil, as on GPUs") { compute_persistent(false); }

TEST_CASE("lbm, as on GPUs") { compute_flows(false); }

TEST_CASE("phase-amplitude coupling") {
  using testing::pac_params;
  const std::map<std::string, std::string> bands{
      {"channels", "1"}, {"pha", "8:8:1"}, {"amp", "60:60:1"}, {"bins", "4"}, {"perm", "5"}};
  for (const auto& [length, sums, axis] : {std::tuple{"64", "direct", "batch"},
                                           {"63", "direct", "permutation"},
                                           {"256", "transform", "permutation"}}) {
    auto options = bands;
    options.insert({{"length", length}, {"sums", sums}, {"axis", axis}});
    if (*sums == 'd') options["fs"] = "128", options["amp"] = "40:40:1";
    for (const bool cpu : {false, true}) {
      pac::PacWorkload workload(pac_params(1, options));
      compute(workload, Mode::end_to_end, cpu, 5);
    }
  }
}

TEST_CASE("tropical, as on GPUs") { compute_tropical(false); }
TEST_CASE("tropical, as on CPUs") { compute_tropical(true); }

TEST_CASE("geometric") {
  for (const char* precision : {"fp32", "fp64"}) {
    for (const auto& [algebra, operation] : {std::pair{"3,0,0", "geometric"},
                                             {"2,0,1", "sandwich"},
                                             {"1,1,0", "outer"},
                                             {"0,0,0", "inner"}}) {
      const std::map<std::string, std::string> options{
          {"algebra", algebra}, {"op", operation}, {"precision", precision}};
      for (const bool cpu : {false, true}) {
        const auto workload = workload_of("geometric", 70, options);
        const DeviceTraits traits = Disguised(simulator(), cpu).traits();
        for (const std::string& variant : workload->kernel_variants(traits)) {
          CAPTURE(variant);
          REQUIRE(workload->prefer(traits, variant));
          compute(*workload, cpu ? Mode::resident : Mode::end_to_end, cpu);
        }
      }
    }
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
               copy = kernel("copy"), nothing = kernel("nothing");
    const Grid grid{{items, 1, 1}, {1, 1, 1}};
    device.stream().launch(*fp32, grid, {to.get(), std::uint32_t{1}, 0.5f, 0.0f});
    device.stream().launch(*fp64, grid, {to.get(), std::uint32_t{1}, 0.5, 0.0});
    device.stream().launch(*int32, grid, {to.get(), std::uint32_t{1}, std::uint32_t{5}});
    device.stream().launch(*copy, grid, {from.get(), to.get(), std::uint32_t{4}});
    device.stream().launch(*nothing, {{1, 1, 1}, {1, 1, 1}}, {std::uint32_t{0}});
    finish(device);
  }
  const auto out = resources.allocate(4);
  const auto spin = resources.kernel("spin.cl", "spin", "");
  device.stream().launch(*spin, {{1, 1, 1}, {1, 1, 1}}, {out.get(), std::uint32_t{2}});
  finish(device);
}
TEST_CASE("pipeline, as on GPUs") { compute_stages(false); }
TEST_CASE("pipeline, as on CPUs") { compute_stages(true); }
