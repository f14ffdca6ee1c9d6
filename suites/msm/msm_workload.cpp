// Cutting, merging and verifying an MSM on the host.
#include "suites/msm/msm_workload.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/result_file.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/msm/msm_program.hpp"
#include "suites/msm/reference.hpp"

namespace mgpu::msm {
namespace {

// Tells whether scalars may be folded. r times a point of BLS12-381 outside of the subgroup is not
// infinity, so folding requires a curve without such points, or points that are known multiples of
// the generator.
bool folds(Curve curve, bool known_logs) { return curve == Curve::bn254 || known_logs; }

Problem problem_of(Curve curve, std::uint64_t points, bool known_logs, const MsmOptions& options) {
  const bool fold = folds(curve, known_logs);
  const bool by_sums = options.sums > 1;
  Problem problem;
  problem.curve = curve;
  problem.axis = by_sums ? Axis::sums : options.axis;
  problem.points = points;
  problem.known_logs = known_logs;
  problem.must_share = options.fixed_base == FixedBase::yes;
  problem.together = options.together;
  problem.sums = options.sums;
  // The table is made before the number of devices of a sample is known, so it suits all devices
  // together. A device adds up all points of its sums.
  const std::uint64_t share = by_sums ? points : points / options.devices;
  if (problem.axis != Axis::windows && options.fixed_base != FixedBase::no) {
    if (options.window_bits != 0) {
      if (problem.must_share)
        problem.shared_windows = windows_of(curve, fold, options.window_bits, true);
    } else if (problem.must_share) {
      problem.shared_windows = best_shared_windows(curve, fold, options.limit, share);
    } else if (options.limit == Limit::latency) {
      problem.shared_windows = faster_shared_windows(curve, fold, options.limit, share);
    }
  }
  if (options.window_bits != 0) {
    problem.windows = {windows_of(curve, fold, options.window_bits)};
  } else if (by_sums) {
    problem.windows = {best_windows(curve, fold, options.limit, points)};
  } else if (options.axis == Axis::windows) {
    problem.windows = {best_split_windows(curve, fold, options.limit, points, options.devices)};
  } else {
    for (std::size_t devices = 1; devices <= options.devices; ++devices)
      problem.windows.push_back(best_windows(curve, fold, options.limit, points / devices));
  }
  return problem;
}

double digits_of_item(const Problem& problem, const Windows& windows) {
  const auto points = static_cast<double>(problem.points);
  return problem.axis == Axis::points    ? windows.count
         : problem.axis == Axis::windows ? points
                                         : points * windows.count;
}

// Returns the windows that most devices use in this mode.
const Windows& usual_windows(const Problem& problem, Mode mode, const Windows& otherwise) {
  return problem.shared_windows && mode != Mode::end_to_end ? *problem.shared_windows : otherwise;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  const auto points = static_cast<double>(problem.points),
             each = static_cast<double>(affine_bytes(problem.curve) + sizeof(Scalar));
  shape.items = problem.items();
  shape.unit = {problem.axis == Axis::points    ? "terms"
                : problem.axis == Axis::windows ? "windows"
                                                : "sums"};
  shape.ops = points * static_cast<double>(problem.sums);
  shape.rate_unit = "terms/s";
  shape.bytes_in = bytes_of_terms(problem.curve, problem.points, problem.sums);
  shape.bytes_out = problem.sums * affine_bytes(problem.curve);
  // Each digit of a scalar costs at least one addition; the windows determine the number of digits.
  shape.cost.ops = digits_of_item(problem, problem.windows.front());
  shape.work_unit = "digits/s";
  if (problem.axis == Axis::points) {
    shape.cost.in_bytes = each;
    // The first term of a bucket costs no addition, and few terms share one.
    shape.superlinear = true;
    shape.fills_gpu = 1 << 24;  // beyond them an item costs nearly the same
  } else if (problem.axis == Axis::sums) {
    shape.cost.in_bytes = points * sizeof(Scalar);
    shape.cost.replicated = problem.points * affine_bytes(problem.curve);
  } else {
    shape.cost.replicated = shape.bytes_in;
  }
  return shape;
}

MsmOptions of_terms(MsmOptions options, const Terms& terms) {
  options.sums = terms.sums();
  return options;
}

}  // namespace

Shape shape_of_seeded(Curve curve, std::uint64_t points, const MsmOptions& options) {
  return shape_of(problem_of(curve, points, true, options));
}

MsmWorkload::MsmWorkload(std::shared_ptr<Terms> terms, const MsmOptions& options)
    : terms_(std::move(terms)),
      options_(of_terms(options, *terms_)),
      points_(host_points(terms_->curve())),
      infinity_(points_.affine(points_.infinity())),
      fold_(folds(terms_->curve(), terms_->logs().has_value())),
      problem_(problem_of(terms_->curve(), terms_->count(), terms_->logs().has_value(), options_)),
      shape_(shape_of(problem_)),
      windows_(problem_.windows.front()),
      partials_(terms_->sums(), points_.infinity()) {
  const BitLengths lengths =
      bit_lengths(terms_->curve(), fold_, terms_->scalars(), options_.host_threads);
  multiply_adds_ = least_multiply_adds(terms_->curve(), fold_, lengths, false, terms_->sums());
  multiply_adds_with_table_ =
      least_multiply_adds(terms_->curve(), fold_, lengths, true, terms_->sums());
}

// Counts a multiply-add as two operations, as `calibrate` does. This is a lower bound for all
// modes: there is no table if points are uploaded during samples.
Demand MsmWorkload::demand(const DeviceTraits& device) const {
  Demand demand;
  demand.int32 = 2 * (has_table(device, problem_, Mode::resident) ? multiply_adds_with_table_
                                                                  : multiply_adds_);
  return demand;
}

ItemCost MsmWorkload::cost(Mode mode) const {
  ItemCost cost = shape_.cost;
  cost.ops = digits_of_item(problem_, usual_windows(problem_, mode, windows_));
  if (mode != scalars_mode) return cost;
  if (problem_.axis == Axis::points) {
    cost.in_bytes = sizeof(Scalar);
  } else if (problem_.axis == Axis::sums) {
    cost.replicated = 0;
  } else {
    cost.replicated = problem_.points * sizeof(Scalar);
  }
  return cost;
}

Capacity MsmWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  return msm::capacity(device, problem_, mode);
}

std::unique_ptr<DeviceProgram> MsmWorkload::program(DeviceResources& device, Mode mode,
                                                    const Capacity& capacity) {
  if (!made_on_device(device.traits(), problem_, mode)) terms_->make_points(options_.host_threads);
  return std::make_unique<MsmProgram>(*this, device, mode, capacity.fits);
}

const Bases& MsmWorkload::bases() {
  if (!bases_)
    bases_ = bases_of(terms_->curve(), terms_->count(), *terms_->logs(), options_.host_threads);
  return *bases_;
}

void MsmWorkload::set_device_count(std::size_t devices) {
  windows_ =
      problem_.windows[std::min(std::max<std::size_t>(devices, 1), problem_.windows.size()) - 1];
}

void MsmWorkload::begin_sample() {
  const std::scoped_lock lock(mutex_);
  std::fill(partials_.begin(), partials_.end(), points_.infinity());
  results_.clear();
}

void MsmWorkload::add_partial(std::uint64_t sum, const SumBytes& partial) {
  const std::scoped_lock lock(mutex_);
  partials_.at(sum) = points_.add(partials_.at(sum), partial);
}

std::vector<PlainPoint> MsmWorkload::affine_sums() const {
  std::vector<PlainPoint> sums(partials_.size());
  parallel_for(sums.size(), options_.host_threads,
               [&](std::uint64_t i) { sums[i] = points_.affine(partials_[i]); });
  return sums;
}

void MsmWorkload::merge() {
  const std::scoped_lock lock(mutex_);
  results_ = affine_sums();
}

// The inversion takes as long whatever the sum, which is that of the last sample: not infinity.
void MsmWorkload::rehearse_merge(std::size_t /*parts*/) {
  const std::scoped_lock lock(mutex_);
  affine_sums();
}

std::string MsmWorkload::digest() const {
  if (results_.empty()) throw Error(ErrorKind::internal, "msm: no result before merge()");
  std::string text;
  for (const PlainPoint& sum : results_) text += sum.x + sum.y;
  return results_.size() == 1 ? text : sha256_hex(std::as_bytes(std::span(text)));
}

PlainPoint MsmWorkload::reference_of(std::uint64_t sum) const {
  const std::uint64_t count = terms_->count();
  const auto of_sum = [&](std::span<const Scalar> all) { return all.subspan(sum * count, count); };
  if (terms_->logs())
    return reference_sum(terms_->curve(), of_sum(std::as_const(*terms_).scalars()),
                         *terms_->logs());
  return points_.multiply(terms_->point_bytes(0, count), of_sum(terms_->given_scalars()),
                          options_.host_threads);
}

// Verifies every sum by a reference that covers every term, so `sample` is no weaker than `full`.
// For a file it takes the scalars as given, which also checks that reducing them changed nothing.
Verdict MsmWorkload::verify(VerifyLevel level, std::uint64_t) {
  if (level == VerifyLevel::off) return {};
  if (results_.empty()) throw Error(ErrorKind::internal, "msm: no result before merge()");
  const std::uint64_t sums = results_.size();
  if (references_.empty()) {
    references_.resize(sums);
    parallel_for(sums, options_.host_threads,
                 [&](std::uint64_t i) { references_[i] = reference_of(i); });
  }
  Verdict verdict{Verdict::Status::passed, "", ""};
  verdict.method = terms_->logs()
                       ? "known discrete logarithms, one scalar multiplication by OpenSSL"
                       : "Pippenger's algorithm on the host";
  if (sums > 1) verdict.method += " for each of " + std::to_string(sums) + " sums";
  if (terms_->given_scalars().data() != terms_->scalars().data())
    verdict.method += ", with scalars as they were before they were reduced";
  if (std::count(references_.begin(), references_.end(), infinity_) > 0) {
    verdict.method += sums == 1 ? "; the sum is infinity, as it would be had nothing been added"
                                : "; a sum is infinity, as it would be had nothing been added";
  }
  for (std::uint64_t i = 0; i < sums; ++i) {
    if (results_[i] == references_[i]) continue;
    verdict.status = Verdict::Status::failed;
    verdict.message = (sums == 1 ? "the sum" : "sum " + std::to_string(i)) + " is " +
                      text_of(results_[i]) + ", the reference says " + text_of(references_[i]);
    break;
  }
  return verdict;
}

std::string MsmWorkload::text_of(const PlainPoint& point) const {
  return point == infinity_ ? "infinity" : "(0x" + point.x + ", 0x" + point.y + ")";
}

void MsmWorkload::write_result(const std::filesystem::path& file) const {
  if (results_.empty()) throw Error(ErrorKind::internal, "msm: no result before merge()");
  const auto coordinates = [](const PlainPoint& sum) {
    return "\"x\": \"0x" + sum.x + "\", \"y\": \"0x" + sum.y + "\"";
  };
  write_result_file(file, [&](std::ostream& out) {
    out << "{\"curve\": \"" << curve_names[static_cast<std::size_t>(terms_->curve())] << "\", ";
    if (results_.size() == 1) {
      out << coordinates(results_.front()) << "}\n";
      return;
    }
    for (std::size_t i = 0; i < results_.size(); ++i)
      out << (i == 0 ? "\"sums\": [\n" : ",\n") << '{' << coordinates(results_[i]) << '}';
    out << "\n]}\n";
  });
}

}  // namespace mgpu::msm
