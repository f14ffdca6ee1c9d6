// Journals on disk. POSIX calls: a line must reach the system in one piece, and only their error
// numbers say why a disk refuses.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/base/error.hpp"
#include "lib/base/text_file.hpp"
#include "lib/report/journal.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
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
  // A line that was cut off would damage the next.
  if (::ftruncate(fd_, static_cast<off_t>(read.intact)) != 0) cannot_keep(file_, errno);
  put(journal_run_line(header_.run));
}

JournalWriter::~JournalWriter() { close(); }

void JournalWriter::append(const JournalEntry& entry, Nanos now) {
  put(journal_line(entry));
  if (synced_ && now - *synced_ < kBetweenSyncs) return;
  (void)::fdatasync(fd_);  // a file system without it is no reason to fail
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
