// A transport for ranks that are threads of one process: messages go through memory, and ranks can
// die.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/cluster/transport.hpp"

namespace mgpu::test {

class MemoryNetwork {
 public:
  explicit MemoryNetwork(RankNumber ranks, bool takes_device_memory = false)
      : inboxes_(ranks),
        dead_(ranks),
        aborted_with_(-1),
        takes_device_memory_(takes_device_memory) {}

  std::unique_ptr<Transport> transport(RankNumber rank) {
    return std::make_unique<End>(*this, rank);
  }
  void kill(RankNumber rank) { dead_[rank] = true; }  // it then neither sends nor receives
  std::uint64_t sent_in_place() const { return sent_in_place_; }  // bytes from memory of devices
  int aborted_with() const { return aborted_with_; }  // exit code of the abort; -1: none

 private:
  class End final : public Transport {
   public:
    End(MemoryNetwork& network, RankNumber rank) : network_(network), rank_(rank) {}
    RankNumber rank() const override { return rank_; }
    RankNumber size() const override { return static_cast<RankNumber>(network_.inboxes_.size()); }
    std::string library() const override { return "memory"; }
    void send(RankNumber to, Message message) override {
      const std::lock_guard lock(network_.mutex_);
      if (!network_.dead_[rank_] && !network_.dead_[to])
        network_.inboxes_[to].emplace_back(rank_, std::move(message));
    }
    void send(RankNumber to, Message head, SentInPlace rest) override {
      if (rest.begin) rest.begin();
      head.insert(head.end(), rest.bytes.begin(), rest.bytes.end());
      network_.sent_in_place_ += rest.bytes.size();
      rest.sent();
      send(to, std::move(head));
    }
    std::optional<std::string> why_no_device_memory() const override {
      return network_.takes_device_memory_ ? std::nullopt
                                           : std::optional<std::string>("memory takes none");
    }
    bool progress(const std::function<void(RankNumber, Message)>& deliver) override {
      std::deque<std::pair<RankNumber, Message>> come;
      {
        const std::lock_guard lock(network_.mutex_);
        if (!network_.dead_[rank_]) come.swap(network_.inboxes_[rank_]);
      }
      for (auto& [from, message] : come) deliver(from, std::move(message));
      return !come.empty();
    }
    bool all_sent() const override { return true; }
    void forget(RankNumber) override {}
    void end() override {}
    void abort(int code) override { network_.aborted_with_ = code; }

   private:
    MemoryNetwork& network_;
    RankNumber rank_;
  };

  std::mutex mutex_;  // guards the inboxes
  std::vector<std::deque<std::pair<RankNumber, Message>>> inboxes_;
  std::vector<std::atomic<bool>> dead_;
  std::atomic<int> aborted_with_;
  const bool takes_device_memory_;
  std::atomic<std::uint64_t> sent_in_place_ = 0;
};

}  // namespace mgpu::test
