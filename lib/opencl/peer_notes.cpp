#include "lib/opencl/peer_notes.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/quote.hpp"

namespace mgpu {

std::vector<std::string> notes_of(std::span<const StagedPair> staged, std::size_t pairs) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const StagedPair& pair : staged) {
    auto at = std::find_if(by_reason.begin(), by_reason.end(),
                           [&](const auto& known) { return known.first == pair.reason; });
    if (at == by_reason.end()) at = by_reason.insert(at, {pair.reason, {}});
    at->second.push_back(pair.from + " to " + pair.to);
  }
  std::vector<std::string> notes;
  for (const auto& [reason, whom] : by_reason)
    notes.push_back("staged " +
                    (whom.size() == pairs ? "between all devices" : "from " + first_few(whom)) +
                    ": " + reason);
  return notes;
}

}  // namespace mgpu
