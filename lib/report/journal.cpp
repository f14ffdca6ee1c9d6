// The fields of a journal's lines, and the references between lines.
#include "lib/report/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/fnv.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_file.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

constexpr DocumentId kJournalId{"mgpu-bench/journal", 1};
constexpr std::size_t kHash = 16;  // hexadecimal digits

std::string with_hash(const std::string& json) { return fnv1a_hex(json) + ' ' + json + '\n'; }

constexpr const char* kEntryNames[] = {"group", "sample", "disturbed", "fault", "failed"};

}  // namespace

template <>
struct Kind<Configuration> {
  static JsonValue write(const Configuration& configuration) {
    JsonValue object = json_object();
    for (const auto& [name, value] : configuration) put(object, name, value);
    return object;
  }
  static Configuration read(const JsonReader& json) {
    Configuration configuration;
    json.members([&](const std::string& name, const JsonReader& value) {
      configuration.emplace_back(name, value.string());
    });
    return configuration;
  }
  static JsonValue schema(JsonValue&) { return map_schema(type_schema("string")); }
};

template <>
const Description<JournalHeader>& description<JournalHeader>() {
  using Header = JournalHeader;
  static const Description<Header> kHeader{
      {document_id<Header, kJournalId>(), field<&Header::id>("id"), field<&Header::run>("run"),
       field<&Header::groups>("groups"), field<&Header::rows>("rows"),
       field<&Header::faults>("faults"), field<&Header::argv>("argv"),
       field<&Header::configuration>("configuration")}};
  return kHeader;
}

template <>
const Description<JournalGroup>& description<JournalGroup>() {
  static const Description<JournalGroup> kGroup{
      {field<&JournalGroup::number>("number"), field<&JournalGroup::name>("name"),
       field<&JournalGroup::devices>("devices"), field<&JournalGroup::cases>("cases"),
       field<&JournalGroup::settled>("settled").if_any()}};
  return kGroup;
}

template <>
const Description<JournalSample>& description<JournalSample>() {
  using Sample = JournalSample;
  static const Description<Sample> kSample{
      {field<&Sample::of_case>("case"), field<&Sample::run>("run"), field<&Sample::time>("time_ns"),
       field_as<Moment, &Sample::decision>("decision_ns"), field<&Sample::devices>("devices"),
       field<&Sample::share, &SampleShare::items>("items"),
       field_as<Each<Moment>, &Sample::share, &SampleShare::busy>("busy_ns"),
       field<&Sample::share, &SampleShare::first>("first").if_any(),
       field<&Sample::recomputed>("recomputed").if_any(), field<&Sample::digest>("digest").if_any(),
       field<&Sample::chosen>("chosen").if_any(),
       computed<[](const Sample& s) {
         return std::vector<std::uint32_t>(s.uses.begin(), s.uses.end());
       }>("uses")
           .when([](const Sample& s) { return !s.chosen.empty(); })},
      "",
      nullptr,
      [](const JsonReader& json, Sample& s) {
        s.share.makespan = s.time;
        if (json.has("chosen"))
          for (const auto used : Each<Whole<std::uint32_t>>::read(json.at("uses")))
            s.uses.push_back(used != 0);
        const std::size_t n = s.devices.size();
        if (n == 0 || s.share.items.size() != n || s.share.busy.size() != n ||
            (!s.share.first.empty() && s.share.first.size() != n) ||
            (!s.uses.empty() && s.uses.size() != n))
          json.fail("its lists are not of its devices");
      }};
  return kSample;
}

template <>
const Description<JournalInvalidated>& description<JournalInvalidated>() {
  using Invalidated = JournalInvalidated;
  static const Description<Invalidated> kDisturbed{
      {field<&Invalidated::of_case>("case"), field<&Invalidated::devices>("devices"),
       field_as<Moment, &Invalidated::time>("time_ns"), field<&Invalidated::verify>("verify"),
       field<&Invalidated::reason>("reason"),
       field<&Invalidated::samples_before>("samples_before")}};
  return kDisturbed;
}

template <>
const Description<JournalFault>& description<JournalFault>() {
  static const Description<JournalFault> kFault{
      {field<&JournalFault::of_case>("case"), field<&JournalFault::fault>("what")}};
  return kFault;
}

template <>
const Description<JournalFailure>& description<JournalFailure>() {
  using Failure = JournalFailure;
  static const Description<Failure> kFailure{
      {field<&Failure::of_case>("case"), field<&Failure::reason>("reason"),
       field<&Failure::verify, &VerifyRecord::status>("verify"),
       field<&Failure::verify, &VerifyRecord::method>("method"),
       field<&Failure::verify, &VerifyRecord::digest>("digest"),
       field<&Failure::verify, &VerifyRecord::checked>("samples_checked"),
       field<&Failure::verify, &VerifyRecord::recomputed>("parts_recomputed")}};
  return kFailure;
}

namespace {

JournalHeader read_journal_header(const JsonReader& j) {
  if (!has_schema(kJournalId, j)) j.fail("it is not a journal of mgpu-bench");
  return Kind<JournalHeader>::read(j);
}

// Reads line after line. Lines only refer to earlier ones.
class JournalReading {
 public:
  void line(const JsonReader& j) {
    if (j.has("run")) {
      journal_.header.run = j.at("run").integer<std::uint32_t>();
      current_ = nullptr;
    } else if (j.has("group")) {
      group(j.at("group"));
    } else if (j.has("sample")) {
      current(j).samples.push_back(entry<JournalSample>(j.at("sample")));
    } else if (j.has("disturbed")) {
      current(j).invalidated.push_back(entry<JournalInvalidated>(j.at("disturbed")));
    } else if (j.has("fault")) {
      fault(j.at("fault"));
    } else if (j.has("failed")) {
      current(j).failures.push_back(entry<JournalFailure>(j.at("failed")));
    } else {
      j.fail("it says nothing that this tool knows");
    }
  }
  void header(const JsonReader& j) { journal_.header = read_journal_header(j); }
  Journal take(std::uintmax_t intact) {
    journal_.intact = intact;
    return std::move(journal_);
  }

 private:
  GroupJournal& current(const JsonReader& j) {
    if (current_ == nullptr) j.fail("no group has begun");
    return *current_;
  }
  // Reads an entry that names a case and devices of the current group.
  template <typename Entry>
  Entry entry(const JsonReader& j) {
    Entry entry = Kind<Entry>::read(j);
    const JournalGroup& of = current(j).group;
    if (entry.of_case >= of.cases.size()) j.at("case").fail("no such case");
    if constexpr (requires { entry.devices; }) {
      for (const std::size_t device : entry.devices)
        if (device >= of.devices.size()) j.at("devices").fail("no such device");
    }
    return entry;
  }

  void group(const JsonReader& j) {
    const JournalGroup begins = Kind<JournalGroup>::read(j);
    const auto [at, is_new] = journal_.groups.try_emplace(begins.number);
    current_ = &at->second;
    if (!is_new && current_->group != begins) j.fail("it was another group before");
    current_->group = begins;
    std::move(early_.begin(), early_.end(), std::back_inserter(current_->faults));
    early_.clear();
  }

  void fault(const JsonReader& j) {
    JournalFault f = Kind<JournalFault>::read(j);
    std::size_t samples = 0;
    if (f.of_case) {
      if (*f.of_case >= current(j).group.cases.size()) j.at("case").fail("no such case");
      const auto& all = current(j).invalidated;
      samples = static_cast<std::size_t>(
          std::count_if(all.begin(), all.end(),
                        [&](const JournalInvalidated& d) { return d.of_case == *f.of_case; }));
    }
    check_sample(j.at("what"), f.fault, samples);
    (current_ != nullptr ? current_->faults : early_).push_back(std::move(f));
  }

  Journal journal_;
  GroupJournal* current_ = nullptr;  // in journal_.groups, whose elements never move
  std::vector<JournalFault> early_;  // before the run's first group
};

// Returns the JSON of a line; empty if its hash is wrong.
std::string_view sound(std::string_view line) {
  if (line.size() <= kHash + 1 || line[kHash] != ' ') return {};
  const std::string_view json = line.substr(kHash + 1);
  return fnv1a_hex(json) == line.substr(0, kHash) ? json : std::string_view();
}

}  // namespace

std::optional<ConfigurationChange> first_difference(const Configuration& was,
                                                    const Configuration& is) {
  const auto value = [](const Configuration& of, const std::string& name) -> const std::string* {
    const auto at =
        std::find_if(of.begin(), of.end(), [&](const auto& one) { return one.first == name; });
    return at == of.end() ? nullptr : &at->second;
  };
  for (const auto& [name, now] : is) {
    const std::string* before = value(was, name);
    if (before == nullptr || *before != now)
      return ConfigurationChange{name, before == nullptr ? "" : *before, now};
  }
  for (const auto& [name, before] : was)
    if (value(is, name) == nullptr) return ConfigurationChange{name, before, ""};
  return std::nullopt;
}

std::filesystem::path journal_of(const std::filesystem::path& result_file) {
  std::filesystem::path file = result_file;
  return file += ".journal";
}

std::string journal_line(const JournalHeader& header) {
  return with_hash(flat_json(Kind<JournalHeader>::write(header)));
}

std::string journal_line(const JournalEntry& entry) {
  JsonValue line;
  std::visit(
      [&](const auto& of) {
        put(line, kEntryNames[entry.index()], Kind<std::decay_t<decltype(of)>>::write(of));
      },
      entry);
  return with_hash(flat_json(line));
}

std::string journal_run_line(std::uint32_t run) {
  return with_hash(fmt::format(R"({{"run":{}}})", run));
}

Journal journal_from_text(std::string_view text) {
  JournalReading reading;
  std::size_t number = 0;
  std::uintmax_t intact = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    const bool last = end == std::string_view::npos || end + 1 == text.size();
    const std::string_view json =
        end == std::string_view::npos ? std::string_view() : sound(text.substr(begin, end - begin));
    const auto complain = [&](const std::string& what) {
      throw Error(ErrorKind::input, fmt::format("line {}: {}", number + 1, what));
    };
    if (json.empty()) {
      if (last && number > 0) break;
      if (number == 0)
        throw Error(ErrorKind::input,
                    "it is not a journal of mgpu-bench, or damaged in its first line");
      complain("damaged; what it said is unknown, and samples are not made up");
    }
    try {
      const JsonValue parsed = parse_json_value(json);
      number == 0 ? reading.header(JsonReader(parsed)) : reading.line(JsonReader(parsed));
    } catch (const Error& error) {
      if (number == 0) throw;
      complain(error.what());
    }
    intact = begin = end + 1;
  }
  if (number == 0) throw Error(ErrorKind::input, "it is empty");
  return reading.take(intact);
}

// Journals on disk. POSIX calls: a line must reach the system in one piece, and only their error
// numbers say why a disk refuses.

namespace {

constexpr Nanos kBetweenSyncs = std::chrono::seconds(1);

[[noreturn]] void cannot_keep(const std::filesystem::path& file, int error) {
  throw Error(ErrorKind::output, "cannot write \"" + file.string() + "\": " + std::strerror(error));
}

}  // namespace

Journal read_journal(const std::filesystem::path& file) {
  try {
    return journal_from_text(read_text_file(file, FileKind::regular));
  } catch (const Error& error) {
    throw Error(ErrorKind::input, file.string() + ": " + error.what());
  }
}

JournalWriter::JournalWriter(std::filesystem::path file, JournalHeader header)
    : file_(std::move(file)), header_(std::move(header)) {
  write_file_atomically(file_, journal_line(header_));
  open();
}

JournalWriter::JournalWriter(std::filesystem::path file, const Journal& read)
    : file_(std::move(file)), header_(read.header) {
  ++header_.run;
  open();
  // A truncated line would damage the next one.
  if (::ftruncate(fd_, static_cast<off_t>(read.intact)) != 0) cannot_keep(file_, errno);
  put(journal_run_line(header_.run));
}

JournalWriter::~JournalWriter() { close(); }

void JournalWriter::append(const JournalEntry& entry, Nanos now) {
  put(journal_line(entry));
  if (synced_ && now - *synced_ < kBetweenSyncs) return;
  (void)::fdatasync(fd_);  // a file system without it is no failure
  synced_ = now;
}

void JournalWriter::restart(std::size_t groups, std::size_t rows, std::size_t faults) {
  JournalHeader next = header_;
  next.groups = groups;
  next.rows = rows;
  next.faults = faults;
  write_file_atomically(file_, journal_line(next));
  header_ = std::move(next);
  close();
  open();
}

void JournalWriter::remove() {
  close();
  if (::unlink(file_.c_str()) != 0 && errno != ENOENT) cannot_keep(file_, errno);
}

void JournalWriter::open() {
  fd_ = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd_ < 0) cannot_keep(file_, errno);
}

void JournalWriter::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void JournalWriter::put(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(fd_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_keep(file_, errno);
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace mgpu
