// What a row of the table of options says of the field of a request that its value goes to: how the
// text is read, what is refused, and how results record it. One function for each kind of value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/run_request.hpp"

namespace mgpu {

// The part of a request that has the field: itself, its session, or the session's rule for when to
// stop.
template <typename Part, typename Request>
auto& part_of(Request& request) {
  if constexpr (std::is_same_v<Part, RunRequest>) {
    return request;
  } else if constexpr (std::is_same_v<Part, SessionOptions>) {
    return request.session;
  } else {
    static_assert(std::is_same_v<Part, StopRule>);
    return request.session.stop;
  }
}

// `read` makes the value of the field of what was given; `record` makes of it what results record,
// if there is anything.
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

// Recorded as "yes", or not at all.
template <typename Part>
OptionField sets_flag(bool Part::*member) {
  return sets(member, read_flag,
              [](bool on) { return on ? std::optional<ParamValue>("yes") : std::nullopt; });
}

// A field below `least` was not given, and is not recorded. One too large for a signed number is
// recorded as text.
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

// Time is Nanos, or std::optional<Nanos>; recorded in nanoseconds.
template <typename Part, typename Time>
OptionField sets_time(Time Part::*member) {
  return sets(
      member, read_time,
      [](std::optional<Nanos> t) {
        return t ? std::optional<ParamValue>(std::int64_t{t->count()}) : std::nullopt;
      },
      "_ns");
}

// To what one of the words means; these are all values that the field can have.
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
