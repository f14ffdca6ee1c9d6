// Times at which a chain of stages fills and drains, and its slowest stage.
#include "lib/profile/chain.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

namespace {

Command kernel(std::uint32_t device, const char* name, std::uint32_t round, int begin, int end) {
  Command command;
  command.device = {device};
  command.label = Name(name);
  command.round = round;
  command.started = Nanos{begin};
  command.ended = Nanos{end};
  return command;
}

// Returns three batches through two stages of 10 and 20 ns on the first device and one of 40 ns on
// the second.
Timeline two_devices() {
  Timeline timeline;
  timeline.devices = 3;
  timeline.makespan = Nanos{180};
  for (std::uint32_t b = 0; b < 3; ++b) {
    const int at = static_cast<int>(b);
    timeline.commands.push_back(kernel(0, "hash", b, 5 + 30 * at, 15 + 30 * at));
    timeline.commands.push_back(kernel(0, "transform", b, 15 + 30 * at, 35 + 30 * at));
    timeline.commands.push_back(kernel(2, "product", b, 40 + 45 * at, 80 + 45 * at));
  }
  Command wait = kernel(2, "sync", 0, 0, 40);
  wait.kind = CommandKind::exchange;
  timeline.commands.push_back(wait);
  timeline.commands.push_back(kernel(1, "merge", 0, 0, 1));
  timeline.commands.back().round.reset();
  return timeline;
}

}  // namespace

TEST_CASE("a chain is full when its last device begins, and beats as its slowest does") {
  const auto found = chain_phases(two_devices());
  REQUIRE(found);
  CHECK(found->filling == Nanos{40});
  CHECK(found->draining == Nanos{180 - 95});
  CHECK(found->slowest == DeviceIndex{2});
  CHECK(found->busy == Nanos{40});
  CHECK(found->period == Nanos{(170 - 40) / 3});
  REQUIRE(found->stages.size() == 3);
  CHECK(found->stages[0] == ChainPhases::Stage{{0}, Name("hash"), Nanos{10}});
  CHECK(found->stages[1] == ChainPhases::Stage{{0}, Name("transform"), Nanos{20}});
  CHECK(found->slowest_stage() == 2);
}

TEST_CASE("one device alone is no chain, and neither is one whose commands are of no round") {
  Timeline timeline = two_devices();
  std::erase_if(timeline.commands, [](const Command& c) { return c.device == DeviceIndex{2}; });
  CHECK_FALSE(chain_phases(timeline));
  for (Command& command : timeline.commands) command.round.reset();
  CHECK_FALSE(chain_phases(timeline));
  CHECK_FALSE(chain_phases({}));
}
