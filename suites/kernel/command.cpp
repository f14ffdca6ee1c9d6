#include "suites/kernel/command.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu::kernel {
namespace {

namespace fs = std::filesystem;

// A folder of its own, which goes with everything in it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "mgpu-check-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw Error(ErrorKind::output, "check.command: no folder for its files: " + pattern);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string write(const CommandFiles::One& one, const char* suffix) const {
    const fs::path file = path_ / (one.name + suffix);
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(one.bytes.data()),
              static_cast<std::streamsize>(one.bytes.size()));
    if (!out.flush())
      throw Error(ErrorKind::output,
                  "check.command: " + in_quotes(file.string()) + " cannot be written");
    return file.string();
  }

 private:
  fs::path path_;
};

std::string for_shell(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

std::string run_check(const std::string& command, const fs::path& folder,
                      const CommandFiles& files) {
  const Scratch scratch;
  std::string line = command, inputs, outputs;
  // Results first: {NAME} of an argument that is read and written is what became of it.
  for (const auto& [ones, all, suffix] :
       {std::tuple{&files.outputs, &outputs, ".out"}, std::tuple{&files.inputs, &inputs, ".in"}}) {
    for (const CommandFiles::One& one : *ones) {
      const std::string file = for_shell(scratch.write(one, suffix));
      *all += (all->empty() ? "" : " ") + file;
      replace(line, "{" + one.name + "}", file);
      replace(line, "{" + one.name + suffix + "}", file);
    }
  }
  replace(line, "{inputs}", inputs);
  replace(line, "{output}", outputs);
  for (const auto& [name, value] : files.values) replace(line, "{" + name + "}", value);
  if (!folder.empty()) line = "cd " + for_shell(fs::absolute(folder).string()) + " && " + line;
  const std::string whole = "{ " + line + "; } </dev/null 2>&1";
  std::FILE* const pipe = ::popen(whole.c_str(), "r");
  if (pipe == nullptr) return "check.command cannot be run";
  std::string last;
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) {
    std::string text = part;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (!text.empty()) last = text;
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return fmt::format("check.command {}{}",
                     WIFEXITED(status)
                         ? fmt::format("says no (exit status {})", WEXITSTATUS(status))
                         : "was killed",
                     last.empty() ? "" : ": " + in_quotes(last));
}

}  // namespace mgpu::kernel
