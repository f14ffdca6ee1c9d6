// The thread of a rank that sends and receives: the only one that calls MPI. It answers questions
// for the clock itself, gives and expects signs of life, and hands everything else over.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/cluster/node_clock.hpp"
#include "lib/cluster/transport.hpp"

namespace mgpu {

// Called by the post's thread, which must not be kept waiting.
struct PostHandlers {
  std::function<void(RankNumber from, Message message)> message;
  std::function<void(RankNumber of, const ClockExchange& exchange)> clock;
  std::function<void(RankNumber rank, const std::string& why)> lost;  // once for each
};

struct PostTimes {
  Nanos between_signs = std::chrono::milliseconds(250);
  // Without a sign for so long a rank counts as lost. A host whose cores are all busy may keep a
  // thread waiting for a second.
  Nanos silence = std::chrono::seconds(10);
  Nanos leaving = std::chrono::seconds(10);  // of all ranks, at the end
};

class Post {
 public:
  // `join` is called by the thread; `now` is the clock of all times. Returns when the job is
  // joined; throws what `join` throws.
  Post(std::function<std::unique_ptr<Transport>()> join, std::function<Nanos()> now,
       PostTimes times = {});
  ~Post();  // what was not ended is left behind: MPI may hold the thread for ever
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  RankNumber rank() const;
  RankNumber size() const;
  std::string library() const;

  void start(PostHandlers handlers);          // messages that came before wait until then
  void send(RankNumber to, Message message);  // from any thread; nothing for who is lost
  // Something of others is due, or was; if it may come any moment and is not to wait for a sleeper,
  // `closely`.
  void expect(int more, bool closely);
  // So many exchanges, one after the other, each of which handlers.clock is told of.
  void ask_clock(RankNumber of, std::uint32_t exchanges);
  std::optional<std::string> lost(RankNumber rank) const;  // why
  // Is the thread at work? One that MPI holds gives no sign.
  bool is_stuck() const;
  // Leaves the job, which takes until all do. False: not all did in time, or one is lost; abort()
  // then ends the others.
  bool end();
  // Ends all ranks with this code, this process too; where MPI does not manage even that in time,
  // returns.
  void abort(int code);

 private:
  struct State;
  static void serve(const std::shared_ptr<State>& state,
                    const std::function<std::unique_ptr<Transport>()>& join);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace mgpu
