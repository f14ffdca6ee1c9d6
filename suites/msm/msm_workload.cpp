// Cutting, merging and verifying an MSM on the host.
#include "suites/msm/msm_workload.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/workload/result_file.hpp"
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
  Problem problem{curve,
                  options.axis,
                  points,
                  {},
                  known_logs,
                  {},
                  options.fixed_base == FixedBase::yes,
                  options.together};
  // The table is made before the number of devices of a sample is known, so it suits all devices
  // together.
  if (options.axis == Axis::points && options.fixed_base != FixedBase::no) {
    if (options.window_bits != 0) {
      if (problem.must_share)
        problem.shared_windows = windows_of(curve, fold, options.window_bits, true);
    } else if (problem.must_share) {
      problem.shared_windows =
          best_shared_windows(curve, fold, options.limit, points / options.devices);
    } else if (options.limit == Limit::latency) {
      problem.shared_windows =
          faster_shared_windows(curve, fold, options.limit, points / options.devices);
    }
  }
  if (options.window_bits != 0) {
    problem.windows = {windows_of(curve, fold, options.window_bits)};
  } else if (options.axis == Axis::windows) {
    problem.windows = {best_split_windows(curve, fold, options.limit, points, options.devices)};
  } else {
    for (std::size_t devices = 1; devices <= options.devices; ++devices)
      problem.windows.push_back(best_windows(curve, fold, options.limit, points / devices));
  }
  return problem;
}

double digits_of_item(const Problem& problem, const Windows& windows) {
  return problem.axis == Axis::points ? windows.count : static_cast<double>(problem.points);
}

// Returns the windows that most devices use in this mode.
const Windows& usual_windows(const Problem& problem, Mode mode, const Windows& otherwise) {
  return problem.shared_windows && mode != Mode::end_to_end ? *problem.shared_windows : otherwise;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  const auto points = static_cast<double>(problem.points),
             each = static_cast<double>(affine_bytes(problem.curve) + sizeof(Scalar));
  // A problem without terms has one item, so that there is work to hand out.
  shape.items = problem.axis == Axis::points ? std::max<Items>(1, problem.points)
                                             : problem.windows.at(0).count;
  shape.unit = {problem.axis == Axis::points ? "terms" : "windows"};
  shape.ops = points;
  shape.rate_unit = "terms/s";
  shape.bytes_in = bytes_of_terms(problem.curve, problem.points);
  shape.bytes_out = affine_bytes(problem.curve);
  // Each digit of a scalar costs at least one addition; the windows determine the number of digits.
  shape.cost.ops = digits_of_item(problem, problem.windows.front());
  shape.work_unit = "digits/s";
  if (problem.axis == Axis::points) {
    shape.cost.in_bytes = each;
    // The first term of a bucket costs no addition, and few terms share one.
    shape.superlinear = true;
  } else {
    shape.cost.replicated = shape.bytes_in;
  }
  return shape;
}

}  // namespace

Shape shape_of_seeded(Curve curve, std::uint64_t points, const MsmOptions& options) {
  return shape_of(problem_of(curve, points, true, options));
}

MsmWorkload::MsmWorkload(std::shared_ptr<Terms> terms, const MsmOptions& options)
    : terms_(std::move(terms)),
      options_(options),
      points_(host_points(terms_->curve())),
      infinity_(points_.affine(points_.infinity())),
      fold_(folds(terms_->curve(), terms_->logs().has_value())),
      problem_(problem_of(terms_->curve(), terms_->count(), terms_->logs().has_value(), options)),
      shape_(shape_of(problem_)),
      windows_(problem_.windows.front()),
      partial_(points_.infinity()) {
  const BitLengths lengths = bit_lengths(terms_->curve(), fold_, terms_->scalars());
  multiply_adds_ = least_multiply_adds(terms_->curve(), fold_, lengths, false);
  multiply_adds_with_table_ = least_multiply_adds(terms_->curve(), fold_, lengths, true);
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
  partial_ = points_.infinity();
  result_.reset();
}

void MsmWorkload::add_partial(const SumBytes& sum) {
  const std::scoped_lock lock(mutex_);
  partial_ = points_.add(partial_, sum);
}

void MsmWorkload::merge() {
  const std::scoped_lock lock(mutex_);
  result_ = points_.affine(partial_);
}

// The inversion takes as long whatever the sum, which is that of the last sample: not infinity.
void MsmWorkload::rehearse_merge(std::size_t /*parts*/) {
  const std::scoped_lock lock(mutex_);
  points_.affine(partial_);
}

std::string MsmWorkload::digest() const {
  if (!result_) throw Error(ErrorKind::internal, "msm: no result before merge()");
  return result_->x + result_->y;
}

// Verifies by a reference that covers every term, so `sample` is no weaker than `full`. For a file
// it takes the scalars as given, which also checks that reducing them changed nothing.
Verdict MsmWorkload::verify(VerifyLevel level, std::uint64_t) {
  if (level == VerifyLevel::off) return {};
  if (!result_) throw Error(ErrorKind::internal, "msm: no result before merge()");
  if (!reference_) {
    reference_ = terms_->logs() ? reference_sum(terms_->curve(), terms_->scalars(), *terms_->logs())
                                : points_.multiply(terms_->point_bytes(0, terms_->count()),
                                                   terms_->given_scalars(), options_.host_threads);
  }
  Verdict verdict{Verdict::Status::passed, "", ""};
  verdict.method = terms_->logs()
                       ? "known discrete logarithms, one scalar multiplication by OpenSSL"
                       : "Pippenger's algorithm on the host";
  if (terms_->given_scalars().data() != terms_->scalars().data())
    verdict.method += ", with scalars as they were before they were reduced";
  if (*reference_ == infinity_)
    verdict.method += "; the sum is infinity, as it would be had nothing been added";
  if (*result_ != *reference_) {
    verdict.status = Verdict::Status::failed;
    verdict.message =
        "the sum is " + text_of(*result_) + ", the reference says " + text_of(*reference_);
  }
  return verdict;
}

std::string MsmWorkload::text_of(const PlainPoint& point) const {
  return point == infinity_ ? "infinity" : "(0x" + point.x + ", 0x" + point.y + ")";
}

void MsmWorkload::write_result(const std::filesystem::path& file) const {
  if (!result_) throw Error(ErrorKind::internal, "msm: no result before merge()");
  write_result_file(file, [&](std::ostream& out) {
    out << "{\"curve\": \"" << curve_names[static_cast<std::size_t>(terms_->curve())]
        << "\", \"x\": \"0x" << result_->x << "\", \"y\": \"0x" << result_->y << "\"}\n";
  });
}

}  // namespace mgpu::msm
