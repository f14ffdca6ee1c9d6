// Formats a floating-point number for a message, with enough digits to identify it.
#pragma once

#include <cstdio>
#include <limits>
#include <string>

namespace mgpu {

template <class Real>
std::string number_text(Real x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", std::numeric_limits<Real>::max_digits10,
                static_cast<double>(x));
  return text;
}

}  // namespace mgpu
