// Kernel texts that include one another.
#include "lib/base/embedded.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"

using namespace mgpu;

TEST_CASE("an included text is put in place of its line, and line numbers stay known") {
  const EmbeddedText texts[] = {{"a.cl", "first\n#include \"b.cl\"\nthird\n"},
                                {"b.cl", "#include \"c.cl\"\nb"},
                                {"c.cl", "c\n"}};
  CHECK(with_includes(texts, "c.cl") == "c\n");
  CHECK(with_includes(texts, "b.cl") == "#line 1 \"c.cl\"\nc\n#line 2 \"b.cl\"\nb");
  CHECK(with_includes(texts, "a.cl") ==
        "first\n#line 1 \"b.cl\"\n#line 1 \"c.cl\"\nc\n#line 2 \"b.cl\"\nb\n#line 3 "
        "\"a.cl\"\nthird\n");
}

TEST_CASE("a text that is not there is an error, wherever it is named") {
  const EmbeddedText texts[] = {{"a.cl", "#include \"none.cl\"\n"}};
  CHECK_THROWS_AS(with_includes(texts, "other.cl"), Error);
  CHECK_THROWS_AS(with_includes(texts, "a.cl"), Error);
}
