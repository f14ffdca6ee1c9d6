// A problem's numbers in host memory, one page-aligned range that is pinned as a whole: the input,
// the parameters of the model whose design matrix it is, and room for results.
#pragma once

#include <string>
#include <vector>

#include "lib/workload/pages.hpp"
#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

class HostData {
 public:
  // Makes seeded numbers, each of which is a function of seed and place alone, or reads the files
  // of --input and --params. `result` is the number of bytes for results. Throws Error(input),
  // Error(out_of_memory).
  HostData(const Problem& problem, const SuiteParams& params, Bytes result);

  // Returns a caveat for each file with values that are not finite.
  const std::vector<std::string>& caveats() const { return caveats_; }

  static Bytes bytes(const Problem& problem, Bytes result);  // memory that one takes

  std::span<const std::byte> all() const { return {pages_.data(), result_at_ + result_size_}; }
  std::span<const std::byte> input() const { return all().first(input_size_); }
  std::span<std::byte> input() { return {pages_.data(), input_size_}; }
  std::span<const std::byte> params() const { return all().subspan(params_at_, params_size_); }
  std::span<std::byte> params() { return {pages_.data() + params_at_, params_size_}; }
  std::span<std::byte> result() { return {pages_.data() + result_at_, result_size_}; }
  std::span<const std::byte> result() const { return all().subspan(result_at_, result_size_); }

 private:
  Bytes input_size_, params_at_, params_size_, result_at_, result_size_;
  Pages pages_;
  std::vector<std::string> caveats_;
};

}  // namespace mgpu::fisher
