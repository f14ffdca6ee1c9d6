// What moves between the host and devices and among devices, pair by pair and all at once, and how
// long an exchange of nothing takes. Everything is checked: each source holds words of its own,
// each target is poisoned before.
#pragma once

#include "lib/report/links_record.hpp"
#include "lib/session/link_set.hpp"

namespace mgpu {

struct LinkAmounts {
  Bytes piece = 0;      // moved by one command
  unsigned pieces = 1;  // commands of a repetition, each way
};

class LinkMatrix {
 public:
  // `in_use`: what the records say of the paths that the set has.
  LinkMatrix(LinkSet& set, const LinkAmounts& amounts, const Repetitions& repetitions, bool in_use,
             LinksReport& report);

  void fill();        // what is moved; first of all
  void host();        // each device and the host: up, down and both ways; all of them at once
  void pairs();       // devices, one way and both ways; all pairs at once
  void latency();     // of each pair, and of all
  void short_form();  // of each pair both ways, and its latency

 private:
  struct Way {  // source to target; none: the host
    std::optional<DeviceIndex> from, to;
  };
  struct Flow;
  LinkMoves move(std::span<const Way> ways, Bytes piece, std::vector<LinkShare>* shares);
  Buffer& target(const Flow& flow);
  void poison(std::span<const Flow> flows);
  std::uint64_t count_wrong(std::span<const Flow> flows);
  void enqueue(DeviceIndex device, std::span<const Flow> flows);
  std::span<std::byte> host_region(std::size_t i) {
    return memory_->bytes().subspan(i * amounts_.piece, amounts_.piece);
  }
  LinkLatency latency_of(std::span<const DeviceIndex> who);

  LinkSet& set_;
  const LinkAmounts amounts_;
  const Repetitions repetitions_;
  const bool in_use_;
  LinksReport& report_;
  std::vector<Buffer*> sources_, targets_;  // by device; targets of what the host sends
  SharedMemory* shared_ = nullptr;          // targets of what devices send
  HostMemory* memory_ = nullptr;  // a piece that is sent to every device, one a device that is sent
                                  // by it, one for checks
};

}  // namespace mgpu
