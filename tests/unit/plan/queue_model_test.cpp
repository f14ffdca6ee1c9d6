// Three queues per device and the link they share. Every time below is computed by hand.
#include "lib/plan/queue_model.hpp"

#include <doctest/doctest.h>

#include <map>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

constexpr double kByteAnNs = 1e9;  // bytes/s

using Span = std::pair<std::int64_t, std::int64_t>;
using Queue = QueueModel::Queue;

constexpr auto kUp = QueueModel::upload, kRun = QueueModel::compute, kDown = QueueModel::download;

// Returns the start and end of every command, by tag.
std::map<std::uint64_t, Span> times(QueueModel& model) {
  std::vector<QueueModel::Ended> ended;
  for (Nanos at = model.next(); at != Nanos::max(); at = model.next()) model.advance(at, ended);
  std::map<std::uint64_t, Span> all;
  for (const auto& command : ended)
    all[command.tag] = {command.started.count(), command.ended.count()};
  CHECK(all.size() == ended.size());
  return all;
}

struct QueuedCommand {
  std::size_t device;
  Queue queue;
  std::int64_t latency;
  double bytes;
  Span is;  // negative: it never ends
};

// Checks commands on devices with these rates up and down, in bytes per ns, on links with these
// rates; 0 is no limit.
void check_queues(LinkRate link_up, double link_down,
                  std::vector<std::pair<double, double>> devices,
                  const std::vector<QueuedCommand>& commands) {
  QueueModel model(link_up, link_down * kByteAnNs);
  std::vector<DeviceIndex> index;
  for (const auto& [rate_up, rate_down] : devices)
    index.push_back(model.add_device(rate_up * kByteAnNs, rate_down * kByteAnNs));
  for (std::size_t k = 0; k < commands.size(); ++k) {
    const QueuedCommand& known = commands[k];
    model.enqueue(index[known.device], known.queue,
                  known.latency < 0 ? QueueModel::kForever : Nanos{known.latency}, known.bytes, k);
  }
  const auto at = times(model);
  for (std::size_t k = 0; k < commands.size(); ++k) {
    CAPTURE(k);
    REQUIRE(at.contains(k) == (commands[k].is.second >= 0));
    if (at.contains(k)) CHECK(at.at(k) == commands[k].is);
  }
}

}  // namespace

TEST_CASE("times that would overflow end in an error, not in another time") {
  QueueModel model(1e-300, 0);
  model.enqueue(model.add_device(0, 0), kUp, Nanos{}, 1, 1);
  CHECK_THROWS_AS(times(model), Error);
}

TEST_CASE("a command that would never end ends when it is told how long it takes, or at once") {
  QueueModel model(0, 0);
  const DeviceIndex device = model.add_device(0, 0);
  std::vector<QueueModel::Ended> ended;
  model.enqueue(device, kRun, Nanos{10}, 0, 1);
  model.enqueue(device, kRun, QueueModel::kForever, 0, 2);
  model.enqueue(device, kRun, QueueModel::kForever, 0, 3);
  CHECK_FALSE(model.set_duration(device, kRun, 2, Nanos{5}));  // it is not yet first in its queue
  model.advance(Nanos{12}, ended);
  CHECK(model.next() == Nanos::max());
  CHECK(model.set_duration(device, kRun, 2, Nanos{5}));
  CHECK(model.next() == Nanos{15});
  model.advance(Nanos{40}, ended);
  CHECK(model.set_duration(device, kRun, 3, Nanos{5}));  // otherwise it would have ended at 20
  model.advance(Nanos{40}, ended);
  REQUIRE(ended.size() == 3);
  CHECK(ended[1].started == Nanos{10});
  CHECK(ended[1].ended == Nanos{15});
  CHECK(ended[2].started == Nanos{15});
  CHECK(ended[2].ended == Nanos{40});
}

TEST_CASE("a queue is in order, and a command waits for what is before it in earlier queues") {
  check_queues(0, 0, {{2, 1}},
               {{0, kUp, 5, 200, {0, 105}},
                {0, kRun, 50, 0, {105, 155}},
                {0, kUp, 5, 400, {105, 310}},  // overlaps the kernel
                {0, kRun, 10, 0, {310, 320}},
                {0, kDown, 0, 30, {320, 350}},
                {0, kRun, 1000, 0, {320, 1320}}});  // overlaps the download
  // Without any limit a transfer takes only its latency, and an empty command takes no time.
  check_queues(0, 0, {{0, 0}}, {{0, kUp, 7, 1e12, {0, 7}}, {0, kRun, 0, 0, {7, 7}}});
  // A command that never ends holds up only the later commands of its device.
  check_queues(0, 0, {{0, 0}, {0, 0}},
               {{0, kRun, -1, 0, {0, -1}}, {0, kDown, 1, 0, {0, -1}}, {1, kRun, 3, 0, {0, 3}}});
}

TEST_CASE("time passes between what is enqueued, and idle time is not busy") {
  QueueModel model(0, 0);
  const DeviceIndex device = model.add_device(0, 0);
  std::vector<QueueModel::Ended> ended;
  model.enqueue(device, kRun, Nanos{10}, 0, 1);
  model.advance(Nanos{100}, ended);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].ended == Nanos{10});
  model.enqueue(device, kRun, Nanos{10}, 0, 2);
  CHECK(times(model).at(2) == Span{100, 110});
  CHECK(model.busy(device) == Nanos{20});
}

TEST_CASE("devices on one link share it alike, within what each can take") {
  const double b = kByteAnNs;
  // 500 bytes by 100 ns, and the rest at full rate.
  check_queues(10 * b, 0, {{10, 0}, {10, 0}},
               {{0, kUp, 0, 500, {0, 100}}, {1, kUp, 0, 800, {0, 130}}});
  // More devices get more, but not in proportion: 3 each of 9; 300 left at 4; 300 left at 5.
  check_queues(
      LinkRate({5 * b, 8 * b, 9 * b}), 0, {{0, 0}, {0, 0}, {0, 0}},
      {{0, kUp, 0, 300, {0, 100}}, {1, kUp, 0, 600, {0, 175}}, {2, kUp, 0, 900, {0, 235}}});
  // Rates of 1 + 3 + 6 of 10; the first to end leaves its rate of 1 to the third, as the second has
  // its limit.
  check_queues(
      10 * b, 0, {{1, 0}, {3, 0}, {0, 0}},
      {{0, kUp, 0, 100, {0, 100}}, {1, kUp, 0, 600, {0, 200}}, {2, kUp, 0, 1400, {0, 210}}});
  // Uploads and downloads do not share with each other.
  check_queues(b, 1, {{0, 0}, {0, 0}}, {{0, kUp, 0, 100, {0, 100}}, {1, kDown, 0, 100, {0, 100}}});
}

TEST_CASE("without a network, devices of several nodes share one link") {
  QueueModel model(2 * kByteAnNs, 0);
  model.enqueue(model.add_device(0, 0, 0), kUp, Nanos{}, 1000, 1);
  model.enqueue(model.add_device(0, 0, 3), kUp, Nanos{}, 1000, 2);
  const auto all = times(model);
  CHECK(all.at(1) == Span{0, 1000});
  CHECK(all.at(2) == Span{0, 1000});
}

TEST_CASE("a transfer that begins later slows down the one under way, but its latency does not") {
  QueueModel model(4 * kByteAnNs, 0);
  const DeviceIndex a = model.add_device(0, 0), b = model.add_device(0, 0);
  std::vector<QueueModel::Ended> ended;
  model.enqueue(a, kUp, Nanos{0}, 600, 1);
  model.advance(Nanos{50}, ended);
  model.enqueue(b, kUp, Nanos{50}, 100, 2);  // moves data from 100 onwards
  const auto at = times(model);
  CHECK(at.at(2) == Span{50, 150});  // 100 bytes at 2 per ns
  CHECK(at.at(1) == Span{0, 175});   // 400 bytes by 100, 100 by 150, 100 at 4 per ns
}

TEST_CASE("a thousand devices on one link end when the link has carried everything") {
  QueueModel model(100 * kByteAnNs, 0);
  for (std::uint64_t i = 0; i < 1000; ++i)
    model.enqueue(model.add_device(static_cast<double>(1 + i % 7) * kByteAnNs, 0), kUp, Nanos{0},
                  1000, i);
  std::int64_t last = 0;
  for (const auto& [tag, span] : times(model)) last = std::max(last, span.second);
  CHECK(last == 10'000);  // a fair share is a tenth of a byte: the devices' own links do not matter
}

TEST_CASE("transfers that end on half a nanosecond end, rounded either way") {
  for (std::int64_t bytes = 1; bytes < 20'000; bytes += 2) {
    QueueModel model(2 * kByteAnNs, 0);
    model.enqueue(model.add_device(0, 0), kUp, Nanos{0}, static_cast<double>(bytes), 1);
    std::vector<QueueModel::Ended> ended;
    for (int steps = 0; ended.empty() && steps < 4; ++steps) model.advance(model.next(), ended);
    REQUIRE(ended.size() == 1);
    const std::int64_t doubled = 2 * ended[0].ended.count();
    CHECK((doubled == bytes - 1 || doubled == bytes + 1));
  }
}
