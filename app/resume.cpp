#include "app/resume.hpp"

#include <fmt/format.h>

#include <random>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

[[noreturn]] void refuse_to_resume(const std::string& why) {
  throw Error(ErrorKind::input, "--resume: " + why);
}

Earlier without_journal(const std::filesystem::path& file) {
  if (!is_there(file)) {
    refuse_to_resume(
        fmt::format("there is neither {} nor its journal; expected: the FILE of a run that did not "
                    "end by itself, or last",
                    file.string()));
  }
  Earlier earlier;
  earlier.complete = read_report(file).complete;
  if (!earlier.complete) {
    refuse_to_resume(
        fmt::format("{} is not complete, but {}, which says how it was measured, is missing",
                    file.string(), journal_of(file).string()));
  }
  return earlier;
}

// Removes what depends on the devices there are.
void forget_devices(Configuration& all) {
  std::erase_if(all, [](const auto& entry) {
    const std::string_view name = entry.first;
    return name.starts_with("device") || name.starts_with("handicap of") ||
           name.find(", kernel variant on ") != name.npos;
  });
}

}  // namespace

Earlier read_earlier(const std::filesystem::path& file) {
  const std::filesystem::path journal_file = journal_of(file);
  if (!is_there(journal_file)) return without_journal(file);
  Earlier earlier;
  earlier.journal = read_journal(journal_file);
  const JournalHeader& header = earlier.journal.header;
  // No group is saved yet: any result file is older.
  if (header.groups == 0) return earlier;
  earlier.report = read_report(file);
  Report& report = earlier.report;
  if (report.id != header.id || report.runs.size() < header.rows ||
      report.faults.size() < header.faults)
    refuse_to_resume(fmt::format("{} is not the result that {} belongs to", file.string(),
                                 journal_file.string()));
  if (report.complete) {  // it was killed before it removed the journal
    std::error_code ignored;
    std::filesystem::remove(journal_file, ignored);
    return {true, {}, {}};
  }
  report.runs.resize(header.rows);  // later rows belong to a group that is not finished
  report.faults.resize(header.faults);
  return earlier;
}

void go_on(Earlier& earlier, const std::filesystem::path& file, Configuration now,
           SessionOptions& session, Report& begun) {
  const JournalHeader& header = earlier.journal.header;
  Configuration was = header.configuration;
  if (session.find_devices)
    for (Configuration* all : {&was, &now}) forget_devices(*all);
  if (const auto change = first_difference(was, now)) {
    const auto words = [](const std::string& value) {
      return value.empty() ? std::string("none") : in_quotes(value);
    };
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "--resume: {} was made with {} {}, now it is {}; expected: the same configuration ({})",
            file.string(), change->name, words(change->was), words(change->is),
            fmt::join(header.argv, " ")));
  }
  if (header.rows != header.groups * session.device_counts.size() * session.strategies.size())
    refuse_to_resume(journal_of(file).string() + " counts other cases than there are");
  begun.id = header.id;
  begun.tool.argv = header.argv;
  if (!earlier.report.started.empty()) begun.started = earlier.report.started;
  begun.runs = std::move(earlier.report.runs);
  begun.faults = std::move(earlier.report.faults);
  begun.exchange_notes = std::move(earlier.report.exchange_notes);
  begun.devices = std::move(earlier.report.devices);
  session.continued = Continued{header.run + 1, header.groups, std::move(earlier.journal.groups)};
}

std::string random_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace mgpu
