// gzip files: valid ones, and ones damaged by disks, networks or malice.
#include "lib/base/gzip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_file.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;

namespace {

constexpr std::size_t kMuch = std::size_t{1} << 24;

std::string gunzip(std::string_view file, std::size_t piece = kMuch, std::size_t most = kMuch) {
  Gunzip gunzip(most);
  for (; !file.empty(); file.remove_prefix(std::min(piece, file.size())))
    gunzip.take(file.substr(0, piece));
  return gunzip.text();
}

// Returns the message of the refusal; empty if there was none.
template <typename F>
std::string gzip_refusal(F read) {
  try {
    read();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    CHECK(std::string(error.what()).size() > 5);
    return error.what();
  }
  return "";
}

std::string noise(std::size_t size) {
  std::mt19937 bits(7);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(bits());
  return text;
}

// Output of gzip for "results", with the name and the comment that a header may have.
constexpr std::string_view kForeign(
    "\x1f\x8b\x08\x18\x01\x00\x00\x00\x02\xff"
    "r.json\0of a friend\0"
    "\x2b\x4a\x2d\x2e\xcd\x29\x29\x06\x00\x14\xe4\xa3\x9f\x07\x00\x00\x00",
    46);

}  // namespace

TEST_CASE("what is compressed comes back, whatever it is and in whatever pieces it arrives") {
  const std::string everything = noise(300'000) + std::string(300'000, 'x');
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string(1, '\0'), everything}) {
    const std::string packed = gzip(text);
    CHECK(is_gzip(packed));
    CHECK((gunzip(packed) == text));
    CHECK((gunzip(packed, 1 << 16) == text));
    CHECK((gzip(text) == packed));
  }
  CHECK(gunzip(gzip("a piece a byte"), 1) == "a piece a byte");
  CHECK(gzip(std::string(1 << 20, ' ')).size() < 2000);
}

TEST_CASE("files that others wrote are read, and so are several in one") {
  CHECK(gunzip(kForeign) == "results");
  const std::string joined = std::string(kForeign) + gzip("") + gzip(" and more") + gzip("");
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{45}, std::size_t{46}, std::size_t{47}, kMuch})
    CHECK(gunzip(joined, piece) == "results and more");
}

TEST_CASE("only the first two bytes say what is gzip") {
  CHECK(is_gzip("\x1f\x8b"));
  for (const std::string_view bytes : {"", "\x1f", "\x8b\x1f", "{}", " \x1f\x8b", "PK\x03\x04"})
    CHECK_FALSE(is_gzip(bytes));
}

TEST_CASE("a file that was cut off is refused wherever that was") {
  const std::string text = noise(50) + std::string(500, 'x'), one = gzip(text),
                    two = one + gzip("the second");
  for (std::size_t size = 0; size < two.size(); ++size) {
    CAPTURE(size);
    if (size == one.size()) {
      CHECK((gunzip(two.substr(0, size)) == text));  // not detectable
    } else {
      CHECK(gzip_refusal([&] { gunzip(two.substr(0, size)); }) ==
            "is a gzip file that was cut off");
      CHECK(gzip_refusal([&] { gunzip(two.substr(0, size), 1); }) ==
            "is a gzip file that was cut off");
    }
  }
}

TEST_CASE("damage is refused, or changes nothing of what is read") {
  const std::string text = noise(50) + std::string(500, 'x'), whole = gzip(text);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      CAPTURE(at);
      CAPTURE(bit);
      std::string read = text;
      refused += !gzip_refusal([&] { read = gunzip(damaged); }).empty();
      CHECK((read == text));
    }
  }
  // The time in the header may change, and the encoding of a run of one letter.
  CHECK(refused > 8 * (whole.size() - 10));
  CHECK(gzip_refusal([&] {
          gunzip(whole.substr(0, 12) + "\xff\xff" + whole.substr(14));
        }).starts_with("is a damaged gzip file: "));
  for (const char* bytes : {"{\"schema\": 1}", "\x1f\x8b\x07 and so on"})
    CHECK(gzip_refusal([&] { gunzip(bytes); }).starts_with("is a damaged gzip file: "));
}

TEST_CASE("what follows a member is another member, or refused") {
  for (const std::string_view after :
       {std::string_view("{}"), std::string_view("\0\0", 2), std::string_view("\x1f\x8c")}) {
    for (const std::size_t piece : {std::size_t{1}, kMuch})
      CHECK(gzip_refusal([&] { gunzip(gzip("x") + std::string(after), piece); }) ==
            "is a gzip file with something else after its end");
  }
  std::string second = gzip("two");
  second[2] = 7;
  CHECK_FALSE(gzip_refusal([&] { gunzip(gzip("one") + second); }).empty());
}

TEST_CASE("more than the limit is refused before it is held, also in several members") {
  const std::string member = gzip(std::string(1000, 'x'));
  CHECK(gunzip(member, kMuch, 1000).size() == 1000);
  CHECK(gzip_refusal([&] { gunzip(member, kMuch, 999); }) ==
        "is larger than 999 B when decompressed");
  CHECK(gzip_refusal([&] { gunzip(member + member, 1, 1999); }) ==
        "is larger than 1.95 KiB when decompressed");
  CHECK(gunzip(member + member, 1, 2000).size() == 2000);
  // A decompression bomb: each piece expands a thousand times.
  const std::string bomb = gzip(std::string(std::size_t{1} << 22, '0'));
  Gunzip limited(std::size_t{1} << 20);
  CHECK(gzip_refusal([&] { limited.take(bomb); }) == "is larger than 1.00 MiB when decompressed");
}

TEST_CASE("a file is decompressed by what it holds, and compressed by its name") {
  const test::TemporaryFolder folder;
  const std::string text(300'000, 'x');
  const std::filesystem::path packed = folder.path() / "r.json.gz",
                              plain = folder.path() / "r.json";
  OutputFile(packed).put(text);
  write_file_atomically(plain, text);
  CHECK(std::filesystem::file_size(packed) < 10'000);
  CHECK((test::file_text(packed) == gzip(text)));
  CHECK((test::file_text(plain) == text));
  CHECK((read_text_file(packed) == text));
  CHECK((read_text_file(plain) == text));
  std::filesystem::rename(packed, plain);
  CHECK((read_text_file(plain) == text));
  AtomicFile as_it_is(packed);
  as_it_is.write("no gzip");
  as_it_is.commit();
  CHECK(read_text_file(packed) == "no gzip");
  write_file_atomically(plain, gzip(text).substr(0, 100));
  CHECK(gzip_refusal([&] { read_text_file(plain); }) == "is a gzip file that was cut off");
  write_file_atomically(plain, "");
  CHECK(read_text_file(plain).empty());
}
