// A point in time, as recorded and as replayed with something made free. Internal to lib/profile.
#pragma once

#include <algorithm>

#include "lib/base/units.hpp"

namespace mgpu {

struct ReplayMoment {
  Nanos recorded{}, replayed{};
  void wait_for(const ReplayMoment& other) {
    recorded = std::max(recorded, other.recorded);
    replayed = std::max(replayed, other.replayed);
  }
};

}  // namespace mgpu
