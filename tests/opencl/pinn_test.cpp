// Suite pinn on the present devices: all ways compute the same bits for every equation, and
// verification fails if a result is wrong.
#include <doctest/doctest.h>

#include "lib/exec/leak.hpp"
#include "lib/plan/rounds.hpp"
#include "suites/pinn/domain_program.hpp"
#include "suites/pinn/ensemble_program.hpp"
#include "suites/pinn/pinn_workload.hpp"
#include "suites/pinn/training_program.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::pinn {
namespace {

using test::has;

SuiteParams params_with(std::uint64_t size, const test::Options& options) {
  return test::suite_params("pinn", size, options, 7);
}

// A device's stream that counts the launches announced as the latest series, and those that
// followed.
class CountedSeries final : public Stream {
 public:
  explicit CountedSeries(Stream& real) : real_(real) {}
  void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) override {
    real_.upload(to, offset, from);
  }
  void launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) override {
    real_.launch(kernel, grid, args);
    ++launches;
  }
  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override {
    real_.download(from, offset, to);
  }
  void begin_series(unsigned count) override {
    announced = count;
    launches = 0;
    real_.begin_series(count);
  }
  unsigned announced = 0, launches = 0;

 private:
  Stream& real_;
};

// Trains on one device, without an executor.
std::string train(PinnWorkload& workload, DeviceResources& device, Way way) {
  TrainingProgram program(workload, device, Mode::resident, std::move(way),
                          workload.problem().shards);
  const Slice all{0, workload.problem().shards};
  workload.set_partition({});
  workload.begin_sample();
  REQUIRE(device.try_out([&](Stream& stream) { program.load(stream); }));
  REQUIRE(device.try_out([&](Stream& stream) {
    program.enqueue(all, 0, stream);
    CountedSeries counted(stream);
    const std::uint32_t steps = workload.problem().steps;
    for (std::uint32_t round = 0; round < steps;)
      round += program.enqueue_rounds(all, round, steps - round, counted);
    const bool in_series = !device.traits().cpu && program.kernel_variant().starts_with("shards");
    CHECK((counted.announced > 0) == in_series);
    const Problem& problem = workload.problem();
    const std::uint32_t draws = problem.resample > 0 ? (steps - 1) / problem.resample : 0;
    const bool small = workload.network().count() <= 2048;  // Adam is part of the same launch
    // With gradients in bf16, a step has two launches more, and Adam is always another one.
    const std::uint32_t more = problem.compressed ? Compression::launches + (small ? 1 : 0) : 0,
                        each = program.kernel_variant().starts_with("shards")
                                   ? (small ? 1 : 2) + more
                                   : 2 * (problem.layers - 1) + 5 + more;
    CHECK(counted.launches == steps * each + draws + problem.snapshots);
    if (in_series) CHECK(counted.announced == counted.launches);
  }));
  Completion completion;
  REQUIRE(device.try_out([&](Stream& stream) { completion = program.publish(stream); }));
  completion();
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  return workload.digest();
}

}  // namespace

TEST_CASE("pinn: shards in local memory and layers in tiles compute the bits differences confirm" *
          testing::if_thorough()) {
  DeviceResources& device = testing::machine().open.front()->resources();
  testing::AsGpu as_gpu(device, " -DROLLED");
  struct Training {
    const char *equation, *layers, *shards;
  };
  // With shards in local memory, a step of a network of 2 x 32 is one launch; 32 shards are added
  // in two turns.
  for (const Training& training :
       testing::first_when_quick(1, {Training{"burgers", "3", "4"}, {"helmholtz", "2", "32"}})) {
    const auto [equation, layers, shards] = training;
    INFO(training.equation, " ", training.layers);
    // With a width of 32 there are no padding neurons, so that digests are of the same parameters.
    const SuiteParams params = params_with(150, {{"problem", equation},
                                                 {"layers", layers},
                                                 {"width", "32"},
                                                 {"iterations", "3"},
                                                 {"shards", shards},
                                                 {"boundary-points", "9"},
                                                 {"resample", "2"}});
    test::Options digests;
    for (const char* const compute : {"shards", "layers"}) {
      SuiteParams by_one = params;
      by_one.options["compute"] = compute;
      PinnWorkload workload(by_one);
      for (DeviceResources* each : {&device, static_cast<DeviceResources*>(&as_gpu)}) {
        if (each == &as_gpu && std::string_view(equation) != "burgers" &&
            by_one.options["compute"] == "layers")
          continue;
        const std::vector<Way> all = ways(each->traits(), workload.problem());
        REQUIRE(!all.empty());
        digests[all.front().name] = train(workload, *each, all.front());
      }
    }
    CHECK(digests.size() >= 2);
    for (const auto& made : digests)
      CHECK_MESSAGE(made.second == digests.begin()->second, made.first);
  }
}

TEST_CASE("pinn: gradients in bf16 have the bits that the host recomputes, by shards and layers" *
          testing::if_thorough()) {
  DeviceResources& device = testing::machine().open.front()->resources();
  testing::AsGpu as_gpu(device, " -DROLLED");
  test::Options digests;
  for (const char* const shards : {"8", "64"}) {
    PinnWorkload workload(params_with(150, {{"layers", "2"},
                                            {"width", "8"},
                                            {"iterations", "4"},
                                            {"shards", shards},
                                            {"gradients", "bf16"},
                                            {"compute", "shards"}}));
    const Way way = ways(as_gpu.traits(), workload.problem()).front();
    const std::string digest = train(workload, as_gpu, way);
    CHECK(train(workload, as_gpu, way) == digest);  // residuals of the sample before are gone
    CHECK(train(workload, device, ways(device.traits(), workload.problem()).front()) == digest);
    digests[shards] = digest;
  }
  CHECK(digests["8"] != digests["64"]);
}

TEST_CASE("pinn: smaller tiles of the weights' gradients add the same bits" *
          doctest::skip(!testing::is_thorough())) {
  DeviceResources& device = testing::machine().open.front()->resources();
  testing::AsGpu as_gpu(device, " -DROLLED");
  PinnWorkload workload(params_with(30, {{"layers", "2"},
                                         {"width", "128"},
                                         {"iterations", "2"},
                                         {"shards", "2"},
                                         {"compute", "layers"}}));
  const std::vector<Way> all = ways(as_gpu.traits(), workload.problem());
  REQUIRE(all.size() >= 2);
  CHECK((all[0].weight_threads == 128 && all[1].weight_threads == 256));
  CHECK(places_of_shard(workload.problem()) % 4 != 0);  // the last stage of a shard is not full
  const std::string digest = train(workload, as_gpu, all[0]);
  CHECK(train(workload, as_gpu, all[1]) == digest);
  CHECK(train(workload, device, ways(device.traits(), workload.problem()).front()) == digest);
}

TEST_CASE("pinn: boundary and initial values that are built in are trained with" *
          testing::if_thorough()) {
  DeviceResources& device = testing::machine().open.front()->resources();
  for (const char* const equation : {"allen-cahn", "poisson"}) {
    CAPTURE(equation);
    PinnWorkload workload(params_with(90, {{"problem", equation},
                                           {"layers", "2"},
                                           {"width", "8"},
                                           {"iterations", "4"},
                                           {"shards", "4"},
                                           {"constraints", "hard"}}));
    CHECK(workload.problem().all_points() == 90);
    train(workload, device, ways(device.traits(), workload.problem()).front());
  }
}

TEST_CASE(
    "pinn: members of an ensemble are right, one that was changed or did not arrive is found") {
  DeviceResources& device = testing::machine().open.front()->resources();
  testing::AsGpu as_gpu(device, " -DROLLED");
  EnsembleWorkload workload(params_with(90, {{"layers", "2"},
                                             {"width", "8"},
                                             {"iterations", "4"},
                                             {"shards", "4"},
                                             {"resample", "2"},
                                             {"partition", "ensemble"},
                                             {"members", "5"}}));
  EnsembleProgram program(workload, as_gpu, Mode::resident,
                          ways(as_gpu.traits(), workload.problem()).front(), 2);
  workload.begin_sample();
  CHECK(workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::failed);
  const auto run = [&](const Slice& members) {
    REQUIRE(as_gpu.try_out([&](Stream& stream) {
      CountedSeries counted(stream);
      program.enqueue(members, 0, counted);
      CHECK(counted.announced == 4 + 1);  // four steps, and new points once
      // The final state of the last member is saved.
      CHECK(counted.launches == counted.announced + 6);
    }));
    program.finished(members);
  };
  REQUIRE(as_gpu.try_out([&](Stream& stream) { program.load(stream); }));
  workload.begin_sample();
  run({0, 2});
  CHECK(has(workload.verify(VerifyLevel::sample, 1).message, "members"));
  run({2, 4});
  run({4, 5});
  std::uint64_t looked_at = 0;
  workload.set_host_watch(
      {nullptr, [&](const HostWork&, std::uint64_t done) { looked_at = done; }, {}});
  const Verdict verdict = workload.verify(VerifyLevel::full, 1);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  CHECK(looked_at == 5);
  CHECK(verdict.found.curves.front().values.size() == 4);
  const std::string digest = workload.digest();
  // Gives member 2 another ending, whose losses are not those of its seed.
  workload.begin_sample();
  for (const Slice& members : {Slice{0, 2}, Slice{2, 4}, Slice{4, 5}}) run(members);
  Ending other;
  other.losses.assign(12, 1.0F);
  for (auto* const part :
       {&other.parameters, &other.before, &other.mean, &other.square, &other.gradient})
    part->assign(workload.network().count(), 0.5F);
  workload.add_ending(2, other);
  CHECK(workload.digest() != digest);
  CHECK(has(workload.verify(VerifyLevel::full, 1).message, "seed 9"));
}

TEST_CASE("pinn: parts of a domain are right, one whose neighbour was another is found") {
  DeviceResources& device = testing::machine().open.front()->resources();
  DomainWorkload workload(params_with(90, {{"layers", "2"},
                                           {"width", "8"},
                                           {"iterations", "3"},
                                           {"shards", "4"},
                                           {"partition", "domain"},
                                           {"parts", "2"}}));
  testing::AsGpu as_gpu(device, " -DROLLED");
  DomainProgram program(workload, as_gpu, Mode::resident,
                        ways(as_gpu.traits(), workload.training(0)).front(), 2);
  const Slice all{0, 2};
  REQUIRE(device.try_out([&](Stream& stream) { program.load(stream); }));
  workload.set_partition({});
  workload.begin_sample();
  REQUIRE(device.try_out([&](Stream& stream) {
    program.enqueue(all, 0, stream);
    CountedSeries counted(stream);
    for (std::uint32_t round = 0; round < 3; ++round) {
      program.enqueue_round(all, round, counted);
      CHECK(counted.announced == 2 * 2);  // what the neighbour is, a step
      CHECK(counted.launches == counted.announced);
    }
  }));
  CHECK(has(workload.verify(VerifyLevel::full, 1).message, "parts"));  // still on the device
  Completion completion;
  REQUIRE(device.try_out([&](Stream& stream) { completion = program.publish(stream); }));
  completion();
  const Verdict verdict = workload.verify(VerifyLevel::full, 1);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  // Changes the bias of the output: the difference between the states before and after stays the
  // same.
  Ending other = workload.ending(1);
  other.before.back() += 0.25F;
  other.parameters.back() += 0.25F;
  workload.add_ending(1, other);
  CHECK(has(workload.verify(VerifyLevel::full, 1).message, "the last step"));
}

TEST_CASE("pinn: a training that is stopped ends, though a device waits for what will not come" *
          testing::if_thorough()) {
  testing::Machine& machine = testing::machine();
  if (machine.open.size() < 2) return;
  std::vector<OpenDevice*> devices{machine.open[0].get(), machine.open[1].get()};
  const auto group = machine.backend->connect(devices, std::nullopt);
  PinnWorkload workload(params_with(60, {{"layers", "2"},
                                         {"width", "8"},
                                         {"iterations", "1000000"},
                                         {"shards", "4"},
                                         {"snapshots", "0"}}));
  workload.connect(*group);
  const Problem& problem = workload.problem();
  {
    std::vector<std::unique_ptr<DeviceProgram>> programs;
    SampleRequest request;
    for (std::uint32_t i = 0; i < 2; ++i) {
      DeviceResources& resources = devices[i]->resources();
      programs.push_back(std::make_unique<TrainingProgram>(
          workload, resources, Mode::end_to_end, ways(resources.traits(), problem).front(),
          problem.shards));
      request.participants.push_back({devices[i], programs.back().get()});
      request.places.push_back({i});
      request.exchanging.push_back(true);
    }
    const auto source = make_kept_shares({2, 2}, std::nullopt);
    int asked = 0;
    request.workload = &workload;
    request.source = source.get();
    request.peers = group.get();
    request.stop = [&] { return ++asked > 20; };
    const RawSample sample = machine.executor->run(request);
    CHECK(sample.interrupted);
    for (OpenDevice* device : devices) CHECK(try_drain(*machine.backend, *device));
    CHECK_THROWS_AS(group->check({0}), Error);  // the group cannot be used any more
  }
  workload.disconnect();
}

}  // namespace mgpu::pinn
