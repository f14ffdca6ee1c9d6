#include "app/saved_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "app/environment.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/journal.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForm = "dddd-dd-ddTddddddZ";  // d stands for a digit
constexpr std::string_view kEnd = ".json.gz";
constexpr std::string_view kLast = "last", kStandardInput = "-";

using Age = std::pair<std::string, std::size_t>;  // begin, and number within that second

fs::path name_of(const Age& age, const std::string& what) {
  const std::string number = age.second > 1 ? fmt::format(".{}", age.second) : "";
  return fmt::format("{}{}-{}{}", age.first, number, what, kEnd);
}

std::optional<std::size_t> to_index(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Parses a name that name_of() makes; none: another name, whose file must not be touched.
std::optional<Age> age_of(std::string_view name) {
  if (name.size() < kForm.size() + kEnd.size() || !name.ends_with(kEnd)) return std::nullopt;
  const bool fits = std::equal(kForm.begin(), kForm.end(), name.begin(), [](char form, char c) {
    return form == 'd' ? is_digit(c) : form == c;
  });
  if (!fits) return std::nullopt;
  Age age{std::string(name.substr(0, kForm.size())), 1};
  std::string_view rest = name.substr(kForm.size(), name.size() - kForm.size() - kEnd.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  if (dash > 0) {
    const auto number = rest.front() == '.' ? to_index(rest.substr(1, dash - 1)) : std::nullopt;
    if (!number) return std::nullopt;
    age.second = *number;
  }
  const std::string_view what = rest.substr(dash + 1);
  const auto of_suites = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_' || c == '+';
  };
  if (what.empty() || !std::all_of(what.begin(), what.end(), of_suites)) return std::nullopt;
  if (name_of(age, std::string(what)) != name) return std::nullopt;  // refuses ".1" and ".02"
  return age;
}

struct Saved {
  fs::path file;
  bool finished = false;  // it has a result file, not only a journal
};

// Returns all saved results by age, the oldest first.
std::map<std::pair<Age, std::string>, Saved> all_saved(const fs::path& folder) {
  std::map<std::pair<Age, std::string>, Saved> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    const std::string journal = journal_of("").string();
    const bool is_journal = name.ends_with(journal);
    if (is_journal) name.resize(name.size() - journal.size());
    const auto age = age_of(name);
    if (!age) continue;
    std::error_code gone;  // reading a pipe of such a name would block
    if (!fs::is_regular_file(entry->status(gone))) continue;
    Saved& saved = found[{*age, name}];
    saved.file = folder / name;
    saved.finished |= !is_journal;
  }
  return found;
}

// Returns the results that it removed.
std::vector<fs::path> remove_oldest(const fs::path& folder, std::size_t most) {
  const auto all = all_saved(folder);
  std::size_t left = all.size();
  std::vector<fs::path> removed;
  for (const auto& [age, saved] : all) {
    if (left <= most) break;
    try {
      const FileLock nobody_writes_it(saved.file);
      std::error_code ignored;
      fs::remove(saved.file, ignored);
      fs::remove(journal_of(saved.file), ignored);
      removed.push_back(saved.file);
      --left;
    } catch (const Error&) {  // it is being written: the next oldest is removed instead
    }
  }
  return removed;
}

bool has_name(const fs::path& file) {
  std::error_code error;
  return fs::exists(fs::symlink_status(file, error));
}

fs::path resolved(const std::string& from, const std::string& text, std::size_t index,
                  const fs::path& folder, bool unfinished) {
  if (folder.empty()) {
    throw Error(ErrorKind::input, fmt::format("{}: {}: no results are kept, as neither "
                                              "XDG_STATE_HOME nor HOME is set; expected: a file",
                                              from, text));
  }
  const std::vector<fs::path> all = saved_results(folder, unfinished);
  if (index < all.size()) return all[index];
  const std::vector<fs::path> begun = saved_results(folder, true);
  const bool killed = !begun.empty() && std::find(all.begin(), all.end(), begun[0]) == all.end();
  const std::string how_to_continue =
      killed ? "; the last run was killed before it had one: the same command with --resume last "
               "continues it"
             : "";
  throw Error(
      ErrorKind::input,
      all.empty()
          ? fmt::format("{}: {}: {} has no result yet; run and links keep one there without -o; "
                        "expected: a file (./{} is "
                        "one too){}",
                        from, text, folder.string(), text, how_to_continue)
          : fmt::format("{}: {}: there {} in {}; expected: last{}, or a file{}", from, text,
                        all.size() == 1 ? "is 1 result" : fmt::format("are {} results", all.size()),
                        folder.string(),
                        all.size() == 1 ? "" : fmt::format(" to last~{}", all.size() - 1),
                        how_to_continue));
}

}  // namespace

fs::path new_saved_result(const fs::path& folder, const std::string& began, const std::string& what,
                          OutputFiles& outputs, std::size_t most, std::vector<fs::path>* removed) {
  Age age{began, 1};
  std::erase(age.first, ':');  // some file systems do not allow colons
  // Numbers all results of one second, whatever their suites, so that order by age is that of
  // beginning.
  for (const auto& [other, saved] : all_saved(folder)) {
    if (other.first.first == age.first) age.second = std::max(age.second, other.first.second + 1);
  }
  for (;; ++age.second) {
    const fs::path file = folder / name_of(age, what);
    const auto taken = [&] { return has_name(file) || has_name(journal_of(file)); };
    if (taken()) continue;
    try {
      outputs.add(file);
      if (taken()) {  // a run ended between the two calls
        outputs.remove(file);
        continue;
      }
      auto gone = remove_oldest(folder, most - 1);
      if (removed != nullptr) *removed = std::move(gone);
      return file;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;  // else another run of the same second has it
    }
  }
}

void keep_result(const Context& context, const std::string& began, const std::string& what,
                 RunRequest& request, std::vector<std::string>& warnings) {
  if (request.result_file || request.no_save) return;
  const fs::path folder = state_directory(context.environment);
  if (folder.empty()) {
    warnings.emplace_back(
        "neither XDG_STATE_HOME nor HOME is set: this result will not be kept (-o FILE keeps it)");
    return;
  }
  try {
    std::vector<fs::path> removed;
    request.result_file =
        new_saved_result(folder, began, what, request.outputs, kMostSaved, &removed);
    request.result_is_dated = true;
    if (request.verbose && !request.quiet)
      for (const fs::path& file : removed)
        print_error(fmt::format("only the newest {} results are saved: {} is removed", kMostSaved,
                                file.string()));
  } catch (const Error& error) {
    warnings.push_back(
        fmt::format("{}: this result will not be kept (-o FILE keeps it)", error.what()));
  }
}

std::vector<fs::path> saved_results(const fs::path& folder, bool unfinished) {
  std::vector<fs::path> newest_first;
  for (const auto& [age, saved] : all_saved(folder)) {
    if (saved.finished || unfinished) newest_first.insert(newest_first.begin(), saved.file);
  }
  return newest_first;
}

std::optional<std::size_t> saved_index(const std::string& from, const std::string& text) {
  if (text == kLast) return 0;
  if (!text.starts_with(kLast) || text[kLast.size()] != '~') return std::nullopt;
  const auto index = to_index(std::string_view(text).substr(kLast.size() + 1));
  if (!index) {
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "{}: {} is not understood; expected: a file, last, or last~N with N from 1 (a file of "
            "such a name is ./{})",
            from, in_quotes(text), text));
  }
  return *index;
}

void resolve_saved_results(Invocation& invocation, const Environment& environment) {
  Settings& settings = invocation.settings;
  const fs::path folder = state_directory(environment);
  const bool quiet = settings.has("quiet") && settings.is_on("quiet");
  bool standard_input = false;
  const auto put = [&](const std::string& from, std::string& text, bool unfinished) {
    if (text == kStandardInput && !unfinished) {
      if (std::exchange(standard_input, true))
        throw Error(
            ErrorKind::usage,
            from + ": standard input (-) can be read only once; expected: one of them, and a file");
      text = "/dev/stdin";
      return;
    }
    const auto index = saved_index(from, text);
    if (!index) return;
    const fs::path file = resolved(from, text, *index, folder, unfinished);
    if (!quiet) print_error(fmt::format("{} is {}", text, file.string()));
    text = file.string();
  };
  const auto put_option = [&](const char* name, bool unfinished) {
    const Given* given = settings.find(name);
    if (given == nullptr) return;
    std::string text = given->value;
    put(given->from, text, unfinished);
    if (text != given->value) settings.replace(name, text);
  };
  const std::string& command = invocation.command;
  std::vector<std::string>& arguments = invocation.arguments;
  const bool results = command == "report" || command == "trace" ||
                       (command == "compare" && !settings.has("interleave"));
  const bool adds = command == "history" && !arguments.empty() && arguments.front() == "add";
  for (std::size_t k = results ? 0 : adds ? 2 : arguments.size(); k < arguments.size(); ++k)
    put(command, arguments[k], false);
  if (command == "simulate") put_option("from", false);
  if (command == "run") put_option("resume", true);
  put_option("sizes-of", false);
  put_option("samples-of", false);
}

std::string suites_word(std::span<const std::string> chosen, std::size_t all) {
  return chosen.size() == all && all > 1 ? "all" : fmt::format("{}", fmt::join(chosen, "+"));
}

}  // namespace mgpu
