#include "suites/pac/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
// A phase band with more samples at borders of bins is skipped, since not every combination of
// sides can be tried.
constexpr std::size_t most_doubtful = 10;
// A band whose amplitudes have errors above a tenth of their mean is skipped; above a thousandth,
// it is reported.
constexpr double most_off = 0.1, told_off = 1e-3;
// A pair whose index may have a larger error is skipped, since little of it would be verified.
constexpr double most_index_off = 0.01;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns a band's response to frequency number k.
double passed(const Problem& problem, const Bands& bands, std::uint64_t band, std::uint64_t k) {
  const std::uint64_t n = problem.samples;
  return 2 * k > n
             ? 0
             : response(bands, band, static_cast<double>(k) * problem.fs / static_cast<double>(n));
}

// Multiplies without std::complex's treatment of infinities, which takes most of its time.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Writes the sums of n numbers, `step` apart, times their turns: by halving while n is even, then
// directly. A turn by m / n is turns[m step].
void transform(const Complex* x, std::size_t step, std::size_t n, const Signal& turns,
               Complex* out) {
  if (n % 2 == 0) {
    transform(x, 2 * step, n / 2, turns, out);
    transform(x + step, 2 * step, n / 2, turns, out + n / 2);
    for (std::size_t k = 0; k < n / 2; ++k) {
      const Complex even = out[k], turned = times(turns[k * step], out[k + n / 2]);
      out[k] = even + turned;
      out[k + n / 2] = even - turned;
    }
    return;
  }
  for (std::size_t k = 0; k < n; ++k) {
    out[k] = x[0];
    for (std::size_t t = 1; t < n; ++t) out[k] += times(x[t * step], turns[k * t % n * step]);
  }
}

}  // namespace

Reference::Reference(const Problem& problem, std::span<const float> series)
    : Reference(problem, [&problem, series](std::uint64_t i, std::span<float> to) {
        std::copy_n(series.begin() + static_cast<std::ptrdiff_t>(i * problem.samples),
                    problem.samples, to.begin());
      }) {}

Reference::Reference(const Problem& problem, Reader read)
    : problem_(problem), read_(std::move(read)) {
  std::map<std::uint64_t, std::uint64_t> times;
  for (std::uint64_t n = 0; n < problem.surrogates; ++n) ++times[shift_of(problem, n)];
  shifts_.assign(times.begin(), times.end());
  for (const double sign : {-1.0, 1.0}) {
    Signal& turns = sign < 0 ? back_ : forth_;
    for (std::uint64_t m = 0; m < problem.samples; ++m)
      turns.push_back(std::polar(
          1.0, sign * 2 * pi * static_cast<double>(m) / static_cast<double>(problem.samples)));
  }
}

// Estimates the time to filter a band: 100 ns per number for its response and magnitude, 3.5 ns per
// number and halving, 3 ns per product of the remaining sums.
double Reference::transform_seconds() const {
  std::uint64_t odd = problem_.samples;
  while (odd % 2 == 0) odd /= 2;
  const auto n = static_cast<double>(problem_.samples);
  return n * (1e-7 + 3.5e-9 * std::log2(n) + (odd > 1 ? 3e-9 * static_cast<double>(odd) : 0));
}

// Estimates the time of a band: 1 ns per read and addition, 60 ns per mean of a bin, and the
// filter.
double Reference::seconds_a_band() const {
  const double shifts = static_cast<double>(shifts_.size()) + 1,
               n = static_cast<double>(problem_.samples);
  return static_cast<double>(problem_.amplitude.count + 1) *
         (shifts * (1e-9 * n + 6e-8 * problem_.bins) + transform_seconds());
}

double Reference::seconds_to_resolve() const {
  return static_cast<double>(problem_.amplitude.count + problem_.phase.count + 1) *
         transform_seconds();
}

Signal Reference::spectrum(std::uint64_t series) const {
  const std::uint64_t n = problem_.samples;
  std::vector<float> x(n);
  read_(series, x);
  const Signal signal(x.begin(), x.end());
  Signal out(n);
  transform(signal.data(), 1, n, back_, out.data());
  return out;
}

Signal Reference::analytic(const Signal& spectrum, const Bands& bands, std::uint64_t band) const {
  Signal x = spectrum;
  for (std::uint64_t k = 0; k < x.size(); ++k)
    x[k] *= 2 * passed(problem_, bands, band, k) / static_cast<double>(x.size());
  Signal out(x.size());
  transform(x.data(), 1, x.size(), forth_, out.data());
  return out;
}

// Rounding errors of a transform are noise that spreads evenly over its output (Gentleman and
// Sande, Fast Fourier transforms: for fun and profit, 1966; Schatzman, Accuracy of the discrete
// Fourier transform and the fast Fourier transform, 1996). Relative to the root mean square of the
// input, with u half a unit in the last place, it is u 0.6 sqrt(log2 n) for an FFT, and u sqrt(11 +
// n / 384) for sums in blocks of 64, of which each addition rounds a partial sum. A band passes its
// frequencies' share of the forward transform's noise, and its own transform adds some. Six
// standard deviations bound all samples; where many terms have the same sign, a few roundings of
// the largest value are added.
double Reference::rounding(const Signal& spectrum, const Signal& filtered, const Bands& bands,
                           std::uint64_t band) const {
  constexpr double u = 0x1p-24, deviations = 6;
  const auto n = static_cast<double>(problem_.samples);
  const double factor =
      problem_.power_of_two() ? 0.6 * std::sqrt(std::log2(n)) : std::sqrt(11 + n / 384);
  double power = 0, after = 0, frequencies = 0, largest = 0;
  for (const Complex& x : spectrum) power += std::norm(x);
  for (const Complex& z : filtered) {
    after += std::norm(z);
    largest = std::max(largest, std::abs(z));
  }
  for (std::uint64_t k = 0; 2 * k <= problem_.samples; ++k)
    frequencies += std::pow(passed(problem_, bands, band, k), 2);
  return u * (deviations * factor *
                  (2 * std::sqrt(frequencies / n) * std::sqrt(power) / n + std::sqrt(after / n)) +
              4 * largest);
}

Reference::Binned Reference::binned(const Signal& spectrum, std::uint64_t band) const {
  const Signal z = analytic(spectrum, problem_.phase, band);
  Binned result;
  const double off = rounding(spectrum, z, problem_.phase, band);
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

bool Reference::Sized::is_resolved() const { return !is_left_out && off <= most_off * mean; }

// Amplitudes are rounded to integers of which the largest has size_bits, so the error is at most
// half of 2^(1 - size_bits) of the largest.
Reference::Sized Reference::sized(const Signal& spectrum, std::uint64_t band) const {
  const Signal z = analytic(spectrum, problem_.amplitude, band);
  Sized result;
  for (const Complex& each : z) {
    result.sizes.push_back(std::abs(each));
    result.largest = std::max(result.largest, result.sizes.back());
  }
  result.mean = mean_of(result.sizes);
  result.off = std::ldexp(result.largest, -static_cast<int>(size_bits(problem_))) +
               rounding(spectrum, z, problem_.amplitude, band);
  return result;
}

// A sample that fp32 cannot place may be in either of two bins, so the pooled counts of both may be
// off by one.
Reference::Divisors Reference::pooled_counts(const Signal& spectrum) const {
  Divisors pooled{std::vector<double>(problem_.bins), std::vector<double>(problem_.bins)};
  for (std::uint64_t band = 0; band < problem_.phase.count; ++band) {
    const Binned of_band = binned(spectrum, band);
    for (const unsigned bin : of_band.bins) ++pooled.values[bin];
    for (const auto& [sample, beside] : of_band.doubtful) {
      ++pooled.off[of_band.bins[sample]];
      ++pooled.off[beside];
    }
  }
  return pooled;
}

// Returns the divisors for a phase band with these counts per bin.
Reference::Divisors Reference::divisors(const std::vector<double>& counts,
                                        const Divisors& pooled) const {
  const std::vector<double> none(problem_.bins), ones(problem_.bins, 1.0);
  return problem_.index == Index::tort       ? Divisors{counts, none}
         : problem_.index == Index::gpac_sum ? Divisors{ones, none}
                                             : pooled;
}

double Reference::index(std::span<const unsigned> bins, std::span<const double> amplitudes,
                        std::span<const double> divisors, std::uint64_t shift) const {
  const std::vector<double> none(problem_.bins);
  return bounded_index(sums(bins, amplitudes, 1, shift).data(), 1, none, {},
                       {{divisors.begin(), divisors.end()}, none})
      .index;
}

// Adds the amplitudes of all bands in one pass over the samples: additions to one bin wait for each
// other, those of different bands do not.
std::vector<double> Reference::sums(std::span<const unsigned> bins, std::span<const double> sizes,
                                    std::uint64_t bands, std::uint64_t shift) const {
  std::vector<double> all(problem_.bins * bands);
  const auto add = [&](std::uint64_t begin, std::uint64_t end, const double* from) {
    for (std::uint64_t t = begin; t < end; ++t, from += bands) {
      double* const to = all.data() + bins[t] * bands;
      for (std::uint64_t g = 0; g < bands; ++g) to[g] += from[g];
    }
  };
  add(0, bins.size() - shift, sizes.data() + shift * bands);
  add(bins.size() - shift, bins.size(), sizes.data());
  return all;
}

// Bounds the error of an index. Amplitude errors of d change the mean m of a bin by at most d count
// / divisor, and a relative error of the divisor changes it by that fraction. The share p = m / M
// of the sum M of all means then changes by e = (that + p D) / (M - D), where D is the sum of these
// errors. For any c, the index changes by the sum of p' log p' - p log p + c (p' - p). With c = H -
// 1, H the entropy, each term is at most |log p + H| e + e^2 / p, since log x <= x - 1. For small
// p, the continuity of entropy (Cover and Thomas, Elements of Information Theory, 17.3.3) gives
// -e log e + |H - 1| e.
Reference::BoundedIndex Reference::bounded_index(const double* sums, std::uint64_t step,
                                                 std::span<const double> counts,
                                                 const Sized& amplitudes,
                                                 const Divisors& divisors) const {
  std::vector<double> means(problem_.bins, 0.0), offs(problem_.bins, 0.0);
  double all = 0, all_offs = 0, entropy = 0, bound = 0;
  bool vague = false;
  for (std::size_t j = 0; j < means.size(); ++j) {
    const double least = divisors.values[j] - divisors.off[j];
    if (divisors.off[j] > 0 && least <= 0) vague = true;
    means[j] = divisors.values[j] > 0 ? sums[j * step] / divisors.values[j] : 0;
    offs[j] = least > 0 ? (amplitudes.off * counts[j] + divisors.off[j] * means[j]) / least : 0;
    all += means[j];
    all_offs += offs[j];
  }
  if (all <= 0) return {0, all_offs > 0 ? 1.0 : 0.0};
  for (const double mean : means)
    if (mean > 0) entropy -= mean / all * std::log(mean / all);
  const double most = std::log(static_cast<double>(means.size())), index = (most - entropy) / most;
  if (vague || all_offs >= all / 2) return {index, 1};
  for (std::size_t j = 0; j < means.size(); ++j) {
    const double p = means[j] / all, e = (offs[j] + p * all_offs) / (all - all_offs);
    if (e <= 0) continue;
    const double small = (e < 1 / std::numbers::e ? -e * std::log(e) : 1 / std::numbers::e) +
                         std::abs(entropy - 1) * e;
    bound += p > 0 ? std::min(small, std::abs(std::log(p) + entropy) * e + e * e / p) : small;
  }
  return {index, std::min(1.0, bound / most)};
}

// Returns the amplitudes sample by sample, those of all bands next to each other.
std::vector<double> Reference::side_by_side(std::span<const Sized> amplitudes) {
  std::vector<double> all;
  for (std::size_t t = 0; t < amplitudes.front().sizes.size(); ++t)
    for (const Sized& each : amplitudes) all.push_back(each.sizes[t]);
  return all;
}

std::string Reference::compare(std::uint64_t which, const Binned& binned, const Divisors& pooled,
                               std::span<const Sized> amplitudes, std::span<const Moments> results,
                               bool surrogates) const {
  const std::uint64_t series = which / problem_.phase.count, f = which % problem_.phase.count;
  std::vector<double> counts(problem_.bins, 0.0);
  for (const unsigned bin : binned.bins) ++counts[bin];
  const Divisors by = divisors(counts, pooled);
  const std::uint64_t bands = problem_.amplitude.count;
  const auto index_of = [&](const std::vector<double>& of_bands, std::uint64_t g) {
    return bounded_index(of_bands.data() + g, bands, counts, amplitudes[g], by);
  };
  // Sums of the shifted indices less the observed one, and of their errors, by amplitude band.
  struct Shifted {
    double sum = 0, squares = 0, offs = 0, squared_offs = 0;
  };
  std::vector<BoundedIndex> observed(bands);
  std::vector<Shifted> shifted(bands);
  const std::vector<double> sizes = side_by_side(amplitudes),
                            unshifted = sums(binned.bins, sizes, bands, 0);
  for (std::uint64_t g = 0; g < bands; ++g) observed[g] = index_of(unshifted, g);
  for (const auto& [shift, times] : shifts_) {
    if (!surrogates) break;
    const std::vector<double> of_bands = sums(binned.bins, sizes, bands, shift);
    for (std::uint64_t g = 0; g < bands; ++g) {
      if (!amplitudes[g].is_resolved()) continue;
      const BoundedIndex index = index_of(of_bands, g);
      const double one = index.index - observed[g].index, weight = static_cast<double>(times);
      shifted[g].sum += weight * one;
      shifted[g].squares += weight * one * one;
      shifted[g].offs += weight * index.off;
      shifted[g].squared_offs += weight * index.off * index.off;
    }
  }
  for (std::uint64_t g = 0; g < bands; ++g) {
    if (!amplitudes[g].is_resolved()) continue;
    const Result found = result_of(results[which * bands + g], problem_.surrogates);
    double wanted[3] = {observed[g].index, 0, 0},
           allowed[3] = {tolerance + observed[g].off, tolerance, tolerance};
    if (surrogates && problem_.surrogates > 0) {
      const double n = static_cast<double>(problem_.surrogates), mean = shifted[g].sum / n;
      wanted[1] = mean + wanted[0];
      wanted[2] = std::sqrt(std::max(0.0, shifted[g].squares / n - mean * mean));
      allowed[1] += shifted[g].offs / n;
      allowed[2] += std::sqrt(shifted[g].squared_offs / n);
    }
    const double values[3] = {found.index, found.mean, found.deviation};
    constexpr const char* names[] = {"index", "mean of the surrogates' indices",
                                     "deviation of the surrogates' indices"};
    for (int i = 0; i < (surrogates ? 3 : 1); ++i) {
      if (std::abs(values[i] - wanted[i]) <= allowed[i]) continue;
      char text[240];
      std::snprintf(text, sizeof text,
                    "series %llu, phase of %g Hz, amplitude of %g Hz: the %s is %.9g, the "
                    "reference says %.9g, within %.1g",
                    static_cast<unsigned long long>(series), problem_.phase.centre(f),
                    problem_.amplitude.centre(g), names[i], values[i], wanted[i], allowed[i]);
      return text;
    }
  }
  return "";
}

Reference::Checked Reference::check(std::uint64_t which, std::span<const Moments> results) const {
  const Signal of_series = spectrum(which / problem_.phase.count);
  Binned here = binned(of_series, which % problem_.phase.count);
  std::vector<Sized> amplitudes;
  double largest = 0;
  for (std::uint64_t g = 0; g < problem_.amplitude.count; ++g) {
    amplitudes.push_back(sized(of_series, g));
    largest = std::max(largest, amplitudes.back().largest);
  }
  if (here.doubtful.size() > most_doubtful && largest > 0) return {"", problem_.amplitude.count};
  const Divisors pooled =
      problem_.index == Index::tensorpac ? pooled_counts(of_series) : Divisors{};
  std::vector<double> counts(problem_.bins, 0.0);
  for (const unsigned bin : here.bins) ++counts[bin];
  const std::uint64_t bands = problem_.amplitude.count;
  const std::vector<double> unshifted = sums(here.bins, side_by_side(amplitudes), bands, 0);
  for (std::uint64_t g = 0; g < bands; ++g)
    amplitudes[g].is_left_out =
        bounded_index(unshifted.data() + g, bands, counts, amplitudes[g], divisors(counts, pooled))
            .off > most_index_off;
  const auto skipped = static_cast<std::uint64_t>(std::count_if(
      amplitudes.begin(), amplitudes.end(), [](const Sized& each) { return !each.is_resolved(); }));
  if (largest == 0) here.doubtful.clear();
  std::string first;
  for (std::uint64_t sides = 0; sides < std::uint64_t{1} << here.doubtful.size(); ++sides) {
    Binned tried = here;
    for (std::size_t i = 0; i < here.doubtful.size(); ++i)
      if (sides >> i & 1) tried.bins[here.doubtful[i].first] = here.doubtful[i].second;
    std::string message = compare(which, tried, pooled, amplitudes, results, false);
    if (message.empty()) message = compare(which, tried, pooled, amplitudes, results, true);
    if (message.empty()) return {"", skipped};
    if (sides == 0) first = message;
  }
  return {first, skipped};
}

std::string Reference::unresolved(std::uint64_t series) const {
  const Signal of_series = spectrum(series);
  double power = 0;
  for (const Complex& x : of_series) power += std::norm(x);
  const double rms = std::sqrt(power) / static_cast<double>(problem_.samples);
  if (rms == 0) return "";
  std::vector<std::string> told;
  std::uint64_t coarse = 0, worst = 0, vague = 0, first = 0;
  Sized of_worst;
  for (std::uint64_t g = 0; g < problem_.amplitude.count; ++g) {
    const Sized each = sized(of_series, g);
    if (each.off <= told_off * each.mean) continue;
    if (coarse++ > 0 && each.off * of_worst.mean <= of_worst.off * each.mean) continue;
    worst = g;
    of_worst = each;
  }
  if (coarse > 0)
    told.push_back(fmt::format(
        "{} of {} amplitude bands to a thousandth, worst that of {:.4g} Hz, which is {:.2g} times "
        "weaker than the "
        "series and has a peak of {:.2g} times its mean: {}",
        coarse, problem_.amplitude.count, problem_.amplitude.centre(worst), rms / of_worst.mean,
        of_worst.largest / of_worst.mean,
        of_worst.is_resolved() ? fmt::format("amplitudes are off by up to {:.2g} % of that",
                                             100 * of_worst.off / of_worst.mean)
                               : "its indices mean nothing"));
  for (std::uint64_t f = 0; f < problem_.phase.count; ++f)
    if (binned(of_series, f).doubtful.size() > most_doubtful && vague++ == 0) first = f;
  if (vague > 0)
    told.push_back(fmt::format("the phases of {} of {} bands, first that of {:.4g} Hz", vague,
                               problem_.phase.count, problem_.phase.centre(first)));
  if (told.empty()) return "";
  return fmt::format(
      "series {}: fp32 and amplitudes of {} bits cannot resolve {}; remove drift and "
      "artefacts first (detrend, or high-pass)",
      series, size_bits(problem_), fmt::join(told, ", and "));
}

std::string Reference::impossible(std::span<const Moments> results, unsigned threads) const {
  constexpr std::uint64_t at_once = std::uint64_t{1} << 16;
  std::mutex mutex;
  std::uint64_t first = results.size();
  const auto check = [&](std::uint64_t i) {
    const Moments& moments = results[i];
    const std::uint64_t observed = moments.observed_and_sum >> Moments::observed_bit,
                        sum = moments.observed_and_sum &
                              ((std::uint64_t{1} << Moments::observed_bit) - 1);
    const long double n = static_cast<long double>(problem_.surrogates), steps = Moments::steps,
                      s = sum, squares = moments.sum_of_squares;
    if (observed <= steps && s <= n * steps && s * s <= n * squares && squares <= s * steps) return;
    const std::scoped_lock lock(mutex);
    first = std::min(first, i);
  };
  parallel_for(results.size(), threads, check, at_once);
  if (first == results.size()) return "";
  return "result " + std::to_string(first) + ": no indices have these sums";
}

}  // namespace mgpu::pac
