// The stencil suite's own programs and workload on the fake backend, whose kernels are plain loops:
// for all shares, halo depths, orders of an iteration and paths, every cell equals that of the
// reference.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "suites/stencil/stencil_workload.hpp"
#include "tests/support/fake_sample.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stencil_kernels.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::stencil {
namespace {

using namespace mgpu::test;

SuiteParams params_with(std::uint64_t n, unsigned steps, Options more = {},
                        std::size_t devices = 1) {
  more.insert({"iterations", std::to_string(steps)});
  SuiteParams params = suite_params("stencil", n, more, 11);
  params.devices = devices;
  return params;
}

struct Sample : FakeSample {
  Sample(StencilWorkload& workload, const std::vector<Items>& shares, Mode mode = Mode::resident,
         PeerPath path = PeerPath::direct, const Planted& planted = {})
      : FakeSample(workload,
                   workload.problem().wide() ? stencil_kernels<double>(workload.problem().radius)
                                             : stencil_kernels<float>(workload.problem().radius),
                   shares, mode, path, planted) {}
};

void check(StencilWorkload& workload, const std::vector<Items>& shares, Mode mode, PeerPath path) {
  INFO(shares.size(), " shares from ", shares.front(), " ", to_string(mode), " ", to_string(path));
  const Sample sample(workload, shares, mode, path);
  check_right(sample, workload);
  CHECK(sample.raw.slices.size() ==
        shares.size() - static_cast<std::size_t>(std::count(shares.begin(), shares.end(), 0U)));
}

bool fails(StencilWorkload& workload) {
  return workload.verify(VerifyLevel::full, 0).status == Verdict::Status::failed;
}

}  // namespace

TEST_CASE("stencil rows: cells of the reference for any depth, overlap, devices, mode and path") {
  struct Tried {
    std::uint64_t n;
    unsigned steps;
    Options options;
    std::vector<unsigned> depths;
  };
  auto chosen = testing::one_in(17);
  for (const Tried& tried :
       {Tried{43, 11, {}, {1, 2, 3, 5}},
        Tried{43, 11, {{"precision", "fp64"}, {"check-every", "3"}}, {1, 4}},
        Tried{26, 11, {{"kind", "heat3d"}}, {1, 2, 3}},
        Tried{20, 7, {{"kind", "heat3d"}, {"precision", "fp64"}}, {1, 2}},
        Tried{43, 11, {{"kind", "star"}, {"radius", "1"}}, {1}},
        Tried{43, 11, {{"kind", "star"}, {"radius", "3"}, {"precision", "fp64"}}, {1}},
        Tried{43, 11, {{"kind", "star"}, {"radius", "4"}, {"initial", "uniform"}}, {1}}}) {
    for (const unsigned depth : tried.depths) {
      for (const char* overlap : {"on", "off"}) {
        Options options = tried.options;
        options.insert({{"depth", std::to_string(depth)}, {"overlap", overlap}});
        StencilWorkload workload(params_with(tried.n, tried.steps, options));
        for (std::size_t devices = 1; devices <= 8; ++devices) {
          for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
            for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
              if (!chosen()) continue;
              INFO(options["kind"], " depth ", depth, " overlap ", overlap);
              check(workload, uneven_shares(devices, tried.n, workload.problem().halo()), mode,
                    path);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("stencil: commands bear the number of their round, checkpoints none") {
  StencilWorkload workload(params_with(24, 5, {{"checkpoint-rounds", "2"}}));
  const Sample sample(workload, {10, 14}, Mode::end_to_end);
  check_right(sample, workload);
  using Labels = std::set<std::string>;
  std::map<std::pair<std::uint32_t, std::optional<std::uint32_t>>, Labels> labels;
  std::map<std::uint32_t, std::vector<std::uint32_t>> order;  // iterations of the kernels
  for (const Command& command : sample.commands()) {
    labels[{command.device.value, command.round}].insert(
        command.label.empty() ? to_string(command.kind) : command.label.text());
    if (command.label == Name("jacobi2d"))
      order[command.device.value].push_back(command.round.value());
  }
  for (std::uint32_t device = 0; device < 2; ++device) {
    CHECK(std::is_sorted(order[device].begin(), order[device].end()));
    CHECK(labels[{device, std::nullopt}] ==
          Labels{"upload", "signal", "wait", "copy_part", "download"});
    for (std::uint32_t round = 0; round < 4; ++round)
      CHECK(labels[{device, round}] == Labels{"jacobi2d", "put", "signal", "wait"});
    CHECK(labels[{device, 4}] == Labels{"jacobi2d", "download"});
  }
  CHECK(labels.size() == 12);
}

TEST_CASE("stencil blocks: cells of the reference for any shares, depth, devices, mode and path") {
  struct Tried {
    std::uint64_t n;
    unsigned steps;
    Options options;
  };
  auto chosen = testing::one_in(13);
  for (const Tried& tried :
       {Tried{29, 7, {}}, Tried{29, 7, {{"depth", "2"}}},
        Tried{23, 7, {{"depth", "3"}, {"precision", "fp64"}}}, Tried{5, 4, {}},
        Tried{14, 5, {{"kind", "heat3d"}, {"overlap", "off"}}},
        Tried{13, 5, {{"kind", "heat3d"}, {"depth", "2"}, {"precision", "fp64"}}},
        Tried{29, 6, {{"kind", "star"}, {"radius", "4"}}},
        Tried{29, 6, {{"kind", "star"}, {"radius", "1"}, {"overlap", "off"}}}}) {
    for (std::size_t devices = 1; devices <= 8; ++devices) {
      Options options = tried.options;
      options["split"] = "blocks";
      StencilWorkload workload(params_with(tried.n, tried.steps, options, devices));
      const Items items = workload.shape().items, columns = workload.problem().columns;
      CHECK(items == tried.n * columns);
      CHECK((columns * columns >= devices && devices % columns == 0));
      std::vector<Items> equal(devices, items / devices);
      equal.back() += items % devices;
      for (const auto& shares :
           {equal, uneven_shares(devices, items, 1), greedy_shares(devices, items)}) {
        for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
          for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
            if (!chosen()) continue;
            INFO(options["kind"], " depth ", options["depth"]);
            check(workload, shares, mode, path);
          }
        }
      }
    }
  }
}

TEST_CASE("stencil blocks: what is exchanged is all that lies around them, and has room") {
  std::mt19937_64 random(7);
  for (unsigned round = 0; round < (testing::is_thorough() ? 400 : 80); ++round) {
    Problem problem;
    problem.kind = static_cast<Kind>(random() % 3);
    problem.n = 5 + random() % 20;
    problem.columns = 1 + random() % 5;
    problem.depth = problem.kind == Kind::star ? 1 : 1 + random() % 3;
    problem.radius = problem.kind == Kind::star ? 2 : 1;
    std::vector<Owner> owners;
    for (Items begin = 0; begin < problem.items();) {
      const Items end = std::min(problem.items(), begin + 1 + random() % problem.items());
      owners.push_back({{static_cast<std::uint32_t>(owners.size())}, {begin, end}});
      begin = end;
    }
    // Cells per device.
    std::map<std::uint32_t, std::set<std::pair<std::uint64_t, std::uint64_t>>> known;
    const auto know = [&](std::uint32_t device, const Patch& patch) {
      for (std::uint64_t layer = patch.first; layer < patch.end; ++layer)
        for (std::uint64_t x = patch.left; x < patch.right; ++x) known[device].insert({layer, x});
    };
    for (const Owner& owner : owners)
      for (const Patch& patch : patches_of(problem.pieces(), owner.items))
        know(owner.device.value, patch);
    std::uint64_t owned = 0;
    for (const auto& [device, cells] : known) owned += cells.size();
    CHECK(owned == problem.n * problem.n);  // each cell once
    for (const Transfer& transfer : transfers_among(problem, owners)) {
      const Patch& patch = transfer.patch;
      know(transfer.to.value, patch);
      const std::uint64_t cells =
          (patch.end - patch.first) * (patch.right - patch.left) * problem.unit();
      CHECK((transfer.numbers == 0 || transfer.numbers == cells));
      CHECK(transfer.landing + transfer.numbers <= most_landing(problem));
    }
    using Signed = std::int64_t;
    const auto reach = static_cast<Signed>(problem.halo()), n = static_cast<Signed>(problem.n);
    for (const Owner& owner : owners) {
      for (const Patch& patch : patches_of(problem.pieces(), owner.items)) {
        const auto first = static_cast<Signed>(patch.first), end = static_cast<Signed>(patch.end);
        for (Signed layer = first - reach; layer < end + reach; ++layer) {
          if (!problem.periodic() && (layer < 0 || layer >= n)) continue;
          const Signed aside = (layer >= first && layer < end) || problem.depth > 1 ? reach : 0;
          for (Signed x = std::max<Signed>(0, static_cast<Signed>(patch.left) - aside);
               x < std::min(n, static_cast<Signed>(patch.right) + aside); ++x)
            REQUIRE(known[owner.device.value].contains({(layer + n) % n, x}));
        }
      }
    }
  }
}

TEST_CASE("stencil: devices without layers take no part, few steps exchange less or nothing") {
  StencilWorkload workload(params_with(20, 6));
  check(workload, {0, 7, 0, 12, 1, 0}, Mode::resident, PeerPath::direct);
  check(workload, {0, 20, 0}, Mode::end_to_end, PeerPath::direct);
  for (const unsigned steps : {1U, 2U, 3U, 4U, 5U, 7U}) {
    StencilWorkload few(params_with(24, steps, {{"depth", "4"}}));
    check(few, {9, 11, 4}, Mode::resident, PeerPath::direct);
  }
}

TEST_CASE("stencil: halos are hidden where kernels exchange them and nothing is measured") {
  const auto hides = [](const Options& options) {
    return StencilWorkload(params_with(24, 9, options, 2)).exchanged(Mode::resident).hides_halos;
  };
  CHECK((hides({}) && hides({{"kind", "heat3d"}}) && hides({{"exchange", "kernels"}})));
  for (const auto& [option, value] :
       {std::pair{"exchange", "puts"}, {"overlap", "off"}, {"check-every", "3"}, {"depth", "2"}})
    CHECK_FALSE(hides({{option, value}}));
  CHECK_FALSE(hides({{"kind", "heat3d"}, {"split", "blocks"}}));
}

TEST_CASE("stencil: a put that does not happen is found, also where a mean would not see it") {
  for (const Options& options : {Options{},
                                 {{"kind", "heat3d"}},
                                 {{"kind", "star"}},
                                 {{"depth", "2"}},
                                 {{"kind", "heat3d"}, {"split", "blocks"}}}) {
    StencilWorkload workload(params_with(24, 9, options, 2));
    const Items half = workload.shape().items / 2;
    check_right(Sample(workload, {half, half}), workload);
    Planted planted;  // omits a put of each device, in the same iteration
    const Kind kind = workload.problem().kind;
    const unsigned each = kind == Kind::jacobi2d ? 2 : 1;
    planted.forgotten = {{0, {3 * each}}, {1, {3 * each - each + 1}}};
    Sample(workload, {half, half}, Mode::resident, PeerPath::direct, planted);
    CHECK(fails(workload));
    if (kind != Kind::star) continue;
    double sum = 0;  // the check of the Parallel Research Kernels, which accepts these cells
    const auto* const sums = reinterpret_cast<const float*>(workload.result().data());
    for (std::uint64_t i = 0; i < workload.problem().cells(); ++i)
      sum += static_cast<double>(sums[i]);
    CHECK(sum / (20 * 20) == doctest::Approx(2.0 * 9));
  }
}

// The multi-GPU example of NVIDIA prints 22.626, the square root of 8191 / 16, for the first step
// of its initial state on 8192 x 8192 cells.
TEST_CASE("stencil: norms of the change are the host's, and a wrong one is found") {
  StencilWorkload workload(params_with(65, 6, {{"check-every", "1"}, {"initial", "sine"}}));
  check_right(Sample(workload, {20, 45}, Mode::end_to_end), workload);
  CHECK(norm_of(workload.problem(), workload.changes().data()) == doctest::Approx(2.0));
  const std::string digest = workload.digest();
  workload.changes()[4 * (3 * 65 + 7)] ^= std::byte{1};
  CHECK(workload.digest() != digest);
  CHECK(fails(workload));
}

TEST_CASE("stencil: an eigenmode decays as it must, and a ramp gives two a step") {
  for (const auto& [kind, precision, initial] : {std::tuple{"jacobi2d", "fp32", "eigenmode"},
                                                 {"heat3d", "fp64", "eigenmode"},
                                                 {"star", "fp32", "ramp"}}) {
    const auto& this_kind = kind;
    CAPTURE(this_kind);
    StencilWorkload workload(
        params_with(24, 40, {{"kind", kind}, {"precision", precision}, {"initial", initial}}));
    check_right(Sample(workload, {12, 12}), workload);
    REQUIRE(compare_closed_form(workload.problem(), workload.result(), 2));
    CHECK(compare_closed_form(workload.problem(), workload.result(), 2)->wrong.empty());
    // A plain loop would not reveal this: results of one step more, or with another cell, differ
    // from the closed form.
    Problem other = workload.problem();
    other.steps += 1;
    CHECK_FALSE(compare_closed_form(other, workload.result(), 2)->wrong.empty());
    const std::uint64_t inner =
        workload.problem().cells() / 2 + workload.problem().cells_of_layer() / 2 + 12;
    workload.result()[(inner + 1) * workload.problem().element - 1] ^= std::byte{0x40};
    CHECK_FALSE(compare_closed_form(workload.problem(), workload.result(), 2)->wrong.empty());
  }
}

TEST_CASE("stencil: a problem larger than a device is done by several that have room for it") {
  SuiteParams params = params_with(128, 9, {{"depth", "2"}});
  const Bytes row = 128 * sizeof(float);
  const Bytes memory = 3 * 90 * row * 10 / 9 + 100;  // three states of 90 rows, four are halos
  params.memory.assign(2, {memory, memory});
  StencilWorkload workload(params);
  DeviceTraits traits;
  traits.global_memory = traits.max_allocation = memory;
  CHECK(workload.capacity(traits, Mode::end_to_end).fits == 86);
  const Capacity resident = workload.capacity(traits, Mode::resident);
  CHECK((resident.fits == 0 && has(resident.reason, "end-to-end")));
  Planted planted;
  planted.memory = memory;
  check_right(Sample(workload, {42, 86}, Mode::end_to_end, PeerPath::direct, planted), workload);
  params.memory.push_back({2 * memory, 2 * memory});
  // One device has room for everything: no limit for others.
  params.memory[0] = {memory / 5, memory / 5};
  CHECK(StencilWorkload(params).state_bytes() == 132 * row);
}

TEST_CASE("stencil: a share with fewer layers than its neighbours need is refused by option") {
  for (const auto& [kind, option] : {std::pair{"jacobi2d", "depth"}, {"star", "radius"}}) {
    StencilWorkload workload(params_with(24, 9, {{"kind", kind}, {option, "4"}}));
    const Sample sample(workload, {21, 3});
    REQUIRE(sample.raw.failure);
    CHECK(sample.raw.failure->kind() == ErrorKind::unsupported);
    CHECK(has(sample.raw.failure->what(), std::string("--") + option));
  }
}

TEST_CASE("stencil: a partition that moves between rounds changes no cell, of star it stays") {
  Planted planted;
  planted.moves = true;  // devices 0, 1 and 2 are as fast as 1, 2 and 3
  auto chosen = testing::one_in(5);
  for (const char* kind : {"jacobi2d", "heat3d"}) {
    for (const char* depth : {"1", "2", "3"}) {
      for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
        for (const char* every : {"none", "4"}) {
          if (!chosen()) continue;
          INFO(kind, " depth ", depth, " ", to_string(path), " checkpoints ", every);
          StencilWorkload workload(params_with(
              45, 21, {{"kind", kind}, {"depth", depth}, {"checkpoint-rounds", every}}));
          const Sample sample(workload, {15, 15, 15}, Mode::resident, path, planted);
          check_right(sample, workload);
          REQUIRE_FALSE(sample.raw.moves.empty());
          CHECK(sample.raw.moves.front().round == 4);
          const std::vector<Items>& shares = sample.raw.moves.back().shares;
          CHECK((shares[0] < shares[1] && shares[1] < shares[2]));
          CHECK(shares[0] + shares[1] + shares[2] == 45);
          CHECK(share_of(sample.raw, 3).items == shares);
        }
      }
    }
  }
  StencilWorkload star(params_with(45, 21, {{"kind", "star"}}));
  const Sample sample(star, {15, 15, 15}, Mode::resident, PeerPath::direct, planted);
  check_right(sample, star);
  CHECK(sample.raw.moves.empty());
}

namespace {

const Planted kRoom = [] {  // room for a group of a persistent kernel on each compute unit
  Planted planted;
  planted.large_groups = true;
  return planted;
}();

SuiteParams persistent(unsigned steps, Options more = {}, std::uint64_t n = 43) {
  more.insert({"steps", "persistent"});
  return params_with(n, steps, more);
}

using Rounds = std::vector<std::uint32_t>;

// Returns the iterations with which launches of each kernel began.
std::map<std::string, Rounds> rounds_of(const SuiteParams& params, Mode mode = Mode::resident) {
  StencilWorkload workload(params);
  const Sample sample(workload, {params.size}, mode, PeerPath::direct, kRoom);
  check_right(sample, workload);
  std::map<std::string, Rounds> rounds;
  for (const Command& command : sample.commands())
    if (command.kind == CommandKind::compute && command.round)
      rounds[command.label.text()].push_back(*command.round);
  return rounds;
}

}  // namespace

TEST_CASE("stencil: a persistent launch does all steps up to what is looked at, 256 at most") {
  const char* const many = "jacobi2d_persistent";
  for (const auto& [mode, precision] :
       {std::pair{Mode::resident, "fp32"}, {Mode::end_to_end, "fp64"}}) {
    const std::pair<const std::string, std::string> cells{"precision", precision};
    CHECK(rounds_of(persistent(11, {cells}), mode).at(many) == Rounds{0});
    auto found = rounds_of(persistent(11, {cells, {"check-every", "4"}}), mode);
    CHECK((found[many] == Rounds{0, 4, 8} && found["jacobi2d"] == Rounds{3, 7}));
    found = rounds_of(persistent(11, {cells, {"checkpoint-rounds", "5"}}), mode);
    CHECK((found[many] == Rounds{0, 5} && found["jacobi2d"] == Rounds{10}));
  }
  CHECK(rounds_of(persistent(600)).at(many) == Rounds{0, 256, 512});
  // Without a measurement the steps run one by one, and nothing else is compiled.
  const auto by_auto = rounds_of(params_with(43, 5));
  CHECK((by_auto.size() == 1 && by_auto.contains("jacobi2d")));
}

TEST_CASE("stencil: persistent steps are refused where work-groups or devices cannot meet") {
  const auto refused = [](const SuiteParams& params, const std::vector<Items>& shares,
                          const Planted& planted, const char* fact) {
    StencilWorkload workload(params);
    const Sample sample(workload, shares, Mode::resident, PeerPath::direct, planted);
    REQUIRE(sample.raw.failure);
    CHECK(sample.raw.failure->kind() == ErrorKind::unsupported);
    CHECK(has(sample.raw.failure->what(), "--steps persistent"));
    CHECK(has(sample.raw.failure->what(), fact));
  };
  refused(persistent(5), {43}, {}, "work-groups");               // too few work-items in a group
  refused(persistent(5, {}, 300), {300}, kRoom, "work-groups");  // more tiles than the two
  // Fake devices have their flags on the host.
  refused(persistent(5), {21, 22}, kRoom, "these devices");
}

}  // namespace mgpu::stencil
