// Transport thread of a rank, which sends and receives: the only thread that calls MPI. It answers
// clock questions itself, gives and expects signs of life, and hands everything else over.
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

// Handlers called by the transport thread, which must return quickly.
struct PostHandlers {
  std::function<void(RankNumber from, Message message)> message;
  std::function<void(RankNumber of, const ClockExchange& exchange)> clock;
  std::function<void(RankNumber rank, const std::string& why)> lost;  // once per rank
};

struct PostTimes {
  Nanos between_signs = std::chrono::milliseconds(250);
  // Time without a sign after which a rank counts as failed. A host whose cores are all busy may
  // keep a thread waiting for a second.
  Nanos silence = std::chrono::seconds(10);
  Nanos leaving = std::chrono::seconds(10);  // time for all ranks to leave at the end
};

class Post {
 public:
  // `join` is called by the thread; `now` is the clock of all times. Returns when the job is
  // joined; throws what `join` throws.
  Post(std::function<std::unique_ptr<Transport>()> join, std::function<Nanos()> now,
       PostTimes times = {});
  ~Post();  // a thread that was not ended is left behind: MPI may block it for ever
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  RankNumber rank() const;
  RankNumber size() const;
  std::string library() const;

  void start(PostHandlers handlers);          // earlier messages wait for this call
  void send(RankNumber to, Message message);  // from any thread; drops messages to a failed rank
  // Sends the same in two parts. If the rank has failed, `rest.sent` is never called.
  void send(RankNumber to, Message head, SentInPlace rest);
  std::optional<std::string> why_no_device_memory() const;  // as Transport; of this rank
  // Adds `more` (may be negative) to the number of expected messages. The thread polls more often
  // while any are expected; `closely`: it spins, as one may come at any moment.
  void expect(int more, bool imminent);
  // Makes N clock exchanges, one after the other, and reports each to handlers.clock.
  void ask_clock(RankNumber of, std::uint32_t exchanges);
  std::optional<std::string> lost(RankNumber rank) const;  // why the rank failed
  // Returns whether the thread has not come round for the time of `silence`, as when MPI blocks it.
  bool is_stuck() const;
  // Leaves the job, which takes until all ranks do. Returns false if not all did in time, or one
  // has failed; abort() then ends the others.
  bool end();
  // Returns whether the thread has left the job, and uses nothing of others any more.
  bool is_over() const;
  // Ends all ranks with this exit code, this process too; returns if MPI does not manage that in
  // time.
  void abort(int code);

 private:
  struct State;
  static void serve(const std::shared_ptr<State>& state,
                    const std::function<std::unique_ptr<Transport>()>& join);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace mgpu
