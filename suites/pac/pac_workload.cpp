// Merging and verifying what devices return.
#include "suites/pac/pac_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/common/variants.hpp"
#include "suites/pac/pac_program.hpp"
#include "suites/pac/reference.hpp"

namespace mgpu::pac {
namespace {

// Number of moments that a thread takes at once.
constexpr std::uint64_t moments_at_once = std::uint64_t{1} << 16;

// Calls body(begin, end) for pieces of [0, n).
template <class Body>
void in_pieces(std::uint64_t n, unsigned threads, const Body& body) {
  parallel_for(ceil_div(n, moments_at_once), threads, [&](std::uint64_t piece) {
    body(piece * moments_at_once, std::min(n, (piece + 1) * moments_at_once));
  });
}

}  // namespace

Shape PacWorkload::shape_of(const Problem& problem) {
  Shape shape;
  shape.result_on_devices = true;
  shape.items = problem.items();
  shape.unit = problem.axis == Axis::batch     ? ItemUnit{"recordings"}
               : problem.axis == Axis::channel ? ItemUnit{"channels"}
                                               : ItemUnit{"surrogates", problem.surrogates};
  shape.ops = static_cast<double>(problem.results()) * static_cast<double>(problem.surrogates + 1);
  shape.rate_unit = "indices/s";
  if (problem.at_once > 0) shape.granularity = std::min(problem.at_once, problem.batch);
  shape.bytes_in = problem.input_bytes();
  shape.bytes_out = problem.result_bytes();
  shape.spread_cost();
  if (problem.axis == Axis::permutation) shape.cost = {0, 0, shape.cost.ops, shape.bytes_in};
  if (problem.in_files) {
    shape.ops = static_cast<double>(problem.batch);
    shape.work_unit = shape.rate_unit;
    shape.rate_unit = "recordings/s";
  }
  return shape;
}

PacWorkload::PacWorkload(const SuiteParams& params)
    : problem_(problem_of(params)),
      host_threads_(params.host_threads),
      data_(problem_, params),
      order_(problem_.in_files ? order_of(problem_.batch, problem_.shuffle)
                               : std::vector<std::uint32_t>{}),
      shape_(shape_of(problem_)),
      arrivals_(shape_.items, host_threads_) {
  for (std::size_t i = 0; i < data_.parts(); ++i) free_.push_back(data_.part(i));
  for (std::size_t i = 0; i < data_.stages(); ++i) free_stages_.push_back(data_.stage(i));
  if (params.input) look_at_series();
}

Reference PacWorkload::reference() const {
  const Recordings* const recordings = data_.recordings();
  if (recordings == nullptr) return {problem_, data_.series()};
  return {problem_, [this, recordings](std::uint64_t series, std::span<float> to) {
            std::vector<float> whole(problem_.channels * problem_.samples);
            recordings->read(series / problem_.channels, whole);
            const auto one = std::span(whole).subspan(series % problem_.channels * problem_.samples,
                                                      problem_.samples);
            std::copy(one.begin(), one.end(), to.begin());
          }};
}

std::span<float> PacWorkload::take_stage() {
  const std::scoped_lock lock(mutex_);
  if (free_stages_.empty()) return {};
  const std::span<float> stage = free_stages_.back();
  free_stages_.pop_back();
  return stage;
}

void PacWorkload::give_back_stage(std::span<float> stage) {
  const std::scoped_lock lock(mutex_);
  free_stages_.push_back(stage);
}

void PacWorkload::read(const Slice& slice, std::span<float> to) {
  const std::size_t each = problem_.channels * problem_.samples;
  const auto threads = static_cast<unsigned>(
      std::max<std::size_t>(1, 2 * host_threads_ / std::max<std::size_t>(2, data_.stages())));
  try {
    parallel_for(slice.size(), threads, [&](std::uint64_t i) {
      data_.recordings()->read(order_[slice.begin + i], to.subspan(i * each, each));
    });
  } catch (const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!unread_) unread_ = error;
  }
}

std::shared_ptr<const Pages> PacWorkload::read_all() {
  const std::scoped_lock lock(load_mutex_);
  if (auto all = all_.lock()) return all;
  const auto all = std::make_shared<Pages>(problem_.input_bytes(), "all recordings");
  read({0, problem_.batch},
       {reinterpret_cast<float*>(all->data()), problem_.input_bytes() / sizeof(float)});
  all_ = all;
  return all;
}

// Checks a few evenly spread series: as many as take a few tenths of a second.
void PacWorkload::look_at_series() {
  constexpr std::uint64_t most = 8;
  const Reference reference = this->reference();
  const double seconds = 0.3 * host_threads_ / reference.seconds_to_resolve();
  const std::uint64_t count =
      std::min({problem_.series(), most, static_cast<std::uint64_t>(std::min(seconds, 1e9))});
  std::vector<std::string> found(count);
  parallel_for(count, host_threads_, [&](std::uint64_t i) {
    found[i] = reference.unresolved(i * problem_.series() / count);
  });
  std::erase_if(found, [](const std::string& each) { return each.empty(); });
  if (found.empty()) return;
  shape_.caveats.push_back(found.front());
  if (found.size() > 1)
    shape_.caveats.front() +=
        fmt::format("; the same in {} of {} series examined", found.size(), count);
}

std::optional<Method> PacWorkload::method(const DeviceTraits& device) const {
  const std::vector<Method> all = methods(device, problem_);
  if (all.empty()) return std::nullopt;
  return named_or_first(
      all, [](Method each) { return to_string(each); }, preferred(device));
}

Capacity PacWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  const auto chosen = method(device);
  if (chosen) return pac::capacity(device, problem_, *chosen, mode);
  std::vector<GroupDemand> demands;
  for (const Method each : methods(without_limits(device), problem_)) {
    const TransformShape shape = transform_shape(problem_, each, 1);
    demands.push_back({shape.group(), shape.local_memory()});
  }
  return {0, 0, 0,
          demands.empty()
              ? "transforms of " + std::to_string(problem_.samples) + " samples are not supported"
              : why_none_suits(device, demands)};
}

// Counts operations as `calibrate` does. Transform methods: the multiplications of the inverse
// transforms, eight operations per butterfly (three instructions, of which one takes two slots).
// Direct method: an addition per sample and shift.
Demand PacWorkload::demand(const DeviceTraits& device) const {
  Demand demand;
  const auto chosen = method(device);
  if (!chosen) return demand;
  const auto pairs = static_cast<double>(problem_.results()),
             samples = static_cast<double>(problem_.samples);
  demand.int32 = *chosen != Method::direct
                     ? pairs * (problem_.bins - 1) * 4 * samples * std::log2(samples)
                     : pairs * samples * static_cast<double>(shift_list(problem_).entries.size());
  return demand;
}

std::unique_ptr<DeviceProgram> PacWorkload::program(DeviceResources& device, Mode mode,
                                                    const Capacity& capacity) {
  std::vector<Method> candidates = methods(device.traits(), problem_);
  candidates.insert(candidates.begin(), method(device.traits()).value());
  // Another method may need more memory than the capacity says.
  std::erase_if(candidates, [&](Method each) {
    return pac::capacity(device.traits(), problem_, each, mode).fits < capacity.fits;
  });
  return make_first_suited(candidates, [&](Method each) {
    return std::make_unique<PacProgram>(*this, device, each, mode, capacity.fits);
  });
}

std::vector<std::string> PacWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(methods(device, problem_), [](Method each) { return to_string(each); });
}

bool PacWorkload::has_variant(const DeviceTraits&, const std::string& variant) const {
  return std::any_of(std::begin(all_methods), std::end(all_methods),
                     [&](Method each) { return variant == to_string(each); });
}

void PacWorkload::begin_sample() {
  const std::scoped_lock lock(mutex_);
  begun_ = false;
  pending_.clear();
  sorted_.clear();
  arrivals_.begin_sample(std::as_writable_bytes(data_.result()));
}

std::span<Moments> PacWorkload::take_part() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) return {};
  const std::span<Moments> part = free_.back();
  free_.pop_back();
  return part;
}

void PacWorkload::give_back(std::span<Moments> part) {
  settle(part);
  const std::scoped_lock lock(mutex_);
  free_.push_back(part);
}

// Adds the pending parts to the result. The caller holds the lock.
void PacWorkload::add_pending() {
  const std::span<Moments> all = data_.result();
  in_pieces(all.size(), host_threads_, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      Moments sum = begun_ ? all[i] : Moments{};
      for (const auto& part : pending_) sum += part[i];
      all[i] = sum;
    }
  });
  begun_ = true;
  pending_.clear();
}

void PacWorkload::settle(std::span<const Moments> part) {
  const std::scoped_lock lock(mutex_);
  if (std::any_of(pending_.begin(), pending_.end(),
                  [&](const auto& other) { return other.data() == part.data(); }))
    add_pending();
}

void PacWorkload::add_part(std::span<const Moments> part, std::span<const Slice> slices) {
  arrivals_.arrived(slices);
  const std::scoped_lock lock(mutex_);
  pending_.push_back(part);
}

void PacWorkload::merge() {
  const std::scoped_lock lock(mutex_);
  if (problem_.axis == Axis::permutation && !pending_.empty()) add_pending();
}

void PacWorkload::rehearse_merge(std::size_t parts) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < parts; ++i) pending_.push_back(data_.part(i % data_.parts()));
  add_pending();
}

std::span<const Moments> PacWorkload::by_name() const {
  if (!problem_.shuffle) return data_.result();
  if (sorted_.empty()) {
    const std::uint64_t each = problem_.channels * problem_.pairs();
    sorted_.resize(problem_.results());
    for (std::uint64_t i = 0; i < problem_.batch; ++i)
      std::copy_n(data_.result().begin() + static_cast<std::ptrdiff_t>(i * each), each,
                  sorted_.begin() + static_cast<std::ptrdiff_t>(order_[i] * each));
  }
  return sorted_;
}

std::string PacWorkload::digest() const {
  {
    const std::scoped_lock lock(mutex_);
    if (unread_) throw Error(*unread_);
  }
  return sha256_hex(std::as_bytes(by_name()));
}

// Describes the pair of bands with the largest mean index over all series.
std::string PacWorkload::peak() const {
  const std::uint64_t pairs = problem_.pairs();
  std::vector<double> sums(pairs);
  for (std::uint64_t i = 0; i < data_.result().size(); ++i)
    sums[i % pairs] += result_of(data_.result()[i], problem_.surrogates).index;
  const auto at =
      static_cast<std::uint64_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  char text[120];
  std::snprintf(text, sizeof text, "the largest mean index, %.3g, is at %.4g Hz of %.4g Hz",
                sums[at] / static_cast<double>(problem_.series()),
                problem_.amplitude.centre(at % problem_.amplitude.count),
                problem_.phase.centre(at / problem_.amplitude.count));
  return text;
}

Verdict PacWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("parts of the results")) return *missing;
  return passed_.of(level, seed, digest(),
                    [&] { return compare(level == VerifyLevel::full, seed); });
}

// Checks all results for plausibility, and phase bands of some evenly spread series against the
// reference: as many as take about a second of each thread, or a tenth of one for a sample.
Verdict PacWorkload::compare(bool full, std::uint64_t seed) {
  const Reference reference = this->reference();
  const std::span<const Moments> results = by_name();
  std::string wrong = reference.impossible(results, host_threads_);
  const std::uint64_t all = problem_.series() * problem_.phase.count;
  const auto affordable = [&](double seconds) {
    const double count = seconds * host_threads_ / reference.seconds_a_band();
    return std::min(all, static_cast<std::uint64_t>(std::clamp(count, 4.0, 1e9)));
  };
  const std::uint64_t in_sample = affordable(0.1), wanted = full ? affordable(1) : in_sample;
  std::uint64_t step = std::max<std::uint64_t>(1, ceil_div(all, wanted));
  while (std::gcd(step, problem_.phase.count) > 1) ++step;  // so that every band is among them
  const std::uint64_t start = std::mt19937_64(seed)() % std::min(step, all),
                      count = (all - start - 1) / step + 1;
  const HostWork work{"phase bands of series", count,
                      in_sample < count ? std::to_string(in_sample) + " of them" : ""};
  std::vector<Reference::Checked> checked(count);
  if (wrong.empty())
    watched_for(host_watch(), work, count, host_threads_,
                [&](std::uint64_t n) { checked[n] = reference.check(start + n * step, results); });
  std::uint64_t skipped = 0;
  for (const Reference::Checked& one : checked) {
    if (wrong.empty()) wrong = one.message;
    skipped += one.skipped;
  }
  const std::uint64_t pairs = count * problem_.amplitude.count;
  if (wrong.empty() && skipped == pairs)
    return {Verdict::Status::off,
            "not verified: of all " + std::to_string(pairs) +
                " pairs that were looked at fp32 cannot tell phase or amplitude",
            ""};
  Verdict verdict{wrong.empty() ? Verdict::Status::passed : Verdict::Status::failed, "", wrong};
  verdict.method = std::to_string(count) + " of " + std::to_string(all) +
                   " phase bands of series in float64, with all shifts";
  if (skipped > 0)
    verdict.method += ", but for " + std::to_string(skipped) + " of their " +
                      std::to_string(pairs) + " pairs, whose phase or amplitude fp32 cannot tell";
  if (wrong.empty()) verdict.method += "; " + peak();
  return verdict;
}

void PacWorkload::write_result(const std::filesystem::path& file) const {
  constexpr std::uint64_t columns = 8;
  const std::uint64_t pairs = problem_.pairs();
  std::vector<double> all(problem_.results() * columns);
  const std::span<const Moments> results = by_name();
  in_pieces(problem_.results(), host_threads_, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const Result result = result_of(results[i], problem_.surrogates);
      const std::uint64_t series = i / pairs, pair = i % pairs;
      const double row[columns] = {static_cast<double>(series / problem_.channels),
                                   static_cast<double>(series % problem_.channels),
                                   problem_.phase.centre(pair / problem_.amplitude.count),
                                   problem_.amplitude.centre(pair % problem_.amplitude.count),
                                   result.index,
                                   result.mean,
                                   result.deviation,
                                   result.z};
      std::copy(std::begin(row), std::end(row),
                all.begin() + static_cast<std::ptrdiff_t>(i * columns));
    }
  });
  write_npy(file, {problem_.results(), columns, sizeof(double)}, std::as_bytes(std::span(all)));
}

}  // namespace mgpu::pac
