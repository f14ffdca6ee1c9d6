// Quantities: every accepted form, every refused one, and how they are printed.
#include "lib/base/quantity.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

using namespace mgpu;

namespace {

// The message of the refusal; empty when it was accepted.
template <typename Parse>
std::string refusal(Parse parse, std::string_view text) {
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
    "",   " ",   "-1",   "+1",    "1 ",   " 1",   "0x10", "NaN", "nan",   "inf", "1e3",   "1.",
    ".5", "1.5", "1..5", "1,000", "k",    "Ki",   "1kk",  "1K",  "1m2",   "1/2", "one",   "1\n",
    "2^", "^20", "2^64", "2^x",   "2^-1", "2^+1", "2^2k", "3^4", "2^2^2", "--",  "1_000", "\xff"};

}  // namespace

TEST_CASE("counts are accepted in every documented form") {
  CHECK(parse_count("-n", "0") == 0);
  CHECK(parse_count("-n", "100000") == 100'000);
  CHECK(parse_count("-n", "2^20") == 1'048'576);
  CHECK(parse_count("-n", "2^0") == 1);
  CHECK(parse_count("-n", "2^63") == std::uint64_t{1} << 63);
  CHECK(parse_count("-n", "1k") == 1000);
  CHECK(parse_count("-n", "1M") == 1'000'000);
  CHECK(parse_count("-n", "1G") == 1'000'000'000);
  CHECK(parse_count("-n", "3Ki") == 3072);
  CHECK(parse_count("-n", "1Mi") == 1'048'576);
  CHECK(parse_count("-n", "1Gi") == 1'073'741'824);
  CHECK(parse_count("-n", "1.5k") == 1500);
  CHECK(parse_count("-n", "0.25Ki") == 256);
  CHECK(parse_count("-n", "1.0") == 1);
  CHECK(parse_count("-n", "18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("sizes are accepted in every documented form") {
  CHECK(parse_bytes("-m", "4096") == 4096);
  CHECK(parse_bytes("-m", "64KiB") == 65'536);
  CHECK(parse_bytes("-m", "64MiB") == 67'108'864);
  CHECK(parse_bytes("-m", "1GiB") == 1'073'741'824);
  CHECK(parse_bytes("-m", "1.5GiB") == 1'610'612'736);
  CHECK(parse_bytes("-m", "64kB") == 64'000);
  CHECK(parse_bytes("-m", "64MB") == 64'000'000);
  CHECK(parse_bytes("-m", "1GB") == 1'000'000'000);
}

TEST_CASE("durations are accepted in every documented form") {
  CHECK(parse_duration("-t", "500ns") == Nanos{500});
  CHECK(parse_duration("-t", "10us") == std::chrono::microseconds{10});
  CHECK(parse_duration("-t", "500ms") == std::chrono::milliseconds{500});
  CHECK(parse_duration("-t", "2s") == std::chrono::seconds{2});
  CHECK(parse_duration("-t", "1.5s") == std::chrono::milliseconds{1500});
  CHECK(parse_duration("-t", "3m") == std::chrono::minutes{3});
  CHECK(parse_duration("-t", "1h") == std::chrono::hours{1});
  CHECK(parse_duration("-t", "0.000000001s") == Nanos{1});
  CHECK(parse_duration("-t", "9223372036854775807ns") == Nanos::max());
}

TEST_CASE("what is not a quantity is refused, with the option, the text and what is accepted") {
  for (const std::string_view text : kNever) {
    CAPTURE(text);
    for (const std::string& message :
         {refusal(parse_count, text), refusal(parse_bytes, text), refusal(parse_duration, text)}) {
      CHECK(has(message, "--option: " + in_quotes(text)));
      CHECK(has(message, "accepted: "));
      CHECK_FALSE(has(message, "\n"));
    }
  }
}

TEST_CASE("units of one kind of quantity are not those of another") {
  CHECK(refusal(parse_count, "1KiB") != "");
  CHECK(refusal(parse_count, "1ms") != "");
  CHECK(refusal(parse_bytes, "1k") != "");
  CHECK(refusal(parse_bytes, "1Ki") != "");
  CHECK(refusal(parse_bytes, "2^20") != "");
  CHECK(refusal(parse_duration, "1M") != "");
}

TEST_CASE("a duration without a unit is refused") {
  CHECK(has(refusal(parse_duration, "5"), "a unit is required"));
  CHECK(has(refusal(parse_duration, "0"), "a unit is required"));
}

TEST_CASE("fractions that are no whole number of the smallest unit are refused") {
  CHECK(has(refusal(parse_count, "1.5"), "not a whole number"));
  CHECK(has(refusal(parse_count, "1.0001k"), "not a whole number"));
  CHECK(has(refusal(parse_bytes, "0.1KiB"), "not a whole number"));
  CHECK(has(refusal(parse_duration, "0.5ns"), "not a whole number"));
  CHECK(has(refusal(parse_duration, "1.0000000001s"), "not a whole number"));
  CHECK(parse_count("-n", "1.001k") == 1001);
}

TEST_CASE("overflow of 64 bits is refused at the exact limit") {
  CHECK(has(refusal(parse_count, "18446744073709551616"), "too large"));
  CHECK(has(refusal(parse_count, "18446744073709551620"), "too large"));
  CHECK(has(refusal(parse_count, "2^64"), "too large"));
  CHECK(has(refusal(parse_count, "2^18446744073709551616"), "too large"));
  CHECK(has(refusal(parse_count, "18446744073709551.616k"), "too large"));
  CHECK(parse_count("-n", "18446744073709551.615k") == std::numeric_limits<std::uint64_t>::max());
  CHECK(has(refusal(parse_bytes, "17179869184GiB"), "too large"));
  CHECK(parse_bytes("-m", "17179869183GiB") == std::numeric_limits<Bytes>::max() - 1'073'741'823);
  CHECK(has(refusal(parse_duration, "9223372036854775808ns"), "too large"));
  CHECK(has(refusal(parse_duration, "2562048h"), "too large"));
  CHECK(parse_duration("-t", "2562047h") == std::chrono::hours{2562047});
}

TEST_CASE("very long digits are read, or refused with a short message") {
  CHECK(parse_count("-n", std::string(10'000, '0') + "7") == 7);
  CHECK(parse_duration("-t", "1.5" + std::string(10'000, '0') + "s") ==
        std::chrono::milliseconds{1500});
  CHECK(refusal(parse_count, std::string(10'000, '9')).size() < 250);
  CHECK(refusal(parse_duration, "0." + std::string(10'000, '3') + "s").size() < 250);
}

TEST_CASE("durations are printed with three significant digits") {
  CHECK(format_duration(Nanos{0}) == "0 ns");
  CHECK(format_duration(Nanos{7}) == "7 ns");
  CHECK(format_duration(Nanos{999}) == "999 ns");
  CHECK(format_duration(Nanos{1000}) == "1.00 us");
  CHECK(format_duration(Nanos{1'234'567}) == "1.23 ms");
  CHECK(format_duration(Nanos{12'345'678}) == "12.3 ms");
  CHECK(format_duration(Nanos{999'499}) == "999 us");
  CHECK(format_duration(Nanos{999'500}) == "1.00 ms");
  CHECK(format_duration(Nanos{9'996'000}) == "10.0 ms");
  CHECK(format_duration(std::chrono::seconds{75}) == "75.0 s");
  CHECK(format_duration(std::chrono::seconds{1500}) == "25.0 m");
  CHECK(format_duration(std::chrono::hours{5000}) == "5000 h");
  CHECK(format_duration(Nanos{-1'500}) == "-1.50 us");
}

TEST_CASE("sizes and numbers are printed with three significant digits") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(64.0 * 1024 * 1024) == "64.0 MiB");
  CHECK(format_bytes(1000) == "0.977 KiB");
  CHECK(format_bytes(140.0 * 0x1p30) == "140 GiB");
  CHECK(format_bytes(0.5) == "0.5 B");
  CHECK(format_si(7.96e9) == "7.96 G");
  CHECK(format_si(65.5e12) == "65.5 T");
  CHECK(format_si(999.6) == "1.00 k");
  CHECK(format_si(12) == "12");
  CHECK(format_si(12.345) == "12.3");
  CHECK(format_si(0.01234) == "0.0123");
}

TEST_CASE("quoted text is one short printable line") {
  CHECK(in_quotes("gpu") == "\"gpu\"");
  CHECK(in_quotes("a\nb\xff") == "\"a\\x0ab\\xff\"");
  CHECK(in_quotes(std::string(49, 'x')) == "\"" + std::string(48, 'x') + "...\"");
}
