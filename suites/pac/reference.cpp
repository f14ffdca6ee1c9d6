#include "suites/pac/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <numbers>
#include <numeric>

#include "lib/workload/parallel_for.hpp"
#include "suites/pac/shifts.hpp"

namespace mgpu::pac {
namespace {

using Complex = Reference::Complex;
using Signal = Reference::Signal;

constexpr double tolerance = 1e-6, pi = std::numbers::pi;
// A phase of which more samples than that are at borders of bins is left out, as either side of
// them cannot be tried.
constexpr std::size_t most_doubtful = 10;
// What fp32 may be off by, of a series' root mean square: a few of its roundings of a number as
// large.
constexpr double off_at_most = 2e-6;
// Where that is more than a tenth of the mean amplitude of a band, rounding is most of it, and it
// is left out. What an index then is off by at most, of that share of the amplitude: bins have many
// samples, and errors of both signs.
constexpr double most_noise = 0.1, index_of_noise = 1e-3;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// sum of x[t] e^(sign 2 pi i k t / n): halves as long as n is even, then the sum itself.
Signal transformed(const Signal& x, double sign) {
  const std::size_t n = x.size();
  Signal out(n);
  if (n % 2 == 0) {
    Signal even(n / 2), odd(n / 2);
    for (std::size_t t = 0; t < n / 2; ++t) {
      even[t] = x[2 * t];
      odd[t] = x[2 * t + 1];
    }
    even = transformed(even, sign);
    odd = transformed(odd, sign);
    for (std::size_t k = 0; k < n / 2; ++k) {
      const Complex turned =
          std::polar(1.0, sign * 2 * pi * static_cast<double>(k) / static_cast<double>(n)) * odd[k];
      out[k] = even[k] + turned;
      out[k + n / 2] = even[k] - turned;
    }
    return out;
  }
  Signal turns(n);
  for (std::size_t m = 0; m < n; ++m)
    turns[m] = std::polar(1.0, sign * 2 * pi * static_cast<double>(m) / static_cast<double>(n));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t t = 0; t < n; ++t) out[k] += x[t] * turns[k * t % n];
  return out;
}

}  // namespace

Reference::Reference(const Problem& problem, std::span<const float> series)
    : problem_(problem), series_(series) {
  std::map<std::uint64_t, std::uint64_t> times;
  for (std::uint64_t n = 0; n < problem.surrogates; ++n) ++times[shift_of(problem, n)];
  shifts_.assign(times.begin(), times.end());
}

// A nanosecond for each read and addition, 50 for each logarithm's bin, and the filter.
double Reference::seconds_a_band() const {
  const double shifts = static_cast<double>(shifts_.size()) + 1,
               n = static_cast<double>(problem_.samples);
  return static_cast<double>(problem_.amplitude.count + 1) *
         (shifts * (1.5e-9 * n + 2e-8 * problem_.bins) + 3e-7 * n * std::log2(n));
}

Signal Reference::analytic(std::uint64_t series, const Bands& bands, std::uint64_t band) const {
  const std::uint64_t n = problem_.samples;
  Signal x(n);
  for (std::uint64_t t = 0; t < n; ++t) x[t] = series_[series * n + t];
  x = transformed(x, -1);
  for (std::uint64_t k = 0; k < n; ++k) {
    const double passed =
        2 * k > n
            ? 0
            : response(bands, band, static_cast<double>(k) * problem_.fs / static_cast<double>(n));
    x[k] *= 2 * passed / static_cast<double>(n);
  }
  return transformed(x, 1);
}

Reference::Binned Reference::binned(std::uint64_t series, std::uint64_t band) const {
  const Signal z = analytic(series, problem_.phase, band);
  double power = 0;
  for (std::uint64_t t = 0; t < z.size(); ++t)
    power += std::pow(static_cast<double>(series_[series * z.size() + t]), 2);
  Binned result;
  const double off = result.off = off_at_most * std::sqrt(power / static_cast<double>(z.size()));
  for (std::uint64_t t = 0; t < z.size(); ++t) {
    const unsigned n = problem_.bins;
    const double place = (std::arg(z[t]) + pi) / (2 * pi) * n;
    const auto bin = std::min(static_cast<unsigned>(std::max(place, 0.0)), n - 1);
    result.bins.push_back(bin);
    const double within = place - bin, width = 2 * pi / n * std::abs(z[t]);
    if (within * width <= off) {
      result.doubtful.push_back({t, (bin + n - 1) % n});
    } else if ((1 - within) * width <= off) {
      result.doubtful.push_back({t, (bin + 1) % n});
    }
  }
  return result;
}

std::vector<double> Reference::divisors(std::uint64_t series,
                                        std::span<const unsigned> bins) const {
  std::vector<double> counts(problem_.bins, 0.0);
  if (problem_.index == Index::gpac_sum) return std::vector<double>(problem_.bins, 1.0);
  if (problem_.index == Index::tort) {
    for (const unsigned bin : bins) ++counts[bin];
    return counts;
  }
  for (std::uint64_t band = 0; band < problem_.phase.count; ++band)
    for (const unsigned bin : binned(series, band).bins) ++counts[bin];
  return counts;
}

double Reference::index(std::span<const unsigned> bins, std::span<const double> amplitudes,
                        std::span<const double> divisors, std::uint64_t shift) const {
  const std::size_t n = bins.size();
  std::vector<double> sums(problem_.bins, 0.0);
  for (std::size_t t = 0; t < n - shift; ++t) sums[bins[t]] += amplitudes[t + shift];
  for (std::size_t t = n - shift; t < n; ++t) sums[bins[t]] += amplitudes[t + shift - n];
  double all = 0, entropy = 0;
  for (std::size_t j = 0; j < sums.size(); ++j) {
    sums[j] = divisors[j] > 0 ? sums[j] / divisors[j] : 0;
    all += sums[j];
  }
  if (all <= 0) return 0;
  for (const double sum : sums)
    if (sum > 0) entropy -= sum / all * std::log(sum / all);
  const double most = std::log(static_cast<double>(sums.size()));
  return (most - entropy) / most;
}

std::string Reference::compare(std::uint64_t which, const Binned& binned,
                               std::span<const std::vector<double>> amplitudes,
                               std::span<const Moments> results, bool surrogates) const {
  const std::uint64_t series = which / problem_.phase.count, f = which % problem_.phase.count;
  const std::vector<double> by = divisors(series, binned.bins);
  for (std::uint64_t g = 0; g < problem_.amplitude.count; ++g) {
    const double mean_size = mean_of(amplitudes[g]);
    if (binned.off > most_noise * mean_size) continue;
    // A doubtful sample of any band is in the counts of all.
    const double allowed = (problem_.index == Index::tensorpac ? 10 * tolerance : tolerance) +
                           (binned.off > 0 ? index_of_noise * binned.off / mean_size : 0);
    const Result found =
        result_of(results[which * problem_.amplitude.count + g], problem_.surrogates);
    double wanted[3] = {index(binned.bins, amplitudes[g], by, 0), 0, 0};
    if (surrogates && problem_.surrogates > 0) {
      double sum = 0, squares = 0;
      for (const auto& [shift, times] : shifts_) {
        const double one = index(binned.bins, amplitudes[g], by, shift) - wanted[0];
        sum += static_cast<double>(times) * one;
        squares += static_cast<double>(times) * one * one;
      }
      const double n = static_cast<double>(problem_.surrogates), mean = sum / n;
      wanted[1] = mean + wanted[0];
      wanted[2] = std::sqrt(std::max(0.0, squares / n - mean * mean));
    }
    const double values[3] = {found.index, found.mean, found.deviation};
    constexpr const char* names[] = {"index", "mean of the surrogates' indices",
                                     "deviation of the surrogates' indices"};
    for (int i = 0; i < (surrogates ? 3 : 1); ++i) {
      if (std::abs(values[i] - wanted[i]) <= allowed) continue;
      char text[240];
      std::snprintf(text, sizeof text,
                    "series %llu, phase of %g Hz, amplitude of %g Hz: the %s is %.9g, the "
                    "reference says %.9g",
                    static_cast<unsigned long long>(series), problem_.phase.centre(f),
                    problem_.amplitude.centre(g), names[i], values[i], wanted[i]);
      return text;
    }
  }
  return "";
}

Reference::Checked Reference::check(std::uint64_t which, std::span<const Moments> results) const {
  const std::uint64_t series = which / problem_.phase.count;
  Binned here = binned(series, which % problem_.phase.count);
  std::vector<std::vector<double>> amplitudes;
  double largest = 0;
  for (std::uint64_t g = 0; g < problem_.amplitude.count; ++g) {
    std::vector<double>& sizes = amplitudes.emplace_back();
    for (const Complex& z : analytic(series, problem_.amplitude, g)) sizes.push_back(std::abs(z));
    largest = std::max(largest, *std::max_element(sizes.begin(), sizes.end()));
  }
  if (here.doubtful.size() > most_doubtful && largest > 0) return {"", problem_.amplitude.count};
  const auto skipped = static_cast<std::uint64_t>(
      std::count_if(amplitudes.begin(), amplitudes.end(),
                    [&](const auto& sizes) { return here.off > most_noise * mean_of(sizes); }));
  if (largest == 0) here.doubtful.clear();
  std::string first;
  for (std::uint64_t sides = 0; sides < std::uint64_t{1} << here.doubtful.size(); ++sides) {
    Binned tried = here;
    for (std::size_t i = 0; i < here.doubtful.size(); ++i)
      if (sides >> i & 1) tried.bins[here.doubtful[i].first] = here.doubtful[i].second;
    std::string message = compare(which, tried, amplitudes, results, false);
    if (message.empty()) message = compare(which, tried, amplitudes, results, true);
    if (message.empty()) return {"", skipped};
    if (sides == 0) first = message;
  }
  return {first, skipped};
}

std::string Reference::impossible(std::span<const Moments> results, unsigned threads) const {
  constexpr std::uint64_t at_once = std::uint64_t{1} << 16;
  std::mutex mutex;
  std::uint64_t first = results.size();
  parallel_for((results.size() + at_once - 1) / at_once, threads, [&](std::uint64_t piece) {
    for (std::uint64_t i = piece * at_once;
         i < std::min<std::uint64_t>(results.size(), (piece + 1) * at_once); ++i) {
      const Moments& moments = results[i];
      const std::uint64_t observed = moments.observed_and_sum >> Moments::observed_bit,
                          sum = moments.observed_and_sum &
                                ((std::uint64_t{1} << Moments::observed_bit) - 1);
      const long double n = static_cast<long double>(problem_.surrogates), steps = Moments::steps,
                        s = sum, squares = moments.sum_of_squares;
      if (observed <= steps && s <= n * steps && s * s <= n * squares && squares <= s * steps)
        continue;
      const std::scoped_lock lock(mutex);
      first = std::min(first, i);
    }
  });
  if (first == results.size()) return "";
  return "result " + std::to_string(first) + ": no indices have these sums";
}

}  // namespace mgpu::pac
