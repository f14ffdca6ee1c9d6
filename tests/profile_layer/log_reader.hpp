// Reads a log of the profiling layer for its tests: simpler than lib/profile's reader, and without
// its code.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/profile/command_log.hpp"

namespace mgpu::test {

namespace log_format = mgpu::command_log;

template <class Record>
struct Logged : Record {
  std::string tail;
};

// A record of a kind, and what follows its struct.
class CommandLog {
 public:
  explicit CommandLog(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(file), {});
    log_format::FileHeader head{};
    if (text_.size() < sizeof head) throw std::runtime_error(path.string() + " has no header");
    std::memcpy(&head, text_.data(), sizeof head);
    if (std::memcmp(head.magic, log_format::kMagic, sizeof head.magic) != 0 ||
        head.version != log_format::kVersion)
      throw std::runtime_error(path.string() + " is not a log");
    log_format::RecordHeader record{};
    for (std::size_t at = head.size; at < text_.size(); at += record.size) {
      if (text_.size() - at < sizeof record) break;
      std::memcpy(&record, text_.data() + at, sizeof record);
      if (record.size < record.fixed || record.size % 8 != 0)
        throw std::runtime_error(path.string() + ": record of a bad size");
      if (record.size > text_.size() - at) break;
      places_.emplace_back(record.kind, at);
      whole_ = at + record.size;
    }
  }

  template <class Record>
  std::vector<Logged<Record>> all(log_format::Kind kind) const {
    std::vector<Logged<Record>> found;
    for (const auto& [its, at] : places_) {
      if (its != kind) continue;
      log_format::RecordHeader head{};
      std::memcpy(&head, text_.data() + at, sizeof head);
      Logged<Record> record{};
      std::memcpy(static_cast<Record*>(&record), text_.data() + at, sizeof(Record));
      record.tail.assign(text_, at + head.fixed, head.size - head.fixed);
      found.push_back(record);
    }
    return found;
  }
  std::size_t count(log_format::Kind kind) const {
    return static_cast<std::size_t>(std::count_if(
        places_.begin(), places_.end(), [&](const auto& place) { return place.first == kind; }));
  }
  // Bytes after the last whole record.
  std::size_t rest() const { return text_.size() - whole_; }

  std::vector<Logged<log_format::Command>> commands() const {
    return all<log_format::Command>(log_format::Kind::command);
  }
  std::map<std::uint64_t, log_format::Times> times() const {
    std::map<std::uint64_t, log_format::Times> found;
    for (const auto& each : all<log_format::Times>(log_format::Kind::times))
      found[each.number] = each;
    return found;
  }
  std::map<std::uint32_t, std::string> names() const {
    std::map<std::uint32_t, std::string> found;
    for (const auto& each : all<log_format::Name>(log_format::Kind::name))
      found[each.id] = each.tail.substr(0, each.bytes);
    return found;
  }

 private:
  std::string text_;
  std::vector<std::pair<log_format::Kind, std::size_t>> places_;
  std::size_t whole_ = sizeof(log_format::FileHeader);
};

inline std::vector<std::uint64_t> waits_of(const Logged<log_format::Command>& command) {
  std::vector<std::uint64_t> waits(command.wait_count);
  const std::size_t skipped = command.dimensions * std::size_t{3} * sizeof(std::uint64_t);
  std::memcpy(waits.data(), command.tail.data() + skipped, waits.size() * sizeof waits[0]);
  return waits;
}

inline std::vector<log_format::MemoryUse> memory_of(const Logged<log_format::Command>& command) {
  std::vector<log_format::MemoryUse> uses(command.memory_count);
  const std::size_t skipped =
      (command.dimensions * std::size_t{3} + command.wait_count) * sizeof(std::uint64_t);
  std::memcpy(uses.data(), command.tail.data() + skipped, uses.size() * sizeof uses[0]);
  return uses;
}

}  // namespace mgpu::test
