// Quantities: every accepted form, every refused one, and their printed forms.
#include "lib/base/quantity.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "tests/support/pairs.hpp"

using namespace mgpu;
using test::pairs_of;

namespace {

// Returns the message of the refusal; empty if the text was accepted.
template <typename Parse>
std::string quantity_refusal(Parse parse, std::string_view text) {
  try {
    parse("--option", text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "";
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const std::string_view kNever[] = {
    "",     " ",    "-1",   "+1",    "1 ",   " 1",     "0x10",  "NaN",   "nan",
    "inf",  "1e",   "1.",   ".5",    "1.5",  "1..5",   "1,000", "k",     "Ki",
    "1kk",  "1K",   "1m2",  "1/2",   "one",  "1\n",    "2^",    "^20",   "2^64",
    "2^x",  "2^-1", "2^+1", "2^2k",  "3^4",  "2^2^2",  "--",    "1_000", "\xff",
    "1e-3", "1e+3", "e3",   "1.5e0", "1e3k", "1e3KiB", "1e3e3", "1e19",  "0x1e3"};

}  // namespace

TEST_CASE("counts, sizes and durations are accepted in every documented form") {
  for (const auto& [text, value] : pairs_of(R"(
         0 = 0; 100000 = 100000; 2^20 = 1048576; 2^0 = 1; 2^63 = 9223372036854775808; 1k = 1000
         1M = 1000000; 1G = 1000000000; 3Ki = 3072; 1Mi = 1048576; 1Gi = 1073741824; 1.5k = 1500
         0.25Ki = 256; 1.0 = 1; 1.001k = 1001; 18446744073709551615 = 18446744073709551615
         18446744073709551.615k = 18446744073709551615; 1e6 = 1000000; 1.5e6 = 1500000
         1E3 = 1000; 1e0 = 1; 0.25e2 = 25; 18e18 = 18000000000000000000)"))
    CHECK(std::to_string(parse_count("-n", text)) == value);
  for (const auto& [text, value] : pairs_of(R"(
         4096 = 4096; 64KiB = 65536; 64MiB = 67108864; 1GiB = 1073741824; 1.5GiB = 1610612736
         64kB = 64000; 64MB = 64000000; 1GB = 1000000000; 1e6 = 1000000; 17179869183GiB = 18446744072635809792)"))
    CHECK(std::to_string(parse_bytes("-m", text)) == value);
  for (const auto& [text, ns] : pairs_of(R"(
         500ns = 500; 10us = 10000; 500ms = 500000000; 2s = 2000000000; 1.5s = 1500000000
         3m = 180000000000; 1h = 3600000000000; 0.000000001s = 1; 2562047h = 9223369200000000000
         9223372036854775807ns = 9223372036854775807)"))
    CHECK(std::to_string(parse_duration("-t", text).count()) == ns);
  const std::string zeros(10'000, '0');
  CHECK(parse_count("-n", zeros + "7") == 7);
  CHECK(parse_duration("-t", "1.5" + zeros + "s") == std::chrono::milliseconds{1500});
}

TEST_CASE("what is not a quantity is refused, with the option, the text and what is accepted") {
  for (const std::string_view text : kNever) {
    CAPTURE(text);
    for (const std::string& message :
         {quantity_refusal(parse_count, text), quantity_refusal(parse_bytes, text),
          quantity_refusal(parse_duration, text)}) {
      CHECK(has(message, "--option: " + in_quotes(text)));
      CHECK(has(message, "expected: "));
      CHECK_FALSE(has(message, "\n"));
    }
  }
}

TEST_CASE("units of another kind, fractions of the smallest and overflow are refused as such") {
  const std::string nines(10'000, '9'), thirds = "0." + std::string(10'000, '3') + "s";
  struct Known {
    std::vector<std::string> counts, sizes, durations;
    const char* part;
  };
  for (const Known& known : {Known{{"1KiB", "1ms"}, {"1k", "1Ki", "2^20"}, {"1M"}, "expected"},
                             {{}, {}, {"5", "0"}, "a unit is required"},
                             {{"1.5", "1.0001k", "1.55e1"},
                              {"0.1KiB"},
                              {"0.5ns", "1.0000000001s"},
                              "not a whole number"},
                             {{"18446744073709551616", "18446744073709551620", "2^64",
                               "2^18446744073709551616", "18446744073709551.616k", "18.5e18"},
                              {"17179869184GiB"},
                              {"9223372036854775808ns", "2562048h"},
                              "too large"},
                             {{nines}, {nines}, {thirds}, "--option"}}) {
    const auto refused = [&](const std::string& message) {
      CAPTURE(message);
      CHECK(has(message, known.part));
      CHECK(message.size() < 250);
    };
    for (const std::string& text : known.counts) refused(quantity_refusal(parse_count, text));
    for (const std::string& text : known.sizes) refused(quantity_refusal(parse_bytes, text));
    for (const std::string& text : known.durations) refused(quantity_refusal(parse_duration, text));
  }
}

TEST_CASE("durations, sizes and numbers are printed with three significant digits") {
  for (const auto& [ns, text] : pairs_of(R"(
         0 = 0 ns; 7 = 7 ns; 999 = 999 ns; 1000 = 1.00 us; 1234567 = 1.23 ms; 12345678 = 12.3 ms
         999499 = 999 us; 999500 = 1.00 ms; 9996000 = 10.0 ms; 75000000000 = 75.0 s
         1500000000000 = 25.0 m; 18000000000000000 = 5000 h; -1500 = -1.50 us)"))
    CHECK(format_duration(Nanos{std::stoll(ns)}) == text);
  for (const auto& [bytes, text] : pairs_of(R"(
         0 = 0 B; 512 = 512 B; 67108864 = 64.0 MiB; 1000 = 0.977 KiB; 150323855360 = 140 GiB
         0.5 = 0.5 B)"))
    CHECK(format_bytes(std::stod(bytes)) == text);
  for (const auto& [number, text] : pairs_of(R"(
         7.96e9 = 7.96 G; 65.5e12 = 65.5 T; 999.6 = 1.00 k; 12 = 12; 12.345 = 12.3
         0.01234 = 0.0123)"))
    CHECK(format_si(std::stod(number)) == text);
}

TEST_CASE("quoted text is one short printable line") {
  CHECK(in_quotes("gpu") == "\"gpu\"");
  CHECK(in_quotes("a\nb\xff") == "\"a\\x0ab\\xff\"");
  CHECK(in_quotes(std::string(49, 'x')) == "\"" + std::string(48, 'x') + "...\"");
}

TEST_CASE("a count and what it counts agree in number") {
  CHECK(format_counted(1, "terms") == "1 term");
  CHECK(format_counted(1, "leaves") == "1 leaf");
  CHECK(format_counted(1 << 20, "leaves") == "2^20 leaves");
  CHECK(format_counted(0, "rows") == "0 rows");
  CHECK(format_counted(8, "side") == "side 8");
  CHECK(format_counted(1, "batch") == "batch 1");
}
