#include "app/cli_refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/settings.hpp"
#include "lib/base/did_you_mean.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// "-q" of "-qd" where the command has no such letter; the word itself where it has all of them.
std::string unknown_letter(const std::string& word, const CLI::App& command) {
  for (std::size_t k = 1; k < word.size(); ++k) {
    const CLI::Option* option = command.get_option_no_throw(std::string("-") + word[k]);
    if (option == nullptr) return std::string("-") + word[k];
    if (option->get_items_expected_max() > 0) break;  // what follows is its value
  }
  return word;
}

// "--sise", "--sise=4", "-sise" or "-qd", of the command given or of the program.
std::string no_option(const std::string& word, const CLI::App& app) {
  constexpr std::size_t kBundled = 3;  // letters: as many may be flags in one word
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string name = word.substr(0, word.find('='));
  if (name == "--check" && command.get_name() == "trace")
    return "there is no option --check any more; open the trace in https://ui.perfetto.dev";
  if (name.starts_with("--"))
    return fmt::format("there is no option {}{}", in_quotes(word),
                       did_you_mean(name, long_names(command)));
  const std::string meant =
      name.size() > kBundled + 1 ? did_you_mean("-" + name, long_names(command)) : "";
  if (!meant.empty()) return fmt::format("there is no option {}{}", in_quotes(word), meant);
  const std::string letter = unknown_letter(name, command);
  return fmt::format("there is no option {}{}", in_quotes(letter),
                     letter == word ? "" : fmt::format(" (of {})", in_quotes(word)));
}

// What CLI11 says is wrong, reworded where that is clearer: the option, its value, what is
// accepted.
std::string explain(const CLI::ParseError& error, const CLI::App& app,
                    std::span<const std::string> argv) {
  const std::string what = error.what();
  const std::string name = what.substr(0, what.find(':'));
  const bool none_chosen = app.get_subcommands().empty();
  if (none_chosen && argv.size() > 1 && !argv[1].starts_with('-')) return no_command(argv[1], app);
  const std::vector<std::string> extra = app.remaining(true);
  if (!none_chosen && !extra.empty() && !extra.front().starts_with('-'))
    return fmt::format("{}: {} is one argument too many", app.get_subcommands().front()->get_name(),
                       in_quotes(extra.front()));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return no_option(extra.empty() ? what : extra.front(), app);
  // CLI11 took the value of an unknown option for one argument too many.
  if (!extra.empty() && extra.front().starts_with('-')) return no_option(extra.front(), app);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && none_chosen) {
    return "a command is required; accepted: " + joined(command_names(app));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (what.find("missing") != std::string::npos) return name + ": its value is missing";
    return name.starts_with('-') || none_chosen
               ? name + ": given more than once"
               : fmt::format("{}: more than one {} is given, accepted is one",
                             app.get_subcommands().front()->get_name(), name);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return what + "; accepted: true, false";
  return what;
}

}  // namespace

std::string no_command(const std::string& name, const CLI::App& app) {
  const std::vector<std::string> known = command_names(app);
  return fmt::format("there is no command {}; accepted: {}{}", in_quotes(name), joined(known),
                     did_you_mean(name, known));
}

void refuse(const CLI::ParseError& error, const CLI::App& app, std::span<const std::string> argv) {
  const auto chosen = app.get_subcommands();
  const std::string help =
      chosen.empty() ? "mgpu-bench --help" : "mgpu-bench " + chosen.front()->get_name() + " --help";
  const std::string why = explain(error, app, argv);
  std::string line = fmt::format("{}{} see {}", why, why.ends_with('?') ? "" : ";", help);
  std::replace(line.begin(), line.end(), '\n', ' ');
  throw Error(ErrorKind::usage, line);
}

void refuse_long_names_behind_one_dash(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty()) return;
  const auto commands =
      app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == words.front(); });
  if (commands.empty()) return;
  const std::vector<std::string> known = long_names(*commands.front());
  for (const std::string& word : words) {
    if (word == "--") return;
    const std::string meant = "-" + word.substr(0, word.find('='));
    if (meant.size() > 3 && !word.starts_with("--") &&
        std::find(known.begin(), known.end(), meant) != known.end())
      throw Error(ErrorKind::usage,
                  fmt::format("there is no option {}; did you mean {}? see mgpu-bench {} --help",
                              in_quotes(word), in_quotes(meant), words.front()));
  }
}

// "mgpu-bench merkel --help" is no call for help.
void refuse_unknown_command(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty() || words.front().starts_with('-')) return;
  const std::vector<std::string> known = command_names(app);
  if (std::find(known.begin(), known.end(), words.front()) == known.end())
    throw Error(ErrorKind::usage, no_command(words.front(), app) +
                                      (did_you_mean(words.front(), known).empty() ? ";" : "") +
                                      " see mgpu-bench --help");
}

}  // namespace mgpu
