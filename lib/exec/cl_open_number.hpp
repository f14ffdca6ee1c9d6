// Which of the devices that are open in this process a device is.
#pragma once

#include <string>

namespace mgpu {

// The lowest number that no other object has while this one lives, from 0 on. From any thread.
class ClOpenNumber {
 public:
  ClOpenNumber();
  ~ClOpenNumber();
  ClOpenNumber(const ClOpenNumber&) = delete;
  ClOpenNumber& operator=(const ClOpenNumber&) = delete;
  std::string text() const { return std::to_string(value_); }

 private:
  unsigned value_;
};

}  // namespace mgpu
