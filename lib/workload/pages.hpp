// Host memory for transfers: whole pages, so that it can be pinned in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

inline constexpr Bytes page_bytes = 4096;
constexpr Bytes in_pages(Bytes size) { return (size + page_bytes - 1) / page_bytes * page_bytes; }

// Memory of at least one page, rounded up to whole pages, with undefined contents.
class Pages {
 public:
  // Throws Error(out_of_memory), naming `what`, if there is no host memory for it.
  Pages(Bytes size, const std::string& what)
      : data_(static_cast<std::byte*>(
            std::aligned_alloc(page_bytes, std::max(page_bytes, in_pages(size))))) {
    if (!data_) throw Error(ErrorKind::out_of_memory, "no host memory for " + what);
  }
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace mgpu
