// The examples of suites/kernel/examples, which are built in and known by their names.
#pragma once

#include <string>
#include <vector>

#include "suites/kernel/descriptor.hpp"

namespace mgpu::kernel {

const std::vector<std::string>& example_names();  // the default of --kernel, saxpy, comes first
Descriptor example(const std::string& name);

}  // namespace mgpu::kernel
