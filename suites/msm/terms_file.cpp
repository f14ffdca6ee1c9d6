// Reads files of terms; terms_text.cpp reads the text of JSON and CSV files.
#include "suites/msm/terms_file.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>

#include "lib/base/quote.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/msm/terms_text.hpp"

namespace mgpu::msm {

const char* const terms_file_help =
    "terms as JSON {\"curve\": \"bn254\", \"terms\": [{\"scalar\": \"5\", \"x\": \"0x1\", \"y\": "
    "\"0x2\"}, ..]}; as CSV whose first line names scalar, x, y and perhaps curve, and whose last "
    "line also ends; numbers are decimal, or hexadecimal with 0x; or, in a file named .bin (bytes) "
    "or .hex (digits), x, y and scalar as in EIP-2537 (160 bytes per term) or EIP-196 (96 bytes). "
    "Points are on the curve and in its subgroup, infinity is x = y = 0; scalars are below 2^256, "
    "taken modulo the group order";

namespace {

using Wrong = std::optional<std::string>;

// Terms of a file, independent of its format.
struct Source {
  std::uint64_t count = 0;
  // Each stores its part of term i; called from several threads.
  std::function<Wrong(std::uint64_t i, Scalar&)> scalar;
  std::function<Wrong(std::uint64_t i, std::span<std::byte>)> point;
  std::function<std::string(std::uint64_t i)> name;  // "term 7 (line 9): "
};

class TermsFile {
 public:
  TermsFile(const std::filesystem::path& file, Curve curve)
      : file_(file), curve_(curve), points_(host_points(curve)) {}

  Terms read(Trust trust, unsigned threads) const {
    const Source source = open();
    if (source.count == 0) refuse("holds no terms; expected: one or more");
    Terms terms(curve_, source.count);
    std::vector<Scalar> scalars(source.count);
    check_all(source, threads, [&](std::uint64_t i) {
      const Wrong wrong = source.scalar(i, scalars[i]);
      return wrong ? wrong : source.point(i, terms.point(i));
    });
    if (!subgroup_is_whole_curve(curve_)) check_group(source, terms, scalars, trust, threads);
    terms.take_scalars(std::move(scalars));
    return terms;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { refuse_terms(file_, why); }
  std::string curve_name() const {
    return std::string(curve_names[static_cast<std::size_t>(curve_)]);
  }

  Source open() const {
    std::error_code error;
    if (std::filesystem::is_directory(file_, error)) refuse("is a directory");
    std::ifstream in(file_, std::ios::binary);
    if (!in) refuse("cannot be opened");
    if (file_.extension() == ".bin") return of_bytes(read_bytes(in));
    if (file_.extension() == ".hex") return of_bytes(read_digits(in));
    bool space = false;
    while (std::isspace(in.peek()) != 0) {
      in.get();
      space = true;
    }
    if (in.peek() == '{')
      return of_text(read_json_terms(in, file_),
                     [](std::uint64_t i) { return "term " + std::to_string(i) + ": "; });
    if (space) refuse("begins with white space, and is not JSON");
    return of_text(read_csv_terms(in, file_), csv_term);
  }

  Source of_text(TermsText text, std::string (*name)(std::uint64_t)) const {
    if (text.curve && *text.curve != curve_name())
      refuse("its curve is " + in_quotes(*text.curve) + ", but --curve is " + curve_name());
    const auto terms = std::make_shared<const std::vector<TermText>>(std::move(text.terms));
    Source source;
    source.count = terms->size();
    source.scalar = [terms](std::uint64_t i, Scalar& scalar) -> Wrong {
      const std::string& digits = (*terms)[i].scalar;
      const auto value = parse_number<4>(digits);
      if (!value)
        return "scalar " + in_quotes(digits) +
               " is not a number of up to 256 bits; expected: decimal, or hexadecimal with 0x";
      scalar = *value;
      return std::nullopt;
    };
    source.point = [terms, this](std::uint64_t i, std::span<std::byte> point) {
      return points_.parse((*terms)[i].x, (*terms)[i].y, point);
    };
    source.name = name;
    return source;
  }

  Source of_bytes(std::vector<std::byte> bytes) const {
    const std::size_t scalar_size = sizeof(Scalar), point_size = encoded_bytes(curve_),
                      record = point_size + scalar_size;
    if (bytes.size() % record != 0) {
      refuse("holds " + std::to_string(bytes.size()) + " bytes, which is not a multiple of the " +
             std::to_string(record) + " of a term on " + curve_name() + ": x and y of " +
             std::to_string(point_size / 2) + " each, the scalar of " +
             std::to_string(scalar_size));
    }
    const auto data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    const auto part = [data, record](std::uint64_t i, std::size_t from, std::size_t size) {
      return std::span(*data).subspan(i * record + from, size);
    };
    Source source;
    source.count = data->size() / record;
    source.scalar = [=](std::uint64_t i, Scalar& scalar) -> Wrong {
      scalar = from_big_endian<4>(part(i, point_size, scalar_size));
      return std::nullopt;
    };
    source.point = [=, this](std::uint64_t i, std::span<std::byte> point) {
      return points_.decode(part(i, 0, point_size), point);
    };
    source.name = [record](std::uint64_t i) {
      return "term " + std::to_string(i) + " (byte " + std::to_string(i * record) + "): ";
    };
    return source;
  }

  std::vector<std::byte> read_bytes(std::istream& in) const {
    std::vector<std::byte> bytes;
    constexpr std::size_t at_once = std::size_t{1} << 20;
    while (in) {
      const std::size_t before = bytes.size();
      bytes.resize(before + at_once);
      in.read(reinterpret_cast<char*>(bytes.data() + before),
              static_cast<std::streamsize>(at_once));
      bytes.resize(before + static_cast<std::size_t>(in.gcount()));
    }
    if (in.bad()) refuse("cannot be read to its end");
    return bytes;
  }

  std::vector<std::byte> read_digits(std::istream& in) const {
    std::vector<std::byte> bytes;
    std::string line;
    for (std::uint64_t number = 1; std::getline(in, line); ++number) {
      const std::string where = "line " + std::to_string(number) + ": ";
      if (line.ends_with('\r')) line.pop_back();
      std::string_view digits = line;
      if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
      if (digits.size() % 2 != 0)
        refuse(where + std::to_string(digits.size()) + " hexadecimal digits, half a byte too many");
      for (std::size_t i = 0; i < digits.size(); i += 2) {
        const int high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);
        if (high < 0 || low < 0)
          refuse(where + in_quotes(digits.substr(i, 2)) + " are not two hexadecimal digits");
        bytes.push_back(static_cast<std::byte>(high << 4 | low));
      }
    }
    if (in.bad()) refuse("cannot be read to its end");
    return bytes;
  }

  // Refuses the first term for which check(i) returns an error.
  template <class Check>
  void check_all(const Source& source, unsigned threads, const Check& check) const {
    constexpr std::uint64_t block = 1024;
    struct Found {
      std::uint64_t term = 0;
      Wrong wrong;
    };
    std::vector<Found> found(ceil_div(source.count, block));
    parallel_for(found.size(), threads, [&](std::uint64_t b) {
      for (std::uint64_t i = b * block;
           i < std::min(source.count, (b + 1) * block) && !found[b].wrong; ++i)
        found[b] = {i, check(i)};
    });
    for (const Found& first : found) {
      if (first.wrong) refuse(source.name(first.term) + *first.wrong);
    }
  }

  // Checks a curve that has points outside of the subgroup.
  void check_group(const Source& source, const Terms& terms, std::span<const Scalar> scalars,
                   Trust trust, unsigned threads) const {
    const std::string order = "0x" + to_hex(order_of(curve_));
    if (trust == Trust::nothing) {
      const auto outside = points_.outside_subgroup(terms.point_bytes(0, terms.count()), threads);
      if (!outside) return;
      refuse(source.name(*outside) + "the point is on " + curve_name() +
             ", but not in its subgroup of order " + order +
             "; expected: points of the subgroup, or any on the curve with --trust-input");
    }
    check_all(source, threads, [&](std::uint64_t i) -> Wrong {
      if (less(scalars[i], order_of(curve_))) return std::nullopt;
      return "scalar 0x" + to_hex(scalars[i]) + " is not below the group order " + order +
             ", and to reduce it takes points that are known to be in the subgroup; expected with "
             "--trust-input: scalars below it";
    });
  }

  const std::filesystem::path& file_;
  Curve curve_;
  const HostPoints& points_;
};

}  // namespace

Terms terms_from_file(const std::filesystem::path& file, Curve curve, Trust trust,
                      unsigned threads) {
  return TermsFile(file, curve).read(trust, threads);
}

}  // namespace mgpu::msm
