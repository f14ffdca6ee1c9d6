#include "suites/kernel/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/base/quote.hpp"
#include "suites/kernel/stage_order.hpp"

namespace mgpu::kernel {
namespace {

constexpr Bytes kMostBytes = Bytes{1} << 50;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::input, where + " " + why);
}

// Parses --set NAME=VALUE,..: values of parameters.
std::map<std::string, std::string> settings_of(const std::string& text,
                                               const Descriptor& descriptor) {
  std::map<std::string, std::string> all;
  std::vector<std::string> known;
  for (const auto& entry : descriptor.params) known.push_back(entry.first);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size()),
                      equals = text.find('=', begin);
    if (equals >= end)
      throw Error(ErrorKind::usage, "--set: " + in_quotes(text) + "; expected: NAME=VALUE,..");
    const std::string name = text.substr(begin, equals - begin);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorKind::usage,
                  fmt::format("--set: {} has no parameter {}{}; expected: {}", descriptor.file,
                              in_quotes(name), did_you_mean(name, known),
                              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    all[name] = text.substr(equals + 1, end - equals - 1);
    begin = end + 1;
  }
  return all;
}

// Returns the value of an option of the suite; empty if it was not given.
std::string option_of(const SuiteParams& params, const char* name) {
  const auto found = params.options.find(name);
  return found == params.options.end() || found->second == "none" ? "" : found->second;
}

// Returns the compiler options of the command line: -D NAME=VALUE,.., -I DIR,.. and others.
std::string given_build_options(const SuiteParams& params) {
  std::string made;
  for (const auto& [name, flag] : {std::pair{"define", " -D "}, {"include", " -I "}}) {
    const std::string text = option_of(params, name);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string word = text.substr(begin, end - begin);
      const bool is_folder = std::string_view(name) == "include";
      const std::string macro = word.substr(0, std::min(word.find('='), word.size()));
      if (is_folder ? !std::filesystem::is_directory(word)
                    : !is_identifier(macro) || word.find(' ') != std::string::npos)
        throw Error(ErrorKind::usage,
                    fmt::format("--{}: {}; expected: {}", name, in_quotes(word),
                                is_folder ? "a folder" : "NAME or NAME=VALUE, without spaces"));
      made += flag + word;
      begin = end + 1;
    }
  }
  const std::string more = option_of(params, "build-options");
  return more.empty() ? made : made + " " + more;
}

// Evaluates the parameters, which may use each other regardless of their order.
Names names_of(const Descriptor& descriptor, std::uint64_t n,
               const std::map<std::string, std::string>& set) {
  Names names{{"n", Number::of(static_cast<std::int64_t>(n))}};
  std::map<std::string, std::string> left = descriptor.params;
  for (const auto& [name, value] : set) left[name] = value;
  while (!left.empty()) {
    const std::size_t before = left.size();
    std::optional<Error> why;
    for (auto at = left.begin(); at != left.end();) {
      try {
        names[at->first] =
            Expression(descriptor.file + ": params." + at->first, at->second, names).evaluate();
        at = left.erase(at);
      } catch (const Error& error) {
        why = error;
        ++at;
      }
    }
    if (left.size() == before) throw *why;
  }
  return names;
}

class Reader {
 public:
  Reader(Problem& problem, Names names) : problem_(problem), names_(std::move(names)) {}

  void read() {
    const Descriptor& from = problem_.descriptor;
    problem_.items = count(from.file + ": items.count", from.items);
    if (problem_.items == 0) refuse(from.file + ": items.count", "is 0; expected: an item or more");
    names_["items"] = Number::of(static_cast<std::int64_t>(problem_.items));
    problem_.granularity = count(from.file + ": items.granularity", from.granularity);
    if (problem_.granularity == 0)
      refuse(from.file + ": items.granularity", "is 0; expected: 1 or more");
    problem_.offset = from.address == Address::whole;
    problem_.options = filled_in(from.options + problem_.options);
    if (!from.repeat.rounds.empty()) {
      per_round_ = Variables::round;
      per_slice_ = Variables::slice_and_round;
    }
    for (const ArgumentText& text : from.args) {
      problem_.args.push_back(argument(text));
      problem_.args.back().alignment = problem_.alignment;
    }
    find_offsets();
    find_counters();
    find_copied();
    Bytes place = 0;
    for (Argument& one : problem_.args) {
      for (const auto& [has, at] :
           {std::pair{one.is_input(), &one.host}, {one.is_output(), &one.result}}) {
        if (!has) continue;
        *at = place;
        if (one.bytes() > kMostBytes - place) refuse(one.where, "is larger than any memory");
        place += round_up(one.bytes(), problem_.alignment);
      }
    }
    problem_.host_bytes = place;
    for (const StageText& text : from.stages) problem_.stages.push_back(stage(text));
    order_stages(problem_.stages, from.stages);
    if (!from.repeat.rounds.empty()) repeat(from.repeat);
    check_fields();
    align();
    if (!from.operations.empty())
      problem_.operations = real(from.file + ": work.operations", from.operations);
    if (!from.bytes.empty()) problem_.moved = real(from.file + ": work.bytes", from.bytes);
  }

 private:
  std::uint64_t count(const std::string& where, const std::string& text) {
    return Expression(where, text, names_).count();
  }
  double real(const std::string& where, const std::string& text) {
    const double value = Expression(where, text, names_).evaluate().real();
    if (!(value >= 0)) refuse(where, "is negative");
    return value;
  }

  // Replaces each ${expression} by its value.
  std::string filled_in(const std::string& options) {
    std::string made;
    for (std::size_t at = 0;;) {
      const std::size_t begin = options.find("${", at), end = options.find('}', begin);
      made += options.substr(at, begin - at);
      if (begin == std::string::npos) return made;
      const std::string where = problem_.descriptor.file + ": options";
      if (end == std::string::npos) refuse(where, "lacks the } of a ${");
      const Number value =
          Expression(where, options.substr(begin + 2, end - begin - 2), names_).evaluate();
      made += value.integer ? fmt::format("{}", value.i) : fmt::format("{}", value.d);
      at = end + 1;
    }
  }

  std::uint64_t elements_of(const Argument& one, std::uint64_t items, std::uint64_t each) const {
    if (each == 0) refuse(one.where + ".map.per_item", "is 0; expected: 1 or more");
    if (items > kMostBytes / each / one.type.size) refuse(one.where, "is larger than any memory");
    return items * each;
  }

  static void check_fits(const std::string& where, Base base, const Expression& scalar) {
    const Number value = scalar.evaluate({0, 1, 1});
    if (!fits_base(base, value))
      refuse(where,
             fmt::format("is {}, which is no {}",
                         value.integer ? fmt::format("{}", value.i) : fmt::format("{}", value.d),
                         name_of(base)));
  }

  ImageShape image(const Argument& one, const ArgumentText& text) {
    using Number = ImageShape::Number;
    const std::uint64_t width = count(one.where + ".map.width", text.width),
                        height = count(one.where + ".map.height", text.height);
    if (width == 0 || height == 0) refuse(one.where + ".map", "has no pixels");
    Number number = Number::f32;
    switch (one.type.base) {
      case Base::i8:
        number = text.normalized ? Number::i8_norm : Number::i8;
        break;
      case Base::u8:
        number = text.normalized ? Number::u8_norm : Number::u8;
        break;
      case Base::i16:
        number = text.normalized ? Number::i16_norm : Number::i16;
        break;
      case Base::u16:
        number = text.normalized ? Number::u16_norm : Number::u16;
        break;
      case Base::i32:
        number = Number::i32;
        break;
      case Base::u32:
        number = Number::u32;
        break;
      case Base::f16:
        number = Number::f16;
        break;
      default:
        break;
    }
    return {number, one.type.lanes, width, height, one.type.size};
  }

  Argument argument(const ArgumentText& text) {
    Argument one;
    one.name = text.name;
    one.where = text.where;
    one.type = text.type;
    one.map = text.map;
    one.access = text.access;
    one.edge = text.edge;
    one.op = text.op;
    one.combine = text.combine.entry;
    one.tolerance = text.combine.tolerance.value_or(problem_.descriptor.tolerance);
    one.compared = text.type;
    if (text.combine.of != Base::none) {
      one.compared.base = text.combine.of;
      one.compared.lanes = static_cast<unsigned>(text.type.size / one.compared.lane());
    }
    one.fill = text.fill;
    one.sparse = text.sparse;
    one.expected = text.expected;
    if (one.fill.kind == FillKind::constant)
      one.constant = Expression(one.where + ".fill.value", text.fill.value, names_).evaluate();
    one.fill.low = Expression(one.where + ".fill", one.fill.low_text, names_).evaluate().real();
    one.fill.high = Expression(one.where + ".fill", one.fill.high_text, names_).evaluate().real();
    if (one.fill.kind == FillKind::uniform && one.fill.low > one.fill.high)
      refuse(one.where + ".fill.min", "is above max");
    if (!one.fill.modulo.empty()) one.modulo = count(one.where + ".fill.modulo", one.fill.modulo);
    switch (one.map) {
      case MapKind::scalar:
        for (std::size_t m = 0; m < text.members.size(); ++m) {
          const Expression& member =
              one.members.emplace_back(one.where + ".fields", text.members[m], names_, per_slice_);
          check_fits(one.where + ".fields", one.type.members[m].base, member);
        }
        if (!one.members.empty()) return one;
        one.scalar = Expression(one.where + ".scalar", text.scalar, names_, per_slice_);
        check_fits(one.where + ".scalar", one.type.base, one.scalar);
        return one;
      case MapKind::local:
        one.local = Expression(one.where + ".bytes", text.size, names_);
        if (one.local.count() == 0) refuse(one.where + ".bytes", "is 0; expected: 1 or more");
        return one;
      case MapKind::image:
        one.image = image(one, text);
        one.elements = elements_of(one, one.image->width, one.image->height);
        one.address = Address::whole;
        return one;
      case MapKind::flag:
        one.elements = 1;
        one.address = Address::whole;
        return one;
      case MapKind::halo:
        one.before = count(one.where + ".map.radius", text.before);
        one.after = count(one.where + ".map.radius", text.after);
        if (one.before > problem_.items || one.after > problem_.items)
          refuse(one.where + ".map.radius", "is more items than there are");
        if (!text.pivot.empty())
          one.pivot = Expression(one.where + ".map.pivot", text.pivot, names_, per_round_);
        [[fallthrough]];
      case MapKind::split:
        one.per_item = count(one.where + ".map.per_item", text.per_item);
        one.elements = elements_of(one, problem_.items, one.per_item);
        break;
      case MapKind::slice:
        one.per_item = count(one.where + ".map.per_item", text.per_item);
        one.elements = elements_of(one, count(one.where + ".size", text.size), 1);
        if (one.per_item == 0 || one.elements % (one.per_item * problem_.items) != 0 ||
            one.elements == 0)
          refuse(one.where + ".size", fmt::format("is {} elements, which are no rows of {} items",
                                                  one.elements, problem_.items));
        one.rows = one.elements / (one.per_item * problem_.items);
        break;
      default:
        one.elements = elements_of(one, count(one.where + ".size", text.size), 1);
        if (one.elements == 0) refuse(one.where + ".size", "is 0; expected: 1 or more");
    }
    if (one.map == MapKind::fixed) {
      one.start = Expression(one.where + ".map.start", text.start, names_, Variables::slice);
      one.length = Expression(one.where + ".map.length", text.length, names_, Variables::slice);
    }
    // Ranges that need not begin at the sub-buffer alignment are addressed from the array's
    // beginning.
    const bool may_be_rebased = one.by_item() && !problem_.offset;
    one.address = may_be_rebased && text.address != "whole" ? Address::rebased : Address::whole;
    if (text.address == "rebased" && !may_be_rebased) {
      refuse(one.where + ".map.address",
             problem_.offset ? "is rebased, although slices begin at a global offset"
                             : "is rebased; expected for this map: whole");
    }
    const auto& swap = problem_.descriptor.repeat.swap;
    const bool in_place = one.map == MapKind::halo && one.access == Access::readwrite;
    const bool wraps = one.edge == Edge::periodic &&
                       (in_place || std::any_of(swap.begin(), swap.end(), [&](const auto& pair) {
                          return pair.first == one.name;
                        }));
    if (one.address == Address::whole && one.edge != Edge::none && !wraps)
      refuse(one.where + ".map.edge",
             "puts items outside the array, which an index from its beginning does not reach; "
             "expected: none");
    return one;
  }

  // Returns the argument of that name; null: there is none.
  const Argument* find(const std::string& name) const {
    const auto found = std::find_if(problem_.args.begin(), problem_.args.end(),
                                    [&](const Argument& one) { return one.name == name; });
    return found == problem_.args.end() ? nullptr : &*found;
  }
  std::size_t number_of(const Argument& one) const {
    return static_cast<std::size_t>(&one - problem_.args.data());
  }

  void find_offsets() {
    for (std::size_t i = 0; i < problem_.args.size(); ++i) {
      Argument& one = problem_.args[i];
      if (one.map != MapKind::ragged) continue;
      const std::string& name = problem_.descriptor.args[i].offsets;
      const Argument* const found = find(name);
      const bool integers = found != nullptr && found->is_input() && !found->type.is_float() &&
                            found->type.base != Base::none && found->type.lanes == 1;
      if (!integers || found->elements < problem_.items + 1) {
        refuse(
            one.where + ".map.offsets",
            fmt::format(
                "is {}; expected: the name of an input of integers, one more than there are items",
                in_quotes(name)));
      }
      one.offsets = number_of(*found);
    }
  }

  void find_counters() {
    for (std::size_t i = 0; i < problem_.args.size(); ++i) {
      Argument& one = problem_.args[i];
      if (one.map != MapKind::append) continue;
      const std::string& name = problem_.descriptor.args[i].counter;
      const Argument* const found = find(name);
      const bool counts = found != nullptr && found->map == MapKind::reduce &&
                          found->op == Reduction::add &&
                          (found->type.base == Base::u32 || found->type.base == Base::i32) &&
                          found->elements == 1 && found->type.lanes == 1;
      if (!counts) {
        refuse(one.where + ".map.counter",
               fmt::format("is {}; expected: the name of an argument of type uint or int with size "
                           "= 1 and map = {{ kind = "
                           "\"reduce\", op = \"add\" }}",
                           in_quotes(name)));
      }
      one.counter = number_of(*found);
      if (by_blocks())
        refuse(one.where + ".map",
               "is append, which cannot be together with sums of floats, or with combine");
    }
  }

  void find_copied() {
    for (std::size_t i = 0; i < problem_.args.size(); ++i) {
      Argument& one = problem_.args[i];
      if (one.fill.kind != FillKind::copy) continue;
      const Argument* const found = find(one.fill.of);
      const bool fits = found != nullptr && found->is_input() &&
                        found->fill.kind != FillKind::copy && found->bytes() == one.bytes() &&
                        one.is_input();
      if (!fits)
        refuse(one.where + ".fill.of",
               fmt::format("is {}; expected: the name of an input of as many bytes, which is no "
                           "copy itself",
                           in_quotes(one.fill.of)));
      one.copied = number_of(*found);
    }
  }

  Stage stage(const StageText& text) {
    Stage made;
    made.entry = text.entry;
    made.name = text.name;
    for (const std::string& name : text.args) made.args.push_back(number_of(*find(name)));
    for (const std::string& one : text.global)
      made.global.emplace_back(text.where + ".global", one, names_, per_slice_);
    for (const std::string& one : text.local)
      made.local.emplace_back(text.where + ".local", one, names_);
    const bool splits = std::any_of(made.global.begin(), made.global.end(),
                                    [](const Expression& e) { return e.depends_on_slice(); });
    const bool told = std::any_of(made.args.begin(), made.args.end(), [&](std::size_t a) {
      const Argument& one = problem_.args[a];
      return one.is_changed_alike() || one.scalar.depends_on_slice() ||
             std::any_of(one.members.begin(), one.members.end(),
                         [](const Expression& member) { return member.depends_on_slice(); });
    });
    if (!splits && !told)
      refuse(text.where + ".global",
             "does not depend on the slice; expected: one that uses count, or a scalar that does");
    if (text.range.empty()) return made;
    made.first = Expression(text.where + ".range", text.range[0], names_, per_round_);
    made.stop = Expression(text.where + ".range", text.range[1], names_, per_round_);
    if (!problem_.offset)
      refuse(text.where + ".range", "needs launch.offset = \"global_work_offset\"");
    for (std::size_t d = 0; d < made.local.size(); ++d) {
      if (made.global[d].depends_on_slice() && made.local[d].count() != 1)
        refuse(text.where + ".range",
               fmt::format("begins and ends within work-groups of dimension {}; expected there: "
                           "local = 1, or local = \"device\" for all dimensions",
                           d));
    }
    return made;
  }

  // Returns the argument that `repeat` names.
  std::size_t named(const RepeatText& text, const char* key, const std::string& name) const {
    if (const Argument* const found = find(name)) return number_of(*found);
    std::vector<std::string> known;
    for (const Argument& one : problem_.args) known.push_back(one.name);
    refuse(text.where + key, fmt::format("names {}, which is not among [[args]]{}", in_quotes(name),
                                         did_you_mean(name, known)));
  }

  void repeat(const RepeatText& text) {
    constexpr std::uint64_t kMostRounds = 1'000'000;
    const std::uint64_t rounds = count(text.where + ".rounds", text.rounds);
    if (rounds == 0 || rounds > kMostRounds)
      refuse(text.where + ".rounds", fmt::format("is {}; expected: 1 to {}", rounds, kMostRounds));
    problem_.rounds = static_cast<std::uint32_t>(rounds);
    if (!text.flag.empty()) {
      problem_.flag = named(text, ".while", text.flag);
      if (problem_.args[*problem_.flag].map != MapKind::flag)
        refuse(text.where + ".while",
               fmt::format("names {}, whose map is another; expected: map = \"flag\"",
                           in_quotes(text.flag)));
    }
    for (const auto& [from, to] : text.swap) {
      const Field pair{named(text, ".swap", from), named(text, ".swap", to)};
      const Argument &in = problem_.args[pair.in], &out = problem_.args[pair.out];
      const auto refuse_pair = [&, &from = from, &to = to](const std::string& why) {
        refuse(text.where + ".swap",
               fmt::format("of {} and {} {}", in_quotes(from), in_quotes(to), why));
      };
      if (problem_.field_of(pair.in) != nullptr || problem_.field_of(pair.out) != nullptr ||
          pair.in == pair.out)
        refuse_pair("names an argument twice");
      if (!in.by_item() || in.access != Access::read || out.map != MapKind::split ||
          !out.is_output() || out.sparse)
        refuse_pair(
            "needs an input that is split or has a halo, and an output that is split and either "
            "written whole (access = \"write\") or begins with values (access = \"readwrite\" and "
            "a fill)");
      if (in.type.name != out.type.name || in.type.size != out.type.size ||
          in.per_item != out.per_item)
        refuse_pair("needs the same type and per_item of both");
      if (in.rebased() || out.rebased()) {
        refuse_pair(
            "needs both to be indexed from the array's beginning; expected: launch.offset = "
            "\"global_work_offset\", or address = "
            "\"whole\" in their maps");
      }
      problem_.fields.push_back(pair);
    }
    for (std::size_t a = 0; a < problem_.args.size(); ++a) {
      const Argument& one = problem_.args[a];
      if (one.map == MapKind::append)
        refuse(one.where + ".map", "is append, which cannot be together with repeat");
      if (one.by_kernel())
        refuse(one.where + ".map.combine", "cannot be together with repeat; expected: op");
      if (one.by_blocks())
        refuse(one.where + ".map",
               fmt::format("adds numbers of type {}, which cannot be together with repeat; "
                           "expected: integers, such as long with fixed-point numbers",
                           one.type.name));
      if (one.map == MapKind::halo && one.access == Access::readwrite)
        problem_.fields.push_back({a, a});
    }
  }
  // Refuses arguments with a halo that kernels change if devices would not exchange their items,
  // and flags without a use.
  void check_fields() {
    for (std::size_t a = 0; a < problem_.args.size(); ++a) {
      const Argument& one = problem_.args[a];
      if (one.map == MapKind::flag && problem_.flag != a)
        refuse(one.where + ".map", "is a flag, which repeat.while does not name");
      if (one.is_changed_alike() && problem_.rounds == 0)
        refuse(one.where + ".access",
               "is readwrite with map = \"replicate\", which devices change alike in iterations; "
               "expected: read, or [repeat] with rounds = 1 or more");
      if (one.map != MapKind::halo || one.access != Access::readwrite) continue;
      if (problem_.field_of(a) == nullptr)
        refuse(one.where + ".access",
               "is readwrite with a halo, which devices exchange between kernels; expected: "
               "[repeat] with rounds = 1 or more");
      if (one.rebased())
        refuse(one.where + ".access",
               "is readwrite with a halo, which is indexed from the array's beginning; expected: "
               "launch.offset = \"global_work_offset\", or address = \"whole\" in its map");
    }
  }

  bool by_blocks() const {
    return std::any_of(problem_.args.begin(), problem_.args.end(),
                       [](const Argument& one) { return one.by_blocks(); });
  }

  // Grows the granularity until slices of it have work-items in proportion: the global offset of a
  // slice is the number of those of the items before it.
  void grow_to_proportion(const Expression& global, std::size_t dimension) {
    constexpr std::uint64_t kMost = 4096;
    const std::uint64_t step = problem_.granularity;
    if (global.depends_on_round()) return;
    const auto size = [&](std::uint64_t items) {
      const auto count = static_cast<std::int64_t>(items);
      return global.count({0, count, count});
    };
    for (std::uint64_t k = 1; k <= kMost && k * step < problem_.items; ++k) {
      const std::uint64_t g = k * step, one = size(g);
      problem_.granularity = g;
      if (size(2 * g) == 2 * one && size(1001 * g) == 1001 * one) return;
    }
    if (step >= problem_.items) return;  // one slice
    refuse(problem_.descriptor.file + ": global",
           fmt::format("is {} in dimension {} for {} items and {} for {}; expected with "
                       "global_work_offset: work-items in proportion to count",
                       size(step), dimension, step, size(2 * step), 2 * step));
  }

  // Chooses the granularity: slices begin at multiples of the sub-buffer alignment of all rebased
  // arguments, and are whole work-groups.
  void align() {
    const auto grow = [&](std::uint64_t factor) {
      problem_.granularity = std::lcm(problem_.granularity, factor);
    };
    for (const Argument& one : problem_.args) {
      if (one.rebased()) grow(problem_.alignment / std::gcd(problem_.alignment, one.item()));
    }
    for (const Stage& one : problem_.stages) {
      for (std::size_t d = 0; d < one.local.size(); ++d) {
        const std::uint64_t local = one.local[d].count();
        if (local == 0) refuse(problem_.descriptor.file + ": local", "is 0; expected: 1 or more");
        if (!one.global[d].depends_on_slice()) continue;
        const auto g = static_cast<std::int64_t>(problem_.granularity);
        if (one.global[d].count({0, g, g}) % local != 0) grow(local);
      }
      for (std::size_t d = 0; problem_.offset && d < one.global.size(); ++d) {
        if (one.global[d].depends_on_slice()) grow_to_proportion(one.global[d], d);
      }
    }
    // A fixed number of blocks makes the order of partial results independent of the split.
    if (by_blocks()) {
      constexpr Items kMostBlocks = 64;
      const Items granules = ceil_div(problem_.items, problem_.granularity);
      problem_.granularity *= ceil_div(granules, kMostBlocks);
      problem_.block = problem_.granularity;
    }
    const Slice whole{0, problem_.items},
        last{(problem_.items - 1) / problem_.granularity * problem_.granularity, problem_.items};
    const Slice least{0, std::min(problem_.granularity, problem_.items)};
    const std::uint32_t last_round = problem_.rounds > 0 ? problem_.rounds - 1 : 0;
    for (const Stage& one : problem_.stages) {
      for (const Slice& slice : {whole, last, least}) {
        for (const std::uint32_t round : {std::uint32_t{0}, last_round})
          problem_.grid(one, problem_.numbers(one, slice, round));
      }
    }
    for (const Field& field : problem_.fields)
      problem_.extents(problem_.args[field.in], whole, last_round);
  }

  Problem& problem_;
  Names names_;
  // Variables of expressions that are evaluated per iteration, and per launch.
  Variables per_round_ = Variables::none, per_slice_ = Variables::slice;
};

}  // namespace

Problem problem_of(Descriptor descriptor, const SuiteParams& params) {
  Problem problem;
  problem.n = params.size;
  problem.seed = params.seed;
  problem.alignment = std::max(kAlignment, params.buffer_alignment);
  problem.devices = params.devices;
  if (const auto guards = params.options.find("guards"); guards != params.options.end()) {
    problem.guards = guards->second == "off"     ? Guards::off
                     : guards->second == "wide"  ? Guards::wide
                     : guards->second == "exact" ? Guards::exact
                                                 : Guards::on;
  }
  const auto beside = params.options.find("side-by-side");
  problem.beside = beside == params.options.end() || beside->second != "off";
  problem.options = given_build_options(params);
  const auto settings = settings_of(option_of(params, "set"), descriptor);
  Names names = names_of(descriptor, problem.n, settings);
  for (const auto& [name, value] : names)
    problem.values[name] = value.integer ? fmt::format("{}", value.i) : fmt::format("{}", value.d);
  problem.descriptor = std::move(descriptor);
  Reader(problem, std::move(names)).read();
  return problem;
}

Problem problem_of(const SuiteParams& params) { return problem_of(descriptor_of(params), params); }

}  // namespace mgpu::kernel
