// Blocks of shortest paths as items, and the order in which devices send each other panels of them:
// whoever is fast or slow.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include "suites/tropical/panel_order.hpp"

using namespace mgpu;
using namespace mgpu::tropical;

namespace {

std::vector<Owner> owners_of(Items items, const std::vector<Items>& ends) {
  std::vector<Owner> owners;
  Items begin = 0;
  for (std::uint32_t i = 0; i < ends.size(); ++i) {
    const Items end = i + 1 == ends.size() ? items : ends[i];
    if (end > begin) owners.push_back({{i}, {begin, end}});
    begin = std::max(begin, end);
  }
  return owners;
}

// What a device does, in order. Whether a signal that ends a wait is the one that was meant is told
// by its words.
struct Step {
  enum class Kind { signal, wait, begin_read, end_read, put } kind;
  DeviceIndex other{};
  std::uint32_t block = 0;
  std::string words{};
};

// As PathsProgram has it.
std::deque<Step> steps_of(const Blocks& blocks, const std::vector<Owner>& owners,
                          DeviceIndex self) {
  using Kind = Step::Kind;
  const PanelOrder order(blocks, owners, self);
  const auto count = static_cast<std::uint32_t>(blocks.count());
  std::deque<Step> steps;
  const auto put = [&](std::uint32_t block) {
    for (const DeviceIndex other : order.others()) steps.push_back({Kind::put, other, block});
  };
  const auto there = [](std::uint32_t block) {
    return "panel " + std::to_string(block) + " is there";
  };
  const auto free = [](std::uint32_t block) {
    return "panel " + std::to_string(block) + " was read";
  };
  if (order.owns(0)) put(0);
  const PanelOrder::Signals first = order.before_first_round();
  for (const DeviceIndex to : first.give) steps.push_back({Kind::signal, to, 0, there(0)});
  CHECK(first.await_readers.empty());
  if (first.await_panel) steps.push_back({Kind::wait, *first.await_panel, 0, there(0)});
  for (std::uint32_t round = 0; round < count; ++round) {
    steps.push_back({Kind::begin_read, {}, round});
    if (round + 1 < count && order.owns(round + 1)) {
      put(round + 1);
      for (const DeviceIndex to : order.others())
        steps.push_back({Kind::signal, to, 0, there(round + 1)});
    }
    steps.push_back({Kind::end_read, {}, round});
    const PanelOrder::Signals after = order.after_round(round);
    for (const DeviceIndex to : after.give) steps.push_back({Kind::signal, to, 0, free(round)});
    for (const DeviceIndex from : after.await_readers)
      steps.push_back({Kind::wait, from, 0, free(round - 1)});
    if (after.await_panel) steps.push_back({Kind::wait, *after.await_panel, 0, there(round + 1)});
  }
  return steps;
}

// Devices that go on in a random order, some of them more often than others: none is ever stuck,
// reads a panel that is not there or has one overwritten that it reads.
void run_all(const Blocks& blocks, const std::vector<Owner>& owners, std::size_t devices,
             std::mt19937_64& random) {
  std::vector<std::deque<Step>> steps(devices);
  for (const Owner& owner : owners)
    steps[owner.device.value] = steps_of(blocks, owners, owner.device);
  std::vector<std::vector<std::deque<std::string>>> signals(
      devices, std::vector<std::deque<std::string>>(devices));
  std::vector<std::vector<std::uint32_t>> panels(devices,
                                                 std::vector<std::uint32_t>(panels_at_once, ~0u));
  std::vector<std::optional<std::uint32_t>> reading(devices);
  std::vector<double> eager(devices);
  for (double& each : eager) each = std::uniform_real_distribution(0.05, 1.0)(random);
  std::discrete_distribution<std::size_t> pick(eager.begin(), eager.end());
  std::size_t left = 0, in_vain = 0;
  for (const auto& each : steps) left += each.size();
  while (left > 0) {
    const std::size_t device = pick(random);
    if (steps[device].empty()) continue;
    const Step step = steps[device].front();
    if (step.kind == Step::Kind::wait) {
      auto& sent = signals[step.other.value][device];
      if (sent.empty()) {
        REQUIRE_MESSAGE(++in_vain < 100000, "stuck");
        continue;
      }
      REQUIRE(sent.front() == step.words);
      sent.pop_front();
    } else if (step.kind == Step::Kind::signal) {
      signals[device][step.other.value].push_back(step.words);
    } else if (step.kind == Step::Kind::put) {
      const std::uint32_t place = step.block % panels_at_once;
      REQUIRE((!reading[step.other.value] || *reading[step.other.value] % panels_at_once != place));
      panels[step.other.value][place] = step.block;
    } else {
      const bool own =
          PanelOrder(blocks, owners, {static_cast<std::uint32_t>(device)}).owns(step.block);
      REQUIRE((own || panels[device][step.block % panels_at_once] == step.block));
      reading[device] =
          step.kind == Step::Kind::begin_read ? std::optional(step.block) : std::nullopt;
    }
    in_vain = 0;
    steps[device].pop_front();
    --left;
  }
  for (const auto& of : signals)
    for (const auto& to : of) CHECK(to.empty());  // or the next sample's would be taken for others
}

}  // namespace

TEST_CASE(
    "blocks cover all vertices, whatever their number, and are whole tiles of what is closed at "
    "once") {
  for (const std::uint64_t n :
       {1u, 31u, 33u, 255u, 256u, 300u, 2047u, 2048u, 4095u, 4096u, 5000u}) {
    const Blocks blocks = Blocks::of(n);
    CHECK(blocks.edge % blocks.inner == 0);
    std::uint64_t sum = 0;
    for (std::uint64_t block = 0; block < blocks.count(); ++block) {
      CHECK(blocks.size(block) > 0);
      CHECK(blocks.order[blocks.places[block]] == block);
      sum += blocks.size(block);
    }
    CHECK(sum == n);
    CHECK(blocks.stride() >= n);
  }
}

TEST_CASE(
    "items are blocks in bit-reversed order, so that equal shares have one of each few rounds that "
    "follow one another") {
  CHECK(Blocks::of(32 * 6).order == std::vector<std::uint32_t>{0, 4, 2, 1, 5, 3});
  CHECK(Blocks::of(4096 * 2).order[16] == 1);
  for (const std::uint64_t n : {32u * 8, 64u * 32, 256u * 64}) {
    const Blocks blocks = Blocks::of(n);
    for (const std::uint64_t shares : {2u, 4u}) {
      for (std::uint64_t block = 0; block < blocks.count(); block += shares) {
        std::vector<std::uint64_t> share;
        for (std::uint64_t i = block; i < block + shares; ++i)
          share.push_back(blocks.places[i] * shares / blocks.count());
        std::sort(share.begin(), share.end());
        for (std::uint64_t i = 0; i < shares; ++i) CHECK(share[i] == i);
      }
    }
  }
}

TEST_CASE(
    "panels come when they are needed and where nobody reads, whatever the shares, and however "
    "fast each device is") {
  std::mt19937_64 random(7);
  for (const std::uint64_t vertices : {1u, 33u, 65u, 97u, 129u, 300u, 1000u}) {
    const Blocks blocks = Blocks::of(vertices);
    for (std::size_t devices = 1; devices <= 5; ++devices) {
      for (int times = 0; times < 20; ++times) {
        CAPTURE(vertices);
        CAPTURE(devices);
        std::vector<Items> ends(devices);
        for (Items& end : ends) end = random() % (blocks.count() + 1);
        std::sort(ends.begin(), ends.end());
        run_all(blocks, owners_of(blocks.count(), ends), devices, random);
      }
    }
  }
}

TEST_CASE("who shares nothing with others signals nobody") {
  const Blocks blocks = Blocks::of(300);
  const auto owners = owners_of(blocks.count(), {3, 5});
  CHECK(PanelOrder(blocks, owners, {2}).others().empty());
  CHECK(PanelOrder(blocks, owners_of(blocks.count(), {5}), {0}).others().empty());
  CHECK(PanelOrder(blocks, owners, {1}).others().front() == DeviceIndex{0});
}
