#include "lib/exec/leak.hpp"

#include <mutex>
#include <vector>

namespace mgpu {

void leak_shared(std::shared_ptr<void> object) {
  static auto& mutex = *new std::mutex;
  static auto& held =
      *new std::vector<std::shared_ptr<void>>;  // never destroyed, as exit handlers would do
  const std::lock_guard lock(mutex);
  held.push_back(std::move(object));
}

}  // namespace mgpu
