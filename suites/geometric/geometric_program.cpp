#include "suites/geometric/geometric_program.hpp"

#include <algorithm>

namespace mgpu::geometric {

GeometricProgram::GeometricProgram(GeometricWorkload& workload, DeviceResources& device, Mode mode,
                                   Items fits, const Variant& variant)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      variant_(variant),
      kernel_(
          device.foreign_kernel({"the kernel of algebra " + problem_.signature.text(),
                                 kernel_text(problem_.signature, problem_.operation, variant.form)},
                                "multiply", "")) {
  constexpr Bytes least = 64;  // no buffer is empty
  const std::uint64_t count = mode_ == Mode::end_to_end
                                  ? std::min(problem_.count, fits * problem_.of_item())
                                  : problem_.count;
  const Bytes size = std::max(least, count * problem_.multivector());
  for (unsigned slot = 0; slot < (mode_ == Mode::end_to_end ? 2u : 1u); ++slot) {
    for (auto& operand : operands_[slot]) operand = allocate_input(device, size, mode_);
    products_[slot] = device.allocate(size);
  }
}

void GeometricProgram::upload(std::uint64_t first, std::uint64_t end, unsigned slot,
                              Stream& stream) {
  const Bytes each = problem_.multivector();
  if (first == end) return;
  for (unsigned i = 0; i < 2; ++i)
    stream.upload(*operands_[slot][i], 0,
                  workload_.operand(i).subspan(first * each, (end - first) * each));
}

void GeometricProgram::download(const Slice& slice, Bytes offset, unsigned slot, Stream& stream) {
  const Bytes each = problem_.multivector();
  const std::uint64_t first = problem_.first(slice.begin), end = problem_.first(slice.end);
  if (first < end)
    stream.download(*products_[slot], offset,
                    workload_.result().subspan(first * each, (end - first) * each));
}

void GeometricProgram::load(Stream& stream) { upload(0, problem_.count, 0, stream); }

void GeometricProgram::prepare(Stream&) {
  done_.clear();
  sample_ = workload_.arrivals().sample();
}

void GeometricProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const std::uint64_t first = problem_.first(slice.begin),
                      count = problem_.first(slice.end) - first;
  const bool end_to_end = mode_ == Mode::end_to_end;
  const unsigned place = end_to_end ? slot : 0;
  if (end_to_end) upload(first, first + count, place, stream);
  if (count > 0) {
    stream.launch(*kernel_, grid_of(count, variant_.form.group),
                  {operands_[place][0].get(), operands_[place][1].get(), products_[place].get(),
                   end_to_end ? std::uint64_t{0} : first, count});
  }
  if (end_to_end) {
    download(slice, 0, place, stream);
  } else {
    done_.push_back(slice);
  }
}

Completion GeometricProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.arrivals().sample()) return {};
  for (const Slice& slice : done_)
    download(slice, problem_.first(slice.begin) * problem_.multivector(), 0, stream);
  return [this] { workload_.arrivals().arrived(done_); };
}

}  // namespace mgpu::geometric
