#include "suites/kernel/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/base/crash_note.hpp"
#include "lib/base/quote.hpp"

namespace mgpu::kernel {
namespace {

constexpr Bytes kMostRoom = Bytes{4} << 20;   // most poison on each side of an array
constexpr Bytes kWideRoom = Bytes{64} << 20;  // poison there with --guards wide

// Returns the number of representable values from one float to the other. Bit patterns order like
// the values; those of negative values order backwards.
template <class Bits>
Bits steps_between(const std::byte* from, const std::byte* to) {
  const auto rank = [](const std::byte* at) {
    Bits bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    return (bits & sign) != 0 ? static_cast<Bits>(sign - (bits & ~sign))
                              : static_cast<Bits>(sign + bits);
  };
  const Bits a = rank(from), b = rank(to);
  return a > b ? a - b : b - a;
}

bool within(const Tolerance& tolerance, Base base, const std::byte* from, const std::byte* to) {
  const double a = number_at(base, from), b = number_at(base, to);
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  // An infinity would make any tolerance infinite.
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  if (base == Base::f32 && steps_between<std::uint32_t>(from, to) <= tolerance.ulp) return true;
  if (base == Base::f64 && steps_between<std::uint64_t>(from, to) <= tolerance.ulp) return true;
  return std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(b);
}

// Cuts the items unevenly at multiples of the granularity, and shuffles the slices.
std::vector<Slice> cuts_of(Items items, Items granularity) {
  const Items granules = ceil_div(items, granularity);
  std::vector<Items> at{0};
  for (const Items numerator : {1, 3, 4, 7}) {
    const Items granule = granules * numerator / 9;
    if (granule > at.back() / granularity && granule < granules)
      at.push_back(granule * granularity);
  }
  at.push_back(items);
  std::vector<Slice> slices;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) slices.push_back({at[i], at[i + 1]});
  std::reverse(slices.begin(), slices.end());
  std::rotate(slices.begin(), slices.begin() + static_cast<std::ptrdiff_t>(slices.size() / 2),
              slices.end());
  return slices;
}

}  // namespace

std::optional<Difference> first_difference(const ElementType& type, const Tolerance& tolerance,
                                           std::span<const std::byte> result,
                                           std::span<const std::byte> expected) {
  if (std::memcmp(result.data(), expected.data(), result.size()) == 0) return std::nullopt;
  const Bytes used = type.lane() * type.lanes;
  const std::vector<Lane> lanes = lanes_of(type);
  Difference found;
  for (Bytes at = 0; at + type.size <= result.size(); at += type.size) {
    const std::byte *a = result.data() + at, *b = expected.data() + at;
    if (std::memcmp(a, b, used) == 0) continue;
    // Bytes between the members of a structure have no value.
    const bool close = !lanes.empty() && std::all_of(lanes.begin(), lanes.end(), [&](Lane lane) {
      const std::byte *x = a + lane.at, *y = b + lane.at;
      return std::memcmp(x, y, size_of(lane.base)) == 0 ||
             (!tolerance.exact() && lane.base != Base::f16 && within(tolerance, lane.base, x, y));
    });
    if (close) continue;
    if (found.count++ == 0) found.element = at / type.size;
  }
  if (found.count == 0) return std::nullopt;
  return found;
}

Trial::Image Trial::image_of(std::size_t argument, const Slice& slice, std::byte poison) const {
  const Argument& one = problem_.args[argument];
  if (one.image) {
    const std::span<const std::byte> pixels = inputs_.subspan(one.host, one.bytes());
    return {{pixels.begin(), pixels.end()}, 0};
  }
  const Bytes size = slice_bytes(problem_, one, slice);
  Image image;
  if (problem_.guards == Guards::exact) {
    image.bytes.assign(std::max<Bytes>(size, 1), poison);
  } else {
    const Bytes room =
        problem_.guards == Guards::wide
            ? kWideRoom
            : round_up(std::min(one.bytes(), kMostRoom), problem_.alignment) + problem_.alignment;
    image.zero = room;
    image.bytes.assign(room + round_up(size, problem_.alignment) + room, poison);
  }
  // A value read outside of the given range must not look like an unwritten output, so inputs get a
  // different poison: another NaN, or -3 in integers.
  if (one.access == Access::read && poison != std::byte{0}) {
    for (Bytes at = 0; at < image.bytes.size(); at += one.type.lane())
      image.bytes[at] = std::byte{0xfd};
  }
  std::byte* const zero = image.bytes.data() + image.zero;
  for (const Move& move : input_moves(problem_, inputs_, argument, slice)) {
    for (Bytes i = 0; i < move.count; ++i) {
      if (move.zeros) {
        std::memset(zero + move.device + i * move.stride, 0, move.length);
      } else {
        std::memcpy(zero + move.device + i * move.stride,
                    inputs_.data() + one.host + move.host + i * move.stride, move.length);
      }
    }
  }
  if (one.map == MapKind::reduce) put_identity(one, {zero, size});
  if (one.map == MapKind::flag) std::memset(zero, 0, size);
  return image;
}

std::string Trial::hint() const {
  const std::string& text = problem_.descriptor.text;
  const auto uses = [&](const char* word) { return text.find(word) != std::string::npos; };
  for (std::size_t a = 0; problem_.rounds > 0 && a < problem_.args.size(); ++a) {
    std::size_t adding = 0;
    for (std::size_t s = 0; s < problem_.stages.size(); ++s) adding += launches_.writes(s, a);
    if (adding > 1 && problem_.args[a].accumulates())
      return "; a stage gets what all devices added to an accumulator if its kernel's parameter is "
             "const";
  }
  const bool whole_size =
      std::any_of(problem_.args.begin(), problem_.args.end(), [&](const Argument& one) {
        return one.map == MapKind::scalar && !one.scalar.depends_on_slice() &&
               one.scalar.evaluate().real() == static_cast<double>(problem_.items);
      });
  if (!problem_.offset && whole_size)
    return "; a scalar has the number of all items: a kernel that compares it with get_global_id "
           "wants count there, that of the "
           "slice";
  if (uses("get_global_size"))
    return "; the kernel uses get_global_size, which is that of the slice";
  if (problem_.offset && (uses("get_group_id") || uses("get_num_groups")))
    return "; the kernel uses get_group_id, which knows nothing of the global offset: offset = "
           "\"rebased\" may suit it";
  for (const Argument& one : problem_.args) {
    if (one.rebased() && one.before > 0)
      return fmt::format(
          "; index 0 of {} is the item {} before the slice, unless launch.offset is "
          "\"global_work_offset\"",
          in_quotes(one.name), one.before);
  }
  return "";
}

void Trial::check_written(std::size_t argument, const Slice& slice, const Image& before,
                          const Image& after) const {
  const Argument& one = problem_.args[argument];
  if (after.bytes == before.bytes) return;
  std::vector<std::pair<Bytes, Bytes>> ranges;  // ranges that may be written
  const Bytes size = slice_bytes(problem_, one, slice);
  const bool whole = one.rebased() || one.map == MapKind::flag;
  if (one.accumulates() || (one.access == Access::scratch && whole))
    ranges.emplace_back(before.zero, before.zero + size);
  const bool scratch = one.access == Access::scratch && !whole;
  if (scratch)
    ranges.emplace_back(before.zero + slice.begin * one.item(),
                        before.zero + slice.end * one.item());
  for (const Move& move : output_moves(problem_, argument, slice)) {
    for (Bytes i = 0; i < move.count; ++i)
      ranges.emplace_back(before.zero + move.device + i * move.stride,
                          before.zero + move.device + i * move.stride + move.length);
  }
  ranges.emplace_back(after.bytes.size(), after.bytes.size());
  Bytes at = 0;
  for (const auto& [begin, end] : ranges) {
    const auto differs = std::mismatch(before.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                       before.bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                       after.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    at = end;
    const Bytes place = static_cast<Bytes>(differs.first - before.bytes.begin());
    if (place >= begin) continue;
    const auto signed_place =
        static_cast<std::int64_t>(place) - static_cast<std::int64_t>(before.zero);
    const auto each = static_cast<std::int64_t>(one.type.size);
    const std::int64_t element =
        signed_place >= 0 ? signed_place / each : -((-signed_place + each - 1) / each);
    const bool inside = signed_place >= 0 && place < before.zero + size;
    const std::string where = one.per_item > 0
                                  ? fmt::format("item {}", item_of(problem_, one, slice, element))
                                  : fmt::format("element {}", element);
    throw Error(
        ErrorKind::input,
        fmt::format("{}: argument {} is written at {}, which {}, by slice [{}, {}) on device {}{}",
                    problem_.descriptor.file, in_quotes(one.name), where,
                    !one.is_output() && one.access != Access::scratch && inside
                        ? "it says it only reads (access)"
                        : "is not of its slice",
                    slice.begin, slice.end, device_.traits().id, hint()));
  }
}

std::vector<Trial::Image> Trial::images_of(const Slice& slice, std::byte poison) const {
  std::vector<Image> images(problem_.args.size());
  for (std::size_t a = 0; a < images.size(); ++a) {
    if (problem_.args[a].is_array()) images[a] = image_of(a, slice, poison);
  }
  return images;
}

Trial::Given Trial::give(const Slice& slice, std::vector<Image> images) {
  Given given;
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    Image& image = images[a];
    std::unique_ptr<Buffer> buffer, part;
    if (const Argument& one = problem_.args[a]; one.image) {
      part = device_.image(*one.image);
    } else if (one.is_array()) {
      buffer = device_.allocate(image.bytes.size());
      part =
          device_.part(*buffer, image.zero, std::max<Bytes>(slice_bytes(problem_, one, slice), 1));
    }
    given.images.push_back(std::move(image));
    given.whole.push_back(std::move(buffer));
    given.parts.push_back(std::move(part));
  }
  return given;
}

void Trial::upload(const Given& given, Stream& stream) const {
  for (std::size_t a = 0; a < given.images.size(); ++a) {
    Buffer* const to = (given.whole[a] ? given.whole : given.parts)[a].get();
    if (to != nullptr) stream.upload(*to, 0, given.images[a].bytes);
  }
}

std::optional<Access> Trial::use_of(std::size_t argument, std::uint32_t level,
                                    std::uint32_t round) const {
  return problem_.use_of(argument, level, round,
                         [&](std::size_t stage) { return launches_.writes(stage, argument); });
}

bool Trial::run(const Slice& slice, std::byte poison, std::vector<Image>& images) {
  images = images_of(slice, poison);
  return run(slice, 0, problem_.levels(), images);
}

bool Trial::run_together(const std::vector<Slice>& slices, std::byte poison,
                         std::vector<std::vector<Image>>& all) {
  for (const Slice& slice : slices) all.push_back(images_of(slice, poison));
  std::vector<std::byte> state(inputs_.begin(), inputs_.end());
  // Copies what slices have of the arrays that kernels change in place, or what they wrote there.
  const auto copy = [&](bool wrote) {
    for (std::size_t s = 0; s < slices.size(); ++s) {
      for (const Field& field : problem_.fields) {
        if (!field.in_place()) continue;
        std::byte* const host = state.data() + problem_.args[field.in].host;
        std::byte* const zero = all[s][field.in].bytes.data() + all[s][field.in].zero;
        for (const Move& move : wrote ? output_moves(problem_, field.in, slices[s])
                                      : input_moves(problem_, inputs_, field.in, slices[s])) {
          std::byte* const device = zero + move.device;
          wrote ? std::memcpy(host + move.host, device, move.length)
                : std::memcpy(device, host + move.host, move.length);
        }
      }
    }
  };
  for (std::uint32_t level = 0; level < problem_.levels(); ++level) {
    std::map<std::size_t, std::vector<Image>> own;  // accumulators of each slice, by argument
    for (std::size_t a = 0; a < problem_.args.size(); ++a) {
      const Argument& one = problem_.args[a];
      if (!one.accumulates() || use_of(a, level, 0) != Access::read) continue;
      std::vector<std::byte> sum(one.bytes());
      put_identity(one, sum);
      for (std::vector<Image>& images : all) {
        combine(one, std::span(images[a].bytes).subspan(images[a].zero, sum.size()), sum);
        own[a].push_back(images[a]);
      }
      for (std::vector<Image>& images : all)
        std::copy(sum.begin(), sum.end(),
                  images[a].bytes.begin() + static_cast<std::ptrdiff_t>(images[a].zero));
    }
    for (std::size_t s = 0; s < slices.size(); ++s) {
      if (!run(slices[s], level, level + 1, all[s])) return false;
      for (auto& [a, images] : own) all[s][a] = std::move(images[s]);
    }
    copy(true);
    copy(false);
  }
  return true;
}

bool Trial::run(const Slice& slice, std::uint32_t first, std::uint32_t end,
                std::vector<Image>& after) {
  const Given given = give(slice, after);
  const std::vector<Image>& images = given.images;
  const auto &whole = given.whole, &parts = given.parts;
  const CrashNote note(crash_of(slice));
  const auto took = device_.try_out([&](Stream& stream) {
    upload(given, stream);
    for (std::uint32_t level = first; level < end; ++level)
      launches_.launch_level(
          level, slice, 0, [&](std::size_t a) { return parts[a].get(); }, stream);
    for (std::size_t a = 0; a < images.size(); ++a) {
      if (whole[a]) stream.download(*whole[a], 0, after[a].bytes);
    }
  });
  if (!took) return false;
  for (std::size_t a = 0; a < images.size(); ++a) {
    if (whole[a]) check_written(a, slice, images[a], after[a]);
  }
  return true;
}

// Returns the message for a slice that ends the process.
std::string Trial::crash_of(const std::string& kernel, const std::string& what) const {
  return fmt::format(
      "error: {}: kernel {} accesses memory outside of its arguments, or divides by zero: {} on "
      "device {} ended the process",
      problem_.descriptor.file, in_quotes(kernel), what, device_.traits().id);
}

std::string Trial::crash_of(const Slice& slice) const {
  const std::string& kernel =
      problem_.stages.size() == 1 ? problem_.stages.front().entry : problem_.descriptor.name;
  return crash_of(kernel, fmt::format("slice [{}, {})", slice.begin, slice.end));
}

Results Trial::all_rounds() {
  Results results = all_rounds(std::byte{0xff});
  const Results again = all_rounds(std::byte{0});
  if (results.empty() || again.empty()) return {};
  compare_runs(results, again);
  return results;
}

Results Trial::all_rounds(std::byte poison) {
  // Rounds per wait. Uploads, such as of initial values, wait for no launches of the same try.
  const bool has_accumulators = problem_.has_accumulators();
  const std::uint32_t at_once = problem_.flag || has_accumulators ? 1 : 64;
  const Slice slice{0, problem_.items};
  const CrashNote note(crash_of(slice));
  Given given = give(slice, images_of(slice, poison));
  if (!device_.try_out([&](Stream& stream) { upload(given, stream); })) return {};
  const auto launch = [&](std::uint32_t level, std::uint32_t round, Stream& stream) {
    launches_.launch_level(
        level, slice, round, [&](std::size_t a) { return given.parts[a].get(); }, stream);
  };
  const auto swap = [&] {
    for (const Field& field : problem_.fields)
      std::swap(given.parts[field.in], given.parts[field.out]);
  };
  std::vector<std::byte> initial;
  std::uint32_t done = 0;
  std::uint32_t flag = 1;  // any value but 0: there is another round
  while (done < problem_.rounds && flag != 0) {
    const std::uint32_t first = done;
    done = std::min(first + at_once, problem_.rounds);
    if (!has_accumulators) {
      device_.try_out([&](Stream& stream) {
        for (std::uint32_t r = first; r < done; ++r, swap())
          for (std::uint32_t level = 0; level < problem_.levels(); ++level)
            launch(level, r, stream);
      });
    } else {
      std::vector<bool> begun(problem_.args.size());
      for (std::uint32_t level = 0; level < problem_.levels(); ++level) {
        for (std::size_t a = 0; a < begun.size(); ++a) {
          const Argument& one = problem_.args[a];
          if (!one.accumulates() || begun[a] || use_of(a, level, first) != Access::write) continue;
          begun[a] = true;
          initial.resize(one.bytes());
          put_identity(one, initial);
          device_.try_out([&](Stream& stream) { stream.upload(*given.parts[a], 0, initial); });
        }
        device_.try_out([&](Stream& stream) { launch(level, first, stream); });
      }
      swap();
    }
    if (!problem_.flag) continue;
    Buffer& own = *given.parts[*problem_.flag];
    const std::uint32_t zero = 0;
    device_.try_out([&](Stream& stream) {
      stream.download(own, 0, std::as_writable_bytes(std::span(&flag, 1)));
    });
    device_.try_out(
        [&](Stream& stream) { stream.upload(own, 0, std::as_bytes(std::span(&zero, 1))); });
  }
  device_.try_out([&](Stream& stream) {
    for (std::size_t a = 0; a < given.images.size(); ++a) {
      if (given.whole[a]) stream.download(*given.whole[a], 0, given.images[a].bytes);
    }
  });
  // After an even number of rounds, the last output is in the input's buffer.
  for (const Field& field : problem_.fields) {
    if (done % 2 == 0) std::swap(given.images[field.in], given.images[field.out]);
  }
  Gathered gathered = nothing_yet();
  take(slice, given.images, gathered);
  return std::move(gathered.results);
}

Trial::Gathered Trial::nothing_yet() const {
  const std::size_t count = problem_.args.size();
  Gathered made{Results(count), std::vector<Records>(count), {}};
  made.partials.resize(count);
  for (std::size_t a = 0; a < count; ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_output()) continue;
    made.results[a].resize(one.bytes());
    if (one.map == MapKind::reduce) put_identity(one, made.results[a]);
  }
  return made;
}

void Trial::take(const Slice& slice, const std::vector<Image>& images, Gathered& into) const {
  for (std::size_t a = 0; a < images.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_output()) continue;
    const std::byte* const zero = images[a].bytes.data() + images[a].zero;
    if (one.map == MapKind::append) {
      const Image& counter = images[one.counter];
      into.records[a].add(
          one, {zero, one.bytes()},
          count_in(problem_.args[one.counter], std::span(counter.bytes).subspan(counter.zero)));
    }
    if (one.by_kernel()) {
      into.partials[a][slice.begin].assign(zero, zero + one.bytes());
    } else if (one.map == MapKind::reduce) {
      combine(one, {zero, one.bytes()}, into.results[a]);
    }
    for (const Move& move : output_moves(problem_, a, slice)) {
      for (Bytes i = 0; i < move.count; ++i)
        std::memcpy(into.results[a].data() + move.host + i * move.stride,
                    zero + move.device + i * move.stride, move.length);
    }
  }
}

Results Trial::reference(Items at_once) {
  const Items step =
      problem_.block > 0 ? problem_.block : at_once / problem_.granularity * problem_.granularity;
  const Items piece = at_once >= problem_.items && problem_.block == 0
                          ? problem_.items
                          : std::max(step, problem_.granularity);
  Results results[2];
  for (unsigned pass = 0; pass < 2; ++pass) {
    const std::byte poison{static_cast<unsigned char>(pass == 0 ? 0xff : 0)};
    Gathered gathered = nothing_yet();
    for (Items begin = 0; begin < problem_.items; begin += piece) {
      const Slice slice{begin, std::min(begin + piece, problem_.items)};
      std::vector<Image> images;
      if (!run(slice, poison, images)) return {};
      take(slice, images, gathered);
    }
    complete(gathered, poison);
    results[pass] = std::move(gathered.results);
  }
  compare_runs(results[0], results[1]);
  if (problem_.combines() && at_once >= problem_.items) compare_with_one_launch(results[0]);
  return std::move(results[0]);
}

void Trial::complete(Gathered& gathered, std::byte poison) {
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (one.map == MapKind::append) gathered.records[a].put(one, gathered.results[a]);
    if (one.by_kernel()) gathered.results[a] = combined(a, gathered.partials[a], poison);
  }
}

void Trial::compare_runs(const Results& with_ones, const Results& with_zeros) {
  unwritten_.assign(problem_.args.size(), {});
  const Slice whole{0, problem_.items};
  for (std::size_t a = 0; a < with_ones.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_output()) continue;
    std::vector<std::byte> ones = with_ones[a], zeros = with_zeros[a];
    if (one.access == Access::write && !one.accumulates()) {
      const Bytes used = one.type.lane() * one.type.lanes;
      if (one.sparse) unwritten_[a].assign(ones.size(), false);
      for (Bytes at = 0; at + one.type.size <= ones.size(); at += one.type.size) {
        const auto all = [&](const std::vector<std::byte>& bytes, std::byte value) {
          return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                             bytes.begin() + static_cast<std::ptrdiff_t>(at + used),
                             [&](std::byte b) { return b == value; });
        };
        if (!all(ones, std::byte{0xff}) || !all(zeros, std::byte{0})) continue;
        if (!one.sparse) {
          throw Error(ErrorKind::input,
                      fmt::format("{}: argument {}: element {} (item {}) is not written when "
                                  "device {} computes all items; expected: a map of "
                                  "what is written, or sparse = true{}",
                                  problem_.descriptor.file, in_quotes(one.name), at / one.type.size,
                                  item_of(problem_, one, whole,
                                          static_cast<std::int64_t>(at / one.type.size +
                                                                    one.before * one.per_item)),
                                  device_.traits().id, hint()));
        }
        std::fill_n(unwritten_[a].begin() + static_cast<std::ptrdiff_t>(at), one.type.size, true);
        std::fill_n(ones.begin() + static_cast<std::ptrdiff_t>(at), one.type.size, std::byte{0});
      }
    }
    const auto difference = first_difference(one.type, problem_.descriptor.tolerance, ones, zeros);
    if (!difference) continue;
    const std::uint64_t e = difference->element;
    const std::int64_t item =
        item_of(problem_, one, whole, static_cast<std::int64_t>(e + one.before * one.per_item));
    throw Error(
        ErrorKind::input,
        fmt::format("{}: argument {}: element {}{} is {} and {} when device {} computes all items "
                    "twice: the kernel reads what "
                    "nobody gave it (next to a map, or what it only writes), or its result depends "
                    "on the order of its "
                    "work-items (check.tolerance states how far){}",
                    problem_.descriptor.file, in_quotes(one.name), e,
                    one.per_item > 0 ? fmt::format(" (item {})", item) : "",
                    text_at(one.type, ones.data() + e * one.type.size),
                    text_at(one.type, zeros.data() + e * one.type.size), device_.traits().id,
                    hint()));
  }
}

std::size_t Trial::compare_cuts(const Results& expected,
                                const std::vector<std::vector<bool>>& unwritten) {
  std::vector<Slice> slices = cuts_of(problem_.items, problem_.granularity);
  // Each block has a sum of its own, whatever the slice.
  if (problem_.block > 0 && !problem_.combines()) {
    for (Slice& slice : slices) slice.end = std::min(slice.begin + problem_.block, problem_.items);
  }
  const bool together = problem_.is_tried_together();
  std::vector<std::vector<Image>> all;
  if (together && !run_together(slices, std::byte{0xff}, all)) return 0;
  Gathered gathered = nothing_yet();
  for (std::size_t s = 0; s < slices.size(); ++s) {
    const Slice& slice = slices[s];
    std::vector<Image> images;
    if (together)
      images = std::move(all[s]);
    else if (!run(slice, std::byte{0xff}, images))
      return 0;
    take(slice, images, gathered);
    for (std::size_t a = 0; a < images.size(); ++a) {
      const Argument& one = problem_.args[a];
      for (const Move& move : output_moves(problem_, a, slice)) {
        for (Bytes i = 0; i < move.count; ++i) {
          const Bytes host = move.host + i * move.stride;
          std::vector<std::byte> mine(move.length);
          std::memcpy(mine.data(),
                      images[a].bytes.data() + images[a].zero + move.device + i * move.stride,
                      move.length);
          if (!unwritten[a].empty()) {
            for (Bytes k = 0; k < move.length; ++k) {
              if (unwritten[a][host + k]) mine[k] = expected[a][host + k];
            }
          }
          const std::span<const std::byte> should =
              std::span(expected[a]).subspan(host, move.length);
          const auto difference =
              first_difference(one.type, problem_.descriptor.tolerance, mine, should);
          if (!difference) continue;
          const std::uint64_t e = difference->element + host / one.type.size;
          const std::string item =
              one.per_item == 0 ? ""
                                : fmt::format("item {} (", one.map == MapKind::slice
                                                               ? e / one.per_item % problem_.items
                                                               : e / one.per_item);
          throw Error(
              ErrorKind::input,
              fmt::format(
                  "{}: argument {}: {}element {}{} is {} in slice [{}, {}) on device {}, {} "
                  "when one device "
                  "computes all items: the result depends on the split, or a map says too little{}",
                  problem_.descriptor.file, in_quotes(one.name), item, e, item.empty() ? "" : ")",
                  text_at(one.type, mine.data() + difference->element * one.type.size), slice.begin,
                  slice.end, device_.traits().id,
                  text_at(one.type, should.data() + difference->element * one.type.size), hint()));
        }
      }
    }
  }
  if (problem_.block > 0 && !problem_.combines()) return slices.size();
  complete(gathered, std::byte{0xff});
  const Results& sums = gathered.results;
  for (std::size_t a = 0; a < sums.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (one.by_kernel())
      check_combined(a, sums[a], slices.size(), expected[a], "it combines those of all blocks");
    // Sums of floats by blocks round differently from those of these slices.
    if (!one.accumulates() || one.by_blocks()) continue;
    const auto difference =
        first_difference(one.type, problem_.descriptor.tolerance, sums[a], expected[a]);
    if (!difference) continue;
    const std::uint64_t e = difference->element;
    throw Error(ErrorKind::input,
                fmt::format("{}: argument {}: element {} is {} when {} slices on device {} are "
                            "combined, {} when it computes all items at "
                            "once: the result depends on the split{}",
                            problem_.descriptor.file, in_quotes(one.name), e,
                            text_at(one.type, sums[a].data() + e * one.type.size), slices.size(),
                            device_.traits().id,
                            text_at(one.type, expected[a].data() + e * one.type.size), hint()));
  }
  return slices.size();
}

}  // namespace mgpu::kernel
