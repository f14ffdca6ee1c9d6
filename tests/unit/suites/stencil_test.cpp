// The stencil suite's own program and workload on the fake backend, whose kernels are plain loops: whatever the shares, the depth
// of halos, the order of a round and the path, every cell is that of the reference.
#include <doctest/doctest.h>

#include <numeric>

#include "lib/exec/executor.hpp"
#include "lib/plan/rounds.hpp"
#include "suites/stencil/stencil_workload.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;

namespace {

struct Args {
  explicit Args(std::span<const FakeArg> given) : args(given) {}
  const float* from() const { return reinterpret_cast<const float*>(std::get<std::span<std::byte>>(args[0]).data()); }
  float* to() const { return reinterpret_cast<float*>(std::get<std::span<std::byte>>(args[1]).data()); }
  std::uint32_t u(std::size_t i) const { return std::get<std::uint32_t>(args[i]); }
  std::span<const FakeArg> args;
};

// kernels/stencil.cl's. `stale`: what lies above the first row is taken from the state of two steps ago, once.
void jacobi2d(std::span<const FakeArg> given, bool stale) {
  const Args args(given);
  const std::uint32_t first = args.u(2), end = args.u(3), shift = args.u(4), above = args.u(5), below = args.u(6), n = args.u(7),
                      stride = args.u(8);
  for (std::uint32_t row = first; row < end; ++row) {
    const float* const north =
        (stale && row == first ? args.to() : args.from()) + (row == first ? above : row + shift - 1) * std::size_t{stride};
    const float* const here = args.from() + (row + shift) * std::size_t{stride};
    const float* const south = args.from() + (row + 1 == end ? below : row + shift + 1) * std::size_t{stride};
    float* const to = args.to() + row * std::size_t{stride};
    to[0] = here[0];
    to[n - 1] = here[n - 1];
    for (std::uint32_t x = 1; x + 1 < n; ++x) to[x] = (((here[x - 1] + here[x + 1]) + north[x]) + south[x]) * 0.25F;
  }
}

void heat3d(const Grid&, std::span<const FakeArg> given) {
  const Args args(given);
  const std::uint32_t first = args.u(2), end = args.u(3), shift = args.u(4), n = args.u(7), stride = args.u(8);
  const float rate = std::get<float>(given[9]);
  const std::size_t plane = std::size_t{n} * stride;
  for (std::uint32_t z = first; z < end; ++z) {
    for (std::uint32_t y = 0; y < n; ++y) {
      for (std::uint32_t x = 0; x < n; ++x) {
        const float* const at = args.from() + (z + shift) * plane + std::size_t{y} * stride + x;
        float now = *at;
        if (x > 0 && x + 1 < n && y > 0 && y + 1 < n && z != args.u(5) && z != args.u(6)) {
          const float around = ((((at[-1] + at[1]) + *(at - stride)) + at[stride]) + *(at - plane)) + at[plane];
          now = rate * (around - 6.0F * *at) + *at;
        }
        args.to()[z * plane + std::size_t{y} * stride + x] = now;
      }
    }
  }
}

// `stale_launch`: the launch of jacobi2d that finds a stale halo; 0: none.
FakeKernels kernels(unsigned stale_launch) {
  FakeKernelCode plane, box;
  plane.run = [stale_launch, launches = std::make_shared<unsigned>(0)](const Grid&, std::span<const FakeArg> given) {
    jacobi2d(given, ++*launches == stale_launch);
  };
  box.run = heat3d;
  plane.ops = box.ops = [](const Grid&, std::span<const FakeArg> given) {
    const Args args(given);
    return static_cast<double>(args.u(3) - args.u(2));
  };
  FakeKernelCode copy;
  copy.run = [](const Grid& grid, std::span<const FakeArg> given) {
    const Args args(given);
    const std::size_t stride = std::size_t{args.u(2)} * 4, first = std::get<std::uint64_t>(given[3]) * stride;
    std::copy_n(args.from() + first, grid.global[1] * stride, args.to() + first);
  };
  copy.ops = [](const Grid& grid, std::span<const FakeArg>) { return static_cast<double>(grid.global[1]) / 4; };
  return {{"jacobi2d", plane}, {"heat3d", box}, {"copy", copy}};
}

SuiteParams params(const std::string& kind, std::uint64_t n, unsigned steps, unsigned depth, const std::string& overlap) {
  SuiteParams params;
  params.size = n;
  params.seed = 11;
  params.options = {{"kind", kind},
                    {"iterations", std::to_string(steps)},
                    {"depth", std::to_string(depth)},
                    {"overlap", overlap},
                    {"checkpoint-rounds", "none"},
                    {"rate", "0.1"}};
  return params;
}

// A sample with these shares, a device each, published.
struct Sample {
  Sample(stencil::StencilWorkload& workload, std::vector<Items> shares, Mode mode, PeerPath path,
         const std::vector<FakeScript>& scripts = {}, unsigned stale_launch = 0)
      : backend(devices(shares.size(), scripts), kernels(stale_launch)) {
    std::vector<OpenDevice*> members;
    for (const FakeDevice& device : devices(shares.size(), scripts)) {
      open.push_back(backend.open(device.facts));
      members.push_back(open.back().get());
    }
    group = backend.connect(members, path);
    workload.connect(*group);
    SampleRequest request;
    for (std::uint32_t i = 0; i < shares.size(); ++i) {
      const Capacity capacity = workload.capacity(open[i]->resources().traits(), mode);
      REQUIRE(capacity.fits == workload.shape().items);
      programs.push_back(workload.program(open[i]->resources(), mode, capacity));
      if (mode == Mode::resident) {
        programs[i]->load(open[i]->stream());
        finish(i);
      }
      request.members.push_back({open[i].get(), programs[i].get()});
      request.places.push_back({i});
      request.exchanging.push_back(shares[i] > 0);
    }
    const auto source = make_kept_shares(shares);
    request.workload = &workload;
    request.source = source.get();
    request.peers = group.get();
    raw = Executor(backend, shares.size()).run(request);
    for (std::uint32_t i = 0; i < shares.size() && !raw.failure; ++i) {
      programs[i]->publish(open[i]->stream());
      finish(i);
      programs[i]->published();
    }
    programs.clear();
    workload.disconnect();
  }

  static std::vector<FakeDevice> devices(std::size_t count, const std::vector<FakeScript>& scripts) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(test::fake_device("0:" + std::to_string(i), 1e6 * static_cast<double>(1 + i % 3)));
      made.back().facts.max_work_group = 64;
      if (i < scripts.size()) made.back().script = scripts[i];
    }
    return made;
  }
  void finish(std::size_t i) {
    const BatchId batch = open[i]->submit();
    while (!open[i]->complete(batch)) REQUIRE(backend.advance({}));
    open[i]->take(batch);
  }

  FakeBackend backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::unique_ptr<PeerGroup> group;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  RawSample raw;
};

void check(stencil::StencilWorkload& workload, const std::vector<Items>& shares, Mode mode, PeerPath path) {
  Sample sample(workload, shares, mode, path);
  REQUIRE_FALSE(sample.raw.failure);
  CHECK(sample.raw.slices.size() == shares.size() - static_cast<std::size_t>(std::count(shares.begin(), shares.end(), Items{0})));
  const Verdict verdict = workload.verify(VerifyLevel::full, 0);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}

// Shares of n layers for so many devices, uneven, none smaller than `least`.
std::vector<Items> uneven(std::size_t devices, Items n, Items least) {
  std::vector<Items> shares(devices, least);
  Items left = n - devices * least;
  for (std::size_t i = 0; left > 0; i = (i + 1) % devices) {
    const Items more = std::min<Items>(left, 1 + i % 3);
    shares[i] += more;
    left -= more;
  }
  return shares;
}

}  // namespace

TEST_CASE("every cell is that of a plain loop, on 1 to 8 devices, whatever the depth, the order of a round and the path") {
  for (const char* kind : {"jacobi2d", "heat3d"}) {
    for (const unsigned depth : {1U, 2U, 3U, 5U}) {
      for (const char* overlap : {"on", "off"}) {
        const Items n = kind == std::string("heat3d") && depth < 5 ? 26 : 43;
        if (kind == std::string("heat3d") && depth == 5) continue;
        stencil::StencilWorkload workload(params(kind, n, 11, depth, overlap));
        for (std::size_t devices = 1; devices <= 8; ++devices) {
          for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
            for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
              CAPTURE(kind);
              CAPTURE(depth);
              CAPTURE(overlap);
              CAPTURE(devices);
              CAPTURE(to_string(mode));
              CAPTURE(to_string(path));
              check(workload, uneven(devices, n, depth), mode, path);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("devices without layers take no part, and their neighbours are those that have some") {
  stencil::StencilWorkload workload(params("jacobi2d", 20, 6, 1, "on"));
  check(workload, {0, 7, 0, 12, 1, 0}, Mode::resident, PeerPath::direct);
  check(workload, {0, 20, 0}, Mode::end_to_end, PeerPath::direct);
}

TEST_CASE("one step exchanges nothing, and steps need not be a multiple of the depth") {
  for (const unsigned steps : {1U, 2U, 3U, 4U, 5U, 7U}) {
    CAPTURE(steps);
    stencil::StencilWorkload workload(params("jacobi2d", 24, steps, 4, "on"));
    check(workload, {9, 11, 4}, Mode::resident, PeerPath::direct);
  }
}

TEST_CASE("a halo that is stale once, in one row of one step, is found") {
  stencil::StencilWorkload workload(params("jacobi2d", 24, 9, 1, "off"));
  for (const unsigned launch : {0U, 7U, 8U, 17U}) {
    CAPTURE(launch);
    Sample sample(workload, {12, 12}, Mode::resident, PeerPath::direct, {}, launch);
    REQUIRE_FALSE(sample.raw.failure);
    const Verdict verdict = workload.verify(VerifyLevel::full, 0);
    CHECK((verdict.status == Verdict::Status::failed) == (launch > 0));
    CHECK((verdict.message.find("cells are wrong, the first in layer") != std::string::npos) == (launch > 0));
  }
}

TEST_CASE("a share with fewer layers than its neighbours need is refused, and says which option asks for them") {
  stencil::StencilWorkload workload(params("jacobi2d", 24, 9, 4, "on"));
  Sample sample(workload, {21, 3}, Mode::resident, PeerPath::direct);
  REQUIRE(sample.raw.failure);
  CHECK(sample.raw.failure->kind() == ErrorKind::unsupported);
  CHECK(std::string(sample.raw.failure->what()).find("--depth") != std::string::npos);
}

TEST_CASE("a device that is lost between rounds takes its state along: the sample has no result, and nobody hangs") {
  stencil::StencilWorkload workload(params("jacobi2d", 24, 30, 1, "on"));
  Sample sample(workload, {8, 8, 8}, Mode::resident, PeerPath::direct,
                {{}, fails_from(FakeCall::launch, 12, FakeFault::Kind::error)});
  REQUIRE(sample.raw.failure);
  REQUIRE(sample.raw.faults.size() == 1);
  CHECK(sample.raw.faults[0].device == DeviceIndex{1});
}
