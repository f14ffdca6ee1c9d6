// Models what devices exchange in a sample: which devices take part, the pieces in which an input
// is gathered, and how long puts take. Execution (lib/exchange, suites) and prediction use the same
// pieces. Pure.
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
// Returns part `i` of `parts`. The parts are in order, cover everything, and have equal sizes up to
// 16 bytes.
ByteRange part_of_bytes(ByteRange whole, std::size_t parts, std::size_t i);

// Number of pieces of a member's part of a gathered input: one is sent to the others while the next
// is uploaded.
inline constexpr std::size_t kGatherPieces = 4;
// Returns whether each member uploads a part of an input of `size` bytes and sends it to the
// others. On direct paths small inputs are not gathered: half of 4 MiB takes 40 us over a link of
// 50 GB/s, about what signals and launches cost.
bool is_gathered(Bytes size, bool direct);

// Returns whether exchanging data over these paths, those of all pairs, is worthwhile. By default
// only if devices reach each other's memory: through the host nothing is gained over uploading from
// the host directly. An explicit request is followed, except for staged paths.
bool is_worth_exchanging(std::span<const PeerPath> paths, const std::optional<PeerPath>& asked);
std::vector<PeerPath> paths_of(const PeerLinks& links);

// Returns, by device, whether it exchanges data in a sample of this source: devices that have a
// share, or, if no shares are fixed, devices that may be given work. With fewer than two such
// devices none exchanges anything.
std::vector<bool> exchanging(const PlanRequest& request, const SliceSource& source);

// Prediction of an exchange among `members`, devices of the request, ascending. Fewer than two
// exchange nothing, and there are no members then. Views the request.
class ExchangeModel {
 public:
  ExchangeModel(const PlanRequest& request, std::vector<std::size_t> members);

  const std::vector<std::size_t>& members() const { return members_; }
  bool is_member(std::size_t device) const;
  bool gathers() const { return gathers_; }        // whether replicated inputs are gathered
  bool combines() const { return combines_ > 0; }  // whether parts of the result are combined
  // Returns the number of devices that share the work of `fixed_shared` of this device; 1: it does
  // all of it.
  std::size_t share_of(std::size_t device) const;

  // Return, for gathering, the bytes that a member uploads in piece `piece`, the time it takes to
  // put them to all others, one after the other, and the time to signal all of them.
  Bytes piece(std::size_t device, std::size_t piece) const;
  Nanos put_of_piece(std::size_t device, std::size_t piece) const;
  Nanos signal(std::size_t device) const;
  // Returns the seconds until all members have the whole input, if all upload at the same time, at
  // no more than `fair` bytes/s each.
  double seconds_to_gather(double fair) const;
  // Returns the time to put `size` bytes to another member.
  Nanos put(std::size_t device, std::size_t to, Bytes size) const;
  // Returns how long a member waits, after an iteration, for the data from the slowest link to it,
  // if none of that is hidden.
  Nanos after_round(std::size_t device) const;
  // Returns the time until the parts of the result, `parts` of each device of the request, are put
  // where they are combined.
  Nanos time_to_combine(std::span<const std::size_t> parts) const;
  // Returns how many bytes of a part each other member puts to a member, which combines them.
  Bytes combined_by(std::size_t device) const;

 private:
  std::size_t place_of(std::size_t device) const;  // position among the members
  Nanos put_to_all(std::size_t device, const auto& size_for) const;

  const PlanRequest& request_;
  std::vector<std::size_t> members_;
  bool gathers_ = false;
  Bytes combines_ = 0;
};

// Returns the time that one more part of the result adds to a sample whose merge grows with their
// number: on the host, or on the devices that combine it, which do so at the same time.
Nanos merge_per_part(const PlanRequest& request);

}  // namespace mgpu
