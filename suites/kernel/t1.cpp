// Converts files of the T1 schema, which Kernel Tuner and KTT share
// (kernel_tuner/schema/T1/1.0.0/input-schema.json), to descriptors.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
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

// Returns the first number of a list such as "[16, 32]" or "list(range(1, 9))".
std::string first_number(const std::string& values) {
  const std::size_t begin = values.find_first_of("-0123456789");
  if (begin == std::string::npos) return "0";
  return values.substr(begin, values.find_first_not_of("-0123456789.e", begin) - begin);
}

// Converts a file's kernel. The problem is a range of one to three axes, the last of which is
// split.
class Conversion {
 public:
  Conversion(Table& root, Table& kernel, std::string name, const std::filesystem::path& folder)
      : kernel_(kernel), name_(std::move(name)), folder_(folder) {
    read_parameters(root);
    read_range();
  }

  Json take() {
    Json made{{"format", "mgpu-kernel/1"},
              {"kernel", kernel_.text("KernelFile")},
              {"entry", kernel_.text("KernelName")},
              {"n", sizes_.back()}};
    if (!params_.empty()) made["params"] = params_;
    if (!options_.empty()) made["options"] = options_;
    if (!per_group_.empty()) made["items"] = {{"count", "n"}, {"granularity", per_group_}};
    made["launch"] = {{"global", global_}};
    if (!local_.empty()) made["launch"]["local"] = local_;
    // A kernel of several axes reads arrays of other sizes by the index of the whole problem.
    if (sizes_.size() > 1 && !asks_for_groups()) made["launch"]["offset"] = "global_work_offset";
    made["args"] = Json::array();
    std::size_t number = 0;
    for (Table& table : kernel_.tables("Arguments"))
      made["args"].push_back(argument(table, number++));
    return made;
  }

 private:
  // Tuning parameters become definitions of the kernel, with their default or first value; --set
  // takes another.
  void read_parameters(Table& root) {
    for (const std::string& one : kernel_.texts("CompilerOptions"))
      options_ += (options_.empty() ? "" : " ") + one;
    auto space = root.table("ConfigurationSpace");
    if (!space) return;
    for (Table& table : space->tables("TuningParameters")) {
      const std::string parameter = table.text("Name"), values = table.expression("Values");
      const std::string value = table.expression("Default", first_number(values));
      params_[parameter] = value;
      names_[parameter] = Expression(table.at("Default"), value, {}).evaluate();
      options_ += fmt::format("{}-D{}=${{{}}}", options_.empty() ? "" : " ", parameter, parameter);
    }
  }

  // Returns an expression of Python, whose integers are divided by //, as one of C.
  static std::string in_c(std::string text) {
    for (std::size_t at = 0; (at = text.find("//", at)) != std::string::npos;) text.erase(at, 1);
    return text;
  }

  // Returns the value of an expression of Python; nothing if it is not known.
  std::optional<std::uint64_t> value(std::string text) const {
    text = in_c(std::move(text));
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const std::string from = fmt::format("ProblemSize[{}]", d);
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
        text.replace(at, from.size(), std::to_string(sizes_[d]));
    }
    try {
      return Expression(name_, text, names_).count();
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void read_range() {
    auto local = kernel_.table("LocalSize");
    const std::vector<std::string> problem = kernel_.expressions("ProblemSize");
    for (const std::string& size : problem) {
      const auto items = value(size);
      if (!items || *items == 0)
        kernel_.refuse("ProblemSize", "is " + size + "; expected: a number for each axis");
      sizes_.push_back(*items);
      texts_.push_back(std::to_string(*items));
    }
    while (sizes_.size() > 1 && sizes_.back() == 1) sizes_.pop_back();
    if (sizes_.size() > 3) kernel_.refuse("ProblemSize", "has more than three axes");
    if (problem.empty()) read_global_size(local);
    const char* const axes[] = {"X", "Y", "Z"};
    for (std::size_t d = 0; local && d < sizes_.size(); ++d)
      local_.push_back(in_c(local->expression(axes[d], "1")));
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const bool last = d + 1 == sizes_.size();
      const std::string items = last ? "count" : texts_[d];
      // Kernel Tuner launches a group for GridDivX * .. items, by default for a group of LocalSize.
      std::string each = fmt::format(
          "{}", fmt::join(kernel_.expressions(fmt::format("GridDiv{}", axes[d]).c_str()), " * "));
      if (problem.empty() || local_.empty()) {
        global_.push_back(items);
        continue;
      }
      if (each.empty()) each = local_[d];
      global_.push_back(fmt::format("ceil_div({}, {}) * ({})", items, each, local_[d]));
      if (last) per_group_ = each;
    }
  }

  // Reads the range as KTT gives it: work-items, or groups if the type is CUDA's.
  void read_global_size(std::optional<Table>& local) {
    auto global = kernel_.table("GlobalSize");
    if (!global) kernel_.refuse("GlobalSize", "is missing; expected: this, or ProblemSize");
    const bool groups = kernel_.choice("GlobalSizeType", {"OpenCL", "CUDA"}, 0) == 1;
    const char* last = "X";
    for (const char* const axis : {"X", "Y", "Z"}) {
      if (!global->has(axis)) break;
      std::string text = global->expression(axis);
      if (groups && local) text = fmt::format("({}) * ({})", text, local->expression(axis, "1"));
      const auto items = value(text);
      if (!items || *items == 0)
        global->refuse(axis, "is " + in_quotes(text) + "; expected: a number of work-items");
      sizes_.push_back(*items);
      texts_.push_back(in_c(text));
      if (*items > 1) last = axis;
    }
    if (sizes_.empty()) global->refuse("X", "is missing");
    while (sizes_.size() > 1 && sizes_.back() == 1) sizes_.pop_back();
    const bool varies = std::any_of(names_.begin(), names_.end(), [&](const auto& parameter) {
      return global->expression(last).find(parameter.first) != std::string::npos;
    });
    if (varies)
      global->refuse(last,
                     "depends on tuning parameters, so what is split is not known; expected: a "
                     "number on the last axis, or ProblemSize");
  }

  bool asks_for_groups() const {
    try {
      const std::string text = read_text_file(folder_ / kernel_.text("KernelFile"));
      return text.find("get_group_id") != std::string::npos ||
             text.find("get_num_groups") != std::string::npos;
    } catch (const Error&) {
      return false;  // what reads the kernel reports it
    }
  }

  Json argument(Table& table, std::size_t number) const {
    Json made;
    made["name"] = table.text("Name", "arg" + std::to_string(number));
    made["type"] = type_of(table);
    if (made["type"] == "custom") {
      made["type"] = "struct";
      made["bytes"] = table.count("TypeSize", 0);
      if (made["bytes"] == 0) table.refuse("TypeSize", "is missing; expected: the bytes of one");
    }
    const std::size_t memory = table.choice("MemoryType", {"Scalar", "Vector", "Local"}, 0);
    if (memory == 0) {
      made["scalar"] = table.expression("FillValue");
      table.value("FillType");
      return made;
    }
    const std::string text = table.expression("Size");
    const auto size = value(text);
    if (!size || *size == 0)
      table.refuse("Size", "is " + in_quotes(text) + "; expected: a number of elements");
    if (memory == 2) {
      const auto type = element_type(made["type"].get<std::string>());
      made.erase("type");
      made["map"] = "local";
      made["bytes"] = *size * (type ? type->size : 1);
      return made;
    }
    const std::vector<std::string> ways{"read", "write", "readwrite"};
    const std::size_t way = table.choice("AccessType", {"ReadOnly", "WriteOnly", "ReadWrite"}, 0);
    made["access"] = ways[way];
    std::uint64_t all = 1;
    for (const std::uint64_t one : sizes_) all *= one;
    // An array of an element per work-item is split; so is what the kernel writes, in rows.
    const std::uint64_t items = sizes_.back();
    const bool splits = *size == all || (way != 0 && *size % items == 0);
    if (way != 0 && !splits)
      table.refuse("Size", fmt::format("is {} elements of an array that is written; expected: a "
                                       "multiple of the last axis, {}, which is split",
                                       *size, items));
    if (splits) {
      made["map"] = {{"kind", "split"}, {"per_item", *size / items}};
    } else {
      made["map"] = "replicate";
      made["size"] = *size;
    }
    if (way != 1) made["fill"] = fill_of(table);
    return made;
  }

  Table& kernel_;
  const std::string name_;
  const std::filesystem::path& folder_;
  Json params_ = Json::object();
  Names names_;  // tuning parameters
  std::string options_, per_group_;
  std::vector<std::uint64_t> sizes_;  // work-items by axis, or items that the work-items share
  std::vector<std::string> texts_, global_, local_;
};

}  // namespace

bool is_t1(const Json& tree) { return tree.contains("KernelSpecification"); }

Json from_t1(const Json& t1, const std::string& name, const std::filesystem::path& folder) {
  Table root(t1, name + ": ");
  Table kernel = *root.table("KernelSpecification");
  if (const std::string language = kernel.text("Language", "OpenCL"); language != "OpenCL")
    kernel.refuse("Language", "is " + in_quotes(language) + "; expected: OpenCL");
  return Conversion(root, kernel, name, folder).take();
}

Descriptor descriptor_of_t1(const Json& t1, const std::string& name,
                            const std::filesystem::path& folder) {
  // Messages name the keys of the file.
  const auto at = [](std::size_t number) {
    return fmt::format("KernelSpecification.Arguments[{}]", number);
  };
  const Json tree = from_t1(t1, name, folder);
  try {
    Descriptor made = descriptor_of(tree, name, folder);
    for (std::size_t i = 0; i < made.args.size(); ++i) made.args[i].where = name + ": " + at(i);
    return made;
  } catch (const Error& error) {
    std::string what = error.what();
    for (std::size_t i = 0; i < tree["args"].size(); ++i) {
      const std::string ours = fmt::format("args[{}]", i);
      const std::size_t found = what.find(ours);
      if (found != std::string::npos) what.replace(found, ours.size(), at(i));
    }
    for (const auto& [ours, theirs] :
         {std::pair{".access ", ".AccessType "}, std::pair{".type ", ".Type "},
          std::pair{".bytes ", ".TypeSize "}, std::pair{".name ", ".Name "},
          std::pair{": args ", ": KernelSpecification.Arguments "},
          std::pair{"(access = \"write\")", "(AccessType WriteOnly or ReadWrite)"}}) {
      const std::size_t found = what.find(ours);
      if (found != std::string::npos) what.replace(found, std::string(ours).size(), theirs);
    }
    throw Error(error.kind(), what);
  }
}

}  // namespace mgpu::kernel
