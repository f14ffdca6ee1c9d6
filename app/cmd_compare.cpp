// `mgpu-bench compare`: compares two results, or two builds or settings measured interleaved, and
// has an exit code for CI.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/child_run.hpp"
#include "app/commands.hpp"
#include "app/compare_request.hpp"
#include "app/measure_again.hpp"
#include "app/problems.hpp"
#include "app/signals.hpp"
#include "app/sizes.hpp"
#include "app/terminal.hpp"
#include "app/time_estimate.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/scratch_folder.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/report/comparison_exports.hpp"
#include "lib/report/comparison_text.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

struct Sides {
  std::vector<Report> base, fresh;
};

Report read_side(const std::string& file, std::span<const SuiteInfo> suites) {
  Report report = read_report(file);
  if (const auto name = repeated_case(report)) {
    throw Error(ErrorKind::input,
                fmt::format("{}: it has the case {} more than once; expected: a file as run saves "
                            "it; remove all but one",
                            file, *name));
  }
  complete_defaults(report, suites);
  warn_of_interruption(file, report);
  warn_of_contradictions(file, report);
  return report;
}

void drop_new_defaults(Sides& sides) {
  for (Report& one : sides.base)
    for (Report& other : sides.fresh) drop_new_defaults(one, other);
}

Sides read_sides(const std::vector<std::string>& base, const std::vector<std::string>& fresh,
                 std::span<const SuiteInfo> suites) {
  Sides sides;
  for (const std::string& file : base) sides.base.push_back(read_side(file, suites));
  for (const std::string& file : fresh) sides.fresh.push_back(read_side(file, suites));
  drop_new_defaults(sides);
  return sides;
}

// Throws if a stop signal came: a child that got it too may have ended successfully, but the next
// must not begin.
void refuse_to_go_on_when_stopped() {
  if (stop_signal() != 0) throw Error(ErrorKind::device, "interrupted");
}

bool names_sizes(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("--size") || word.starts_with("--input");
  });
}

constexpr const char* kSizesOf = "--sizes-of";

// Gives the child the problem sizes of this result from now on, unless sizes are named.
void keep_sizes(ChildProgram& child, const std::vector<std::string>& words,
                const std::filesystem::path& result) {
  if (names_sizes(words) || names_sizes(child.options)) return;
  child.options.insert(child.options.end(), {kSizesOf, result.string()});
}

std::string sizes_in_words(const std::vector<std::uint64_t>& sizes) {
  std::string text;
  for (const std::uint64_t size : sizes) text += (text.empty() ? "" : ",") + format_count(size);
  return text;
}

// Runs the child with the sizes. A build that does not know --sizes-of gets them by --size if all
// suites have the same ones; else it runs without, as it may choose the same by itself.
Report run_with_sizes(ChildProgram& child, const std::vector<std::string>& words,
                      const KnownSizes& sizes) {
  const auto option = std::find(child.options.begin(), child.options.end(), kSizesOf);
  if (option == child.options.end()) return run_child(child, words);
  try {
    return run_child(child, words);
  } catch (const Error& error) {
    if (stop_signal() != 0 ||
        std::string_view(error.what()).find(kSizesOf) == std::string_view::npos)
      throw;
  }
  child.options.erase(option, child.options.end());
  const auto alike = [&](const auto& suite) { return suite.second == sizes.begin()->second; };
  if (!sizes.empty() && std::all_of(sizes.begin(), sizes.end(), alike))
    child.options.insert(child.options.end(), {"--size", sizes_in_words(sizes.begin()->second)});
  return run_child(child, words);
}

// Throws Error(usage) if the sizes of a suite differ: that leaves no case to compare, however many
// rounds follow.
void refuse_other_sizes(const KnownSizes& base, const KnownSizes& fresh) {
  for (const auto& [suite, sizes] : base) {
    const auto other = fresh.find(suite);
    if (other == fresh.end() ||
        std::find_first_of(sizes.begin(), sizes.end(), other->second.begin(),
                           other->second.end()) != sizes.end())
      continue;
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "--interleave: the size of {} is {} in BASE and {} in NEW; name one suite and its size "
            "in --with, as in --with '{} --size {}'",
            suite, sizes_in_words(sizes), sizes_in_words(other->second), suite,
            sizes_in_words(sizes)));
  }
}

// Measures both sides in turn. Every second round runs NEW first, so that a drift affects both
// alike. Takes more rounds than requested if those could never show a regression: a gate that
// cannot fail is useless. The sizes that BASE chose in its first round apply to all later runs: if
// a rate came out differently, or the other build chose by another rule, there would be nothing to
// compare.
Sides measure_interleaved(const CompareRequest& request, std::span<const SuiteInfo> suites) {
  ChildProgram base = parse_child("BASE", request.base.front()),
               fresh = parse_child("NEW", request.fresh.front());
  const std::vector<std::string> words = split_words("--with", request.with);
  const ScratchFolder scratch("mgpu-bench");
  install_stop_signals();
  Sides sides;
  KnownSizes sizes;
  std::size_t rounds = request.rounds;
  const Nanos begin = steady_now();
  for (std::size_t round = 0; round < rounds; ++round) {
    if (!request.quiet) print_error(fmt::format("round {} of {}", round + 1, rounds));
    for (const bool first : {true, false}) {
      const bool is_base = first == (round % 2 == 0);
      (is_base ? sides.base : sides.fresh)
          .push_back(run_with_sizes(is_base ? base : fresh, words, sizes));
      refuse_to_go_on_when_stopped();
      if (round == 0 && is_base) {
        const std::filesystem::path file = scratch.file("sizes.json");
        write_file_atomically(file, to_json_text(sides.base.front()));
        sizes = sizes_of(sides.base.front(), suites);
        for (ChildProgram* child : {&base, &fresh}) keep_sizes(*child, words, file);
      }
    }
    drop_new_defaults(sides);
    if (round == 0) refuse_other_sizes(sizes, sizes_of(sides.fresh.front(), suites));
    const std::size_t needed = round == 0 && request.fail_on != FailOn::nothing
                                   ? rounds_needed(sides.base[0], sides.fresh[0], request.options)
                                   : 0;
    if (needed > rounds) {
      print_error(
          fmt::format("warning: {} rounds are too few for any significant change at --alpha {}, as "
                      "many figures are compared: {} will be run",
                      rounds, request.options.alpha, needed));
      rounds = needed;
    }
    if (round == 0 && !request.quiet)
      print_error(fmt::format("{} more rounds: {}", rounds - 1,
                              about((steady_now() - begin) * (rounds - 1))));
  }
  return sides;
}

// Refuses results of different environments. Interleaved measurements may compare settings on
// purpose: their differences are reported, not refused.
void check_environment(const Sides& sides, const CompareRequest& request) {
  if (request.rounds > 0 || request.ignore_environment) return;
  const auto check = [&](const Report& base, const std::string& from, const Report& other,
                         const std::string& to) {
    std::vector<std::string> decisive;
    std::set<std::string> fields;
    for (const EnvironmentDifference& d : environment_differences(base, other)) {
      if (!d.decisive || std::find(request.ignored.begin(), request.ignored.end(), d.field) !=
                             request.ignored.end())
        continue;
      decisive.push_back(to_string(d));
      fields.insert(d.field);
    }
    if (decisive.empty()) return;
    throw Error(ErrorKind::input,
                fmt::format("{} and {} were measured in different environments ({}); --ignore {} "
                            "or --ignore-environment compares them all the same",
                            from, to, fmt::join(decisive, "; "), fmt::join(fields, ",")));
  };
  for (std::size_t k = 1; k < sides.base.size(); ++k)
    check(sides.base.front(), request.base.front(), sides.base[k], request.base[k]);
  for (std::size_t k = 0; k < sides.fresh.size(); ++k)
    check(sides.base.front(), request.base.front(), sides.fresh[k], request.fresh[k]);
}

void confirm_alarms(const Context& context, const CompareRequest& request, const Sides& sides,
                    Comparison& comparison) {
  if (request.confirm == 0 || comparison.count(Change::regression) + comparison.suspects() == 0)
    return;
  install_stop_signals();
  std::vector<Comparison> again;
  for (std::size_t k = 0; k < request.confirm; ++k) {
    if (!request.quiet)
      print_error(
          fmt::format("measuring again what looks slower, {} of {}", k + 1, request.confirm));
    const Report report = measure_again(context, sides.fresh.front(), comparison);
    refuse_to_go_on_when_stopped();
    again.push_back(compare_reports(sides.base, std::span(&report, 1), request.options));
  }
  confirm(comparison, again);
}

// Says how many samples are needed if no case has enough for a verdict.
void tell_too_few(const Comparison& comparison, const CompareRequest& request) {
  if (!comparison.undecidable()) return;
  print_error(
      request.rounds > 0
          ? fmt::format("error: too few rounds for any verdict; expected: at least {}: "
                        "--interleave {}",
                        comparison.needed, comparison.needed)
          : fmt::format("error: too few samples for any verdict; expected: at least {} per case in "
                        "{} and in {}: measure with -n {}",
                        comparison.needed, request.base.front(), request.fresh.front(),
                        comparison.needed));
}

// Returns the number of cases that BASE measured and NEW did not: they could have become slower
// unseen.
std::size_t missing_cases(const Comparison& comparison, const CompareRequest& request) {
  if (request.allow_missing) return 0;
  return static_cast<std::size_t>(std::count_if(
      comparison.uncompared.begin(), comparison.uncompared.end(),
      [&](const auto& c) { return c.lost && !(c.beyond_fresh && request.ignore_environment); }));
}

// Throws Error(input) if no row is judged, with the reason of a case that both results have.
void refuse_to_judge_nothing(const Comparison& comparison, const CompareRequest& request) {
  if (std::any_of(comparison.rows.begin(), comparison.rows.end(),
                  [](const ComparisonRow& row) { return row.judged; }))
    return;
  const auto known =
      std::find_if(comparison.uncompared.begin(), comparison.uncompared.end(),
                   [](const UncomparedCase& c) { return !c.what.starts_with("only in "); });
  throw Error(ErrorKind::input,
              fmt::format("{} and {} have no case in common that both measured{}",
                          request.base.front(), request.fresh.front(),
                          known == comparison.uncompared.end()
                              ? ""
                              : fmt::format(" ({}: {})", known->name, known->what)));
}

// Names cases that a gate with this BASE never sees.
void tell_unguarded(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const UncomparedCase& c : comparison.uncompared)
    if (c.without_base) names.push_back(c.name);
  if (names.empty()) return;
  print_error(fmt::format("warning: BASE has no figures of {}, which NEW has: not compared",
                          first_few(names)));
}

ExitCode verdict(const Comparison& comparison, const Sides& sides, const CompareRequest& request) {
  std::vector<ExitCode> codes;
  for (const Report& report : sides.fresh) codes.push_back(outcome(report, false));
  if (request.fail_on == FailOn::nothing) return worst(codes);
  tell_too_few(comparison, request);
  codes.push_back(outcome(comparison));
  if (const std::size_t missing = missing_cases(comparison, request); missing > 0) {
    print_error(
        fmt::format("NEW lacks {} of BASE, named \"not compared\"; --allow-missing lets that pass",
                    missing == 1 ? "a case" : fmt::format("{} cases", missing)));
    codes.push_back(ExitCode::regression);
  }
  if (request.fail_on == FailOn::inconclusive && comparison.count(Change::inconclusive) > 0)
    codes.push_back(ExitCode::inconclusive);
  return worst(codes);
}

// Writes files first: what was measured must be safe before anything is printed.
ExitCode deliver(const Comparison& comparison, const Sides& sides, const CompareRequest& request,
                 const Context& context, const TableStyle& style, ExitCode found) {
  const ComparisonSources sources{source_of(request.base, sides.base),
                                  source_of(request.fresh, sides.fresh)};
  const std::string json = request.json || request.result_file
                               ? comparison_json(comparison, sources, context.tool,
                                                 static_cast<int>(found), request.with_resamples)
                               : std::string();
  ExitCode code = ExitCode::ok;
  try {
    if (request.result_file) request.outputs.at(*request.result_file).write(json);
    if (request.markdown_file)
      request.outputs.at(*request.markdown_file).write(comparison_markdown(comparison, sources));
    for (const ExportFile& file : request.exports)
      request.outputs.at(file.file).write(exported(file.kind, comparison, sources));
  } catch (const Error& error) {
    print_error(std::string("error: ") + error.what());
    code = ExitCode::internal;
  }
  if (request.json) {
    print_json(json);
  } else if (!request.outputs.take_standard_output()) {
    print_styled(comparison_tables(comparison, sources, style), style);
  }
  return code;
}

ExitCode compare(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const CompareRequest request = read_compare_request(context.invocation);
  const TableStyle style = table_style(settings, context.environment, comparison_column_names());
  const Sides sides = request.rounds > 0 ? measure_interleaved(request, context.suites)
                                         : read_sides(request.base, request.fresh, context.suites);
  Comparison comparison = compare_reports(sides.base, sides.fresh, request.options);
  check_environment(sides, request);
  refuse_to_judge_nothing(comparison, request);
  confirm_alarms(context, request, sides, comparison);
  tell_unguarded(comparison);
  if (request.only_changed) show_only_changed(comparison);
  const ExitCode found = verdict(comparison, sides, request);
  return worst(std::vector{found, deliver(comparison, sides, request, context, style, found)});
}

}  // namespace

ExitCode cmd_compare(const Context& context) {
  try {
    return compare(context);
  } catch (const Error&) {
    if (stop_signal() == 0) throw;
  }
  print_error("interrupted: a comparison of what was measured so far would be one of too little");
  return stop_code();
}

}  // namespace mgpu
