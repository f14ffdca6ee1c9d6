// The journal of a run: what it has measured and its result file does not hold yet. The result file
// is written when all cases of one problem and mode, a group, are finished; their samples are
// interleaved, so that none is finished much before the others. The journal gets a line for every
// sample, between two of them: a run that is killed at any moment loses the sample under way at
// most, and `run --resume` goes on with the others.
//
// The file is RESULT.journal. A line is the FNV-1a hash of what follows it, a space, and a JSON
// object. The first is the header; it is replaced together with all other lines, by a rename, when
// a group has been saved in the result file. The others are only ever appended: {"run": 2} where a
// run goes on, {"group": ...} where a group begins, and one for every sample that counts, every
// sample in which a device was lost, every fault and every case that failed. What was cut off at
// the end of the file is not a line; any other damage makes it unusable, as nobody could tell what
// is missing.
//
// Of a sample it holds what the figures of its case and strategies that learn need, not when every
// command ran. What a result shows as a timeline is therefore a sample of the run that wrote it: a
// case that goes on takes one sample more at least.
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

// What must be equal for samples to belong to the same cases: names and values, for a person too.
using Configuration = std::vector<std::pair<std::string, std::string>>;

struct ConfigurationChange {
  std::string name, was, is;  // empty values: it had, or has, none
};
std::optional<ConfigurationChange> first_difference(const Configuration& was,
                                                    const Configuration& is);

struct JournalHeader {
  std::string id;                 // Report::id of the result file that it belongs to
  std::uint32_t run = 1;          // the number of the run that wrote it
  std::size_t groups = 0;         // finished: the result file holds their rows
  std::size_t rows = 0;           // how many these are
  std::size_t faults = 0;         // of Report::faults, those until then
  std::vector<std::string> argv;  // of the first run
  Configuration configuration;
};

// A group begins; once more when another run goes on with it.
struct JournalGroup {
  std::size_t number = 0;            // in the session, from 0
  std::string name;                  // "merkle resident"
  std::vector<std::string> devices;  // ids
  std::vector<std::string> cases;    // "alone 0:0", "dynamic:chunks=32 on 2"
  std::map<std::string, std::string> settled =
      {};  // options that were left open until devices were there, as they are
  bool operator==(const JournalGroup&) const = default;
};
// Cases and devices count from 0 in their group's lists.
struct JournalSample {
  std::size_t of_case = 0;
  std::vector<std::size_t> devices;
  std::uint32_t run = 1;  // that took it
  Nanos time{}, decision{};
  SampleShare share;           // by `devices`; busy in the devices' own time
  std::size_t recomputed = 0;  // its devices' parts that others computed again
  std::string digest;          // of its result; empty: it was not looked at
  std::string chosen;  // the strategy that `auto` chose, and which devices it uses; else empty
  std::vector<bool> uses;
};
struct JournalDisturbed {  // a sample in which a device was lost
  std::size_t of_case = 0;
  std::vector<std::size_t> devices;
  Nanos time{};
  VerifyStatus verify = VerifyStatus::off;
  std::string reason;
  std::optional<std::size_t> samples_before{};  // as DisturbedSample's
};
struct JournalFault {
  std::optional<std::size_t> of_case;  // none: of no case
  Fault fault;
};
struct JournalFailure {  // the case has failed, and takes no more samples
  std::size_t of_case = 0;
  std::string reason;
  VerifyRecord verify;
};
using JournalEntry =
    std::variant<JournalGroup, JournalSample, JournalDisturbed, JournalFault, JournalFailure>;

// Of one group, in the order of the file.
struct GroupJournal {
  JournalGroup group;
  std::vector<JournalSample> samples;
  std::vector<JournalDisturbed> disturbed;
  std::vector<JournalFault> faults;
  std::vector<JournalFailure> failures;
};

struct Journal {
  JournalHeader header;                        // with the number of the last run that began
  std::map<std::size_t, GroupJournal> groups;  // by number
  std::uintmax_t intact = 0;                   // bytes of the file; what follows was cut off
};

std::filesystem::path journal_of(const std::filesystem::path& result_file);

// A line with its end.
std::string journal_line(const JournalHeader& header);
std::string journal_line(const JournalEntry& entry);
std::string journal_run_line(std::uint32_t run);  // this run goes on

// Throws Error(input): not a journal, another version, a damaged line (by number). read_journal:
// with the file's name.
Journal journal_from_text(std::string_view text);
Journal read_journal(const std::filesystem::path& file);

// Writes to a journal. Every line is handed to the system at once, so that it survives the process,
// and to the disk at most once a second, so that a power failure costs about that. Functions throw
// Error(output), and block for as long as the disk takes.
class JournalWriter {
 public:
  JournalWriter(std::filesystem::path file,
                JournalHeader header);  // begins one, in place of what is there
  // Goes on with the one that was read, as the next run.
  JournalWriter(std::filesystem::path file, const Journal& read);
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;
  ~JournalWriter();

  void append(const JournalEntry& entry, Nanos now);  // on any steady clock
  // The result file holds so many groups, rows and faults: begins anew with what is still to come.
  void restart(std::size_t groups, std::size_t rows, std::size_t faults);
  void remove();  // the run has ended by itself, and all is in the result file
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
