#include "lib/report/nccl_tests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/report/case_name.hpp"

namespace mgpu {
namespace {

// Names there and here; programs end in "_perf".
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPrograms{
    {{"all_reduce", "all-reduce"},
     {"all_gather", "all-gather"},
     {"reduce_scatter", "reduce-scatter"},
     {"alltoall", "all-to-all"},
     {"broadcast", "broadcast"},
     {"reduce", "reduce"}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{
    {{"float", "f32"}, {"double", "f64"}, {"uint32", "u32"}, {"uint64", "u64"}}};

template <class Names>
std::string translated(const Names& names, std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  return std::string(found == names.end() ? name : found->second);
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

template <class T>
std::optional<T> number(const std::string& word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Returns the collective whose program a line names: "all-reduce" for "./all_reduce_perf -g 2";
// empty: it names none.
std::string program_in(const std::string& line) {
  const std::size_t end = line.find("_perf");
  if (end == std::string::npos) return {};
  const std::size_t begin = line.find_last_of(" /", end) + 1;
  return translated(kPrograms, std::string_view(line).substr(begin, end - begin));
}

}  // namespace

std::vector<NcclTestsRow> read_nccl_tests(std::string_view text) {
  std::vector<NcclTestsRow> rows;
  std::string collective;
  std::size_t devices = 0, time_at = 0, line_number = 0;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    ++line_number;
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorKind::input, "line " + std::to_string(line_number) + ": " + why);
    };
    if (std::string program = program_in(line); !program.empty()) {
      collective = std::move(program);
      continue;
    }
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 4) continue;
    if (words[0] == "#") {
      if (words[1] == "Using") devices = 0;
      if (words[1] == "Rank") ++devices;
      const auto time = std::find(words.begin(), words.end(), "time");
      if (words[1] == "size" && time != words.end())
        time_at = static_cast<std::size_t>(time - words.begin()) - 1;
      continue;
    }
    const std::optional<std::uint64_t> bytes = number<std::uint64_t>(words[0]);
    if (!bytes || !number<std::uint64_t>(words[1])) continue;
    if (collective.empty())
      refuse("a row before a line that names its program; expected: such as # all_reduce_perf");
    if (time_at == 0 || time_at >= words.size()) refuse("a row without a heading that has a time");
    const std::optional<double> time = number<double>(words[time_at]);
    if (!time || !(*time > 0) || !(*time < 1e12)) refuse("no time in us: " + words[time_at]);
    rows.push_back({collective, translated(kTypes, words[2]), words[3], devices, *bytes,
                    Nanos{std::llround(*time * 1e3)}});
  }
  if (rows.empty()) throw Error(ErrorKind::input, "no rows of nccl-tests");
  return rows;
}

std::size_t add_nccl_tests(const std::vector<NcclTestsRow>& rows, Report& report) {
  std::size_t found = 0;
  for (RunRecord& run : report.runs) {
    if (!run.link || to_string(run.mode) != "back_to_back") continue;
    const auto param = [&](const char* name) {
      const auto value = run.params.find(name);
      return value == run.params.end() ? std::string("none") : param_text(value->second);
    };
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const NcclTestsRow& one) {
      const bool moves = param("redop") == "none";  // the type does not matter then
      return one.collective == run.suite && one.bytes == run.link->bytes &&
             (one.devices == 0 || one.devices == run.devices.size()) &&
             (moves || (one.type == param("type") && one.redop == param("redop")));
    });
    if (row == rows.end()) continue;
    run.link->nccl_tests = row->time;
    ++found;
  }
  return found;
}

}  // namespace mgpu
