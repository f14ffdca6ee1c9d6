// NumPy files: written files can be read again, and other contents are refused with one line that
// says what is accepted.
#include "lib/workload/npy.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

struct ScratchNpy {
  std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("mgpu-npy-" + std::to_string(::getpid()) + ".npy");
  ~ScratchNpy() { std::filesystem::remove(file); }

  // Writes a file of version 1.0 (or another), its header padded as NumPy does.
  void put(std::string dictionary, std::size_t bytes, char version = 1) const {
    const std::size_t head = version == 1 ? 10 : 12;
    while ((head + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
    dictionary += '\n';
    std::ofstream out(file, std::ios::binary);
    out << "\x93NUMPY" << version << '\0' << static_cast<char>(dictionary.size() & 0xff)
        << static_cast<char>(dictionary.size() >> 8);
    if (version > 1) out << '\0' << '\0';
    out << dictionary << std::string(bytes, '\1');
  }
  std::string refusal() const {
    try {
      read_npy_shape(file);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      const std::string what = error.what();
      CHECK(what.find("--input " + file.string()) != std::string::npos);
      CHECK(what.find('\n') == std::string::npos);
      return what;
    }
    return "";
  }
};

std::string dictionary(const char* type, const char* order, const char* shape) {
  return std::string("{'descr': '") + type + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }";
}

}  // namespace

TEST_CASE("integers of 32 bits are written and read again, and not taken for floats") {
  const ScratchNpy scratch;
  const NpyShape shape{2, 3, 4, NpyNumbers::int32};
  std::vector<std::byte> elements(shape.bytes(), std::byte{5}), found(shape.bytes());
  write_npy(scratch.file, shape, elements);
  CHECK(scratch.refusal().find("'<i4'") != std::string::npos);
  const NpyShape read = read_npy_shape(scratch.file, "--input", NpyNumbers::int32);
  CHECK((read.rows == 2 && read.columns == 3 && read.element == 4 &&
         read.numbers == NpyNumbers::int32));
  read_npy(scratch.file, read, found);
  CHECK(found == elements);
  scratch.put(dictionary("<f4", "False", "(2, 3)"), 24);
  CHECK_THROWS_WITH(read_npy_shape(scratch.file, "--input", NpyNumbers::int32),
                    doctest::Contains("int32 (<i4)"));
}

TEST_CASE("a matrix that was written is read again in both precisions, aligned to 64 bytes") {
  const ScratchNpy scratch;
  for (const Bytes element : {Bytes{4}, Bytes{8}}) {
    const NpyShape shape{3, 5, element};
    std::vector<std::byte> elements(shape.bytes());
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(i * 7);
    write_npy(scratch.file, shape, elements);
    const NpyShape found = read_npy_shape(scratch.file);
    CHECK(found.rows == 3);
    CHECK(found.columns == 5);
    CHECK(found.element == element);
    std::vector<std::byte> again(shape.bytes());
    read_npy(scratch.file, shape, again);
    CHECK(again == elements);
    CHECK((std::filesystem::file_size(scratch.file) - shape.bytes()) % 64 == 0);
  }
}

TEST_CASE("the header is the one NumPy 1.24 writes for a 2 x 3 matrix of float32") {
  const ScratchNpy scratch;
  write_npy(scratch.file, {2, 3, 4}, std::vector<std::byte>(24));
  std::ifstream in(scratch.file, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(in)), {});
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  REQUIRE(all.size() == 128 + 24);
  CHECK(all.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK(static_cast<unsigned char>(all[8]) == 118);
  CHECK(all.substr(10, text.size()) == text);
  CHECK(all[127] == '\n');
}

TEST_CASE("versions 2 and 3, keys in another order and empty matrices are read") {
  const ScratchNpy scratch;
  scratch.put(dictionary("<f8", "False", "(2, 3)"), 48, 2);
  CHECK(read_npy_shape(scratch.file).rows == 2);
  scratch.put("{'shape': (4, 1), 'fortran_order': False, 'descr': '<f4'}", 16, 3);
  CHECK(read_npy_shape(scratch.file).columns == 1);
  scratch.put(dictionary("<f4", "False", "(0, 7)"), 0);
  CHECK(read_npy_shape(scratch.file).columns == 7);
}

TEST_CASE("a matrix in Fortran order is read row by row, in one part or several") {
  const ScratchNpy scratch;
  // A column of the second matrix is more than what is read at once.
  for (const auto& [rows, columns] :
       {std::pair<std::uint64_t, std::uint64_t>{2, 3}, {3'000'000, 2}, {4, 1}, {0, 3}}) {
    scratch.put("{'descr': '<f8', 'fortran_order': True, 'shape': (" + std::to_string(rows) + ", " +
                    std::to_string(columns) + "), }",
                0);
    std::ofstream out(scratch.file, std::ios::binary | std::ios::app);
    std::vector<double> in_file(rows * columns);
    for (std::size_t i = 0; i < in_file.size(); ++i) in_file[i] = static_cast<double>(i);
    out.write(reinterpret_cast<const char*>(in_file.data()),
              static_cast<std::streamsize>(in_file.size() * sizeof(double)));
    out.close();
    const NpyShape shape = read_npy_shape(scratch.file);
    CHECK((shape.rows == rows && shape.columns == columns));
    std::vector<double> found(rows * columns, -1);
    read_npy(scratch.file, shape, std::as_writable_bytes(std::span(found)));
    bool right = true;
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j)
        right = right && found[i * columns + j] == in_file[j * rows + i];
    CHECK(right);
  }
}

TEST_CASE("what is no such matrix is refused, and the message says why") {
  struct {
    const char *type, *order, *shape;
    std::size_t bytes;
    const char* named;
  } const refused[] = {
      {"<f2", "False", "(2, 3)", 12, "<f2"},
      {">f4", "False", "(2, 3)", 24, ">f4"},
      {"<f4", "Yes", "(2, 3)", 24, "no order"},
      {"<f4", "False", "(6,)", 24, "shape"},
      {"<f4", "False", "()", 24, "shape"},
      {"<f4", "False", "(1, 2, 3)", 24, "shape"},
      {"<f4", "False", "(-2, -3)", 24, "shape"},
      {"<f4", "False", "6", 24, "shape"},
      {"<f4", "False", "(2, 3x)", 24, "shape"},
      {"<f4", "False", "(2, 3)", 23, "bytes"},
      {"<f4", "False", "(2, 3)", 25, "bytes"},
      {"<f4", "False", "(99999999999, 3)", 24, "large"},
      {"<f4", "False", "(2147483648, 2147483648)", 0, "bytes"},
  };
  const ScratchNpy scratch;
  for (const auto& file : refused) {
    CAPTURE(file.shape);
    scratch.put(dictionary(file.type, file.order, file.shape), file.bytes);
    CHECK(scratch.refusal().find(file.named) != std::string::npos);
  }
  for (const std::string& text : {std::string("no matrix at all"), std::string(),
                                  std::string("\x93NUMPY\x01\0\x76\0{'descr'", 17)}) {
    std::ofstream(scratch.file, std::ios::binary) << text;
    CHECK(scratch.refusal() != "");
  }
}

TEST_CASE("a file that cannot be written is an output error that names it") {
  try {
    write_npy("/dev/null/c.npy", {1, 1, 4}, std::vector<std::byte>(4));
    FAIL("written");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::output);
    CHECK(std::string(error.what()).find("/dev/null/c.npy") != std::string::npos);
  }
}

TEST_CASE("arrays of one to three dimensions are read as rows of the last, others are refused") {
  const ScratchNpy scratch;
  std::vector<std::byte> elements(24 * 4);
  for (const auto& [shape, rows] : {std::pair{"(24,)", 1}, {"(4, 6)", 4}, {"(2, 3, 4)", 6}}) {
    scratch.put(dictionary("<f4", "False", shape), 24 * 4);
    const NpyArray array = read_npy_array(scratch.file);
    CHECK(array.extents.back() * static_cast<unsigned>(rows) == 24);
    CHECK(array.element == 4);
    read_npy(scratch.file, {static_cast<unsigned>(rows), array.extents.back(), 4}, elements);
    CHECK(elements.back() == std::byte{1});
    CHECK_THROWS_AS(read_npy(scratch.file, {24, 2, 4}, elements), Error);
  }
  CHECK(scratch.refusal().find("(2, 3, 4)") != std::string::npos);  // not a matrix
  scratch.put(dictionary("<f4", "True", "(24,)"), 24 * 4);
  CHECK(read_npy_array(scratch.file).extents.size() == 1);
  scratch.put(dictionary("<f4", "True", "(2, 3, 4)"), 24 * 4);
  CHECK_THROWS_WITH(read_npy_array(scratch.file), doctest::Contains("Fortran order"));
  scratch.put(dictionary("<f4", "False", "(2, 3, 2, 2)"), 24 * 4);
  CHECK_THROWS_WITH(read_npy_array(scratch.file), doctest::Contains("three dimensions"));
  scratch.put(dictionary("<f4", "False", "()"), 4);
  CHECK_THROWS_AS(read_npy_array(scratch.file), Error);
}
