#include "suites/kernel/examples.hpp"

#include <algorithm>

#include "lib/base/embedded.hpp"
#include "lib/base/error.hpp"

namespace mgpu {

std::span<const EmbeddedText> embedded_kernel_examples();  // suites/kernel/examples/*/*.toml, *.cl

namespace kernel {

const std::vector<std::string>& example_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const EmbeddedText& text : embedded_kernel_examples()) {
      if (text.file.ends_with(".toml")) all.emplace_back(text.file.substr(0, text.file.size() - 5));
    }
    std::iter_swap(all.begin(), std::find(all.begin(), all.end(), "saxpy"));
    return all;
  }();
  return names;
}

Descriptor example(const std::string& name) {
  const auto find = [&](const std::string& file) {
    for (const EmbeddedText& text : embedded_kernel_examples()) {
      if (text.file == file) return text;
    }
    throw Error(ErrorKind::internal, "no example has a file " + file);
  };
  const EmbeddedText descriptor = find(name + ".toml"), code = find(name + ".cl");
  return built_in_descriptor({descriptor.file, descriptor.text, code.file, code.text});
}

}  // namespace kernel
}  // namespace mgpu
