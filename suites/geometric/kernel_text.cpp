#include "suites/geometric/kernel_text.hpp"

#include <bit>

namespace mgpu::geometric {
namespace {

std::string number(unsigned n) { return std::to_string(n); }

// A work-item reads a multivector of few components directly from memory.
constexpr const char* directly = R"(
  const ulong at = get_global_id(0);
  if (at >= count) return;
  __global const real* const of_a = a + (first + at) * N;
  __global const real* const of_b = b + (first + at) * N;
  __global real* const of_c = c + (first + at) * N;
)";

// Rows of more components are as long as a cache line, so a work-group reads those of all its
// work-items in the order of memory. Rows in local memory are padded by 16 bytes, so that eight
// work-items that read 16 bytes each access 32 different banks.
constexpr const char* by_local_memory = R"(
  __local real left[GROUP * ROW] __attribute__((aligned(16)));
  __local real right[GROUP * ROW] __attribute__((aligned(16)));
  const uint id = (uint)get_local_id(0);
  const ulong begin = (ulong)get_group_id(0) * GROUP;
  const uint vectors = (uint)min((ulong)GROUP, count - begin) * (N / V);
  for (uint i = id; i < vectors; i += GROUP)
    *(__local vec*)(left + i / (N / V) * ROW + i % (N / V) * V) = ((__global const vec*)(a + (first + begin) * N))[i];
  for (uint i = id; i < vectors; i += GROUP)
    *(__local vec*)(right + i / (N / V) * ROW + i % (N / V) * V) = ((__global const vec*)(b + (first + begin) * N))[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  __local real* const of_a = left + id * ROW;
  __local const real* const of_b = right + id * ROW;
  __local real* const of_c = of_a;
)";
constexpr const char* back_from_local_memory = R"(
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = id; i < vectors; i += GROUP)
    ((__global vec*)(c + (first + begin) * N))[i] = *(__local const vec*)(left + i / (N / V) * ROW + i % (N / V) * V);
)";

class Writer {
 public:
  Writer(const Signature& signature, Operation operation, const KernelForm& form)
      : components_(signature.components()),
        sandwich_(operation == Operation::sandwich),
        form_(form),
        lanes_(form.wide ? 2 : 4),
        terms_(terms_of(signature, sandwich_ ? Operation::geometric : operation)) {}

  std::string text() const {
    std::string text = "#pragma OPENCL FP_CONTRACT OFF\n";
    if (form_.wide) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
    const std::string real = form_.wide ? "double" : "float";
    text += "typedef " + real + " real;\ntypedef " + real + number(lanes_) + " vec;\n";
    for (const auto& [name, value] : {std::pair{"N", components_},
                                      {"V", lanes_},
                                      {"GROUP", form_.group},
                                      {"ROW", components_ + lanes_}})
      text += std::string("#define ") + name + " " + number(value) + "\n";
    text +=
        "__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void multiply(__global const "
        "real* restrict a, "
        "__global const real* restrict b, __global real* restrict c, const ulong first, const "
        "ulong count) {";
    text += form_.staged ? by_local_memory : directly;
    text += take("a") + take("b") + products(sandwich_ ? "t" : "c", "a", "b");
    if (sandwich_) text += reversed() + products("c", "t", "r");
    text += put();
    if (form_.staged) text += back_from_local_memory;
    return text + "}\n";
  }

 private:
  std::string space(bool constant) const {
    return std::string(form_.staged ? "__local " : "__global ") + (constant ? "const " : "");
  }

  std::string take(const std::string& of) const {
    std::string text;
    for (unsigned i = 0; i < components_; ++i) {
      const std::string from = "of_" + of, in = of + "_from_" + number(i / lanes_ * lanes_);
      if (components_ >= lanes_ && i % lanes_ == 0)
        text += "  const vec " + in + " = ((" + space(true) + "vec*)" + from + ")[" +
                number(i / lanes_) + "];\n";
      text += "  const real " + of + number(i) + " = ";
      text += components_ >= lanes_ ? in + ".s" + number(i % lanes_) + ";\n"
                                    : from + "[" + number(i) + "];\n";
    }
    return text;
  }

  std::string products(const std::string& to, const std::string& left,
                       const std::string& right) const {
    std::string text;
    for (unsigned k = 0; k < components_; ++k) {
      const std::string sum = to + number(k);
      text += "  real " + sum + " = 0;\n";
      for (const Term& term : terms_[k])
        text += "  " + sum + " = fma(" + (term.negative ? "-" : "") + left + number(term.left) +
                ", " + right + number(term.right) + ", " + sum + ");\n";
    }
    return text;
  }

  // Reversing a blade of grade 2 or 3 (6 or 7) is an odd permutation; of grade 4 or 5 it is even.
  std::string reversed() const {
    std::string text;
    for (unsigned i = 0; i < components_; ++i)
      text += "  const real r" + number(i) + " = " + ((std::popcount(i) & 2) != 0 ? "-a" : "a") +
              number(i) + ";\n";
    return text;
  }

  std::string put() const {
    std::string text;
    for (unsigned i = 0; i < components_; i += components_ >= lanes_ ? lanes_ : 1) {
      if (components_ < lanes_) {
        text += "  of_c[" + number(i) + "] = c" + number(i) + ";\n";
        continue;
      }
      text +=
          "  ((" + space(false) + "vec*)of_c)[" + number(i / lanes_) + "] = (vec)(c" + number(i);
      for (unsigned e = 1; e < lanes_; ++e) text += ", c" + number(i + e);
      text += ");\n";
    }
    return text;
  }

  unsigned components_;
  bool sandwich_;
  KernelForm form_;
  unsigned lanes_;
  std::vector<std::vector<Term>> terms_;
};

}  // namespace

std::string kernel_text(const Signature& signature, Operation operation, const KernelForm& form) {
  return Writer(signature, operation, form).text();
}

}  // namespace mgpu::geometric
