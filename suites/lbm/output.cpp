#include "suites/lbm/output.hpp"

#include <fmt/format.h>

#include <bit>

#include "lib/workload/npy.hpp"
#include "lib/workload/result_file.hpp"
#include "suites/lbm/flow.hpp"

namespace mgpu::lbm {
namespace {

// The format's numbers are big-endian.
void append(std::string& text, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 0xff);
}

}  // namespace

void write_fields(const std::filesystem::path& file, const Problem& problem,
                  std::span<const std::byte> cells) {
  if (file.extension() != ".vtk") {
    write_npy(file, {problem.cells(), 4, sizeof(float)}, cells);
    return;
  }
  const auto* const all = reinterpret_cast<const Cell*>(cells.data());
  const std::uint64_t of_plane = problem.cells_of_plane();
  write_result_file(file, [&](std::ostream& out) {
    out << fmt::format(
        "# vtk DataFile Version 3.0\n{} after {} steps of mgpu-bench\nBINARY\nDATASET "
        "STRUCTURED_POINTS\nDIMENSIONS {} {} {}\n"
        "ORIGIN 0 0 0\nSPACING 1 1 1\nPOINT_DATA {}\nVECTORS velocity float\n",
        name_of(problem.flow), problem.steps, problem.n, problem.n, problem.planes,
        problem.cells());
    std::string text;
    for (std::uint64_t z = 0; z < problem.planes; ++z) {
      text.clear();
      for (std::uint64_t i = z * of_plane; i < (z + 1) * of_plane; ++i)
        for (std::size_t axis = 0; axis < 3; ++axis) append(text, all[i][axis]);
      out << text;
    }
    out << "\nSCALARS density float 1\nLOOKUP_TABLE default\n";
    for (std::uint64_t z = 0; z < problem.planes; ++z) {
      text.clear();
      for (std::uint64_t i = z * of_plane; i < (z + 1) * of_plane; ++i) append(text, 1 + all[i][3]);
      out << text;
    }
    out << '\n';
  });
}

}  // namespace mgpu::lbm
