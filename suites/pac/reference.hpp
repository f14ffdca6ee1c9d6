// Phase-amplitude coupling in float64 on the host, by the definitions: a recursive Fourier
// transform of its own, phases by the arc tangent, amplitudes as they are, the surrogates of each
// shift one by one, and Tort's index with its logarithms (Tort, Komorowski, Eichenbaum, Kopell:
// Measuring phase-amplitude coupling between neuronal oscillations of different frequencies, J.
// Neurophysiol. 104, 2010). It shares no code with the kernels.
#pragma once

#include <complex>
#include <span>
#include <string>
#include <vector>

#include "suites/pac/problem.hpp"

namespace mgpu::pac {

class Reference {
 public:
  // Both outlive it.
  Reference(const Problem& problem, std::span<const float> series);

  struct Checked {
    std::string message;        // what is wrong; empty: nothing
    std::uint64_t skipped = 0;  // pairs of the band, for which fp32 has too little of a phase or an
                                // amplitude (see the .cpp)
  };
  // Phase band number `which` % bands of series `which` / bands, with all amplitude bands: the
  // index and the mean and deviation of its surrogates' are within 1e-6, and what errors of the
  // amplitudes make of them at most (BoundedIndex). A sample so near the border of two bins that
  // fp32 cannot tell is allowed on either side, on the same for all amplitude bands and shifts.
  Checked check(std::uint64_t which, std::span<const Moments> results) const;
  // What fp32 and the integers of amplitudes cannot tell of a series, in words; empty: nothing.
  std::string unresolved(std::uint64_t series) const;
  double seconds_to_resolve() const;  // what unresolved() takes one core, about
  double seconds_a_band() const;      // of one core, about

  // The first result that no indices could have, in words: more than 1 each, or squares that do not
  // go with their sum. Empty: none.
  std::string impossible(std::span<const Moments> results, unsigned threads) const;

  using Complex = std::complex<double>;
  using Signal = std::vector<Complex>;
  // Of one band of a series.
  Signal analytic(std::uint64_t series, const Bands& bands, std::uint64_t band) const {
    return analytic(spectrum(series), bands, band);
  }
  // The index of a pair, amplitudes shifted by `shift`. `divisors`: of each bin, 0: it is empty.
  double index(std::span<const unsigned> bins, std::span<const double> amplitudes,
               std::span<const double> divisors, std::uint64_t shift) const;

 private:
  Signal spectrum(std::uint64_t series) const;
  Signal analytic(const Signal& spectrum, const Bands& bands, std::uint64_t band) const;
  // What fp32 may be off by in each sample of a filtered series.
  double rounding(const Signal& spectrum, const Signal& filtered, const Bands& bands,
                  std::uint64_t band) const;
  struct Binned {
    std::vector<unsigned> bins;
    std::vector<std::pair<std::uint64_t, unsigned>> doubtful;  // samples, and the bin beside theirs
  };
  Binned binned(const Signal& spectrum, std::uint64_t band) const;
  // An amplitude band.
  struct Sized {
    std::vector<double> sizes;
    double mean = 0, largest = 0;
    double off = 0;  // what a device's may be off by, each
    bool is_left_out = false;
    bool is_resolved() const;
  };
  Sized sized(const Signal& spectrum, std::uint64_t band) const;
  // Of the bins, what the sums of their amplitudes are divided by, and what those may be off by.
  struct Divisors {
    std::vector<double> values, off;
  };
  Divisors divisors(const std::vector<double>& counts, const Divisors& pooled) const;
  Divisors pooled_counts(const Signal& spectrum) const;  // of all phase bands
  struct BoundedIndex {
    double index = 0;
    double off = 0;  // what it may be off by, as amplitudes and divisors are
  };
  BoundedIndex bounded_index(std::span<const unsigned> bins, std::span<const double> counts,
                             const Sized& amplitudes, const Divisors& divisors,
                             std::uint64_t shift) const;
  double transform_seconds() const;
  std::string compare(std::uint64_t which, const Binned& binned, const Divisors& pooled,
                      std::span<const Sized> amplitudes, std::span<const Moments> results,
                      bool surrogates) const;

  const Problem& problem_;
  std::span<const float> series_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> shifts_;  // each, and how often
};

}  // namespace mgpu::pac
