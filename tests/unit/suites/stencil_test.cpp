// The stencil suite's own program and workload on the fake backend, whose kernels are plain loops:
// whatever the shares, the depth of halos, the order of a round and the path, every cell is that of
// the reference.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "suites/stencil/stencil_workload.hpp"
#include "tests/support/stencil_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

void check(stencil::StencilWorkload& workload, const std::vector<Items>& shares, Mode mode,
           PeerPath path) {
  StencilSample sample(workload, shares, mode, path);
  REQUIRE_FALSE(sample.raw.failure);
  CHECK(sample.raw.slices.size() == shares.size() - static_cast<std::size_t>(std::count(
                                                        shares.begin(), shares.end(), Items{0})));
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

TEST_CASE(
    "every cell is that of a plain loop, on 1 to 8 devices, whatever the depth, the order of a "
    "round and the path") {
  struct Tried {
    StencilAsked asked;
    std::vector<unsigned> depths;
  };
  const std::vector<Tried> all = {
      {{"jacobi2d", 43, 11}, {1, 2, 3, 5}},
      {{"jacobi2d", 43, 11, 1, {{"precision", "fp64"}, {"check-every", "3"}}}, {1, 4}},
      {{"heat3d", 26, 11}, {1, 2, 3}},
      {{"heat3d", 20, 7, 1, {{"precision", "fp64"}}}, {1, 2}},
      {{"star", 43, 11, 1, {{"radius", "1"}}}, {1}},
      {{"star", 43, 11, 1, {{"radius", "3"}, {"precision", "fp64"}}}, {1}},
      {{"star", 43, 11, 1, {{"radius", "4"}, {"initial", "uniform"}}}, {1}}};
  for (const Tried& tried : all) {
    for (const unsigned depth : tried.depths) {
      for (const char* overlap : {"on", "off"}) {
        StencilAsked asked = tried.asked;
        asked.depth = depth;
        asked.more["overlap"] = overlap;
        stencil::StencilWorkload workload(stencil_params(asked));
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

TEST_CASE(
    "each command bears the number of its round, and none before the first and after the last, nor "
    "of checkpoints") {
  stencil::StencilWorkload workload(
      stencil_params({"jacobi2d", 24, 5, 1, {{"checkpoint-rounds", "2"}}}));
  StencilSample sample(workload, {10, 14}, Mode::end_to_end, PeerPath::direct);
  REQUIRE_FALSE(sample.raw.failure);
  const std::vector<ClockMap> clocks(2);
  std::map<std::pair<std::uint32_t, std::optional<std::uint32_t>>, std::set<std::string>>
      labels;                                                 // by device and round
  std::map<std::uint32_t, std::vector<std::uint32_t>> order;  // of the kernels' rounds
  for (const Command& command : to_timeline(sample.raw, clocks).commands) {
    labels[{command.device.value, command.round}].insert(
        command.label.empty() ? to_string(command.kind) : command.label.text());
    if (command.label == Name("jacobi2d"))
      order[command.device.value].push_back(command.round.value());
  }
  for (std::uint32_t device = 0; device < 2; ++device) {
    CAPTURE(device);
    CHECK(std::is_sorted(order[device].begin(), order[device].end()));
    CHECK(labels[{device, std::nullopt}] ==
          std::set<std::string>{"upload", "signal", "wait", "copy_part", "download"});
    for (std::uint32_t round = 0; round < 4; ++round) {
      CHECK(labels[{device, round}] == std::set<std::string>{"jacobi2d", "put", "signal", "wait"});
    }
    CHECK(labels[{device, 4}] == std::set<std::string>{"jacobi2d", "download"});
  }
  CHECK(labels.size() == 12);
}

TEST_CASE(
    "blocks have the cells of a plain loop, on 1 to 8 devices, whatever the shares, the depth and "
    "the path") {
  const std::vector<StencilAsked> all = {
      {"jacobi2d", 29, 7},
      {"jacobi2d", 29, 7, 2},
      {"jacobi2d", 23, 7, 3, {{"precision", "fp64"}}},
      {"jacobi2d", 5, 4},
      {"heat3d", 14, 5, 1, {{"overlap", "off"}}},
      {"heat3d", 13, 5, 2, {{"precision", "fp64"}}},
      {"star", 29, 6, 1, {{"radius", "4"}}},
      {"star", 29, 6, 1, {{"radius", "1"}, {"overlap", "off"}, {"precision", "fp64"}}}};
  for (const StencilAsked& asked : all) {
    for (std::size_t devices = 1; devices <= 8; ++devices) {
      SuiteParams of_blocks = stencil_params(asked);
      of_blocks.options["split"] = "blocks";
      of_blocks.devices = devices;
      stencil::StencilWorkload workload(of_blocks);
      const Items items = workload.shape().items, n = asked.n, columns = workload.problem().columns;
      CHECK(items == n * columns);
      CHECK((columns * columns >= devices && devices % columns == 0));
      std::vector<Items> equal(devices, items / devices), greedy(devices, 0);
      equal.back() += items % devices;
      greedy.front() = items / 2 + 1;  // a part of a column beside whole ones
      greedy.back() += items - greedy.front();
      for (const std::vector<Items>& shares : {equal, uneven(devices, items, 1), greedy}) {
        for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
          for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
            CAPTURE(asked.kind);
            CAPTURE(asked.depth);
            CAPTURE(devices);
            CAPTURE(shares.front());
            CAPTURE(to_string(mode));
            CAPTURE(to_string(path));
            check(workload, shares, mode, path);
          }
        }
      }
    }
  }
}

TEST_CASE("what blocks exchange is all that lies around them, and has room where it lands") {
  std::mt19937_64 random(7);
  for (unsigned round = 0; round < 400; ++round) {
    stencil::Problem problem;
    problem.kind = static_cast<stencil::Kind>(random() % 3);
    problem.n = 5 + random() % 20;
    problem.columns = 1 + random() % 5;
    problem.depth = problem.kind == stencil::Kind::star ? 1 : 1 + random() % 3;
    problem.radius = problem.kind == stencil::Kind::star ? 2 : 1;
    std::vector<Owner> owners;
    for (Items begin = 0; begin < problem.items();) {
      const Items end = std::min(problem.items(), begin + 1 + random() % problem.items());
      owners.push_back({{static_cast<std::uint32_t>(owners.size())}, {begin, end}});
      begin = end;
    }
    std::map<std::uint32_t, std::set<std::pair<std::uint64_t, std::uint64_t>>>
        known;  // to each device
    const auto know = [&](std::uint32_t device, const stencil::Patch& patch) {
      for (std::uint64_t layer = patch.first; layer < patch.end; ++layer)
        for (std::uint64_t x = patch.left; x < patch.right; ++x) known[device].insert({layer, x});
    };
    for (const Owner& owner : owners)
      for (const stencil::Patch& patch : stencil::patches_of(problem, owner.items))
        know(owner.device.value, patch);
    std::uint64_t owned = 0;
    for (const auto& [device, cells] : known) owned += cells.size();
    CHECK(owned == problem.n * problem.n);  // each cell once
    for (const stencil::Transfer& transfer : stencil::transfers_among(problem, owners)) {
      const stencil::Patch& patch = transfer.patch;
      know(transfer.to.value, patch);
      const std::uint64_t cells =
          (patch.end - patch.first) * (patch.right - patch.left) * problem.unit();
      CHECK((!transfer.packed || transfer.landing + cells <= stencil::most_landing(problem)));
    }
    const auto reach = static_cast<std::int64_t>(problem.halo()),
               n = static_cast<std::int64_t>(problem.n);
    for (const Owner& owner : owners) {
      for (const stencil::Patch& patch : stencil::patches_of(problem, owner.items)) {
        for (auto layer = static_cast<std::int64_t>(patch.first) - reach;
             layer < static_cast<std::int64_t>(patch.end) + reach; ++layer) {
          if (!problem.periodic() && (layer < 0 || layer >= n)) continue;
          const bool beside = layer >= static_cast<std::int64_t>(patch.first) &&
                              layer < static_cast<std::int64_t>(patch.end);
          const std::int64_t aside = beside || problem.depth > 1 ? reach : 0;
          for (auto x = std::max<std::int64_t>(0, static_cast<std::int64_t>(patch.left) - aside);
               x < std::min(n, static_cast<std::int64_t>(patch.right) + aside); ++x)
            REQUIRE(known[owner.device.value].contains(
                {static_cast<std::uint64_t>((layer + n) % n), static_cast<std::uint64_t>(x)}));
        }
      }
    }
  }
}

TEST_CASE("devices without layers take no part, and their neighbours are those that have some") {
  stencil::StencilWorkload workload(stencil_params({"jacobi2d", 20, 6}));
  check(workload, {0, 7, 0, 12, 1, 0}, Mode::resident, PeerPath::direct);
  check(workload, {0, 20, 0}, Mode::end_to_end, PeerPath::direct);
}

TEST_CASE(
    "halos are hidden where kernels of steps exchange them and nothing is measured in between") {
  const auto hides = [](const StencilAsked& asked) {
    SuiteParams for_two = stencil_params(asked);
    for_two.devices = 2;
    return stencil::StencilWorkload(for_two).exchanged(Mode::resident).hides_halos;
  };
  CHECK(hides({}));
  CHECK(hides({"heat3d"}));
  CHECK(hides({.more = {{"exchange", "kernels"}}}));
  CHECK_FALSE(hides({.more = {{"exchange", "puts"}}}));
  CHECK_FALSE(hides({.more = {{"overlap", "off"}}}));
  CHECK_FALSE(hides({.more = {{"check-every", "3"}}}));
  CHECK_FALSE(hides({.depth = 2}));
  CHECK_FALSE(hides({"heat3d", 24, 9, 1, {{"split", "blocks"}}}));
}

TEST_CASE("one step exchanges nothing, and steps need not be a multiple of the depth") {
  for (const unsigned steps : {1U, 2U, 3U, 4U, 5U, 7U}) {
    CAPTURE(steps);
    stencil::StencilWorkload workload(stencil_params({"jacobi2d", 24, steps, 4}));
    check(workload, {9, 11, 4}, Mode::resident, PeerPath::direct);
  }
}

TEST_CASE("a halo that is stale once, in one row of one step, is found") {
  stencil::StencilWorkload workload(stencil_params({.more = {{"overlap", "off"}}}));
  for (const unsigned launch : {0U, 7U, 8U, 17U}) {
    CAPTURE(launch);
    StencilPlanted planted;
    planted.stale_launch = launch;
    StencilSample sample(workload, {12, 12}, Mode::resident, PeerPath::direct, planted);
    REQUIRE_FALSE(sample.raw.failure);
    const Verdict verdict = workload.verify(VerifyLevel::full, 0);
    CHECK((verdict.status == Verdict::Status::failed) == (launch > 0));
    CHECK((verdict.message.find("cells are wrong, the first in layer") != std::string::npos) ==
          (launch > 0));
  }
}

TEST_CASE(
    "a put that does not happen is found, whatever the kind, also where a mean would not see it") {
  for (const StencilAsked& asked : {StencilAsked{}, StencilAsked{"heat3d"}, StencilAsked{"star"},
                                    StencilAsked{"jacobi2d", 24, 9, 2},
                                    StencilAsked{"heat3d", 24, 9, 1, {{"split", "blocks"}}}}) {
    CAPTURE(asked.kind);
    CAPTURE(asked.depth);
    SuiteParams for_two = stencil_params(asked);
    for_two.devices = 2;
    stencil::StencilWorkload workload(for_two);
    const Items half = workload.shape().items / 2;
    StencilSample(workload, {half, half}, Mode::resident, PeerPath::direct);
    REQUIRE(workload.verify(VerifyLevel::full, 0).status == Verdict::Status::passed);
    StencilPlanted planted;  // a put of each of them, in the same round
    const unsigned each = asked.kind == "jacobi2d" ? 2 : 1;
    planted.forgotten = {{0, {3 * each}}, {1, {3 * each - each + 1}}};
    StencilSample(workload, {half, half}, Mode::resident, PeerPath::direct, planted);
    const Verdict verdict = workload.verify(VerifyLevel::full, 0);
    CHECK(verdict.status == Verdict::Status::failed);
    CHECK(verdict.message.find("cells are wrong") != std::string::npos);
    if (asked.kind != "star") continue;
    double sum = 0;  // of the Parallel Research Kernels' check, which is content with these
    const auto* const sums = reinterpret_cast<const float*>(workload.result().data());
    for (std::uint64_t i = 0; i < workload.problem().cells(); ++i)
      sum += static_cast<double>(sums[i]);
    CHECK(sum / (20 * 20) == doctest::Approx(2.0 * asked.steps));
  }
}

TEST_CASE(
    "norms of the change are the host's, are told, and a wrong one is found beside right cells") {
  // The multi-GPU example of NVIDIA prints 22.626 for the first step of its initial state on 8192 x
  // 8192 cells, which is the square root of 8191 / 16.
  stencil::StencilWorkload workload(
      stencil_params({"jacobi2d", 65, 6, 1, {{"check-every", "1"}, {"initial", "sine"}}}));
  StencilSample(workload, {20, 45}, Mode::end_to_end, PeerPath::direct);
  const Verdict verdict = workload.verify(VerifyLevel::full, 0);
  CHECK(verdict.status == Verdict::Status::passed);
  CHECK_MESSAGE(verdict.method.find("norm of the change: 2 in step 1, ") != std::string::npos,
                verdict.method);
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
      stencil::StencilWorkload workload(stencil_params({kind,
                                                        24,
                                                        40,
                                                        1,
                                                        {{"precision", precision},
                                                         {"initial", star ? "ramp" : "eigenmode"},
                                                         {"radius", star ? "3" : "2"}}}));
      StencilSample(workload, {12, 12}, Mode::resident, PeerPath::direct);
      const Verdict verdict = workload.verify(VerifyLevel::full, 0);
      CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
      CHECK(verdict.method.find(star ? "closed form, 80 in each inner cell"
                                     : "decay of the eigenmode") != std::string::npos);
      // What a plain loop would not tell: results of one step more, or with another cell, are no
      // decay of forty steps.
      stencil::Problem other = workload.problem();
      other.steps += 1;
      CHECK_FALSE(stencil::compare_closed_form(other, workload.result(), 2)->wrong.empty());
      const std::uint64_t inner =
          workload.problem().cells() / 2 + workload.problem().cells_of_layer() / 2 + 12;
      workload.result()[(inner + 1) * workload.problem().element - 1] ^= std::byte{0x40};
      CHECK_FALSE(
          stencil::compare_closed_form(workload.problem(), workload.result(), 2)->wrong.empty());
    }
  }
}

TEST_CASE(
    "a problem larger than a device is done by several, whose memory has room for their shares") {
  SuiteParams asked = stencil_params({"jacobi2d", 128, 9, 2});
  const Bytes row = 128 * sizeof(float);
  const Bytes memory =
      3 * 90 * row * 10 / 9 + 100;  // for three states of 90 rows, four of them halos
  asked.memory.assign(2, {memory, memory});
  stencil::StencilWorkload workload(asked);
  DeviceTraits traits;
  traits.global_memory = traits.max_allocation = memory;
  CHECK(workload.capacity(traits, Mode::end_to_end).fits == 86);
  CHECK(workload.capacity(traits, Mode::resident).fits == 0);
  CHECK(workload.capacity(traits, Mode::resident).reason.find("--mode end-to-end") !=
        std::string::npos);
  StencilPlanted planted;
  planted.memory = memory;
  StencilSample sample(workload, {42, 86}, Mode::end_to_end, PeerPath::direct, planted);
  REQUIRE_FALSE(sample.raw.failure);
  CHECK(workload.verify(VerifyLevel::full, 0).status == Verdict::Status::passed);
  asked.memory.push_back({2 * memory, 2 * memory});
  asked.memory[0] = {
      memory / 5, memory / 5};  // as one device has room for all, none is held back by the smallest
  CHECK(stencil::StencilWorkload(asked).state_bytes() == 132 * row);
}

TEST_CASE(
    "a share with fewer layers than its neighbours need is refused, and says which option asks for "
    "them") {
  for (const char* kind : {"jacobi2d", "star"}) {
    stencil::StencilWorkload workload(
        stencil_params({kind,
                        24,
                        9,
                        kind == std::string("star") ? 1U : 4U,
                        {{"radius", kind == std::string("star") ? "4" : "2"}}}));
    StencilSample sample(workload, {21, 3}, Mode::resident, PeerPath::direct);
    REQUIRE(sample.raw.failure);
    CHECK(sample.raw.failure->kind() == ErrorKind::unsupported);
    CHECK(std::string(sample.raw.failure->what())
              .find(kind == std::string("star") ? "--radius" : "--depth") != std::string::npos);
  }
}

TEST_CASE(
    "a device that is lost between rounds takes its state along: the sample has no result, and "
    "nobody hangs") {
  stencil::StencilWorkload workload(stencil_params({"jacobi2d", 24, 30}));
  StencilPlanted planted;
  planted.scripts = {{}, fails_from(FakeCall::launch, 12, FakeFault::Kind::error)};
  StencilSample sample(workload, {8, 8, 8}, Mode::resident, PeerPath::direct, planted);
  REQUIRE(sample.raw.failure);
  REQUIRE(sample.raw.faults.size() == 1);
  CHECK(sample.raw.faults[0].device == DeviceIndex{1});
}

TEST_CASE(
    "borders that move between rounds change no cell, and devices are then busy for as long") {
  for (const char* kind : {"jacobi2d", "heat3d"}) {
    for (const unsigned depth : {1U, 2U, 3U}) {
      for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
        for (const char* every : {"none", "4"}) {
          CAPTURE(kind);
          CAPTURE(depth);
          CAPTURE(to_string(path));
          CAPTURE(every);
          stencil::StencilWorkload workload(
              stencil_params({.kind = kind,
                              .n = 45,
                              .steps = 21,
                              .depth = depth,
                              .more = {{"checkpoint-rounds", every}}}));
          StencilPlanted planted;
          planted.moves = true;  // devices 0, 1 and 2 are as fast as 1, 2 and 3
          StencilSample sample(workload, {15, 15, 15}, Mode::resident, path, planted);
          REQUIRE_FALSE(sample.raw.failure);
          const Verdict verdict = workload.verify(VerifyLevel::full, 0);
          CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
          REQUIRE_FALSE(sample.raw.moves.empty());
          CHECK(sample.raw.moves.front().round == 4);
          const std::vector<Items>& shares = sample.raw.moves.back().shares;
          CHECK(shares[0] < shares[1]);
          CHECK(shares[1] < shares[2]);
          CHECK(shares[0] + shares[1] + shares[2] == 45);
          const SampleShare share = share_of(sample.raw, 3);
          CHECK(share.items == shares);
        }
      }
    }
  }
}

TEST_CASE("what cannot be moved stays where it is") {
  stencil::StencilWorkload workload(stencil_params({.kind = "star", .n = 45, .steps = 21}));
  StencilPlanted planted;
  planted.moves = true;
  StencilSample sample(workload, {15, 15, 15}, Mode::resident, PeerPath::direct, planted);
  REQUIRE_FALSE(sample.raw.failure);
  CHECK(sample.raw.moves.empty());
  CHECK(workload.verify(VerifyLevel::full, 0).status == Verdict::Status::passed);
}
