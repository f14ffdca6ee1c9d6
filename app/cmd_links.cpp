// `mgpu-bench links`: what moves between the host and devices, and between devices, and how fast.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/run_request.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quantity.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/report/json_text.hpp"
#include "lib/session/links.hpp"

namespace mgpu {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// The value whose name was given, out of all there are.
template <class Value>
Value named(const Given& given, std::span<const Value> all) {
  std::vector<std::string> words;
  for (const Value value : all) words.emplace_back(to_string(value));
  return all[read_word(given, words)];
}

std::vector<Collective> read_collectives(const Settings& settings) {
  const Given* given = settings.find("op");
  if (given == nullptr) return {Collective::all_reduce};
  const auto all = all_collectives();
  std::vector<std::string> words;
  for (const Collective collective : all) words.emplace_back(to_string(collective));
  words.insert(words.end(), {"all", "none"});
  std::vector<Collective> chosen;
  for (const std::string& word : split(given->value, ',')) {
    const std::size_t at = read_word(Given{word, given->from, given->layer}, words);
    if (at == all.size()) chosen.assign(all.begin(), all.end());
    if (at < all.size() && std::find(chosen.begin(), chosen.end(), all[at]) == chosen.end()) chosen.push_back(all[at]);
  }
  return chosen;
}

// "4KiB:1GiB" for 4 KiB, 16 KiB, ... and 1 GiB; "4KiB,1MiB" for these.
std::vector<Bytes> read_sizes(const std::string& from, const std::string& text) {
  std::vector<Bytes> sizes;
  for (const std::string& word : split(text, ',')) {
    const std::vector<std::string> ends = split(word, ':');
    if (ends.size() > 2)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: \"{}\"; accepted: sizes such as 4KiB,1MiB or a range such as 4KiB:1GiB", from, word));
    const Bytes first = parse_bytes(from, ends.front()), last = parse_bytes(from, ends.back());
    if (first > last) throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" begins above its end", from, word));
    if (first == 0 && last > 0) throw Error(ErrorKind::usage, fmt::format("{}: \"{}\"; a range begins above 0", from, word));
    Bytes size = first;
    for (; size < last; size *= 4) sizes.push_back(size);
    sizes.push_back(last);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::optional<PeerPath> read_peer(const Settings& settings) {
  const Given* given = settings.find("peer");
  if (given == nullptr) return std::nullopt;
  const std::vector<std::string> words{"auto", "direct", "staged", "host"};
  const std::size_t word = read_word(*given, words);
  return word == 0 ? std::nullopt : std::optional(static_cast<PeerPath>(word - 1));
}

std::vector<std::size_t> read_device_counts(const Settings& settings, std::size_t available) {
  const Given* given = settings.find("device-counts");
  if (given == nullptr) return {available};
  std::vector<std::size_t> counts;
  for (const std::uint64_t count : read_counts(*given, 1)) {
    if (count > available)
      throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is more than there are devices ({})", given->from, count, available));
    counts.push_back(static_cast<std::size_t>(count));
  }
  return counts;
}

// What the devices have room for at a time, several times over.
Bytes most_of(std::span<const std::unique_ptr<OpenDevice>> devices) {
  Bytes most = ~Bytes{0};
  for (const auto& device : devices) {
    const DeviceTraits& traits = device->resources().traits();
    most = std::min({most, traits.max_allocation, device->free_memory() / (8 + 2 * devices.size())});
  }
  return most;
}

}  // namespace

ExitCode cmd_links(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const bool quick = settings.is_on("quick"), json = settings.is_on("json"), quiet = settings.is_on("quiet");
  LinkOptions options;
  options.peer = read_peer(settings);
  options.pairs = !settings.is_on("no-pairs");
  options.collectives = read_collectives(settings);
  if (const Given* given = settings.find("element")) options.element = named(*given, all_elements());
  if (const Given* given = settings.find("redop")) options.reduction = named(*given, all_reductions());
  options.repetitions = quick ? 3 : 10;
  WaitLimits limits;
  if (const Given* given = settings.find("timeout")) limits.answer = read_time(*given);
  const Given* sizes = settings.find("sizes");
  if (sizes != nullptr) options.sizes = read_sizes(sizes->from, sizes->value);

  if (const Given* file = settings.find("result")) check_writable(file->value);

  const std::unique_ptr<Backend> backend = context.make_backend();
  const DeviceSet set = choose_devices(*backend, context);
  for (const std::string& warning : set.warnings) print_error("warning: " + warning);
  options.counts = read_device_counts(settings, set.devices.size());
  const bool gpus = std::none_of(set.devices.begin(), set.devices.end(), [](const Device& device) { return device.is_cpu(); });
  if (sizes == nullptr) options.sizes = read_sizes("--sizes", quick ? "4KiB:1MiB" : gpus ? "4KiB:256MiB" : "4KiB:16MiB");

  install_stop_signals();
  limits.stop = [] { return stop_signal() != 0; };
  const LimitsInForce in_force(*backend, limits);
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const Device& device : set.devices) open.push_back(backend->open(device));
  const Bytes most = most_of(open);
  options.pair_bytes = std::min<Bytes>(most / 4096 * 4096, Bytes{quick ? 16u : gpus ? 256u : 64u} << 20);
  const std::size_t asked = options.sizes.size();
  std::erase_if(options.sizes, [&](Bytes size) { return size > most; });
  if (options.sizes.size() < asked)
    print_error(fmt::format("warning: sizes above {} are left out: the devices have no room for them",
                            format_bytes(static_cast<double>(most))));

  LinksRecord record;
  record.started = utc_now();
  record.version = context.tool.version;
  record.devices = set.devices;
  record.peer = options.peer ? std::string(to_string(*options.peer)) : "auto";
  measure_links(*backend, open, options, record, [&](const std::string& what) {
    if (!quiet) print_error(what);
  });
  const std::string text = indented_json(links_json(record));
  if (const Given* file = settings.find("result")) write_file_atomically(file->value, text);
  if (json)
    print_json(text);
  else
    print(links_text(record, table_style(settings, context.environment)));
  if (!record.any_wrong()) return ExitCode::ok;
  print_error("error: data of a collective did not arrive as it was sent: see #wrong");
  return ExitCode::unverified;
}

}  // namespace mgpu
