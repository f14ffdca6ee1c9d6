// Results that stay on a device, or come with each slice, when devices are lost in the middle of a
// sample: the matrix suite's own program on the fake backend, whose kernel is a product on the
// host.
#include <doctest/doctest.h>

#include <cmath>

#include "lib/exec/executor.hpp"
#include "lib/plan/strategy.hpp"
#include "suites/fisher/points_workload.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "suites/pac/pac_workload.hpp"
#include "tests/support/fisher_problem.hpp"
#include "tests/support/pac_problem.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;

namespace {

constexpr Items items = 24;

// kernels/matrix.cl's matrix_multiply with tiles of 32 x 32, by rows: C = A B.
void multiply(const Grid&, std::span<const FakeArg> args) {
  const auto buffer = [&](std::size_t i) { return std::get<std::span<std::byte>>(args[i]); };
  const auto number = [&](std::size_t i) { return std::get<std::uint32_t>(args[i]); };
  const auto *a = reinterpret_cast<const float*>(buffer(0).data()),
             *b = reinterpret_cast<const float*>(buffer(1).data());
  auto* const c = reinterpret_cast<float*>(buffer(3).data());
  const auto* const tiles = reinterpret_cast<const std::uint32_t*>(buffer(4).data());
  const std::uint32_t rows = number(8), columns = number(9), inner = number(10), row0 = number(11);
  for (std::uint32_t t = 0; t < number(6) * number(7); ++t) {
    const std::uint32_t tile = tiles[number(5) + t], m0 = (tile >> 16) * 32,
                        n0 = (tile & 0xffff) * 32;
    for (std::uint32_t m = m0; m < std::min(rows, m0 + 32); ++m) {
      for (std::uint32_t n = n0; n < std::min(columns, n0 + 32); ++n) {
        float sum = 0;
        for (std::uint32_t k = 0; k < inner; ++k)
          sum = std::fma(a[(m - row0) * inner + k], b[k * columns + n], sum);
        c[(m - row0) * columns + n] = sum;
      }
    }
  }
}

FakeKernels kernels() {
  FakeKernelCode code, small;
  code.run = multiply;
  code.ops = [](const Grid& grid, std::span<const FakeArg>) {
    return static_cast<double>(grid.global[0]);
  };
  small.run = [](const Grid&, std::span<const FakeArg>) {};
  small.ops = [](const Grid&, std::span<const FakeArg> args) {
    return static_cast<double>(std::get<std::uint64_t>(args[2]));
  };
  FakeKernels all{{"matrix_multiply", code}, {"small", small}};
  FakeKernelCode one;
  one.run = small.run;
  one.ops = code.ops;
  for (const char* of_pac : {"spectrum", "phases", "amplitudes", "weigh", "sort_by_bin",
                             "shift_directly", "clear_moments"})
    all[of_pac] = one;
  return all;
}

FakeDevice device(const std::string& id, double ops_per_s,
                  std::optional<std::uint64_t> fails_at_launch = {}) {
  FakeDevice made = test::fake_device(id, ops_per_s);
  made.facts.type = DeviceType::gpu;
  made.facts.max_work_group = 1024;
  made.facts.local_memory = 48 << 10;
  if (fails_at_launch)
    made.script = fails_from(FakeCall::launch, *fails_at_launch, FakeFault::Kind::error);
  return made;
}

// A sample of all items, in pieces of 2, split equally; published where devices still live.
struct Sample {
  Sample(Workload& made, std::vector<FakeDevice> fakes, Mode mode)
      : workload(made), backend(fakes, kernels()) {
    std::vector<DeviceEstimate> estimates;
    SampleRequest request;
    for (std::uint32_t i = 0; i < fakes.size(); ++i) {
      open.push_back(backend.open(fakes[i].facts));
      Capacity capacity = workload.capacity(open[i]->resources().traits(), mode);
      capacity.pipeline = 2;
      programs.push_back(workload.program(open[i]->resources(), mode, capacity));
      if (mode == Mode::resident) {
        programs[i]->load(open[i]->stream());
        finish(i);
      }
      DeviceEstimate& estimate = estimates.emplace_back();
      estimate.items_per_s = 1;
      estimate.score = 50;
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
      request.members.push_back({open[i].get(), programs[i].get()});
    }
    PlanRequest plan;
    plan.items = workload.shape().items;
    plan.mode = mode;
    plan.cost = workload.shape().cost;
    plan.devices = estimates;
    const StrategyChoice choice = parse_strategies("equal").front();
    const auto source = choice.info->make(choice.params)->begin(plan, {});
    request.workload = &workload;
    request.source = source.get();
    Executor executor(backend, fakes.size());
    raw = executor.run(request);
    REQUIRE_FALSE(raw.failure);
    for (std::uint32_t i = 0; i < fakes.size(); ++i) {
      const bool lost = std::any_of(raw.faults.begin(), raw.faults.end(),
                                    [&](const auto& fault) { return fault.device.value == i; });
      if (lost) continue;
      programs[i]->publish(open[i]->stream());
      finish(i);
      programs[i]->published();
    }
  }

  void finish(std::size_t i) {
    const BatchId batch = open[i]->submit();
    while (!open[i]->complete(batch)) REQUIRE(backend.advance({}));
    open[i]->take(batch);
  }

  Workload& workload;
  FakeBackend backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  RawSample raw;
};

SuiteParams a_product() {
  SuiteParams params;
  params.size = items * 32;
  params.seed = 5;
  params.host_threads = 2;
  params.options = {{"precision", "fp32"}, {"axis", "rows"},      {"cols", "40"},
                    {"inner", "8"},        {"alpha", "1"},        {"beta", "0"},
                    {"data", "uniform"},   {"kernel", "portable"}};
  return params;
}

}  // namespace

// Device 0 has its share of 8 items ready, and nothing more to do, when device 2, which is slow, is
// lost and half of that one's share comes to it; then it is lost itself. What it had finished
// before is on no host.
TEST_CASE(
    "what stayed on a device that dies after it had finished its share is computed again by those "
    "that are left") {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    CAPTURE(to_string(mode));
    matrix::MatrixWorkload workload(a_product());
    REQUIRE(workload.shape().items == items);
    Sample sample(workload, {device("0:0", 1e9, 4), device("0:1", 1e9), device("0:2", 1e7, 1)},
                  mode);
    REQUIRE(sample.raw.faults.size() == 2);
    CHECK(sample.raw.faults[1].device == DeviceIndex{0});
    const Verdict verdict = workload.verify(VerifyLevel::full, 3);
    CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
    // Resident, all that it did is lost; end to end, what came down with its slices is not.
    Items lost = 0;
    for (const Slice& slice : sample.raw.faults[1].lost) lost += slice.size();
    if (mode == Mode::resident) CHECK(lost > 8);
    if (mode == Mode::end_to_end) CHECK(lost < 8);
  }
}

TEST_CASE("matrices at many points that stayed on a device that dies are computed again too") {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    CAPTURE(to_string(mode));
    fisher::PointsWorkload workload(
        testing::fisher_params(items * 64, {{"regime", "closed"}, {"family", "normal"}}));
    Sample sample(workload, {device("0:0", 1e9, 4), device("0:1", 1e9), device("0:2", 1e7, 1)},
                  mode);
    REQUIRE(sample.raw.faults.size() == 2);
    // The kernel of this test computes nothing: what counts is that everything arrived.
    CHECK(workload.verify(VerifyLevel::full, 3).method != "whether all matrices arrived");
  }
}

TEST_CASE("series and surrogates whose sums were on a device that dies are computed again too") {
  for (const char* axis : {"batch", "permutation"}) {
    for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
      CAPTURE(axis);
      CAPTURE(to_string(mode));
      pac::PacWorkload workload(
          testing::pac_params(items, {{"axis", axis}, {"channels", "1"}, {"sums", "direct"}}));
      // A slice is six launches: the first device has done its share by then.
      const std::uint64_t fails_at = *axis == 'b' ? 27 : 15;
      Sample sample(workload,
                    {device("0:0", 1e9, fails_at), device("0:1", 1e9), device("0:2", 1e7, 1)},
                    mode);
      REQUIRE(sample.raw.faults.size() == 2);
      workload.merge();
      // The kernels of this test compute nothing: what counts is that everything arrived.
      CHECK(workload.verify(VerifyLevel::full, 3).method != "whether all results arrived");
    }
  }
}
