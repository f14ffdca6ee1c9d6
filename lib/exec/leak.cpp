#include "lib/exec/leak.hpp"

#include <mutex>
#include <vector>

namespace mgpu {

void leak_shared(std::shared_ptr<void> object) {
  static auto& mutex = *new std::mutex;
  // Never destroyed: exit handlers would release the objects.
  static auto& held = *new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  held.push_back(std::move(object));
}

}  // namespace mgpu
