#include "tests/layer/script.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <sstream>
#include <stdexcept>

namespace fault {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("MGPU_FAULT_SCRIPT: " + what);
}

template <class Number>
Number number(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    refuse("\"" + text + "\" is not a number");
  return value;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Computes SplitMix64, so that the random numbers of a rule do not depend on other rules or
// threads.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t hashed(std::string_view text) {
  std::uint64_t hash = 0;
  for (const char c : text) hash = mixed(hash ^ static_cast<unsigned char>(c));
  return hash;
}

constexpr std::string_view kGroups[] = {"open",    "build",   "allocate", "pin",
                                        "upload",  "launch",  "download", "wait",
                                        "profile", "enqueue", "release",  "any"};

}  // namespace

bool in_group(std::string_view call, std::string_view group) {
  if (group == "any" || call == group) return true;
  if (group == "open") return call == "clCreateContext" || starts(call, "clCreateCommandQueue");
  if (group == "build") return call == "clBuildProgram";
  if (group == "allocate") return starts(call, "clCreateBuffer");
  if (group == "pin") return call == "clEnqueueMapBuffer";
  if (group == "upload") return starts(call, "clEnqueueWriteBuffer");
  if (group == "launch") return call == "clEnqueueNDRangeKernel";
  if (group == "download") return starts(call, "clEnqueueReadBuffer");
  if (group == "enqueue") return starts(call, "clEnqueue");
  if (group == "wait")
    return call == "clFinish" || call == "clWaitForEvents" || call == "clGetEventInfo";
  if (group == "profile") return call == "clGetEventProfilingInfo";
  return group == "release" && starts(call, "clRelease");
}

void Script::read(std::string_view text, const std::string& log_file) {
  std::vector<Rule> rules;
  for (const std::string& part : split(text, ";\n")) {
    if (!split(part, " \t").empty()) rules.push_back(read_rule(part, rules.size()));
  }
  const int log = log_file.empty()
                      ? -1
                      : ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (!log_file.empty() && log < 0) refuse("cannot write MGPU_FAULT_LOG \"" + log_file + "\"");
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  has_lies_ = std::any_of(rules_.begin(), rules_.end(), [](const Rule& r) { return r.lie; });
  if (log_ >= 0) ::close(log_);
  log_ = log;
}

Script::Rule Script::read_rule(std::string_view text, std::size_t above) {
  Rule rule;
  for (const std::string& word : split(text, " \t")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) refuse("\"" + word + "\" is not key=value");
    read_word(rule, word.substr(0, equals), word.substr(equals + 1));
  }
  if (rule.lie && split(text, " \t").size() > (rule.device == "*" ? 1 : 2))
    refuse("\"" + std::string(text) + "\": be= goes with device= only");
  if (rule.lie) return rule;
  if (rule.after && (*rule.after < 1 || *rule.after > above))
    refuse("after= names no rule above it: \"" + std::string(text) + "\"");
  const auto all_are = [&](std::initializer_list<std::string_view> groups) {
    return std::all_of(rule.calls.begin(), rule.calls.end(), [&](const std::string& call) {
      return std::any_of(groups.begin(), groups.end(), [&](std::string_view group) {
        return call == group || in_group(call, group);
      });
    });
  };
  const Action action = rule.fault.action;
  const bool fits = action == Action::none     ? false
                    : action == Action::flip   ? all_are({"upload", "launch", "download"})
                    : action == Action::vanish ? all_are({"clGetDeviceIDs"})
                    : action == Action::stamps || action == Action::fail || action == Action::skip
                        ? all_are({"upload", "launch", "download", "enqueue"})
                        : true;
  if (!fits) refuse("\"" + std::string(text) + "\": do= is missing, or does not go with call=");
  return rule;
}

void Script::read_word(Rule& rule, const std::string& key, const std::string& value) {
  using Read = std::function<void(Rule&, const std::string&)>;
  const auto to = [](auto Rule::*field) -> Read {
    return [field](Rule& of, const std::string& text) {
      using Field = std::remove_reference_t<decltype(of.*field)>;
      if constexpr (std::is_same_v<Field, std::string>)
        of.*field = text;
      else if constexpr (std::is_integral_v<Field>)
        of.*field = number<Field>(text);
      else
        of.*field = number<typename Field::value_type>(text);
    };
  };
  static const std::map<std::string, Read> keys = {
      {"device", to(&Rule::device)},
      {"kernel", to(&Rule::kernel)},
      {"min", to(&Rule::min)},
      {"max", to(&Rule::max)},
      {"nth", to(&Rule::nth)},
      {"from", to(&Rule::from)},
      {"every", to(&Rule::every)},
      {"p", to(&Rule::p)},
      {"seed", to(&Rule::seed)},
      {"times", to(&Rule::times)},
      {"after", to(&Rule::after)},
      {"while", to(&Rule::file)},
      {"bit", to(&Rule::bit)},
      {"arg", [](Rule& of, const std::string& text) { of.fault.arg = number<unsigned>(text); }},
      {"be",
       [](Rule& of, const std::string& text) {
         try {
           of.lie = Lie::read(text);
         } catch (const std::invalid_argument& error) {
           refuse(error.what());
         }
       }},
      {"do", read_action},
      {"call", read_calls}};
  const auto found = keys.find(key);
  if (found == keys.end()) refuse("\"" + key + "\" is not a key");
  found->second(rule, value);
}

void Script::read_calls(Rule& rule, const std::string& text) {
  rule.calls = split(text, ",");
  for (const std::string& call : rule.calls) {
    if (!starts(call, "cl") &&
        std::find(std::begin(kGroups), std::end(kGroups), call) == std::end(kGroups))
      refuse("call=" + call + " is neither a function nor a group");
  }
}

void Script::read_action(Rule& rule, const std::string& text) {
  struct Known {
    std::string_view name;
    Action action;
    enum class Takes { nothing, number, code, stamps } takes;
    long value = 0;
  };
  using Takes = Known::Takes;
  static constexpr Known known[] = {{"error", Action::error, Takes::number},
                                    {"fail-alloc", Action::error, Takes::nothing, -4},
                                    {"fail", Action::fail, Takes::number},
                                    {"skip", Action::skip, Takes::nothing},
                                    {"delay", Action::delay, Takes::number},
                                    {"hang", Action::hang, Takes::nothing},
                                    {"delay-call", Action::delay_call, Takes::number},
                                    {"hang-call", Action::hang_call, Takes::nothing},
                                    {"flip", Action::flip, Takes::nothing},
                                    {"stamps", Action::stamps, Takes::stamps},
                                    {"vanish", Action::vanish, Takes::nothing},
                                    {"lose", Action::lose, Takes::code, -5},
                                    {"die", Action::die, Takes::code, -5},
                                    {"note", Action::note, Takes::nothing}};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon),
                    value = text.substr(std::min(colon + 1, text.size()));
  const auto found = std::find_if(std::begin(known), std::end(known),
                                  [&](const Known& k) { return k.name == name; });
  if (found == std::end(known)) refuse("do=" + text + " is not an action");
  rule.action_text = text;
  rule.fault.action = found->action;
  rule.fault.value = found->value;
  if (found->takes == Takes::number || (found->takes == Takes::code && !value.empty())) {
    rule.fault.value = number<long>(value);
    const bool is_code = found->action != Action::delay && found->action != Action::delay_call;
    if (is_code ? rule.fault.value >= 0 : rule.fault.value < 0)
      refuse("do=" + text + ": the sign is wrong");
  } else if (found->takes == Takes::stamps) {
    if (value != "zero" && value != "backwards" && value != "huge")
      refuse("do=" + text + ": accepted are zero, backwards, huge");
    rule.fault.stamps = value;
  } else if (!value.empty()) {
    refuse("do=" + text + ": " + name + " takes nothing");
  }
}

bool Script::matches(const Rule& rule, const Site& site) {
  return (rule.device == "*" || rule.device == site.device) &&
         (rule.kernel.empty() || rule.kernel == site.kernel) && site.bytes >= rule.min &&
         site.bytes <= rule.max &&
         std::any_of(rule.calls.begin(), rule.calls.end(),
                     [&](const std::string& group) { return in_group(site.call, group); });
}

bool Script::is_due(const Rule& rule, std::uint64_t n, std::uint64_t dice) {
  if (!rule.file.empty() && ::access(rule.file.c_str(), F_OK) != 0) return false;
  if (rule.fired >= rule.times || (rule.nth > 0 && n != rule.nth) || n < rule.from) return false;
  if (rule.every > 0 && n % rule.every != 0) return false;
  return !rule.p || static_cast<double>(dice >> 11) * 0x1p-53 < *rule.p;
}

Fault Script::at(const Site& site) {
  const std::lock_guard lock(mutex_);
  Fault fault;
  std::vector<Rule*> worked;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    if (rule.lie || !matches(rule, site)) continue;
    if (rule.after && !rules_[*rule.after - 1].worked_on.contains(site.device)) continue;
    const std::uint64_t n = ++rule.counts[site.device];
    const std::uint64_t dice = mixed(mixed(rule.seed) ^ mixed(n) ^ hashed(site.device));
    if (fault.action != Action::none || !is_due(rule, n, dice)) continue;
    ++rule.fired;
    worked.push_back(&rule);
    note(i + 1, site, n);
    if (rule.fault.action == Action::note) continue;
    fault = rule.fault;
    fault.bit = rule.bit.value_or(mixed(dice));
  }
  for (Rule* rule : worked)
    rule->worked_on.insert(site.device);  // only now: this call does not count as coming after it
  return fault;
}

std::shared_ptr<const Lie> Script::lie(const std::string& device) {
  if (!has_lies_ || device.empty()) return nullptr;
  const std::string parent = device.substr(0, device.find('.'));
  const std::lock_guard lock(mutex_);
  for (const Rule& rule : rules_) {
    if (rule.lie && (rule.device == "*" || rule.device == device || rule.device == parent))
      return rule.lie;
  }
  return nullptr;
}

void Script::note(std::size_t rule, const Site& site, std::uint64_t n) const {
  if (log_ < 0) return;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::ostringstream line;
  line << "{\"rule\": " << rule << ", \"device\": \"" << site.device << "\", \"call\": \""
       << site.call << "\", \"kernel\": \"" << site.kernel << "\", \"bytes\": " << site.bytes
       << ", \"n\": " << n << ", \"do\": \"" << rules_[rule - 1].action_text
       << "\", \"ns\": " << now.tv_sec * 1'000'000'000LL + now.tv_nsec << "}\n";
  const std::string text = line.str();
  // The line is written in one piece, so that several processes may share the file.
  if (::write(log_, text.data(), text.size()) < 0) return;
}

}  // namespace fault
