// The geometric suite on the host: products of blades, and what the reference detects.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "suites/geometric/geometric_workload.hpp"
#include "suites/geometric/kernel_text.hpp"
#include "suites/geometric/reference.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::geometric {
namespace {

using Multivector = std::vector<double>;

Multivector product(const Signature& signature, Operation operation, const Multivector& a,
                    const Multivector& b) {
  Multivector out(a.size(), 0);
  const auto terms = terms_of(signature, operation);
  for (std::size_t k = 0; k < terms.size(); ++k)
    for (const Term& term : terms[k])
      out[k] += (term.negative ? -1 : 1) * a[term.left] * b[term.right];
  return out;
}

Multivector blade(const Signature& signature, unsigned which, double value = 1) {
  Multivector out(signature.components(), 0);
  out[which] = value;
  return out;
}

std::span<const std::byte> bytes(const std::vector<float>& of) {
  return std::as_bytes(std::span(of));
}

}  // namespace

TEST_CASE("geometric: blades square by the signature, vectors that differ change signs") {
  const Signature space{3, 0, 0}, quaternions{0, 2, 0}, plane{2, 0, 1};
  struct Row {
    Signature signature;
    unsigned a, b, result;
    double sign;
  };
  for (const auto& row :
       {Row{space, 1, 2, 3, 1}, Row{space, 2, 1, 3, -1}, Row{space, 3, 3, 0, -1},
        Row{space, 7, 7, 0, -1}, Row{space, 6, 4, 2, 1}, Row{quaternions, 1, 1, 0, -1},
        Row{quaternions, 2, 2, 0, -1}, Row{quaternions, 3, 3, 0, -1}, Row{quaternions, 1, 2, 3, 1},
        Row{plane, 4, 4, 0, 0}, Row{plane, 5, 4, 1, 0}})
    CHECK(product(row.signature, Operation::geometric, blade(row.signature, row.a),
                  blade(row.signature, row.b)) == blade(row.signature, row.result, row.sign));
}

TEST_CASE("geometric: inner products treat scalars and higher grades as their conventions say") {
  const Signature space{3, 0, 0};
  const auto of = [&](Operation operation, unsigned a, unsigned b) {
    return product(space, operation, blade(space, a), blade(space, b));
  };
  const Multivector none(8, 0);
  CHECK(of(Operation::inner, 0, 3) == blade(space, 3));  // 1 . e12; 0 with Hestenes
  CHECK(of(Operation::inner, 3, 1) == blade(space, 2, -1));
  CHECK(of(Operation::left_contraction, 0, 3) == blade(space, 3));
  CHECK(of(Operation::left_contraction, 1, 3) == blade(space, 2));
  CHECK(of(Operation::left_contraction, 3, 1) == none);  // e12 is not in e1
  CHECK(of(Operation::left_contraction, 3, 3) == blade(space, 0, -1));
  CHECK(of(Operation::left_contraction, 1, 6) == none);
}

TEST_CASE("geometric: products are associative in every algebra up to 5 vectors") {
  std::mt19937_64 random(7);
  for (unsigned p = 0; p <= most_vectors; ++p) {
    for (unsigned q = 0; p + q <= most_vectors; ++q) {
      for (unsigned r = 0; p + q + r <= most_vectors; ++r) {
        const Signature signature{p, q, r};
        CAPTURE(signature.text());
        const auto any = [&] {
          Multivector out(signature.components());
          for (double& x : out) x = static_cast<double>(random() % 9) - 4;
          return out;
        };
        const Multivector a = any(), b = any(), c = any();
        const auto times = [&](const Multivector& x, const Multivector& y) {
          return product(signature, Operation::geometric, x, y);
        };
        CHECK(times(times(a, b), c) == times(a, times(b, c)));
        const auto outer = [&](const Multivector& x, const Multivector& y) {
          return product(signature, Operation::outer, x, y);
        };
        CHECK(outer(outer(a, b), c) == outer(a, outer(b, c)));
        // What defines the left contraction: it undoes outer products, one factor at a time.
        const auto contracted = [&](const Multivector& x, const Multivector& y) {
          return product(signature, Operation::left_contraction, x, y);
        };
        CHECK(contracted(outer(a, b), c) == contracted(a, contracted(b, c)));
        CHECK(multiply_adds(signature, Operation::outer) ==
              static_cast<std::uint64_t>(std::pow(3, signature.vectors())));
        CHECK(signature_of(signature.text()) == signature);
      }
    }
  }
  CHECK(multiply_adds({3, 0, 0}, Operation::geometric) == 64);
  CHECK(multiply_adds({4, 1, 0}, Operation::geometric) == 1024);
  CHECK(multiply_adds({2, 0, 1}, Operation::geometric) == 48);
}

TEST_CASE(
    "geometric: the reference agrees with the kernels' terms, and finds a component that is off") {
  std::mt19937_64 random(5);
  for (const Signature& signature :
       {Signature{3, 0, 0}, Signature{4, 1, 0}, Signature{1, 1, 1}, Signature{0, 0, 0}}) {
    for (const Operation operation : {Operation::geometric, Operation::outer, Operation::inner,
                                      Operation::left_contraction, Operation::sandwich}) {
      Problem problem;
      problem.signature = signature;
      problem.operation = operation;
      problem.count = 3;
      const std::size_t n = signature.components();
      std::vector<float> a(3 * n), b(3 * n), c(3 * n);
      for (std::vector<float>* of : {&a, &b})
        for (float& x : *of) x = static_cast<float>(random() % 9) - 4;
      for (std::size_t i = 0; i < 3; ++i) {
        Multivector left(a.begin() + static_cast<std::ptrdiff_t>(i * n),
                         a.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
        const Multivector right(b.begin() + static_cast<std::ptrdiff_t>(i * n),
                                b.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
        Multivector out =
            product(signature, operation == Operation::sandwich ? Operation::geometric : operation,
                    left, right);
        if (operation == Operation::sandwich) {
          for (unsigned e = 0; e < n; ++e)
            if (const unsigned g = static_cast<unsigned>(std::popcount(e)); g == 2 || g == 3)
              left[e] = -left[e];
          out = product(signature, Operation::geometric, out, left);
        }
        std::copy(out.begin(), out.end(), c.begin() + static_cast<std::ptrdiff_t>(i * n));
      }
      CHECK(check(problem, bytes(a), bytes(b), bytes(c), true, 1, 1).message == "");
      c[n + n / 2] += 1;
      const std::string message = check(problem, bytes(a), bytes(b), bytes(c), true, 1, 1).message;
      CHECK(test::has(message, "component " + std::to_string(n / 2) + " of multivector 1"));
    }
  }
}

TEST_CASE("geometric: a kernel has one fma per term, and a sandwich those of two products") {
  const auto fmas = [](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find("= fma("); at != std::string::npos;
         at = text.find("= fma(", at + 1))
      ++count;
    return count;
  };
  for (const bool staged : {false, true}) {
    CHECK(fmas(kernel_text({3, 0, 0}, Operation::geometric, {false, staged, 64})) == 64);
    CHECK(fmas(kernel_text({3, 0, 0}, Operation::sandwich, {true, staged, 64})) == 128);
  }
}

TEST_CASE("geometric: a signature that is none is refused") {
  for (const char* text : {"", "3", "3,0", "3,0,0,0", "3,0,x", "a,0,0", "-1,0,0", "3 0 0", "6,0,0",
                           "3,2,1", "3,0,0 ", "1,,1", "99999999999,0,0"})
    CHECK(test::has(test::refusal([&] { signature_of(text); }), "--algebra"));
}

TEST_CASE("geometric: a device has a kernel however small its work-groups are") {
  GeometricWorkload workload(test::suite_params("geometric", 64));
  DeviceTraits device;
  device.global_memory = device.max_allocation = Bytes{1} << 30;
  device.local_memory = 1 << 15;
  for (const bool cpu : {true, false}) {
    device.cpu = cpu;
    for (const std::size_t most : {31, 8, 7, 1}) {
      device.max_work_group = most;
      CHECK(workload.capacity(device, Mode::resident).fits > 0);
      const auto all = variants(device, workload.problem());
      REQUIRE(!all.empty());
      CHECK(all.front().form.group <= most);
    }
  }
}

}  // namespace mgpu::geometric
