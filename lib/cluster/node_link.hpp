// Rank 0's end of what it has with one other rank: calls that wait for an answer, calls that do
// not, and the other's clock.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lib/cluster/node_clock.hpp"
#include "lib/cluster/post.hpp"
#include "lib/cluster/wire.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

// What of an open device the post's thread may touch: results arrive while the device's own thread
// is elsewhere.
struct RemoteArrivals {
  struct Download {  // where it is wanted
    std::byte* to = nullptr;
    Rows rows;
  };
  struct Completed {
    std::optional<Error> error;
    DeviceSpan span;
  };
  std::mutex mutex;  // guards what follows
  std::map<std::uint64_t, Download>
      downloads;  // by number; none is written to once it is not here any more
  std::map<std::uint64_t, Completed> completed;  // batches
  std::uint64_t at_rest = 0;                     // since it was abandoned for the so manieth time
  int awaited = 0;                               // batches that were sent and are not complete
  bool closely = false;                          // as a GPU is waited for: by looking all the time
  std::shared_ptr<Notifier> notifier;
};

class NodeLink {
 public:
  NodeLink(Post& post, RankNumber rank, std::string host)
      : post_(post), rank_(rank), host_(std::move(host)) {}

  RankNumber rank() const { return rank_; }
  const std::string& host() const { return host_; }
  std::string name() const { return "rank " + std::to_string(rank_) + " on " + host_; }

  // The head of a call to `device` (0: to the rank itself), to which its arguments are added. One
  // that nobody waits for.
  static Writer begin(Call call, std::uint32_t device);
  void send(Writer call);
  // The head of one whose answer is waited for, and the wait: for so long at most. The answer
  // without its head. Throws what the other threw, Error(device) when the rank is lost,
  // Error(timeout), Error(interrupted).
  Writer begin_asking(Call call, std::uint32_t device);
  Message ask(Writer call, const std::string& what, Nanos limit, const StopCheck& stop);
  void throw_if_lost() const;
  bool is_lost() const { return post_.lost(rank_).has_value(); }

  // Exchanges with its clock, one after the other, then what is known of it.
  void look_at_clock(std::uint32_t exchanges);
  NodeClock clock() const;

  std::uint32_t add_device(std::shared_ptr<RemoteArrivals> arrivals);
  void remove_device(std::uint32_t device);
  void awaits(RemoteArrivals& device);          // one batch more; its mutex is free
  void awaits_nothing(RemoteArrivals& device);  // of all so far

  // By the post's thread.
  void arrived(Message message);
  void looked(const ClockExchange& exchange);
  void lost();

 private:
  void answered(Reader& in, const Message& message);
  void completed(Reader& in);

  Post& post_;
  const RankNumber rank_;
  const std::string host_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, std::optional<Message>> answers_;  // none: still waited for
  NodeClock clock_;
  std::uint64_t looks_ = 0;  // exchanges so far
  std::uint32_t next_device_ = 1;
  std::map<std::uint32_t, std::shared_ptr<RemoteArrivals>> devices_;
};

}  // namespace mgpu
