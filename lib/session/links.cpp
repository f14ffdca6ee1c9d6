#include "lib/session/links.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/exec/leak.hpp"
#include "lib/session/collective_runs.hpp"
#include "lib/session/link_matrix.hpp"

namespace mgpu {
namespace {

constexpr Bytes kKiB = 1024, kMiB = 1024 * kKiB;

Repetitions repetitions_of(const LinksOptions& options) {
  if (options.quick)
    return {.warmup = 5, .least = 5, .most = 8, .budget = std::chrono::milliseconds(15)};
  return {};
}

// Returns pieces that are larger than the caches of a GPU, and that take a CPU some milliseconds; a
// repetition takes some milliseconds.
LinkAmounts amounts_of(LinkSet& set, bool quick) {
  const bool cpu = set.any_cpu();
  LinkAmounts amounts{cpu ? 16 * kMiB : 64 * kMiB, cpu ? 2u : 4u};
  if (quick) amounts = {cpu ? 2 * kMiB : 64 * kMiB, 1};
  for (const DeviceIndex device : set.all()) {
    const Bytes free = set.device(device).free_memory();  // three pieces are allocated
    while (amounts.piece > kMiB &&
           (amounts.piece * 4 > free || amounts.piece > set.traits(device).max_allocation))
      amounts.piece /= 2;
  }
  return amounts;
}

std::vector<Bytes> default_sizes(LinkSet& set, bool quick) {
  if (quick) return {4 * kKiB, 1 * kMiB};
  if (set.any_cpu()) return {4 * kKiB, 64 * kKiB, 1 * kMiB, 16 * kMiB};
  return {4 * kKiB, 64 * kKiB, 1 * kMiB, 16 * kMiB, 256 * kMiB};
}

// Drops sizes that need more in one piece than the devices can share.
void leave_out_unshared(LinkSet& set, const LinksOptions& options, std::vector<Bytes>& sizes,
                        Report& report) {
  if (Collectives::in_launches(set.group())) return;  // they take outputs in blocks
  const Bytes most = set.group().most_shared();
  std::string left_out;
  std::erase_if(sizes, [&](Bytes size) {
    if (shared_by_call(set, options.ops, options.element, size) <= most) return false;
    left_out += (left_out.empty() ? "" : ", ") + format_bytes(static_cast<double>(size));
    return true;
  });
  if (left_out.empty()) return;
  report.warnings.push_back("collectives of " + left_out + " are left out: on the " +
                            set.path_among(set.all()) + " path devices share at most " +
                            format_bytes(static_cast<double>(most)) +
                            " in one piece; --peer staged has no such limit");
}

// Replaces sizes that do not fit by the largest that does.
std::vector<Bytes> fitting(std::vector<Bytes> sizes, const LargestCall& largest, Report& report) {
  if (sizes.empty()) return sizes;
  const Bytes asked = *std::max_element(sizes.begin(), sizes.end());
  if (asked <= largest.size) return sizes;
  report.warnings.push_back("sizes up to " + format_bytes(static_cast<double>(asked)) +
                            " were asked for: the memory of device " + largest.device + " allows " +
                            format_bytes(static_cast<double>(largest.size)));
  std::erase_if(sizes, [&](Bytes size) { return size > largest.size; });
  if (sizes.empty() || sizes.back() != largest.size) sizes.push_back(largest.size);
  return sizes;
}

void measure_collectives(LinkSet& set, const LinksOptions& options, Report& report,
                         const std::function<void(const std::string&)>& progress) {
  const LargestCall most = largest_call(set, options.ops, options.element);
  std::vector<Bytes> sizes =
      options.sizes.empty() ? default_sizes(set, options.quick) : options.sizes;
  leave_out_unshared(set, options, sizes, report);
  sizes = fitting(std::move(sizes), most, report);
  const Bytes largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  CollectiveRuns& runs = set.hold(std::make_unique<CollectiveRuns>(
      set, options.ops, options.element, options.reduction, largest, repetitions_of(options)));
  for (const Collective op : options.ops) {
    progress(std::string(to_string(op)) + " on " + std::to_string(set.size()) +
             (set.size() == 1 ? " device" : " devices"));
    const std::vector<Bytes> all = op == Collective::barrier ? std::vector{Bytes{0}} : sizes;
    for (const Bytes size : all) runs.measure(op, size, report);
  }
}

void note_pairs(LinkSet& set, Report& report) {
  for (const DeviceIndex from : set.all())
    for (const DeviceIndex to : set.all())
      if (from != to)
        report.paths.push_back({set.traits(from).id, set.traits(to).id, set.peer(from).path(to)});
  report.exchange_notes.assign(set.group().notes().begin(), set.group().notes().end());
}

class OpenedDevices {
 public:
  explicit OpenedDevices(Backend& backend) : backend_(backend) {}
  // Leaks devices that do not become idle.
  ~OpenedDevices() {
    for (auto& device : open_)
      if (!device->drained() && !try_drain(backend_, *device)) leak(std::move(device));
  }
  OpenedDevices(const OpenedDevices&) = delete;
  OpenedDevices& operator=(const OpenedDevices&) = delete;
  void open(const Device& device) {
    open_.push_back(backend_.open(device));
    open_.back()->leave_untimed();  // the host's clock measures
  }
  std::vector<OpenDevice*> first(std::size_t count) {
    std::vector<OpenDevice*> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back(open_[i].get());
    return devices;
  }

 private:
  Backend& backend_;
  std::vector<std::unique_ptr<OpenDevice>> open_;
};

}  // namespace

void measure_links(Backend& backend, const LinksOptions& options, Report& report,
                   const std::function<void(const std::string&)>& progress) {
  OpenedDevices opened(backend);
  for (const Device& device : options.devices) {
    report.devices.push_back({device, report.devices.size(), {}, {}, {}});
    if (options.element == Element::f64 && !options.ops.empty() && !device.fp64)
      throw Error(ErrorKind::unsupported,
                  "device " + device.id + " has no f64; expected for --element: u32, u64, f32");
    opened.open(device);
  }
  const std::size_t all = options.devices.size();
  std::vector<std::size_t> counts = options.device_counts;
  if (counts.empty()) counts = {all};
  const auto measure_matrix = [&](std::optional<PeerPath> path, bool in_use) {
    const OwnedLinkSet set = LinkSet::make(backend, opened.first(all), path);
    if (in_use) note_pairs(*set, report);
    if (!options.matrices) return;
    LinkMatrix& matrix = set->hold(std::make_unique<LinkMatrix>(
        *set, amounts_of(*set, options.quick), repetitions_of(options), in_use, report));
    matrix.fill();
    if (in_use) {
      progress("host and devices");
      matrix.host();
    }
    progress(in_use ? "pairs of devices" : "pairs of devices, staged");
    matrix.pairs();
    if (options.latencies) matrix.latency();
  };
  measure_matrix(options.path, true);
  const bool staged =
      std::all_of(report.paths.begin(), report.paths.end(),
                  [](const LinkPath& pair) { return pair.path == PeerPath::staged; });
  if (!staged && !options.path && options.matrices && options.unused_paths)
    measure_matrix(PeerPath::staged, false);
  for (const std::size_t count : options.ops.empty() ? std::vector<std::size_t>() : counts) {
    const OwnedLinkSet set = LinkSet::make(backend, opened.first(count), options.path);
    measure_collectives(*set, options, report, progress);
  }
  report.complete = true;
}

}  // namespace mgpu
