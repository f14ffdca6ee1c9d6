#include "lib/cluster/message.hpp"

#include <bit>
#include <map>
#include <mutex>
#include <new>

namespace mgpu {
namespace {

// Smallest and largest block that is cached.
constexpr std::size_t kShortest = std::size_t{1} << 18, kLongest = std::size_t{1} << 26;
constexpr std::size_t kMostKept = std::size_t{1} << 28;

// Rounds up to one of few sizes, so that a message can use a block of another's length: there are 4
// sizes between a power of two and the next.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

bool is_kept(std::size_t bytes) { return bytes >= kShortest && bytes <= kLongest; }

struct Kept {
  std::mutex mutex;
  std::multimap<std::size_t, void*> blocks;  // indexed by size
  std::size_t bytes = 0;
};

Kept& kept() {
  static Kept* const all = new Kept;  // threads of MPI may outlive everything
  return *all;
}

}  // namespace

void* take_message_memory(std::size_t bytes) {
  if (!is_kept(bytes)) return ::operator new(bytes);
  const std::size_t size = rounded(bytes);
  {
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    if (const auto at = all.blocks.find(size); at != all.blocks.end()) {
      void* memory = at->second;
      all.blocks.erase(at);
      all.bytes -= size;
      return memory;
    }
  }
  return ::operator new(size);
}

void give_message_memory(void* memory, std::size_t bytes) noexcept {
  if (is_kept(bytes)) {
    const std::size_t size = rounded(bytes);
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    if (all.bytes + size <= kMostKept) {
      try {
        all.blocks.emplace(size, memory);
        all.bytes += size;
        return;
      } catch (const std::bad_alloc&) {  // the block is freed instead
      }
    }
  }
  ::operator delete(memory);
}

}  // namespace mgpu
