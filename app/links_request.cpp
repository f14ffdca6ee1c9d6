#include "app/links_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/exec/wait.hpp"

namespace mgpu {
namespace {

constexpr Bytes kMostLinkSize = Bytes{1} << 40;
constexpr std::uint64_t kMostSizeFactor = 1024;

[[noreturn]] void refuse_size(const Given& given, const std::string& text, const std::string& why) {
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} {}; expected: 4KiB,1MiB, or 4KiB:1GiB, or 4KiB:1GiB:4",
                          given.from, in_quotes(text), why));
}

// Adds one size, or a range of sizes.
void add_sizes(const Given& given, const std::string& text, Bytes least, std::set<Bytes>& sizes) {
  const auto size = [&](const std::string& part) {
    const Bytes bytes = parse_bytes(given.from, part);
    if (bytes < least)
      refuse_size(given, part, fmt::format("is less than an element, of {} bytes", least));
    if (bytes > kMostLinkSize) refuse_size(given, part, "is more than 1 TiB");
    return bytes;
  };
  std::vector<std::string> parts;
  for (std::size_t begin = 0, colon = 0; colon != std::string::npos; begin = colon + 1) {
    colon = text.find(':', begin);
    parts.push_back(text.substr(begin, colon - begin));
  }
  if (parts.size() > 3) refuse_size(given, text, "is no range");
  const Bytes first = size(parts[0]), last = parts.size() > 1 ? size(parts[1]) : first;
  const std::uint64_t factor = parts.size() > 2 ? parse_count(given.from, parts[2]) : 2;
  if (first > last) refuse_size(given, text, "ends before it begins");
  if (factor < 2 || factor > kMostSizeFactor)
    refuse_size(given, parts[2], fmt::format("is no factor from 2 to {}", kMostSizeFactor));
  for (Bytes bytes = first; bytes <= last; bytes *= factor) sizes.insert(bytes);
}

template <class Value>
Value word_among(const Settings& settings, const char* name, std::span<const Value> all,
                 Value standard) {
  const Given* given = settings.find(name);
  if (given == nullptr) return standard;
  std::vector<std::string> words;
  for (const Value value : all) words.emplace_back(to_string(value));
  return all[read_word(*given, words)];
}

std::vector<Collective> read_ops(const Given& given) {
  std::vector<std::string> words;
  for (const Collective op : all_collectives()) words.emplace_back(to_string(op));
  words.emplace_back("all");
  std::vector<Collective> ops;
  const auto add = [&](Collective op) {
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  };
  for (const std::string& word : split_commas(given.value)) {
    const std::size_t place = read_word({word, given.from, given.layer}, words);
    if (place + 1 == words.size())
      std::for_each(all_collectives().begin(), all_collectives().end(), add);
    else
      add(all_collectives()[place]);
  }
  return ops;
}

void read_files(const Settings& settings, LinksRequest& request) {
  if (const Given* given = settings.find("result")) {
    if (given->value.empty())
      throw Error(ErrorKind::usage, given->from + ": the file name is empty");
    request.result_file = given->value;
  }
  request.exports = read_exports(settings);
  if (request.result_file) request.outputs.add(*request.result_file);
  add_outputs(request.exports, request.outputs);
  refuse_two_on_standard_output(settings.is_on("json"), request.outputs);
}

}  // namespace

std::vector<Bytes> read_link_sizes(const Given& given, Bytes least) {
  std::set<Bytes> sizes;
  for (const std::string& text : split_commas(given.value)) add_sizes(given, text, least, sizes);
  return {sizes.begin(), sizes.end()};
}

LinksRequest read_links_request(const Settings& settings) {
  LinksRequest request;
  LinksOptions& options = request.options;
  const std::string peer = choose(settings, "peer", {"auto", "direct", "staged", "host"});
  for (const PeerPath path : {PeerPath::direct, PeerPath::staged, PeerPath::host})
    if (peer == to_string(path)) options.path = path;
  options.element = word_among(settings, "element", all_elements(), Element::f32);
  options.reduction = word_among(settings, "redop", all_reductions(), Reduction::sum);
  const Given* ops = settings.find("op");
  options.ops = ops != nullptr ? read_ops(*ops) : std::vector{Collective::all_reduce};
  options.matrices = ops == nullptr;
  if (const Given* sizes = settings.find("sizes"))
    options.sizes = read_link_sizes(*sizes, bytes_of(options.element));
  options.quick = settings.is_on("quick");
  if (const Given* counts = settings.find("device-counts"))
    request.counts.device_counts = read_counts(*counts, 1);
  request.counts.strict = settings.is_on("strict");
  const Given* const timeout = settings.find("timeout");
  const Nanos answer = timeout != nullptr ? read_time(*timeout) : WaitLimits{}.answer;
  request.json = settings.is_on("json");
  request.quiet = settings.is_on("quiet");
  const auto names = [](const std::vector<Collective>& all) {
    std::string text;
    for (const Collective op : all) text += (text.empty() ? "" : ",") + std::string(to_string(op));
    return text;
  };
  request.recorded = {{"peer", peer},
                      {"matrices", std::int64_t{options.matrices}},
                      {"op", names(options.ops)},
                      {"element", std::string(to_string(options.element))},
                      {"redop", std::string(to_string(options.reduction))},
                      {"quick", std::int64_t{options.quick}},
                      {"timeout_ns", answer.count()}};
  for (const char* name : {"sizes", "device-counts"}) {
    std::string key = name;
    std::replace(key.begin(), key.end(), '-', '_');
    if (const Given* given = settings.find(name)) request.recorded[key] = given->value;
  }
  read_files(settings, request);
  return request;
}

}  // namespace mgpu
