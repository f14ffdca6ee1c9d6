// Adds a value to a short list unless the list has it.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace mgpu {

template <typename T, typename U>
void add_once(std::vector<T>& list, U&& value) {
  if (std::find(list.begin(), list.end(), value) == list.end())
    list.push_back(std::forward<U>(value));
}

}  // namespace mgpu
