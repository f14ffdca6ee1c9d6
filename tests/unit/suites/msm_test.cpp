// Host parts of the msm suite: points and references against OpenSSL, windows and memory, files.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "lib/base/error.hpp"
#include "suites/msm/field.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/reference.hpp"
#include "suites/msm/terms_file.hpp"
#include "suites/suites.hpp"
#include "tests/support/eip_vectors.hpp"
#include "tests/support/msm_terms.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::msm;
using mgpu::testing::OracleTerm;

namespace {

constexpr Curve curves[] = {Curve::bn254, Curve::bls12_381};

struct TemporaryFile {
  explicit TemporaryFile(const std::string& text, const std::string& ending = "")
      : path(std::filesystem::temp_directory_path() / ("mgpu-msm-" + std::to_string(::getpid()) + ending)) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

Terms read(const std::string& text, Curve curve, const std::string& ending = "", Trust trust = Trust::nothing) {
  const TemporaryFile file(text, ending);
  return terms_from_file(file.path, curve, trust, 2);
}

// What refusing `text` says.
std::string refusal_of(const std::string& text, Curve curve = Curve::bn254, const std::string& ending = "",
                       Trust trust = Trust::nothing) {
  try {
    read(text, curve, ending, trust);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

bool says(const std::string& message, const std::string& what) { return message.find(what) != std::string::npos; }

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

// The sum as EIP-196 and EIP-2537 encode it.
std::string encoded_sum(const Terms& terms) {
  const PlainPoint sum = host_points(terms.curve()).multiply(terms.point_bytes(0, terms.count()), terms.scalars(), 1);
  const std::string padding(terms.curve() == Curve::bn254 ? 0 : 32, '0');
  return padding + sum.x + padding + sum.y;
}

// One term with the point given as a file gives it.
Terms one_term(Curve curve, const std::string& x, const std::string& y, const Scalar& scalar) {
  Terms terms(curve, 1);
  CHECK_FALSE(host_points(curve).parse(x, y, terms.point(0)).has_value());
  terms.take_scalars({scalar});
  return terms;
}

DeviceTraits gpu(Bytes memory) {
  DeviceTraits traits;
  traits.compute_units = 132;
  traits.global_memory = memory;
  traits.max_allocation = memory / 4;
  return traits;
}

}  // namespace

TEST_CASE(
    "points made from a seed are the multiples they are said to be, and both references agree with OpenSSL's sum of all terms") {
  for (const Curve curve : curves) {
    for (const std::uint64_t count : {0, 1, 2, 33}) {
      for (const Scalars scalars : {Scalars::uniform, Scalars::witness, Scalars::equal}) {
        const Terms terms = Terms::random(curve, count, scalars, 5, 2);
        const PlainPoint expected = testing::expected_sum(curve, testing::text_of(terms));
        CHECK(reference_sum(curve, terms.scalars(), *terms.logs()) == expected);
        CHECK(host_points(curve).multiply(terms.point_bytes(0, count), terms.scalars(), 2) == expected);
      }
    }
  }
}

TEST_CASE("points of later blocks continue the row of multiples, whatever the number of threads") {
  const Terms one = Terms::random(Curve::bn254, 2100, Scalars::witness, 9, 1);
  const Terms three = Terms::random(Curve::bn254, 2100, Scalars::witness, 9, 3);
  CHECK(std::equal(one.memory().begin(), one.memory().end(), three.memory().begin(), three.memory().end()));
  CHECK(reference_sum(Curve::bn254, one.scalars(), *one.logs()) ==
        host_points(Curve::bn254).multiply(one.point_bytes(0, 2100), one.scalars(), 2));
}

TEST_CASE("the host's Pippenger agrees with OpenSSL on difficult terms, points outside the subgroup among them") {
  for (const Curve curve : curves) {
    const auto list = testing::difficult_terms(curve, 60, 3);
    const Terms terms = testing::terms_of(curve, list);
    CHECK(host_points(curve).multiply(terms.point_bytes(0, terms.count()), terms.scalars(), 1) ==
          testing::expected_sum(curve, list));
  }
}

TEST_CASE("windows cover every scalar with the bit their sign needs, folded or not") {
  for (const Curve curve : curves) {
    for (unsigned bits = least_window; bits <= largest_window; ++bits) {
      const Windows folded = windows_of(curve, true, bits), plain = windows_of(curve, false, bits);
      for (const Windows& windows : {folded, plain}) {
        const unsigned needed = order_bits_of(curve) + (windows == folded ? 0 : 1);
        CHECK((windows.count - 1) * bits < needed);
        CHECK(windows.first_bit(windows.count) == needed);
        std::uint64_t buckets = 0;
        for (unsigned w = 0; w < windows.count; ++w) {
          CHECK(windows.first_bit(w) + windows.bits_of(w) == windows.first_bit(w + 1));
          CHECK(windows.bits_of(w) >= 1);
          CHECK(windows.bits_of(w) <= bits);
          CHECK(windows.bits_of(w) + 1 >= windows.bits_of(0));
          CHECK(windows.reached(windows.first_bit(w)) == w);
          CHECK(windows.reached(windows.first_bit(w) + 1) == w + 1);
          buckets += std::uint64_t{1} << (windows.bits_of(w) - 1);
        }
        CHECK(windows.used_buckets() == buckets);
        CHECK(windows.fewest_buckets() == std::uint64_t{1} << (windows.bits_of(windows.count - 1) - 1));
      }
    }
  }
}

TEST_CASE("a window's sums are weighted by where its bits are") {
  for (const Curve curve : curves) {
    const HostPoints& host = host_points(curve);
    const std::size_t affine = affine_bytes(curve), sum = sum_bytes(curve);
    const std::vector<std::byte> ones = with_curve(curve, [](auto c) {
      const auto one = Fp<decltype(c)>::one().montgomery();
      const auto bytes = std::as_bytes(std::span(one));
      std::vector<std::byte> both(bytes.begin(), bytes.end());
      both.insert(both.end(), bytes.begin(), bytes.end());
      return both;
    });
    for (const unsigned bits : {2u, 9u, 16u}) {
      const Windows windows = windows_of(curve, true, bits);
      for (const auto& [first, last] :
           {std::pair{0u, windows.count}, std::pair{windows.count / 2, windows.count}, std::pair{1u, 2u}}) {
        // As kernels leave them: sums 0 and 1 of a window have its own weight, sum i twice that of sum i - 1; a narrow window's
        // last is infinity, here all zeros.
        std::vector<std::byte> points((last - first) * windows.bits * affine), sums((last - first) * windows.bits * sum);
        host.multiples(points, Scalar{5, 0, 0, 0}, Scalar{7, 0, 0, 0}, 1);
        std::vector<Scalar> weights((last - first) * windows.bits);
        for (unsigned w = first; w < last; ++w) {
          for (unsigned i = 0; i < windows.bits_of(w); ++i) {
            const std::size_t at = (w - first) * windows.bits + i;
            const unsigned weight = windows.first_bit(w) + (i == 0 ? 0 : i - 1);
            weights[at][weight / 64] = std::uint64_t{1} << weight % 64;
            std::copy_n(points.begin() + static_cast<std::ptrdiff_t>(at * affine), affine,
                        sums.begin() + static_cast<std::ptrdiff_t>(at * sum));
            std::copy_n(ones.begin(), ones.size(), sums.begin() + static_cast<std::ptrdiff_t>(at * sum + affine));
          }
        }
        const PlainPoint expected = host.multiply(points, weights, 1);
        CHECK(host.affine(host.weighted(sums, windows, first, windows.bits)) == expected);
        // A window's own sum is what it has as the lowest one.
        SumBytes own;
        for (unsigned w = 0; w < last - first; ++w) {
          const SumBytes one =
              host.weighted(std::span(sums).subspan(w * windows.bits * sum, windows.bits * sum), windows, 0, windows.bits);
          own.insert(own.end(), one.begin(), one.end());
        }
        CHECK(host.affine(host.weighted(own, windows, first, 1)) == expected);
      }
    }
  }
}

TEST_CASE("more points want wider windows, and a split over windows as many as the devices can share") {
  for (const Limit limit : {Limit::throughput, Limit::latency}) {
    unsigned before = 0;
    for (unsigned log_n = 0; log_n <= 26; ++log_n) {
      const Windows best = best_windows(Curve::bn254, true, limit, std::uint64_t{1} << log_n);
      CHECK(best.bits >= before);
      before = best.bits;
    }
  }
  CHECK(best_windows(Curve::bn254, true, Limit::latency, 1 << 20).bits >= 15);
  for (const std::size_t devices : {1, 2, 3, 4, 8}) {
    const Windows split = best_split_windows(Curve::bn254, true, Limit::throughput, 1 << 22, devices);
    const double idle = static_cast<double>((split.count + devices - 1) / devices * devices) / split.count;
    CHECK(idle < 1.07);  // 15 windows over 8 devices
  }
}

TEST_CASE("a term costs as many digits as the windows for its device's share have") {
  MsmOptions options;
  options.devices = 8;
  MsmWorkload workload(Terms(Curve::bn254, 1 << 12), options);
  for (const std::size_t devices : {1, 8}) {
    workload.expect(devices);
    CHECK(workload.cost(Mode::resident).ops == best_windows(Curve::bn254, true, Limit::latency, (1 << 12) / devices).count);
  }
  CHECK(best_windows(Curve::bn254, true, Limit::latency, 1 << 12).count <
        best_windows(Curve::bn254, true, Limit::latency, 1 << 9).count);
}

TEST_CASE("a layout holds what every pass of its slices can write") {
  const DeviceTraits device = gpu(Bytes{140} << 30);
  for (const unsigned bits : {2u, 8u, 15u, 20u}) {
    for (const std::uint64_t points : {std::uint64_t{1}, std::uint64_t{33}, std::uint64_t{100'000}, std::uint64_t{1} << 22}) {
      const Problem problem{Curve::bn254, Axis::points, points, {windows_of(Curve::bn254, true, bits)}};
      const Layout plan = layout(device, problem, Mode::resident, points);
      for (const std::uint64_t slice : {points, points / 2, points / 7, std::uint64_t{1}}) {
        const Pass pass = pass_of(device, slice, problem.windows[0].count, problem.windows[0]);
        CHECK(pass.limit >= least_limit);
        CHECK(pass.limit <= largest_limit);
        CHECK(plan.tasks >= pass.tasks() * 16);
        CHECK(plan.partials >= 2 * (pass.entries() / pass.limit) * sum_bytes(Curve::bn254));
        CHECK(plan.entries >= pass.entries() * 4);
      }
    }
  }
}

TEST_CASE("a device is given what fits it: smaller slices first, nothing when not even one fits, and a reason") {
  const Problem problem{Curve::bls12_381, Axis::points, 1 << 22, {best_windows(Curve::bls12_381, true, Limit::latency, 1 << 22)}};
  CHECK(capacity(gpu(Bytes{140} << 30), problem, Mode::resident).fits == 1 << 22);
  const Capacity small = capacity(gpu(Bytes{2} << 30), problem, Mode::end_to_end);
  CHECK(small.fits > 0);
  CHECK(small.fits < 1 << 22);
  CHECK(layout(gpu(Bytes{2} << 30), problem, Mode::end_to_end, small.fits).total() <= Bytes{2} << 30);
  const Capacity none = capacity(gpu(Bytes{64} << 20), problem, Mode::resident);
  CHECK(none.fits == 0);
  CHECK(says(none.reason, "4194304 points"));
  CHECK(
      capacity(gpu(Bytes{140} << 30), {Curve::bn254, Axis::points, 0, {windows_of(Curve::bn254, true, 2)}}, Mode::resident).fits ==
      1);
}

TEST_CASE("JSON and CSV files of the same terms are read alike, scalars reduced by the group order") {
  Terms random = Terms::random(Curve::bls12_381, 3, Scalars::uniform, 1, 1);
  const auto list = testing::text_of(random);
  const std::string wide = "0x" + std::string(64, 'f');
  std::string json = "{\"curve\": \"bls12_381\", \"terms\": [", csv = "x, scalar, y\n";
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string scalar = i == 1 ? wide : "0x" + list[i].scalar;
    json +=
        (i > 0 ? "," : "") + ("{\"scalar\": \"" + scalar) + "\", \"x\": \"0x" + list[i].x + "\", \"y\": \"0x" + list[i].y + "\"}";
    csv += "0x" + list[i].x + ", \"" + scalar + "\" ,0x" + list[i].y + "\r\n";
  }
  json += "]}";
  for (const std::string& text : {json, csv}) {
    const Terms terms = read(text, Curve::bls12_381);
    REQUIRE(terms.count() == 3);
    CHECK(std::equal(terms.point_bytes(0, 3).begin(), terms.point_bytes(0, 3).end(), random.point_bytes(0, 3).begin()));
    CHECK(terms.scalars()[0] == random.scalars()[0]);
    CHECK(to_hex(terms.scalars()[1]) == "1824b159acc5056f998c4fefecbc4ff55884b7fa0003480200000001fffffffd");  // 2^256 - 1 mod r
    CHECK(to_hex(terms.given_scalars()[1]) == wide.substr(2));
    CHECK_FALSE(terms.logs().has_value());
  }
}

TEST_CASE("numbers of files are decimal, or hexadecimal with 0x") {
  const auto scalar_of = [](const std::string& text) {
    const Terms terms = read("scalar,x,y\n" + text + ",1,2\n", Curve::bn254);
    return terms.scalars()[0];
  };
  CHECK(scalar_of("10") == Scalar{10, 0, 0, 0});
  CHECK(scalar_of("0x10") == Scalar{16, 0, 0, 0});
  CHECK(scalar_of("0X0010") == Scalar{16, 0, 0, 0});
  CHECK(scalar_of("0") == Scalar{});
  CHECK(scalar_of("18446744073709551616") == Scalar{0, 1, 0, 0});
  CHECK(parse_number<4>("115792089237316195423570985008687907853269984665640564039457584007913129639935") ==
        parse_hex<4>(std::string(64, 'f')));  // 2^256 - 1
  for (const std::string bad : {"115792089237316195423570985008687907853269984665640564039457584007913129639936", "ff", "010", "00",
                                "+1", "-1", "1e3", "1.0", "", "0x", "0xfg", "1 2", "1_000", "\"1", "'1'"}) {
    CHECK(says(refusal_of("scalar,x,y\n" + bad + ",1,2\n"), "term 0 (line 2): scalar "));
  }
  CHECK(says(refusal_of("scalar,x,y\n0x1" + std::string(64, '0') + ",1,2\n"), "up to 256 bits"));
}

TEST_CASE("a CSV file that was cut short anywhere within a line is refused") {
  const std::string whole = "scalar,x,y\n17,1,2\n123456789,1,2\n";
  CHECK(read(whole, Curve::bn254).count() == 2);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const bool at_end_of_first_term = size == whole.find("123");
    CHECK((refusal_of(whole.substr(0, size)) == "accepted") == at_end_of_first_term);
  }
  CHECK(says(refusal_of("y,x,scalar\n2,1,17\n2,1,1234"), "term 1 (line 3): the line does not end"));
  CHECK(says(refusal_of("scalar,x,y\r\n17,1,2\r"), "term 0 (line 2): the line does not end"));
}

TEST_CASE("columns of a CSV file are there once, each line has all of them, and nothing is skipped") {
  CHECK(says(refusal_of("scalar,x,y,scalar\n1,1,2,5\n"), "column scalar is there twice"));
  CHECK(says(refusal_of("scalar,x,y,curve,curve\n1,1,2,bn254,bn254\n"), "column curve is there twice"));
  CHECK(says(refusal_of("scalar,x\n1,1\n"), "column y is missing"));
  CHECK(says(refusal_of("scalar,x,y,z\n"), "column \"z\" is unknown"));
  CHECK(says(refusal_of("Scalar,x,y\n"), "column \"Scalar\" is unknown"));
  CHECK(says(refusal_of("1,1,2\n"), "column \"1\" is unknown"));
  CHECK(says(refusal_of("scalar,x,y\n1,1,2\n1,1\n"), "term 1 (line 3): 2 fields instead of 3"));
  CHECK(says(refusal_of("scalar,x,y\n1,1,2\n1,1,2,\n"), "term 1 (line 3): 4 fields instead of 3"));
  CHECK(says(refusal_of("scalar,x,y\n1,1,2\n\n1,1,2\n"), "term 1 (line 3): the line is empty"));
  CHECK(says(refusal_of("scalar,x,y\n1,1,2\n1,1,5\n"), "term 1 (line 3): the point is not on bn254"));
  CHECK(says(refusal_of("scalar,x,y,curve\n1,1,2,bn254\n1,1,2,bn255\n"), "term 1 (line 3): two curves"));
  CHECK(says(refusal_of("scalar,x,y\n"), "holds no terms"));
  CHECK(says(refusal_of(""), "is empty"));
  CHECK(says(refusal_of("\nscalar,x,y\n1,1,2\n"), "begins with white space"));
}

TEST_CASE("keys of a JSON file are there once and known, values are texts, and numbers that overflow are no internal error") {
  const auto terms = [](const std::string& list) { return "{\"curve\": \"bn254\", \"terms\": " + list + "}"; };
  const std::string term = "{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\"}";
  CHECK(refusal_of(" \n" + terms("[" + term + "]") + "\n") == "accepted");
  CHECK(refusal_of("{\"terms\": [" + term + "], \"curve\": \"bn254\"}") == "accepted");
  CHECK(
      says(refusal_of(terms("[" + term + ", {\"scalar\": 1e999, \"x\": \"1\", \"y\": \"2\"}]")), "term 1: \"scalar\" is no text"));
  CHECK(says(refusal_of(terms("[" + term + ", 1e999]")), "term 1: is no object"));
  CHECK(says(refusal_of(terms("1e999")), "\"terms\" is no array"));
  CHECK(says(refusal_of("{\"curve\": 1e999}"), "\"curve\" is no text"));
  CHECK(says(refusal_of(terms("[{\"scalar\": 5, \"x\": \"1\", \"y\": \"2\"}]")), "term 0: \"scalar\" is no text"));
  CHECK(says(refusal_of(terms("[{\"scalar\": {}, \"x\": \"1\", \"y\": \"2\"}]")), "term 0: \"scalar\" is no text"));
  CHECK(says(refusal_of(terms("[{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\", \"x\": \"1\"}]")), "term 0: \"x\" is given twice"));
  CHECK(says(refusal_of(terms("[{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\", \"z\": \"1\"}]")), "term 0: \"z\" is unknown"));
  CHECK(says(refusal_of("{\"curve\": \"bn254\", \"curve\": \"bn254\", \"terms\": [" + term + "]}"), "\"curve\" is given twice"));
  CHECK(says(refusal_of("{\"curve\": \"bn254\", \"terms\": [" + term + "], \"terms\": []}"), "\"terms\" is given twice"));
  CHECK(says(refusal_of("{\"curve\": \"bn254\", \"points\": []}"), "\"points\" is unknown"));
  CHECK(says(refusal_of(terms("[[" + term + "]]")), "term 0: is no object"));
  CHECK(says(refusal_of(terms("[" + term + "]") + "x"), "is no JSON"));
  CHECK(says(refusal_of("{\"curve\": \"bn254\"}"), "\"terms\" is missing"));
  CHECK(says(refusal_of(terms("[]")), "holds no terms"));
  CHECK(says(refusal_of(terms(std::string(100'000, '['))), "term 0: is no object"));
}

TEST_CASE("what EIP-2537 and EIP-196 sum is summed alike from bytes and digits, and what they refuse is refused") {
  const auto check = [](Curve curve, std::span<const testing::EipVector> sums, std::span<const testing::EipVector> refused) {
    for (const testing::EipVector& vector : sums) {
      CAPTURE(vector.name);
      CHECK(encoded_sum(read(bytes_of(vector.input), curve, ".bin")) == vector.answer);
      CHECK(encoded_sum(read("0x" + vector.input + "\n", curve, ".hex")) == vector.answer);
    }
    for (const testing::EipVector& vector : refused) {
      CAPTURE(vector.name);
      CHECK(says(refusal_of(bytes_of(vector.input), curve, ".bin"), vector.answer));
      CHECK(says(refusal_of(vector.input, curve, ".hex"), vector.answer));
    }
  };
  check(Curve::bls12_381, testing::summed_by_eip2537, testing::refused_by_eip2537);
  check(Curve::bn254, testing::summed_by_eip196, testing::refused_by_eip196);
}

TEST_CASE("digits of bytes may be in lines, and must be whole bytes of whole terms") {
  const std::string term = testing::summed_by_eip196[0].input;
  CHECK(read("0x" + term.substr(0, 66) + "\r\n" + term.substr(66) + "\n\n0x" + term, Curve::bn254, ".hex").count() == 2);
  CHECK(says(refusal_of(term + "\n" + term.substr(0, 191), Curve::bn254, ".hex"), "line 2: 191 hexadecimal digits"));
  CHECK(says(refusal_of(term + "\n" + term.substr(0, 190), Curve::bn254, ".hex"), "holds 191 bytes"));
  CHECK(says(refusal_of("0x" + term.substr(0, 190) + "zz", Curve::bn254, ".hex"), "line 1: \"zz\" are not two hexadecimal digits"));
  CHECK(says(refusal_of(term.substr(0, 64) + " " + term.substr(64), Curve::bn254, ".hex"), "line 1: 193 hexadecimal digits"));
  CHECK(says(refusal_of(bytes_of(term) + "\n", Curve::bn254, ".bin"), "holds 97 bytes, which is no multiple of the 96"));
  const std::string padded = std::string(128, '0') + std::string(32, '0') + "01" + std::string(94, '0') + std::string(64, '0');
  CHECK(says(refusal_of(std::string(320, '0') + std::string(128, '0') + "01" + std::string(190, '0'), Curve::bls12_381, ".hex"),
             "term 1 (byte 160): y does not begin with 16 zero bytes"));
  CHECK(says(refusal_of(padded, Curve::bls12_381, ".hex"), "term 0 (byte 0): the point is not on bls12_381"));
}

TEST_CASE("a point is in the subgroup where the order times it is infinity, as OpenSSL has it") {
  const Curve curve = Curve::bls12_381;
  const auto multiple = [&](const Scalar& scalar, const OracleTerm& p) {
    return testing::oracle(curve).sum({{to_hex(scalar), p.x, p.y}});
  };
  Scalar r_less_1 = order_of(curve);
  r_less_1[0] -= 1;
  std::vector<OracleTerm> points{{"1", "0", "0"}, {"1", "0", "2"}};  // infinity; of order 3
  for (const OracleTerm& p : testing::text_of(Terms::random(curve, 4, Scalars::uniform, 5, 1))) points.push_back(p);
  for (const unsigned start : {1u, 5u, 100u, 4000u}) {
    const auto p = testing::oracle(curve).some_point(start);
    points.push_back({"1", p.x, p.y});
    // The part of it that is outside alone: r times it; and one that is inside, the cofactor times it.
    const auto almost = multiple(r_less_1, points.back());
    const auto outside = testing::oracle(curve).sum({{"1", almost.x, almost.y}, {"1", p.x, p.y}});
    const auto inside = multiple(parse_hex<4>("396c8c005555e1568c00aaab0000aaab").value(), points.back());
    points.push_back({"1", outside.x, outside.y});
    points.push_back({"1", inside.x, inside.y});
  }
  std::size_t inside = 0;
  for (const OracleTerm& p : points) {
    const auto almost = multiple(r_less_1, p);
    const bool expected = testing::widened(curve, testing::oracle(curve).sum({{"1", almost.x, almost.y}, {"1", p.x, p.y}})) ==
                          testing::widened(curve, {"0", "0"});
    const Terms term = testing::terms_of(curve, {p});
    CHECK(host_points(curve).outside_subgroup(term.point_bytes(0, 1), 1).has_value() == !expected);
    inside += expected ? 1 : 0;
  }
  CHECK(inside == 9);
  CHECK(points.size() == 18);
}

TEST_CASE("one point outside the subgroup among thousands is found, and points outside that cancel out as well") {
  const Curve curve = Curve::bls12_381;
  constexpr std::uint64_t count = 8500;
  Terms terms = Terms::random(curve, count, Scalars::equal, 5, 2);
  const auto found = [&](unsigned threads) { return host_points(curve).outside_subgroup(terms.point_bytes(0, count), threads); };
  CHECK_FALSE(found(2).has_value());
  const auto put = [&](std::uint64_t i, const std::string& y) {
    CHECK_FALSE(host_points(curve).parse("0", y, terms.point(i)).has_value());
  };
  put(count - 1, "2");
  CHECK(found(1) == count - 1);
  // (0, -2) is its opposite.
  put(4711, "0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaa9");
  CHECK(found(3) == 4711);
  for (std::uint64_t i = 0; i < count; ++i) put(i, "2");
  CHECK(found(2) == 0);
  CHECK_FALSE(host_points(Curve::bn254)
                  .outside_subgroup(Terms::random(Curve::bn254, 9, Scalars::equal, 1, 1).point_bytes(0, 9), 2)
                  .has_value());
}

TEST_CASE("points outside the subgroup are refused unless they are trusted, and scalars of trusted points are below the order") {
  const auto outside = testing::oracle(Curve::bls12_381).some_point(5);
  const auto file = [&](const std::string& scalar) {
    return "curve,scalar,x,y\nbls12_381,7,0,0\nbls12_381," + scalar + ",0x" + outside.x + ",0x" + outside.y + "\n";
  };
  const std::string r = "0x" + to_hex(order_of(Curve::bls12_381));
  CHECK(says(refusal_of(file("1"), Curve::bls12_381),
             "term 1 (line 3): the point is on bls12_381, but not in its subgroup of order " + r));
  CHECK(says(refusal_of(file("1"), Curve::bls12_381), "--trust-input"));
  CHECK(read(file("1"), Curve::bls12_381, "", Trust::subgroup).count() == 2);
  CHECK(says(refusal_of(file(r), Curve::bls12_381, "", Trust::subgroup),
             "term 1 (line 3): scalar " + r + " is not below the group order"));
  CHECK(says(refusal_of("scalar,x,y\n1,1,3\n", Curve::bls12_381, "", Trust::subgroup), "not on bls12_381"));
  // BN254 has no outside.
  const std::string bn254 = "scalar,x,y\n0x" + to_hex(order_of(Curve::bn254)) + ",1,2\n";
  for (const Trust trust : {Trust::nothing, Trust::subgroup}) CHECK(read(bn254, Curve::bn254, "", trust).scalars()[0] == Scalar{});
}

TEST_CASE("the reference has the scalars as given: infinity for r times a point of the subgroup, and never for one outside") {
  const auto verdict_of = [](Terms terms) {
    MsmWorkload workload(std::move(terms), {});
    workload.begin_sample();
    workload.merge();  // of nothing: infinity
    return workload.verify(VerifyLevel::full, 1);
  };
  for (const Curve curve : curves) {
    const OracleTerm point = testing::text_of(Terms::random(curve, 1, Scalars::equal, 1, 1))[0];
    const Verdict right = verdict_of(one_term(curve, "0x" + point.x, "0x" + point.y, order_of(curve)));
    CHECK(right.status == Verdict::Status::passed);
    CHECK(says(right.method, "before they were reduced"));
    CHECK(says(right.method, "the sum is infinity"));
    Scalar r_and_1 = order_of(curve);
    r_and_1[0] += 1;
    const Verdict wrong = verdict_of(one_term(curve, "0x" + point.x, "0x" + point.y, r_and_1));
    CHECK(wrong.status == Verdict::Status::failed);
    CHECK(says(wrong.message, "the sum is infinity, the reference says (0x"));
  }
  const auto outside = testing::oracle(Curve::bls12_381).some_point(5);
  const Verdict reduced = verdict_of(one_term(Curve::bls12_381, "0x" + outside.x, "0x" + outside.y, order_of(Curve::bls12_381)));
  CHECK(reduced.status == Verdict::Status::failed);
}

TEST_CASE("a bad file is refused in one line that names the term and what is wrong with it") {
  const std::string head = "{\"curve\": \"bn254\", \"terms\": [{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\"}, ";
  const auto second = [&](const std::string& scalar, const std::string& x, const std::string& y) {
    return refusal_of(head + "{\"scalar\": \"" + scalar + "\", \"x\": \"" + x + "\", \"y\": \"" + y + "\"}]}");
  };
  CHECK(second("0x5", "1", "2") == "accepted");
  CHECK(second("5", "0", "0") == "accepted");  // infinity
  CHECK(says(second("0x5", "1", "3"), "term 1: the point is not on bn254"));
  CHECK(says(second("0xzz", "1", "2"), "term 1: scalar \"0xzz\""));
  CHECK(says(second("0x1" + std::string(64, '0'), "1", "2"), "up to 256 bits"));
  CHECK(says(second("1", "0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47", "2"), "term 1: x = 0x3"));
  CHECK(says(second("1", "2", "0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd48"), "is not below the modulus"));
  CHECK(says(second("1", "1", ""), "term 1: y \"\" is no number of up to 256 bits"));
  CHECK(says(refusal_of(head + "{\"scalar\": \"1\", \"x\": \"1\"}]}"), "term 1: \"y\" is missing"));
  CHECK(says(refusal_of(head + "7]}"), "term 1: is no object"));
  CHECK(says(refusal_of(head), "is no JSON"));
  CHECK(says(refusal_of("{\"terms\": []}"), "\"curve\" is missing"));
  CHECK(says(refusal_of(head + "{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\"}]}", Curve::bls12_381), "its curve is \"bn254\""));
  CHECK_THROWS_AS(terms_from_file("/nowhere/at/all", Curve::bn254, Trust::nothing, 1), Error);
}

TEST_CASE("an empty sum is infinity, and the result is written as a file gives it") {
  MsmWorkload workload(Terms(Curve::bn254, 0), {});
  CHECK(workload.shape().items == 1);
  workload.begin_sample();
  workload.merge();
  CHECK(workload.digest() == std::string(128, '0'));
  CHECK(workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
  const TemporaryFile file("");
  workload.write_result(file.path);
  std::ifstream in(file.path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  CHECK(text == "{\"curve\": \"bn254\", \"x\": \"0x" + std::string(64, '0') + "\", \"y\": \"0x" + std::string(64, '0') + "\"}\n");
}

TEST_CASE("a wrong sum does not verify, with or without known logarithms") {
  for (const bool known : {true, false}) {
    Terms terms = Terms::random(Curve::bn254, 4, Scalars::uniform, 2, 1);
    const SumBytes infinity = host_points(Curve::bn254).infinity();
    MsmWorkload workload(known ? std::move(terms) : testing::terms_of(Curve::bn254, testing::text_of(terms)), {});
    workload.begin_sample();
    workload.add_partial(infinity);
    workload.merge();
    const Verdict verdict = workload.verify(VerifyLevel::full, 1);
    CHECK(verdict.status == Verdict::Status::failed);
    CHECK(says(verdict.message, "the reference says"));
  }
}

TEST_CASE("a file's terms are read once: what gives the size gives the workload") {
  SuiteParams params;
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != "msm") continue;
    for (const SuiteOption& option : info.options) params.options[option.name] = option.values.front();
    {
      const TemporaryFile file("scalar,x,y\n5,1,2\n");
      params.input = file.path;
      params.size = info.size_of_input(params);
    }
    CHECK(params.size == 1);
    info.settle(params);
    CHECK_FALSE(params.options.contains("scalars"));  // nothing is known of those of a file
    const auto workload = info.make(params);          // the file is gone
    CHECK(workload->shape().items == 1);
    params.options["scalars"] = "witness";
    CHECK(says(test::refusal([&] { info.check(params); }), "--scalars"));
    return;
  }
  FAIL("no suite msm");
}

TEST_CASE("seeded terms make their points when asked, the same as at once") {
  Terms later = Terms::seeded(Curve::bls12_381, 40, Scalars::witness, 3, 1);
  const Terms at_once = Terms::random(Curve::bls12_381, 40, Scalars::witness, 3, 1);
  CHECK_FALSE(std::equal(later.memory().begin(), later.memory().end(), at_once.memory().begin()));
  later.make_points(2);
  CHECK(std::equal(later.memory().begin(), later.memory().end(), at_once.memory().begin()));
}

TEST_CASE("bits of scalars are counted after folding, and fewer bits need fewer multiply-adds") {
  Scalar r_less_1 = order_of(Curve::bn254);
  r_less_1[0] -= 1;
  const Scalar scalars[] = {{}, {1, 0, 0, 0}, {0xffff, 0, 0, 0}, {0, 1, 0, 0}, r_less_1};
  const BitLengths folded = bit_lengths(Curve::bn254, true, scalars), plain = bit_lengths(Curve::bn254, false, scalars);
  CHECK(folded[0] == 1);
  CHECK(folded[1] == 2);  // r - 1 is -1
  CHECK(folded[16] == 1);
  CHECK(folded[65] == 1);
  CHECK(plain[1] == 1);
  CHECK(plain[254] == 1);
  BitLengths one{}, wide{};
  wide[253] = 1 << 20;
  // 14 windows of 16 bits and two of 15: 8 products, 2 squares and 9 reductions of 8 words for each digit, 12, 2 and 13 twice for
  // each bucket.
  CHECK(least_multiply_adds(Curve::bn254, true, wide) ==
        doctest::Approx(16.0 * (1 << 20) * 2392.0 + 2 * 15 * 32768 * 3448.0).epsilon(1e-9));
  one[1] = 1 << 20;
  CHECK(least_multiply_adds(Curve::bn254, true, one) < least_multiply_adds(Curve::bn254, true, wide) / 10);
  CHECK(least_multiply_adds(Curve::bls12_381, true, BitLengths{}) == 0);
}

TEST_CASE("each mode says what it sends, and the windows follow the number of devices") {
  MsmOptions options;
  options.devices = 4;
  MsmWorkload by_points(Terms(Curve::bn254, 1 << 14), options);
  CHECK(by_points.cost(Mode::end_to_end).in_bytes == 96);
  CHECK(by_points.cost(Mode::scalars).in_bytes == 32);
  by_points.expect(1);
  const unsigned alone = by_points.windows().bits;
  by_points.expect(4);
  CHECK(by_points.windows().bits < alone);
  options.axis = Axis::windows;
  MsmWorkload by_windows(Terms(Curve::bn254, 1 << 14), options);
  CHECK(by_windows.shape().items == by_windows.windows().count);
  CHECK(by_windows.cost(Mode::end_to_end).replicated == 96 << 14);
  CHECK(by_windows.cost(Mode::scalars).replicated == 32 << 14);
}
