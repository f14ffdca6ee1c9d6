#include "lib/measure/memory_test.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/measure/calibration_parts.hpp"

namespace mgpu {
namespace {

constexpr Bytes kWord = sizeof(std::uint32_t);
// The first piece shows how much there is time for.
constexpr Bytes kTrial = Bytes{64} << 20, kPiece = Bytes{1} << 30;
constexpr std::uint32_t kInverse[] = {0, 0xffffffffu};
// Times that all memory is written or read.
constexpr double kTraversals = 2 * std::size(kInverse);

class MemoryPattern {
 public:
  MemoryPattern(Backend& backend, OpenDevice& device)
      : backend_(backend), device_(device), traits_(device.resources().traits()) {
    const std::string options = traits_.cpu ? "-DLINEAR" : "";
    write_ =
        &holdings_.add(device.resources().kernel("memory_pattern.cl", "write_pattern", options));
    count_ = &holdings_.add(
        device.resources().kernel("memory_pattern.cl", "count_wrong_words", options));
    wrong_ = &holdings_.add(device.resources().allocate(kWord));
  }

  MemoryTest run(Bytes most, Nanos budget) {
    MemoryTest test;
    try {
      allocate(most, budget);
      for (const std::uint32_t inverse : kInverse) {
        for (const Piece& piece : pieces_) launch(*write_, piece, inverse);
        for (const Piece& piece : pieces_) test.wrong += wrong_in(piece, inverse);
        if (!pieces_.empty()) ++test.passes;
      }
    } catch (...) {
      if (!try_drain(backend_, device_)) holdings_.leak();
      throw;
    }
    test.bytes = allocated_;
    return test;
  }

 private:
  struct Piece {
    Buffer* buffer;
    std::uint64_t words, first;
  };

  // Allocates until that would be more than `most`, or the device refuses.
  void allocate(Bytes most, Nanos budget) {
    while (allocated_ < most) {
      const Bytes limit = std::min(pieces_.empty() ? kTrial : kPiece, traits_.max_allocation);
      const Bytes size = std::min(limit, most - allocated_) / kWord * kWord;
      if (size == 0) return;
      try {
        pieces_.push_back(
            {&holdings_.add(device_.resources().allocate(size)), size / kWord, allocated_ / kWord});
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::out_of_memory || pieces_.empty()) throw;
        return;
      }
      allocated_ += size;
      if (pieces_.size() > 1) continue;
      launch(*write_, pieces_.front(), 0);  // the first use maps pages and may compile
      wrong_in(pieces_.front(), 0);
      const Nanos begin = backend_.now();
      launch(*write_, pieces_.front(), 0);
      wrong_in(pieces_.front(), 0);
      const double spent = std::max(seconds(backend_.now() - begin), 1e-9);
      const double fits = seconds(budget) / spent * 2 / kTraversals * static_cast<double>(size);
      if (fits < static_cast<double>(most)) most = std::max(size, static_cast<Bytes>(fits));
    }
  }

  void launch(Kernel& kernel, const Piece& piece, std::uint32_t inverse, Buffer* wrong = nullptr) {
    const std::size_t group = traits_.cpu ? 1 : 256;
    const std::size_t items = std::max(1u, traits_.compute_units) * (traits_.cpu ? 16u : 2048u);
    const Grid grid = grid_of(kernel, items, group);
    if (wrong == nullptr)
      device_.stream().launch(kernel, grid, {piece.buffer, piece.words, piece.first, inverse});
    else
      device_.stream().launch(kernel, grid,
                              {piece.buffer, piece.words, piece.first, inverse, wrong});
    finish();
  }

  std::uint64_t wrong_in(const Piece& piece, std::uint32_t inverse) {
    count_here_ = 0;
    const auto bytes = std::as_writable_bytes(std::span(&count_here_, 1));
    device_.stream().upload(*wrong_, 0, bytes);
    launch(*count_, piece, inverse, wrong_);
    device_.stream().download(*wrong_, 0, bytes);
    finish();
    return count_here_;
  }

  void finish() { finish_batch(backend_, device_, device_.submit()); }

  Backend& backend_;
  OpenDevice& device_;
  const DeviceTraits& traits_;
  Holdings holdings_;
  Kernel *write_ = nullptr, *count_ = nullptr;
  Buffer* wrong_ = nullptr;
  std::uint32_t count_here_ = 0;
  std::vector<Piece> pieces_;
  Bytes allocated_ = 0;
};

}  // namespace

MemoryTest test_memory(Backend& backend, OpenDevice& device, Bytes most, Nanos budget) {
  // Not on the stack: a device that hangs may still write to it.
  auto pattern = std::make_unique<MemoryPattern>(backend, device);
  try {
    return pattern->run(most, budget);
  } catch (...) {
    leak(std::move(pattern));
    throw;
  }
}

}  // namespace mgpu
