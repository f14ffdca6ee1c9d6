// Copies and launches of one device, with kernels/fisher_models.cl, fisher_categorical.cl and
// fisher_closed.cl.
#include "suites/fisher/points_program.hpp"

namespace mgpu::fisher {

PointsProgram::PointsProgram(PointsWorkload& workload, DeviceResources& device, Mode mode,
                             Items fits)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      kernel_(make_points_kernel(device, problem_)),
      layout_(points_layout(problem_, mode, fits)) {
  for (unsigned i = 0; i < layout_.buffers; ++i) {
    input_[i] = allocate_input(device, layout_.input, mode);
    output_[i] = device.allocate(layout_.output);
  }
  units_ = device.allocate(layout_.units);
}

void PointsProgram::upload(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream) {
  const Bytes point = problem_.width * problem_.element();
  if (first < end)
    stream.upload(*input_[slot], 0,
                  workload_.data().input().subspan(first * point, (end - first) * point));
}

void PointsProgram::download(std::uint64_t first, std::uint64_t end, Bytes offset, unsigned slot,
                             Stream& stream) {
  const Bytes matrix = problem_.triangle() * problem_.element();
  if (first < end)
    stream.download(*output_[slot], offset,
                    workload_.result().subspan(first * matrix, (end - first) * matrix));
}

void PointsProgram::upload_units(Stream& stream) {
  if (!units_there_ && !kernel_.variant.units.empty())
    stream.upload(*units_, 0, std::as_bytes(std::span(kernel_.variant.units)));
  units_there_ = true;
}

void PointsProgram::load(Stream& stream) { upload(0, problem_.points, 0, stream); }

void PointsProgram::prepare(Stream& stream) {
  done_.clear();
  sample_ = workload_.arrivals().sample();
  upload_units(stream);
}

void PointsProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const bool end_to_end = mode_ == Mode::end_to_end;
  const unsigned buffer = end_to_end ? slot : 0;
  const std::uint64_t begin = workload_.first_point(slice.begin),
                      end = workload_.first_point(slice.end), count = end - begin;
  if (end_to_end) upload(begin, end, buffer, stream);
  if (count > 0) {
    const std::uint64_t first = end_to_end ? 0 : begin;
    const std::size_t groups = ceil_div(count, kernel_.variant.points),
                      threads = kernel_.variant.threads;
    const Grid grid = grid_of(groups * threads, threads);
    if (problem_.regime == Regime::closed) {
      stream.launch(*kernel_.kernel, grid,
                    {input_[buffer].get(), first, count, output_[buffer].get(), first});
    } else {
      stream.launch(
          *kernel_.kernel, grid,
          {input_[buffer].get(), first, count, output_[buffer].get(), first, begin, units_.get(),
           static_cast<std::uint32_t>(problem_.scores), static_cast<std::uint32_t>(problem_.seed),
           static_cast<std::uint32_t>(problem_.seed >> 32)});
    }
  }
  if (end_to_end) {
    download(begin, end, 0, buffer, stream);
  } else {
    done_.push_back(slice);
  }
}

void PointsProgram::finished(const Slice& slice) { workload_.arrivals().arrived({&slice, 1}); }

Completion PointsProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.arrivals().sample()) return {};
  const Bytes matrix = problem_.triangle() * problem_.element();
  for (const Slice& slice : done_) {
    const std::uint64_t begin = workload_.first_point(slice.begin);
    download(begin, workload_.first_point(slice.end), begin * matrix, 0, stream);
  }
  return [this] { workload_.arrivals().arrived(done_); };
}

}  // namespace mgpu::fisher
