// Merkle trees on the devices there are, against the recursion of RFC 6962 on OpenSSL: every size and shape, both kernel paths.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "lib/exec/cl_backend.hpp"
#include "lib/exec/executor.hpp"
#include "lib/plan/strategy.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/suites.hpp"
#include "tests/support/ct_vectors.hpp"
#include "tests/support/merkle_reference.hpp"

using namespace mgpu;
using mgpu::merkle::TreeKind;

namespace {

// Resources that claim not to be a CPU's, so that the kernels for GPUs are run where there is none.
class AsGpu final : public DeviceResources {
 public:
  explicit AsGpu(DeviceResources& real) : real_(real), traits_(real.traits()) { traits_.cpu = false; }
  const DeviceTraits& traits() const override { return traits_; }
  std::unique_ptr<Buffer> allocate(Bytes size) override { return real_.allocate(size); }
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry, const std::string& options) override {
    return real_.kernel(file, entry, options);
  }

 private:
  DeviceResources& real_;
  DeviceTraits traits_;
};

// The devices of a machine, opened once for all tests: two parts of the first CPU if it can be split, else all there are.
struct Machine {
  Machine() : backend(make_cl_backend({embedded_kernels(), std::filesystem::temp_directory_path() / "mgpu-bench-test-kernels"})) {
    auto devices = backend->enumerate().devices;
    REQUIRE_FALSE(devices.empty());
    for (const Device& device : devices) {
      if (!device.is_cpu() || device.compute_units < 2) continue;
      devices = backend->split(device, 2);
      break;
    }
    for (const Device& device : devices) open.push_back(backend->open(device));
    executor = std::make_unique<Executor>(*backend, open.size());
  }

  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::unique_ptr<Executor> executor;
};

Machine& machine() {
  static Machine made;
  return made;
}

enum class Path { own, gpu };

// The root, and with VerifyLevel::sample what verification says of it.
std::string root_of(merkle::MerkleWorkload& workload, const std::string& strategy, Mode mode, Path path, Items pipeline = 0) {
  Machine& here = machine();
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
  SampleRequest request;
  for (std::uint32_t i = 0; i < here.open.size(); ++i) {
    OpenDevice& device = *here.open[i];
    AsGpu disguised(device.resources());
    DeviceResources& resources = path == Path::gpu ? static_cast<DeviceResources&>(disguised) : device.resources();
    Capacity capacity = workload.capacity(resources.traits(), mode);
    REQUIRE(capacity.fits > 0);
    if (pipeline > 0) capacity.pipeline = std::min(pipeline, capacity.fits);
    programs.push_back(workload.program(resources, DeviceIndex{i}, mode, capacity));
    if (mode == Mode::resident) {
      programs.back()->load(device.stream());
      const BatchId batch = device.submit();
      while (!device.complete(batch)) {
      }
      device.take(batch);
    }
    DeviceEstimate& estimate = estimates.emplace_back();
    estimate.items_per_s = 1;
    estimate.score = 10;
    estimate.fits = capacity.fits;
    estimate.pipeline = capacity.pipeline;
    request.members.push_back({&device, programs.back().get()});
  }
  const Shape& shape = workload.shape();
  const PlanRequest plan{shape.items, shape.granularity, mode, shape.cost, estimates, 0, 0};
  const StrategyChoice choice = parse_strategies(strategy).front();
  const auto source = choice.info->make(choice.params)->begin(plan, {});
  request.workload = &workload;
  request.source = source.get();
  const RawSample sample = here.executor->run(request);
  REQUIRE_MESSAGE(!sample.failure, (sample.failure ? sample.failure->what() : ""));
  for (std::size_t i = 0; i < programs.size(); ++i) {
    programs[i]->publish(here.open[i]->stream());
    const BatchId batch = here.open[i]->submit();
    while (!here.open[i]->complete(batch)) {
    }
    here.open[i]->take(batch);
    programs[i]->published();
  }
  CHECK(workload.verify(VerifyLevel::sample, 7).status == Verdict::Status::passed);
  return workload.digest();
}

void check_size(TreeKind kind, std::uint64_t leaves, const std::string& strategy, Mode mode, Path path, Items pipeline = 0) {
  CAPTURE(leaves);
  CAPTURE(strategy);
  CAPTURE(merkle::tree_names[static_cast<std::size_t>(kind)]);
  CAPTURE(to_string(mode));
  merkle::MerkleWorkload workload(kind, merkle::Leaves::random(leaves, 11 + leaves, 2), 2);
  const auto expected = merkle::hex(testing::recursive_root(kind, testing::split_leaves(workload.leaves().bytes())));
  CHECK(root_of(workload, strategy, mode, path, pipeline) == expected);
}

}  // namespace

TEST_CASE("trees of every small size and around powers of two have the reference's root, on the device's own kernels") {
  for (const TreeKind kind : {TreeKind::plain, TreeKind::rfc6962}) {
    for (std::uint64_t leaves = kind == TreeKind::plain ? 1 : 0; leaves <= 70; leaves += leaves < 4 ? 1 : 3) {
      check_size(kind, leaves, "equal", leaves % 2 ? Mode::resident : Mode::end_to_end, Path::own);
    }
    for (const std::uint64_t power : {128, 1024, 4096}) {
      for (const std::uint64_t leaves : {power - 1, power, power + 1})
        check_size(kind, leaves, "dynamic", Mode::end_to_end, Path::own);
    }
  }
}

TEST_CASE(
    "trees of random sizes up to 10,000 have the reference's root under every strategy, slicing and mode, on both kernel paths") {
  std::mt19937_64 random(20260601);
  for (const Path path : {Path::own, Path::gpu}) {
    for (int n = 0; n < 16; ++n) {
      const auto& strategies = all_strategies();
      const std::string strategy = strategies[static_cast<std::size_t>(n) % strategies.size()].name;
      const TreeKind kind = n % 3 == 0 ? TreeKind::rfc6962 : TreeKind::plain;
      check_size(kind, 1 + random() % 10'000, strategy, n % 2 ? Mode::resident : Mode::end_to_end, path, 1 + random() % 40);
    }
  }
}

TEST_CASE("the kernels for GPUs give the reference's roots for small and ragged trees") {
  for (const TreeKind kind : {TreeKind::plain, TreeKind::rfc6962, TreeKind::rfc6962_digests}) {
    for (const std::uint64_t leaves : {1, 2, 3, 31, 32, 33, 100, 1023, 1025, 70'001})
      check_size(kind, leaves, "equal", Mode::resident, Path::gpu);
  }
}

TEST_CASE("a larger ragged tree has the reference's root under every strategy") {
  for (const StrategyInfo& info : all_strategies()) check_size(TreeKind::plain, 100'000, info.name, Mode::end_to_end, Path::own);
}

TEST_CASE("fed the published leaf hashes, devices give the published RFC 6962 roots of sizes 0 to 8, on both kernel paths") {
  const auto file = std::filesystem::temp_directory_path() / ("mgpu-ct-" + std::to_string(::getpid()));
  for (const Path path : {Path::own, Path::gpu}) {
    for (std::size_t size = 0; size <= 8; ++size) {
      CAPTURE(size);
      {
        std::ofstream out(file, std::ios::binary);
        for (std::size_t i = 0; i < size; ++i) {
          const std::string hex = testing::published_leaf_hashes[i];
          for (std::size_t byte = 0; byte < 32; ++byte) out.put(static_cast<char>(std::stoi(hex.substr(2 * byte, 2), nullptr, 16)));
        }
      }
      merkle::MerkleWorkload workload(TreeKind::rfc6962_digests, merkle::Leaves::from_file(file, size), 1);
      CHECK(root_of(workload, "equal", Mode::end_to_end, path) == testing::published_roots[size]);
    }
  }
  std::filesystem::remove(file);
}
