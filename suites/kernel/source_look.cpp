#include "suites/kernel/source_look.hpp"

#include <algorithm>
#include <initializer_list>
#include <regex>
#include <string_view>

namespace mgpu::kernel {
namespace {

constexpr std::size_t kNone = std::string::npos;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(const std::string& token) {
  return !token.empty() && is_word(token[0]) && !(token[0] >= '0' && token[0] <= '9');
}

bool is_one_of(std::string_view token, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), token) != all.end();
}

bool is_step(std::string_view token) { return is_one_of(token, {"++", "--"}); }

// Tells whether it is an assignment, such as = or +=.
bool assigns(std::string_view token) {
  return token.ends_with('=') && !is_one_of(token, {"==", "!=", "<=", ">="});
}

// Returns the length of the operator at a place of the text.
std::size_t operator_at(const std::string& text, std::size_t at) {
  for (const std::string_view one :
       {"<<=", ">>=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
        "^=",  "==",  "!=", "<=", ">=", "<<", ">>", "&&", "||", "->"}) {
    if (text.compare(at, one.size(), one) == 0) return one.size();
  }
  return 1;
}

// The tokens of a text, without comments: words, numbers and operators. Those outside are empty.
class Code {
 public:
  explicit Code(const std::string& text) {
    for (std::size_t at = 0, end; at < text.size(); at = end) {
      end = at;
      if (text.compare(at, 2, "//") == 0) {
        end = std::min(text.find('\n', at), text.size());
      } else if (text.compare(at, 2, "/*") == 0) {
        end = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
      } else if (std::string_view(" \t\r\n").find(text[at]) != kNone) {
        ++end;
      } else {
        while (end < text.size() && is_word(text[end])) ++end;
        if (end == at) end += operator_at(text, at);
        tokens_.push_back(text.substr(at, end - at));
      }
    }
  }
  const std::string& operator[](std::size_t i) const {
    static const std::string none;
    return i < tokens_.size() ? tokens_[i] : none;
  }
  std::size_t size() const { return tokens_.size(); }
  // Returns the place of the bracket that closes the one at `open`.
  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < size(); ++i) {
      depth += is_one_of(tokens_[i], {"(", "[", "{"}) - is_one_of(tokens_[i], {")", "]", "}"});
      if (depth == 0) return i;
    }
    return size();
  }
  // Returns the place of the "(" or "[" around `i`; kNone: a statement is around it.
  std::size_t around(std::size_t i) const {
    int depth = 0;
    while (i-- > 0 && !is_one_of(tokens_[i], {";", "{", "}"})) {
      if (is_one_of(tokens_[i], {")", "]"})) ++depth;
      if (is_one_of(tokens_[i], {"(", "["}) && depth-- == 0) return i;
    }
    return kNone;
  }

 private:
  std::vector<std::string> tokens_;
};

// Places of a function's definition: its first token, the "(" of its parameters, the "{" of its
// body and the end of that.
struct Function {
  std::size_t head = 0, open = 0, body = 0, end = 0;
};

std::optional<Function> function_in(const Code& code, const std::string& name) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] != name || code[i + 1] != "(") continue;
    const std::size_t body = code.closing(i + 1) + 1;
    if (code[body] != "{") continue;
    std::size_t head = i;
    while (head > 0 && !is_one_of(code[head - 1], {"}", ";"})) --head;
    return Function{head, i + 1, body, code.closing(body)};
  }
  return std::nullopt;
}

// Returns the number of the argument or parameter at `place`, in the bracket at `open`.
std::size_t number_of(const Code& code, std::size_t open, std::size_t place) {
  std::size_t number = 0;
  for (std::size_t i = open + 1; i < place; ++i) number += code[i] == "," && code.around(i) == open;
  return number;
}

// Tells whether a function of the text declares that parameter const.
bool takes_const(const Code& code, const std::string& name, std::size_t number) {
  const auto function = function_in(code, name);
  for (std::size_t i = function ? function->open : code.size(); i < code.size(); ++i) {
    if (i >= function->body) break;
    if (code[i] == "const" && number_of(code, function->open, i) == number) return true;
  }
  return false;
}

// Looks at the uses of one kernel's parameters.
class Look {
 public:
  Look(const Code& code, const Function& kernel) : code_(code), kernel_(kernel) {
    for (std::size_t i = kernel.body; i < kernel.end; ++i) {
      const std::string& word = code[i];
      const bool of_group =
          is_one_of(word, {"get_local_id", "get_group_id", "get_local_size", "get_num_groups"});
      if (of_group || is_one_of(word, {"get_global_id", "get_global_size"}))
        look_.dimensions = std::max(look_.dimensions, code[i + 2] == "2"   ? 3U
                                                      : code[i + 2] == "1" ? 2U
                                                                           : 1U);
      look_.uses_groups |= of_group || word.starts_with("async_work_group") ||
                           is_one_of(word, {"barrier", "work_group_barrier", "__local", "local"});
    }
    for (std::size_t i = kernel.head; i < kernel.open; ++i) {
      if (code[i] != "reqd_work_group_size") continue;
      for (unsigned d = 0; d < look_.dimensions; ++d) look_.group.push_back(code[i + 2 + 2 * d]);
    }
  }

  KernelLook take(const std::vector<std::string>& arrays, const std::vector<std::string>& values) {
    for (const std::string& name : arrays) look_.arrays[name] = array(name);
    for (const std::string& name : values) look_.values[name] = value(name);
    return look_;
  }

 private:
  std::vector<std::size_t> places_of(const std::string& name) const {
    std::vector<std::size_t> places;
    for (std::size_t i = kernel_.body; i < kernel_.end; ++i)
      if (code_[i] == name && !is_one_of(code_[i - 1], {".", "->"})) places.push_back(i);
    return places;
  }

  bool is_call_of_id(std::size_t i) const {
    return code_[i] == "get_global_id" && code_[i + 3] == ")" && code_[i + 2].size() == 1;
  }

  // Returns the dimension whose global index the token at `i`, or the call there, is: a variable
  // has it if its one assignment is its definition.
  std::optional<unsigned> index_at(std::size_t i) const {
    if (is_call_of_id(i)) return static_cast<unsigned>(code_[i + 2][0] - '0');
    if (!is_name(code_[i])) return std::nullopt;
    std::optional<unsigned> found;
    std::size_t assigned = 0;
    for (const std::size_t at : places_of(code_[i])) {
      const bool steps = is_step(code_[at - 1]) || is_step(code_[at + 1]);
      if (!steps && !assigns(code_[at + 1])) continue;
      ++assigned;
      std::size_t from = at + 2;
      while (code_[from] == "(" && code_[from + 2] == ")") from += 3;  // casts
      if (code_[at + 1] == "=" && is_call_of_id(from) && is_one_of(code_[from + 4], {";", ","}))
        found = index_at(from);
    }
    return assigned == 1 ? found : std::nullopt;
  }

  // Reads the index in the bracket at `open`: i, or y * pitch + x in any order.
  bool read_index(std::size_t open, ArrayUse& use) const {
    std::string index;  // @0 and @1: the work-item's
    for (std::size_t i = open + 1; i < code_.closing(open); ++i) {
      const auto dimension = index_at(i);
      index += dimension ? "@" + std::to_string(*dimension) : code_[i];
      if (dimension && is_call_of_id(i)) i += 3;
    }
    if (look_.dimensions == 1) return index == "@0";
    static const std::string row = R"((?:@1\*(\w+)|(\w+)\*@1|\(@1\*(\w+)\)|\((\w+)\*@1\)))";
    static const std::regex first(row + R"(\+@0)"), last(R"(@0\+)" + row);
    std::smatch match;
    const bool is_row = look_.dimensions == 2 && (std::regex_match(index, match, first) ||
                                                  std::regex_match(index, match, last));
    std::string pitch;
    for (std::size_t i = 1; is_row && i < match.size(); ++i) pitch += match[i].str();
    if (!is_row || (!use.pitch.empty() && use.pitch != pitch)) return false;
    use.pitch = pitch;
    return true;
  }

  ArrayUse array(const std::string& name) const {
    ArrayUse use;
    std::vector<std::string> writers;  // atomic function of each write; empty: none
    use.by_index = true;
    const auto note = [&](bool reads, bool writes, const std::string& atomic = "") {
      use.reads |= reads;
      use.writes |= writes;
      if (writes) writers.push_back(atomic);
    };
    // Notes what becomes of an element that ends before `i`, and whose name is at `begin`.
    const auto note_element = [&](std::size_t begin, std::size_t i) {
      while (is_one_of(code_[i], {"[", "."})) i = code_[i] == "[" ? code_.closing(i) + 1 : i + 2;
      const bool steps = is_step(code_[i]) || is_step(code_[begin - 1]);
      note(steps || code_[i] != "=", steps || assigns(code_[i]));
    };
    const auto note_call = [&](const std::string& function, std::size_t number) {
      const auto starts = [&](const char* word) { return function.starts_with(word); };
      if (starts("atomic_") || starts("atom_")) {
        const std::string what = function.substr(function.find('_') + 1);
        note(true, true, is_one_of(what, {"inc", "sub", "dec"}) ? "add" : what);
      } else if (starts("vstore") || (starts("async_work_group") && number == 0)) {
        note(false, true);
      } else if (starts("vload") || starts("async_work_group") || function == "prefetch" ||
                 takes_const(code_, function, number)) {
        note(true, false);
      } else {
        use.unclear = true;
      }
    };
    const std::vector<std::size_t> places = places_of(name);
    for (const std::size_t i : places) {
      const bool indexed = code_[i + 1] == "[";
      const bool has_operand = is_name(code_[i - 2]) || is_one_of(code_[i - 2], {")", "]"});
      const bool address = code_[i - 1] == "&" && !has_operand;
      const std::size_t open = code_.around(i);
      const bool in_brackets = open != kNone && code_[open] == "(";
      const std::string& caller = in_brackets ? code_[open - 1] : code_[code_.size()];
      use.by_index &= indexed && read_index(i + 1, use);
      if (indexed && !address) {
        note_element(i, i + 1);
      } else if (!indexed && code_[i - 1] == "*") {  // *p = ..
        note_element(i - 1, i + 1);
      } else if (!indexed && caller == "*") {  // *(p + i) = ..
        note_element(open - 1, code_.closing(open) + 1);
      } else if (is_name(caller) && !is_one_of(caller, {"if", "while", "for", "return"})) {
        note_call(caller, number_of(code_, open, i));
      } else {
        use.unclear = true;  // another pointer gets its address
      }
    }
    use.unclear |= places.empty();
    use.by_index &= !use.unclear;
    if (!use.by_index) use.pitch.clear();
    const bool alike =
        std::adjacent_find(writers.begin(), writers.end(), std::not_equal_to<>()) == writers.end();
    if (!use.unclear && !writers.empty() && alike) use.atomic = writers.front();
    return use;
  }

  ValueUse value(const std::string& name) const {
    ValueUse use;
    for (const std::size_t i : places_of(name)) {
      std::optional<unsigned> found;
      if (is_one_of(code_[i - 1], {"<", ">="}))
        found = index_at(is_call_of_id(i - 5) ? i - 5 : i - 2);
      else if (is_one_of(code_[i + 1], {">", "<="}))
        found = index_at(i + 2);
      if (found && (!use.bounds || *use.bounds == *found))
        use.bounds = found;
      else
        use.otherwise = true;
    }
    return use;
  }

  const Code& code_;
  const Function kernel_;
  KernelLook look_;
};

}  // namespace

std::vector<std::string> kernels_in(const std::string& text) {
  const Code code(text);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!is_one_of(code[i], {"__kernel", "kernel"})) continue;
    for (std::size_t at = i + 1; at < code.size() && !is_one_of(code[at], {"{", ";"}); ++at) {
      if (code[at + 1] != "(" || code[at - 1] == "(" || !is_name(code[at]) ||
          code[at] == "__attribute__")
        continue;
      names.push_back(code[at]);
      break;
    }
  }
  return names;
}

KernelLook look_at(const std::string& text, const std::string& entry,
                   const std::vector<std::string>& arrays, const std::vector<std::string>& values) {
  const Code code(text);
  if (const auto kernel = function_in(code, entry)) return Look(code, *kernel).take(arrays, values);
  KernelLook look;
  for (const std::string& name : arrays) look.arrays[name].unclear = true;
  for (const std::string& name : values) look.values[name].otherwise = true;
  return look;
}

std::string type_behind(const std::string& text, const std::string& name) {
  std::smatch found;
  const std::regex alias(R"(\btypedef\s+([\w\s]+?)\s+)" + name + R"(\s*;)");
  if (!std::regex_search(text, found, alias)) return "";
  std::string type = found[1];
  std::erase_if(type, [](char c) { return !is_word(c); });
  return type;
}

}  // namespace mgpu::kernel
