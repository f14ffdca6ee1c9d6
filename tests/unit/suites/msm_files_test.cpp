// Files of msm terms: what is read, in each format, and what is refused and why.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "lib/base/error.hpp"
#include "suites/msm/field.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/terms_file.hpp"
#include "suites/suites.hpp"
#include "tests/support/eip_vectors.hpp"
#include "tests/support/msm_terms.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::msm;
using mgpu::test::has;

namespace {

constexpr Curve both_curves[] = {Curve::bn254, Curve::bls12_381};

struct TemporaryFile {
  explicit TemporaryFile(const std::string& text, const std::string& ending = "")
      : path(std::filesystem::temp_directory_path() /
             ("mgpu-msm-" + std::to_string(::getpid()) + ending)) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

Terms read(const std::string& text, Curve curve, const std::string& ending = "",
           Trust trust = Trust::nothing) {
  const TemporaryFile file(text, ending);
  return terms_from_file(file.path, curve, trust, 2);
}

// What refusing `text` says.
std::string refusal_of(const std::string& text, Curve curve = Curve::bn254,
                       const std::string& ending = "", Trust trust = Trust::nothing) {
  try {
    read(text, curve, ending, trust);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

// The sum as EIP-196 and EIP-2537 encode it.
std::string encoded_sum(const Terms& terms) {
  const PlainPoint sum =
      host_points(terms.curve()).multiply(terms.point_bytes(0, terms.count()), terms.scalars(), 1);
  const std::string padding(terms.curve() == Curve::bn254 ? 0 : 32, '0');
  return padding + sum.x + padding + sum.y;
}

}  // namespace

TEST_CASE(
    "JSON and CSV files of the same terms are read alike, scalars reduced by the group order") {
  Terms random = Terms::random(Curve::bls12_381, 3, Scalars::uniform, 1, 1);
  const auto list = testing::text_of(random);
  const std::string wide = "0x" + std::string(64, 'f');
  std::string json = "{\"curve\": \"bls12_381\", \"terms\": [", csv = "x, scalar, y\n";
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string scalar = i == 1 ? wide : "0x" + list[i].scalar;
    json += (i > 0 ? "," : "") + ("{\"scalar\": \"" + scalar) + "\", \"x\": \"0x" + list[i].x +
            "\", \"y\": \"0x" + list[i].y + "\"}";
    csv += "0x" + list[i].x + ", \"" + scalar + "\" ,0x" + list[i].y + "\r\n";
  }
  json += "]}";
  for (const std::string& text : {json, csv}) {
    const Terms terms = read(text, Curve::bls12_381);
    REQUIRE(terms.count() == 3);
    CHECK(std::equal(terms.point_bytes(0, 3).begin(), terms.point_bytes(0, 3).end(),
                     random.point_bytes(0, 3).begin()));
    CHECK(terms.scalars()[0] == random.scalars()[0]);
    CHECK(to_hex(terms.scalars()[1]) ==
          "1824b159acc5056f998c4fefecbc4ff55884b7fa0003480200000001fffffffd");  // 2^256 - 1 mod r
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
  CHECK(parse_number<4>(
            "115792089237316195423570985008687907853269984665640564039457584007913129639935") ==
        parse_hex<4>(std::string(64, 'f')));  // 2^256 - 1
  for (const std::string bad :
       {"115792089237316195423570985008687907853269984665640564039457584007913129639936", "ff",
        "010", "00", "+1", "-1", "1e3", "1.0", "", "0x", "0xfg", "1 2", "1_000", "\"1", "'1'"}) {
    CHECK(has(refusal_of("scalar,x,y\n" + bad + ",1,2\n"), "term 0 (line 2): scalar "));
  }
  CHECK(has(refusal_of("scalar,x,y\n0x1" + std::string(64, '0') + ",1,2\n"), "up to 256 bits"));
}

TEST_CASE("a CSV file that was cut short anywhere within a line is refused") {
  const std::string whole = "scalar,x,y\n17,1,2\n123456789,1,2\n";
  CHECK(read(whole, Curve::bn254).count() == 2);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const bool at_end_of_first_term = size == whole.find("123");
    CHECK((refusal_of(whole.substr(0, size)) == "accepted") == at_end_of_first_term);
  }
  CHECK(has(refusal_of("y,x,scalar\n2,1,17\n2,1,1234"), "term 1 (line 3): the line does not end"));
  CHECK(has(refusal_of("scalar,x,y\r\n17,1,2\r"), "term 0 (line 2): the line does not end"));
}

TEST_CASE(
    "columns of a CSV file are there once, each line has all of them, and nothing is skipped") {
  CHECK(has(refusal_of("scalar,x,y,scalar\n1,1,2,5\n"), "column scalar is there twice"));
  CHECK(has(refusal_of("scalar,x,y,curve,curve\n1,1,2,bn254,bn254\n"),
            "column curve is there twice"));
  CHECK(has(refusal_of("scalar,x\n1,1\n"), "column y is missing"));
  CHECK(has(refusal_of("scalar,x,y,z\n"), "column \"z\" is unknown"));
  CHECK(has(refusal_of("Scalar,x,y\n"), "column \"Scalar\" is unknown"));
  CHECK(has(refusal_of("1,1,2\n"), "column \"1\" is unknown"));
  CHECK(has(refusal_of("scalar,x,y\n1,1,2\n1,1\n"), "term 1 (line 3): 2 fields instead of 3"));
  CHECK(has(refusal_of("scalar,x,y\n1,1,2\n1,1,2,\n"), "term 1 (line 3): 4 fields instead of 3"));
  CHECK(has(refusal_of("scalar,x,y\n1,1,2\n\n1,1,2\n"), "term 1 (line 3): the line is empty"));
  CHECK(
      has(refusal_of("scalar,x,y\n1,1,2\n1,1,5\n"), "term 1 (line 3): the point is not on bn254"));
  CHECK(has(refusal_of("scalar,x,y,curve\n1,1,2,bn254\n1,1,2,bn255\n"),
            "term 1 (line 3): two curves"));
  CHECK(has(refusal_of("scalar,x,y\n"), "holds no terms"));
  CHECK(has(refusal_of(""), "is empty"));
  CHECK(has(refusal_of("\nscalar,x,y\n1,1,2\n"), "begins with white space"));
}

TEST_CASE(
    "keys of a JSON file are there once and known, values are texts, and numbers that overflow are "
    "no internal error") {
  const auto terms = [](const std::string& list) {
    return "{\"curve\": \"bn254\", \"terms\": " + list + "}";
  };
  const std::string term = "{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\"}";
  CHECK(refusal_of(" \n" + terms("[" + term + "]") + "\n") == "accepted");
  CHECK(refusal_of("{\"terms\": [" + term + "], \"curve\": \"bn254\"}") == "accepted");
  CHECK(has(refusal_of(terms("[" + term + ", {\"scalar\": 1e999, \"x\": \"1\", \"y\": \"2\"}]")),
            "term 1: \"scalar\" is not text"));
  CHECK(has(refusal_of(terms("[" + term + ", 1e999]")), "term 1: is not an object"));
  CHECK(has(refusal_of(terms("1e999")), "\"terms\" is not an array"));
  CHECK(has(refusal_of("{\"curve\": 1e999}"), "\"curve\" is not text"));
  CHECK(has(refusal_of(terms("[{\"scalar\": 5, \"x\": \"1\", \"y\": \"2\"}]")),
            "term 0: \"scalar\" is not text"));
  CHECK(has(refusal_of(terms("[{\"scalar\": {}, \"x\": \"1\", \"y\": \"2\"}]")),
            "term 0: \"scalar\" is not text"));
  CHECK(has(refusal_of(terms("[{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\", \"x\": \"1\"}]")),
            "term 0: \"x\" is given twice"));
  CHECK(has(refusal_of(terms("[{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\", \"z\": \"1\"}]")),
            "term 0: \"z\" is unknown"));
  CHECK(has(refusal_of("{\"curve\": \"bn254\", \"curve\": \"bn254\", \"terms\": [" + term + "]}"),
            "\"curve\" is given twice"));
  CHECK(has(refusal_of("{\"curve\": \"bn254\", \"terms\": [" + term + "], \"terms\": []}"),
            "\"terms\" is given twice"));
  CHECK(has(refusal_of("{\"curve\": \"bn254\", \"points\": []}"), "\"points\" is unknown"));
  CHECK(has(refusal_of(terms("[[" + term + "]]")), "term 0: is not an object"));
  CHECK(has(refusal_of(terms("[" + term + "]") + "x"), "is not JSON"));
  CHECK(has(refusal_of("{\"curve\": \"bn254\"}"), "\"terms\" is missing"));
  CHECK(has(refusal_of(terms("[]")), "holds no terms"));
  CHECK(has(refusal_of(terms(std::string(100'000, '['))), "term 0: is not an object"));
}

TEST_CASE(
    "what EIP-2537 and EIP-196 sum is summed alike from bytes and digits, and what they refuse is "
    "refused") {
  const auto check = [](Curve curve, std::span<const testing::EipVector> sums,
                        std::span<const testing::EipVector> refused) {
    for (const testing::EipVector& vector : sums) {
      CAPTURE(vector.name);
      CHECK(encoded_sum(read(bytes_of(vector.input), curve, ".bin")) == vector.answer);
      CHECK(encoded_sum(read("0x" + vector.input + "\n", curve, ".hex")) == vector.answer);
    }
    for (const testing::EipVector& vector : refused) {
      CAPTURE(vector.name);
      CHECK(has(refusal_of(bytes_of(vector.input), curve, ".bin"), vector.answer));
      CHECK(has(refusal_of(vector.input, curve, ".hex"), vector.answer));
    }
  };
  check(Curve::bls12_381, testing::summed_by_eip2537, testing::refused_by_eip2537);
  check(Curve::bn254, testing::summed_by_eip196, testing::refused_by_eip196);
}

TEST_CASE("digits of bytes may be in lines, and must be whole bytes of whole terms") {
  const std::string term = testing::summed_by_eip196[0].input;
  CHECK(read("0x" + term.substr(0, 66) + "\r\n" + term.substr(66) + "\n\n0x" + term, Curve::bn254,
             ".hex")
            .count() == 2);
  CHECK(has(refusal_of(term + "\n" + term.substr(0, 191), Curve::bn254, ".hex"),
            "line 2: 191 hexadecimal digits"));
  CHECK(
      has(refusal_of(term + "\n" + term.substr(0, 190), Curve::bn254, ".hex"), "holds 191 bytes"));
  CHECK(has(refusal_of("0x" + term.substr(0, 190) + "zz", Curve::bn254, ".hex"),
            "line 1: \"zz\" are not two hexadecimal digits"));
  CHECK(has(refusal_of(term.substr(0, 64) + " " + term.substr(64), Curve::bn254, ".hex"),
            "line 1: 193 hexadecimal digits"));
  CHECK(has(refusal_of(bytes_of(term) + "\n", Curve::bn254, ".bin"),
            "holds 97 bytes, which is not a multiple of the 96"));
  const std::string padded = std::string(128, '0') + std::string(32, '0') + "01" +
                             std::string(94, '0') + std::string(64, '0');
  CHECK(has(refusal_of(std::string(320, '0') + std::string(128, '0') + "01" + std::string(190, '0'),
                       Curve::bls12_381, ".hex"),
            "term 1 (byte 160): y does not begin with 16 zero bytes"));
  CHECK(has(refusal_of(padded, Curve::bls12_381, ".hex"),
            "term 0 (byte 0): the point is not on bls12_381"));
}

TEST_CASE(
    "points outside the subgroup are refused unless they are trusted, and scalars of trusted "
    "points are below the order") {
  const auto outside = testing::oracle(Curve::bls12_381).some_point(5);
  const auto file = [&](const std::string& scalar) {
    return "curve,scalar,x,y\nbls12_381,7,0,0\nbls12_381," + scalar + ",0x" + outside.x + ",0x" +
           outside.y + "\n";
  };
  const std::string r = "0x" + to_hex(order_of(Curve::bls12_381));
  CHECK(has(refusal_of(file("1"), Curve::bls12_381),
            "term 1 (line 3): the point is on bls12_381, but not in its subgroup of order " + r));
  CHECK(has(refusal_of(file("1"), Curve::bls12_381), "--trust-input"));
  CHECK(read(file("1"), Curve::bls12_381, "", Trust::subgroup).count() == 2);
  CHECK(has(refusal_of(file(r), Curve::bls12_381, "", Trust::subgroup),
            "term 1 (line 3): scalar " + r + " is not below the group order"));
  CHECK(has(refusal_of("scalar,x,y\n1,1,3\n", Curve::bls12_381, "", Trust::subgroup),
            "not on bls12_381"));
  // BN254 has no outside.
  const std::string bn254 = "scalar,x,y\n0x" + to_hex(order_of(Curve::bn254)) + ",1,2\n";
  for (const Trust trust : {Trust::nothing, Trust::subgroup})
    CHECK(read(bn254, Curve::bn254, "", trust).scalars()[0] == Scalar{});
}

TEST_CASE("a bad file is refused in one line that names the term and what is wrong with it") {
  const std::string head =
      "{\"curve\": \"bn254\", \"terms\": [{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\"}, ";
  const auto second = [&](const std::string& scalar, const std::string& x, const std::string& y) {
    return refusal_of(head + "{\"scalar\": \"" + scalar + "\", \"x\": \"" + x + "\", \"y\": \"" +
                      y + "\"}]}");
  };
  CHECK(second("0x5", "1", "2") == "accepted");
  CHECK(second("5", "0", "0") == "accepted");  // infinity
  CHECK(has(second("0x5", "1", "3"), "term 1: the point is not on bn254"));
  CHECK(has(second("0xzz", "1", "2"), "term 1: scalar \"0xzz\""));
  CHECK(has(second("0x1" + std::string(64, '0'), "1", "2"), "up to 256 bits"));
  CHECK(has(second("1", "0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47", "2"),
            "term 1: x = 0x3"));
  CHECK(has(second("1", "2", "0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd48"),
            "is not below the modulus"));
  CHECK(has(second("1", "1", ""), "term 1: y \"\" is not a number of up to 256 bits"));
  CHECK(has(refusal_of(head + "{\"scalar\": \"1\", \"x\": \"1\"}]}"), "term 1: \"y\" is missing"));
  CHECK(has(refusal_of(head + "7]}"), "term 1: is not an object"));
  CHECK(has(refusal_of(head), "is not JSON"));
  CHECK(has(refusal_of("{\"terms\": []}"), "\"curve\" is missing"));
  CHECK(
      has(refusal_of(head + "{\"scalar\": \"1\", \"x\": \"1\", \"y\": \"2\"}]}", Curve::bls12_381),
          "its curve is \"bn254\""));
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
  CHECK(text == "{\"curve\": \"bn254\", \"x\": \"0x" + std::string(64, '0') + "\", \"y\": \"0x" +
                    std::string(64, '0') + "\"}\n");
}

TEST_CASE("a file's terms are read once: what gives the size gives the workload") {
  SuiteParams params;
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != "msm") continue;
    for (const SuiteOption& option : info.options)
      params.options[option.name] = option.values.front();
    {
      const TemporaryFile file("scalar,x,y\n5,1,2\n");
      params.input = file.path;
      params.size = info.size_of_input(params);
    }
    CHECK(params.size == 1);
    info.resolve(params);
    CHECK_FALSE(params.options.contains("scalars"));  // nothing is known of those of a file
    const auto workload = info.make(params);          // the file is gone
    CHECK(workload->shape().items == 1);
    params.options["scalars"] = "witness";
    CHECK(has(test::refusal([&] { info.check(params); }), "--scalars"));
    return;
  }
  FAIL("no suite msm");
}
