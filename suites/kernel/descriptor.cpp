#include "suites/kernel/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/fnv.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
#include "suites/kernel/tree.hpp"

namespace mgpu::kernel {
namespace {

constexpr std::uint64_t kMostItems = std::uint64_t{1} << 48;

}  // namespace

bool is_identifier(std::string_view name) {
  const auto ok = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), ok) &&
         !(name[0] >= '0' && name[0] <= '9');
}

namespace {

Fill read_fill(Table table, const ElementType& type, const std::filesystem::path& folder) {
  Fill fill;
  fill.kind = static_cast<FillKind>(table.choice(
      "kind", {"zero", "constant", "uniform", "normal", "ramp", "index", "file", "copy"}, 2));
  switch (fill.kind) {
    case FillKind::zero:
      break;
    case FillKind::constant:
      fill.value = table.expression("value");
      break;
    case FillKind::uniform:
      fill.seed = table.count("seed", 0);
      fill.low_text = table.expression("min", "0");
      fill.has_usual_bound = !table.has("max");
      fill.high_text = table.expression("max", fmt::format("{}", usual_bound(type.base)));
      break;
    case FillKind::normal:
      fill.seed = table.count("seed", 0);
      fill.low_text = table.expression("mean", "0");
      fill.high_text = table.expression("deviation", "1");
      break;
    case FillKind::ramp:
      fill.low_text = table.expression("first", "0");
      fill.high_text = table.expression("step", "1");
      break;
    case FillKind::index:
      fill.modulo = table.expression("modulo", "");
      break;
    case FillKind::file:
      fill.file = folder / table.text("path");
      break;
    case FillKind::copy:
      fill.of = table.text("of");
      break;
  }
  table.finish();
  return fill;
}

void read_radius(Table& map, ArgumentText& argument) {
  const std::vector<std::string> radius = map.expressions("radius");
  if (radius.empty() || radius.size() > 2)
    map.refuse("radius", "is missing; expected: items on both sides, or [before, after]");
  argument.before = radius.front();
  argument.after = radius.back();
}

Tolerance read_tolerance(Table& table) {
  const Tolerance made{table.number("abs", 0), table.number("rel", 0), table.count("ulp", 0)};
  if (made.absolute < 0 || made.relative < 0) table.refuse("abs", "or rel is negative");
  return made;
}

// Reads how accumulators combine: by an operation, or by a kernel of the user. Requires the
// argument's type.
void read_combination(Table& map, ArgumentText& argument) {
  if (!map.has("combine")) {
    argument.op =
        static_cast<Reduction>(map.choice("op", {"add", "min", "max", "xor", "or", "and"}, 0));
    if (argument.type.base == Base::none || argument.type.base == Base::f16)
      map.refuse("op", "combines no " + argument.type.name +
                           "; expected: combine = \"KERNEL\", which makes one of two");
    return;
  }
  if (map.has("op")) map.refuse("combine", "is given together with op; expected: one of them");
  CombinationText& made = argument.combine;
  made.entry = map.text("combine");
  if (!is_identifier(made.entry))
    map.refuse("combine", "is " + in_quotes(made.entry) + "; expected: the name of a kernel");
  auto tolerance = map.table("tolerance");
  if (!tolerance) return;
  made.tolerance = read_tolerance(*tolerance);
  if (argument.type.base == Base::none) {
    if (!tolerance->has("of"))
      tolerance->refuse("of", "is missing; expected: float or double, what the struct consists of");
    made.of = tolerance->choice("of", {"float", "double"}, 0) == 0 ? Base::f32 : Base::f64;
    const Bytes each = made.of == Base::f32 ? 4 : 8;
    if (argument.type.size % each != 0)
      tolerance->refuse("of", fmt::format("has {} bytes, the struct {}, which is no multiple", each,
                                          argument.type.size));
  }
  tolerance->finish();
}

// Reads the shape of an image, whose pixels have the argument's type.
void read_image(Table& map, ArgumentText& argument) {
  argument.width = map.expression("width");
  argument.height = map.expression("height");
  argument.normalized = map.flag("normalized");
  const ElementType& type = argument.type;
  const Bytes lane = type.base == Base::none ? 8 : type.lane();
  const bool is_pixel = lane <= 4 && (type.lanes == 1 || type.lanes == 2 || type.lanes == 4);
  if (!is_pixel)
    map.refuse("kind", "is image, of " + type.name +
                           "; expected: one, two or four numbers of at most 32 bits, such as float "
                           "or uchar4");
  if (argument.normalized && (type.is_float() || lane == 4))
    map.refuse("normalized", "is for integers of 8 and 16 bits");
}

// Reads `map = "split"`, or a table with its `kind`.
void read_map(Table& table, ArgumentText& argument) {
  const std::vector<std::string> kinds{"split",  "replicate", "halo",  "slice", "fixed", "ragged",
                                       "reduce", "append",    "image", "flag",  "local"};
  const nlohmann::json object = table.of_kind("map");
  if (object.is_null())
    table.refuse("map",
                 "is missing; expected: split, replicate, halo, slice, fixed, ragged, reduce, "
                 "append, image, flag, local");
  Table map(object, table.at("map"));
  if (!map.has("kind")) map.refuse("kind", "is missing");
  argument.map = static_cast<MapKind>(map.choice("kind", kinds, 0));
  switch (argument.map) {
    case MapKind::halo:
      read_radius(map, argument);
      argument.edge =
          static_cast<Edge>(map.choice("edge", {"none", "zero", "clamp", "periodic"}, 0));
      argument.pivot = map.expression("pivot", "");
      [[fallthrough]];
    case MapKind::split:
    case MapKind::slice:
      argument.per_item = map.expression("per_item", "1");
      break;
    case MapKind::fixed:
      argument.start = map.expression("start");
      argument.length = map.expression("length");
      break;
    case MapKind::ragged:
      argument.offsets = map.text("offsets");
      break;
    case MapKind::append:
      argument.counter = map.text("counter");
      break;
    case MapKind::image:
      read_image(map, argument);
      break;
    case MapKind::reduce:
      read_combination(map, argument);
      break;
    default:
      break;
  }
  const bool has_address = argument.map != MapKind::local && argument.map != MapKind::flag &&
                           argument.map != MapKind::image;
  if (has_address && map.has("address")) {
    argument.address = map.text("address");
    map.choice("address", {"rebased", "whole"}, 0);
  }
  map.finish();
  const bool sized = argument.map == MapKind::replicate || argument.map == MapKind::fixed ||
                     argument.map == MapKind::ragged || argument.map == MapKind::reduce ||
                     argument.map == MapKind::append || argument.map == MapKind::slice;
  if (argument.map == MapKind::local) {
    argument.size = table.expression("bytes");
  } else if (sized) {
    argument.size = table.expression("size");
  }
}

// Reads `fields = ["float 1.5", "int n"]`: the members of a structure, and their values if it is a
// scalar. `bytes` may make it larger.
ElementType read_structure(Table& table, std::vector<std::string>* values) {
  constexpr Bytes kMost = 65536, kMostByValue = 1024;
  ElementType made = structure(0);
  for (const std::string& field : table.texts("fields")) {
    const std::size_t space = std::min(field.find(' '), field.size()),
                      value = std::min(field.find_first_not_of(' ', space), field.size());
    const std::size_t before = made.members.size();
    if (!add_member(made, field.substr(0, space)))
      table.refuse("fields", "has " + in_quotes(field) +
                                 "; expected: a type such as float, int4 or float[3]" +
                                 (values != nullptr ? ", and its value" : ""));
    if ((value == field.size()) != (values == nullptr))
      table.refuse("fields",
                   "has " + in_quotes(field) +
                       (values != nullptr ? ", without a value; expected: a type and its value"
                                          : ", with a value; expected: a type (fill has values)"));
    if (values != nullptr)
      values->resize(values->size() + made.members.size() - before, field.substr(value));
  }
  end_members(made);
  const std::uint64_t bytes = table.count("bytes", made.size);
  if (bytes < made.size || made.size == 0 || bytes > (values != nullptr ? kMostByValue : kMost))
    table.refuse("bytes", fmt::format("is {}, the fields have {}; expected: 1 to {}", bytes,
                                      made.size, values != nullptr ? kMostByValue : kMost));
  made.size = bytes;
  return made;
}

// `values`: the argument is a scalar, whose members have these values.
ElementType read_type(Table& table, std::vector<std::string>* values = nullptr) {
  const std::string name = table.text("type");
  if (name == "struct" && table.has("fields")) return read_structure(table, values);
  if (name == "struct") {
    const std::uint64_t bytes = table.count("bytes", 0);
    if (bytes == 0 || bytes > 65536)
      table.refuse("bytes", "or fields is needed with type struct; expected: 1 to 65536 bytes");
    return structure(bytes);
  }
  if (name.find("image2d") != std::string::npos)
    table.refuse("type", "is " + in_quotes(name) +
                             "; expected: that of a pixel, such as float4, and map = { kind = "
                             "\"image\", width = .., height = .. }");
  for (const char* unknown : {"image", "sampler", "svm", "pipe"}) {
    if (name.find(unknown) != std::string::npos)
      table.refuse("type", "is " + in_quotes(name) +
                               ": no images but image2d_t are taken, and no samplers, pipes and "
                               "shared virtual memory");
  }
  const auto type = element_type(name);
  if (!type) {
    table.refuse("type", "is " + in_quotes(name) +
                             "; expected: char, short, int, long, half, float, double, the "
                             "unsigned ones (uint), vectors of these "
                             "(float4), struct");
  }
  return *type;
}

ArgumentText read_argument(Table table, const std::filesystem::path& folder) {
  ArgumentText argument;
  argument.where = table.at("");
  argument.name = table.text("name");
  if (!is_identifier(argument.name))
    table.refuse("name", "is " + in_quotes(argument.name) + "; expected: a name of OpenCL C");
  if (table.has("scalar") || (table.has("fields") && !table.has("map"))) {
    argument.map = MapKind::scalar;
    argument.type = read_type(table, &argument.members);
    if (!argument.members.empty()) {
      if (table.has("scalar"))
        table.refuse("scalar", "is given together with fields, which have the values");
      table.finish();
      return argument;
    }
    argument.scalar = table.expression("scalar");
    if (argument.type.base == Base::none || argument.type.base == Base::f16)
      table.refuse("type",
                   "is " + argument.type.name +
                       "; expected for a scalar: integers, float, double and vectors of them");
    table.finish();
    return argument;
  }
  const nlohmann::json* map = table.value("map");
  const bool local = map != nullptr && ((map->is_string() && *map == "local") ||
                                        (map->is_object() && map->value("kind", "") == "local"));
  if (!local) argument.type = read_type(table);
  read_map(table, argument);
  if (local) {
    table.finish();
    return argument;
  }
  if (argument.map == MapKind::flag) {
    if ((argument.type.base != Base::u32 && argument.type.base != Base::i32) ||
        argument.type.lanes != 1)
      table.refuse("type", "is " + argument.type.name + "; expected for a flag: uint or int");
    argument.access = Access::scratch;
    table.finish();
    return argument;
  }
  const bool combines = argument.map == MapKind::reduce || argument.map == MapKind::append;
  argument.access = static_cast<Access>(
      table.choice("access", {"read", "write", "readwrite", "scratch"}, combines ? 1 : 0));
  if (combines && argument.access != Access::write)
    table.refuse("access",
                 "is not write; an argument that is combined over slices is only written");
  const bool splits = argument.map == MapKind::split || argument.map == MapKind::slice,
             in_place = argument.map == MapKind::halo && argument.access == Access::readwrite,
             alike = argument.map == MapKind::replicate && argument.access == Access::readwrite;
  if (!combines && argument.access != Access::read && !splits && !in_place && !alike) {
    table.refuse("access",
                 argument.map == MapKind::halo
                     ? "lets slices write what others have, too; expected for a halo: read, or "
                       "readwrite together with repeat"
                 : argument.map == MapKind::replicate
                     ? "lets slices write what others have, too; expected for replicate: read, or "
                       "readwrite together with repeat"
                     : "lets slices write what others have, too; expected for this map: read "
                       "(write, readwrite and scratch need split or slice)");
  }
  if (!argument.pivot.empty() && !in_place)
    table.refuse("map.pivot", "has an effect only with access = \"readwrite\"");
  if (const nlohmann::json fill = table.of_kind("fill"); !fill.is_null()) {
    const bool begins_with_it =
        argument.access == Access::read || argument.access == Access::readwrite ||
        (argument.map == MapKind::reduce && !argument.combine.entry.empty());
    if (!begins_with_it) table.refuse("fill", "has no effect on an argument that is only written");
    argument.fill = read_fill(Table(fill, table.at("fill")), argument.type, folder);
  } else if (argument.access == Access::read) {
    argument.fill.kind = FillKind::uniform;
    argument.fill.has_usual_bound = true;
    argument.fill.high_text = fmt::format("{}", usual_bound(argument.type.base));
  }
  const bool writes = argument.access == Access::write || argument.access == Access::readwrite;
  for (const char* const key : {"sparse", "expected"})
    if (!writes && table.has(key)) table.refuse(key, "has no effect on what is no output");
  argument.sparse = table.flag("sparse");
  if (table.has("expected")) argument.expected = folder / table.text("expected");
  table.finish();
  return argument;
}

StageText read_stage(Table& table, const std::vector<ArgumentText>& args, bool named) {
  StageText stage;
  stage.where = table.at("");
  if (named) {
    stage.entry = table.text("entry");
    stage.name = table.text("name", stage.entry);
    if (table.has("after")) stage.after = table.texts("after");
    stage.args = table.texts("args");
    std::vector<std::string> known;
    for (const ArgumentText& one : args) known.push_back(one.name);
    for (const std::string& name : stage.args) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        table.refuse("args", "names " + in_quotes(name) + ", which is not among [[args]]" +
                                 did_you_mean(name, known));
    }
  }
  stage.global = table.expressions("global");
  if (stage.global.empty()) stage.global = {"count"};
  if (const nlohmann::json* local = table.value("local"); local != nullptr && *local != "device")
    stage.local = table.expressions("local");
  if (stage.global.size() > 3) table.refuse("global", "has more than three dimensions");
  stage.range = table.expressions("range");
  if (!stage.range.empty() && stage.range.size() != 2)
    table.refuse("range", "is no pair; expected: [FIRST, END], the items that it computes");
  if (!stage.local.empty() && stage.local.size() != stage.global.size())
    table.refuse("local", fmt::format("has {} dimensions, global has {}", stage.local.size(),
                                      stage.global.size()));
  return stage;
}

// Reads `swap = ["in", "out"]`, or a list of such pairs.
RepeatText read_repeat(Table table) {
  RepeatText repeat;
  repeat.where = table.at("");
  repeat.rounds = table.expression("rounds");
  repeat.flag = table.text("while", "");
  if (const nlohmann::json* given = table.value("swap")) {
    const bool one = given->is_array() && !given->empty() && given->front().is_string();
    const nlohmann::json pairs = one ? nlohmann::json::array({*given}) : *given;
    const auto is_pair = [](const nlohmann::json& pair) {
      return pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string();
    };
    if (!pairs.is_array() || !std::all_of(pairs.begin(), pairs.end(), is_pair))
      table.refuse("swap", "is no list of pairs; expected: [[INPUT, OUTPUT], ..]");
    for (const nlohmann::json& pair : pairs)
      repeat.swap.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  table.finish();
  return repeat;
}

void read_kernels(Table& root, Descriptor& made) {
  std::vector<std::string> names = root.texts("kernel");
  if (names.empty())
    root.refuse("kernel", "is missing; expected: the kernel's file, or a list of files");
  for (const std::string& name : names) made.kernels.push_back(made.folder / name);
  for (const std::string& name : root.texts("include")) made.include.push_back(made.folder / name);
}

}  // namespace

Descriptor descriptor_of(const nlohmann::json& tree, const std::string& name,
                         const std::filesystem::path& folder) {
  Descriptor made;
  made.file = name;
  made.folder = folder;
  Table root(tree, name + ": ");
  if (root.text("format", "mgpu-kernel/1") != "mgpu-kernel/1")
    root.refuse("format", "is another one; expected: mgpu-kernel/1");
  made.name = root.text("name", std::filesystem::path(name).stem().string());
  read_kernels(root, made);
  made.options = root.text("options", "");
  made.n = root.count("n", 0);
  if (made.n == 0 || made.n > kMostItems)
    root.refuse("n", "is missing; expected: the problem's size, 1 to 2^48, which --size replaces");
  made.quick = root.count("quick", made.n);
  if (made.quick == 0) root.refuse("quick", "is 0; expected: a size of 1 or more");
  if (auto params = root.table("params")) {
    for (const std::string& key : params->keys()) {
      if (!is_identifier(key) || key == "n" || key == "begin" || key == "count" || key == "end" ||
          key == "round")
        params->refuse(key.c_str(), "cannot be the name of a parameter");
      made.params[key] = params->expression(key.c_str());
    }
  }
  if (auto items = root.table("items")) {
    made.items = items->expression("count", "n");
    made.granularity = items->expression("granularity", "1");
    made.unit = items->text("unit", "items");
    items->finish();
  }
  std::set<std::string> names;
  for (Table& table : root.tables("args")) {
    made.args.push_back(read_argument(std::move(table), folder));
    if (!names.insert(made.args.back().name).second)
      root.refuse("args", "has two of the name " + in_quotes(made.args.back().name));
  }
  std::vector<Table> stages = root.tables("stages");
  auto launch = root.table("launch");
  if (launch)
    made.address =
        static_cast<Address>(launch->choice("offset", {"rebased", "global_work_offset"}, 0));
  if (stages.empty()) {
    const nlohmann::json object = nlohmann::json::object();
    Table none(object, name);
    StageText only = read_stage(launch ? *launch : none, made.args, false);
    only.entry = root.text("entry");
    for (const ArgumentText& argument : made.args) only.args.push_back(argument.name);
    made.stages.push_back(std::move(only));
  }
  if (launch) launch->finish();
  for (Table& stage : stages) {
    made.stages.push_back(read_stage(stage, made.args, true));
    stage.finish();
  }
  if (auto repeat = root.table("repeat")) made.repeat = read_repeat(std::move(*repeat));
  if (auto work = root.table("work")) {
    made.operations = work->expression("operations", "");
    made.operations_unit = work->text("unit", "FLOP");
    made.bytes = work->expression("bytes", "");
    work->finish();
  }
  if (auto check = root.table("check")) {
    made.command = check->text("command", "");
    if (auto tolerance = check->table("tolerance")) {
      made.tolerance = read_tolerance(*tolerance);
      tolerance->finish();
    }
    check->finish();
  }
  root.finish();
  if (made.args.empty()) root.refuse("args", "is missing: no argument is described");
  const auto writes = [](const ArgumentText& a) {
    return a.access == Access::write || a.access == Access::readwrite;
  };
  if (std::none_of(made.args.begin(), made.args.end(), writes))
    root.refuse("args",
                "has none that the kernel writes (access = \"write\"), so there is no result");
  return made;
}

namespace {

void add_text(Descriptor& made, const std::string& name, std::string_view text) {
  made.text += fmt::format("#line 1 \"{}\"\n{}\n", name, text);
}

}  // namespace

Descriptor read_descriptor(const std::filesystem::path& file) {
  const nlohmann::json tree = read_tree(file);
  const std::filesystem::path folder = file.parent_path();
  Descriptor made = is_t1(tree) ? descriptor_of_t1(tree, file.string(), folder)
                                : descriptor_of(tree, file.string(), folder);
  for (const std::filesystem::path& kernel : made.kernels) {
    try {
      add_text(made, kernel.string(), read_text_file(kernel));
    } catch (const Error& error) {
      throw Error(error.kind(),
                  made.file + ": kernel " + in_quotes(kernel.string()) + ": " + error.what());
    }
  }
  made.identity = fnv1a_hex(tree.dump() + made.text);
  return made;
}

Descriptor built_in_descriptor(const NamedTexts& texts) {
  const nlohmann::json tree =
      parse_tree(std::string(texts.descriptor), std::string(texts.descriptor_name));
  Descriptor made = descriptor_of(tree, std::string(texts.descriptor_name), "");
  add_text(made, std::string(texts.kernel_name), texts.kernel);
  made.identity = fnv1a_hex(tree.dump() + made.text);
  made.command.clear();  // the check's script is no part of the program
  return made;
}

}  // namespace mgpu::kernel
