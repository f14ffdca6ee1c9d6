// Terms from JSON and CSV files.
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "suites/msm/terms.hpp"

namespace mgpu::msm {
namespace {

using Json = nlohmann::json;

struct Term {
  std::string scalar, x, y;
};

struct Reader {
  const std::filesystem::path& file;
  std::optional<std::string> curve;  // where the file names one
  std::vector<Term> terms;

  [[noreturn]] void refuse(const std::string& why) const { throw Error(ErrorKind::input, "--input " + file.string() + ": " + why); }
  void name_curve(const std::string& name) {
    if (curve && *curve != name) refuse("two curves, " + in_quotes(*curve) + " and " + in_quotes(name));
    curve = name;
  }
  void read();
  void read_json(std::istream& in);
  void read_csv(std::istream& in);
};

// By its first character: a JSON document is an object.
void Reader::read() {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse("is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse("cannot be opened");
  in >> std::ws;
  if (in.peek() == '{') {
    read_json(in);
  } else {
    read_csv(in);
  }
}

void Reader::read_json(std::istream& in) {
  Json document;
  try {
    document = Json::parse(in);
  } catch (const Json::parse_error& error) {
    refuse("is no JSON: byte " + std::to_string(error.byte));
  }
  const auto text = [&](const Json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) refuse(where + "\"" + key + "\" is missing or no text");
    return found->get<std::string>();
  };
  name_curve(text(document, "curve", ""));
  const auto list = document.find("terms");
  if (list == document.end() || !list->is_array()) refuse("\"terms\" is missing or no array");
  terms.reserve(list->size());
  for (const Json& term : *list) {
    const std::string where = "term " + std::to_string(terms.size()) + ": ";
    if (!term.is_object()) refuse(where + "is no object with scalar, x and y");
    terms.push_back({text(term, "scalar", where), text(term, "x", where), text(term, "y", where)});
  }
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> all(1);
  for (const char c : line) {
    if (c == ',') {
      all.emplace_back();
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '"') {
      all.back() += c;
    }
  }
  return all;
}

void Reader::read_csv(std::istream& in) {
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> header = fields(line);
  const std::string accepted =
      "accepted: JSON {\"curve\": .., \"terms\": [..]}, or CSV whose first line names scalar, x, y and perhaps curve";
  std::array<std::optional<std::size_t>, 4> columns;
  constexpr std::array<std::string_view, 4> names{"scalar", "x", "y", "curve"};
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto known = std::find(names.begin(), names.end(), header[i]);
    if (known == names.end()) refuse("column " + in_quotes(header[i]) + " is unknown; " + accepted);
    columns[static_cast<std::size_t>(known - names.begin())] = i;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (!columns[i]) refuse("column " + std::string(names[i]) + " is missing; " + accepted);
  }
  while (std::getline(in, line)) {
    const std::vector<std::string> values = fields(line);
    if (values.size() == 1 && values[0].empty()) continue;
    if (values.size() != header.size())
      refuse("term " + std::to_string(terms.size()) + ": " + std::to_string(values.size()) + " fields instead of " +
             std::to_string(header.size()));
    terms.push_back({values[*columns[0]], values[*columns[1]], values[*columns[2]]});
    if (columns[3]) name_curve(values[*columns[3]]);
  }
  if (in.bad()) refuse("cannot be read to its end");
}

// Of a number below 2^256: 2^256 is less than six times the smaller order.
Scalar reduced(Scalar s, const Scalar& order) {
  std::uint64_t borrow = 0;
  while (!less(s, order)) s = subtract(s, order, borrow);
  return s;
}

}  // namespace

Terms terms_from_file(const std::filesystem::path& file, Curve curve) {
  Reader reader{file, {}, {}};
  reader.read();
  const std::string name(curve_names[static_cast<std::size_t>(curve)]);
  if (reader.curve && *reader.curve != name) reader.refuse("its curve is " + in_quotes(*reader.curve) + ", but --curve is " + name);
  Terms terms(curve, reader.terms.size());
  const HostPoints& points = host_points(curve);
  const Scalar order = order_of(curve);
  for (std::size_t i = 0; i < reader.terms.size(); ++i) {
    const Term& term = reader.terms[i];
    const std::string where = "term " + std::to_string(i) + ": ";
    const auto scalar = parse_hex<4>(term.scalar);
    if (!scalar) reader.refuse(where + "scalar " + in_quotes(term.scalar) + " is no hexadecimal number of up to 256 bits");
    terms.scalars()[i] = reduced(*scalar, order);
    if (const auto wrong = points.parse(term.x, term.y, terms.point(i))) reader.refuse(where + *wrong);
  }
  return terms;
}

}  // namespace mgpu::msm
