// The examples of suites/kernel/examples, built in: they are known by their names.
#pragma once

#include <string>
#include <vector>

#include "suites/kernel/descriptor.hpp"

namespace mgpu::kernel {

const std::vector<std::string>& example_names();  // saxpy, which --kernel is by default, first
Descriptor example(const std::string& name);

}  // namespace mgpu::kernel
