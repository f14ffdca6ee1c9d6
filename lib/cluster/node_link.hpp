// Rank 0's link to one other rank: calls that wait for an answer, calls that do not, and the other
// rank's clock.
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

// State of an open device that the transport's thread may touch: results arrive while the device's
// own thread is elsewhere.
struct RemoteArrivals {
  struct Download {  // where the data is wanted
    std::byte* to = nullptr;
    Rows rows;
  };
  struct Completed {
    std::optional<Error> error;
    DeviceSpan span;
  };
  std::mutex mutex;  // guards what follows
  // Downloads by number; the memory of one that was removed is not written any more.
  std::map<std::uint64_t, Download> downloads;
  std::map<std::uint64_t, Completed> completed;  // batches
  std::uint64_t at_rest = 0;  // number of the latest abandon() whose commands have all ended
  int awaited = 0;            // batches that were sent and are not complete
  bool imminent = false;      // wait by spinning, as for a GPU
  std::shared_ptr<Notifier> notifier;
};

class NodeLink {
 public:
  NodeLink(Post& post, RankNumber rank, std::string host)
      : post_(post), rank_(rank), host_(std::move(host)) {}

  RankNumber rank() const { return rank_; }
  const std::string& host() const { return host_; }
  std::string name() const { return "rank " + std::to_string(rank_) + " on " + host_; }

  // Returns the head of a call to `device` (0: to the rank itself), to which the arguments are
  // added. This call is not waited for.
  static Writer begin(Call call, std::uint32_t device);
  void send(Writer call);
  // Begin a call whose answer is waited for, and wait for it until `limit`. ask() returns the
  // answer without its head. It throws what the other rank threw, Error(device) when the rank has
  // failed, Error(timeout), Error(interrupted).
  Writer begin_asking(Call call, std::uint32_t device);
  Message ask(Writer call, const std::string& what, Nanos limit, const StopCheck& stop);
  void throw_if_lost() const;
  bool is_lost() const { return post_.lost(rank_).has_value(); }

  // Makes N exchanges with the other clock, one after the other, and waits for them.
  void look_at_clock(std::uint32_t exchanges);
  NodeClock clock() const;

  std::uint32_t add_device(std::shared_ptr<RemoteArrivals> arrivals);
  void remove_device(std::uint32_t device);
  // Adds one batch; the caller must not have the device's mutex.
  void awaits(RemoteArrivals& device);
  void awaits_nothing(RemoteArrivals& device);  // drops all batches so far

  // Called by the transport's thread.
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
