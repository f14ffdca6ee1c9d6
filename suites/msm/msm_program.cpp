// Launches of kernels/msm_*.cl.
#include "suites/msm/msm_program.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "suites/msm/kernel_options.hpp"

namespace mgpu::msm {
namespace {

constexpr char sort_file[] = "msm_sort.cl", accumulate_file[] = "msm_accumulate.cl",
               reduce_file[] = "msm_reduce.cl";

constexpr unsigned sort_launches = 7;
constexpr std::size_t light = 256;          // work-items of a group of an integer kernel
constexpr std::size_t weighing_items = 32;  // one per bit of the largest window
static_assert(weighing_items >= largest_window);

// Work-items of halve_by_four per addition, and the local memory that they share.
constexpr std::size_t kPerAddition = 4;
Bytes shared_bytes(Curve curve) { return 8 * field_bytes(curve) + 8; }

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

// Work-items of `heavy` kernels execute thousands of instructions, so a CPU gains nothing from
// work-groups.
MsmProgram::MsmProgram(MsmWorkload& workload, DeviceResources& device, Mode mode, Items fits)
    : workload_(workload),
      traits_(device.traits()),
      mode_(mode),
      has_table_(has_table(traits_, workload.problem(), mode)),
      heavy_(traits_.cpu ? 1 : 128),
      windows_(windows_of_sample()) {
  try {
    make_kernels(device, traits_.nvidia);
  } catch (const Error& error) {
    if (!traits_.nvidia || error.kind() != ErrorKind::unsupported) throw;
    make_kernels(device, false);  // the compiler may refuse the inline assembly
  }
  const Layout plan = layout(traits_, workload.problem(), mode, fits);
  for (unsigned i = 0; i < plan.point_slots; ++i)
    points_[i] = allocate_input(device, plan.points, mode);
  for (unsigned i = 0; i < plan.scalar_slots; ++i)
    scalars_[i] = allocate_input(device, plan.scalars, mode);
  codes_ = device.allocate(plan.codes);
  ranks_ = device.allocate(plan.ranks);
  entries_ = device.allocate(plan.entries);
  counts_ = device.allocate(plan.counts);
  bases_ = device.allocate(plan.bases);
  plan_ = device.allocate(plan.plan);
  tasks_ = device.allocate(plan.tasks);
  longs_ = device.allocate(plan.longs);
  partials_ = device.allocate(plan.partials);
  buckets_ = device.allocate(plan.buckets);
  scratch_ = device.allocate(plan.scratch);
  results_ = device.allocate(plan.results);
}

void MsmProgram::make_kernels(DeviceResources& device, bool ptx) {
  const Curve curve = workload_.terms().curve();
  const std::string options = field_options(curve, traits_.cpu, ptx),
                    sort_options = scalar_options(curve, workload_.fold(), traits_.cpu);
  self_test_ = std::make_unique<SelfTest>(curve, device, options);
  clear_words_ = device.kernel(sort_file, "clear_words", sort_options);
  digits_ = device.kernel(sort_file, "digits", sort_options);
  count_digits_ = device.kernel(sort_file, "count_digits", sort_options);
  place_ = device.kernel(sort_file, "place", sort_options);
  scan_blocks_ = device.kernel(sort_file, "scan_blocks", sort_options);
  scan_sums_ = device.kernel(sort_file, "scan_sums", sort_options);
  make_tasks_ = device.kernel(sort_file, "make_tasks", sort_options);
  clear_sums_ = device.kernel(accumulate_file, "clear_sums", options);
  accumulate_ = device.kernel(accumulate_file, "accumulate", options);
  combine_ = device.kernel(accumulate_file, "combine", options);
  halve_ = device.kernel(reduce_file, "halve", options);
  scan_ = group_of(256, *scan_blocks_, *scan_sums_);
  if (!traits_.cpu) halve_by_four_ = device.kernel(reduce_file, "halve_by_four", options);
  if (halve_by_four_) by_four_ = group_of(256, *halve_by_four_);
  while (by_four_ / kPerAddition * shared_bytes(curve) > traits_.local_memory) by_four_ /= 2;
  if (by_four_ < kPerAddition) halve_by_four_.reset();
  // A CPU device weights faster with the host's 64-bit limbs. A single set takes 20 us on the host
  // and 100 us on an H100.
  if (!traits_.cpu && !has_table_) weigh_ = device.kernel(reduce_file, "weigh", options);
  if (weigh_ && group_of(weighing_items, *weigh_) < weighing_items) weigh_.reset();
  if (made_on_device(traits_, workload_.problem(), mode_)) {
    maker_ = std::make_unique<BaseMaker>(workload_.bases(), device, options, heavy_);
  }
  if (has_table_) {
    table_ = std::make_unique<TableMaker>(windows_of_sample(), workload_.terms().count(), device,
                                          options, heavy_);
  }
}

const Windows& MsmProgram::windows_of_sample() const {
  return has_table_ ? *workload_.problem().shared_windows : workload_.windows();
}

std::string MsmProgram::kernel_variant() const {
  return has_table_ ? "table of " + std::to_string(windows_.count) + " multiples of each point"
                    : "";
}

Completion MsmProgram::self_test(Stream& stream) {
  self_test_->enqueue(stream);
  return [this] {
    self_test_->check();
    self_test_.reset();
  };
}

void MsmProgram::load(Stream& stream) {
  const Terms& terms = workload_.terms();
  if (maker_) {
    maker_->enqueue(stream, *points_[0]);
  } else {
    stream.upload(*points_[0], 0, terms.point_bytes(0, terms.count()));
  }
  if (table_) table_->enqueue(stream, *points_[0]);
  if (mode_ == Mode::resident) stream.upload(*scalars_[0], 0, std::as_bytes(terms.scalars()));
}

void MsmProgram::prepare(Stream& stream) {
  windows_ = windows_of_sample();
  table_.reset();
  maker_.reset();  // frees its memory before the first measured sample, since there is a warm-up
  open_ = false;
  reduced_.clear();
  result_count_ = 0;
  const Terms& terms = workload_.terms();
  const Axis axis = workload_.problem().axis;
  if (axis == Axis::points) return;
  if (mode_ == Mode::end_to_end) stream.upload(*points_[0], 0, terms.point_bytes(0, terms.count()));
  if (mode_ != Mode::resident && axis == Axis::windows)
    stream.upload(*scalars_[0], 0, terms.scalar_bytes(0, terms.count()));
}

void MsmProgram::launch(Kernel& kernel, std::uint64_t work_items, std::size_t wanted,
                        std::initializer_list<KernelArg> args, Stream& stream, std::size_t rows,
                        std::size_t layers) {
  if (work_items == 0) return;
  const std::size_t local = group_of(wanted, kernel);
  stream.launch(kernel, {{round_up(work_items, local), rows, layers}, {local, 1, 1}}, args);
}

void MsmProgram::clear_buckets(Stream& stream) {
  launch(*clear_sums_, windows_.all_buckets(), light,
         {buckets_.get(), narrow(windows_.all_buckets())}, stream);
  open_ = true;
  touched_begin_ = windows_.sets();
  touched_end_ = 0;
}

MsmProgram::Inputs MsmProgram::inputs(const Slice& slice, unsigned slot, Stream& stream) {
  Inputs inputs{points_[0].get(), scalars_[0].get(), 0, 0};
  if (workload_.problem().axis == Axis::windows) return inputs;
  const Terms& terms = workload_.terms();
  const bool by_points = workload_.problem().axis == Axis::points;
  const std::uint64_t each = by_points ? 1 : terms.count();
  if (by_points) inputs.first_point = slice.begin;
  inputs.first_scalar = slice.begin * each;
  if (mode_ != Mode::resident) {
    inputs.scalars = scalars_[slot].get();
    inputs.first_scalar = 0;
    stream.upload(*inputs.scalars, 0, terms.scalar_bytes(slice.begin * each, slice.end * each));
  }
  if (by_points && mode_ == Mode::end_to_end) {
    inputs.points = points_[slot].get();
    inputs.first_point = 0;
    stream.upload(*inputs.points, 0, terms.point_bytes(slice.begin, slice.end));
  }
  return inputs;
}

void MsmProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const std::uint64_t all = workload_.terms().count();
  if (all == 0) return;
  Inputs from = inputs(slice, slot, stream);
  if (workload_.problem().axis == Axis::windows) {
    add(pass_of(traits_, all, static_cast<unsigned>(slice.size()), windows_), from,
        static_cast<unsigned>(slice.begin), stream);
    return;
  }
  if (workload_.problem().axis == Axis::points) {
    added_ = false;
    try {
      add_windows(slice.size(), from, stream);
    } catch (const Error& error) {
      // Points that are in buckets cannot be taken out: the slice must not be handed out again
      // while this device counts, as it would be after a lack of memory.
      if (added_ && error.kind() == ErrorKind::out_of_memory)
        throw Error(ErrorKind::device, error.what());
      throw;
    }
    return;
  }
  // A slice that the device has no memory for is handed out again: none of its sums may stay.
  const std::size_t reduced_before = reduced_.size();
  const std::uint64_t results_before = result_count_;
  try {
    for (Items sum = slice.begin; sum < slice.end; ++sum) {
      add_windows(all, from, stream);
      reduce(sum, stream);
      from.first_scalar += all;
    }
  } catch (const Error&) {
    reduced_.resize(reduced_before);
    result_count_ = results_before;
    open_ = false;
    throw;
  }
}

// Adds these points in all windows.
void MsmProgram::add_windows(std::uint64_t points, const Inputs& from, Stream& stream) {
  const unsigned at_once = windows_of_pass(windows_, points, workload_.problem().together);
  for (unsigned window = 0; window < windows_.count; window += at_once) {
    const unsigned count = std::min(at_once, windows_.count - window);
    add(pass_of(traits_, points, count, windows_), from, window, stream);
  }
}

void MsmProgram::add(const Pass& pass, const Inputs& from, unsigned first_window, Stream& stream) {
  const unsigned first_set = has_table_ ? 0 : first_window, sets = has_table_ ? 1 : pass.windows;
  const std::uint64_t first_bucket = std::uint64_t{first_set} * windows_.buckets();
  // Each window that shares buckets has its own row of the table.
  const std::uint64_t in_a_row = workload_.terms().count(),
                      row = has_table_ ? first_window * in_a_row : 0;
  const std::uint32_t points =
      narrow(has_table_ ? pass.windows * in_a_row - from.first_point : pass.points);
  const std::uint32_t entries = narrow(pass.entries()), buckets = narrow(pass.buckets);
  sort(pass, from, first_window, stream);
  added_ = true;
  launch(*accumulate_, pass.tasks(), heavy_,
         {from.points, row + from.first_point, points, entries_.get(), entries, pass.limit,
          tasks_.get(), plan_.get(), buckets_.get(), first_bucket, buckets, partials_.get()},
         stream);
  // Work-groups loop over the buckets, since only the device knows how many are too long.
  const std::size_t size = group_of(traits_.cpu ? 4 : 32, *combine_);
  const std::uint64_t groups =
      std::min<std::uint64_t>(pass.entries() / pass.limit, 4 * traits_.compute_units);
  launch(*combine_, groups * size, size,
         {longs_.get(), plan_.get(), partials_.get(), entries, pass.limit, buckets_.get(),
          first_bucket, buckets, LocalBytes{size * sum_bytes(workload_.terms().curve())}},
         stream);
  touched_begin_ = std::min(touched_begin_, first_set);
  touched_end_ = std::max(touched_end_, first_set + sets);
}

void MsmProgram::sort(const Pass& pass, const Inputs& from, unsigned first_window, Stream& stream) {
  const std::uint32_t points = narrow(pass.points), buckets = narrow(pass.buckets),
                      limit = pass.limit;
  const std::uint32_t bits = windows_.bits, wide = windows_.wide, each = windows_.buckets(),
                      row = has_table_ ? 0 : each, end_window = first_window + pass.windows;
  const std::uint32_t wide_here = has_table_ ? pass.windows : wide - std::min(wide, first_window);
  const std::uint32_t blocks = buckets / scan_block + 1, plan_words = plan_lengths + limit + 1;
  const LocalBytes scan{scan_ * 4}, lengths{(limit + 1) * Bytes{4}};
  stream.begin_series(sort_launches + (open_ ? 0 : 1));
  if (!open_) clear_buckets(stream);
  launch(*clear_words_, std::max(buckets, plan_words), light,
         {counts_.get(), buckets, plan_.get(), plan_words}, stream);
  launch(
      *digits_, points, light,
      {from.scalars, from.first_scalar, points, bits, wide, first_window, end_window, codes_.get()},
      stream);
  launch(*count_digits_, points, light,
         {codes_.get(), points, each, row, counts_.get(), ranks_.get()}, stream, pass.windows);
  launch(*scan_blocks_, blocks * scan_, scan_,
         {counts_.get(), buckets, limit, bases_.get(), plan_.get(), scan, lengths}, stream);
  launch(*scan_sums_, scan_, scan_, {bases_.get(), blocks, limit, plan_.get(), scan}, stream);
  launch(*make_tasks_, buckets, light,
         {counts_.get(), bases_.get(), buckets, limit, plan_.get(), tasks_.get(), longs_.get(),
          narrow(pass.entries()), narrow(pass.tasks()), lengths},
         stream);
  std::uint32_t parts = 1;
  const std::uint64_t together =
      has_table_ ? pass.entries() : pass.points;  // entries per set of buckets
  while (!traits_.cpu && parts < each / 2 && together / parts > workload_.options().cached_entries)
    parts *= 2;
  const std::uint32_t part_buckets = each / parts,
                      stride = has_table_ ? narrow(workload_.terms().count()) : 0;
  launch(*place_, points, light,
         {codes_.get(), points, each, row, part_buckets, wide_here, stride, counts_.get(),
          bases_.get(), ranks_.get(), entries_.get(), narrow(pass.entries())},
         stream, pass.windows, parts);
}

std::vector<MsmProgram::Halving> MsmProgram::halvings_of(unsigned sets, unsigned levels) const {
  // On an H100 of 132 units 16,000 sums are faster by four, 33,000 slower.
  const std::uint64_t most_by_four = 128 * traits_.compute_units;
  std::vector<Halving> halvings;
  for (std::uint32_t level = 0; level < levels;) {
    const std::uint32_t log_n = levels - level;
    const std::uint64_t row = log_n >= 2 ? std::uint64_t{1} << (log_n - 2) : 1;
    Halving& now = halvings.emplace_back();
    now.level = level;
    now.sums = (std::uint64_t{1} << (log_n - 1)) + (level + 1) * row;
    now.by_four = halve_by_four_ && sets * now.sums <= most_by_four;
    if (now.by_four && now.sums <= by_four_ / kPerAddition) now.levels = levels - level;
    level += now.levels;
  }
  return halvings;
}

// Reduces the sets from the first to the last that hold sums, usually all sets between do, too, and
// appends the results to those of this sample.
void MsmProgram::reduce(std::uint64_t sum, Stream& stream) {
  open_ = false;
  const unsigned sets = touched_end_ - touched_begin_, levels = windows_.bits - 1;
  reduced_.push_back({sum, touched_begin_, sets});
  Buffer* in = buckets_.get();
  Buffer* out = scratch_.get();
  std::uint64_t first = std::uint64_t{touched_begin_} * windows_.buckets();
  const std::vector<Halving> halvings = halvings_of(sets, levels);
  stream.begin_series(static_cast<unsigned>(halvings.size()) + (weigh_ ? 1 : 0));
  std::uint64_t stride = windows_.buckets();  // sums of a set
  for (const Halving& now : halvings) {
    const std::uint32_t log_n = levels - now.level;
    const bool ends = now.level + now.levels == levels && !weigh_;
    if (now.by_four) {
      const std::size_t groups = now.levels > 1 ? 1 : ceil_div(now.sums * kPerAddition, by_four_);
      launch(
          *halve_by_four_, groups * by_four_, by_four_,
          {in, first, out, u32(ends), results_.get(), result_count_, log_n, now.level, now.levels,
           LocalBytes{by_four_ / kPerAddition * shared_bytes(workload_.terms().curve())}},
          stream, sets);
    } else {
      launch(*halve_, sets * now.sums, heavy_,
             {in, first, ends ? results_.get() : out, ends ? result_count_ : 0, log_n, now.level,
              narrow(sets * now.sums)},
             stream);
    }
    if (now.levels % 2 == 0) continue;  // they end where they began
    std::swap(in, out);
    first = 0;
    stride = now.sums;
  }
  if (weigh_) {
    const LocalBytes shared{weighing_items * sum_bytes(workload_.terms().curve())};
    launch(*weigh_, sets * weighing_items, weighing_items,
           {in, first, narrow(stride), windows_.bits, results_.get(), result_count_, shared},
           stream);
  }
  result_count_ += std::uint64_t{sets} * sums_each();
}

Completion MsmProgram::collect(Stream& stream) {
  if (open_) reduce(0, stream);
  sums_.resize(result_count_ * sum_bytes(workload_.terms().curve()));
  result_count_ = 0;
  if (reduced_.empty()) return {};
  stream.download(*results_, 0, sums_);
  return [this] {
    const HostPoints& points = host_points(workload_.terms().curve());
    std::span<const std::byte> rest(sums_);
    for (const Reduced& each : reduced_) {
      const Bytes size = each.sets * sums_each() * sum_bytes(workload_.terms().curve());
      workload_.add_partial(
          each.sum, points.weighted(rest.first(size), windows_, each.first_set, sums_each()));
      rest = rest.subspan(size);
    }
    reduced_.clear();
  };
}

}  // namespace mgpu::msm
