#include "suites/kernel/skeleton.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
#include "suites/kernel/element.hpp"

namespace mgpu::kernel {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string without_comments(const std::string& text) {
  std::string code;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string::npos ? text.size() : end + 2;
      code += ' ';
    } else {
      code += text[at++];
    }
  }
  return code;
}

std::vector<std::string> words_of(const std::string& code) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = at;
    while (end < code.size() && is_word(code[end])) ++end;
    if (end > at) {
      words.push_back(code.substr(at, end - at));
      at = end;
    } else {
      if (code[at] != ' ' && code[at] != '\t' && code[at] != '\n' && code[at] != '\r')
        words.emplace_back(1, code[at]);
      ++at;
    }
  }
  return words;
}

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

std::string argument_text(const KernelParameter& one, std::size_t number) {
  using Space = KernelParameter::Space;
  const std::string name = one.name.empty() ? fmt::format("arg{}", number) : one.name;
  std::string type = one.type;
  std::erase(type, '*');
  const auto known = element_type(type);
  std::string text = fmt::format(
      "[[args]]  # {}\nname = {}\n",
      one.type.empty() ? "of a type that this driver does not report" : one.type, quoted(name));
  if (one.space == Space::local)
    return text + "map = \"local\"\nbytes = 1024  # fill in: of a work-group\n";
  if (known) {
    text += fmt::format("type = {}\n", quoted(known->name));
  } else {
    text += "type = \"struct\"\nbytes = 16  # fill in: the size of one\n";
  }
  if (one.space == Space::value)
    return text +
           "scalar = 1  # fill in: a number, n, or of the slice begin, count, end; for what the "
           "kernel compares its index with: "
           "count\n";
  if (one.space == Space::constant)
    return text + "map = \"replicate\"\nsize = 1  # fill in: how many elements\n";
  text +=
      "map = \"split\"  # fill in: item i is element i. Or replicate, halo, slice, fixed, ragged, "
      "reduce, append\n";
  if (one.is_const) return text + "fill = { kind = \"uniform\", seed = 1 }\n";
  return text +
         "access = \"write\"  # fill in: write, readwrite, or remove this line: read. What reduce "
         "adds to begins with 0; with min it is the largest number, with max the smallest\n";
}

}  // namespace

std::vector<std::string> kernels_in(const std::string& text) {
  const std::vector<std::string> words = words_of(without_comments(text));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "__kernel" && words[i] != "kernel") continue;
    for (std::size_t at = i + 1; at + 1 < words.size() && words[at] != "{" && words[at] != ";";
         ++at) {
      const std::string& word = words[at];
      const bool name = is_word(word[0]) && word != "void" && word != "__attribute__" &&
                        words[at + 1] == "(" && words[at - 1] != "(";
      if (!name) continue;
      names.push_back(word);
      break;
    }
  }
  return names;
}

std::string skeleton(DeviceResources& device, const SuiteInfo::Descriptors::TemplateRequest& from) {
  const auto& [file, entry, options, descriptor, builds] = from;
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
    throw Error(ErrorKind::input,
                file.string() + " has several kernels; name one with --entry: " + list);
  const std::string chosen = entry.empty() ? names.front() : entry;
  if (std::find(names.begin(), names.end(), chosen) == names.end())
    throw Error(ErrorKind::input,
                fmt::format("--entry: {} has no kernel {}; it has: {}{}", file.string(),
                            in_quotes(chosen), list, did_you_mean(chosen, names)));
  const KernelSource source{file.string(),
                            fmt::format("#line 1 \"{}\"\n{}\n", file.string(), text)};
  if (builds) builds();
  const auto made = device.foreign_kernel(
      source, chosen,
      options + " -I " + file.parent_path().string() + (file.has_parent_path() ? "" : "."));
  const auto parameters = made->parameters().value_or(std::vector<KernelParameter>());
  const std::filesystem::path named =
      descriptor.empty()
          ? file.filename()
          : std::filesystem::proximate(file, std::filesystem::absolute(descriptor).parent_path());
  std::string draft = fmt::format(
      "# How {} splits over devices. Lines with \"fill in\" are guesses. Every key is explained in "
      "suites/kernel/README.md,\n"
      "# which packages install as /usr/share/doc/mgpu-bench/kernel.md.\n"
      "format = \"mgpu-kernel/1\"\n"
      "kernel = {}\n"
      "entry = {}\n"
      "{}"
      "n = 1048576  # fill in: the problem's size, which --size replaces\n"
      "quick = 4096  # fill in: a small one\n\n"
      "[items]\n"
      "count = \"n\"  # fill in: how many parts the work has that can be computed by themselves\n\n"
      "[launch]\n"
      "global = [\"count\"]  # fill in: work-items for a slice of `count` items, one to three "
      "dimensions\n"
      "local = \"device\"  # or [64]; then round_up(count, 64) above\n",
      chosen, quoted(named.string()), quoted(chosen),
      options.empty() ? "" : fmt::format("options = {}\n", quoted(options)));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    draft += "\n" + argument_text(parameters[i], i);
  return draft;
}

}  // namespace mgpu::kernel
