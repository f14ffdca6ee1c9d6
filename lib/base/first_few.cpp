#include "lib/base/first_few.hpp"

namespace mgpu {

std::string first_few(std::span<const std::string> names) {
  constexpr std::size_t named = 3;  // a fourth takes no more room than "1 more"
  if (names.empty()) return "";
  const bool all = names.size() <= named + 1;
  const std::size_t before = all ? names.size() - 1 : named;
  std::string text;
  for (std::size_t k = 0; k < before; ++k) text += (k == 0 ? "" : ", ") + names[k];
  return text + (text.empty() ? "" : " and ") +
         (all ? names.back() : std::to_string(names.size() - named) + " more");
}

}  // namespace mgpu
