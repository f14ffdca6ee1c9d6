// The stencil suite's own program and workload on the fake backend, whose kernels are plain loops: whatever the shares, the depth
// of halos, the order of a round and the path, every cell is that of the reference.
#include <doctest/doctest.h>

#include <set>

#include "lib/exec/executor.hpp"
#include "lib/plan/rounds.hpp"
#include "suites/stencil/stencil_workload.hpp"
#include "tests/support/stencil_kernels.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;

namespace {

struct Asked {
  std::string kind = "jacobi2d";
  std::uint64_t n = 24;
  unsigned steps = 9, depth = 1;
  std::map<std::string, std::string> more = {};  // options
};

SuiteParams params(const Asked& asked) {
  SuiteParams params;
  params.size = asked.n;
  params.seed = 11;
  params.options = {{"kind", asked.kind},  {"iterations", std::to_string(asked.steps)},
                    {"precision", "fp32"}, {"depth", std::to_string(asked.depth)},
                    {"overlap", "on"},     {"rate", "0.1"},
                    {"checkpoint-rounds", "none"},
                    {"radius", "2"},       {"check-every", "never"},
                    {"initial", "auto"}};
  for (const auto& [option, value] : asked.more) params.options[option] = value;
  return params;
}

FakeKernels kernels(const stencil::Problem& problem, unsigned stale_launch) {
  return problem.wide() ? test::stencil_kernels<double>(stale_launch, problem.radius)
                        : test::stencil_kernels<float>(stale_launch, problem.radius);
}

// A device's end of a group, and the device it is of, whose puts with these numbers, counted from 1, do not happen.
class ForgetfulPeer final : public Peer {
 public:
  ForgetfulPeer(Peer& peer, std::set<unsigned> forgotten) : peer_(peer), forgotten_(std::move(forgotten)) {}
  DeviceIndex self() const override { return peer_.self(); }
  std::size_t count() const override { return peer_.count(); }
  PeerPath path(DeviceIndex to) const override { return peer_.path(to); }
  void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset, Bytes size) override {
    if (!forgotten_.contains(++puts_)) peer_.put(from, offset, into, to, to_offset, size);
  }
  void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) override { peer_.sync(signal, await); }

 private:
  Peer& peer_;
  std::set<unsigned> forgotten_;
  unsigned puts_ = 0;
};

class Forgetful final : public DeviceResources {
 public:
  Forgetful(DeviceResources& device, std::set<unsigned> forgotten) : device_(device), peer_(*device.peer(), std::move(forgotten)) {}
  const DeviceTraits& traits() const override { return device_.traits(); }
  std::unique_ptr<Buffer> allocate(Bytes size) override { return device_.allocate(size); }
  Peer* peer() override { return &peer_; }
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry, const std::string& options) override {
    return device_.kernel(file, entry, options);
  }

 private:
  DeviceResources& device_;
  ForgetfulPeer peer_;
};

// A sample with these shares, a device each, published.
struct Planted {
  std::vector<FakeScript> scripts = {};
  unsigned stale_launch = 0;                            // of jacobi2d: it finds a stale halo
  std::map<std::size_t, std::set<unsigned>> forgotten;  // puts of devices
  Bytes memory = 0;                                     // of each device; 0: plenty
};

struct Sample {
  Sample(stencil::StencilWorkload& workload, std::vector<Items> shares, Mode mode, PeerPath path, const Planted& planted = {})
      : backend(devices(shares.size(), planted), kernels(workload.problem(), planted.stale_launch)) {
    std::vector<OpenDevice*> members;
    for (const FakeDevice& device : devices(shares.size(), planted)) {
      open.push_back(backend.open(device.facts));
      members.push_back(open.back().get());
    }
    group = backend.connect(members, path);
    workload.connect(*group);
    SampleRequest request;
    for (std::uint32_t i = 0; i < shares.size(); ++i) {
      const Capacity capacity = workload.capacity(open[i]->resources().traits(), mode);
      REQUIRE_MESSAGE(capacity.fits >= shares[i], capacity.reason);
      DeviceResources* resources = &open[i]->resources();
      if (const auto found = planted.forgotten.find(i); found != planted.forgotten.end())
        resources = forgetful.emplace_back(std::make_unique<Forgetful>(*resources, found->second)).get();
      programs.push_back(workload.program(*resources, mode, capacity));
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

  static std::vector<FakeDevice> devices(std::size_t count, const Planted& planted) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(test::fake_device("0:" + std::to_string(i), 1e6 * static_cast<double>(1 + i % 3)));
      made.back().facts.max_work_group = 64;
      made.back().facts.fp64 = true;
      if (planted.memory > 0) made.back().facts.global_memory = made.back().facts.max_allocation = planted.memory;
      if (i < planted.scripts.size()) made.back().script = planted.scripts[i];
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
  std::vector<std::unique_ptr<Forgetful>> forgetful;
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
  struct Tried {
    Asked asked;
    std::vector<unsigned> depths;
  };
  const std::vector<Tried> all = {{{"jacobi2d", 43, 11}, {1, 2, 3, 5}},
                                  {{"jacobi2d", 43, 11, 1, {{"precision", "fp64"}, {"check-every", "3"}}}, {1, 4}},
                                  {{"heat3d", 26, 11}, {1, 2, 3}},
                                  {{"heat3d", 20, 7, 1, {{"precision", "fp64"}}}, {1, 2}},
                                  {{"star", 43, 11, 1, {{"radius", "1"}}}, {1}},
                                  {{"star", 43, 11, 1, {{"radius", "3"}, {"precision", "fp64"}}}, {1}},
                                  {{"star", 43, 11, 1, {{"radius", "4"}, {"initial", "uniform"}}}, {1}}};
  for (const Tried& tried : all) {
    for (const unsigned depth : tried.depths) {
      for (const char* overlap : {"on", "off"}) {
        Asked asked = tried.asked;
        asked.depth = depth;
        asked.more["overlap"] = overlap;
        stencil::StencilWorkload workload(params(asked));
        for (std::size_t devices = 1; devices <= 8; ++devices) {
          for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
            for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
              CAPTURE(asked.kind);
              CAPTURE(depth);
              CAPTURE(overlap);
              CAPTURE(devices);
              CAPTURE(to_string(mode));
              CAPTURE(to_string(path));
              check(workload, uneven(devices, asked.n, workload.problem().halo()), mode, path);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("devices without layers take no part, and their neighbours are those that have some") {
  stencil::StencilWorkload workload(params({"jacobi2d", 20, 6}));
  check(workload, {0, 7, 0, 12, 1, 0}, Mode::resident, PeerPath::direct);
  check(workload, {0, 20, 0}, Mode::end_to_end, PeerPath::direct);
}

TEST_CASE("one step exchanges nothing, and steps need not be a multiple of the depth") {
  for (const unsigned steps : {1U, 2U, 3U, 4U, 5U, 7U}) {
    CAPTURE(steps);
    stencil::StencilWorkload workload(params({"jacobi2d", 24, steps, 4}));
    check(workload, {9, 11, 4}, Mode::resident, PeerPath::direct);
  }
}

TEST_CASE("a halo that is stale once, in one row of one step, is found") {
  stencil::StencilWorkload workload(params({.more = {{"overlap", "off"}}}));
  for (const unsigned launch : {0U, 7U, 8U, 17U}) {
    CAPTURE(launch);
    Planted planted;
    planted.stale_launch = launch;
    Sample sample(workload, {12, 12}, Mode::resident, PeerPath::direct, planted);
    REQUIRE_FALSE(sample.raw.failure);
    const Verdict verdict = workload.verify(VerifyLevel::full, 0);
    CHECK((verdict.status == Verdict::Status::failed) == (launch > 0));
    CHECK((verdict.message.find("cells are wrong, the first in layer") != std::string::npos) == (launch > 0));
  }
}

TEST_CASE("a put that does not happen is found, whatever the kind, also where a mean would not see it") {
  for (const Asked& asked : {Asked{}, Asked{"heat3d"}, Asked{"star"}, Asked{"jacobi2d", 24, 9, 2}}) {
    CAPTURE(asked.kind);
    CAPTURE(asked.depth);
    stencil::StencilWorkload workload(params(asked));
    Sample(workload, {12, 12}, Mode::resident, PeerPath::direct);
    REQUIRE(workload.verify(VerifyLevel::full, 0).status == Verdict::Status::passed);
    Planted planted;  // a put of each of them, in the same round
    const unsigned each = asked.kind == "jacobi2d" ? 2 : 1;
    planted.forgotten = {{0, {3 * each}}, {1, {3 * each - each + 1}}};
    Sample(workload, {12, 12}, Mode::resident, PeerPath::direct, planted);
    const Verdict verdict = workload.verify(VerifyLevel::full, 0);
    CHECK(verdict.status == Verdict::Status::failed);
    CHECK(verdict.message.find("cells are wrong") != std::string::npos);
    if (asked.kind != "star") continue;
    double sum = 0;  // of the Parallel Research Kernels' check, which is content with these
    const auto* const sums = reinterpret_cast<const float*>(workload.result().data());
    for (std::uint64_t i = 0; i < workload.problem().cells(); ++i) sum += static_cast<double>(sums[i]);
    CHECK(sum / (20 * 20) == doctest::Approx(2.0 * asked.steps));
  }
}

TEST_CASE("norms of the change are the host's, are told, and a wrong one is found beside right cells") {
  // The multi-GPU example of NVIDIA prints 22.626 for the first step of its initial state on 8192 x 8192 cells, which is the square
  // root of 8191 / 16.
  stencil::StencilWorkload workload(params({"jacobi2d", 65, 6, 1, {{"check-every", "1"}, {"initial", "sine"}}}));
  Sample(workload, {20, 45}, Mode::end_to_end, PeerPath::direct);
  const Verdict verdict = workload.verify(VerifyLevel::full, 0);
  CHECK(verdict.status == Verdict::Status::passed);
  CHECK_MESSAGE(verdict.method.find("norm of the change: 2 in step 1, ") != std::string::npos, verdict.method);
  CHECK(stencil::norm_of(workload.problem(), workload.changes().data()) == doctest::Approx(2.0));
  const std::string digest = workload.digest();
  workload.changes()[4 * (3 * 65 + 7)] ^= std::byte{1};
  CHECK(workload.digest() != digest);
  const Verdict wrong = workload.verify(VerifyLevel::full, 0);
  CHECK(wrong.status == Verdict::Status::failed);
  CHECK(wrong.message.find("norm") != std::string::npos);
}

TEST_CASE("an eigenmode decays as it must, and a ramp gives two a step") {
  for (const char* precision : {"fp32", "fp64"}) {
    for (const char* kind : {"jacobi2d", "heat3d", "star"}) {
      CAPTURE(precision);
      CAPTURE(kind);
      const bool star = kind == std::string("star");
      stencil::StencilWorkload workload(params(
          {kind, 24, 40, 1, {{"precision", precision}, {"initial", star ? "ramp" : "eigenmode"}, {"radius", star ? "3" : "2"}}}));
      Sample(workload, {12, 12}, Mode::resident, PeerPath::direct);
      const Verdict verdict = workload.verify(VerifyLevel::full, 0);
      CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
      CHECK(verdict.method.find(star ? "closed form, 80 in each inner cell" : "decay of the eigenmode") != std::string::npos);
      // What a plain loop would not tell: results of one step more, or with another cell, are no decay of forty steps.
      stencil::Problem other = workload.problem();
      other.steps += 1;
      CHECK_FALSE(stencil::compare_closed_form(other, workload.result())->wrong.empty());
      const std::uint64_t inner = workload.problem().cells() / 2 + workload.problem().cells_of_layer() / 2 + 12;
      workload.result()[(inner + 1) * workload.problem().element - 1] ^= std::byte{0x40};
      CHECK_FALSE(stencil::compare_closed_form(workload.problem(), workload.result())->wrong.empty());
    }
  }
}

TEST_CASE("a problem larger than a device is done by several, whose memory has room for their shares") {
  SuiteParams asked = params({"jacobi2d", 128, 9, 2});
  const Bytes row = 128 * sizeof(float);
  const Bytes memory = 3 * 90 * row * 10 / 9 + 100;  // for three states of 90 rows, four of them halos
  asked.memory.assign(2, {memory, memory});
  stencil::StencilWorkload workload(asked);
  DeviceTraits traits;
  traits.global_memory = traits.max_allocation = memory;
  CHECK(workload.capacity(traits, Mode::end_to_end).fits == 86);
  CHECK(workload.capacity(traits, Mode::resident).fits == 0);
  CHECK(workload.capacity(traits, Mode::resident).reason.find("--mode end-to-end") != std::string::npos);
  Planted planted;
  planted.memory = memory;
  Sample sample(workload, {42, 86}, Mode::end_to_end, PeerPath::direct, planted);
  REQUIRE_FALSE(sample.raw.failure);
  CHECK(workload.verify(VerifyLevel::full, 0).status == Verdict::Status::passed);
  asked.memory.push_back({2 * memory, 2 * memory});
  asked.memory[0] = {memory / 5, memory / 5};  // as one device has room for all, none is held back by the smallest
  CHECK(stencil::StencilWorkload(asked).state_bytes() == 132 * row);
}

TEST_CASE("a share with fewer layers than its neighbours need is refused, and says which option asks for them") {
  for (const char* kind : {"jacobi2d", "star"}) {
    stencil::StencilWorkload workload(
        params({kind, 24, 9, kind == std::string("star") ? 1U : 4U, {{"radius", kind == std::string("star") ? "4" : "2"}}}));
    Sample sample(workload, {21, 3}, Mode::resident, PeerPath::direct);
    REQUIRE(sample.raw.failure);
    CHECK(sample.raw.failure->kind() == ErrorKind::unsupported);
    CHECK(std::string(sample.raw.failure->what()).find(kind == std::string("star") ? "--radius" : "--depth") != std::string::npos);
  }
}

TEST_CASE("a device that is lost between rounds takes its state along: the sample has no result, and nobody hangs") {
  stencil::StencilWorkload workload(params({"jacobi2d", 24, 30}));
  Planted planted;
  planted.scripts = {{}, fails_from(FakeCall::launch, 12, FakeFault::Kind::error)};
  Sample sample(workload, {8, 8, 8}, Mode::resident, PeerPath::direct, planted);
  REQUIRE(sample.raw.failure);
  REQUIRE(sample.raw.faults.size() == 1);
  CHECK(sample.raw.faults[0].device == DeviceIndex{1});
}
