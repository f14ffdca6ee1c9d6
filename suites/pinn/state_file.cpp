#include "suites/pinn/state_file.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "suites/pinn/network.hpp"

namespace mgpu::pinn {
namespace {

constexpr std::uint64_t header_rows = 2, columns = 3;
constexpr float format = 1;
constexpr std::uint64_t most_rows = std::uint64_t{1} << 26;

Error refused(const std::filesystem::path& file, const std::string& why) {
  return Error(ErrorKind::input, "--input: " + file.string() + " " + why);
}

std::vector<float> read(const std::filesystem::path& file) {
  const NpyShape shape = read_npy_shape(file);
  if (shape.columns != columns || shape.element != sizeof(float) || shape.rows <= header_rows ||
      shape.rows > most_rows)
    throw refused(file, "is " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                            " of float" + std::to_string(shape.element * 8) +
                            "; expected: what run pinn --save-data wrote, n x 3 of float32");
  std::vector<float> values(shape.rows * columns);
  read_npy(file, shape, std::as_writable_bytes(std::span(values)));
  if (values[0] != format)
    throw refused(file, "does not begin with 1; expected: what run pinn --save-data wrote");
  return values;
}

std::uint64_t whole(const std::filesystem::path& file, float value, const char* what) {
  if (value >= 0 && value <= 0x1p24F && value == std::floor(value))
    return static_cast<std::uint64_t>(value);
  throw refused(file, std::string("has no count for ") + what +
                          "; expected: what run pinn --save-data wrote");
}

}  // namespace

std::uint64_t points_in_state_file(const std::filesystem::path& file) {
  return whole(file, read(file)[5], "the points");
}

std::uint32_t check_state_file(const std::filesystem::path& file, const Problem& problem) {
  const std::vector<float> values = read(file);
  const std::uint64_t layers = whole(file, values[1], "the layers"),
                      width = whole(file, values[2], "the width"),
                      of = whole(file, values[3], "the problem");
  if (layers != problem.layers || width != problem.width)
    throw refused(file, "is of a network of " + std::to_string(layers) + " x " +
                            std::to_string(width) + "; expected with --layers " +
                            std::to_string(problem.layers) + " --width " +
                            std::to_string(problem.width) + ": one of that size");
  if (of != static_cast<std::uint64_t>(problem.equation))
    throw refused(file, std::string("is of ") +
                            (of <= 3 ? name_of(static_cast<Equation>(of)) : "another problem") +
                            "; expected with --problem " + name_of(problem.equation) +
                            ": one of that problem");
  const Network network{layers, width};
  if (values.size() != (network.count() + header_rows) * columns)
    throw refused(file, "has " + std::to_string(values.size() / columns - header_rows) +
                            " parameters; expected for a network of " + std::to_string(layers) +
                            " x " + std::to_string(width) + ": " + std::to_string(network.count()));
  for (std::size_t i = header_rows * columns; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw refused(file, "has a value that is no finite number in row " +
                              std::to_string(i / columns) + "; expected: finite ones");
  return u32(whole(file, values[4], "the steps"));
}

void read_state_file(const std::filesystem::path& file, const Problem& problem,
                     std::span<float> state) {
  check_state_file(file, problem);
  const std::vector<float> values = read(file);
  const std::uint64_t count = Network{problem.layers, problem.width}.count();
  if (values.size() != (count + header_rows) * columns)
    throw refused(file, "changed while it was read");
  for (std::uint64_t i = 0; i < count; ++i)
    for (std::uint64_t c = 0; c < columns; ++c)
      state[c * count + i] = values[(header_rows + i) * columns + c];
}

void write_state_files(const std::filesystem::path& file, const Problem& problem,
                       std::span<const std::vector<float>> states) {
  const std::uint64_t count = Network{problem.layers, problem.width}.count();
  std::vector<float> values;
  for (const std::vector<float>& state : states) {
    values.insert(values.end(),
                  {format, static_cast<float>(problem.layers), static_cast<float>(problem.width),
                   static_cast<float>(static_cast<int>(problem.equation)),
                   static_cast<float>(problem.steps_done + problem.steps),
                   static_cast<float>(problem.points)});
    for (std::uint64_t i = 0; i < count; ++i)
      for (std::uint64_t c = 0; c < columns; ++c) values.push_back(state[c * count + i]);
  }
  write_npy(file, {values.size() / columns, columns, sizeof(float)},
            std::as_bytes(std::span(values)));
}

void write_state_file(const std::filesystem::path& file, const Problem& problem,
                      std::span<const float> state) {
  const std::vector<float> one(state.begin(), state.end());
  write_state_files(file, problem, {&one, 1});
}

void write_solution_file(const std::filesystem::path& state_file, std::size_t rows,
                         std::span<const double> network, std::span<const double> solution) {
  std::vector<float> values(network.begin(), network.end());
  values.insert(values.end(), solution.begin(), solution.end());
  for (std::size_t i = 0; i < solution.size(); ++i)
    values.push_back(static_cast<float>(network[i] - solution[i]));
  const std::filesystem::path file =
      std::filesystem::path(state_file).replace_extension(".solution.npy");
  write_npy(file, {3 * rows, solution.size() / rows, sizeof(float)},
            std::as_bytes(std::span(values)));
}

}  // namespace mgpu::pinn
