#include "suites/pipeline/data_program.hpp"

#include <algorithm>

namespace mgpu::pipeline {

DataProgram::DataProgram(PipelineWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                         std::size_t group)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      variant_(variant_name(group)),
      kernels_(device, problem_, group) {
  const bool end_to_end = mode_ == Mode::end_to_end;
  const std::uint64_t records =
      end_to_end ? std::min(problem_.records, fits * problem_.batch) : problem_.records;
  for (unsigned slot = 0; slot < (end_to_end ? 2u : 1u); ++slot) {
    records_[slot] = allocate_input(device, records * problem_.width() * 4, mode_);
    results_[slot] = device.allocate(records * problem_.width_after() * 4);
  }
}

void DataProgram::load(Stream& stream) { stream.upload(*records_[0], 0, workload_.records()); }

void DataProgram::prepare(Stream&) {
  done_.clear();
  sample_ = workload_.sample();
}

void DataProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const bool end_to_end = mode_ == Mode::end_to_end;
  const unsigned place = end_to_end ? slot : 0;
  const std::uint64_t first = problem_.first(slice.begin), end = problem_.first(slice.end),
                      base = end_to_end ? first : 0;
  const Bytes each = Bytes{problem_.width()} * 4;
  if (end_to_end)
    stream.upload(*records_[place], 0,
                  workload_.records().subspan(first * each, (end - first) * each));
  for (std::uint64_t b = slice.begin; b < slice.end; ++b) {
    const std::uint64_t at = problem_.first(b) - base;
    kernels_.run(0, problem_.stages.size(), {records_[place].get(), at * problem_.width()},
                 {results_[place].get(), at * problem_.width_after()}, problem_.count(b), stream);
  }
  if (end_to_end) {
    download(slice, 0, place, stream);
  } else {
    done_.push_back(slice);
  }
}

void DataProgram::download(const Slice& slice, Bytes offset, unsigned slot, Stream& stream) {
  const Bytes each = Bytes{problem_.width_after()} * 4, begin = problem_.first(slice.begin) * each,
              end = problem_.first(slice.end) * each;
  stream.download(*results_[slot], offset, workload_.results().subspan(begin, end - begin));
}

Completion DataProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.sample()) return {};
  for (const Slice& slice : done_)
    download(slice, problem_.first(slice.begin) * problem_.width_after() * 4, 0, stream);
  return [this] {
    for (const Slice& slice : done_) workload_.arrived(slice);
  };
}

}  // namespace mgpu::pipeline
