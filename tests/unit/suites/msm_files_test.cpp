// Files of msm terms: each accepted format, and the refusals with their reasons.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "suites/msm/field.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/terms_file.hpp"
#include "tests/support/msm_terms.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::msm {
namespace {

using test::has;

struct TermsFile {
  explicit TermsFile(const std::string& text, const std::string& ending = "")
      : path(std::filesystem::temp_directory_path() /
             ("mgpu-msm-" + std::to_string(::getpid()) + ending)) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~TermsFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

Terms read_terms(const std::string& text, Curve curve, const std::string& ending = "",
                 Trust trust = Trust::nothing) {
  const TermsFile file(text, ending);
  return terms_from_file(file.path, curve, trust, 2);
}

// Returns the message with which `text` is refused; empty if it is accepted.
std::string why(const std::string& text, Curve curve = Curve::bn254, const std::string& ending = "",
                Trust trust = Trust::nothing) {
  const std::string said =
      test::refusal([&] { read_terms(text, curve, ending, trust); }, ErrorKind::input);
  CHECK_FALSE(has(said, "\n"));
  return said;
}

struct Refused {
  std::string text;
  const char* fact;  // part of the message that refuses it
};

void check_refused(const std::vector<Refused>& all, Curve curve = Curve::bn254,
                   const std::string& ending = "") {
  for (const auto& each : all) {
    const std::string said = why(each.text, curve, ending);
    INFO(each.text.substr(0, 200), "\n", said);
    CHECK(has(said, each.fact));
  }
}

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

// Published vectors of EIP-196 and EIP-2537, whose bytes are digits: a line each with the curve,
// the outcome, the name, the input, and the sum or the fact that our message must name.
struct EipVector {
  Curve curve;
  bool refused;
  std::string name, input, answer;
};

std::vector<EipVector> eip_vectors() {
  std::vector<EipVector> all;
  std::ifstream file(test::source_folder() / "tests/data/eip_vectors.txt");
  std::string line, curve, what;
  while (std::getline(file, line)) {
    EipVector& one = all.emplace_back();
    std::istringstream words(line);
    words >> curve >> what >> one.name >> one.input >> std::ws;
    std::getline(words, one.answer);
    one.curve = curve == "bn254" ? Curve::bn254 : Curve::bls12_381;
    one.refused = what == "refuse";
    if (one.input == "-") one.input.clear();
  }
  CHECK(all.size() == 26);
  return all;
}

// Returns the sum as EIP-196 and EIP-2537 encode it.
std::string encoded_sum(const Terms& terms) {
  const PlainPoint sum =
      host_points(terms.curve()).multiply(terms.point_bytes(0, terms.count()), terms.scalars(), 1);
  const std::string padding(terms.curve() == Curve::bn254 ? 0 : 32, '0');
  return padding + sum.x + padding + sum.y;
}

}  // namespace

TEST_CASE("msm files: JSON and CSV of the same terms are read alike, scalars reduced") {
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
  for (const std::string& text : {json + "]}", csv}) {
    const Terms terms = read_terms(text, Curve::bls12_381);
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

TEST_CASE("msm files: numbers are decimal, or hexadecimal with 0x") {
  const std::string limit =
      "11579208923731619542357098500868790785326998466564056403945758400791"
      "3129639935";  // 2^256 - 1
  CHECK(parse_number<4>(limit) == parse_hex<4>(std::string(64, 'f')));
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, Scalar>>{{"10", {10, 0, 0, 0}},
                                                   {"0x10", {16, 0, 0, 0}},
                                                   {"0X0010", {16, 0, 0, 0}},
                                                   {"0", {}},
                                                   {"18446744073709551616", {0, 1, 0, 0}}})
    CHECK(read_terms("scalar,x,y\n" + text + ",1,2\n", Curve::bn254).scalars()[0] == expected);
  for (const std::string& bad : std::vector<std::string>{
           limit.substr(0, 77) + "6", "ff", "010", "00", "+1", "-1", "1e3", "1.0", "", "0x", "0xfg",
           "1 2", "1_000", "\"1", "'1'", "0x1" + std::string(64, '0')})
    CHECK(has(why("scalar,x,y\n" + bad + ",1,2\n"), "term 0 (line 2): scalar"));
}

TEST_CASE("msm files: a CSV file that was cut short anywhere within a line is refused") {
  const std::string whole = "scalar,x,y\n17,1,2\n123456789,1,2\n";
  CHECK(read_terms(whole, Curve::bn254).count() == 2);
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(why(whole.substr(0, size)).empty() == (size == whole.find("123")));
  check_refused({{"y,x,scalar\n2,1,17\n2,1,1234", "line 3"}, {"scalar,x,y\r\n17,1,2\r", "line 2"}});
}

TEST_CASE("msm files: columns of CSV are there once, and each line has all of them") {
  check_refused({{"scalar,x,y,scalar\n1,1,2,5\n", "scalar is there twice"},
                 {"scalar,x,y,curve,curve\n1,1,2,bn254,bn254\n", "curve is there twice"},
                 {"scalar,x\n1,1\n", "column y"},
                 {"scalar,x,y,z\n", "\"z\""},
                 {"Scalar,x,y\n", "\"Scalar\""},
                 {"1,1,2\n", "\"1\""},
                 {"scalar,x,y\n1,1,2\n1,1\n", "line 3): 2 fields"},
                 {"scalar,x,y\n1,1,2\n1,1,2,\n", "line 3): 4 fields"},
                 {"scalar,x,y\n1,1,2\n\n1,1,2\n", "line 3"},
                 {"scalar,x,y\n1,1,2\n1,1,5\n", "line 3): the point is not on bn254"},
                 {"scalar,x,y,curve\n1,1,2,bn254\n1,1,2,bn255\n", "line 3): two curves"},
                 {"scalar,x,y\n", "no terms"},
                 {"", "empty"},
                 {"\nscalar,x,y\n1,1,2\n", "white space"}});
}

TEST_CASE("msm files: JSON keys are there once and known, values texts, each term is checked") {
  const auto terms = [](const std::string& list) {
    return "{\"curve\": \"bn254\", \"terms\": [" + list + "]}";
  };
  const auto term = [](const std::string& scalar, const std::string& x, const std::string& y) {
    return "{\"scalar\": \"" + scalar + "\", \"x\": \"" + x + "\", \"y\": \"" + y + "\"}";
  };
  const std::string one = term("1", "1", "2"), xy = "\"x\": \"1\", \"y\": \"2\"",
                    p = "0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd4";
  for (const std::string& good :
       {" \n" + terms(one) + "\n", "{\"terms\": [" + one + "], \"curve\": \"bn254\"}",
        terms(one + ", " + term("0x5", "1", "2")), terms(one + ", " + term("5", "0", "0"))})
    CHECK(why(good) == "");
  check_refused({{terms(one + ", {\"scalar\": 1e999, " + xy + "}"), "term 1: \"scalar\""},
                 {terms(one + ", 1e999"), "term 1"},
                 {"{\"curve\": \"bn254\", \"terms\": 1e999}", "\"terms\""},
                 {"{\"curve\": 1e999}", "\"curve\""},
                 {terms("{\"scalar\": 5, " + xy + "}"), "term 0: \"scalar\""},
                 {terms("{\"scalar\": {}, " + xy + "}"), "term 0: \"scalar\""},
                 {terms("{\"scalar\": \"1\", " + xy + ", \"x\": \"1\"}"), "term 0: \"x\""},
                 {terms("{\"scalar\": \"1\", " + xy + ", \"z\": \"1\"}"), "term 0: \"z\""},
                 {"{\"curve\": \"bn254\", \"curve\": \"bn254\", \"terms\": [" + one + "]}",
                  "\"curve\" is given twice"},
                 {"{\"curve\": \"bn254\", \"terms\": [" + one + "], \"terms\": []}",
                  "\"terms\" is given twice"},
                 {"{\"curve\": \"bn254\", \"points\": []}", "\"points\""},
                 {terms("[" + one + "]"), "term 0"},
                 {terms(one) + "x", "not JSON"},
                 {"{\"curve\": \"bn254\"}", "\"terms\""},
                 {"{\"terms\": []}", "\"curve\""},
                 {terms(""), "no terms"},
                 {terms(std::string(100'000, '[')), "term 0"},
                 {terms(one + ", ").substr(0, 80), "not JSON"},
                 {terms(one + ", " + term("0x5", "1", "3")), "term 1: the point is not on bn254"},
                 {terms(one + ", " + term("0xzz", "1", "2")), "term 1: scalar"},
                 {terms(one + ", " + term("0x1" + std::string(64, '0'), "1", "2")), "256 bits"},
                 {terms(one + ", " + term("1", p + "7", "2")), "term 1: x"},
                 {terms(one + ", " + term("1", "2", p + "8")), "below the modulus"},
                 {terms(one + ", " + term("1", "1", "")), "term 1: y"},
                 {terms(one + ", {\"scalar\": \"1\", \"x\": \"1\"}"), "term 1: \"y\""},
                 {terms(one + ", 7"), "term 1"}});
  check_refused({{terms(one), "\"bn254\""}}, Curve::bls12_381);
  CHECK_THROWS_AS(terms_from_file("/nowhere/at/all", Curve::bn254, Trust::nothing, 1), Error);
}

TEST_CASE("msm files: what the EIPs sum is summed alike from bytes and digits, else refused") {
  for (const EipVector& vector : eip_vectors()) {
    CAPTURE(vector.name);
    if (vector.refused) {
      CHECK(has(why(bytes_of(vector.input), vector.curve, ".bin"), vector.answer));
      CHECK(has(why(vector.input, vector.curve, ".hex"), vector.answer));
    } else {
      CHECK(encoded_sum(read_terms(bytes_of(vector.input), vector.curve, ".bin")) == vector.answer);
      CHECK(encoded_sum(read_terms("0x" + vector.input + "\n", vector.curve, ".hex")) ==
            vector.answer);
    }
  }
}

TEST_CASE("msm files: digits of bytes may be in lines, and must be whole bytes of whole terms") {
  // The generator, (1, 2), and 0.
  const std::string term =
      std::string(63, '0') + "1" + std::string(63, '0') + "2" + std::string(64, '0');
  CHECK(read_terms("0x" + term.substr(0, 66) + "\r\n" + term.substr(66) + "\n\n0x" + term,
                   Curve::bn254, ".hex")
            .count() == 2);
  check_refused({{term + "\n" + term.substr(0, 191), "line 2: 191"},
                 {term + "\n" + term.substr(0, 190), "191 bytes"},
                 {"0x" + term.substr(0, 190) + "zz", "line 1: \"zz\""},
                 {term.substr(0, 64) + " " + term.substr(64), "line 1: 193"}},
                Curve::bn254, ".hex");
  check_refused({{bytes_of(term) + "\n", "97 bytes"}}, Curve::bn254, ".bin");
  const auto zeros = [](std::size_t count) { return std::string(count, '0'); };
  check_refused({{zeros(320 + 128) + "01" + zeros(190), "term 1 (byte 160): y"},
                 {zeros(128 + 32) + "01" + zeros(94 + 64), "term 0 (byte 0)"}},
                Curve::bls12_381, ".hex");
}

TEST_CASE("msm files: points outside the subgroup are refused unless they are trusted") {
  const auto outside = testing::oracle(Curve::bls12_381).some_point(5);
  const auto file = [&](const std::string& scalar) {
    return "curve,scalar,x,y\nbls12_381,7,0,0\nbls12_381," + scalar + ",0x" + outside.x + ",0x" +
           outside.y + "\n";
  };
  const std::string r = "0x" + to_hex(order_of(Curve::bls12_381));
  for (const std::string& fact : {std::string("term 1 (line 3)"), r, std::string("--trust-input")})
    CHECK(has(why(file("1"), Curve::bls12_381), fact));
  CHECK(read_terms(file("1"), Curve::bls12_381, "", Trust::subgroup).count() == 2);
  CHECK(has(why(file(r), Curve::bls12_381, "", Trust::subgroup), "term 1 (line 3): scalar " + r));
  CHECK(has(why("scalar,x,y\n1,1,3\n", Curve::bls12_381, "", Trust::subgroup), "not on bls12_381"));
  // BN254 has no points outside the subgroup.
  const std::string bn254 = "scalar,x,y\n0x" + to_hex(order_of(Curve::bn254)) + ",1,2\n";
  for (const Trust trust : {Trust::nothing, Trust::subgroup})
    CHECK(read_terms(bn254, Curve::bn254, "", trust).scalars()[0] == Scalar{});
}

TEST_CASE("msm files: an empty sum is infinity, and the result is written as a file gives it") {
  MsmWorkload workload(Terms(Curve::bn254, 0), {});
  CHECK(workload.shape().items == 1);
  workload.begin_sample();
  workload.merge();
  CHECK(workload.digest() == std::string(128, '0'));
  CHECK(workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
  const TermsFile file("");
  workload.write_result(file.path);
  std::ifstream in(file.path);
  const std::string text((std::istreambuf_iterator<char>(in)), {}), zero(64, '0');
  CHECK(text == "{\"curve\": \"bn254\", \"x\": \"0x" + zero + "\", \"y\": \"0x" + zero + "\"}\n");
}

TEST_CASE("msm files: terms are read once: what gives the size gives the workload") {
  const SuiteInfo& info = test::suite_named("msm");
  SuiteParams params = test::suite_params("msm", 0);
  {
    const TermsFile file("scalar,x,y\n5,1,2\n");
    params.input = file.path;
    params.size = info.size_of_input(params);
  }
  CHECK(params.size == 1);
  info.optional.resolve(params);
  CHECK_FALSE(params.options.contains("scalars"));  // the scalars of a file are unknown
  const auto workload = info.make(params);          // the file is gone
  CHECK(workload->shape().items == 1);
  params.options["scalars"] = "witness";
  CHECK(has(test::refusal([&] { info.check(params); }), "--scalars"));
}

}  // namespace mgpu::msm
