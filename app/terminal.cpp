// The only file that asks whether a stream is a terminal.
#include "app/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lib/base/error.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

constexpr unsigned kLeastWidth = 40;  // a table is unreadable if it is narrower

CapturedOutput* g_captured = nullptr;

bool is_terminal(int stream) { return g_captured == nullptr && isatty(stream) == 1; }

// Tells whether the terminal obeys no escape sequences, or is not known to.
bool is_dumb(const Environment& environment) {
  return environment.get("TERM").value_or("dumb") == "dumb";
}

unsigned width(const Environment& environment) {
  if (const auto columns = environment.get("COLUMNS")) {
    try {
      if (const std::uint64_t count = parse_count("COLUMNS", *columns); count > 0)
        return static_cast<unsigned>(std::clamp<std::uint64_t>(count, kLeastWidth, 1000));
    } catch (const Error&) {
      // A broken COLUMNS is the shell's mistake, not a reason to fail.
    }
  }
  winsize size{};
  if (is_terminal(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<unsigned>(size.ws_col, kLeastWidth);
  return TableStyle{}.width;
}

std::vector<std::string> chosen_columns(const Settings& settings,
                                        const std::vector<std::string>& all) {
  const Given* given = settings.find("columns");
  if (given == nullptr) return {};
  std::vector<std::string> accepted = all, chosen;
  accepted.emplace_back("all");
  for (std::string name : split_commas(given->value)) {
    for (const auto& [old, now] : kColumnsOfMetrics) {  // their names in earlier versions
      if (name != old || std::find(all.begin(), all.end(), now) == all.end()) continue;
      print_error(fmt::format("{}: {} is now called {}", given->from, old, now));
      name = now;
    }
    chosen.push_back(accepted[read_word({name, given->from}, accepted)]);
  }
  return std::find(chosen.begin(), chosen.end(), "all") == chosen.end() ? chosen : all;
}

}  // namespace

TableStyle table_style(const Settings& settings, const Environment& environment,
                       const std::vector<std::string>& columns) {
  TableStyle style;
  style.width = width(environment);
  const std::string color = choose(settings, "color", {"auto", "always", "never"});
  style.color = color == "always" || (color == "auto" && is_terminal(STDOUT_FILENO) &&
                                      !environment.get("NO_COLOR") && !is_dumb(environment));
  style.wraps = is_terminal(STDOUT_FILENO);
  style.columns = chosen_columns(settings, columns);
  style.per_device = settings.is_on("per-device");
  return style;
}

bool progress_in_place(const Environment& environment) {
  return is_terminal(STDERR_FILENO) && !environment.get("CI") && !is_dumb(environment);
}

unsigned error_width() {
  winsize size{};
  return is_terminal(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 &&
                 size.ws_col > 0
             ? std::max<unsigned>(size.ws_col, kLeastWidth)
             : 80;
}

void StatusLine::show(std::string_view text, unsigned width) {
  std::string line = shortened(printable(text), width - 1);  // a wrapped line cannot be rewritten
  if (line == shown_) return;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  shown_ = std::move(line);
}

void StatusLine::clear() {
  if (shown_.empty()) return;
  std::fputs("\r\033[K", stderr);
  shown_.clear();
}

CapturedOutput::CapturedOutput() { g_captured = this; }

CapturedOutput::~CapturedOutput() { g_captured = nullptr; }

void print_data(std::string_view data) {
  if (g_captured != nullptr) {
    g_captured->out += data;
    return;
  }
  if (std::fwrite(data.data(), 1, data.size(), stdout) != data.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorKind::output, std::string("standard output: ") + std::strerror(errno));
  }
}

void print(std::string_view text) { print_data(printable_text(text)); }

void print_styled(std::string_view text, const TableStyle& style) {
  print_data(style.color ? printable_colored(text) : printable_text(text));
}

void print_json(std::string_view json) { print_data(printable_json(json)); }

void print_error(std::string_view text) {
  constexpr std::size_t kHang = 2;  // indent of continuation lines
  std::fflush(stdout);              // keeps a message after the output it is about
  const TableStyle style{.width = error_width(), .wraps = is_terminal(STDERR_FILENO)};
  const std::string said =
      wrapped_prose("mgpu-bench: " + printable_lines(text) + '\n', style, kHang);
  if (g_captured != nullptr) {
    g_captured->err += said;
  } else {
    std::fputs(said.c_str(), stderr);
  }
}

void print_error_data(std::string_view data) {
  if (g_captured != nullptr) {
    g_captured->err += data;
    return;
  }
  std::fwrite(data.data(), 1, data.size(), stderr);
  std::fflush(stderr);
}

}  // namespace mgpu
