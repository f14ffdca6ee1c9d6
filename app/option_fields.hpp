// The field of a request that an option sets: how its text is read, what is refused, and how
// results record it. One function for each kind of value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/run_request.hpp"

namespace mgpu {

// Returns the part of a request that has the field: the request, its session, the session's stop
// rule, or the options of `links`.
template <typename Part, typename Request>
auto& part_of(Request& request) {
  if constexpr (std::is_same_v<Part, RunRequest>) {
    return request;
  } else if constexpr (std::is_same_v<Part, SessionOptions>) {
    return request.session;
  } else if constexpr (std::is_same_v<Part, LinksOptions>) {
    return request.links;
  } else {
    static_assert(std::is_same_v<Part, StopRule>);
    return request.session.stop;
  }
}

// Makes a field from two functions: `read` parses its value; `record` returns the value that
// results record, if any.
template <typename Part, typename Value, typename Read, typename Record>
OptionField sets(Value Part::*member, Read read, Record record, std::string unit = {}) {
  return {{},
          [=](const Given& given, RunRequest& request) {
            part_of<Part>(request).*member = read(given);
          },
          [=](const RunRequest& request) -> std::optional<ParamValue> {
            return record(part_of<Part>(request).*member);
          },
          std::move(unit)};
}

// Makes a flag, recorded as "yes" or not at all.
template <typename Part>
OptionField sets_flag(bool Part::*member) {
  return sets(member, read_flag,
              [](bool on) { return on ? std::optional<ParamValue>("yes") : std::nullopt; });
}

// Makes a count. A value below `least` means that it was not given; it is not recorded. A value too
// large for a signed number is recorded as text.
template <typename Part>
OptionField sets_count(std::uint64_t Part::*member, std::uint64_t least) {
  return sets(
      member, [least](const Given& given) { return read_count(given, least); },
      [least](std::uint64_t n) -> std::optional<ParamValue> {
        if (n < least) return std::nullopt;
        if (!std::in_range<std::int64_t>(n)) return std::to_string(n);
        return static_cast<std::int64_t>(n);
      });
}

// Makes a duration, recorded in nanoseconds. Time is Nanos or std::optional<Nanos>.
template <typename Part, typename Time>
OptionField sets_time(Time Part::*member) {
  return sets(
      member, read_time,
      [](std::optional<Nanos> t) {
        return t ? std::optional<ParamValue>(std::int64_t{t->count()}) : std::nullopt;
      },
      "_ns");
}

// Makes a choice between words; `meanings` must cover all values that the field can have.
template <typename Part, typename Value>
OptionField sets_word(Value Part::*member, std::vector<std::pair<std::string, Value>> meanings) {
  std::vector<std::string> words;
  for (const auto& [word, value] : meanings) words.push_back(word);
  OptionField field = sets(
      member, [=](const Given& given) { return meanings[read_word(given, words)].second; },
      [=](const Value& value) {
        return std::find_if(meanings.begin(), meanings.end(),
                            [&](const auto& one) { return one.second == value; })
            ->first;
      });
  field.words = words;
  return field;
}

}  // namespace mgpu
