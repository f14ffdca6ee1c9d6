// A message between ranks: bytes. Long messages follow each other with about the same length, and
// fresh memory costs a page fault per page at the first touch: blocks of long messages are cached
// for the next ones.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace mgpu {

void* take_message_memory(std::size_t bytes);
void give_message_memory(void* memory, std::size_t bytes) noexcept;

// Allocator whose memory stays uninitialised, as it is written afterwards.
template <class T>
struct MessageMemory {
  using value_type = T;
  MessageMemory() = default;
  template <class U>
  MessageMemory(const MessageMemory<U>&) noexcept {}
  T* allocate(std::size_t count) { return static_cast<T*>(take_message_memory(count * sizeof(T))); }
  void deallocate(T* at, std::size_t count) noexcept { give_message_memory(at, count * sizeof(T)); }
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
  bool operator==(const MessageMemory&) const = default;
};

using Message = std::vector<std::byte, MessageMemory<std::byte>>;

}  // namespace mgpu
