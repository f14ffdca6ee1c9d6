// Objects through which the devices of a group exchange data, and the choice of samples that use
// them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/session/group.hpp"

namespace mgpu {

// Owns the peer group. Releases it when no device is at work any more, and leaks it if a driver
// does not answer; programs, which use it, are released before.
class GroupExchange {
 public:
  explicit GroupExchange(const GroupRequest& given) : given_(given) {}
  GroupExchange(const GroupExchange&) = delete;
  GroupExchange& operator=(const GroupExchange&) = delete;
  ~GroupExchange() { disconnect(); }

  // Connects the working devices of the set, if the workload exchanges data. Returns what is known
  // of the links in use, for predictions. A failure is a note and a warning: each device then
  // uploads all it needs itself.
  std::optional<ExchangeEstimate> connect();
  bool any() const { return peers_ != nullptr; }
  // Tells whether the group was broken up, which makes programs of iterative work useless.
  bool is_lost() const { return connected_ && !peers_; }
  // Adds the exchange to the request. `exchanging`: by position, which devices take part.
  void add_to(SampleRequest& request, std::vector<bool> exchanging,
              std::span<const std::size_t> devices) const;
  // Stops all exchanging after a device failed: each device then uploads all it needs. Memory of
  // the workload in the group stays until the programs are gone.
  void disband();
  void disconnect();

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool connect_by(std::optional<PeerPath> path, std::span<OpenDevice* const> devices,
                  const Exchanged& exchanged);
  bool release_shared(const std::function<void()>& release);
  void leave();

  const GroupRequest& given_;
  std::unique_ptr<PeerGroup> peers_;  // null: devices do not exchange data
  std::vector<std::size_t> places_;   // position of each device in the group
  bool connected_ = false;  // the workload is connected, and has allocated memory of the group
  std::vector<std::string> notes_;  // notes for the Report
};

}  // namespace mgpu
