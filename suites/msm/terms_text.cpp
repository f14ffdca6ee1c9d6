#include "suites/msm/terms_text.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu::msm {
namespace {

using Json = nlohmann::json;

std::string json_term(std::uint64_t i) { return "term " + std::to_string(i) + ": "; }

// Reads a document event by event. A tree would silently keep one of two values of a key, and take
// three times the memory.
class JsonReader final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonReader(const std::filesystem::path& file) : file_(file) {}

  bool start_object(std::size_t) override {
    if (place_ == Place::before) {
      place_ = Place::document;
    } else if (place_ == Place::list) {
      place_ = Place::term;
      seen_ = {};
      text_.terms.emplace_back();
    } else {
      refuse_value();
    }
    return true;
  }
  bool end_object() override {
    if (place_ == Place::term) {
      for (std::size_t i = 0; i < term_keys.size(); ++i) {
        if (!seen_[i]) refuse(where() + "\"" + std::string(term_keys[i]) + "\" is missing");
      }
      place_ = Place::list;
    } else {
      if (!text_.curve) refuse("\"curve\" is missing");
      if (!terms_seen_) refuse("\"terms\" is missing");
      place_ = Place::after;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ != Place::document || key_ != "terms") refuse_value();
    place_ = Place::list;
    return true;
  }
  bool end_array() override {
    place_ = Place::document;
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    if (place_ == Place::term) {
      const auto found = std::find(term_keys.begin(), term_keys.end(), name);
      if (found == term_keys.end())
        refuse(where() + in_quotes(name) + " is unknown; expected: scalar, x, y");
      bool& seen = seen_[static_cast<std::size_t>(found - term_keys.begin())];
      if (seen) refuse(where() + in_quotes(name) + " is given twice");
      seen = true;
    } else {
      if (name != "curve" && name != "terms")
        refuse(in_quotes(name) + " is unknown; expected: curve, terms");
      if (name == "curve" ? text_.curve.has_value() : terms_seen_)
        refuse(in_quotes(name) + " is given twice");
      terms_seen_ = terms_seen_ || name == "terms";
    }
    return true;
  }
  bool string(string_t& value) override {
    if (place_ == Place::document && key_ == "curve") {
      text_.curve = value;
    } else if (place_ == Place::term) {
      TermText& term = text_.terms.back();
      (key_ == "scalar" ? term.scalar : key_ == "x" ? term.x : term.y) = value;
    } else {
      refuse_value();
    }
    return true;
  }
  bool null() override { refuse_value(); }
  bool boolean(bool) override { refuse_value(); }
  bool number_integer(number_integer_t) override { refuse_value(); }
  bool number_unsigned(number_unsigned_t) override { refuse_value(); }
  bool number_float(number_float_t, const string_t&) override { refuse_value(); }
  bool binary(binary_t&) override { refuse_value(); }
  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int number_out_of_range = 406;  // 1e999
    if (error.id == number_out_of_range) refuse_value();
    refuse("is not JSON: byte " + std::to_string(byte));
  }

  TermsText& text() { return text_; }

 private:
  enum class Place { before, document, list, term, after };
  static constexpr std::array<std::string_view, 3> term_keys{"scalar", "x", "y"};

  std::string where() const { return json_term(text_.terms.size() - 1); }
  [[noreturn]] void refuse(const std::string& why) const { refuse_terms(file_, why); }
  [[noreturn]] void refuse_value() const {
    if (place_ == Place::term)
      refuse(where() + "\"" + key_ +
             "\" is not text; expected: numbers in quotes, \"5\" or \"0x1f\"");
    if (place_ == Place::list)
      refuse(json_term(text_.terms.size()) + "is not an object with scalar, x and y");
    if (place_ == Place::document)
      refuse("\"" + key_ + "\" is not " + (key_ == "terms" ? "an array" : "text"));
    refuse("is not an object with curve and terms");
  }

  const std::filesystem::path& file_;
  TermsText text_;
  Place place_ = Place::before;
  std::string key_;
  bool terms_seen_ = false;
  std::array<bool, 3> seen_{};  // keys of the current term
};

// Splits a line at commas; removes spaces and tabs around each field, then one pair of quotes.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    std::string_view field = line.substr(begin, comma - begin);
    field.remove_prefix(std::min(field.find_first_not_of(" \t"), field.size()));
    field.remove_suffix(field.size() - (field.find_last_not_of(" \t") + 1));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
      field = field.substr(1, field.size() - 2);
    fields.emplace_back(field);
    begin = comma + 1;
  }
  return fields;
}

}  // namespace

void refuse_terms(const std::filesystem::path& file, const std::string& why) {
  throw Error(ErrorKind::input, "--input " + file.string() + ": " + why);
}

std::string csv_term(std::uint64_t i) {
  return "term " + std::to_string(i) + " (line " + std::to_string(i + 2) + "): ";
}

TermsText read_json_terms(std::istream& in, const std::filesystem::path& file) {
  JsonReader reader(file);
  Json::sax_parse(in, &reader);
  return std::move(reader.text());
}

TermsText read_csv_terms(std::istream& in, const std::filesystem::path& file) {
  const std::string accepted =
      "; expected: JSON {\"curve\": .., \"terms\": [..]}, CSV whose first line names scalar, x, y "
      "and perhaps curve, or files "
      "named "
      ".bin or .hex";
  std::string line;
  // Reads the next line; returns false at the end of the file. A line without an end is refused:
  // the rest of a number that was cut off may be another valid number.
  const auto next_line = [&](const std::string& where) {
    if (!std::getline(in, line)) return false;
    if (in.eof())
      refuse_terms(
          file,
          where +
              "the line does not end, as if the file was cut short; expected: lines that all end");
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) refuse_terms(file, where + "the line is empty");
    return true;
  };
  if (!next_line("line 1: ")) refuse_terms(file, "is empty" + accepted);
  const std::vector<std::string> header = fields_of(line);
  std::array<std::optional<std::size_t>, 4> columns;
  constexpr std::array<std::string_view, 4> names{"scalar", "x", "y", "curve"};
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto known = std::find(names.begin(), names.end(), header[i]);
    if (known == names.end())
      refuse_terms(file, "column " + in_quotes(header[i]) + " is unknown" + accepted);
    auto& column = columns[static_cast<std::size_t>(known - names.begin())];
    if (column) refuse_terms(file, "column " + header[i] + " is there twice" + accepted);
    column = i;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (!columns[i])
      refuse_terms(file, "column " + std::string(names[i]) + " is missing" + accepted);
  }
  TermsText text;
  while (next_line(csv_term(text.terms.size()))) {
    std::vector<std::string> values = fields_of(line);
    if (values.size() != header.size()) {
      refuse_terms(file, csv_term(text.terms.size()) + std::to_string(values.size()) +
                             " fields instead of " + std::to_string(header.size()));
    }
    if (columns[3]) {
      const std::string& name = values[*columns[3]];
      if (!text.curve) text.curve = name;
      if (*text.curve != name)
        refuse_terms(file, csv_term(text.terms.size()) + "two curves, " + in_quotes(*text.curve) +
                               " and " + in_quotes(name));
    }
    text.terms.push_back({std::move(values[*columns[0]]), std::move(values[*columns[1]]),
                          std::move(values[*columns[2]])});
  }
  if (in.bad()) refuse_terms(file, "cannot be read to its end");
  return text;
}

}  // namespace mgpu::msm
