// Rectangles of a larger matrix in the form that OpenCL's rectangular copies take.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "lib/workload/stream.hpp"

namespace mgpu {

inline bool is_one_piece(const Rows& rows) {
  return rows.count <= 1 || (rows.device_stride == rows.length && rows.host_stride == rows.length);
}

// Returns how many rows one copy may move. NVIDIA 580.159 refused 16384 rows 64 KiB apart with
// CL_INVALID_VALUE and takes 8192 rows 32 KiB apart: no copy spans more host memory than the
// latter.
inline Bytes rows_at_once(const Rows& rows) {
  constexpr Bytes widest_span = Bytes{256} << 20;
  return std::max<Bytes>(1, widest_span / std::max<Bytes>(rows.host_stride, 1));
}

// Returns at most `count` of the rows, from number `first` on.
inline Rows some_of(const Rows& rows, Bytes first, Bytes count) {
  Rows some = rows;
  some.count = std::min(count, rows.count - first);
  some.device_offset += first * rows.device_stride;
  return some;
}

inline std::array<std::size_t, 3> device_origin(const Rows& rows) {
  return {rows.device_offset % rows.device_stride, rows.device_offset / rows.device_stride, 0};
}

}  // namespace mgpu
