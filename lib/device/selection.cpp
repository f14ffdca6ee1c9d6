// Implements the selector language and the default set of devices.
#include "lib/device/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {

namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

constexpr std::string_view kAccepted =
    "RANK, PLATFORM:DEVICE[.SUB], PLATFORM:*, NODE/ before these, gpu, cpu, accelerator, custom or "
    "all (with :N the first N), "
    "name~TEXT, uuid=PREFIX, "
    "pci=PREFIX, !TERM, separated by commas";

[[noreturn]] void refuse(std::string_view option, std::string_view written, std::string_view why) {
  throw Error(ErrorKind::usage, fmt::format("{}: bad term {}: {}; expected: {}", option,
                                            in_quotes(written), why, kAccepted));
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Returns the number that `text` is as a whole. Rank, platform and device numbers are 32 bits:
// nothing has more devices.
std::optional<std::uint32_t> to_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the id that `text` names: "0:1", "0:1.2" or "0:*", each with an optional prefix such as
// "2/", without leading zeros. Ids of node 0 have no prefix. Returns nothing if `text` is no id.
std::optional<std::string> to_id(std::string_view text) {
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto node = to_number(text.substr(0, slash));
    const auto of_node = text.find('/', slash + 1) == std::string_view::npos
                             ? to_id(text.substr(slash + 1))
                             : std::nullopt;
    if (!node || !of_node) return std::nullopt;
    return *node == 0 ? *of_node : fmt::format("{}/{}", *node, *of_node);
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto platform = to_number(text.substr(0, colon));
  const std::string_view rest = text.substr(colon + 1);
  if (!platform) return std::nullopt;
  if (rest == "*") return fmt::format("{}:*", *platform);
  const std::size_t dot = rest.find('.');
  const auto device = to_number(rest.substr(0, dot));
  if (!device) return std::nullopt;
  if (dot == std::string_view::npos) return fmt::format("{}:{}", *platform, *device);
  const auto sub = to_number(rest.substr(dot + 1));
  if (!sub) return std::nullopt;
  return fmt::format("{}:{}.{}", *platform, *device, *sub);
}

std::string_view platform_of(const Device& device) {
  return std::string_view(device.id).substr(0, device.id.find(':'));
}

// Returns the platform without its node: "0" of "2/0:1". Platforms of the same number are the same
// on all nodes that have the same drivers.
std::string_view platform_anywhere(const Device& device) {
  const std::string_view platform = platform_of(device);
  return platform.substr(platform.find('/') + 1);
}

std::uint32_t node_of(const Device& device) { return device.node ? device.node->number : 0; }

bool same_hardware(const Device& a, const Device& b) {
  if (node_of(a) != node_of(b)) return false;
  return (a.uuid && a.uuid == b.uuid) || (a.pci && a.pci == b.pci);
}

bool begins_with(const std::optional<std::string>& identifier, const std::string& prefix) {
  return identifier && lower(*identifier).compare(0, prefix.size(), prefix) == 0;
}

const std::string kKinds[] = {"gpu", "cpu", "accelerator", "custom", "all"};

// Says what to write instead of a word that is no term: a part of a name, or a kind spelt like it.
std::string unknown_word(std::string_view word) {
  constexpr std::size_t kMost = 32;
  std::string why = "unknown word";
  const bool plain = word.size() <= kMost && std::all_of(word.begin(), word.end(), is_word_char);
  if (plain) why += fmt::format("; name~{} selects devices by a part of their name", word);
  return why + did_you_mean(word, kKinds);
}

}  // namespace

Selector Selector::parse(std::string_view text, std::string_view option) {
  Selector selector;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view written = trim(text.substr(0, comma));
    if (more) text.remove_prefix(comma + 1);
    selector.terms_.push_back(parse_term(written, option));
  }
  return selector;
}

Selector::Term Selector::parse_term(std::string_view written, std::string_view option) {
  Term term;
  term.written = written;
  std::string_view body = written;
  if (!body.empty() && body.front() == '!') {
    term.remove = true;
    body = trim(body.substr(1));
  }
  if (body.empty()) refuse(option, written, "it is empty");

  for (const auto& [prefix, kind] : {std::pair{std::string_view("name~"), Term::Kind::name},
                                     {"uuid=", Term::Kind::uuid},
                                     {"pci=", Term::Kind::pci}}) {
    if (body.substr(0, prefix.size()) != prefix) continue;
    term.kind = kind;
    term.text = lower(body.substr(prefix.size()));
    if (kind == Term::Kind::uuid && term.text.compare(0, 4, "gpu-") == 0)
      term.text.erase(0, 4);  // nvidia-smi prints this prefix
    if (term.text.empty()) refuse(option, written, "nothing to look for");
    return term;
  }

  const std::size_t colon = body.find(':');
  const std::string_view word = body.substr(0, colon);
  if (std::find(std::begin(kKinds), std::end(kKinds), word) != std::end(kKinds)) {
    term.kind = word == "all" ? Term::Kind::all : Term::Kind::type;
    term.text = word;
    if (colon == std::string_view::npos) return term;
    const auto limit = to_number(body.substr(colon + 1));
    if (!limit || *limit == 0)
      refuse(option, written, "after the colon a number from 1 to 4294967295 is expected");
    term.limit = *limit;
    return term;
  }

  if (std::isdigit(static_cast<unsigned char>(body.front())) == 0)
    refuse(option, written, unknown_word(body));
  if (colon == std::string_view::npos) {
    const auto rank = to_number(body);
    if (!rank) refuse(option, written, "not a rank from 0 to 4294967295");
    term.kind = Term::Kind::rank;
    term.text = fmt::format("{}", *rank);
    return term;
  }
  const auto id = to_id(body);
  if (!id) refuse(option, written, "not a platform and a device number");
  term.kind = Term::Kind::id;
  term.text = *id;
  return term;
}

bool Selector::matches(const Term& term, const Device& device, std::size_t rank) {
  switch (term.kind) {
    case Term::Kind::rank:
      return term.text == fmt::format("{}", rank);
    case Term::Kind::id:
      if (term.text.back() == '*')
        return platform_of(device) == std::string_view(term.text).substr(0, term.text.size() - 2);
      return device.id == term.text;
    case Term::Kind::type:
      return to_string(device.type) == term.text;
    case Term::Kind::all:
      return true;
    case Term::Kind::name:
      return lower(device.name).find(term.text) != std::string::npos;
    case Term::Kind::uuid:
      return begins_with(device.uuid, term.text);
    case Term::Kind::pci:
      return begins_with(device.pci, term.text);
  }
  throw Error(ErrorKind::internal, "a selector term of no kind");
}

Selector::Result Selector::apply(std::span<const Device> devices) const {
  Result result;
  std::vector<bool> removed(devices.size(), false), taken(devices.size(), false);
  std::vector<std::size_t> order;
  bool any_added = false;
  for (const Term& term : terms_) {
    std::size_t matched = 0;
    for (std::size_t i = 0; i < devices.size() && (term.limit == 0 || matched < term.limit); ++i) {
      if (!matches(term, devices[i], i)) continue;
      ++matched;
      if (term.remove) {
        removed[i] = true;
      } else if (!taken[i]) {
        taken[i] = true;
        order.push_back(i);
      }
    }
    any_added = any_added || !term.remove;
    if (matched == 0)
      result.unmatched.push_back(term.written);
    else if (matched < term.limit)
      result.shorter.push_back({term.written, matched});
  }
  if (!any_added) {
    order.resize(devices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  std::copy_if(order.begin(), order.end(), std::back_inserter(result.chosen),
               [&](std::size_t i) { return !removed[i]; });
  return result;
}

std::vector<std::size_t> default_selection(std::span<const Device> devices) {
  std::vector<std::size_t> by_score(devices.size());
  std::iota(by_score.begin(), by_score.end(), std::size_t{0});
  std::stable_sort(by_score.begin(), by_score.end(), [&](std::size_t a, std::size_t b) {
    return devices[a].score > devices[b].score;
  });

  // Within one platform, devices with equal identifiers are clones, or parts of one device, that
  // were asked for. Only a device of another platform is a duplicate.
  std::vector<std::size_t> chosen;
  for (const std::size_t i : by_score) {
    const Device& device = devices[i];
    if (device.type != DeviceType::gpu) continue;
    const bool twice = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t k) {
      return platform_of(devices[k]) != platform_of(device) && same_hardware(devices[k], device);
    });
    if (!twice) chosen.push_back(i);
  }
  if (chosen.empty()) {
    for (const std::size_t i : by_score) {
      if (!devices[i].is_cpu()) continue;
      if (chosen.empty() ||
          platform_anywhere(devices[chosen.front()]) == platform_anywhere(devices[i]))
        chosen.push_back(i);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::size_t> best_devices(std::span<const Device> devices,
                                      std::span<const double> utilisation, std::size_t most) {
  const auto worth = [&](std::size_t i) {
    return devices[i].score *
           (1 - (utilisation.empty() ? 0 : std::clamp(utilisation[i], 0.0, 1.0)));
  };
  std::vector<std::size_t> best(devices.size());
  std::iota(best.begin(), best.end(), std::size_t{0});
  std::stable_sort(best.begin(), best.end(),
                   [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  best.resize(std::min(best.size(), most));
  std::sort(best.begin(), best.end());
  return best;
}

std::string no_device_message(std::string_view selector, std::span<const Device> devices,
                              std::span<const std::string> platforms) {
  if (platforms.empty() && devices.empty())
    return "no OpenCL platform was found: is a driver (an ICD) installed?";
  std::vector<std::string> seen;
  for (const Device& device : devices)
    seen.push_back(fmt::format("{} {} ({})", device.id, device.name, to_string(device.type)));
  if (seen.empty())
    return fmt::format("no OpenCL device was found; platforms looked at: {}",
                       fmt::join(platforms, ", "));
  if (selector.empty())
    return fmt::format("no GPU and no CPU to use by default; looked at: {}", fmt::join(seen, ", "));
  return fmt::format("--devices {} matches none of the devices here; there are: {}",
                     in_quotes(selector), fmt::join(seen, ", "));
}

}  // namespace mgpu
