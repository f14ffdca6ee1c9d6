// Escaping of external text before it reaches a terminal.
#include "lib/base/printable.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

TEST_CASE("control characters and bytes that are no UTF-8 are shown, not obeyed") {
  CHECK(printable("a\x1b[2Jb") == "a\\x1b[2Jb");
  CHECK(printable("\r\n\t\x7f") == "\\x0d\\x0a\\x09\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") ==
        "\\xc2\\x9b"
        "31m");  // CSI in one character
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\xff\xc0\xaf") == "\\xff\\xc0\\xaf");  // the latter is an overlong slash
  CHECK(printable("\xed\xa0\x80\xf4\x90\x80\x80") ==
        "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");  // a surrogate; a code point beyond the last
  CHECK(printable("caf\xc3") == "caf\\xc3");     // cut off
}

TEST_CASE("what reorders or hides the text around it is shown, ordinary text stays") {
  CHECK(printable("a\u202eb\u2066c") == "a\\u{202e}b\\u{2066}c");
  CHECK(printable("\u200e\u2028\ufeff\U000e0041") == "\\u{200e}\\u{2028}\\u{feff}\\u{e0041}");
  for (const char* plain : {"", "GPU 0", "caf\u00e9", "\u00b1 5 \u00b5s", "\u4e2d\u6587",
                            "\u05d0\u05d1", "\U0001f469\u200d\U0001f4bb", "\u00a0"}) {
    CHECK(printable(plain) == plain);
  }
}

TEST_CASE("a name cannot pass for a second message") {
  CHECK(printable_lines("one\nmgpu-bench: all passed") == "one\n  mgpu-bench: all passed");
  CHECK(printable_lines("\x1b[1A") == "\\x1b[1A");
}

TEST_CASE("of text of several lines only the line ends stay") {
  CHECK(printable_text("a\n\x1b[31mb\x1b[0m\n") == "a\n\\x1b[31mb\\x1b[0m\n");
}

TEST_CASE("colours of tables stay, other escape sequences do not") {
  CHECK(printable_colored("\x1b[1;32mbest\x1b[0m\n") == "\x1b[1;32mbest\x1b[0m\n");
  CHECK(printable_colored("\x1b[2J\x1b]0;t\x07\x1b[m") == "\\x1b[2J\\x1b]0;t\\x07\x1b[m");
  CHECK(printable_colored("\x1b[1") == "\\x1b[1");
}

TEST_CASE("JSON says the same in characters that do nothing") {
  CHECK(printable_json("{\n\"a\": \"\u00e9\u202e\x7f\xc2\x9b\U000e0041\"\n}\n") ==
        "{\n\"a\": \"\u00e9\\u202e\\u007f\\u009b\\udb40\\udc41\"\n}\n");
}
