// Converts files of the T1 schema, which Kernel Tuner and KTT share
// (kernel_tuner/schema/T1/1.0.0/input-schema.json), to descriptors.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "suites/kernel/descriptor.hpp"
#include "suites/kernel/tree.hpp"

namespace mgpu::kernel {
namespace {

using Json = nlohmann::json;

// Returns the OpenCL C type. T1 names types as C++ does, and a few as OpenCL C does.
std::string type_of(Table& table) {
  const std::string name = table.text("Type");
  const std::pair<const char*, const char*> known[] = {
      {"int8", "char"},     {"uint8", "uchar"},  {"int16", "short"},
      {"uint16", "ushort"}, {"int32", "int"},    {"uint32", "uint"},
      {"int64", "long"},    {"uint64", "ulong"}, {"bool", "uchar"}};
  for (const auto& [theirs, ours] : known) {
    if (name == theirs) return ours;
  }
  return name;
}

Json fill_of(Table& table) {
  const std::size_t kind = table.choice("FillType", {"Constant", "Random", "BinaryRaw"}, 0);
  if (kind == 2) return {{"kind", "file"}, {"path", table.text("DataSource")}};
  if (kind == 1) {
    Json fill{{"kind", "uniform"}, {"seed", table.count("RandomSeed", 0)}};
    if (table.has("FillValue")) fill["max"] = table.number("FillValue", 1);
    return fill;
  }
  return {{"kind", "constant"}, {"value", table.expression("FillValue", "0")}};
}

Json argument_of(Table& table, std::size_t number, const std::string& items) {
  Json made;
  made["name"] = table.text("Name", "arg" + std::to_string(number));
  made["type"] = type_of(table);
  const std::size_t memory = table.choice("MemoryType", {"Scalar", "Vector", "Local"}, 0);
  if (memory == 0) {
    made["scalar"] = table.expression("FillValue");
    table.value("FillType");
    return made;
  }
  const std::string size = table.expression("Size");
  if (memory == 2) {
    const auto type = element_type(made["type"].get<std::string>());
    made.erase("type");
    made["map"] = "local";
    made["bytes"] = fmt::format("({}) * {}", size, type ? type->size : 1);
    return made;
  }
  const bool splits = size == items;
  made["map"] = splits ? "split" : "replicate";
  if (!splits) made["size"] = size;
  made["access"] = std::vector<std::string>{
      "read", "write",
      "readwrite"}[table.choice("AccessType", {"ReadOnly", "WriteOnly", "ReadWrite"}, 0)];
  if (made["access"] != "write") made["fill"] = fill_of(table);
  return made;
}

}  // namespace

bool is_t1(const Json& tree) { return tree.contains("KernelSpecification"); }

Json from_t1(const Json& t1, const std::string& name) {
  Table root(t1, name + ": ");
  Table kernel = *root.table("KernelSpecification");
  if (const std::string language = kernel.text("Language", "OpenCL"); language != "OpenCL")
    kernel.refuse("Language", "is " + in_quotes(language) + "; expected: OpenCL");
  Json made{{"format", "mgpu-kernel/1"},
            {"kernel", kernel.text("KernelFile")},
            {"entry", kernel.text("KernelName")}};
  std::string options;
  for (const std::string& one : kernel.texts("CompilerOptions"))
    options += (options.empty() ? "" : " ") + one;
  // Tuning parameters become definitions of the kernel, with their first value; --set takes
  // another.
  Json params = Json::object();
  if (auto space = root.table("ConfigurationSpace")) {
    for (Table& parameter : space->tables("TuningParameters")) {
      const std::string parameter_name = parameter.text("Name"),
                        values = parameter.expression("Values");
      const std::size_t begin = values.find_first_not_of("[ "),
                        end = values.find_first_of(",]", begin);
      params[parameter_name] = begin == std::string::npos ? "0" : values.substr(begin, end - begin);
      options +=
          fmt::format("{}-D{}=${{{}}}", options.empty() ? "" : " ", parameter_name, parameter_name);
    }
  }
  if (!params.empty()) made["params"] = params;
  if (!options.empty()) made["options"] = options;
  auto global = kernel.table("GlobalSize");
  if (!global) kernel.refuse("GlobalSize", "is missing");
  const bool groups = kernel.choice("GlobalSizeType", {"OpenCL", "CUDA"}, 0) == 1;
  std::vector<std::string> sizes, locals;
  auto local = kernel.table("LocalSize");
  for (const char* axis : {"X", "Y", "Z"}) {
    if (!global->has(axis)) break;
    sizes.push_back(global->expression(axis));
    if (local) locals.push_back(local->expression(axis, "1"));
    if (groups && local) sizes.back() = fmt::format("({}) * ({})", sizes.back(), locals.back());
  }
  if (sizes.empty()) global->refuse("X", "is missing");
  // The size of the slowest axis is the problem's size.
  const std::string items = sizes.back();
  std::uint64_t n = 0;
  try {
    n = Expression(name + ": GlobalSize", items, {}).count();
  } catch (const Error&) {
    global->refuse("X",
                   "depends on tuning parameters, so what is split is not known; expected: a "
                   "number on the last axis");
  }
  made["n"] = n;
  sizes.back() = "count";
  made["launch"] = {{"global", sizes}};
  if (!locals.empty()) made["launch"]["local"] = locals;
  made["args"] = Json::array();
  std::size_t number = 0;
  for (Table& table : kernel.tables("Arguments"))
    made["args"].push_back(argument_of(table, number++, items));
  return made;
}

}  // namespace mgpu::kernel
