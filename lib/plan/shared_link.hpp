// SharedLink: bytes that several devices move over one link at the same time. Max-min fair at every
// moment, by progressive filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2):
// nobody gets more than its own link carries, and what that leaves is shared alike by the others.
// How much there is depends on how many move something. Whose bytes these are, and what they wait
// for, is in lib/plan/queue_model.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/device/link_rate.hpp"

namespace mgpu {

class SharedLink {
 public:
  explicit SharedLink(LinkRate capacity);

  // Flows of one class have the same limit of their own, hence the same rate at every moment. So it
  // is enough to know what a class has carried: each flow has an amount at which it ends, and all
  // flows of a class move on together at the cost of one. bytes/s; 0: no limit.
  std::size_t class_for(double own);
  // A flow without any limit would take no time: never start one.
  bool is_limited(std::size_t flow_class) const;

  // Begins at the time of the last advance().
  void start(std::size_t flow_class, double bytes, std::uint32_t id);
  // When the next flow ends unless another starts before; Nanos::max() when there is none.
  Nanos next_end();
  // Not beyond next_end(). Appends the ids of the flows that end now, in order of class, then of
  // their amounts.
  void advance(Nanos now, std::vector<std::uint32_t>& ended);

 private:
  struct Flow {
    double ends_at = 0;  // when its class has carried this much to each of its flows
    std::uint32_t id = 0;
  };
  struct Class {
    double own = 0;   // bytes/ns
    double rate = 0;  // bytes/ns of each flow, now
    double carried = 0;
    std::vector<Flow> flows;  // a heap, first to end on top
    Nanos rest() const;       // until the first ends
  };

  void advance();
  void refresh();

  LinkRate capacity_;
  Nanos now_{};
  Nanos advanced_to_{};  // `carried` is as of then: only when a flow starts or ends does it matter
  Nanos next_{};
  std::size_t active_ = 0;  // flows
  bool stale_ = true;       // rates and next_
  std::vector<Class> classes_;
  std::vector<std::size_t> by_own_;  // indices of classes_, smallest limit first
  std::vector<std::size_t> busy_;  // likewise, of those with flows: a thousand devices may be there
                                   // while one of them copies
};

}  // namespace mgpu
