// Simulates devices that act as DevicePolicy says, on the clock of a QueueModel. As in the executor
// on a virtual clock, they act in the order of their index, and repeatedly until none makes
// progress. Failures are not simulated.
#include "lib/plan/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/plan/chain.hpp"
#include "lib/plan/device_policy.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/interval_set.hpp"
#include "lib/plan/queue_model.hpp"
#include "lib/plan/tree_cuts.hpp"

namespace mgpu {
namespace {

// Number of waiting devices that ask again when a slice has ended, as workers do; the others have
// their turn later. Asking 1,024 at each of 16,384 events takes 0.2 s, and a device that is asked
// 16 events late loses a thousandth.
constexpr std::size_t kWaitersAsked = 64;
// Returns a smaller number for many thousands of devices, as there are proportionally more events
// in the time of a slice.
constexpr std::size_t waiters_asked(std::size_t devices) {
  return std::clamp<std::size_t>(65536 / std::max<std::size_t>(devices, 1), 16, kWaitersAsked);
}

// A set of devices that is iterated in order.
class DeviceSet {
 public:
  explicit DeviceSet(std::size_t devices) : words_((devices + 63) / 64, 0) {}
  void add(std::uint32_t device) { words_[device / 64] |= std::uint64_t{1} << device % 64; }
  void remove(std::uint32_t device) { words_[device / 64] &= ~(std::uint64_t{1} << device % 64); }
  template <typename F>
  void for_each(F f) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        f(static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

class Simulator {
 public:
  Simulator(const PlanRequest& request, SliceSource& source, std::vector<SimulatedBatch>* log)
      : request_(request),
        source_(source),
        log_(log),
        exchange_(request, members_of(request, source)),
        model_(request.link_up, request.link_down, request.network),
        active_(request.devices.size()) {
    units_.resize(request.devices.size());
    std::vector<std::uint32_t> node(units_.size(), 0);
    if (request.network != nullptr && request.network->any())
      node = request.network->node_of_devices();
    if (node.size() != units_.size())
      throw Error(ErrorKind::internal, "a network of other devices");
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
      const DeviceEstimate& device = request.devices[i];
      if (!(device.items_per_s > 0)) {
        throw Error(
            ErrorKind::usage,
            fmt::format("device {} of the set: its rate is not known, so nothing can be predicted",
                        i));
      }
      model_.add_device(device.up, device.down, node[i]);
      active_.add(i);
    }
    result_.devices.resize(units_.size());
  }

  Simulation run() {
    for (;;) {
      act();
      time_rounds();
      const Nanos at = model_.next();
      if (at == Nanos::max()) {
        if (everyone_is_done()) break;
        continue;
      }
      model_.advance(at, ended_);
      for (const QueueModel::Ended& command : ended_) note(command);
      ended_.clear();
      end_waits();
    }
    return summary();
  }

 private:
  using Kind = SimulatedBatch::Kind;
  struct Batch {
    Kind kind = Kind::slice;
    unsigned pending = 0;  // number of commands under way
    Slice slice;
    Nanos enqueued{};
    Nanos started = Nanos::max(), ended{};
    std::vector<SimulatedCommand> commands = {};  // only for the log
  };
  struct Unit {
    std::deque<Batch> in_flight;
    std::uint64_t first_tag = 0;  // tag of the front of in_flight; those of the others follow
    DevicePolicy policy;
    bool prepared = false;
    bool waiting = false;  // whether it is in waiting_
    // Tag of the command that waits for all members' signals, until it has ended.
    std::optional<std::uint64_t> waits = {};
    struct Rounds {
      std::uint64_t tag = 0;  // tag of the command that stands for all rounds
      Nanos computes{}, waits{};
    };
    // Rounds of its first slice, if devices exchange data after them.
    std::optional<Rounds> rounds = {};
    Nanos prepared_at{};
    Nanos previous_end{};
    std::size_t piece = 0;  // next piece of a gathered input in the log
    IntervalSet taken;
  };

  // Bits of a tag that mark special commands: kPuts puts gathered pieces, kSignals signals the
  // others, kWaits waits for them; kRounds computes rounds, which are logged one by one.
  static constexpr std::uint64_t kSignals = std::uint64_t{1} << 63, kPuts = kSignals >> 1,
                                 kWaits = kSignals >> 2, kRounds = kSignals >> 3,
                                 kWhat = kSignals | kPuts | kWaits | kRounds;

  static std::vector<std::size_t> members_of(const PlanRequest& request,
                                             const SliceSource& source) {
    std::vector<std::size_t> members;
    if (!request.exchange.any()) return members;
    const std::vector<bool> among = exchanging(request, source);
    for (std::size_t i = 0; i < among.size(); ++i)
      if (among[i]) members.push_back(i);
    return members;
  }

  bool is_iterative() const { return request_.rounds > 0 && request_.exchange.rounds > 0; }
  bool transfers() const { return request_.mode.transfers(); }

  // Lets devices act until none has anything to do at this moment.
  void act() {
    for (std::size_t n = std::exchange(slice_ended_, false)
                             ? std::min(waiting_.size(), waiters_asked(units_.size()))
                             : 0;
         n > 0; --n) {
      active_.add(waiting_.front());
      units_[waiting_.front()].waiting = false;
      waiting_.pop_front();
    }
    for (bool progress = true; progress;) {
      progress = false;
      active_.for_each([&](std::uint32_t i) { progress |= step(i); });
    }
    active_.for_each([&](std::uint32_t i) { rest(i); });
  }

  // Deactivates a device, which asks again later if it could take more. With enough in flight, or
  // while it collects, it does not depend on other devices.
  void rest(std::uint32_t i) {
    Unit& unit = units_[i];
    active_.remove(i);
    if (unit.waiting || !unit.policy.would_ask()) return;
    unit.waiting = true;
    waiting_.push_back(i);
  }

  bool step(std::uint32_t i) {
    // All devices that exchange data take part, with or without a slice.
    if (exchange_.is_member(i) && !units_[i].prepared) prepare(i);
    const bool progress = retire(i);
    return act(i) || progress;
  }

  void note(const QueueModel::Ended& command) {
    const std::uint32_t i = command.device.value;
    Unit& unit = units_[i];
    if ((command.tag & kSignals) != 0) ++signalled_;
    Batch& batch = unit.in_flight[(command.tag & ~kWhat) - unit.first_tag];
    --batch.pending;
    if (log_ != nullptr) log(i, batch, command);
    batch.started = std::min(batch.started, command.started);
    batch.ended = std::max(batch.ended, command.ended);
    slice_ended_ |= batch.kind == Kind::slice && batch.pending == 0;
    active_.add(i);
  }

  bool retire(std::uint32_t i) {
    Unit& unit = units_[i];
    bool progress = false;
    while (!unit.in_flight.empty() && unit.in_flight.front().pending == 0) {
      Batch done = std::move(unit.in_flight.front());
      unit.in_flight.pop_front();
      if (log_ != nullptr)
        log_->push_back(
            {done.kind, {i}, done.slice, done.enqueued, model_.now(), std::move(done.commands)});
      ++unit.first_tag;
      progress = true;
      if (done.kind == Kind::slice) {
        const Nanos busy =
            std::max(Nanos{}, done.ended - std::max(done.started, unit.previous_end));
        unit.previous_end = std::max(unit.previous_end, done.ended);
        finished_ += done.slice.size();
        source_.finished({i}, done.slice, busy);
        ++version_;
      }
      if (done.kind == Kind::prepare) unit.prepared_at = model_.now();
      if (done.kind == Kind::collect) {
        unit.policy.ended_collect();
        result_.devices[i].finish = model_.now();
      } else {
        unit.policy.ended();
      }
    }
    return progress;
  }

  // Takes at most one slice: workers start together, and while one enqueues its slice, the others
  // ask.
  bool act(std::uint32_t i) {
    Unit& unit = units_[i];
    bool progress = false;
    if (unit.policy.next(version_) == DevicePolicy::Action::ask) {
      progress = true;
      const Answer answer = source_.next({i});
      unit.policy.answered(answer, version_);
      if (const auto* slice = std::get_if<Slice>(&answer)) {
        enqueue(i, *slice);
        return true;
      }
    }
    if (unit.policy.next(version_) == DevicePolicy::Action::collect) {
      start_collect(i);
      progress = true;
    }
    return progress;
  }

  void enqueue(std::uint32_t i, const Slice& slice) {
    if (slice.begin >= slice.end || slice.end > request_.items ||
        given_ + slice.size() > request_.items) {
      throw Error(
          ErrorKind::internal,
          fmt::format(
              "the source gives out {}..{} of {} items, {} of which it has given out before",
              slice.begin, slice.end, request_.items, given_));
    }
    given_ += slice.size();
    Unit& unit = units_[i];
    const DeviceEstimate& device = request_.devices[i];
    if (!unit.prepared) prepare(i);
    const bool first = result_.devices[i].slices == 0;
    if (first) ++taking_part_;
    const auto items = static_cast<double>(slice.size());
    const std::uint64_t tag = begin_batch(i, Kind::slice, slice);
    if (transfers()) transfer(i, tag, QueueModel::upload, items * request_.cost.in_bytes);
    const Nanos launch = first ? device.launch - device.first_slice_discount : device.launch;
    const Nanos time =
        std::max(device.minimum_slice, launch + from_seconds(items / device.items_per_s));
    if (first && is_iterative() && exchange_.is_member(i)) {
      unit.rounds = {tag | kRounds, time, {}};
      compute(i, tag | kRounds, QueueModel::kForever);
    } else {
      compute(i, tag, time);
    }
    if (transfers()) transfer(i, tag, QueueModel::download, items * request_.cost.out_bytes);
    unit.policy.enqueued_slice();
    result_.devices[i].items += slice.size();
    ++result_.devices[i].slices;
    unit.taken.add(slice);
  }

  void prepare(std::uint32_t i) {
    Unit& unit = units_[i];
    unit.prepared = true;
    if (!transfers() || request_.cost.replicated == 0) return;
    const std::uint64_t tag = begin_batch(i, Kind::prepare, {});
    unit.policy.enqueued_other();
    if (!exchange_.gathers() || !exchange_.is_member(i))
      return transfer(i, tag, QueueModel::upload, static_cast<double>(request_.cost.replicated));
    for (std::size_t piece = 0; piece < kGatherPieces; ++piece) {
      if (exchange_.piece(i, piece) == 0) continue;
      transfer(i, tag, QueueModel::upload, static_cast<double>(exchange_.piece(i, piece)));
      compute(i, tag | kPuts, exchange_.put_of_piece(i, piece));
    }
    compute(i, tag | kSignals, exchange_.signal(i));
    compute(i, tag | kWaits, QueueModel::kForever);
    unit.waits = tag | kWaits;
  }

  // Ends the waits of all devices once all members have signalled.
  void end_waits() {
    if (exchange_.members().empty() || signalled_ < exchange_.members().size()) return;
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
      Unit& unit = units_[i];
      if (unit.waits && model_.set_duration({i}, QueueModel::compute, *unit.waits, Nanos{}))
        unit.waits.reset();
    }
  }

  // Sets how long each member takes for its rounds, once all have begun the first. Exchanges are
  // spread evenly over all rounds but the last.
  void time_rounds() {
    if (rounds_timed_ || exchange_.members().empty() || !is_iterative()) return;
    std::vector<Nanos> at(units_.size()), ended(units_.size()), exchange(units_.size());
    for (const std::size_t i : exchange_.members()) {
      if (!units_[i].rounds) return;
      const auto since =
          model_.running_since(index_of(i), QueueModel::compute, units_[i].rounds->tag);
      if (!since) return;
      at[i] = *since;
      exchange[i] = exchange_.after_round(i);
    }
    rounds_timed_ = true;
    const std::vector<Nanos> begin = at;
    // Number of rounds that are simulated one by one; the others are assumed to take their average.
    constexpr std::int64_t kStepped = 1 << 14;
    const std::int64_t rounds = request_.rounds, exchanging = std::max<std::int64_t>(rounds - 1, 1);
    const std::int64_t stepped = log_ != nullptr ? rounds : std::min(rounds, kStepped);
    for (std::int64_t round = 0; round < stepped; ++round) {
      std::size_t last = exchange_.members().front();
      for (const std::size_t i : exchange_.members()) {
        const Nanos all = units_[i].rounds->computes;
        ended[i] = at[i] + all / rounds + Nanos{round < all.count() % rounds ? 1 : 0};
        if (ended[i] > ended[last]) last = i;
      }
      const std::int64_t exchanges = round < exchanging
                                         ? (round + 1) * request_.exchange.rounds / exchanging -
                                               round * request_.exchange.rounds / exchanging
                                         : 0;
      for (const std::size_t i : exchange_.members()) {
        const Nanos next = exchanges > 0 ? ended[last] + exchange[i] * exchanges : ended[i];
        if (log_ != nullptr)
          log_round(i,
                    {static_cast<std::uint32_t>(round), static_cast<Bytes>(exchanges), at[i],
                     ended[i], next},
                    last);
        at[i] = next;
      }
    }
    for (const std::size_t i : exchange_.members()) {
      Unit::Rounds& mine = *units_[i].rounds;
      const Nanos took = stepped == rounds ? at[i] - begin[i]
                                           : from_seconds(seconds(at[i] - begin[i]) /
                                                          static_cast<double>(stepped) *
                                                          static_cast<double>(rounds));
      mine.waits = took - mine.computes;
      model_.set_duration(index_of(i), QueueModel::compute, mine.tag, took);
    }
  }

  void start_collect(std::uint32_t i) {
    units_[i].policy.enqueued_collect();
    compute(i, begin_batch(i, Kind::collect, {}),
            fixed_of(request_.devices[i], taking_part_, units_.size(), exchange_.share_of(i)));
  }

  std::uint64_t begin_batch(std::uint32_t i, Kind kind, const Slice& slice) {
    Unit& unit = units_[i];
    unit.in_flight.push_back({kind, 0, slice, model_.now()});
    return unit.first_tag + unit.in_flight.size() - 1;
  }

  void compute(std::uint32_t i, std::uint64_t tag, Nanos duration) {
    ++units_[i].in_flight.back().pending;
    model_.enqueue({i}, QueueModel::compute, duration, 0, tag);
  }

  // No command is enqueued if there is nothing to move, which then costs no latency either.
  void transfer(std::uint32_t i, std::uint64_t tag, QueueModel::Queue queue, double bytes) {
    if (!(bytes > 0)) return;
    ++units_[i].in_flight.back().pending;
    model_.enqueue({i}, queue, request_.devices[i].transfer, std::round(bytes), tag);
  }

  // Asks all devices once more, as nothing is under way: a source may have work for a device that
  // it told to wait. Returns whether all items are finished.
  bool everyone_is_done() {
    const std::uint64_t before = given_;
    if (finished_ == request_.items) {
      if (!std::holds_alternative<Done>(source_.next({0})))
        throw Error(ErrorKind::internal, "every item is finished, and the source does not say so");
      return true;
    }
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
      active_.add(i);
      units_[i].policy.ask_again();
    }
    act();
    if (given_ == before) {
      throw Error(ErrorKind::internal,
                  fmt::format("every device waits, and {} of {} items are finished", finished_,
                              request_.items));
    }
    return false;
  }

  Simulation summary() {
    std::vector<std::size_t> parts;
    bool combines = exchange_.combines();  // false if a device that is no member has a part
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
      SimulatedDevice& device = result_.devices[i];
      device.busy = model_.busy({i});
      if (units_[i].rounds) device.busy -= units_[i].rounds->waits;
      parts.push_back(parts_of(units_[i].taken.ranges(), request_.items, request_.merge));
      combines = combines && (parts.back() == 0 || exchange_.is_member(i));
      result_.makespan = std::max({result_.makespan, device.finish, units_[i].prepared_at});
    }
    result_.merge =
        combines ? exchange_.time_to_combine(parts)
                 : request_.merge.of(std::accumulate(parts.begin(), parts.end(), std::size_t{0}));
    result_.makespan += result_.merge;
    result_.sending = model_.sending();
    result_.receiving = model_.receiving();
    result_.handing_out = model_.handing_out();
    for (std::uint32_t i = 0; combines && i < units_.size(); ++i) {
      if (!exchange_.is_member(i)) continue;
      result_.devices[i].busy += result_.merge;
      if (log_ != nullptr) log_combining(i, parts[i]);
    }
    return std::move(result_);
  }

  void log(std::uint32_t i, Batch& batch, const QueueModel::Ended& command) {
    using enum SimulatedCommand::Kind;
    const Nanos begin = command.started, end = command.ended;
    if ((command.tag & kRounds) != 0) return;
    if ((command.tag & kPuts) != 0) {
      std::size_t& piece = units_[i].piece;
      while (exchange_.piece(i, piece) == 0) ++piece;
      const Bytes size = exchange_.piece(i, piece++);
      log_puts(i, batch.commands, begin, end, [&](std::size_t) { return size; });
    } else if ((command.tag & kSignals) != 0) {
      batch.commands.push_back({put, begin, end, 0, other(i)});
    } else if ((command.tag & kWaits) != 0) {
      batch.commands.push_back({wait, begin, end, 0, other(i)});
    } else if (batch.kind != Kind::collect || end > begin) {
      batch.commands.push_back({command.queue == QueueModel::upload ? upload
                                : command.queue == QueueModel::compute
                                    ? SimulatedCommand::Kind::compute
                                    : download,
                                begin, end, static_cast<Bytes>(command.bytes)});
    }
  }

  // Logs a put to each of the others, one after another, from `begin` until `end` at most.
  void log_puts(std::size_t i, std::vector<SimulatedCommand>& commands, Nanos begin, Nanos end,
                const auto& size_for) {
    for (const std::size_t to : exchange_.members()) {
      if (to == i) continue;
      const Bytes size = size_for(to);
      const Nanos ended = std::min(end, begin + exchange_.put(i, to, size));
      commands.push_back({SimulatedCommand::Kind::put, begin, ended, size, index_of(to)});
      begin = ended;
    }
  }

  struct Round {
    std::uint32_t number = 0;
    Bytes exchanges = 0;  // number of exchanges after it
    Nanos begin{}, ended{}, next{};
  };
  // Logs a round: the member sends to its two neighbours and waits for the later one, `last`.
  void log_round(std::size_t i, const Round& round, std::size_t last) {
    using enum SimulatedCommand::Kind;
    Unit& unit = units_[i];
    std::vector<SimulatedCommand>& commands =
        unit.in_flight[(unit.rounds->tag & ~kWhat) - unit.first_tag].commands;
    commands.push_back(
        {SimulatedCommand::Kind::compute, round.begin, round.ended, 0, {}, round.number});
    if (round.exchanges == 0) return;
    const std::vector<std::size_t>& all = exchange_.members();
    const auto at = std::lower_bound(all.begin(), all.end(), i);
    const Bytes size = request_.exchange.halo * round.exchanges;
    Nanos sent = round.ended;
    const auto send = [&](std::size_t to) {
      const Nanos ended = std::min(round.next, round.ended + exchange_.put(i, to, size));
      commands.push_back({put, round.ended, ended, size, index_of(to), round.number});
      sent = std::max(sent, ended);
    };
    if (at != all.begin()) send(*(at - 1));
    if (at + 1 != all.end()) send(*(at + 1));
    commands.push_back(
        {wait, sent, round.next, 0, last == i ? other(i) : index_of(last), round.number});
  }

  void log_combining(std::uint32_t i, std::size_t parts) {
    const Nanos end = result_.makespan, begin = end - result_.merge;
    SimulatedBatch batch{Kind::merge, {i}, {}, begin, end, {}};
    log_puts(i, batch.commands, begin, end,
             [&](std::size_t to) { return exchange_.combined_by(to) * parts; });
    const Nanos sent = batch.commands.empty() ? begin : batch.commands.back().ended;
    batch.commands.push_back({SimulatedCommand::Kind::wait, sent, end, 0, other(i)});
    log_->push_back(std::move(batch));
  }

  static DeviceIndex index_of(std::size_t i) { return {static_cast<std::uint32_t>(i)}; }

  // Returns a member other than this one.
  DeviceIndex other(std::size_t i) const {
    const std::vector<std::size_t>& all = exchange_.members();
    return index_of(all.front() == i ? all.back() : all.front());
  }

  const PlanRequest& request_;
  SliceSource& source_;
  std::vector<SimulatedBatch>* const log_;
  const ExchangeModel exchange_;
  QueueModel model_;
  std::vector<Unit> units_;
  DeviceSet active_;                   // devices that may have something to do at this moment
  std::deque<std::uint32_t> waiting_;  // devices that could take more, longest unasked first
  bool slice_ended_ = false;           // since the last act()
  std::uint64_t version_ = 1;  // counts finished slices: after each, waiting devices ask again
  Items given_ = 0, finished_ = 0;
  std::size_t taking_part_ = 0;  // number of devices that were given something
  bool rounds_timed_ = false;
  std::size_t signalled_ = 0;  // number of devices that have put the pieces that the others gather
  std::vector<QueueModel::Ended> ended_;
  Simulation result_;
};

}  // namespace

Simulation simulate(const PlanRequest& request, SliceSource& source,
                    std::vector<SimulatedBatch>* log) {
  if (request.chain != nullptr) return simulate_chain(request, source.first_shares());
  return Simulator(request, source, log).run();
}

}  // namespace mgpu
