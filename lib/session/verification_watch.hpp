// Watches what a workload of a session does on the host.
#pragma once

#include "lib/exec/backend.hpp"
#include "lib/session/observer.hpp"
#include "lib/workload/host_watch.hpp"

namespace mgpu {

// Ends host work when the observer says so. Tells how long a verification of everything will take
// where that is long, once its first parts have been measured. Both must outlive what it is given
// to.
HostWatch verification_watch(Backend& backend, SessionObserver& observer);

}  // namespace mgpu
