#include "lib/cluster/post.hpp"

#include <algorithm>
#include <atomic>
#include <exception>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/cluster/wire.hpp"

namespace mgpu {
namespace {

// Time that the thread spins after something moved; after it the thread sleeps between two polls.
// The next call to a device in use comes soon, but a core is worth more to a CPU device than a few
// microseconds.
constexpr Nanos kLooksClosely = std::chrono::microseconds(50);
// Time that the thread spins after a clock question: if one side slept when the other's message
// came, both would sleep again and again.
constexpr Nanos kLooksAtClock = std::chrono::milliseconds(2);
constexpr Nanos kSleep = std::chrono::microseconds(50);
constexpr Nanos kLongSleep = std::chrono::milliseconds(1);
constexpr Nanos kIdleAfter = std::chrono::milliseconds(20);

Call call_of(const Message& message) {
  return message.empty() ? Call::sign : static_cast<Call>(message.front());
}

// Makes a clock question. While `left` is above 1 the next one follows at once: both sides are
// awake then.
Message ping(Nanos sent, std::uint32_t left) {
  return Writer(Call::ping).put(sent).put(left).take();
}

}  // namespace

struct Post::State {
  enum class Stage { joining, joined, failed, serving, ending, aborting, over };

  explicit State(std::function<Nanos()> clock, PostTimes limits)
      : now(std::move(clock)), times(limits) {}

  struct Outgoing {
    RankNumber to = 0;
    Message message;
    SentInPlace rest;  // empty: the message is all
  };

  void push(Outgoing outgoing) {
    {
      const std::lock_guard lock(mutex);
      if (outgoing.to < losses.size() && losses[outgoing.to]) return;
      outbox.push_back(std::move(outgoing));
    }
    changed.notify_all();
  }

  void wait_for_more(Nanos idle) {
    if (idle < kLooksClosely || now() < clock_until || due_closely > 0)
      return std::this_thread::yield();
    std::unique_lock lock(mutex);
    const Stage before = stage;
    changed.wait_for(lock, idle < kIdleAfter || due > 0 ? kSleep : kLongSleep,
                     [&] { return !outbox.empty() || stage != before; });
  }

  // Rank 0 exchanges signs of life with all ranks, the others with rank 0.
  bool is_watched(RankNumber other) const { return other != rank && (rank == 0 || other == 0); }

  void mark_failed(RankNumber other, const std::string& why) {
    {
      const std::lock_guard lock(mutex);
      if (losses[other]) return;
      losses[other] = why;
      std::erase_if(outbox, [&](const auto& entry) { return entry.to == other; });
    }
    try {  // every failed rank is reported, even if reporting another one fails
      transport->forget(other);
      if (handlers.lost) handlers.lost(other, why);
    } catch (const std::exception&) {
    }
  }

  void lose_all(const std::string& why) {
    for (RankNumber other = 0; other < size; ++other)
      if (is_watched(other)) mark_failed(other, why);
  }

  void send_all() {
    std::deque<Outgoing> ready;
    {
      const std::lock_guard lock(mutex);
      ready.swap(outbox);
    }
    for (auto& [to, message, rest] : ready) {
      if (!rest.bytes.empty()) {
        transport->send(to, std::move(message), std::move(rest));
        continue;
      }
      if (call_of(message) == Call::ping) {
        Reader in(message);
        in.get<Call>();
        in.get<Nanos>();
        clock_until = now() + kLooksAtClock;
        message = ping(now(), in.get<std::uint32_t>());  // the latest time before it is sent
      }
      transport->send(to, std::move(message));
    }
  }

  void take(RankNumber from, Message message) {
    heard[from] = now();
    switch (call_of(message)) {
      case Call::sign:
        return;
      case Call::ping: {
        message.front() = static_cast<std::byte>(Call::pong);
        const Nanos here = now();
        clock_until = here + kLooksAtClock;
        const auto* bytes = reinterpret_cast<const std::byte*>(&here);
        message.insert(message.end(), bytes, bytes + sizeof here);
        return transport->send(from, std::move(message));
      }
      case Call::pong: {
        Reader in(message);
        in.get<Call>();
        const auto sent = in.get<Nanos>();
        const auto left = in.get<std::uint32_t>();
        const auto there = in.get<Nanos>();
        if (left > 1) clock_until = now() + kLooksAtClock;
        if (left > 1) transport->send(from, ping(now(), left - 1));
        if (handlers.clock) handlers.clock(from, {sent, heard[from], there});
        return;
      }
      default:
        if (handlers.message) handlers.message(from, std::move(message));
    }
  }

  void signs_of_life() {
    const Nanos at = now();
    const bool gives = at - signed_at >= times.between_signs;
    if (gives) signed_at = at;
    for (RankNumber other = 0; other < size; ++other) {
      if (!is_watched(other) || losses[other]) continue;
      if (gives) transport->send(other, Writer(Call::sign).take());
      // A rank that was stopped itself has heard nothing from the others either.
      if (at - looked_at < times.silence / 4 && at - heard[other] > times.silence)
        mark_failed(other, "gave no sign of life for " + format_duration(times.silence));
    }
    looked_at = at;
  }

  const std::function<Nanos()> now;
  const PostTimes times;
  RankNumber rank = 0, size = 1;
  std::string library;
  std::optional<std::string> no_device_memory;
  std::unique_ptr<Transport> transport;  // used only by the thread
  PostHandlers handlers;
  std::vector<Nanos> heard;  // used only by the thread
  Nanos signed_at{}, looked_at{}, clock_until{};
  std::atomic<Nanos::rep> at_work = 0;  // when the thread last polled
  std::atomic<int> due = 0, due_closely = 0;

  mutable std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  Stage stage = Stage::joining;
  std::exception_ptr failure;
  int code = 0;
  std::deque<Outgoing> outbox;
  std::vector<std::optional<std::string>> losses;
};

Post::Post(std::function<std::unique_ptr<Transport>()> join, std::function<Nanos()> now,
           PostTimes times)
    : state_(std::make_shared<State>(std::move(now), times)) {
  thread_ = std::thread([state = state_, join = std::move(join)] { serve(state, join); });
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->stage != State::Stage::joining; });
  if (state_->stage != State::Stage::failed) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(state_->failure);
}

Post::~Post() {
  if (thread_.joinable()) thread_.detach();
}

RankNumber Post::rank() const { return state_->rank; }
RankNumber Post::size() const { return state_->size; }
std::string Post::library() const { return state_->library; }

void Post::start(PostHandlers handlers) {
  const std::lock_guard lock(state_->mutex);
  state_->handlers = std::move(handlers);
  state_->stage = State::Stage::serving;
  state_->changed.notify_all();
}

std::optional<std::string> Post::why_no_device_memory() const { return state_->no_device_memory; }

void Post::send(RankNumber to, Message message) { state_->push({to, std::move(message), {}}); }
void Post::send(RankNumber to, Message head, SentInPlace rest) {
  state_->push({to, std::move(head), std::move(rest)});
}
void Post::expect(int more, bool imminent) {
  (imminent ? state_->due_closely : state_->due) += more;
  state_->changed.notify_all();
}
void Post::ask_clock(RankNumber of, std::uint32_t exchanges) {
  state_->push({of, ping(Nanos{}, exchanges), {}});
}

std::optional<std::string> Post::lost(RankNumber rank) const {
  const std::lock_guard lock(state_->mutex);
  return rank < state_->losses.size() ? state_->losses[rank] : std::nullopt;
}

bool Post::is_stuck() const {
  return state_->now().count() - state_->at_work > Nanos(state_->times.silence).count();
}

bool Post::end() {
  std::unique_lock lock(state_->mutex);
  for (const auto& loss : state_->losses)
    if (loss) return false;
  state_->stage = State::Stage::ending;
  state_->changed.notify_all();
  if (!state_->changed.wait_for(lock, state_->times.leaving,
                                [&] { return state_->stage == State::Stage::over; }))
    return false;
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  return true;
}

bool Post::is_over() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stage == State::Stage::over || state_->stage == State::Stage::failed;
}

void Post::abort(int code) {
  std::unique_lock lock(state_->mutex);
  state_->code = code;
  state_->stage = State::Stage::aborting;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, state_->times.leaving,
                           [&] { return state_->stage == State::Stage::over; });
}

void Post::serve(const std::shared_ptr<State>& state,
                 const std::function<std::unique_ptr<Transport>()>& join) {
  using Stage = State::Stage;
  State& s = *state;
  const auto enter = [&](Stage stage) {
    const std::lock_guard lock(s.mutex);
    s.stage = stage;
    s.changed.notify_all();
  };
  try {
    s.transport = join();
    s.rank = s.transport->rank();
    s.size = s.transport->size();
    s.library = s.transport->library();
    s.no_device_memory = s.transport->why_no_device_memory();
    s.heard.assign(s.size, s.now());
    s.losses.resize(s.size);
    s.at_work = s.now().count();
    enter(Stage::joined);
  } catch (...) {
    s.failure = std::current_exception();
    enter(Stage::failed);
    return;
  }
  {
    std::unique_lock lock(s.mutex);
    s.changed.wait(lock, [&] { return s.stage != Stage::joined; });
  }
  s.heard.assign(s.size, s.now());
  s.looked_at = s.now();
  Nanos moved_at = s.now();
  bool works = true;  // whether the transport works
  for (;;) {
    Stage stage;
    bool sends;
    int code;
    {
      const std::lock_guard lock(s.mutex);
      stage = s.stage;
      sends = !s.outbox.empty();
      code = s.code;
    }
    const Nanos at = s.now();
    s.at_work = at.count();
    if (stage == Stage::aborting) {
      s.transport->abort(code);
      return enter(Stage::over);
    }
    try {
      if (works) {
        s.send_all();
        if (s.transport->progress(
                [&](RankNumber from, Message message) { s.take(from, std::move(message)); }) ||
            sends)
          moved_at = at;
        if (stage == Stage::ending && !sends && s.transport->all_sent()) {
          s.transport->end();
          return enter(Stage::over);
        }
        s.signs_of_life();
      }
    } catch (const std::exception& error) {
      works = false;
      s.lose_all(error.what());
    }
    s.wait_for_more(at - moved_at);
  }
}

}  // namespace mgpu
