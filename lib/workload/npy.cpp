// Parses the header's dictionary in the form that NumPy writes: single quotes, keys in any order.
#include "lib/workload/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/result_file.hpp"

namespace mgpu {
namespace {

// A file, the option that named it, and the numbers and the range of dimensions it must have.
struct Named {
  const std::filesystem::path& file;
  const char* option;
  NpyNumbers numbers = NpyNumbers::real;
  std::size_t least = 2, most = 2;
};

Error bad(const Named& named, const std::string& why) {
  return Error(
      ErrorKind::input,
      named.option + (" " + named.file.string()) + ": " + why + "; expected: .npy of " +
          (named.least == 2 ? "two dimensions, " : "one to three dimensions, three in C order, ") +
          (named.numbers == NpyNumbers::int32   ? "int32 (<i4)"
           : named.numbers == NpyNumbers::words ? "uint32 (<u4) or uint64 (<u8)"
                                                : "float32 (<f4) or float64 (<f8)"));
}

struct Header {
  NpyArray array;
  bool columns_first = false;  // two dimensions in Fortran order
  Bytes data = 0;              // offset of the elements
  std::uint64_t rows() const {
    return std::accumulate(array.extents.begin(), array.extents.end() - 1, std::uint64_t{1},
                           saturating_multiply);
  }
  NpyShape shape() const { return {rows(), array.extents.back(), array.element}; }
};

// Returns the text after 'key': in the dictionary, without leading blanks; empty if the key is
// missing.
std::string_view value_of(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return {};
  const std::size_t colon = dictionary.find(':', at);
  if (colon == std::string_view::npos) return {};
  const std::size_t value = dictionary.find_first_not_of(' ', colon + 1);
  return value == std::string_view::npos ? std::string_view{} : dictionary.substr(value);
}

// Parses "(3, 4)" into 3, 4; returns nothing if the text is no list of at most three counts.
std::vector<std::uint64_t> counts_in(std::string_view text) {
  if (!text.starts_with('(')) return {};
  text = text.substr(1, text.find(')') - 1);
  std::vector<std::uint64_t> counts;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
    if (error != std::errc() || counts.size() == 3) return {};
    counts.push_back(value);
    at = end;
  }
  return counts;
}

char letter_of(NpyNumbers numbers) {
  return numbers == NpyNumbers::int32 ? 'i' : numbers == NpyNumbers::words ? 'u' : 'f';
}

Header parse_dictionary(const Named& named, std::string_view text) {
  Header header;
  NpyArray& array = header.array;
  const std::string_view type = value_of(text, "descr"), order = value_of(text, "fortran_order"),
                         extent = value_of(text, "shape");
  const char letter = letter_of(named.numbers);
  if (type.starts_with(std::string("'<") + letter + "4'")) {
    array.element = 4;
  } else if (letter != 'i' && type.starts_with(std::string("'<") + letter + "8'")) {
    array.element = 8;
  } else {
    throw bad(named, "elements of type " + std::string(type.substr(0, type.find_first_of(",}"))));
  }
  const bool fortran = order.starts_with("True");
  if (!fortran && !order.starts_with("False")) throw bad(named, "no order");
  array.extents = counts_in(extent);
  const std::string said = "shape " + in_quotes(extent.substr(0, extent.find(')') + 1));
  if (array.extents.size() < named.least || array.extents.size() > named.most)
    throw bad(named, said);
  const std::uint64_t most =
      array.extents.size() < 3 ? std::uint64_t{1} << 31 : std::uint64_t{1} << 20;
  for (const std::uint64_t count : array.extents)
    if (count > most) throw bad(named, said + " is too large");
  if (fortran && array.extents.size() == 3) throw bad(named, said + " in Fortran order");
  header.columns_first = fortran && array.extents.size() == 2;
  return header;
}

Header read_header(const Named& named) {
  const std::filesystem::path& file = named.file;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw bad(named, "cannot be read");
  unsigned char start[12] = {};
  in.read(reinterpret_cast<char*>(start), 10);
  if (in.gcount() != 10 || std::string_view(reinterpret_cast<char*>(start), 6) != "\x93NUMPY")
    throw bad(named, "not a .npy file");
  Bytes length = start[8] | start[9] << 8, begin = 10;
  if (start[6] > 1) {  // versions 2 and 3 have a length of four bytes
    in.read(reinterpret_cast<char*>(start) + 10, 2);
    length |= static_cast<Bytes>(start[10]) << 16 | static_cast<Bytes>(start[11]) << 24;
    begin = 12;
  }
  constexpr Bytes longest = Bytes{1} << 20;
  std::string text(static_cast<std::size_t>(std::min(length, longest)), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in || length > longest) throw bad(named, "its header is cut off");
  Header header = parse_dictionary(named, text);
  header.data = begin + length;
  std::error_code error;
  const Bytes size = std::filesystem::file_size(file, error);
  const NpyShape shape = header.shape();
  if (error || size < header.data || size - header.data != shape.bytes()) {
    throw bad(named, "it has " + std::to_string(size) + " bytes, not " +
                         std::to_string(header.data) + " of its header and " +
                         std::to_string(shape.bytes()) + " of a " + std::to_string(shape.rows) +
                         " x " + std::to_string(shape.columns) + " matrix");
  }
  return header;
}

// Reads the columns that follow, a few at a time, into the rows of `to`.
void read_columns(std::istream& in, const NpyShape& shape, std::span<std::byte> to) {
  constexpr Bytes enough = Bytes{16} << 20;
  const Bytes element = shape.element, column = shape.rows * element, row = shape.columns * element;
  if (to.empty()) return;
  const std::uint64_t at_once = std::clamp<std::uint64_t>(enough / column, 1, shape.columns);
  std::vector<std::byte> columns(at_once * column);
  for (std::uint64_t first = 0; first < shape.columns && in; first += at_once) {
    const std::uint64_t count = std::min(at_once, shape.columns - first);
    in.read(reinterpret_cast<char*>(columns.data()), static_cast<std::streamsize>(count * column));
    for (std::uint64_t i = 0; i < shape.rows; ++i)
      for (std::uint64_t j = 0; j < count; ++j)
        std::memcpy(to.data() + i * row + (first + j) * element,
                    columns.data() + j * column + i * element, element);
  }
}

}  // namespace

NpyShape read_npy_shape(const std::filesystem::path& file, const char* option, NpyNumbers numbers) {
  NpyShape shape = read_header({file, option, numbers}).shape();
  shape.numbers = numbers;
  return shape;
}

NpyArray read_npy_array(const std::filesystem::path& file, const char* option) {
  return read_header({file, option, NpyNumbers::real, 1, 3}).array;
}

void read_npy(const std::filesystem::path& file, const NpyShape& shape, std::span<std::byte> to,
              const char* option) {
  const Named named{file, option, shape.numbers, 1, 3};
  const Header header = read_header(named);
  const NpyShape now = header.shape();
  if (now.rows != shape.rows || now.columns != shape.columns || now.element != shape.element)
    throw bad(named, "its shape has changed");
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(header.data));
  if (header.columns_first) {
    read_columns(in, shape, to);
  } else {
    in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  }
  if (!in) throw bad(named, "cannot be read to its end");
}

void write_npy(const std::filesystem::path& file, const NpyShape& shape,
               std::span<const std::byte> elements) {
  std::string text = std::string("{'descr': '<") + letter_of(shape.numbers) +
                     std::to_string(shape.element) + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(shape.rows) + ", " + std::to_string(shape.columns) + "), }";
  // NumPy aligns the elements, so that files can be mapped.
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  write_result_file(file, [&](std::ostream& out) {
    out << "\x93NUMPY" << '\x01' << '\x00' << static_cast<char>(text.size() & 0xff)
        << static_cast<char>(text.size() >> 8) << text;
    out.write(reinterpret_cast<const char*>(elements.data()),
              static_cast<std::streamsize>(elements.size()));
  });
}

}  // namespace mgpu
