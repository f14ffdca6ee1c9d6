// The kernel suite: descriptors, the sizes derived from them, the bytes of an array that a slice
// uses, and parts of buffers.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "suites/kernel/command.hpp"
#include "suites/kernel/data.hpp"
#include "suites/kernel/examples.hpp"
#include "suites/kernel/layout.hpp"
#include "suites/kernel/parts.hpp"
#include "suites/kernel/source_look.hpp"
#include "suites/kernel/stage_order.hpp"
#include "suites/kernel/tree.hpp"
#include "suites/kernel/trial.hpp"
#include "tests/support/refusal.hpp"

namespace mgpu::kernel {
namespace {

using test::has;
using test::refusal;
using test::thrown_by;

const Names kNames{{"n", Number::of(std::int64_t{100})},
                   {"a", Number::of(2.5)},
                   {"width", Number::of(std::int64_t{7})}};

Number value(const char* text, const SliceNumbers& slice = {}) {
  return Expression("key", text, kNames, Variables::slice).evaluate(slice);
}
std::int64_t integer(const char* text, const SliceNumbers& slice = {}) {
  const Number number = value(text, slice);
  REQUIRE(number.integer);
  return number.i;
}

// Returns the message of the Error(input) that f throws; empty if there is none.
std::string why(const auto& f) { return refusal(f, ErrorKind::input); }

// Returns a descriptor up to its second argument, with this text for the global size.
std::string start_with(const std::string& global) {
  return "kernel = 'k.cl'\nentry = 'k'\nn = 100\n[launch]\nglobal = " + global +
         "\n[[args]]\nname = 'out'\ntype = 'float'\nmap = 'split'\naccess = 'write'\n";
}

Problem problem_with(const std::string& argument, std::uint64_t n = 100,
                     const std::string& start = start_with("['count']")) {
  SuiteParams params;
  params.size = n;
  return problem_of(descriptor_of(parse_tree(start + argument, "k.toml"), "k.toml", ""), params);
}

std::vector<Move> moves(const Problem& problem, std::size_t argument, Slice slice) {
  const std::vector<std::byte> memory(problem.host_bytes);
  return input_moves(problem, memory, argument, slice);
}

}  // namespace

TEST_CASE("kernel: expressions compute as C does, and stay integers as long as they can") {
  for (const auto& [text, expected] : {std::pair{"1 + 2 * 3", 7},
                                       {"(1 + 2) * 3", 9},
                                       {"7 / 2", 3},
                                       {"-7 % 3", -1},
                                       {"--3", 3},
                                       {"-2 * -3", 6},
                                       {"10 - 4 - 3", 3},
                                       {"ceil_div(n, width)", 15},
                                       {"round_up(n, 64)", 128},
                                       {"min(n, 3) + max(n, 3)", 103}})
    CHECK(integer(text) == expected);
  CHECK(value("n * a").d == doctest::Approx(250));
  CHECK_FALSE(value("n / 8.0").integer);
  CHECK(integer("end - begin - count", {10, 5, 15}) == 0);
  CHECK(Expression("key", "count * 2", kNames, Variables::slice).depends_on_slice());
  CHECK_FALSE(Expression("key", "n * 2", kNames, Variables::slice).depends_on_slice());
}

TEST_CASE("kernel: what is no expression, and what has no value, is refused by key") {
  for (const char* text : {"", "1 +", "(1", "1)", "1 2", "* 2", "n n", "min(1)", "min(1, 2",
                           "sqrt(2)", "1e999", "a..b", "$"})
    CHECK_MESSAGE(why([&] { value(text); }).starts_with("key: "), text);
  for (const char* text :
       {"1 / 0", "1 % 0", "ceil_div(1, 0)", "9223372036854775807 + 1", "n * 9223372036854775807"})
    CHECK_MESSAGE(why([&] { value(text); }).starts_with("key: "), text);
  CHECK(has(why([] { value("widht"); }), "\"width\""));
  CHECK(has(why([] { Expression("key", "count", kNames); }), "no parameter"));
  CHECK(has(why([] { value(std::string(1000, '(').c_str()); }), "nested"));
  const Expression negative("key", "0 - n", kNames), fraction("key", "n / 8.0", kNames);
  CHECK(has(why([&] { static_cast<void>(negative.count()); }), "-100"));
  CHECK(has(why([&] { static_cast<void>(fraction.count()); }), "12.5"));
}

TEST_CASE("kernel: types are known by both of their names, vectors by their lanes") {
  CHECK(element_type("float")->size == 4);
  CHECK(element_type("float3")->size == 16);
  CHECK(element_type("double16")->size == 128);
  CHECK(element_type("unsignedint")->name == "uint");
  for (const char* name : {"float5", "flaot", "4", "", "floatfloat", "uint44"})
    CHECK_FALSE(element_type(name));
  CHECK(fits_base(Base::u8, Number::of(std::int64_t{255})));
  CHECK_FALSE(fits_base(Base::u8, Number::of(std::int64_t{256})));
  CHECK_FALSE(fits_base(Base::u32, Number::of(std::int64_t{-1})));
  CHECK_FALSE(fits_base(Base::i32, Number::of(2.5)));
}

TEST_CASE("kernel: every example is a descriptor, and its slices are what its granularity allows") {
  CHECK(example_names().front() == "saxpy");
  CHECK(example_names().size() >= 6);
  for (const std::string& name : example_names()) {
    CAPTURE(name);
    const Descriptor descriptor = example(name);
    SuiteParams params;
    params.size = descriptor.quick;
    const Problem problem = problem_of(descriptor, params);
    CHECK(problem.items > 0);
    for (const Argument& one : problem.args) {
      if (one.rebased()) CHECK(problem.granularity * one.item() % kAlignment == 0);
    }
  }
}

TEST_CASE("kernel: a halo has items beside its slice, beyond the array by its edge") {
  const auto of = [](const char* edge) {
    return problem_with(std::string("[[args]]\nname = 'in'\ntype = 'float'\nmap = { kind = 'halo', "
                                    "radius = [2, 1], edge = '") +
                        edge + "' }\n");
  };
  const auto inside = moves(of("none"), 1, {10, 20});
  REQUIRE(inside.size() == 1);
  CHECK((inside[0].device == 0 && inside[0].host == 8 * 4 && inside[0].length == 13 * 4));
  CHECK(moves(of("none"), 1, {0, 20}).front().device == 2 * 4);  // the two before stay unchanged
  const auto periodic = moves(of("periodic"), 1, {0, 100});
  REQUIRE(periodic.size() == 4);
  CHECK((periodic[1].device == 0 && periodic[1].host == 98 * 4));
  CHECK((periodic[2].device == 4 && periodic[2].host == 99 * 4));
  CHECK((periodic[3].device == 102 * 4 && periodic[3].host == 0));
  const auto clamp = moves(of("clamp"), 1, {0, 100});
  CHECK((clamp[1].host == 0 && clamp[2].host == 0 && clamp[3].host == 99 * 4));
  CHECK(moves(of("zero"), 1, {0, 100})[1].zeros);
}

TEST_CASE("kernel: columns, ranges and the rows of a sparse matrix") {
  const Problem columns = problem_with(
      "[[args]]\nname = 'm'\ntype = 'int'\nmap = { kind = 'slice', per_item = 2 }\nsize = 'n * 2 * "
      "5'\n");
  const auto strip = moves(columns, 1, {10, 12});
  REQUIRE(strip.size() == 1);
  CHECK((strip[0].host == 80 && strip[0].device == 80 && strip[0].length == 16 &&
         strip[0].count == 5 && strip[0].stride == 800));
  const Problem range = problem_with(
      "[[args]]\nname = 'm'\ntype = 'int'\nmap = { kind = 'fixed', start = 'begin / 2', length = "
      "'count / 2' }\nsize = 50\n");
  CHECK(moves(range, 1, {10, 20})[0].host == 20);
  const Problem beyond = problem_with(
      "[[args]]\nname = 'm'\ntype = 'int'\nmap = { kind = 'fixed', start = 'begin', length = "
      "'count' }\nsize = 50\n");
  CHECK(has(why([&] { moves(beyond, 1, {40, 60}); }), "args[1].map"));
  const Problem sparse = problem_with(
      "[[args]]\nname = 'rows'\ntype = 'uint'\nmap = 'replicate'\nsize = 'n + 1'\n[[args]]\nname = "
      "'m'\ntype = 'int'\nmap = { kind "
      "= 'ragged', "
      "offsets = 'rows' }\nsize = 1000\n");
  std::vector<std::byte> memory(sparse.host_bytes);
  for (std::uint32_t i = 0; i <= 100; ++i) {
    const std::uint32_t at = i * 7;
    std::memcpy(memory.data() + sparse.args[1].host + i * 4, &at, 4);
  }
  const auto entries = input_moves(sparse, memory, 2, {10, 20});
  CHECK((entries[0].host == 70 * 4 && entries[0].length == 70 * 4));
}

TEST_CASE("kernel: accumulators begin with what changes nothing, and combine by their operation") {
  for (const auto& [op, a, b, expected] : {std::tuple{"add", 5, -7, -2},
                                           {"min", 5, -7, -7},
                                           {"max", 5, -7, 5},
                                           {"xor", 6, 3, 5},
                                           {"or", 6, 3, 7},
                                           {"and", 6, 3, 2}}) {
    const Problem problem =
        problem_with(std::string("[[args]]\nname = 's'\ntype = 'int'\naccess = 'write'\nsize = "
                                 "1\nmap = { kind = 'reduce', op = '") +
                     op + "' }\n");
    const Argument& one = problem.args[1];
    std::int32_t sum = 0;
    const auto bytes = std::as_writable_bytes(std::span(&sum, 1));
    put_identity(one, bytes);
    for (const std::int32_t& each : {a, b}) combine(one, std::as_bytes(std::span(&each, 1)), bytes);
    CHECK(sum == expected);
  }
}

TEST_CASE("kernel: a minimum or maximum with NaN is NaN, whichever slice it is in") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"min", "max"}) {
    const Problem problem =
        problem_with(std::string("[[args]]\nname = 's'\ntype = 'float'\naccess = 'write'\nsize = "
                                 "1\nmap = { kind = 'reduce', op = '") +
                     op + "' }\n");
    for (const auto& [first, second] : {std::pair{kNaN, 1.0f}, {1.0f, kNaN}}) {
      float made = 0;
      const auto bytes = std::as_writable_bytes(std::span(&made, 1));
      put_identity(problem.args[1], bytes);
      for (const float& each : {first, second})
        combine(problem.args[1], std::as_bytes(std::span(&each, 1)), bytes);
      CHECK(std::isnan(made));
    }
  }
}

TEST_CASE("kernel: what is not finite is within no tolerance of what is") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kLargest = std::numeric_limits<float>::max();
  const auto differ = [](const Tolerance& tolerance, float result, float expected) {
    return first_difference(*element_type("float"), tolerance, std::as_bytes(std::span(&result, 1)),
                            std::as_bytes(std::span(&expected, 1)))
        .has_value();
  };
  for (const Tolerance& tolerance : {Tolerance{1, 0, 0}, {0, 1e-6, 0}, {0, 0, 1}}) {
    CHECK(differ(tolerance, 1, kInfinity));
    CHECK(differ(tolerance, kLargest, kInfinity));
    CHECK(differ(tolerance, -kInfinity, kInfinity));
    CHECK(differ(tolerance, kInfinity, 1));
    CHECK(differ(tolerance, std::nanf(""), 1));
    CHECK_FALSE(differ(tolerance, kInfinity, kInfinity));
    CHECK_FALSE(differ(tolerance, std::nextafter(1.0f, 2.0f), 1));
  }
}

TEST_CASE("kernel: integers are filled from the first bound to the last, by default to 255") {
  for (const auto& [type, fill, low, high] :
       {std::tuple{"int", "", 0, 255},
        {"uchar", "", 0, 255},
        {"char", "", 0, 127},
        {"ulong", "fill = { kind = 'uniform', seed = 3 }\n", 0, 255},
        {"uchar", "fill = { kind = 'uniform', min = 0, max = 1 }\n", 0, 1},
        {"short", "fill = { kind = 'uniform', min = -2, max = 2 }\n", -2, 2}}) {
    CAPTURE(type);
    const Problem problem = problem_with(
        std::string("[[args]]\nname = 'x'\nmap = 'split'\ntype = '") + type + "'\n" + fill, 20000);
    const Argument& one = problem.args[1];
    std::vector<std::byte> bytes(one.bytes());
    fill_array(problem, 1, 1, bytes);
    std::map<double, int> counts;
    for (Bytes at = 0; at < bytes.size(); at += one.type.size)
      ++counts[number_at(one.type.base, bytes.data() + at)];
    CHECK(counts.begin()->first == low);
    CHECK(counts.rbegin()->first == high);
    CHECK(counts.size() == static_cast<std::size_t>(high - low + 1));
  }
  CHECK(has(why([] {
              problem_with(
                  "[[args]]\nname = 's'\ntype = 'int'\naccess = 'write'\nsize = 1\n"
                  "fill = { kind = 'zero' }\nmap = { kind = 'reduce', op = 'add' }\n");
            }),
            "fill"));
}

TEST_CASE("kernel: sums of floats are of blocks, which slices are made of; integers need none") {
  const auto of = [](const char* type) {
    return problem_with(
        std::string("[[args]]\nname = 's'\nsize = 1\naccess = 'write'\nmap = 'reduce'\ntype = '") +
            type + "'\n",
        100000);
  };
  CHECK(of("uint").block == 0);
  const Problem floats = of("float");
  CHECK(floats.block == floats.granularity);
  CHECK(floats.blocks() <= 64);
  CHECK(floats.blocks() > 32);
}

TEST_CASE("kernel: what a kernel combines is of blocks, begins as filled, compares as its parts") {
  Problem problem = problem_with(
      "[[args]]\nname = 's'\nsize = 3\naccess = 'write'\ntype = 'struct'\nbytes = 12\n"
      "map = { kind = 'reduce', combine = 'both', tolerance = { rel = 1e-5, of = 'float' } }\n",
      100000);
  Argument& one = problem.args[1];
  CHECK((one.by_kernel() && one.by_blocks() && problem.combines()));
  CHECK(problem.block == problem.granularity);
  CHECK((problem.blocks() > 32 && problem.blocks() <= 64));
  CHECK((one.compared.base == Base::f32 && one.compared.lanes == 3 && one.compared.size == 12));
  CHECK(one.tolerance.relative == 1e-5);
  CHECK(one.stride() == kAlignment);
  one.initial.assign(36, std::byte{7});
  std::vector<std::byte> begins(36);
  put_identity(one, begins);
  CHECK(begins == one.initial);
  CHECK_FALSE(problem_with("[[args]]\nname = 's'\nsize = 3\naccess = 'write'\ntype = 'int'\nmap = "
                           "{ kind = 'reduce', combine = 'both' }\n")
                  .combines());  // 100 items are one block
}

namespace {

// Returns names and levels of stages in the order in which they run: "a0 b1 c1".
std::string ordered(
    const std::vector<std::pair<std::string, std::optional<std::vector<std::string>>>>& given) {
  std::vector<Stage> stages;
  std::vector<StageText> texts;
  for (const auto& [name, after] : given) {
    stages.emplace_back().name = name;
    auto& text = texts.emplace_back();
    text.name = name;
    text.where = "stages";
    text.after = after;
  }
  order_stages(stages, texts);
  std::string all;
  for (const Stage& stage : stages)
    all += (all.empty() ? "" : " ") + stage.name + std::to_string(stage.level);
  return all;
}

using After = std::vector<std::string>;

}  // namespace

TEST_CASE("kernel: stages follow each other, or those that they name") {
  CHECK(ordered({{"a", {}}, {"a", {}}, {"b", {}}}) == "a0 a1 b2");
  CHECK(ordered({{"a", {}}, {"b", After{"a"}}, {"c", After{"a"}}, {"d", After{"b", "c"}}}) ==
        "a0 b1 c1 d2");
  CHECK(ordered({{"d", After{"c"}}, {"c", After{"a"}}, {"a", After{}}, {"b", After{}}}) ==
        "a0 b0 c1 d2");
  CHECK(ordered({{"a", {}}, {"b", After{}}, {"c", {}}}) == "a0 b0 c1");
}

TEST_CASE("kernel: graphs with unknown, equal or circular stages are refused") {
  CHECK(has(why([] {
              ordered({{"scale", {}}, {"b", After{"scle"}}});
            }),
            "no stage is called \"scle\"; did you mean \"scale\"?"));
  CHECK(has(why([] { ordered({{"a", {}}, {"a", After{}}}); }), "another stage has the name"));
  CHECK(has(why([] { ordered({{"a", After{"a"}}}); }), "\"a\" follows itself"));
  CHECK(has(why([] {
              ordered({{"a", After{"c"}}, {"b", After{"a"}}, {"c", After{"b"}}});
            }),
            "follows itself"));
}

TEST_CASE("kernel: stages without an order may share what neither of them writes") {
  Problem problem;
  problem.descriptor.file = "k.toml";
  for (const Access access : {Access::read, Access::scratch, Access::write}) {
    Argument& one = problem.args.emplace_back();
    one.name = std::string(1, static_cast<char>('x' + problem.args.size() - 1));
    one.access = access;
  }
  problem.stages.resize(3);
  for (std::size_t s = 0; s < 3; ++s) {
    problem.stages[s].name = std::string(1, static_cast<char>('a' + s));
    problem.stages[s].follows.assign(3, false);
  }
  Stage &b = problem.stages[1], &c = problem.stages[2];
  problem.stages[0].args = {0, 1};
  b.args = {1, 0};
  c.args = {0, 1, 2};
  b.follows[0] = c.follows[0] = true;
  std::vector<std::vector<KernelParameter>> parameters{std::vector<KernelParameter>(2),
                                                       std::vector<KernelParameter>(2),
                                                       std::vector<KernelParameter>(3)};
  const auto message = [&] { return why([&] { check_unordered(problem, parameters); }); };
  parameters[1][0].is_const = parameters[2][1].is_const = true;
  check_unordered(problem, parameters);
  parameters[2][1].is_const = false;
  CHECK(has(message(), "\"b\" and \"c\" have no order, and \"c\" may write \"y\""));
  parameters[2][1].is_const = true;
  parameters[1][0].is_const = false;
  CHECK(has(message(), "\"b\" may write \"y\""));
  c.follows[1] = true;
  check_unordered(problem, parameters);
  c.follows.assign(3, false);
  parameters[1][0].is_const = true;
  CHECK(has(message(), "\"a\" and \"c\""));
}

TEST_CASE("kernel: slices are whole work-groups where these are given") {
  const std::string start = start_with("['count * 3']\nlocal = [32]");
  CHECK(problem_with("", 128, start).granularity % 32 == 0);
  CHECK(has(why([&] { problem_with("", 100, start); }), "local, 32"));
}

TEST_CASE("kernel: members of a structure lie where a compiler puts them") {
  struct Like {
    std::int8_t a;
    double b;
    std::int16_t c[3];
    alignas(16) float d[4];  // float3 takes the place of four
    std::uint8_t e;
  };
  ElementType type = structure(0);
  for (const char* const member : {"char", "double", "short[3]", "float3", "uchar"})
    CHECK(add_member(type, member));
  end_members(type);
  CHECK(type.size == sizeof(Like));
  const std::vector<Lane> lanes = lanes_of(type);
  std::vector<Bytes> places;
  for (const Lane& lane : lanes) places.push_back(lane.at);
  const Bytes c = offsetof(Like, c), d = offsetof(Like, d);
  CHECK(places == std::vector<Bytes>{0, offsetof(Like, b), c, c + 2, c + 4, d, d + 4, d + 8,
                                     offsetof(Like, e)});
  CHECK(lanes[1].base == Base::f64);
  for (const char* const wrong :
       {"", "floot", "float[", "float[]", "float[0]", "float[2]x", "float[99999]", "half"})
    CHECK_FALSE(add_member(type, wrong));
  std::vector<std::byte> element(type.size);
  for (std::size_t i = 0; i < lanes.size(); ++i)
    put_number(lanes[i].base, Number::of(static_cast<std::int64_t>(i) + 1), &element[lanes[i].at]);
  CHECK(text_at(type, element.data()) == "{1, 2, 3, 4, 5, 6, 7, 8, ..}");
  // Bytes between members have no value.
  std::vector<std::byte> other = element;
  other[1] = std::byte{1};
  CHECK_FALSE(first_difference(type, {}, element, other).has_value());
  other[d] = std::byte{1};
  CHECK(first_difference(type, {}, element, other).has_value());
  CHECK_FALSE(first_difference(type, {.relative = 1e-3}, element, other).has_value());
}

TEST_CASE("kernel: a launch by a global offset begins where the slice does") {
  const std::string start = start_with("[8, 'count * 2']\noffset = 'global_work_offset'");
  const Problem problem = problem_with("", 100, start);
  const auto launch = [&](Slice slice) {
    return problem.grid(problem.stages[0], problem.numbers(problem.stages[0], slice, 0));
  };
  const Grid grid = launch({10, 30}).value();
  CHECK(grid.offset == std::array<std::size_t, 3>{0, 20, 0});
  CHECK(grid.global == std::array<std::size_t, 3>{8, 40, 1});
  CHECK(grid.local == std::array<std::size_t, 3>{0, 0, 0});
  CHECK_FALSE(problem.args[0].rebased());
  CHECK_FALSE(launch({10, 10}).has_value());
}

TEST_CASE("kernel: a launch of a range computes its items in a slice, with index 0 as its first") {
  const Problem problem =
      problem_with("", 100,
                   start_with("['n - 1 - round', 'count * 2']\noffset = 'global_work_offset'\n"
                              "range = ['round + 1', 'n - 1']\n[repeat]\nrounds = 99"));
  const auto launch = [&](Slice slice, std::uint32_t round) {
    return problem.grid(problem.stages[0], problem.numbers(problem.stages[0], slice, round));
  };
  const auto is = [&](Slice slice, std::uint32_t round, std::size_t columns, std::size_t offset,
                      std::size_t size) {
    const std::optional<Grid> grid = launch(slice, round);
    return grid && grid->global == std::array<std::size_t, 3>{columns, size, 1} &&
           grid->offset == std::array<std::size_t, 3>{0, offset, 0};
  };
  CHECK(is({0, 10}, 0, 99, 0, 18));
  CHECK(is({10, 100}, 0, 99, 18, 178));
  CHECK(is({0, 10}, 5, 94, 0, 8));
  CHECK(is({10, 20}, 5, 94, 8, 20));
  CHECK_FALSE(launch({0, 10}, 9).has_value());
  CHECK_FALSE(launch({99, 100}, 0).has_value());
  CHECK_FALSE(launch({0, 100}, 98).has_value());
  CHECK(has(why([&] { launch({0, 100}, 99); }), "range is 100 to 99 in round 99"));
}

TEST_CASE("kernel: an array that is changed in place has its halo, and the pivot of the round") {
  const Problem problem = problem_with(
      "[[args]]\nname = 'a'\ntype = 'float'\nmap = { kind = 'halo', radius = [2, 3], pivot = "
      "'50 + round' }\naccess = 'readwrite'\n",
      100, start_with("['count']\noffset = 'global_work_offset'\n[repeat]\nrounds = 4"));
  REQUIRE(problem.fields.size() == 1);
  CHECK(problem.fields[0].in_place());
  CHECK(problem.field_of(0) == nullptr);
  CHECK(problem.field_of(1) == &problem.fields[0]);
  const auto extents = [&](Slice slice, std::uint32_t round) {
    return problem.extents(problem.args[1], slice, round);
  };
  CHECK(extents({10, 20}, 0) == std::vector<Slice>{{8, 23}, {50, 51}});
  CHECK(extents({10, 20}, 2) == std::vector<Slice>{{8, 23}, {52, 53}});
  CHECK(extents({50, 100}, 3) == std::vector<Slice>{{48, 100}});
  CHECK(extents({0, 51}, 3) == std::vector<Slice>{{0, 54}});
}

TEST_CASE("kernel: slices begin where their work-items are in proportion to their items") {
  const auto granularity = [](const std::string& launch) {
    return problem_with("", 5000, start_with(launch + "\noffset = 'global_work_offset'"))
        .granularity;
  };
  CHECK(granularity("['count']") == 1);
  CHECK(granularity("['round_up(count, 16)']\nlocal = [16]") == 16);
  CHECK(granularity("[8, 'round_up(ceil_div(count, 4), 6)']") == 24);
  CHECK(granularity("['64 * count']\nlocal = [64]") == 1);
  CHECK(has(why([&] { granularity("['count + 2']"); }),
            "global is 3 in dimension 0 for 1 items and 4 for 2"));
}

TEST_CASE("kernel: kernels of a file are found by their names, whatever stands around them") {
  CHECK(kernels_in("// __kernel void no()\n__kernel void a(int b) {}\n/* kernel void c() */ kernel "
                   "__attribute__((reqd_work_group_size(8, 1, 1))) "
                   "void d(void) {}\nvoid e() {}\n") == std::vector<std::string>{"a", "d"});
  CHECK(kernels_in("int kernel_size;").empty());
}

TEST_CASE("kernel: a T1 file of two axes is split along the last, in the rows of its groups") {
  // Kernel Tuner's test_T1_input.json in short: the range is ProblemSize, not GlobalSize.
  nlohmann::json t1 = nlohmann::json::parse(R"json({
    "ConfigurationSpace": {"TuningParameters": [
      {"Name": "bx", "Type": "int", "Values": "[16, 32]", "Default": 32},
      {"Name": "by", "Type": "int", "Values": "[1, 2]"},
      {"Name": "tile", "Type": "int", "Values": "list(range(4, 9))"}]},
    "KernelSpecification": {
      "Language": "OpenCL", "KernelName": "k", "KernelFile": "none.cl",
      "LocalSize": {"X": "bx", "Y": "by", "Z": "1"},
      "GlobalSize": {"X": "(262144 // bx) // tile", "Y": "(262144 // by) // tile", "Z": "1"},
      "GridDivX": ["bx"], "GridDivY": ["by", "tile"], "ProblemSize": [640, 480],
      "Arguments": [
        {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
         "Size": 307200},
        {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
         "FillType": "Random", "Size": "(ProblemSize[0] + tile - 1) * (ProblemSize[1] + 14)"},
        {"Name": "rows", "Type": "int32", "MemoryType": "Vector", "AccessType": "ReadWrite",
         "Size": 960},
        {"Name": "c", "Type": "custom", "TypeSize": 12, "MemoryType": "Vector",
         "AccessType": "ReadOnly", "Size": "480"}]}})json");
  const nlohmann::json made = from_t1(t1, "t1.json", "");
  CHECK(made["n"] == 480);
  CHECK(made["launch"]["global"] ==
        nlohmann::json({"ceil_div(640, bx) * (bx)", "ceil_div(count, by * tile) * (by)"}));
  CHECK(made["launch"]["local"] == nlohmann::json({"bx", "by"}));
  CHECK(made["launch"]["offset"] == "global_work_offset");
  CHECK(made["items"]["granularity"] == "by * tile");
  CHECK(made["params"] == nlohmann::json({{"bx", "32"}, {"by", "1"}, {"tile", "4"}}));
  const auto& args = made["args"];
  CHECK(args[0]["map"] == nlohmann::json({{"kind", "split"}, {"per_item", 640}}));
  CHECK(args[1]["size"] == 643 * 494);
  CHECK(args[2]["map"]["per_item"] == 2);
  CHECK((args[3]["map"] == "replicate" && args[3]["type"] == "struct" && args[3]["bytes"] == 12));
  auto& arguments = t1["KernelSpecification"]["Arguments"];
  const auto refused = [&] {
    return refusal([&] { descriptor_of_t1(t1, "t1.json", ""); }, ErrorKind::input);
  };
  arguments[0]["Size"] = 307201;
  CHECK(has(refused(), "KernelSpecification.Arguments[0].Size is 307201"));
  arguments[0]["Size"] = 307200;
  arguments[2]["Type"] = "half3x";
  CHECK(has(refused(), "t1.json: KernelSpecification.Arguments[2].Type is \"half3x\""));
  arguments[2]["Type"] = "int32";
  for (auto& one : arguments) one["AccessType"] = "ReadOnly";
  CHECK(has(refused(),
            "KernelSpecification.Arguments has none that the kernel writes "
            "(AccessType WriteOnly"));
  t1["KernelSpecification"].erase("ProblemSize");
  CHECK(has(refused(), "GlobalSize.Y depends on tuning parameters"));
}

TEST_CASE("kernel: a look at the source tells what is read, written, and by which index") {
  const std::string text =
      "float help(__global const float* p, int i) { return p[i]; }\n"
      "void sink(__global float* p, int i);\n"
      "#define AT(k) hidden[k]\n"
      "typedef float real;\n"
      "__kernel void k(__global real* in, __global float* out, __global float* both,\n"
      "    __global int* hist, __global float* passed, __global float* helped,\n"
      "    __global float* hidden, __global float4* vec, __global int* top, __global float* star,\n"
      "    int n, float a, int limit) {\n"
      "  const size_t i = get_global_id(0);\n"
      "  if (i >= n) return;  // out[i] = 0 in a comment\n"
      "  out[i] = in[i] * a + help(helped, limit) + AT(3);\n"
      "  both[i] += in[i] == out[0] ? 1 : 2;\n"
      "  atomic_inc(&hist[(int)in[i]]); atomic_add(hist + 1, 2);\n"
      "  atomic_max(&top[0], 2); top[1] = 2;\n"
      "  sink(passed, 1);\n"
      "  vstore4(1.0f, i, (__global float*)vec);\n"
      "  *(star + 2 * i) = star[0] - -1;\n"
      "}\n"
      "kernel __attribute__((reqd_work_group_size(8, 4, 1))) void rows(global float* x, int w,\n"
      "    int h, global float* y, global float* z) {\n"
      "  int c = get_global_id(0), r = get_global_id(1);\n"
      "  if (c < w && r < h) x[r * w + c] = y[c + w * r] + y[(r + 1) * w + c] + "
      "z[get_global_id(1) * w + get_global_id(0)];\n"
      "}\n";
  const KernelLook look = look_at(
      text, "k", {"in", "out", "both", "hist", "passed", "helped", "hidden", "vec", "top", "star"},
      {"n", "a", "limit"});
  CHECK(look.dimensions == 1);
  CHECK_FALSE(look.uses_groups);
  const auto use = [&](const char* name) {
    const ArrayUse& one = look.arrays.at(name);
    return std::string(one.reads ? "r" : "") + (one.writes ? "w" : "") + (one.unclear ? "?" : "") +
           (one.by_index ? "i" : "") + one.atomic;
  };
  CHECK(use("in") == "ri");
  CHECK(use("out") == "rw");
  CHECK(use("both") == "rwi");
  CHECK(use("hist") == "rwadd");  // atomic_inc adds, too
  CHECK(use("passed") == "?");
  CHECK(use("helped") == "r");
  CHECK(use("hidden") == "?");
  CHECK(use("vec") == "w");
  CHECK(use("top") == "rw");
  CHECK(use("star") == "rw");
  CHECK(look.values.at("n").bounds == 0u);
  CHECK_FALSE(look.values.at("n").otherwise);
  CHECK_FALSE(look.values.at("a").bounds.has_value());
  CHECK(type_behind(text, "real") == "float");
  CHECK(type_behind(text, "float").empty());
  const KernelLook rows = look_at(text, "rows", {"x", "y", "z"}, {"w", "h"});
  CHECK(rows.dimensions == 2);
  CHECK(rows.group == std::vector<std::string>{"8", "4"});
  CHECK((rows.arrays.at("x").by_index && rows.arrays.at("x").pitch == "w"));
  CHECK((rows.arrays.at("z").by_index && rows.arrays.at("z").pitch == "w"));
  CHECK_FALSE(rows.arrays.at("y").by_index);
  CHECK(rows.values.at("h").bounds == 1u);
  CHECK((rows.values.at("w").bounds == 0u && rows.values.at("w").otherwise));
}

TEST_CASE("kernel: of rounds, items beside a share wrap around where the array is periodic") {
  const Problem problem = problem_with(
      "[[args]]\nname = 'in'\ntype = 'float'\nmap = { kind = 'halo', radius = [2, 3], edge = "
      "'periodic' }\n",
      100,
      start_with(
          "['count']\noffset = 'global_work_offset'\n[repeat]\nrounds = 4\nswap = ['in', 'out']"));
  CHECK(problem.rounds == 4);
  CHECK(shape_of(problem).rounds == 4);
  REQUIRE(problem.fields.size() == 1);
  CHECK(problem.field_of(0) == problem.field_of(1));
  const auto extents = [&](Slice slice) { return problem.extents(problem.args[1], slice); };
  CHECK(extents({10, 20}) == std::vector<Slice>{{8, 23}});
  CHECK(extents({1, 20}) == std::vector<Slice>{{0, 23}, {99, 100}});
  CHECK(extents({90, 99}) == std::vector<Slice>{{88, 100}, {0, 2}});
  CHECK(extents({0, 100}) == std::vector<Slice>{{0, 100}, {98, 100}, {0, 3}});
}

TEST_CASE("kernel: counters of every size are read whole") {
  const std::uint64_t value = 0x0807'0605'0403'0201;
  Argument counter;
  for (const auto& [size, expected] :
       {std::pair<Bytes, std::uint64_t>{1, 0x01}, {2, 0x0201}, {4, 0x0403'0201}, {8, value}}) {
    counter.type.size = size;
    CHECK(count_in(counter, std::as_bytes(std::span(&value, 1)).first(size)) == expected);
  }
}

TEST_CASE("kernel: records are in the order of their numbers, whoever appended them first") {
  const Problem problem = problem_with(
      "[[args]]\nname = 'found'\ntype = 'uint'\naccess = 'write'\nsize = 1\nmap = "
      "'reduce'\n[[args]]\nname = 'r'\ntype = 'float2'\n"
      "access = 'write'\nsize = 5\nmap = { kind = 'append', counter = 'found' }\n");
  const Argument& one = problem.args[2];
  CHECK(one.counter == 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float first[] = {3, 1, -2, 8, 77, 77},
              second[] = {nan, 0, 3, -1};  // the third of the first was not counted
  const auto of = [&](bool swapped) {
    Records records;
    for (const bool is_first : {!swapped, swapped}) {
      if (is_first) records.add(one, std::as_bytes(std::span(first)), 2);
      if (!is_first) records.add(one, std::as_bytes(std::span(second)), 2);
    }
    std::vector<float> made(10, 5.0F);
    records.put(one, std::as_writable_bytes(std::span(made)));
    return made;
  };
  const std::vector<float> made = of(false), other = of(true);
  CHECK(std::memcmp(made.data(), other.data(), 40) == 0);
  CHECK(std::vector<float>(made.begin(), made.begin() + 6) ==
        std::vector<float>{-2, 8, 3, -1, 3, 1});
  CHECK(std::isnan(made[6]));
  CHECK((made[8] == 0 && made[9] == 0));
  Records many;
  for (int i = 0; i < 3; ++i) many.add(one, std::as_bytes(std::span(first)), 2);
  std::vector<float> room(10);
  CHECK(has(why([&] { many.put(one, std::as_writable_bytes(std::span(room))); }), "args[2].size"));
}

namespace {

struct Log {
  std::vector<Bytes> made, freed;  // their beginnings
};

class NotedPart final : public Buffer {
 public:
  NotedPart(Log& log, Bytes offset, Bytes size) : log_(log), offset_(offset), size_(size) {
    log_.made.push_back(offset);
  }
  ~NotedPart() override { log_.freed.push_back(offset_); }
  Bytes size() const override { return size_; }

 private:
  Log& log_;
  Bytes offset_, size_;
};

class PartsOnly final : public DeviceResources {
 public:
  explicit PartsOnly(Log& log) : log_(log) {}
  const DeviceTraits& traits() const override { return traits_; }
  std::unique_ptr<Buffer> allocate(Bytes size) override {
    return std::make_unique<NotedPart>(log_, 0, size);
  }
  std::unique_ptr<Kernel> kernel(std::string_view, std::string_view, const std::string&) override {
    return nullptr;
  }
  std::unique_ptr<Buffer> part(Buffer&, Bytes offset, Bytes size) override {
    return std::make_unique<NotedPart>(log_, offset, size);
  }

 private:
  Log& log_;
  DeviceTraits traits_;
};

}  // namespace

TEST_CASE("kernel parts: those that overlap are made once and freed from the youngest on") {
  Log log, others;
  PartsOnly device(log);
  const std::unique_ptr<Buffer> whole = PartsOnly(others).allocate(1 << 20);
  {
    Parts parts(device);
    for (const Bytes offset : {2048, 512, 4096, 512})
      CHECK(parts.of(*whole, offset, 8192).size() == 8192);
    CHECK(log.made == std::vector<Bytes>{2048, 512, 4096});
    parts.forget_many();
    CHECK(log.freed.empty());
  }
  CHECK(log.freed == std::vector<Bytes>{4096, 512, 2048});
}

TEST_CASE("kernel parts: too many are all freed, the youngest first, when none is in use") {
  Log log, others;
  PartsOnly device(log);
  const std::unique_ptr<Buffer> whole = PartsOnly(others).allocate(1 << 20);
  Parts parts(device);
  for (Bytes i = 0; i <= Parts::kMany; ++i) parts.of(*whole, i * 512, 512);
  parts.forget_many();
  REQUIRE(log.freed.size() == Parts::kMany + 1);
  CHECK(log.freed.front() == Parts::kMany * 512);
  CHECK(log.freed.back() == 0);
}

TEST_CASE("kernel: a check says yes or no by 0 or 1, and all else is its own failure") {
  const std::string input = "a b'c";
  CommandFiles files{{{"x", std::as_bytes(std::span(input))}}, {}, {{"n", "7"}}};
  const auto said = [&](const std::string& command) { return run_check(command, "", files, {}); };
  CHECK(said("cat {x} | grep -q \"b'c\" && [ {n} = 7 ]").empty());
  CHECK(has(said("echo one; echo two >&2; exit 1"), "\"two\""));
  const std::string old = "old", now = "new";
  files.inputs.push_back({"q", std::as_bytes(std::span(old))});
  files.outputs.push_back({"q", std::as_bytes(std::span(now))});
  CHECK(
      said("[ $(cat {q}) = new ] && [ $(cat {q.in}) = old ] && [ $(cat {q.out}) = new ]").empty());
  const std::string trace = "echo 'Traceback (most recent call last):'; ";
  CHECK(has(said(trace + "echo 'AssertionError: 1 differs'; exit 1"), "1 differs"));
  for (const auto& [command, why] :
       {std::pair<std::string, std::string>{"nothing-of-that-name", "127"},
        {"exit 2", "exit status 2"},
        {"kill -SEGV $$", "signal 11"},
        {trace + "echo 'KeyError: 1'; exit 1", "exception"}}) {
    CAPTURE(command);
    const Error error = thrown_by([&] { said("echo all of it; " + command); });
    CHECK(error.kind() == ErrorKind::input);
    CHECK((has(error.what(), why) && has(error.what(), "\nall of it")));
  }
}

TEST_CASE("kernel: a check that takes too long, or that nobody waits for, is ended") {
  const auto ended = [](const HostWatch& watch) {
    return thrown_by([&] { run_check("sleep 1000", "", {}, watch); });
  };
  const Error late = ended({nullptr, nullptr, std::chrono::milliseconds(100)});
  CHECK((late.kind() == ErrorKind::input && has(late.what(), "100 ms")));
  CHECK(ended({[] { return true; }, nullptr, {}}).kind() == ErrorKind::interrupted);
}

}  // namespace mgpu::kernel
