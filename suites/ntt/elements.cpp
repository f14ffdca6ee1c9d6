#include "suites/ntt/elements.hpp"

#include <fstream>

#include "lib/base/error.hpp"
#include "lib/workload/first_error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/result_file.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::ntt {
namespace {

constexpr std::uint64_t elements_at_once = std::uint64_t{1} << 16;

Error refused(const std::filesystem::path& file, const std::string& why) {
  return Error(ErrorKind::input, "--input " + file.string() + ": " + why);
}

bool is_npy(const std::filesystem::path& file) { return file.extension() == ".npy"; }

// Elements of 32 bytes are four words of a row.
NpyShape npy_shape(const Problem& problem, Bytes bytes) {
  const Bytes word = std::min<Bytes>(problem.element(), 8);
  return {problem.batch, bytes / problem.batch / word, word, NpyNumbers::words};
}

Bytes bytes_in_file(const std::filesystem::path& file, const Problem& problem) {
  if (is_npy(file)) {
    const NpyShape shape = read_npy_shape(file, "--input", NpyNumbers::words);
    const Bytes word = std::min<Bytes>(problem.element(), 8);
    if (shape.element != word)
      throw refused(file, "words of " + std::to_string(shape.element) + " bytes; expected: of " +
                              std::to_string(word));
    if (shape.rows != problem.batch)
      throw refused(file, std::to_string(shape.rows) + " rows; expected: one per transform, " +
                              std::to_string(problem.batch) + " (--batch)");
    return shape.bytes();
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) throw refused(file, "no such file");
  const Bytes size = std::filesystem::file_size(file, error);
  if (error || !std::ifstream(file, std::ios::binary)) throw refused(file, "cannot be opened");
  return size;
}

}  // namespace

std::uint64_t elements_in_files(const SuiteParams& params, const Problem& problem) {
  const Bytes size = bytes_in_file(*params.input, problem),
              each = problem.element() * problem.batch;
  if (size == 0 || size % each != 0)
    throw refused(*params.input, std::to_string(size) + " bytes; expected: a multiple of " +
                                     std::to_string(each) + ", an element of " +
                                     std::to_string(problem.element()) +
                                     " bytes for each transform (--batch)");
  return size / problem.element();
}

void read_elements(const std::filesystem::path& file, const Problem& problem,
                   std::span<std::byte> to, unsigned threads) {
  if (is_npy(file)) {
    read_npy(file, npy_shape(problem, to.size()), to);
  } else {
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    if (!in || in.peek() != std::ifstream::traits_type::eof())
      throw refused(file, "its size has changed");
  }
  with_field(problem.field, [&](auto f) {
    using F = decltype(f);
    parallel_for(
        to.size() / F::bytes, threads,
        [&](std::uint64_t i) {
          if (!F::is_canonical(F::load(to.data() + i * F::bytes)))
            throw refused(file, "element " + std::to_string(i) +
                                    " is not canonical; expected: below the modulus");
        },
        elements_at_once);
  });
}

void fill_elements(const Problem& problem, std::span<std::byte> to, unsigned threads) {
  with_field(problem.field, [&](auto f) {
    using F = decltype(f);
    parallel_for(
        to.size() / F::bytes, threads,
        [&](std::uint64_t i) {
          F::store(to.data() + i * F::bytes, F::of(splitmix64(problem.seed, i)));
        },
        elements_at_once);
  });
}

void write_elements(const std::filesystem::path& file, const Problem& problem,
                    std::span<const std::byte> elements) {
  if (is_npy(file)) {
    write_npy(file, npy_shape(problem, elements.size()), elements);
    return;
  }
  write_result_file(file, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(elements.data()),
              static_cast<std::streamsize>(elements.size()));
  });
}

}  // namespace mgpu::ntt
