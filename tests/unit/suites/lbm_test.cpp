// The lbm suite's own program and workload on the fake backend, which runs kernels/lbm.cl as C++:
// whatever the flow, the shares, the lattices, the depth of halos, the order of a round and the
// path, every cell is that of a plain loop.
#include <doctest/doctest.h>

#include <cstring>

#include "lib/predict/probe.hpp"
#include "tests/support/lbm_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

void check_sample(lbm::LbmWorkload& workload, const std::vector<Items>& shares, Mode mode,
                  PeerPath path, const RoundsPlanted& planted = {}) {
  LbmSample sample(workload, shares, mode, path, planted);
  REQUIRE_FALSE(sample.raw.failure);
  const Verdict verdict = workload.verify(VerifyLevel::full, 0);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}

// Some uneven shares of so many planes, none smaller than `least`.
std::vector<std::vector<Items>> some_shares(Items planes, Items least) {
  return {{planes},
          {least, planes - least},
          {planes - 2 * least, least, least},
          {least, least + 1, least, planes - 3 * least - 1}};
}

constexpr const char* kFlows[] = {"taylor-green", "cavity", "channel"};

}  // namespace

TEST_CASE(
    "every cell is that of a plain loop, whatever the flow, the lattices, the depth, the order of "
    "a round and the path") {
  struct Tried {
    const char *lattices, *depth, *overlap, *collision;
    unsigned steps;
  };
  for (const char* flow : kFlows) {
    for (const Tried& tried :
         {Tried{"two", "1", "on", "bgk", 7}, Tried{"two", "2", "on", "trt", 7},
          Tried{"two", "3", "off", "bgk", 8}, Tried{"one", "1", "on", "bgk", 7},
          Tried{"one", "1", "off", "trt", 8}, Tried{"one", "1", "on", "bgk", 1}}) {
      lbm::LbmWorkload workload(lbm_params({.flow = flow,
                                            .steps = tried.steps,
                                            .more = {{"lattices", tried.lattices},
                                                     {"depth", tried.depth},
                                                     {"overlap", tried.overlap},
                                                     {"collision", tried.collision}}}));
      for (const std::vector<Items>& shares : some_shares(13, workload.problem().depth)) {
        for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
          for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
            CAPTURE(flow);
            CAPTURE(tried.lattices);
            CAPTURE(tried.depth);
            CAPTURE(shares.size());
            CAPTURE(to_string(mode));
            CAPTURE(to_string(path));
            check_sample(workload, shares, mode, path);
          }
        }
      }
    }
  }
}

TEST_CASE(
    "where lattices are too large for devices to share, halos are exchanged all the same, and "
    "borders do not move") {
  for (const char* lattices : {"one", "two"}) {
    for (const bool moves : {false, true}) {
      CAPTURE(lattices);
      CAPTURE(moves);
      lbm::LbmWorkload workload(lbm_params(
          {.flow = "channel", .planes = 13, .steps = 9, .more = {{"lattices", lattices}}}));
      RoundsPlanted planted;
      planted.most_shared = 2 * workload.problem().plane_bytes();
      planted.moves = moves;
      LbmSample sample(workload, {6, 5, 2}, Mode::resident, PeerPath::direct, planted);
      REQUIRE_FALSE(sample.raw.failure);
      CHECK(sample.raw.moves.empty());
      const Verdict verdict = workload.verify(VerifyLevel::full, 0);
      CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
    }
  }
}

TEST_CASE("boxes of few planes and devices without any are done like others") {
  for (const char* lattices : {"one", "two"}) {
    for (const std::uint64_t planes : {1U, 2U, 3U, 4U}) {
      CAPTURE(lattices);
      CAPTURE(planes);
      lbm::LbmWorkload workload(lbm_params(
          {.flow = "cavity", .n = 5, .planes = planes, .more = {{"lattices", lattices}}}));
      check_sample(workload, {0, planes, 0}, Mode::resident, PeerPath::direct);
      if (planes > 1)
        check_sample(workload, {1, 0, planes - 1}, Mode::end_to_end, PeerPath::direct);
    }
  }
}

TEST_CASE(
    "blocks have the cells of a plain loop, on 1 to 6 devices, whatever the shares and the path") {
  for (const char* flow : kFlows) {
    for (const char* overlap : {"on", "off"}) {
      for (std::size_t devices = 1; devices <= 6; ++devices) {
        SuiteParams params = lbm_params({.flow = flow,
                                         .planes = 9,
                                         .steps = 5,
                                         .more = {{"split", "blocks"}, {"overlap", overlap}}});
        params.devices = devices;
        lbm::LbmWorkload workload(params);
        const Items items = workload.shape().items;
        CHECK(items == 9 * workload.problem().columns);
        std::vector<Items> equal(devices, items / devices), greedy(devices, 0);
        equal.back() += items % devices;
        greedy.front() = items / 2 + 1;  // a part of a column beside whole ones
        greedy.back() += items - greedy.front();
        for (const std::vector<Items>& shares : {equal, greedy}) {
          CAPTURE(flow);
          CAPTURE(devices);
          CAPTURE(shares.front());
          check_sample(workload, shares, Mode::resident, PeerPath::direct);
          check_sample(workload, shares, Mode::end_to_end, PeerPath::staged);
        }
      }
    }
  }
}

TEST_CASE("a put that does not happen is found, whatever the lattices and the split") {
  for (const auto& more : {std::map<std::string, std::string>{},
                           {{"lattices", "one"}},
                           {{"depth", "2"}},
                           {{"split", "blocks"}}}) {
    for (const std::string flow : {"taylor-green", "cavity"}) {
      CAPTURE(flow);
      CAPTURE(more.empty() ? "" : more.begin()->second);
      SuiteParams params = lbm_params({.flow = flow, .steps = 20, .more = more});
      params.devices = 2;
      lbm::LbmWorkload workload(params);
      const Items items = workload.shape().items, half = items / 2;
      check_sample(workload, {half, items - half}, Mode::resident, PeerPath::direct);
      RoundsPlanted planted;
      planted.forgotten = {{0, {25, 26, 27, 28, 29, 30}}};
      LbmSample sample(workload, {half, items - half}, Mode::resident, PeerPath::direct, planted);
      const Verdict verdict = workload.verify(VerifyLevel::full, 0);
      CHECK(verdict.status == Verdict::Status::failed);
      CHECK(verdict.message.find("cells are wrong, the first in plane") != std::string::npos);
    }
  }
}

TEST_CASE("borders that move between rounds change no cell") {
  for (const char* flow : kFlows) {
    for (const auto& more : {std::map<std::string, std::string>{},
                             {{"lattices", "one"}},
                             {{"depth", "2"}},
                             {{"checkpoint-rounds", "4"}}}) {
      for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
        CAPTURE(flow);
        CAPTURE(to_string(path));
        lbm::LbmWorkload workload(
            lbm_params({.flow = flow, .n = 5, .planes = 30, .steps = 21, .more = more}));
        RoundsPlanted planted;
        planted.moves = true;  // devices 0, 1 and 2 are as fast as 1, 2 and 3
        LbmSample sample(workload, {10, 10, 10}, Mode::resident, path, planted);
        REQUIRE_FALSE(sample.raw.failure);
        const Verdict verdict = workload.verify(VerifyLevel::full, 0);
        CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
        REQUIRE_FALSE(sample.raw.moves.empty());
        const std::vector<Items>& shares = sample.raw.moves.back().shares;
        CHECK(shares[0] < shares[1]);
        CHECK(shares[1] < shares[2]);
      }
    }
  }
}

TEST_CASE("a box larger than a device is done by several, in rings of slots and pieces of memory") {
  for (const char* lattices : {"one", "two"}) {
    SuiteParams params =
        lbm_params({.flow = "channel", .n = 5, .planes = 20, .more = {{"lattices", lattices}}});
    const Bytes plane = 19 * 5 * 32 * sizeof(float), fields = 25 * 16;
    const std::uint64_t slots = 13;
    const Bytes halos = 2 * plane;
    const Bytes memory =
        (slots * ((lattices == std::string("one") ? 1 : 2) * plane + fields) + halos) * 10 / 9 + 30;
    params.memory.assign(2, {memory, 4 * plane});
    lbm::LbmWorkload workload(params);
    CAPTURE(lattices);
    CHECK(workload.lattice().slots == slots);
    CHECK(workload.lattice().pieces() == 4);
    DeviceTraits traits;
    traits.global_memory = memory;
    traits.max_allocation = 4 * plane;
    CHECK(workload.capacity(traits, Mode::end_to_end).fits == 11);
    RoundsPlanted planted;
    planted.memory = memory;
    for (const std::vector<Items>& shares : {std::vector<Items>{9, 11}, std::vector<Items>{10, 10}})
      check_sample(workload, shares, Mode::resident, PeerPath::direct, planted);
    planted.moves = true;
    check_sample(workload, {10, 10}, Mode::resident, PeerPath::direct, planted);
  }
}

TEST_CASE("windows of a box have the cells of the whole one, wherever they lie") {
  for (const char* flow : kFlows) {
    const lbm::Problem problem =
        lbm::problem_of(lbm_params({.flow = flow, .n = 12, .planes = 14, .steps = 3}));
    const lbm::Beginning beginning(problem, {});
    const std::vector<lbm::Cell> all =
        lbm::reference(problem, beginning, {{0, 0, 0}, {12, 12, 14}}, 2);
    for (const lbm::Window& window :
         {lbm::Window{{0, 0, 0}, {2, 3, 4}}, lbm::Window{{9, 9, 12}, {3, 3, 2}},
          lbm::Window{{5, 0, 6}, {1, 12, 1}}, lbm::Window{{0, 4, 0}, {12, 1, 14}}}) {
      const std::vector<lbm::Cell> some = lbm::reference(problem, beginning, window, 1);
      std::size_t i = 0;
      for (std::uint64_t z = 0; z < window.size[2]; ++z)
        for (std::uint64_t y = 0; y < window.size[1]; ++y)
          for (std::uint64_t x = 0; x < window.size[0]; ++x)
            CHECK(
                some[i++] ==
                all[((window.first[2] + z) * 12 + window.first[1] + y) * 12 + window.first[0] + x]);
      const lbm::Work work = lbm::work_of(problem, window),
                      of_all = lbm::work_of(problem, {{0, 0, 0}, {12, 12, 14}});
      CHECK(work.cells <= of_all.cells);
      CHECK(work.updates <= of_all.updates);
    }
  }
}

TEST_CASE("windows are compared where they are asked for, and find what is wrong in them") {
  lbm::LbmWorkload workload(lbm_params({.n = 24, .planes = 24, .steps = 2}));
  LbmSample sample(workload, {12, 12}, Mode::resident, PeerPath::direct);
  REQUIRE_FALSE(sample.raw.failure);
  const Verdict verdict = workload.verify(VerifyLevel::sample, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  CHECK(verdict.method.find("4 boxes of cells") != std::string::npos);
  workload.result()[0] ^= std::byte{1};
  CHECK(
      workload.verify(VerifyLevel::sample, 3)
          .message.find(
              "1 of 64 cells are wrong, the first in plane 0, row 0, column 0: its velocity along "
              "x is ") != std::string::npos);
}

TEST_CASE("where boxes of cells depend on more than there is all of it is compared") {
  lbm::LbmWorkload workload(lbm_params({.steps = 9}));
  LbmSample sample(workload, {6, 7}, Mode::resident, PeerPath::direct);
  REQUIRE_FALSE(sample.raw.failure);
  CHECK(workload.verify(VerifyLevel::sample, 3).method.find("every cell, bit for bit") !=
        std::string::npos);
}

TEST_CASE("a result can be what the next run begins with") {
  const auto file = std::filesystem::temp_directory_path() / "mgpu-lbm-test.npy";
  lbm::LbmWorkload first(lbm_params({.flow = "cavity", .steps = 12}));
  LbmSample(first, {6, 7}, Mode::resident, PeerPath::direct);
  first.write_result(file);
  for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
    for (const char* split : {"slabs", "blocks"}) {
      SuiteParams params = lbm_params({.flow = "cavity", .steps = 3, .more = {{"split", split}}});
      params.input = file;
      params.devices = 2;
      lbm::LbmWorkload second(params);
      const Items items = second.shape().items;
      check_sample(second, {4, items - 4}, mode, PeerPath::direct);
      CHECK(second.digest() != first.digest());
    }
  }
  std::filesystem::remove(file);
}

TEST_CASE("a probe does 256 of a thousand rounds, and infers how long all take") {
  struct Probed {
    double kernels, spent;  // seconds
  };
  const auto probed = [](unsigned steps) {
    lbm::LbmWorkload workload(lbm_params({.flow = "cavity", .n = 5, .planes = 8, .steps = steps}));
    const FakeDevice device = RoundsSample::devices(1, {}).front();
    FakeBackend backend({device}, lbm_kernels(workload.problem().flow));
    const auto open = backend.open(device.facts);
    const Capacity capacity = workload.capacity(open->resources().traits(), Mode::resident);
    const auto program = workload.program(open->resources(), Mode::resident, capacity);
    program->load(open->stream());
    const Member member{open.get(), program.get()};
    finish_batch(backend, *open, open->submit());
    Executor executor(backend, 1);
    const Nanos begin = backend.now();
    const Probe probe =
        run_probe(backend, executor, workload, {&member, 1}, {1, capacity.fits, {}});
    REQUIRE(probe.devices.size() == 1);
    return Probed{seconds(probe.devices.front().kernels.at_large), seconds(backend.now() - begin)};
  };
  const Probed few = probed(256), many = probed(1024);
  CHECK(many.kernels == doctest::Approx(4 * few.kernels).epsilon(0.02));
  CHECK(many.spent < 1.1 * few.spent);
}
