// Selector language of -d/--devices: text -> terms -> indices into a list of devices. Pure; knows
// no platform API.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/device/device.hpp"

namespace mgpu {

// Comma-separated terms; their order is the order of the devices:
//   3                rank in the list, best first
//   0:1  0:0.1  0:*  platform:device, a sub-device, all devices of a platform
//   2/0:1  2/0:*     the same of node 2, in a run on several nodes; without a node: node 0
//   gpu cpu all      all devices of a kind
//   gpu:2            the first two of a kind
//   name~H200        case-insensitive part of the name
//   uuid=  pci=      case-insensitive prefix of the identifier
//   !TERM            removes what TERM matches, anywhere in the list: "!0,gpu" and "gpu,!0" are the
//   same
// A selector of only !terms starts from all devices. gpu:2 counts along the list before anything is
// removed. Throws Error(usage) naming `option`, the malformed term and the expected form.
class Selector {
 public:
  static Selector parse(std::string_view text, std::string_view option = "--devices");

  struct Short {  // a term whose number is larger than the number of devices it matches
    std::string written;
    std::size_t matched = 0;
  };
  struct Result {
    std::vector<std::size_t> chosen;  // indices into the list, no repeats, in order of the terms
    std::vector<std::string>
        unmatched;  // terms that matched nothing: a warning, an error under --strict
    // Terms that matched fewer devices than they name: also a warning or an error.
    std::vector<Short> shorter;
  };
  Result apply(std::span<const Device> devices) const;

 private:
  struct Term {
    enum class Kind { rank, id, type, all, name, uuid, pci };
    Kind kind = Kind::all;
    bool remove = false;
    std::string text;       // pattern in lower case; numbers without leading zeros
    std::string written;    // as the user wrote it
    std::size_t limit = 0;  // number of devices in gpu:2; 0: no limit
  };
  static Term parse_term(std::string_view written, std::string_view option);
  static bool matches(const Term& term, const Device& device, std::size_t rank);

  std::vector<Term> terms_;
};

// Returns the default set: all GPUs, else all CPUs. A device that appears through two platforms
// (same PCI address or UUID, or both a CPU on the same host) is used once, through the vendor's own
// platform if there is one.
std::vector<std::size_t> default_selection(std::span<const Device> devices);

// Returns the `most` devices with the highest score x (1 - utilisation), in the order of the list;
// of equal ones, the first. `utilisation`: by device, 0 to 1; empty: all are idle.
std::vector<std::size_t> best_devices(std::span<const Device> devices,
                                      std::span<const double> utilisation, std::size_t most);

// Returns one line that says why there is no device to run on and names everything that was looked
// at. `selector` is empty for the default selection; `platforms` are the names of all platforms,
// including those without a device.
std::string no_device_message(std::string_view selector, std::span<const Device> devices,
                              std::span<const std::string> platforms);

}  // namespace mgpu
