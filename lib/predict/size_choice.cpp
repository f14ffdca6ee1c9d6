#include "lib/predict/size_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"

namespace mgpu {
namespace {

// Least time of a problem's operations: shorter samples show only launches.
constexpr Nanos kShortest = std::chrono::microseconds(50);
constexpr double kFarBeyond = 8;  // factor relative to the aim
// Least factor of work between sizes: a grid rarely has exactly 4.
constexpr double kSweepStep = 3;

// Returns the cost of a sample that does not depend on its operations.
Nanos constant_of(const SuiteRate& rate) { return rate.fixed + rate.slice; }

// A problem of a given size, before anything is allocated.
class Sized {
 public:
  Sized(const Problem& like, std::uint64_t size) : problem_(like) {
    problem_.params.size = size;
    if (problem_.suite->check != nullptr) problem_.suite->check(problem_.params);
    if (problem_.suite->optional.resolve != nullptr)
      problem_.suite->optional.resolve(problem_.params);
    shape_ = problem_.suite->shape(problem_.params);
  }

  double ops() const { return shape_.cost.ops * static_cast<double>(shape_.items); }

  double seconds_on(const SuiteRate& rate) const {
    return seconds(constant_of(rate)) + ops() / rate.ops_per_s;
  }

  // Returns the fastest device and its time.
  std::pair<std::size_t, double> fastest(std::span<const SizedDevice> devices) const {
    std::pair<std::size_t, double> best{0, std::numeric_limits<double>::infinity()};
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const double time = seconds_on(devices[i].rate);
      if (time < best.second) best = {i, time};
    }
    return best;
  }

  Items items() const { return shape_.items; }
  Items granularity() const { return std::max<Items>(1, shape_.granularity); }
  Items granules() const {  // at least one
    return std::max<Items>(1, shape_.items / granularity());
  }

  // Returns the fastest device's time for the operations alone, without the constant cost of a
  // sample.
  double fastest_work(std::span<const SizedDevice> devices) const {
    double rate = 0;
    for (const SizedDevice& device : devices) rate = std::max(rate, device.rate.ops_per_s);
    return ops() / rate;
  }

  SizeLimit beyond(std::span<const SizedDevice> devices, const SizeLimits& limits) const {
    if (shape_.bytes_in > limits.input) return SizeLimit::input;
    const auto bytes = problem_.suite->host_bytes;
    if (bytes != nullptr && bytes(problem_.params) > limits.host_memory)
      return SizeLimit::host_memory;
    for (const SizedDevice& device : devices)
      if (std::max(shape_.bytes_in, shape_.bytes_out) > device.room)
        return SizeLimit::device_memory;
    for (const SizedDevice& device : devices) {
      const double host = device.rate.host_ops_per_s;
      if (host > 0 && ops() / host > seconds(limits.host)) return SizeLimit::host_time;
    }
    for (const SizedDevice& device : devices)
      if (ops() / device.rate.ops_per_s > seconds(limits.slowest)) return SizeLimit::slow_device;
    return SizeLimit::none;
  }

 private:
  Problem problem_;
  Shape shape_;
};

// Returns the problem with this size; none if the suite does not support the size.
std::optional<Sized> sized(const Problem& like, std::uint64_t size) {
  try {
    return Sized(like, size);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    return std::nullopt;
  }
}

// Returns the sizes 1, 2, 4, ...; with two sizes per doubling 1, 2, 3, 4, 6, ...
std::vector<std::uint64_t> grid(const SuiteInfo& suite) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size < std::uint64_t{1} << 48; size *= 2) {
    sizes.push_back(size);
    if (suite.sizes_per_doubling == 2 && size > 1) sizes.push_back(size + size / 2);
  }
  return sizes;
}

// Chooses as choose_size does, but only among sizes of so many granules; none if there is none
// within the limits. Enough granules are worth more of the host's time, any granule is worth
// exceeding every limit.
std::optional<ChosenSize> choose_with(const Problem& like, std::span<const SizedDevice> devices,
                                      const SizeLimits& limits, Items granules) {
  std::optional<ChosenSize> best;
  double best_off = 0;
  std::uint64_t last = 0;  // last size within the limits
  for (const std::uint64_t size : grid(*like.suite)) {
    const auto problem = sized(like, size);
    if (!problem) {
      if (best) break;  // beyond the suite's sizes
      continue;
    }
    const SizeLimit limit = problem->beyond(devices, limits);
    const bool splits = problem->granules() >= granules;
    if (limit == SizeLimit::none && !splits) continue;
    if (limit != SizeLimit::none && best) {
      if (best->size == last && best->expected < limits.aim) best->limit = limit;
      break;
    }
    if (limit == SizeLimit::host_time && !splits) continue;
    if (limit != SizeLimit::none && limit != SizeLimit::host_time && granules > 1)
      return std::nullopt;
    last = size;
    const auto [fastest, time] = problem->fastest(devices);
    const Nanos constant = constant_of(devices[fastest].rate);
    const bool doubtful = constant > limits.aim;
    // A size that shows only launches is kept until there is a larger one.
    const bool small = problem->fastest_work(devices) < seconds(kShortest);
    const double counts = doubtful ? time - seconds(constant) : time;
    const double off = small ? std::numeric_limits<double>::infinity()
                             : std::abs(std::log(counts / seconds(limits.aim)));
    if (!best || std::isinf(best_off) || off < best_off) {
      best =
          ChosenSize{size, from_seconds(time), fastest, limit, limit != SizeLimit::none, doubtful};
      best_off = off;
    }
    // Does not stop at the first size that is further off: due to its windows, twice the terms of
    // msm sometimes cost less.
    if (limit != SizeLimit::none || (!small && counts > kFarBeyond * seconds(limits.aim))) break;
  }
  return best;
}

}  // namespace

std::vector<SizedDevice> sized_devices(const Problem& problem, std::span<const Device> devices,
                                       const SuiteRates& rates) {
  std::vector<SizedDevice> known;
  if (problem.suite->shape == nullptr) return known;
  for (const Device& device : devices) {
    const auto rate =
        rates.find({work_of(problem_of_reference_size(problem, device.is_cpu())), device.id});
    if (rate != rates.end()) known.push_back({rate->second, room_on(device), device.name});
  }
  return known;
}

Nanos time_of_size(const Problem& like, std::uint64_t size, std::span<const SizedDevice> devices) {
  return from_seconds(Sized(like, size).fastest(devices).second);
}

std::optional<RatedTimes> rated_times(const Problem& problem, const SuiteRate& rate) {
  if (problem.suite->shape == nullptr || !(rate.ops_per_s > 0)) return std::nullopt;
  const Sized sized(problem, problem.params.size);
  const double host = rate.host_ops_per_s > 0 ? sized.ops() / rate.host_ops_per_s : 0;
  return RatedTimes{from_seconds(sized.seconds_on(rate)), from_seconds(host)};
}

ChosenSize choose_size(const Problem& like, std::span<const SizedDevice> devices,
                       const SizeLimits& limits) {
  for (const Items granules : {kLeastGranules * limits.devices, Items{limits.devices}, Items{1}})
    if (const auto chosen = choose_with(like, devices, limits, granules)) return *chosen;
  Sized(like, like.suite->default_size);  // throws the reason
  return {like.suite->default_size, {}, 0, SizeLimit::none, false, false};
}

std::uint64_t next_size(const Problem& like, std::uint64_t size) {
  for (const std::uint64_t larger : grid(*like.suite))
    if (larger > size && sized(like, larger)) return larger;
  return size;
}

std::uint64_t size_to_split(const Problem& like, std::uint64_t size, std::size_t devices) {
  constexpr std::uint64_t kMost = 1 << 20;
  if (like.suite->shape == nullptr || Sized(like, size).granules() >= kLeastGranules * devices)
    return size;
  for (std::uint64_t factor = 2; factor <= kMost; factor *= 2) {
    const auto larger = sized(like, size * factor);
    if (!larger) break;
    if (larger->granules() >= kLeastGranules * devices) return size * factor;
  }
  return size;
}

std::string too_few_pieces(const Problem& problem, std::size_t devices) {
  if (problem.suite->shape == nullptr) return "";
  const Sized sized(problem, problem.params.size);
  const Items pieces = (sized.items() + sized.granularity() - 1) / sized.granularity();
  if (pieces >= devices || devices < 2) return "";
  const std::string items = format_counted(sized.items(), "items"),
                    in = sized.granularity() == 1
                             ? ""
                             : fmt::format(" in granules of {}", sized.granularity());
  return pieces <= 1 ? fmt::format("{}{} cannot be split over {} devices", items, in, devices)
                     : fmt::format("{}{} are {} pieces for {} devices", items, in, pieces, devices);
}

std::vector<std::uint64_t> sweep_sizes(const Problem& like, std::span<const SizedDevice> devices,
                                       std::uint64_t largest) {
  std::vector<std::uint64_t> sizes{largest};
  double next = Sized(like, largest).ops();
  const std::vector<std::uint64_t> all = grid(*like.suite);
  for (auto size = all.rbegin(); size != all.rend(); ++size) {
    const auto problem = *size < largest ? sized(like, *size) : std::nullopt;
    if (!problem || problem->ops() * kSweepStep > next) continue;
    if (problem->fastest_work(devices) < seconds(kShortest)) break;
    sizes.push_back(*size);
    next = problem->ops();
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

}  // namespace mgpu
