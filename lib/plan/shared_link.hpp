// SharedLink: models bytes that several devices move over one link at the same time. Rates are
// max-min fair at every moment, by progressive filling (Bertsekas and Gallager, Data Networks,
// 1992, section 6.5.2): no device gets more than its own link carries, and the others share the
// rest equally. The total depends on the number of devices that move something. The owners of the
// bytes, and what they wait for, are in lib/plan/queue_model.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/device/link_rate.hpp"

namespace mgpu {

class SharedLink {
 public:
  explicit SharedLink(LinkRate capacity);

  // Returns the class of flows with this own limit in bytes/s; 0: no limit. Flows of one class have
  // the same rate at every moment. So it is enough to record what a class has carried: each flow
  // has an amount at which it ends, and all flows of a class advance together at the cost of one.
  std::size_t class_for(double own);
  // Returns whether flows of the class have a limit. A flow without any limit would take no time:
  // never start one.
  bool is_limited(std::size_t flow_class) const;

  // Starts a flow at the time of the last advance().
  void start(std::size_t flow_class, double bytes, std::uint32_t id);
  // Returns when the next flow ends if no other starts before; Nanos::max() if there is none.
  Nanos next_end();
  // Advances to `now`, which is at most next_end(). Appends the ids of the flows that end now, in
  // order of class, then of their amounts.
  void advance(Nanos now, std::vector<std::uint32_t>& ended);

 private:
  struct Flow {
    double ends_at = 0;  // it ends when its class has carried this much per flow
    std::uint32_t id = 0;
  };
  struct Class {
    double own = 0;   // limit of each flow in bytes/ns
    double rate = 0;  // current rate of each flow in bytes/ns
    double carried = 0;
    std::vector<Flow> flows;  // a heap, first to end on top
    Nanos rest() const;       // time until the first flow ends
  };

  void advance();
  void refresh();

  LinkRate capacity_;
  Nanos now_{};
  Nanos advanced_to_{};  // time of `carried`, which is updated only when a flow starts or ends
  Nanos next_{};
  std::size_t active_ = 0;  // number of flows
  bool stale_ = true;       // `rate` and next_ must be computed again
  std::vector<Class> classes_;
  std::vector<std::size_t> by_own_;  // indices of classes_, smallest limit first
  // The same for classes with flows: there may be a thousand devices, of which one copies.
  std::vector<std::size_t> busy_;
};

}  // namespace mgpu
