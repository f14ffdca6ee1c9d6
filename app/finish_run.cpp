// Files are written first: what was measured must be safe before anything is printed.
#include "app/finish_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "app/history_store.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "app/time_estimate.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/links_tables.hpp"
#include "lib/report/overview.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/size_sweep.hpp"
#include "lib/report/text_table.hpp"
#include "lib/report/trace_writer.hpp"

namespace mgpu {
namespace {

// Returns the command line without the options that name the result.
std::string without_result(const std::vector<std::string>& argv) {
  std::string words;
  for (std::size_t k = 0; k < argv.size(); ++k) {
    const bool named = argv[k] == "-o" || argv[k] == "--result" || argv[k] == "--resume";
    if (named) ++k;
    if (named || argv[k].starts_with("--result=") || argv[k].starts_with("--resume=") ||
        (argv[k].starts_with("-o") && !argv[k].starts_with("--")))
      continue;
    words += (words.empty() ? "" : " ") + (k == 0 ? "mgpu-bench" : shell_word(argv[k]));
  }
  return words;
}

// Says what an interrupted run has measured, and the command that continues it.
void tell_how_to_continue(const Report& report, const RunRequest& request) {
  std::set<std::string> begun, missing;
  std::size_t measured = 0;
  for (const RunRecord& run : report.runs) {
    measured += run.status == Status::ok;
    begun.insert(run.suite);
  }
  for (const Problem& problem : request.session.problems)
    if (!begun.contains(problem.suite->name)) missing.insert(problem.suite->name);
  print_error(
      fmt::format("interrupted: {} of {} rows were measured{}; continue with: {} --resume {}",
                  measured, rows_of_session(request.session),
                  missing.empty() ? "" : fmt::format(", {} not begun", fmt::join(missing, ", ")),
                  without_result(report.tool.argv),
                  request.result_is_dated ? "last" : shell_word(request.result_file->string())));
}

// Writes files, then prints tables and the summary. Returns ok, or internal if a file could not be
// written.
ExitCode deliver(const Report& report, const RunRequest& request, const std::vector<Miss>& failures,
                 RunObserver& observer, const TableStyle& style) {
  observer.clear_line();
  observer.save(report);
  observer.finish();
  bool written = !observer.could_not_write(), traced = false;
  if (request.trace_file) {
    try {
      OutputFile& file = request.outputs.at(*request.trace_file);
      traced = !keeps_older(file, report, request.force);
      if (traced)
        file.write(to_chrome_trace(report));
      else
        tell_kept(file);
    } catch (const Error& error) {
      written = false;
      print_error(std::string("error: ") + error.what());
    }
  }
  written &= write_exports(report, request.exports, failures, request.outputs, request.force);
  if (request.history) {
    try {
      if (report.complete) {
        KnownCases known = known_cases(*request.history);
        add_to_history(*request.history, report, "this result", request.quiet, known);
      } else {
        print_error("not added to the history: the run is not complete");
      }
    } catch (const Error& error) {
      written = false;
      print_error(std::string("error: ") + error.what());
    }
  }
  if (request.json) {
    print_json(to_json_text(report));
  } else if (!request.outputs.take_standard_output() && request.json_lines != JsonLines::out) {
    print_results(report, observer, style);
  }
  if (written && !request.quiet) {
    if (observer.result_is_kept()) {
      const std::string file = request.result_file->string();
      print_error(fmt::format("measurements: {} (mgpu-bench report {})", file,
                              request.result_is_dated ? "last" : file));
      if (!report.complete && stop_signal() != 0) tell_how_to_continue(report, request);
    }
    if (traced)
      print_error(fmt::format("timeline: {} (open it in https://ui.perfetto.dev)",
                              request.trace_file->string()));
  }
  return written ? ExitCode::ok : ExitCode::internal;
}

// Returns what test results list as failed: requirements missed and, under --strict, every device
// failure that the run survived.
std::vector<Miss> failures_of(const Report& report, const std::vector<Miss>& missed, bool strict) {
  std::vector<Miss> failures = missed;
  for (const Fault& fault : report.faults)
    if (fault_code(fault, strict) != ExitCode::ok)
      failures.push_back({std::nullopt, fault_sentence(fault, nullptr)});
  for (std::size_t k = 0; k < report.runs.size(); ++k) {
    const RunRecord& run = report.runs[k];
    for (const Fault& fault : run.faults)
      if (fault_code(fault, strict) != ExitCode::ok)
        failures.push_back({k, fault_sentence(fault, &run)});
    if (strict && asked_for(run) > run.devices.size())
      failures.push_back({k, fmt::format("measured on {} devices", devices_text(run))});
  }
  return failures;
}

// Prints one line for each device that failed; the tables have the details.
void tell_faults(const Report& report, bool strict) {
  // Worst fault (else the first) and number of faults by device.
  std::map<std::string, std::pair<const Fault*, std::size_t>> devices;
  const auto count = [&](const Fault& fault) {
    auto& [worst, faults] = devices.try_emplace(fault.device, &fault, 0).first->second;
    if (fault_code(fault, strict) == ExitCode::unverified) worst = &fault;
    ++faults;
  };
  for (const Fault& fault : report.faults) count(fault);
  for (const RunRecord& run : report.runs)
    for (const Fault& fault : run.faults) count(fault);
  for (const auto& [device, faults] : devices) {
    const std::string more =
        faults.second > 1 ? fmt::format(" ({} faults in all)", faults.second) : "";
    const char* level = fault_code(*faults.first, strict) == ExitCode::ok ? "warning" : "error";
    print_error(printable(fmt::format("{}: {}: {}{}", level, what_happened(*faults.first),
                                      faults.first->what, more)));
  }
}

}  // namespace

void print_results(const Report& report, RunObserver& observer, const TableStyle& style) {
  if (is_links(report)) return print_styled(links_tables(report, style), style);
  observer.print_tables(report);
  if (shows_overview(report, style))
    return print("\n" + wrapped_prose(overview_sentences(report), {style.width, false, true}, 2));
  print_styled(below_run_tables(report, style), style);
  if (const std::string sweeps = sweep_tables(report, style); !sweeps.empty())
    print_styled("\n" + sweeps, style);
}

ExitCode finish_run(const Report& report, const RunRequest& request, RunObserver& observer,
                    const TableStyle& style) {
  const std::vector<Miss> missed = misses(report, request.requirements);
  std::vector<ExitCode> codes{
      deliver(report, request, failures_of(report, missed, request.strict), observer, style),
      outcome(report, request.strict)};
  tell_faults(report, request.strict);
  codes.push_back(tell_misses(missed));
  if (!report.complete && stop_signal() != 0) codes.push_back(stop_code());
  return worst(codes);
}

}  // namespace mgpu
