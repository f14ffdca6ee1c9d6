// The lbm suite's own program and workload on the fake backend, which runs kernels/lbm.cl as C++:
// for all flows, shares, lattices, halo depths, orders of an iteration and paths, every cell equals
// that of a plain loop. Also tests the physical checks of results.
#include <doctest/doctest.h>

#include "lib/predict/probe.hpp"
#include "suites/lbm/cavity_table.hpp"
#include "suites/lbm/lbm_workload.hpp"
#include "tests/support/fake_sample.hpp"
#include "tests/support/lbm_kernels.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::lbm {
namespace {

using namespace mgpu::test;

SuiteParams params_with(std::uint64_t n, unsigned planes, unsigned steps, Options more,
                        std::size_t devices = 1) {
  more.insert({{"iterations", std::to_string(steps)}, {"planes", std::to_string(planes)}});
  SuiteParams params = suite_params("lbm", n, more, 0);
  params.devices = devices;
  return params;
}

struct Sample : FakeSample {
  Sample(LbmWorkload& workload, const std::vector<Items>& shares, Mode mode = Mode::resident,
         PeerPath path = PeerPath::direct, const Planted& planted = {})
      : FakeSample(workload, lbm_cl::kernels_of(workload.problem()), shares, mode, path, planted) {}
};

void check(LbmWorkload& workload, const std::vector<Items>& shares, Mode mode = Mode::resident,
           PeerPath path = PeerPath::direct, const Planted& planted = {}) {
  INFO(shares.size(), " shares from ", shares.front(), " ", to_string(mode), " ", to_string(path));
  check_right(Sample(workload, shares, mode, path, planted), workload);
}

constexpr const char* kFlows[] = {"taylor-green", "cavity", "channel"};

}  // namespace

TEST_CASE("lbm slabs: cells of a plain loop for any flow, lattices, depth, shares, mode and path") {
  struct Tried {
    const char *lattices, *depth, *overlap, *collision;
    unsigned steps;
  };
  auto chosen = testing::one_in(7);
  for (const char* flow : kFlows) {
    for (const auto& [lattices, depth, overlap, collision, steps] :
         {Tried{"two", "1", "on", "bgk", 7}, Tried{"two", "2", "on", "trt", 7},
          Tried{"two", "3", "off", "bgk", 8}, Tried{"one", "1", "on", "bgk", 7},
          Tried{"one", "1", "off", "trt", 8}, Tried{"one", "1", "on", "bgk", 1}}) {
      LbmWorkload workload(params_with(7, 13, steps,
                                       {{"case", flow},
                                        {"lattices", lattices},
                                        {"depth", depth},
                                        {"overlap", overlap},
                                        {"collision", collision}}));
      const Items least = workload.problem().depth;
      for (const std::vector<Items>& shares :
           std::vector<std::vector<Items>>{{13},
                                           {least, 13 - least},
                                           {13 - 2 * least, least, least},
                                           {least, least + 1, least, 12 - 3 * least}}) {
        for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
          for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
            if (!chosen()) continue;
            const auto& this_lattices = lattices;
            const auto& this_depth = depth;
            const auto& this_overlap = overlap;
            INFO(flow, " ", this_lattices, " this_depth ", this_depth, " this_overlap ",
                 this_overlap);
            check(workload, shares, mode, path);
          }
        }
      }
    }
  }
}

TEST_CASE("lbm: halos of half precision give the same bits on any devices, in half the bytes") {
  const Options half{{"halos", "half"}};
  LbmWorkload exact(params_with(7, 40, 9, {})), workload(params_with(7, 40, 9, half));
  CHECK(workload.problem().half_block == 2);
  CHECK(workload.shape().granularity == 2);
  CHECK(workload.exchanged(Mode::resident).halo <= (5 * 7 * 7 * 4 + 16) / 2);
  check(exact, {40});
  check(workload, {40});
  const std::string digest = workload.digest();
  CHECK(digest != exact.digest());
  for (const std::vector<Items>& shares : std::vector<std::vector<Items>>{
           {20, 20}, {2, 38}, {10, 4, 26}, {2, 2, 2, 34}, {20, 0, 20}}) {
    for (const auto& [mode, path] :
         {std::pair{Mode::resident, PeerPath::direct}, {Mode::end_to_end, PeerPath::staged}}) {
      check(workload, shares, mode, path);
      CHECK(workload.digest() == digest);
    }
  }
  const Verdict verdict = workload.verify(VerifyLevel::full, 1);
  CHECK(has(verdict.method, "of --speed from those with halos in fp32"));
  REQUIRE(verdict.found.figures.size() == 2);
  // Half precision has 11 digits in base 2; a few roundings per step add up.
  CHECK(verdict.found.figures[0].value > 1e-6);
  CHECK(verdict.found.figures[0].value < 9 * 0x1p-11);
  Planted planted;
  planted.moves = true;
  const Sample moved(workload, {20, 10, 10}, Mode::resident, PeerPath::staged, planted);
  check_right(moved, workload);
  CHECK(workload.digest() == digest);
  planted = {};
  planted.forgotten = {{0, {9, 10}}};
  Sample(workload, {20, 20}, Mode::resident, PeerPath::direct, planted);
  CHECK(workload.verify(VerifyLevel::full, 0).status == Verdict::Status::failed);
  for (const Options& more :
       {Options{{"lattices", "one"}}, {{"depth", "2"}}, {{"split", "blocks"}}}) {
    Options both = more;
    both.insert(half.begin(), half.end());
    CHECK(has(thrown_by([&] { problem_of(params_with(7, 40, 9, both)); }).what(), "--halos half"));
  }
}

TEST_CASE(
    "lbm: populations stored in half precision give the same bits for any shares and lattices") {
  LbmWorkload exact(params_with(7, 12, 9, {}));
  check(exact, {12});
  std::string digest;
  for (const Options& more : {Options{{"lattices", "two"}},
                              {{"lattices", "one"}},
                              {{"depth", "2"}},
                              {{"split", "blocks"}}}) {
    Options options = more;
    options.insert({"storage", "fp16"});
    LbmWorkload workload(params_with(7, 12, 9, options, 2));
    INFO(more.begin()->first, " ", more.begin()->second);
    CHECK(workload.problem().plane_bytes() == 19 * 7 * 64 * 2);
    const Items all = workload.shape().items;
    for (const std::vector<Items>& shares :
         std::vector<std::vector<Items>>{{all}, {all / 2, all - all / 2}}) {
      for (const auto& [mode, path] :
           {std::pair{Mode::resident, PeerPath::direct}, {Mode::end_to_end, PeerPath::staged}})
        check(workload, shares, mode, path);
      if (digest.empty()) digest = workload.digest();
      CHECK(workload.digest() == digest);
    }
    const Verdict verdict = workload.verify(VerifyLevel::full, 1);
    CHECK(has(verdict.method, "from those with populations in fp32"));
    // Half precision has 11 digits in base 2; roundings of all steps add up.
    CHECK(verdict.found.figures.at(0).value > 1e-6);
    CHECK(verdict.found.figures.at(0).value < 9 * 0x1p-11);
  }
  CHECK(digest != exact.digest());
  const Options both{{"storage", "fp16"}, {"halos", "half"}};
  CHECK(has(thrown_by([&] { problem_of(params_with(7, 12, 9, both)); }).what(), "--storage"));
}

TEST_CASE("lbm: where lattices are too large to share, halos are exchanged but nothing moves") {
  for (const auto& [lattices, moves] : {std::pair{"one", true}, {"two", false}}) {
    LbmWorkload workload(params_with(7, 13, 9, {{"case", "channel"}, {"lattices", lattices}}));
    Planted planted;
    planted.most_shared = 2 * workload.problem().plane_bytes();
    planted.moves = moves;
    const Sample sample(workload, {6, 5, 2}, Mode::resident, PeerPath::direct, planted);
    check_right(sample, workload);
    CHECK(sample.raw.moves.empty());
  }
}

TEST_CASE("lbm: boxes of few planes and devices without any are done like others") {
  for (const char* lattices : {"one", "two"}) {
    for (const unsigned planes : {1U, 2U, 3U, 4U}) {
      INFO(lattices, " ", planes);
      LbmWorkload workload(params_with(5, planes, 7, {{"case", "cavity"}, {"lattices", lattices}}));
      check(workload, {0, planes, 0});
      if (planes > 1) check(workload, {1, 0, planes - 1}, Mode::end_to_end);
    }
  }
}

TEST_CASE("lbm blocks: cells of a plain loop, on 1 to 6 devices, for any shares and path") {
  auto chosen = testing::one_in(5);
  for (const char* flow : kFlows) {
    for (const char* overlap : {"on", "off"}) {
      for (std::size_t devices = 1; devices <= 6; ++devices) {
        LbmWorkload workload(params_with(
            7, 9, 5, {{"case", flow}, {"split", "blocks"}, {"overlap", overlap}}, devices));
        const Items items = workload.shape().items;
        CHECK(items == 9 * workload.problem().columns);
        std::vector<Items> equal(devices, items / devices);
        equal.back() += items % devices;
        for (const auto& shares : {equal, greedy_shares(devices, items)}) {
          for (const auto& [mode, path] : {std::pair{Mode::resident, PeerPath::direct},
                                           {Mode::end_to_end, PeerPath::staged}}) {
            if (!chosen()) continue;
            INFO(flow, " overlap ", overlap);
            check(workload, shares, mode, path);
          }
        }
      }
    }
  }
}

TEST_CASE("lbm: a put that does not happen is found, whatever the lattices and the split") {
  for (const Options& options : {Options{{"case", "cavity"}, {"overlap", "off"}},
                                 {{"lattices", "one"}},
                                 {{"depth", "2"}, {"case", "cavity"}},
                                 {{"split", "blocks"}}}) {
    LbmWorkload workload(params_with(7, 13, 20, options, 2));
    const Items items = workload.shape().items, half = items / 2;
    check(workload, {half, items - half});
    Planted planted;
    planted.forgotten = {{0, {25, 26, 27, 28, 29, 30}}};
    Sample(workload, {half, items - half}, Mode::resident, PeerPath::direct, planted);
    CHECK(workload.verify(VerifyLevel::full, 0).status == Verdict::Status::failed);
  }
}

TEST_CASE("lbm: a partition that moves between rounds changes no cell") {
  auto chosen = testing::one_in(5);
  for (const char* flow : kFlows) {
    for (const Options& more :
         {Options{}, {{"lattices", "one"}}, {{"depth", "2"}}, {{"checkpoint-rounds", "4"}}}) {
      for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
        if (!chosen()) continue;
        INFO(flow, " ", to_string(path));
        Options options = more;
        options["case"] = flow;
        LbmWorkload workload(params_with(5, 30, 21, options));
        Planted planted;
        planted.moves = true;  // devices 0, 1 and 2 are as fast as 1, 2 and 3
        const Sample sample(workload, {10, 10, 10}, Mode::resident, path, planted);
        check_right(sample, workload);
        REQUIRE_FALSE(sample.raw.moves.empty());
        const std::vector<Items>& shares = sample.raw.moves.back().shares;
        CHECK((shares[0] < shares[1] && shares[1] < shares[2]));
      }
    }
  }
}

TEST_CASE("lbm: a box larger than a device is done by several, in rings of slots and pieces") {
  for (const bool one : {true, false}) {
    SuiteParams params =
        params_with(5, 20, 7, {{"case", "channel"}, {"lattices", one ? "one" : "two"}});
    const Bytes plane = 19 * 5 * 32 * sizeof(float), fields = 25 * 16;
    const std::uint64_t slots = 13;
    const Bytes memory = (slots * ((one ? 1 : 2) * plane + fields) + 2 * plane) * 10 / 9 + 30;
    params.memory.assign(2, {memory, 4 * plane});
    LbmWorkload workload(params);
    CHECK(workload.lattice().slots == slots);
    CHECK(workload.lattice().pieces() == 4);
    DeviceTraits traits;
    traits.global_memory = memory;
    traits.max_allocation = 4 * plane;
    CHECK(workload.capacity(traits, Mode::end_to_end).fits == 11);
    Planted planted;
    planted.memory = memory;
    check(workload, {9, 11}, Mode::resident, PeerPath::direct, planted);
    planted.moves = true;
    check(workload, {10, 10}, Mode::resident, PeerPath::direct, planted);
  }
}

TEST_CASE("lbm: windows of a box have the cells of the whole one, wherever they lie") {
  for (const char* flow : kFlows) {
    const Problem problem = problem_of(params_with(12, 14, 3, {{"case", flow}}));
    const Beginning beginning(problem, {});
    const Window whole{{0, 0, 0}, {12, 12, 14}};
    const std::vector<Cell> all = reference(problem, beginning, whole, 2);
    for (const Window& window : {Window{{0, 0, 0}, {2, 3, 4}}, Window{{9, 9, 12}, {3, 3, 2}},
                                 Window{{5, 0, 6}, {1, 12, 1}}, Window{{0, 4, 0}, {12, 1, 14}}}) {
      const std::vector<Cell> some = reference(problem, beginning, window, 1);
      const auto [left, front, low] = window.first;
      std::size_t i = 0, wrong = 0;
      for (std::uint64_t z = 0; z < window.size[2]; ++z)
        for (std::uint64_t y = 0; y < window.size[1]; ++y)
          for (std::uint64_t x = 0; x < window.size[0]; ++x)
            wrong += some[i++] != all[((low + z) * 12 + front + y) * 12 + left + x];
      CHECK(wrong == 0);
      const Work work = work_of(problem, window), of_all = work_of(problem, whole);
      CHECK((work.cells <= of_all.cells && work.updates <= of_all.updates));
    }
  }
}

TEST_CASE(
    "lbm: samples of windows find what is wrong in them; where they are all, all is compared") {
  LbmWorkload workload(params_with(24, 24, 2, {}));
  check_right(Sample(workload, {12, 12}), workload);
  const auto sampled = [&] { return workload.verify(VerifyLevel::sample, 3); };
  CHECK(sampled().status == Verdict::Status::passed);
  CHECK(has(sampled().method, "4 boxes"));
  workload.result()[0] ^= std::byte{1};
  CHECK(sampled().status == Verdict::Status::failed);
  CHECK(has(sampled().message, "1 of 64"));
  LbmWorkload small(params_with(7, 13, 9, {}));
  check_right(Sample(small, {6, 7}), small);
  CHECK(has(small.verify(VerifyLevel::sample, 3).method, "every cell"));
}

TEST_CASE("lbm: a flow without bound is what its parameters make, and no device's fault") {
  const Options unstable{{"speed", "0.3"}, {"relaxation-time", "0.5001"}};
  LbmWorkload grows(params_with(8, 8, 400, unstable));
  const Sample computed(grows, {8});
  const Error error = thrown_by([&] { grows.verify(VerifyLevel::full, 1); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK((has(error.what(), "step ") && has(error.what(), "0.5001")));
  CHECK(suite_named("lbm").optional.caveats(params_with(8, 8, 400, unstable)).size() == 2);
  CHECK(suite_named("lbm").optional.caveats(params_with(8, 8, 400, {})).empty());
  // Every cell is right, but the flow is no longer the vortex that it began as.
  LbmWorkload wild(params_with(8, 8, 108, unstable));
  const Sample other(wild, {8});
  for (const VerifyLevel level : {VerifyLevel::full, VerifyLevel::sample}) {
    const Verdict verdict = wild.verify(level, 1);
    CHECK(verdict.status == Verdict::Status::passed);
    REQUIRE(verdict.found.warnings.size() == 1);
    CHECK(has(verdict.found.warnings.front(), "every cell"));
  }
  wild.result()[5] ^= std::byte{1};
  CHECK(wild.verify(VerifyLevel::sample, 1).status == Verdict::Status::failed);
}

TEST_CASE("lbm: a result can be what the next run begins with") {
  const auto file = std::filesystem::temp_directory_path() / "mgpu-lbm-test.npy";
  LbmWorkload first(params_with(7, 13, 12, {{"case", "cavity"}}));
  check_right(Sample(first, {6, 7}), first);
  first.write_result(file);
  for (const auto& [mode, split] :
       {std::pair{Mode::resident, "blocks"}, {Mode::end_to_end, "slabs"}}) {
    SuiteParams params = params_with(7, 13, 3, {{"case", "cavity"}, {"split", split}}, 2);
    params.input = file;
    LbmWorkload second(params);
    check(second, {4, second.shape().items - 4}, mode);
    CHECK(second.digest() != first.digest());
  }
  std::filesystem::remove(file);
}

TEST_CASE("lbm: a probe does 256 of a thousand rounds, and infers how long all take") {
  const auto probed = [](unsigned steps) {  // returns seconds of kernels and checks that it took
    LbmWorkload workload(params_with(4, 4, steps, {{"case", "cavity"}}));
    const FakeDevice device = FakeSample::devices(1).front();
    FakeBackend backend({device}, lbm_cl::kernels_of(Flow::cavity));
    const auto open = backend.open(device.facts);
    const Capacity capacity = workload.capacity(open->resources().traits(), Mode::resident);
    const auto program = workload.program(open->resources(), Mode::resident, capacity);
    program->load(open->stream());
    const Participant member{open.get(), program.get()};
    finish_batch(backend, *open, open->submit());
    Executor executor(backend, 1);
    const Nanos begin = backend.now();
    const Probe probe =
        run_probe(backend, executor, workload, {&member, 1}, {1, capacity.fits, {}});
    REQUIRE(probe.devices.size() == 1);
    return std::pair{seconds(probe.devices.front().kernels.at_large),
                     seconds(backend.now() - begin)};
  };
  const auto few = probed(256), many = probed(1024);
  CHECK(many.first == doctest::Approx(4 * few.first).epsilon(0.02));
  CHECK(many.second < 1.1 * few.second);
}

namespace {

struct Computed {
  Computed(const char* flow, std::uint64_t n, unsigned planes, unsigned steps, Options more = {})
      : problem(problem_of([&] {
          more["case"] = flow;
          return params_with(n, planes, steps, more);
        }())),
        beginning(problem, {}),
        cells(reference(problem, beginning, {{0, 0, 0}, {problem.n, problem.n, problem.planes}},
                        2)) {}
  // Compares the cells with the physics of another problem.
  Physics physics_of(const Problem& other) const {
    return compare_physics(other, beginning, std::as_bytes(std::span(cells)), 2);
  }
  bool passes(const Problem& other) const { return physics_of(other).wrong.empty(); }
  bool passes() const { return passes(problem); }
  Problem problem;
  Beginning beginning;
  std::vector<Cell> cells;
};

}  // namespace

TEST_CASE("lbm: the Taylor-Green vortex decays by its viscosity, in its time, and no other") {
  for (const Computed& computed :
       {Computed("taylor-green", 32, 2, 80),
        Computed("taylor-green", 24, 12, 60, {{"collision", "trt"}, {"relaxation-time", "1.1"}})}) {
    CHECK(computed.passes());
    CHECK(has(computed.physics_of(computed.problem).told, "Taylor-Green"));
    Problem other = computed.problem;
    other.viscosity *= 1.5;
    CHECK_FALSE(computed.passes(other));
    other = computed.problem;
    other.steps *= 2;
    CHECK_FALSE(computed.passes(other));
  }
}

TEST_CASE("lbm: a channel starts from rest by viscosity and force, and ends as a parabola") {
  const Computed starts("channel", 16, 1, 60), ends("channel", 16, 1, 3000, {{"collision", "trt"}});
  for (const Computed* computed : {&starts, &ends}) {
    CHECK(computed->passes());
    CHECK(has(computed->physics_of(computed->problem).told, "channel"));
    Problem other = computed->problem;
    other.speed *= 1.2F;
    CHECK_FALSE(computed->passes(other));
  }
  // With two relaxation times walls lie exactly between cells: the parabola is exact except for
  // rounding.
  for (std::uint64_t y = 0; y < 16; ++y) {
    const double at = static_cast<double>(y) + 0.5, wanted = 0.05 * 4 * at * (16 - at) / 256;
    CHECK(static_cast<double>(ends.cells[y * 16][0]) == doctest::Approx(wanted).epsilon(2e-4));
  }
}

TEST_CASE("lbm: a steady cavity at Reynolds number 100 is as Ghia et al. computed it") {
  const Options slow{{"reynolds", "100"}, {"speed", "0.2"}};
  const Computed computed("cavity", 32, 1, 4000, slow), early("cavity", 32, 1, 400, slow);
  CHECK(computed.passes());
  CHECK(has(computed.physics_of(computed.problem).told, "Ghia"));
  Problem other = computed.problem;
  other.speed *= 1.1F;  // speed of the lid, which scales velocities
  other.viscosity *= 1.1;
  CHECK_FALSE(computed.passes(other));
  CHECK_FALSE(has(early.physics_of(early.problem).told, "Ghia"));
  CHECK((cavity_table(400) != nullptr && cavity_table(401) == nullptr));
}

TEST_CASE("lbm: mass that is lost anywhere is found, and so is what is not a number") {
  Computed computed("cavity", 8, 8, 20);
  CHECK(computed.passes());
  computed.cells[100][3] += 0.01F;
  CHECK(has(computed.physics_of(computed.problem).wrong, "mass"));
  computed.cells[100][3] = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(computed.passes());
}

}  // namespace mgpu::lbm
