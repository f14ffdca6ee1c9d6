// Generates OpenCL C for an operation of an algebra.
#pragma once

#include <string>

#include "suites/geometric/algebra.hpp"

namespace mgpu::geometric {

struct KernelForm {
  bool wide = false;    // fp64
  bool staged = false;  // multivectors are read and written through local memory
  unsigned group = 64;  // work-items per work-group
};

// Returns kernel `multiply(a, b, c, first, count)`, which computes multivectors first .. first +
// count - 1 of c from those of a and b, one per work-item. Every component is one chain of fma from
// +0 in the order of terms_of, so its bits do not depend on the form.
std::string kernel_text(const Signature& signature, Operation operation, const KernelForm& form);

}  // namespace mgpu::geometric
