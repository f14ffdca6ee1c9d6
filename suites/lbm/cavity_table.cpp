#include "suites/lbm/cavity_table.hpp"

#include <cmath>

namespace mgpu::lbm {
namespace {

constexpr std::array<double, 15> kHeight{0.9766, 0.9688, 0.9609, 0.9531, 0.8516,
                                         0.7344, 0.6172, 0.5000, 0.4531, 0.2813,
                                         0.1719, 0.1016, 0.0703, 0.0625, 0.0547};
constexpr std::array<CavityTable, 3> kTables{
    {{100,
      kHeight,
      {0.84123, 0.78871, 0.73722, 0.68717, 0.23151, 0.00332, -0.13641, -0.20581, -0.21090, -0.15662,
       -0.10150, -0.06434, -0.04775, -0.04192, -0.03717}},
     {400,
      kHeight,
      {0.75837, 0.68439, 0.61756, 0.55892, 0.29093, 0.16256, 0.02135, -0.11477, -0.17119, -0.32726,
       -0.24299, -0.14612, -0.10338, -0.09266, -0.08186}},
     {1000,
      kHeight,
      {0.65928, 0.57492, 0.51117, 0.46604, 0.33304, 0.18719, 0.05702, -0.06080, -0.10648, -0.27805,
       -0.38289, -0.29730, -0.22220, -0.20196, -0.18109}}}};

}  // namespace

const CavityTable* cavity_table(double reynolds) {
  for (const CavityTable& table : kTables)
    if (std::abs(reynolds - table.reynolds) < 1e-4 * table.reynolds) return &table;
  return nullptr;
}

}  // namespace mgpu::lbm
