#include "suites/kernel/skeleton.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
#include "suites/kernel/element.hpp"
#include "suites/kernel/launches.hpp"
#include "suites/kernel/source_look.hpp"

namespace mgpu::kernel {
namespace {

std::string toml_text(const std::string& text) { return fmt::format("\"{}\"", text); }

std::string build_options_of(const SuiteInfo::Descriptors::TemplateRequest& from) {
  return from.options + " -I " + from.file.parent_path().string() +
         (from.file.has_parent_path() ? "" : ".");
}

// Returns the compiler's message with a line per line of its log, and how to give what it lacks.
std::string build_message(std::string text) {
  const auto lacks = [&](const char* words) { return text.find(words) != std::string::npos; };
  const bool hint = lacks("undeclared") || lacks("undefined") || lacks("unknown type") ||
                    lacks("file not found") || lacks("cannot open") || lacks("could not open");
  const std::string separator = " | ";  // lib/opencl joins the lines by it
  for (std::size_t at = 0; (at = text.find(separator, at)) != std::string::npos; ++at)
    text.replace(at, separator.size(), "\n");
  return text + (hint ? "\ninit takes definitions and folders of includes as --options "
                        "\"-DNAME=VALUE -I FOLDER\""
                      : "");
}

// Writes a descriptor's text. Keys whose value nobody but the user knows are asked for.
class Draft {
 public:
  Draft(const SuiteInfo::Descriptors::TemplateRequest& from, DeviceResources& device,
        std::string source, std::string entry)
      : from_(from), device_(device), source_(std::move(source)), entry_(std::move(entry)) {}

  std::string write(const std::vector<KernelParameter>& parameters) {
    using Space = KernelParameter::Space;
    std::vector<std::string> arrays, values;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const bool array = parameters[i].space == Space::global;
      if (parameters[i].space == Space::value || array)
        (array ? arrays : values).push_back(name_of(parameters[i], i));
    }
    look_ = look_at(source_, entry_, arrays, values);
    for (auto& [name, use] : look_.arrays) {
      if (!use.pitch.empty() && pitch_.empty()) pitch_ = use.pitch;
      use.by_index &= use.pitch == pitch_;
    }
    std::string text = head();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      text += "\n" + argument(parameters[i], name_of(parameters[i], i));
    return text;
  }

 private:
  static std::string name_of(const KernelParameter& one, std::size_t number) {
    return one.name.empty() ? fmt::format("arg{}", number) : one.name;
  }

  static std::string ask(const std::string& key, const std::string& what) {
    return fmt::format("{} = # ASK: {}\n", key, what);
  }

  static std::string list(const std::vector<std::string>& words) {
    return fmt::format("[{}]", fmt::join(words, ", "));
  }

  // Returns the file of the kernel, relative to the descriptor.
  std::string file() const {
    if (from_.descriptor.empty()) return from_.file.filename().string();
    return std::filesystem::proximate(from_.file,
                                      std::filesystem::absolute(from_.descriptor).parent_path())
        .string();
  }

  std::string head() const {
    const unsigned dimensions = look_.dimensions;
    const char* const items = dimensions == 1   ? "items"
                              : dimensions == 2 ? "rows (get_global_id(1))"
                                                : "planes (get_global_id(2))";
    const std::string size =
        fmt::format("the number of {}, which are split over devices; --size replaces it", items);
    std::string text = fmt::format(
        "# How {} splits over devices. Fill in the keys with \"ASK:\"; run checks the others. "
        "Every "
        "key is explained in\n"
        "# suites/kernel/README.md, which packages install as "
        "/usr/share/doc/mgpu-bench/kernel.md.\n"
        "format = \"mgpu-kernel/1\"\nkernel = {}\nentry = {}\n{}{}",
        entry_, toml_text(file()), toml_text(entry_),
        from_.options.empty() ? "" : fmt::format("options = {}\n", toml_text(from_.options)),
        ask("n", size));
    std::vector<std::string> global, local;
    std::string params;
    const auto parameter = [&](const char* name, const std::string& what) {
      params += ask(name, what);
      return toml_text(name);
    };
    if (dimensions > 1 && !is_number(pitch_))
      global.push_back(parameter("width", "the size along get_global_id(0)"));
    else if (dimensions > 1)
      global.push_back(pitch_);
    if (dimensions > 2) global.push_back(parameter("height", "the size along get_global_id(1)"));
    global.push_back("\"count\"");
    if (!look_.group.empty()) {
      local = look_.group;
    } else if (look_.uses_groups) {
      constexpr const char* kGroup[] = {"group", "group_y", "group_z"};
      for (unsigned d = 0; d < dimensions; ++d)
        local.push_back(
            parameter(kGroup[d], fmt::format("get_local_size({}), such as 16: the kernel uses its "
                                             "work-groups",
                                             d)));
    }
    for (std::size_t d = 0; d < local.size(); ++d)
      global[d] =
          toml_text(fmt::format("round_up({}, {})", unquoted(global[d]), unquoted(local[d])));
    if (!params.empty()) text += "\n[params]\n" + params;
    text += fmt::format("\n[launch]\nglobal = {}  # for a slice of `count` {}\n", list(global),
                        dimensions == 1   ? "items"
                        : dimensions == 2 ? "rows"
                                          : "planes");
    if (!local.empty()) text += fmt::format("local = {}\n", list(local));
    return text;
  }

  static bool is_number(const std::string& word) {
    return !word.empty() && word[0] >= '0' && word[0] <= '9';
  }

  static std::string unquoted(std::string text) {
    std::erase(text, '"');
    return text;
  }

  std::string argument(const KernelParameter& one, const std::string& name) {
    using Space = KernelParameter::Space;
    std::string text =
        fmt::format("[[args]]  # {}\nname = {}\n",
                    one.type.empty() ? "of a type that this driver does not report" : one.type,
                    toml_text(name));
    if (one.space == Space::local)
      return text + "map = \"local\"\n" + ask("bytes", "bytes of local memory of a work-group");
    std::string type = one.type;
    std::erase(type, '*');
    auto known = element_type(type);
    if (!known) known = element_type(type_behind(source_, type));
    if (type == "image2d_t")
      return text + ask("type", "that of a pixel, such as \"float4\" or \"uchar4\"") +
             ask("map", "{ kind = \"image\", width = WIDTH, height = HEIGHT }");
    refuse_unsupported(one, name, type, known);
    if (one.type.empty()) {
      text += ask("type", "the parameter's type, such as \"float\"");
    } else if (known) {
      text += fmt::format("type = {}\n", toml_text(known->name));
    } else if (one.space == Space::value) {
      const std::optional<Bytes> size = size_of(type);
      return text + "type = \"struct\"\n" +
             ask("fields",
                 "its members in their order, with types and values: [\"float 0.5\", "
                 "\"int n\"]" +
                     (size ? fmt::format("; {} bytes in all", *size) : ""));
    } else {
      const std::optional<Bytes> size = size_of(type);
      text += "type = \"struct\"\n" + (size ? fmt::format("bytes = {}  # sizeof({})\n", *size, type)
                                            : ask("bytes", "sizeof(" + type + ")"));
    }
    if (one.space == Space::value) return text + scalar(name);
    if (one.space == Space::constant)
      return text + "map = \"replicate\"\n" + ask("size", "number of elements") + fill(known);
    return text + array(look_.arrays[name], one, known);
  }

  // Returns map, access and fill of an array.
  std::string array(const ArrayUse& use, const KernelParameter& one,
                    const std::optional<ElementType>& known) const {
    if (!use.atomic.empty() && !use.atomic.ends_with("xchg"))
      return fmt::format(
                 "map = {{ kind = \"reduce\", op = \"{}\" }}  # atomic_{} alone writes it\n",
                 use.atomic, use.atomic) +
             ask("size", "number of elements");
    std::string text;
    if (!use.by_index)
      text = ask("map",
                 "\"split\": item i is element i; \"replicate\", with size; { kind = \"halo\", "
                 "radius = 1 }; slice, fixed, ragged, reduce, append");
    else if (use.pitch.empty())
      text = "map = \"split\"  # it is indexed with get_global_id\n";
    else
      text = fmt::format(
          "map = {{ kind = \"split\", per_item = {} }}  # it is indexed with row * {} + column\n",
          is_number(pitch_) ? pitch_ : toml_text("width"), use.pitch);
    if (one.is_const) return text + fill(known);
    if (use.unclear)
      return text + ask("access",
                        "\"read\", \"write\", \"readwrite\" or \"scratch\": the kernel hands it "
                        "on, or uses it through a macro");
    const char* const word = use.writes ? use.reads ? "readwrite" : "write" : "read";
    return text + fmt::format("access = \"{}\"  # as the source looks\n", word) +
           (!use.reads            ? ""
            : use.writes && known ? "fill = \"uniform\"  # what it begins with; else zeros\n"
                                  : fill(known));
  }

  // Numbers by default; a structure has no numbers.
  static std::string fill(const std::optional<ElementType>& known) {
    return known ? ""
                 : ask("fill",
                       "{ kind = \"file\", path = \"FILE\" }, its raw bytes, or \"zero\"; with "
                       "fields = [\"float\", ..], the types of its members, also \"uniform\"");
  }

  std::string scalar(const std::string& name) {
    const ValueUse& use = look_.values[name];
    const bool bound = use.bounds.has_value() && !use.otherwise;
    if (bound && *use.bounds + 1 == look_.dimensions)
      return "scalar = \"count\"  # the kernel compares the item's index with it\n";
    if (look_.dimensions > 1 && name == pitch_)
      return "scalar = \"width\"  # the length of a row\n";
    if (bound && *use.bounds == 0)
      return "scalar = \"width\"  # the kernel compares get_global_id(0) with it\n";
    if (bound) return "scalar = \"height\"  # the kernel compares get_global_id(1) with it\n";
    return ask("scalar",
               "a number, or an expression: \"n\"; of a slice \"begin\", \"count\", \"end\"" +
                   std::string(use.bounds ? "; the kernel compares an index with it" : ""));
  }

  void refuse_unsupported(const KernelParameter& one, const std::string& name,
                          const std::string& type, const std::optional<ElementType>& known) const {
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: kernel {}: parameter {} is of type {}: {}", from_.file.string(),
                              entry_, in_quotes(name), one.type, why));
    };
    for (const char* const word : {"image", "sampler", "pipe", "event_t", "queue_t"}) {
      if (type.find(word) != std::string::npos && !known)
        refuse(
            "descriptors have no images but image2d_t, and no samplers, pipes and events as "
            "parameters");
    }
    if (one.space == KernelParameter::Space::value && known && known->base == Base::f16)
      refuse("descriptors give no halves by value; expected: a float");
  }

  std::optional<Bytes> size_of(const std::string& type) const {
    const KernelSource source{from_.file.string(),
                              fmt::format("#line 1 \"{}\"\n{}\n", from_.file.string(), source_)};
    return size_of_type(device_, source, build_options_of(from_), type);
  }

  const SuiteInfo::Descriptors::TemplateRequest& from_;
  DeviceResources& device_;
  const std::string source_, entry_;
  KernelLook look_;
  std::string pitch_;  // length of a row, as the source names it
};

}  // namespace

std::string skeleton(DeviceResources& device, const SuiteInfo::Descriptors::TemplateRequest& from) {
  const std::filesystem::path& file = from.file;
  const std::string& entry = from.entry;
  std::string text;
  try {
    text = read_text_file(file);
  } catch (const Error& error) {
    throw Error(error.kind(), file.string() + ": " + error.what());
  }
  const std::vector<std::string> names = kernels_in(text);
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (names.empty()) throw Error(ErrorKind::input, file.string() + " has no kernel");
  if (entry.empty() && names.size() > 1)
    throw Error(ErrorKind::input, file.string() + " has several kernels; name one with --entry: " +
                                      list + "; stages in a descriptor run several of them");
  const std::string chosen = entry.empty() ? names.front() : entry;
  if (std::find(names.begin(), names.end(), chosen) == names.end())
    throw Error(ErrorKind::input,
                fmt::format("--entry: {} has no kernel {}; it has: {}{}", file.string(),
                            in_quotes(chosen), list, did_you_mean(chosen, names)));
  const KernelSource source{file.string(),
                            fmt::format("#line 1 \"{}\"\n{}\n", file.string(), text)};
  if (from.builds) from.builds();
  std::optional<std::vector<KernelParameter>> parameters;
  try {
    parameters = device.foreign_kernel(source, chosen, build_options_of(from))->parameters();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    throw Error(error.kind(), build_message(error.what()));
  }
  if (!parameters)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{}: the driver of device {} does not report the parameters of kernel {}",
                    file.string(), device.traits().id, chosen));
  return Draft(from, device, text, chosen).write(*parameters);
}

}  // namespace mgpu::kernel
