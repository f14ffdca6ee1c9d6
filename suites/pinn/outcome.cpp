#include "suites/pinn/outcome.hpp"

#include "suites/common/sha256_hex.hpp"

namespace mgpu::pinn {

std::vector<float> state_of(const Ending& ending) {
  std::vector<float> state = ending.parameters;
  for (const auto* moment : {&ending.mean, &ending.square})
    state.insert(state.end(), moment->begin(), moment->end());
  return state;
}

std::string digest_of(std::span<const Ending> endings) {
  std::vector<float> all;
  for (const Ending& ending : endings)
    for (const auto& part : {state_of(ending), ending.losses})
      all.insert(all.end(), part.begin(), part.end());
  return sha256_hex(std::as_bytes(std::span(all)));
}

}  // namespace mgpu::pinn
