#include "lib/exec/cl_open_number.hpp"

#include <mutex>
#include <set>

namespace mgpu {
namespace {

struct Taken {
  std::mutex mutex;
  std::set<unsigned> numbers;
};

// Never destroyed: devices that were left behind may be closed while the process ends.
Taken& taken() {
  static Taken& all = *new Taken;
  return all;
}

}  // namespace

ClOpenNumber::ClOpenNumber() : value_(0) {
  const std::lock_guard lock(taken().mutex);
  while (!taken().numbers.insert(value_).second) ++value_;
}

ClOpenNumber::~ClOpenNumber() {
  const std::lock_guard lock(taken().mutex);
  taken().numbers.erase(value_);
}

}  // namespace mgpu
