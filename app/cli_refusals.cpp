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
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(sub->get_name());
  return names;
}

// "--sise" or "--sise=4", of the command given or of the program.
std::string no_option(const std::string& word, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  std::vector<std::string> known;
  for (const CLI::Option* option : (chosen.empty() ? &app : chosen.front())->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::string name = word.substr(0, word.find('='));
  return fmt::format("there is no option {}{}", in_quotes(word), name.starts_with("--") ? did_you_mean(name, known) : "");
}

// CLI11's words for what is wrong, in ours where those are clearer: the option, its value, what is accepted.
std::string explain(const CLI::ParseError& error, const CLI::App& app, std::span<const std::string> argv) {
  const std::string what = error.what();
  const std::string name = what.substr(0, what.find(':'));
  const bool none_chosen = app.get_subcommands().empty();
  if (none_chosen && argv.size() > 1 && !argv[1].starts_with('-')) return no_command(argv[1], app);
  const std::vector<std::string> extra = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return no_option(extra.empty() ? what : extra.front(), app);
  // The value of an option that there is not was taken for one argument too many.
  if (!extra.empty() && extra.front().starts_with('-')) return no_option(extra.front(), app);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && none_chosen) {
    return "a command is required; accepted: " + joined(command_names(app));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return name + (what.find("missing") != std::string::npos ? ": its value is missing" : ": given more than once");
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return what + "; accepted: true, false";
  return what;
}

}  // namespace

std::string no_command(const std::string& name, const CLI::App& app) {
  const std::vector<std::string> known = command_names(app);
  return fmt::format("there is no command {}; accepted: {}{}", in_quotes(name), joined(known), did_you_mean(name, known));
}

void refuse(const CLI::ParseError& error, const CLI::App& app, std::span<const std::string> argv) {
  const auto chosen = app.get_subcommands();
  const std::string help = chosen.empty() ? "mgpu-bench --help" : "mgpu-bench " + chosen.front()->get_name() + " --help";
  const std::string why = explain(error, app, argv);
  std::string line = fmt::format("{}{} see {}", why, why.ends_with('?') ? "" : ";", help);
  std::replace(line.begin(), line.end(), '\n', ' ');
  throw Error(ErrorKind::usage, line);
}

// "mgpu-bench merkel --help" is no call for help.
void refuse_unknown_command(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty() || words.front().starts_with('-')) return;
  const std::vector<std::string> known = command_names(app);
  if (std::find(known.begin(), known.end(), words.front()) == known.end())
    throw Error(ErrorKind::usage, no_command(words.front(), app) + (did_you_mean(words.front(), known).empty() ? ";" : "") +
                                      " see mgpu-bench --help");
}

}  // namespace mgpu
