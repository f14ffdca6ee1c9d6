// Transfer rates between the host and devices and among devices, pair by pair and all at once, and
// zero-byte latencies. Everything is checked: each source has words of its own, each target is
// poisoned before.
#pragma once

#include "lib/session/link_set.hpp"

namespace mgpu {

struct LinkAmounts {
  Bytes piece = 0;      // bytes moved by one command
  unsigned pieces = 1;  // commands per repetition, each way
};

class LinkMatrix {
 public:
  struct Way {  // source and target; none: the host
    std::optional<DeviceIndex> from, to;
  };
  // `in_use`: whether sessions use the paths of this set, for the records. Cases are appended to
  // the report.
  LinkMatrix(LinkSet& set, const LinkAmounts& amounts, const Repetitions& repetitions, bool in_use,
             Report& report);

  void fill();     // fills the sources; must be called first
  void host();     // each device with the host: up, down and both ways; all devices at once
  void pairs();    // pairs of devices, one way and both ways; all pairs at once
  void latency();  // latency of each pair, and of all devices
  void transfer(const Way& way, bool both_ways);          // adds one case
  void latency_of(std::span<const DeviceIndex> devices);  // adds two: isolated, back to back

 private:
  struct Flow;
  void move(std::string label, const char* mode, LinkRecord link, std::span<const Way> ways,
            Bytes piece);
  void add(std::string label, const std::string& mode, std::span<const DeviceIndex> who,
           LinkRecord link, std::vector<Nanos> samples);
  Buffer& target(const Flow& flow);
  void poison(std::span<const Flow> flows);
  std::uint64_t count_wrong(std::span<const Flow> flows);
  void enqueue(DeviceIndex device, std::span<const Flow> flows);
  std::span<std::byte> host_region(std::size_t i) {
    return memory_->bytes().subspan(i * amounts_.piece, amounts_.piece);
  }
  LinkSet& set_;
  const LinkAmounts amounts_;
  const Repetitions repetitions_;
  const bool in_use_;
  Report& report_;
  std::vector<Buffer*> sources_, targets_;  // by device; the targets of uploads
  SharedMemory* shared_ = nullptr;          // targets of transfers between devices
  // Pieces: one sent to every device, one per device that it sends, one for checks.
  HostMemory* memory_ = nullptr;
};

}  // namespace mgpu
