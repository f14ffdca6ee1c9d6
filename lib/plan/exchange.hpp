// What devices exchange in a sample, and what that takes: who takes part, in which pieces an input
// is gathered, how long puts last. What is done (lib/exchange, suites) and what is predicted go by
// the same pieces. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct ByteRange {
  Bytes begin = 0, end = 0;
  Bytes size() const { return end - begin; }
};
// Part `i` of `parts`: equal to 16 bytes, in order, all of them together everything.
ByteRange part_of_bytes(ByteRange whole, std::size_t parts, std::size_t i);

// Of a part of a gathered input: one is on its way to the others while the next comes up.
inline constexpr std::size_t kGatherPieces = 4;
// Does each member upload a part of an input of `size` bytes and send it to the others? Where paths
// are direct, not of a small one: half of 4 MiB takes 40 us over a link of 50 GB/s, about what
// signals and launches cost.
bool is_gathered(Bytes size, bool direct);

// Is it worth exchanging data over these paths, those of all pairs? By default only where devices
// reach each other's memory: by way of the host nothing is gained that each could not have from
// there itself. What was asked for is done; staged, that is nothing.
bool is_worth_exchanging(std::span<const PeerPath> paths, const std::optional<PeerPath>& asked);
std::vector<PeerPath> paths_of(const PeerLinks& links);

// By device: is it among those that exchange data in a sample of this source? Those that have a
// share; where none are set apart, those that may be given work. With fewer than two nobody
// exchanges anything.
std::vector<bool> exchanging(const PlanRequest& request, const SliceSource& source);

// What is predicted of an exchange among `members`, devices of the request, ascending; fewer than
// two exchange nothing, and then nobody is a member. Views the request.
class ExchangeModel {
 public:
  ExchangeModel(const PlanRequest& request, std::vector<std::size_t> members);

  const std::vector<std::size_t>& members() const { return members_; }
  bool is_member(std::size_t device) const;
  bool gathers() const { return gathers_; }        // replicated inputs
  bool combines() const { return combines_ > 0; }  // parts of the result
  // So many do together what is `fixed_shared` of this device; 1: it does that alone.
  std::size_t share_of(std::size_t device) const;

  // Gathering: what a member uploads in piece `piece`, how long it takes to put that to all others,
  // one after the other, and how long to signal all of them.
  Bytes piece(std::size_t device, std::size_t piece) const;
  Nanos put_of_piece(std::size_t device, std::size_t piece) const;
  Nanos signal(std::size_t device) const;
  // Until everybody has everything, where all upload at the same time, no faster than `fair`
  // bytes/s each.
  double seconds_to_gather(double fair) const;
  // Returns how long so many bytes take to another member.
  Nanos put(std::size_t device, std::size_t to, Bytes size) const;
  // Returns how long a member waits, after a round, for what the slowest link to it brings, if
  // nothing of that is hidden.
  Nanos after_round(std::size_t device) const;
  // Until parts of the result, so many on each device of the request, are put where they are added
  // up.
  Nanos time_to_combine(std::span<const std::size_t> parts) const;
  // Returns how many bytes of a part each of the others puts to a member, which combines them.
  Bytes combined_by(std::size_t device) const;

 private:
  std::size_t place_of(std::size_t device) const;  // among the members
  Nanos put_to_all(std::size_t device, const auto& size_for) const;

  const PlanRequest& request_;
  std::vector<std::size_t> members_;
  bool gathers_ = false;
  Bytes combines_ = 0;
};

// What a part of the result adds to the time of a sample, where its merge grows with them: on the
// host, or on the devices that combine it, which do so at the same time.
Nanos merge_per_part(const PlanRequest& request);

}  // namespace mgpu
