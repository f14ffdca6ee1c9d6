// Phase-amplitude coupling in float64 on the host, straight from the definitions: its own recursive
// Fourier transform, phases by the arc tangent, unrounded amplitudes, the surrogates shift by
// shift, and Tort's index with logarithms (Tort, Komorowski, Eichenbaum, Kopell: Measuring
// phase-amplitude coupling between neuronal oscillations of different frequencies, J. Neurophysiol.
// 104, 2010). It shares no code with the kernels.
#pragma once

#include <complex>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "suites/pac/problem.hpp"

namespace mgpu::pac {

class Reference {
 public:
  // Writes series `series` to its second argument, from several threads.
  using Reader = std::function<void(std::uint64_t series, std::span<float>)>;
  // `problem` must outlive this object, and so must `series`.
  Reference(const Problem& problem, Reader read);
  Reference(const Problem& problem, std::span<const float> series);

  struct Checked {
    std::string message;  // the error; empty: none
    // Pairs of the band that were skipped, since fp32 cannot resolve their phase or amplitude (see
    // reference.cpp).
    std::uint64_t skipped = 0;
  };
  // Checks phase band `which` % bands of series `which` / bands, with all amplitude bands. The
  // index and the mean and deviation of its surrogates' indices must be within 1e-6 plus the effect
  // of amplitude errors (BoundedIndex). A sample too near the border of two bins for fp32 may be in
  // either bin, but in the same for all amplitude bands and shifts.
  Checked check(std::uint64_t which, std::span<const Moments> results) const;
  // Describes what fp32 and integer amplitudes cannot resolve in a series; empty: nothing.
  std::string unresolved(std::uint64_t series) const;
  double seconds_to_resolve() const;  // estimated time of unresolved() on one core
  double seconds_a_band() const;      // estimate for one core

  // Describes the first result that no indices can have: one index above 1, or squares that
  // contradict their sum. Returns an empty text if there is none.
  std::string impossible(std::span<const Moments> results, unsigned threads) const;

  using Complex = std::complex<double>;
  using Signal = std::vector<Complex>;
  // Returns the analytic signal of one band of a series.
  Signal analytic(std::uint64_t series, const Bands& bands, std::uint64_t band) const {
    return analytic(spectrum(series), bands, band);
  }
  // Returns the index of a pair with amplitudes shifted by `shift`. `divisors` has one per bin; 0
  // means an empty bin.
  double index(std::span<const unsigned> bins, std::span<const double> amplitudes,
               std::span<const double> divisors, std::uint64_t shift) const;

 private:
  Signal spectrum(std::uint64_t series) const;
  Signal analytic(const Signal& spectrum, const Bands& bands, std::uint64_t band) const;
  // Returns the largest error of fp32 in any sample of a filtered series.
  double rounding(const Signal& spectrum, const Signal& filtered, const Bands& bands,
                  std::uint64_t band) const;
  struct Binned {
    std::vector<unsigned> bins;
    // Samples near a border, with the neighbouring bin.
    std::vector<std::pair<std::uint64_t, unsigned>> doubtful;
  };
  Binned binned(const Signal& spectrum, std::uint64_t band) const;
  // Amplitudes of one band.
  struct Sized {
    std::vector<double> sizes;
    double mean = 0, largest = 0;
    double off = 0;  // largest error of a device's amplitude
    bool is_left_out = false;
    bool is_resolved() const;
  };
  Sized sized(const Signal& spectrum, std::uint64_t band) const;
  // Divisors of the bins' summed amplitudes, and their largest errors.
  struct Divisors {
    std::vector<double> values, off;
  };
  Divisors divisors(const std::vector<double>& counts, const Divisors& pooled) const;
  Divisors pooled_counts(const Signal& spectrum) const;  // over all phase bands
  struct BoundedIndex {
    double index = 0;
    double off = 0;  // largest error, given those of amplitudes and divisors
  };
  // Returns the sums of shifted amplitudes per bin and band; `sizes` as of side_by_side().
  std::vector<double> sums(std::span<const unsigned> bins, std::span<const double> sizes,
                           std::uint64_t bands, std::uint64_t shift) const;
  static std::vector<double> side_by_side(std::span<const Sized> amplitudes);
  // `sums` has one number per bin, `step` apart.
  BoundedIndex bounded_index(const double* sums, std::uint64_t step, std::span<const double> counts,
                             const Sized& amplitudes, const Divisors& divisors) const;
  double transform_seconds() const;
  std::string compare(std::uint64_t which, const Binned& binned, const Divisors& pooled,
                      std::span<const Sized> amplitudes, std::span<const Moments> results,
                      bool surrogates) const;

  const Problem& problem_;
  Reader read_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> shifts_;  // each shift, and its multiplicity
  Signal back_, forth_;  // e^(-2 pi i m / n) and e^(2 pi i m / n) for each m < n
};

}  // namespace mgpu::pac
