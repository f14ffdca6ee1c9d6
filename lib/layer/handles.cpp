#include "lib/layer/handles.hpp"

namespace mgpu::layer {

Handles::Handles() {
  tables_.push_back(std::make_unique<Table>(1024));
  table_ = tables_.back().get();
}

bool Handles::insert(Table& table, const void* handle, Object* object) {
  Slot* free = nullptr;
  for (std::size_t at = hash(handle) & table.mask;; at = (at + 1) & table.mask) {
    Slot& slot = table.slots[at];
    const void* key = slot.key.load(std::memory_order_relaxed);
    if (key == handle) {
      delete slot.object.exchange(object, std::memory_order_acq_rel);
      return false;
    }
    if (key == erased() && free == nullptr) free = &slot;
    if (key == nullptr) {
      const bool unused = free == nullptr;
      if (unused) free = &slot;
      free->object.store(object, std::memory_order_release);
      free->key.store(handle, std::memory_order_release);
      return unused;
    }
  }
}

void Handles::put(const void* handle, std::unique_ptr<Object> object) {
  const std::lock_guard lock(mutex_);
  if (insert(*tables_.back(), handle, object.release())) ++used_;
  const Table& full = *tables_.back();
  if (used_ * 2 < full.mask) return;
  std::size_t live = 0;
  for (std::size_t at = 0; at <= full.mask; ++at) {
    const void* key = full.slots[at].key.load(std::memory_order_relaxed);
    live += key != nullptr && key != erased();
  }
  // Keeps the size if most slots were of erased objects.
  auto larger = std::make_unique<Table>((full.mask + 1) * (live * 3 > full.mask ? 2 : 1));
  for (std::size_t at = 0; at <= full.mask; ++at) {
    const void* key = full.slots[at].key.load(std::memory_order_relaxed);
    if (key != nullptr && key != erased())
      insert(*larger, key, full.slots[at].object.load(std::memory_order_relaxed));
  }
  used_ = live;
  tables_.push_back(std::move(larger));
  table_.store(tables_.back().get(), std::memory_order_release);
}

void Handles::erase(const void* handle) {
  const std::lock_guard lock(mutex_);
  Table& table = *tables_.back();
  for (std::size_t at = hash(handle) & table.mask;; at = (at + 1) & table.mask) {
    Slot& slot = table.slots[at];
    const void* key = slot.key.load(std::memory_order_relaxed);
    if (key == nullptr) return;
    if (key != handle) continue;
    slot.key.store(erased(), std::memory_order_release);
    delete slot.object.exchange(nullptr, std::memory_order_acq_rel);
    // Erased slots at the end of a row of slots are unused again: no search has to pass them.
    const auto key_of = [&](std::size_t index) -> std::atomic<const void*>& {
      return table.slots[index & table.mask].key;
    };
    if (key_of(at + 1).load(std::memory_order_relaxed) != nullptr) return;
    for (; key_of(at).load(std::memory_order_relaxed) == erased(); --at, --used_)
      key_of(at).store(nullptr, std::memory_order_release);
    return;
  }
}

}  // namespace mgpu::layer
