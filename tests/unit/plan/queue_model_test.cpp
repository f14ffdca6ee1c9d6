// Three queues a device and the link they share: every time below is computed by hand.
#include "lib/plan/queue_model.hpp"

#include <doctest/doctest.h>

#include <map>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

constexpr double kByteAnNs = 1e9;  // bytes/s

// start and end of every command, by tag
std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> times(QueueModel& model) {
  std::vector<QueueModel::Ended> ended;
  for (Nanos at = model.next(); at != Nanos::max(); at = model.next()) model.advance(at, ended);
  std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> all;
  for (const auto& command : ended)
    all[command.tag] = {command.started.count(), command.ended.count()};
  CHECK(all.size() == ended.size());
  return all;
}

using Span = std::pair<std::int64_t, std::int64_t>;

}  // namespace

TEST_CASE("times that would overflow end in an error, not in another time") {
  QueueModel model(1e-300, 0);
  const DeviceIndex device = model.add_device(0, 0);
  std::vector<QueueModel::Ended> ended;
  model.enqueue(device, QueueModel::upload, Nanos{}, 1, 1);
  CHECK_THROWS_AS(times(model), Error);
}

TEST_CASE(
    "a command that would never end ends after all when it is told how long it takes, from its "
    "start or at once") {
  QueueModel model(0, 0);
  const DeviceIndex device = model.add_device(0, 0);
  std::vector<QueueModel::Ended> ended;
  model.enqueue(device, QueueModel::compute, Nanos{10}, 0, 1);
  model.enqueue(device, QueueModel::compute, QueueModel::kForever, 0, 2);
  model.enqueue(device, QueueModel::compute, QueueModel::kForever, 0, 3);
  CHECK_FALSE(model.set_duration(device, QueueModel::compute, 2, Nanos{5}));  // not yet its turn
  model.advance(Nanos{12}, ended);
  CHECK(model.next() == Nanos::max());
  CHECK(model.set_duration(device, QueueModel::compute, 2, Nanos{5}));
  CHECK(model.next() == Nanos{15});
  model.advance(Nanos{40}, ended);
  CHECK(
      model.set_duration(device, QueueModel::compute, 3, Nanos{5}));  // would have been over at 20
  model.advance(Nanos{40}, ended);
  REQUIRE(ended.size() == 3);
  CHECK(ended[1].started == Nanos{10});
  CHECK(ended[1].ended == Nanos{15});
  CHECK(ended[2].started == Nanos{15});
  CHECK(ended[2].ended == Nanos{40});
}

TEST_CASE(
    "a queue is in order, and a command waits for what was enqueued before it in earlier queues") {
  QueueModel model(0, 0);
  const DeviceIndex device = model.add_device(2 * kByteAnNs, kByteAnNs);
  model.enqueue(device, QueueModel::upload, Nanos{5}, 200, 1);    // 5 + 100
  model.enqueue(device, QueueModel::compute, Nanos{50}, 0, 2);    // after 1
  model.enqueue(device, QueueModel::upload, Nanos{5}, 400, 3);    // behind 1, beside 2
  model.enqueue(device, QueueModel::compute, Nanos{10}, 0, 4);    // after 3
  model.enqueue(device, QueueModel::download, Nanos{0}, 30, 5);   // after 4
  model.enqueue(device, QueueModel::compute, Nanos{1000}, 0, 6);  // behind 4, beside 5
  const auto at = times(model);
  CHECK(at.at(1) == Span{0, 105});
  CHECK(at.at(2) == Span{105, 155});
  CHECK(at.at(3) == Span{105, 310});
  CHECK(at.at(4) == Span{310, 320});
  CHECK(at.at(5) == Span{320, 350});
  CHECK(at.at(6) == Span{320, 1320});
  CHECK(model.busy(device) == Nanos{1320});
}

TEST_CASE("time passes between what is enqueued, and idle time is not busy") {
  QueueModel model(0, 0);
  const DeviceIndex device = model.add_device(0, 0);
  std::vector<QueueModel::Ended> ended;
  model.enqueue(device, QueueModel::compute, Nanos{10}, 0, 1);
  model.advance(Nanos{100}, ended);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].ended == Nanos{10});
  model.enqueue(device, QueueModel::compute, Nanos{10}, 0, 2);
  CHECK(times(model).at(2) == Span{100, 110});
  CHECK(model.busy(device) == Nanos{20});
}

TEST_CASE("a transfer without any limit takes its latency alone, and nothing takes no time") {
  QueueModel model(0, 0);
  const DeviceIndex device = model.add_device(0, 0);
  model.enqueue(device, QueueModel::upload, Nanos{7}, 1e12, 1);
  model.enqueue(device, QueueModel::compute, Nanos{0}, 0, 2);
  const auto at = times(model);
  CHECK(at.at(1) == Span{0, 7});
  CHECK(at.at(2) == Span{7, 7});
}

TEST_CASE("a command that never ends holds up what comes after it on its device and nothing else") {
  QueueModel model(0, 0);
  const DeviceIndex hung = model.add_device(0, 0), well = model.add_device(0, 0);
  model.enqueue(hung, QueueModel::compute, QueueModel::kForever, 0, 1);
  model.enqueue(hung, QueueModel::download, Nanos{1}, 0, 2);
  model.enqueue(well, QueueModel::compute, Nanos{3}, 0, 3);
  const auto at = times(model);
  CHECK(at.size() == 1);
  CHECK(at.at(3) == Span{0, 3});
}

TEST_CASE("devices on one link share it alike, and who is alone has all of it") {
  QueueModel model(10 * kByteAnNs, 0);
  const DeviceIndex a = model.add_device(10 * kByteAnNs, 0),
                    b = model.add_device(10 * kByteAnNs, 0);
  model.enqueue(a, QueueModel::upload, Nanos{0}, 500, 1);
  model.enqueue(b, QueueModel::upload, Nanos{0}, 800, 2);  // 500 by 100, the rest alone
  const auto at = times(model);
  CHECK(at.at(1) == Span{0, 100});
  CHECK(at.at(2) == Span{0, 130});
}

TEST_CASE("a link that carries more for more devices, but not in proportion") {
  QueueModel model(LinkRate({5 * kByteAnNs, 8 * kByteAnNs, 9 * kByteAnNs}), 0);
  for (std::uint64_t i = 0; i < 3; ++i)
    model.enqueue(model.add_device(0, 0), QueueModel::upload, Nanos{0},
                  300.0 * static_cast<double>(i + 1), i);
  const auto at = times(model);
  CHECK(at.at(0).second == 100);            // three: 3 each
  CHECK(at.at(1).second == 100 + 75);       // 300 left at 4
  CHECK(at.at(2).second == 100 + 75 + 60);  // 300 left at 5
}

TEST_CASE(
    "what a slow device leaves of the link goes to the others, and no device exceeds its own") {
  // 1 + 3 + 6 of 10; the first to end gives its byte to the third, the second has its limit
  // already.
  QueueModel model(10 * kByteAnNs, 0);
  const DeviceIndex a = model.add_device(kByteAnNs, 0), b = model.add_device(3 * kByteAnNs, 0),
                    c = model.add_device(0, 0);
  model.enqueue(a, QueueModel::upload, Nanos{0}, 100, 1);  // 1 a ns: 100
  model.enqueue(b, QueueModel::upload, Nanos{0}, 600, 2);  // 3 a ns: 200
  model.enqueue(c, QueueModel::upload, Nanos{0}, 1400,
                3);  // 600 by 100, 700 by 200 at 7 a ns, 100 more at 10
  const auto at = times(model);
  CHECK(at.at(1).second == 100);
  CHECK(at.at(2).second == 200);
  CHECK(at.at(3).second == 210);
}

TEST_CASE(
    "without a network, devices of several nodes share one link, as what lies between them is in "
    "their figures") {
  QueueModel model(2 * kByteAnNs, 0);
  const DeviceIndex here = model.add_device(0, 0, 0), elsewhere = model.add_device(0, 0, 3);
  model.enqueue(here, QueueModel::upload, Nanos{}, 1000, 1);
  model.enqueue(elsewhere, QueueModel::upload, Nanos{}, 1000, 2);
  const auto all = times(model);
  CHECK(all.at(1) == Span{0, 1000});
  CHECK(all.at(2) == Span{0, 1000});
}

TEST_CASE("a transfer that begins later slows down the one under way, but its latency does not") {
  QueueModel model(4 * kByteAnNs, 0);
  const DeviceIndex a = model.add_device(0, 0), b = model.add_device(0, 0);
  std::vector<QueueModel::Ended> ended;
  model.enqueue(a, QueueModel::upload, Nanos{0}, 600, 1);
  model.advance(Nanos{50}, ended);
  model.enqueue(b, QueueModel::upload, Nanos{50}, 100, 2);  // moves from 100 on
  const auto at = times(model);
  CHECK(at.at(2) == Span{50, 150});  // 100 at 2 a ns
  CHECK(at.at(1) == Span{0, 175});   // 400 by 100, 100 by 150, 100 at 4
}

TEST_CASE("uploads and downloads do not share with each other") {
  QueueModel model(kByteAnNs, kByteAnNs);
  const DeviceIndex a = model.add_device(0, 0), b = model.add_device(0, 0);
  model.enqueue(a, QueueModel::upload, Nanos{0}, 100, 1);
  model.enqueue(b, QueueModel::download, Nanos{0}, 100, 2);
  const auto at = times(model);
  CHECK(at.at(1).second == 100);
  CHECK(at.at(2).second == 100);
}

TEST_CASE("a thousand devices on one link end when the link has carried everything") {
  QueueModel model(100 * kByteAnNs, 0);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const DeviceIndex device = model.add_device(static_cast<double>(1 + i % 7) * kByteAnNs, 0);
    model.enqueue(device, QueueModel::upload, Nanos{0}, 1000, i);
  }
  std::int64_t last = 0;
  for (const auto& [tag, span] : times(model)) last = std::max(last, span.second);
  CHECK(last == 10'000);  // a fair share is a tenth of a byte: nobody's own link matters
}

TEST_CASE("transfers that end on half a nanosecond end, rounded either way") {
  for (std::int64_t bytes = 1; bytes < 20'000; bytes += 2) {
    QueueModel model(2 * kByteAnNs, 0);
    const DeviceIndex device = model.add_device(0, 0);
    model.enqueue(device, QueueModel::upload, Nanos{0}, static_cast<double>(bytes), 1);
    std::vector<QueueModel::Ended> ended;
    for (int steps = 0; ended.empty() && steps < 4; ++steps) model.advance(model.next(), ended);
    REQUIRE(ended.size() == 1);
    const std::int64_t doubled = 2 * ended[0].ended.count();
    CHECK((doubled == bytes - 1 || doubled == bytes + 1));
  }
}
