// Lookup of kernel variants by name. A name is a member, a member function or a function of the
// variant.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace mgpu {

template <class Variant, class Name>
std::vector<std::string> names_of(const std::vector<Variant>& all, Name name) {
  std::vector<std::string> names;
  for (const Variant& variant : all) names.emplace_back(std::invoke(name, variant));
  return names;
}

// Returns the variant of that name, or the first if there is none. `all` must not be empty.
template <class Variant, class Name>
const Variant& named_or_first(const std::vector<Variant>& all, Name name,
                              const std::string& wanted) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Variant& variant) {
    return std::invoke(name, variant) == wanted;
  });
  return found == all.end() ? all.front() : *found;
}

}  // namespace mgpu
