// Constants of the kernels, computed from those of curve.hpp.
#include "suites/msm/kernel_options.hpp"

#include "suites/msm/field.hpp"

namespace mgpu::msm {
namespace {

std::string word(std::uint32_t value) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
  return text + "u";
}

template <std::size_t N>
void define(std::string& options, const char* prefix, const Limbs<N>& value) {
  for (std::size_t i = 0; i < 2 * N; ++i) {
    options += " -D" + std::string(prefix) + std::to_string(i) + "=" +
               word(static_cast<std::uint32_t>(value[i / 2] >> (i % 2 * 32)));
  }
}

}  // namespace

std::string field_options(Curve curve, bool cpu, bool ptx) {
  return with_curve(curve, [&](auto c) {
    using C = decltype(c);
    std::string options = "-DLIMBS=" + std::to_string(2 * C::limbs);
    std::uint64_t carry = 0;
    define(options, "P", C::modulus);
    define(options, "D", add(C::modulus, C::modulus, carry));
    define(options, "U", Fp<C>::one().montgomery());
    options += " -DP_INVERSE=" + word(static_cast<std::uint32_t>(Fp<C>::minus_inverse()));
    if (cpu) options += " -DMSM_ROLLED";
    if (ptx) options += " -DMSM_PTX";
    // The limit lets three work-groups of 128 run on a multiprocessor of an H200 instead of two, at
    // the price of 16 spilled bytes. Kernels of 8 limbs need only 118 registers.
    if (ptx && 2 * C::limbs == 12) options += " -cl-nv-maxrregcount=168";
    return options;
  });
}

std::string scalar_options(Curve curve, bool fold, bool cpu) {
  std::string options = cpu ? "-DMSM_ROLLED" : "";
  if (fold) {
    options += " -DFOLD";
    define(options, "R", order_of(curve));
  }
  return options;
}

}  // namespace mgpu::msm
