// The journal of a run: the measurements that its result file does not have yet. The result file is
// written when all cases of one problem and mode, a group, are finished; their samples are
// interleaved, so that no case is finished much before the others. The journal gets a line per
// sample, between two samples: a run that is killed at any moment loses at most the sample in
// progress, and `run --resume` continues with the others.
//
// The file is RESULT.journal. A line is the FNV-1a hash of its rest, a space, and a JSON object.
// The first line is the header. When a group has been saved in the result file, the header is
// replaced together with all other lines, by a rename. The other lines are only ever appended:
// {"run": 2} when a run resumes, {"group": ...} when a group begins, and one for every valid
// sample, every sample in which a device failed, every fault and every failed case. A truncated
// line at the end is ignored; any other damage makes the file unusable, because it is unknown what
// is missing.
//
// A sample's line has what the figures of its case and learning strategies need, but no times of
// commands. The timeline in a result is therefore from a sample of the run that wrote it: a resumed
// case takes at least one more sample.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/plan/strategy.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Names and values that must be equal for samples to belong to the same cases; readable for people.
using Configuration = std::vector<std::pair<std::string, std::string>>;

struct ConfigurationChange {
  std::string name, was, is;  // an empty value: there was, or is, none
};
std::optional<ConfigurationChange> first_difference(const Configuration& was,
                                                    const Configuration& is);

struct JournalHeader {
  std::string id;                 // Report::id of the result file that it belongs to
  std::uint32_t run = 1;          // number of the run that wrote it
  std::size_t groups = 0;         // number of finished groups, whose rows are in the result file
  std::size_t rows = 0;           // number of these rows
  std::size_t faults = 0;         // number of entries in Report::faults by then
  std::vector<std::string> argv;  // command line of the first run
  Configuration configuration;
};

// The begin of a group, repeated when another run resumes it.
struct JournalGroup {
  std::size_t number = 0;            // index in the session, from 0
  std::string name;                  // "merkle resident"
  std::vector<std::string> devices;  // ids
  std::vector<std::string> cases;    // "alone 0:0", "dynamic:chunks=32 on 2"
  // Values of options that are resolved with devices.
  std::map<std::string, std::string> settled = {};
  bool operator==(const JournalGroup&) const = default;
};
// A valid sample. Cases and devices are indices into their group's lists, from 0.
struct JournalSample {
  std::size_t of_case = 0;
  std::vector<std::size_t> devices;
  std::uint32_t run = 1;  // number of the run that took it
  Nanos time{}, decision{};
  SampleShare share;           // indexed like `devices`; busy in the devices' own time
  std::size_t recomputed = 0;  // number of its devices' parts that others computed again
  std::string digest;          // digest of its result; empty: not checked
  std::string chosen;          // strategy that `auto` chose, and which devices it uses; else empty
  std::vector<bool> uses;
};
struct JournalInvalidated {  // a sample that a device failure invalidated
  std::size_t of_case = 0;
  std::vector<std::size_t> devices;
  Nanos time{};
  VerifyStatus verify = VerifyStatus::off;
  std::string reason;
  std::optional<std::size_t> samples_before{};  // see InvalidatedSample
};
struct JournalFault {
  std::optional<std::size_t> of_case;  // none: it belongs to no case
  Fault fault;
};
struct JournalFailure {  // the case has failed and takes no more samples
  std::size_t of_case = 0;
  std::string reason;
  VerifyRecord verify;
};
using JournalEntry =
    std::variant<JournalGroup, JournalSample, JournalInvalidated, JournalFault, JournalFailure>;

// Entries of one group, in the order of the file.
struct GroupJournal {
  JournalGroup group;
  std::vector<JournalSample> samples;
  std::vector<JournalInvalidated> invalidated;
  std::vector<JournalFault> faults;
  std::vector<JournalFailure> failures;
};

struct Journal {
  JournalHeader header;                        // names the last run that began
  std::map<std::size_t, GroupJournal> groups;  // indexed by number
  std::uintmax_t intact = 0;                   // bytes before a truncated last line
};

std::filesystem::path journal_of(const std::filesystem::path& result_file);

// Returns a line with its line end.
std::string journal_line(const JournalHeader& header);
std::string journal_line(const JournalEntry& entry);
std::string journal_run_line(std::uint32_t run);  // line of a resumed run

// Throws Error(input): not a journal, another version, a damaged line (by number). read_journal
// adds the file's name.
Journal journal_from_text(std::string_view text);
Journal read_journal(const std::filesystem::path& file);

// Writes a journal. Every line is passed to the system at once, so that it survives the process,
// and reaches the disk at most once a second, so that a power failure costs about a second.
// Functions throw Error(output), and block as long as the disk takes.
class JournalWriter {
 public:
  // Begins a journal, replacing an existing file.
  JournalWriter(std::filesystem::path file, JournalHeader header);
  // Resumes the journal that was read, as the next run.
  JournalWriter(std::filesystem::path file, const Journal& read);
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;
  ~JournalWriter();

  void append(const JournalEntry& entry, Nanos now);  // `now`: on any steady clock
  // Begins again with an empty journal, after the result file has saved these numbers of groups,
  // rows and faults.
  void restart(std::size_t groups, std::size_t rows, std::size_t faults);
  void remove();  // after a run has ended normally and is in the result file
  const JournalHeader& header() const { return header_; }

 private:
  void open();
  void close();
  void put(std::string_view line);

  std::filesystem::path file_;
  JournalHeader header_;
  int fd_ = -1;
  std::optional<Nanos> synced_;
};

}  // namespace mgpu
