#include "tests/unit/app/transcript.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "app/child_run.hpp"
#include "app/dispatch.hpp"
#include "app/rank.hpp"
#include "app/saved_results.hpp"
#include "app/terminal.hpp"
#include "lib/base/text_file.hpp"
#include "suites/suites.hpp"
#include "tests/support/fake_calibration.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sum_suite.hpp"
#include "tests/support/trace_checker.hpp"

namespace mgpu::test {
namespace {

namespace fs = std::filesystem;

// The current folder of this process for the lifetime of the object: empty except for links to the
// source.
class WorkFolder {
 public:
  WorkFolder() {
    for (const char* name : {"tests", "results", "suites"})
      fs::create_symlink(mgpu::test::source_folder() / name, folder_.path() / name);
    fs::current_path(folder_.path());
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() { fs::current_path(before_); }
  const fs::path& path() const { return folder_.path(); }

 private:
  fs::path before_ = fs::current_path();
  TemporaryFolder folder_;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void write_npy(std::istream& words) {
  std::string file, type, shape;
  words >> file >> type >> shape;
  std::vector<double> values;
  for (std::string word; words >> word;) values.push_back(std::stod(word));  // accepts nan and inf
  std::size_t count = 1;
  const std::regex number("[0-9]+");
  for (std::sregex_iterator at(shape.begin(), shape.end(), number), end; at != end; ++at)
    count *= std::stoul(at->str());
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.resize(117, ' ');
  std::ofstream out(file, std::ios::binary);
  out << std::string_view("\x93NUMPY\x01\0\x76\0", 10) << header << '\n';
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values.empty() ? 0 : values[std::min(i, values.size() - 1)];
    const auto put = [&](auto as) { out.write(reinterpret_cast<const char*>(&as), sizeof as); };
    if (type == "<f8") put(value);
    if (type == "<f4") put(static_cast<float>(value));
    if (type == "<i4") put(static_cast<std::int32_t>(value));
    if (type == "<u4") put(static_cast<std::uint32_t>(value));
  }
}

std::vector<std::string> rows(std::istream& words) {
  std::string file, pointer;
  words >> file >> pointer;
  const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
  const auto document = nlohmann::json::parse(file_text(file), nullptr, false);
  const nlohmann::json::json_pointer at(pointer);
  if (document.is_discarded() || !document.contains(at)) return {"nothing"};
  const auto& list = document.at(at);
  if (fields.empty()) return {list.dump()};
  std::vector<std::string> made;
  for (const auto& element : list) {
    std::vector<std::string> row;
    for (const std::string& field : fields) {
      const nlohmann::json::json_pointer place("/" + field);
      row.push_back(!element.contains(place)        ? "none"
                    : element.at(place).is_string() ? element.at(place).get<std::string>()
                                                    : element.at(place).dump());
    }
    made.push_back(fmt::format("{}", fmt::join(row, " ")));
  }
  return made;
}

// Executes a line of "edit", the file, the new file, then pairs. Returns the texts that the file
// lacks.
std::vector<std::string> edit(const std::vector<std::string>& words) {
  const auto with_line_ends = [](std::string text) {
    for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;)
      text.replace(at, 2, "\n");
    return text;
  };
  std::string text = file_text(words.at(1));
  for (std::size_t k = 3; k + 1 < words.size(); k += 2) {
    const std::string what = with_line_ends(words[k]);
    const std::size_t at = text.find(what);
    if (at == std::string::npos) return {words[1] + " does not have " + words[k]};
    text.replace(at, what.size(), with_line_ends(words[k + 1]));
  }
  std::ofstream(words[2], std::ios::binary) << text;
  return {};
}

class Player {
 public:
  std::string play(std::string_view transcript) {
    std::ofstream file;
    for (const std::string& line : lines_of(transcript)) {
      if (line.starts_with("  ") || line.starts_with("!") || line.starts_with("=")) continue;
      played_ += line + "\n";
      std::istringstream words(line);
      std::string first, name;
      words >> first;
      if (first == "|") {
        file << (line.size() > 2 ? line.substr(2) : "") << '\n';
        continue;
      }
      if (file.is_open()) file.close();
      if (first == ">") {
        words >> name;
        file.open(name, std::ios::binary);
      } else if (first == "$" || first == "$-") {
        call(line.substr(std::min(line.size(), first.size() + 1)), first == "$");
      } else if (first == "?") {
        for (const std::string& row : rows(words)) played_ += "  " + row + "\n";
      } else if (first == "npy") {
        write_npy(words);
      } else if (first == "edit") {
        show("  ", edit(split_words("", line)));
      } else if (first == "cat") {
        words >> name;
        show("  ", lines_of(read_text_file(name)));
      } else if (first == "check") {
        words >> name;
        const auto breaches = check_chrome_trace(read_text_file(name));
        show("  ",
             breaches.empty() ? std::vector<std::string>{"obeys the rules of traces"} : breaches);
      } else if (first == "bytes") {
        std::size_t count = 0;
        words >> name >> count;
        std::ofstream(name) << std::string(count, '\0');
      } else if (first == "devices") {
        words >> devices_;
      } else if (first == "suites") {
        suites_ = {sum_suite(true)};
        suites_.front().modes = {Mode::resident, Mode::end_to_end};
        suites_.front().host_bytes = [](const SuiteParams& params) { return 8 * params.size; };
        suites_.front().size_of_input = [](SuiteParams&) { return std::uint64_t{0}; };
      } else if (first == "mask") {
        masks_.emplace_back(line.substr(5));
      } else if (!first.empty() && first != "#") {
        throw std::runtime_error("no line of a transcript: " + line);
      }
    }
    return played_;
  }

 private:
  void call(const std::string& line, bool shows) {
    std::vector<std::string> argv{"mgpu-bench"};
    std::map<std::string, std::string> variables{{"XDG_CACHE_HOME", folder_.path() / "cache"},
                                                 {"XDG_STATE_HOME", folder_.path() / "state"},
                                                 {"OCL_ICD_VENDORS", "/nonexistent"}};
    static const std::regex variable("([A-Z_]+)=(.*)");
    for (std::string word : split_words("", line)) {
      if (const std::size_t at = word.find("TMP"); at != std::string::npos)
        word.replace(at, 3, folder_.path().string());
      std::smatch parts;
      if (argv.size() == 1 && std::regex_match(word, parts, variable)) {
        variables[parts[1]] = parts[2];
      } else {
        argv.push_back(word);
      }
    }
    const Environment environment(variables);
    const std::span<const SuiteInfo> suites = suites_.empty() ? all_suites() : suites_;
    CapturedOutput captured;
    const int code = exit_code_of([&] {
      Invocation invocation = parse_command_line(argv, suites, environment, "mgpu-bench 0\n");
      print_data(invocation.text);
      if (invocation.command.empty()) return invocation.code;
      for (const std::string& warning : invocation.warnings) print_error("warning: " + warning);
      resolve_saved_results(invocation, environment);
      return run_command(
          {invocation, environment, suites, {"0", "", argv}, [&] { return backend(); }});
    });
    std::vector<std::string> said = lines_of(captured.err);
    for (std::string& one : said) {
      if (one.starts_with("mgpu-bench: ")) one.erase(0, 12);
    }
    if (shows) show("  ", lines_of(captured.out));
    if (code != 0 && captured.out.empty() && said.size() == 1) {
      show(fmt::format("={} ", code), said);
    } else {
      show("! ", said);
      if (code != 0) played_ += fmt::format("= {}\n", code);
    }
  }

  void show(const std::string& before, const std::vector<std::string>& lines) {
    for (std::string line : lines) {
      for (std::size_t at = 0; (at = line.find(folder_.path().string(), at)) != std::string::npos;)
        line.replace(at, folder_.path().string().size(), "TMP");
      for (const std::regex& mask : masks_) line = std::regex_replace(line, mask, "..");
      played_ += before + line + "\n";
    }
  }

  std::unique_ptr<Backend> backend() const {
    std::vector<FakeDevice> fakes;
    for (std::size_t k = 0; k < devices_; ++k) {
      fakes.push_back(calibration_device(fmt::format("0:{}", k), DeviceType::cpu));
      fakes.back().facts.local_memory = 1 << 15;
      // Makes calibration faster.
      if (!suites_.empty()) fakes.back().facts.max_allocation = 1 << 20;
    }
    FakeKernels kernels = calibration_kernels();
    kernels.merge(sum_kernels());
    kernels["sum_slice"].ops = [](const Grid&, std::span<const FakeArg> args) {
      return 1e6 * static_cast<double>(std::get<std::uint64_t>(args[2]));  // a microsecond per item
    };
    return std::make_unique<FakeBackend>(fakes, kernels);
  }

  WorkFolder folder_;
  std::string played_;
  std::size_t devices_ = 0;
  std::vector<SuiteInfo> suites_;  // none: the suites of the program
  std::vector<std::regex> masks_;
};

}  // namespace

std::string replayed(std::string_view transcript) { return Player().play(transcript); }

}  // namespace mgpu::test

TEST_CASE("commands print what their transcripts say") {
  using namespace mgpu::test;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_folder() / "tests/golden/cli")) {
    const std::string name = "cli/" + entry.path().filename().string();
    CAPTURE(name);
    const std::string now = replayed(file_text(entry.path()));
    // Compares call by call, so that only the difference is shown.
    std::istringstream expected(golden(name, now)), found(now);
    std::string call;
    for (std::string line, other; std::getline(expected, line);) {
      if (line.starts_with("$")) call = line;
      CAPTURE(call);
      REQUIRE(std::getline(found, other));
      CHECK(other == line);
      if (other != line) break;  // the lines after it are shifted
    }
    std::string more;
    CHECK_FALSE_MESSAGE(std::getline(found, more), more);
  }
}
