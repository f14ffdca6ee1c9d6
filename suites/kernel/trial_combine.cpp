// Checks a user's kernel that combines partial results: it writes nothing else, and its result
// equals that of one launch for all items.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/base/crash_note.hpp"
#include "lib/base/quote.hpp"
#include "suites/kernel/trial.hpp"

namespace mgpu::kernel {

// Combines all partial results into the first one, in the order of their items, as samples do.
std::vector<std::byte> Trial::combined(std::size_t argument,
                                       const std::map<Items, std::vector<std::byte>>& partials,
                                       std::byte poison) {
  if (partials.size() == 1) return partials.begin()->second;
  // Smaller than kMostRoom: there may be 64 partial results, and each was already computed with
  // poison around it.
  constexpr Bytes kRoom = Bytes{1} << 16;
  const Argument& one = problem_.args[argument];
  const Bytes size = one.bytes(),
              room = round_up(std::min(size, kRoom), problem_.alignment) + problem_.alignment,
              apart = one.stride() + room;
  std::vector<std::byte> before(room + partials.size() * apart, poison);
  const auto buffer = device_.allocate(before.size());
  std::vector<std::unique_ptr<Buffer>> parts;
  for (const auto& [begin, bytes] : partials) {
    const Bytes at = room + parts.size() * apart;
    std::memcpy(before.data() + at, bytes.data(), size);
    parts.push_back(device_.part(*buffer, at, size));
  }
  std::vector<std::byte> after = before;
  const CrashNote note(crash_of(one.combine, "combining two partial results"));
  device_.try_out([&](Stream& stream) {
    stream.upload(*buffer, 0, before);
    for (std::size_t i = 1; i < parts.size(); ++i)
      launches_.combine(argument, *parts[0], *parts[i], stream);
    stream.download(*buffer, 0, after);
  });
  std::vector<std::byte> made(size);
  std::memcpy(made.data(), after.data() + room, size);
  std::memcpy(before.data() + room, made.data(), size);
  const auto differs = std::mismatch(before.begin(), before.end(), after.begin());
  if (differs.first == before.end()) return made;
  const auto place = differs.first - before.begin() - static_cast<std::ptrdiff_t>(room);
  const auto from = place < 0 ? 0 : static_cast<Bytes>(place) % apart;
  throw Error(ErrorKind::input, fmt::format("{}.map.combine: kernel {} writes {} on device {}; "
                                            "expected: elements 0 to {} of its first argument, as "
                                            "it is launched with so many work-items",
                                            one.where, one.combine,
                                            place >= 0 && from < size
                                                ? fmt::format("element {} of its second argument",
                                                              from / one.type.size)
                                                : "beside its arguments",
                                            device_.traits().id, one.elements - 1));
}

void Trial::check_combined(std::size_t argument, std::span<const std::byte> made, std::size_t count,
                           std::span<const std::byte> at_once, const char* how) const {
  const Argument& one = problem_.args[argument];
  const auto difference = first_difference(one.compared, one.tolerance, made, at_once);
  if (!difference) return;
  constexpr unsigned kFew = 16;
  const ElementType& shown = one.compared.lanes <= kFew ? one.compared : one.type;
  const Bytes at = difference->element * one.type.size;
  throw Error(
      ErrorKind::input,
      fmt::format(
          "{}: argument {}: element {} is {} when kernel {} combines {} partial results on device "
          "{}, {} when {}: "
          "the kernel combines otherwise, or map.tolerance says too little of how sums are rounded",
          problem_.descriptor.file, in_quotes(one.name), difference->element,
          text_at(shown, made.data() + at), one.combine, count, device_.traits().id,
          text_at(shown, at_once.data() + at), how));
}

void Trial::compare_with_one_launch(const Results& results) {
  const Slice whole{0, problem_.items};
  std::vector<Image> images;
  if (!run(whole, std::byte{0xff}, images)) return;
  for (std::size_t a = 0; a < images.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.by_kernel()) continue;
    check_combined(a, results[a], problem_.blocks(),
                   std::span(images[a].bytes).subspan(images[a].zero, one.bytes()),
                   "one launch computes all items");
  }
}

}  // namespace mgpu::kernel
