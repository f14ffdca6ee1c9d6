// Names of the timeline's enumerators, as the result file writes them.
#include "lib/profile/timeline.hpp"

namespace mgpu {

const char* to_string(CommandKind kind) {
  switch (kind) {
    case CommandKind::upload:
      return "upload";
    case CommandKind::compute:
      return "compute";
    case CommandKind::download:
      return "download";
    case CommandKind::exchange:
      return "exchange";
  }
  return "";
}

const char* to_string(HostState state) {
  switch (state) {
    case HostState::in_flight:
      return "in_flight";
    case HostState::sync:
      return "sync";
    case HostState::waking:
      return "waking";
    case HostState::idle:
      return "idle";
  }
  return "";
}

}  // namespace mgpu
