// Holds what the devices of a group share to exchange data, and says in which samples they do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/session/group.hpp"

namespace mgpu {

// Owns the group of peers. It is released when no device is at work any more, and leaked where a
// driver does not answer; programs, which use what it has, are released before it.
class GroupExchange {
 public:
  explicit GroupExchange(const GroupRequest& given) : given_(given) {}
  GroupExchange(const GroupExchange&) = delete;
  GroupExchange& operator=(const GroupExchange&) = delete;
  ~GroupExchange() { disconnect(); }

  // Connects those of the set that are not lost, if the workload exchanges data. Returns what is
  // known of the links in use, for predictions. A failure is a note and a warning: each device then
  // brings all it needs itself.
  std::optional<ExchangeEstimate> connect();
  bool any() const { return peers_ != nullptr; }
  // Tells whether the group was broken up, and with it what iterative programs are made with.
  bool is_lost() const { return connected_ && !peers_; }
  // Adds the exchange to the request. `exchanging`: by position, which devices take part.
  void add_to(SampleRequest& request, std::vector<bool> exchanging,
              std::span<const std::size_t> devices) const;
  // Stops all exchanging after a device failed: each device then uploads all it needs. What they
  // share stays until the programs are gone.
  void break_up();
  void disconnect();

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool connect_by(std::optional<PeerPath> path, std::span<OpenDevice* const> devices,
                  const Exchanged& exchanged);
  bool release_shared(const std::function<void()>& release);
  void leave();

  const GroupRequest& given_;
  std::unique_ptr<PeerGroup> peers_;  // null: they exchange none
  std::vector<std::size_t> places_;   // in it, of devices
  bool connected_ = false;            // the workload was, and holds what it allocated of the group
  std::vector<std::string> notes_;    // as Report has them
};

}  // namespace mgpu
