// OpenCL C for an operation of an algebra.
#pragma once

#include <string>

#include "suites/geometric/algebra.hpp"

namespace mgpu::geometric {

struct KernelForm {
  bool wide = false;    // fp64
  bool staged = false;  // multivectors come and go by way of local memory
  unsigned group = 64;  // work-items of a work-group
};

// Kernel `multiply(a, b, c, first, count)`: multivectors first .. first + count - 1 of c from those
// of a and b, a work-item each. Every component is one chain of fma from +0 in the order of
// terms_of, so its bits are the same whatever the form.
std::string kernel_text(const Signature& signature, Operation operation, const KernelForm& form);

}  // namespace mgpu::geometric
