// Watch over the host work of a session's workload.
#pragma once

#include "lib/exec/backend.hpp"
#include "lib/session/observer.hpp"
#include "lib/workload/host_watch.hpp"

namespace mgpu {

// Returns a watch that ends host work when the observer says so. It announces how long a full
// verification will take, if that is long, once its first parts have been measured. Both arguments
// must outlive the workload that gets the watch.
HostWatch verification_watch(Backend& backend, SessionObserver& observer);

}  // namespace mgpu
