// Host memory in which downloads of a served device land, before a message takes them to rank 0. It
// is pinned if that makes downloads faster (4 MB of an H100 in 0.08 ms instead of 2.1), and cached
// for the next ones, as pinning takes longer than a download.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lib/exec/backend.hpp"

namespace mgpu {

class DownloadMemory {
 public:
  // Memory of one download until it is given back.
  class Area {
   public:
    std::span<std::byte> bytes() const { return {memory_.get(), used_}; }

   private:
    friend class DownloadMemory;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0, used_ = 0;
    std::unique_ptr<PinnedMemory> pinned_;  // destroyed before the memory
  };

  // `backend` and `device` must outlive it and all areas that it gave out.
  DownloadMemory(Backend& backend, OpenDevice& device) : backend_(backend), device_(device) {}
  Area take(std::size_t bytes);
  void give_back(Area area);

 private:
  void pin(Area& area);

  Backend& backend_;
  OpenDevice& device_;
  std::vector<Area> kept_;
  std::size_t bytes_ = 0;  // bytes in kept_
};

}  // namespace mgpu
