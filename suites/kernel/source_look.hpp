// Looks at a kernel's source, as far as `init` needs it: what the kernel does with its parameters.
// It reads tokens, and neither expands macros nor follows pointers: where it is not sure, it says
// so.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mgpu::kernel {

// Returns the names of the kernels in a text, in the order in which they appear.
std::vector<std::string> kernels_in(const std::string& text);

// Says what a kernel does with an array.
struct ArrayUse {
  bool reads = false, writes = false;
  bool unclear = false;  // it is not named, or given to code that was not looked at
  std::string atomic;    // operation ("add") if all that writes is one atomic function
  // All indices are the work-item's index (of the last dimension), or a row of it.
  bool by_index = false;
  std::string pitch;  // length of such a row: a parameter's name, or a number; empty: none
};

// Says what a kernel does with a value.
struct ValueUse {
  std::optional<unsigned> bounds;  // dimension of the index that it is compared with
  bool otherwise = false;          // it has other uses
};

struct KernelLook {
  unsigned dimensions = 1;         // 1 + the largest dimension that the kernel asks about
  bool uses_groups = false;        // it asks about its work-group, or uses local memory
  std::vector<std::string> group;  // reqd_work_group_size; empty: none
  std::map<std::string, ArrayUse> arrays;
  std::map<std::string, ValueUse> values;
};

// Looks at the kernel of that name, and at its parameters of these names.
KernelLook look_at(const std::string& text, const std::string& entry,
                   const std::vector<std::string>& arrays, const std::vector<std::string>& values);

// Returns the type that `typedef TYPE name;` declares in the text; empty: none.
std::string type_behind(const std::string& text, const std::string& name);

}  // namespace mgpu::kernel
