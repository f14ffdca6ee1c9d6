// Lines of samples are put together by hand, without a JSON value in between: one is written after
// every sample.
#include "lib/report/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/fnv.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/json_names.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {
namespace {

constexpr std::string_view kJournalSchema = "mgpu-bench/journal";
constexpr int kJournalVersion = 1;
constexpr std::size_t kHash = 16;  // hexadecimal digits

std::string with_hash(const std::string& json) { return fnv1a_hex(json) + ' ' + json + '\n'; }

std::string entry_text(const JournalGroup& g) {
  JsonValue group = json_object(
      {{"number", g.number}, {"name", g.name}, {"devices", g.devices}, {"cases", g.cases}});
  for (const auto& [name, value] : g.settled) put_inside(group, "settled", name, value);
  return flat_json(json_object({{"group", std::move(group)}}));
}

std::string entry_text(const JournalSample& s) {
  std::string out;
  const auto to = std::back_inserter(out);
  const auto counts = [](const std::vector<Nanos>& times) {
    std::vector<std::int64_t> all;
    for (const Nanos t : times) all.push_back(t.count());
    return all;
  };
  fmt::format_to(
      to,
      R"({{"sample":{{"case":{},"run":{},"time_ns":{},"decision_ns":{},"devices":[{}],"items":[{}],"busy_ns":[{}])",
      s.of_case, s.run, s.time.count(), s.decision.count(), fmt::join(s.devices, ","),
      fmt::join(s.share.items, ","), fmt::join(counts(s.share.busy), ","));
  if (!s.share.first.empty()) fmt::format_to(to, R"(,"first":[{}])", fmt::join(s.share.first, ","));
  if (s.recomputed > 0) fmt::format_to(to, R"(,"recomputed":{})", s.recomputed);
  if (!s.digest.empty()) append_json_string(out += R"(,"digest":)", s.digest);
  if (!s.chosen.empty()) {
    append_json_string(out += R"(,"chosen":)", s.chosen);
    fmt::format_to(to, R"(,"uses":[{}])",
                   fmt::join(std::vector<int>(s.uses.begin(), s.uses.end()), ","));
  }
  return out += "}}";
}

std::string entry_text(const JournalDisturbed& d) {
  return flat_json(
      json_object({{"disturbed", json_object({{"case", d.of_case},
                                              {"devices", d.devices},
                                              {"time_ns", d.time},
                                              {"verify", to_string(d.verify)},
                                              {"reason", d.reason},
                                              {"samples_before", d.samples_before}})}}));
}

std::string entry_text(const JournalFault& f) {
  return flat_json(json_object(
      {{"fault", json_object({{"case", f.of_case}, {"what", Kind<Fault>::write(f.fault)}})}}));
}

std::string entry_text(const JournalFailure& f) {
  return flat_json(
      json_object({{"failed", json_object({{"case", f.of_case},
                                           {"reason", f.reason},
                                           {"verify", to_string(f.verify.status)},
                                           {"method", f.verify.method},
                                           {"digest", f.verify.digest},
                                           {"samples_checked", f.verify.checked},
                                           {"parts_recomputed", f.verify.recomputed}})}}));
}

JournalHeader read_journal_header(const JsonReader& j) {
  if (!j.has("schema") || j.at("schema").string() != kJournalSchema)
    j.fail("it is not a journal of mgpu-bench");
  const auto version = j.at("schema_version").integer<int>();
  if (version != kJournalVersion)
    j.fail(
        fmt::format("it is of version {}, this tool reads version {}", version, kJournalVersion));
  JournalHeader header;
  header.id = j.at("id").string();
  header.run = j.at("run").integer<std::uint32_t>();
  header.groups = j.at("groups").integer<std::uint32_t>();
  header.rows = j.at("rows").integer<std::uint32_t>();
  header.faults = j.at("faults").integer<std::uint32_t>();
  header.argv = j.at("argv").strings();
  j.at("configuration").members([&](const std::string& name, const JsonReader& value) {
    header.configuration.emplace_back(name, value.string());
  });
  return header;
}

VerifyStatus read_verify_status(const JsonReader& j) {
  const auto status = json_names::from_string(
      j.string(), {VerifyStatus::passed, VerifyStatus::failed, VerifyStatus::off});
  if (!status) j.fail("an unknown word");
  return *status;
}

template <typename T>
std::vector<T> read_numbers(const JsonReader& j) {
  std::vector<T> all;
  j.elements([&](const JsonReader& e) { all.push_back(e.integer<T>()); });
  return all;
}

// Takes line after line. Whatever they refer to was in a line before.
class JournalReading {
 public:
  void line(const JsonReader& j) {
    if (j.has("run")) {
      journal_.header.run = j.at("run").integer<std::uint32_t>();
      current_ = nullptr;
    } else if (j.has("group")) {
      group(j.at("group"));
    } else if (j.has("sample")) {
      sample(j.at("sample"));
    } else if (j.has("disturbed")) {
      disturbed(j.at("disturbed"));
    } else if (j.has("fault")) {
      fault(j.at("fault"));
    } else if (j.has("failed")) {
      failed(j.at("failed"));
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
  std::size_t index_of_case(const JsonReader& j) {
    const auto value = j.integer<std::uint32_t>();
    if (value >= current(j).group.cases.size()) j.fail("no such case");
    return value;
  }
  std::vector<std::size_t> indices_of_devices(const JsonReader& j) {
    std::vector<std::size_t> devices;
    for (const auto i : read_numbers<std::uint32_t>(j)) {
      if (i >= current(j).group.devices.size()) j.fail("no such device");
      devices.push_back(i);
    }
    return devices;
  }

  void group(const JsonReader& j) {
    JournalGroup begins{j.at("number").integer<std::uint32_t>(), j.at("name").string(),
                        j.at("devices").strings(), j.at("cases").strings()};
    if (j.has("settled"))
      j.at("settled").members([&](const std::string& name, const JsonReader& value) {
        begins.settled[name] = value.string();
      });
    const auto [at, is_new] = journal_.groups.try_emplace(begins.number);
    current_ = &at->second;
    if (!is_new && current_->group != begins) j.fail("it was another group before");
    current_->group = begins;
    std::move(early_.begin(), early_.end(), std::back_inserter(current_->faults));
    early_.clear();
  }

  void sample(const JsonReader& j) {
    JournalSample s;
    s.of_case = index_of_case(j.at("case"));
    s.devices = indices_of_devices(j.at("devices"));
    s.run = j.at("run").integer<std::uint32_t>();
    s.time = j.at("time_ns").nanos();
    s.decision = j.at("decision_ns").nanos();
    s.share.makespan = s.time;
    s.share.items = read_numbers<Items>(j.at("items"));
    j.at("busy_ns").elements([&](const JsonReader& e) { s.share.busy.push_back(e.nanos()); });
    if (j.has("first")) s.share.first = read_numbers<Items>(j.at("first"));
    if (j.has("recomputed")) s.recomputed = j.at("recomputed").integer<std::uint32_t>();
    if (j.has("digest")) s.digest = j.at("digest").string();
    if (j.has("chosen")) {
      s.chosen = j.at("chosen").string();
      for (const int used : read_numbers<int>(j.at("uses"))) s.uses.push_back(used != 0);
    }
    const std::size_t n = s.devices.size();
    const bool fits = n > 0 && s.share.items.size() == n && s.share.busy.size() == n &&
                      (s.share.first.empty() || s.share.first.size() == n) &&
                      (s.uses.empty() || s.uses.size() == n);
    if (!fits || s.time < Nanos{}) j.fail("its lists are not of its devices");
    current(j).samples.push_back(std::move(s));
  }

  void disturbed(const JsonReader& j) {
    JournalDisturbed d;
    d.of_case = index_of_case(j.at("case"));
    d.devices = indices_of_devices(j.at("devices"));
    d.time = j.at("time_ns").nanos();
    d.verify = read_verify_status(j.at("verify"));
    d.reason = j.at("reason").string();
    d.samples_before = j.at("samples_before").optional([](const JsonReader& v) {
      return std::size_t{v.integer<std::uint32_t>()};
    });
    current(j).disturbed.push_back(std::move(d));
  }

  void fault(const JsonReader& j) {
    JournalFault f;
    if (!j.at("case").is_null()) f.of_case = index_of_case(j.at("case"));
    std::size_t samples = 0;
    if (f.of_case) {
      const auto& all = current(j).disturbed;
      samples = static_cast<std::size_t>(
          std::count_if(all.begin(), all.end(),
                        [&](const JournalDisturbed& d) { return d.of_case == *f.of_case; }));
    }
    f.fault = Kind<Fault>::read(j.at("what"));
    check_sample(j.at("what"), f.fault, samples);
    (current_ != nullptr ? current_->faults : early_).push_back(std::move(f));
  }

  void failed(const JsonReader& j) {
    JournalFailure f;
    f.of_case = index_of_case(j.at("case"));
    f.reason = j.at("reason").string();
    f.verify.status = read_verify_status(j.at("verify"));
    f.verify.method = j.at("method").string();
    f.verify.digest = j.at("digest").string();
    f.verify.recomputed = j.at("parts_recomputed").integer<std::uint32_t>();
    f.verify.checked = j.at("samples_checked").integer<std::uint32_t>();
    current(j).failures.push_back(std::move(f));
  }

  Journal journal_;
  GroupJournal* current_ = nullptr;  // of the map, whose elements stay where they are
  std::vector<JournalFault> early_;  // before the run's first group
};

// What a line says; empty where its hash is not its own.
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

std::string journal_line(const JournalHeader& h) {
  JsonValue configuration = json_object();
  for (const auto& [name, value] : h.configuration) put(configuration, name, value);
  return with_hash(flat_json(json_object({{"schema", kJournalSchema},
                                          {"schema_version", kJournalVersion},
                                          {"id", h.id},
                                          {"run", h.run},
                                          {"groups", h.groups},
                                          {"rows", h.rows},
                                          {"faults", h.faults},
                                          {"argv", h.argv},
                                          {"configuration", std::move(configuration)}})));
}

std::string journal_line(const JournalEntry& entry) {
  return with_hash(std::visit([](const auto& e) { return entry_text(e); }, entry));
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

}  // namespace mgpu
