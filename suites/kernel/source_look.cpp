#include "suites/kernel/source_look.hpp"

#include <algorithm>

namespace mgpu::kernel {
namespace {

using Words = std::vector<std::string>;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string without_comments(const std::string& text) {
  std::string code;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string::npos ? text.size() : end + 2;
      code += ' ';
    } else {
      code += text[at++];
    }
  }
  return code;
}

// Splits code into words and single characters.
Words words_of(const std::string& code) {
  Words words;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = at;
    while (end < code.size() && is_word(code[end])) ++end;
    if (end > at) {
      words.push_back(code.substr(at, end - at));
      at = end;
    } else {
      if (code[at] != ' ' && code[at] != '\t' && code[at] != '\n' && code[at] != '\r')
        words.emplace_back(1, code[at]);
      ++at;
    }
  }
  return words;
}

// A function as words: those from its head's first word on, and the ranges of its parameters and
// body within them.
struct Function {
  Words words;
  std::size_t parameters = 0, body = 0;  // after "(" and after "{"
};

// Words with positions outside of them empty.
class Tokens {
 public:
  explicit Tokens(const Words& words) : words_(words) {}
  const std::string& at(std::size_t i) const {
    static const std::string none;
    return i < words_.size() ? words_[i] : none;
  }
  bool is(std::size_t i, const char* word) const { return at(i) == word; }
  // Returns the place of the bracket that closes the one at `open`.
  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < words_.size(); ++i) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) ++depth;
      if (is(i, ")") || is(i, "]") || is(i, "}")) --depth;
      if (depth == 0) return i;
    }
    return words_.size();
  }
  // Returns the place of the "(" or "[" around `i`; npos: a statement is around it.
  std::size_t around(std::size_t i) const {
    int depth = 0;
    while (i-- > 0) {
      if (is(i, ";") || is(i, "{") || is(i, "}")) break;
      if (is(i, ")") || is(i, "]")) ++depth;
      if ((is(i, "(") || is(i, "[")) && depth-- == 0) return i;
    }
    return std::string::npos;
  }
  std::size_t size() const { return words_.size(); }

 private:
  const Words& words_;
};

bool is_name(const std::string& word) {
  return !word.empty() && is_word(word[0]) && !(word[0] >= '0' && word[0] <= '9');
}

// Finds the definition of a function; its head begins at the end of what is before it.
std::optional<Function> function_in(const Words& words, const std::string& name) {
  const Tokens read(words);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != name || !read.is(i + 1, "(")) continue;
    std::size_t open = read.closing(i + 1) + 1;
    while (open < words.size() && !read.is(open, "{") && !read.is(open, ";")) ++open;
    if (!read.is(open, "{") || open > read.closing(i + 1) + 16) continue;
    std::size_t head = i;
    while (head > 0 && !read.is(head - 1, "}") && !read.is(head - 1, ";")) --head;
    const std::size_t end = read.closing(open);
    Function made;
    made.words.assign(words.begin() + static_cast<std::ptrdiff_t>(head),
                      words.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, words.size())));
    made.parameters = i + 2 - head;
    made.body = open + 1 - head;
    return made;
  }
  return std::nullopt;
}

// Returns the argument number that `place` is in, of the call whose bracket is at `open`.
std::size_t argument_number(const Tokens& read, std::size_t open, std::size_t place) {
  std::size_t number = 0;
  for (std::size_t i = open + 1; i < place; ++i) {
    if (read.is(i, "(") || read.is(i, "[")) {
      const std::size_t end = read.closing(i);
      if (end < place) i = end;
    }
    number += read.is(i, ",") && read.around(i) == open;
  }
  return number;
}

// Tells whether a function of the text declares that parameter const.
bool takes_const(const Words& words, const std::string& name, std::size_t number) {
  const auto function = function_in(words, name);
  if (!function) return false;
  const Tokens read(function->words);
  const std::size_t open = function->parameters - 1, end = read.closing(open);
  for (std::size_t i = open + 1; i < end; ++i) {
    if (read.is(i, "const") && argument_number(read, open, i) == number) return true;
  }
  return false;
}

// Looks at the uses of one kernel's parameters.
class Look {
 public:
  Look(const Words& text, const Function& kernel)
      : text_(text), kernel_(kernel), read_(kernel.words) {
    for (std::size_t i = kernel.body; i < read_.size(); ++i) {
      const std::string& word = read_.at(i);
      const bool asks = word == "get_global_id" || word == "get_local_id" ||
                        word == "get_group_id" || word == "get_global_size" ||
                        word == "get_local_size" || word == "get_num_groups";
      if (asks && read_.is(i + 1, "(") && read_.is(i + 3, ")")) {
        if (read_.is(i + 2, "1")) look_.dimensions = std::max(look_.dimensions, 2u);
        if (read_.is(i + 2, "2")) look_.dimensions = std::max(look_.dimensions, 3u);
      }
      look_.uses_groups |= word == "get_local_id" || word == "get_group_id" ||
                           word == "get_local_size" || word == "get_num_groups" ||
                           word == "barrier" || word == "work_group_barrier" || word == "__local" ||
                           word == "local" || word.starts_with("async_work_group");
    }
    for (std::size_t i = 0; i + 1 < kernel.parameters; ++i) {
      if (!read_.is(i, "reqd_work_group_size")) continue;
      for (std::size_t k = i + 2; k < read_.closing(i + 1); k += 2)
        look_.group.push_back(read_.at(k));
    }
    look_.group.resize(std::min<std::size_t>(look_.group.size(), look_.dimensions));
  }

  KernelLook take(const Words& arrays, const Words& values) {
    for (const std::string& name : arrays) look_.arrays[name] = array(name);
    for (const std::string& name : values) look_.values[name] = value(name);
    return look_;
  }

 private:
  // Returns the dimension whose global index the word at `i`, or the call there, is.
  std::optional<unsigned> index_at(std::size_t i) const {
    if (read_.is(i, "get_global_id") && read_.is(i + 3, ")"))
      return static_cast<unsigned>(read_.at(i + 2)[0] - '0');
    const std::string& name = read_.at(i);
    if (!is_name(name)) return std::nullopt;
    // A variable that is assigned once: its definition.
    std::optional<unsigned> found;
    std::size_t assigned = 0;
    for (std::size_t k = kernel_.body; k < read_.size(); ++k) {
      if (read_.at(k) != name || read_.is(k - 1, ".")) continue;
      std::size_t after = k + 1;
      const bool steps = (read_.is(after, "+") && read_.is(after + 1, "+")) ||
                         (read_.is(after, "-") && read_.is(after + 1, "-")) ||
                         (read_.is(k - 1, "+") && read_.is(k - 2, "+")) ||
                         (read_.is(k - 1, "-") && read_.is(k - 2, "-"));
      const bool compound = !read_.is(after, "=") && read_.is(after + 1, "=") &&
                            std::string("+-*/%&|^").find(read_.at(after)) != std::string::npos;
      const bool sets = read_.is(after, "=") && !read_.is(after + 1, "=");
      if (!sets && !compound && !steps) continue;
      ++assigned;
      ++after;
      while (read_.is(after, "(") && read_.is(after + 2, ")") && read_.at(after + 1) != "")
        after += 3;
      if (sets && read_.is(after, "get_global_id") && read_.is(after + 3, ")") &&
          (read_.is(after + 4, ";") || read_.is(after + 4, ",")))
        found = static_cast<unsigned>(read_.at(after + 2)[0] - '0');
    }
    return assigned == 1 ? found : std::nullopt;
  }

  std::size_t after_term(std::size_t i) const {
    return read_.is(i, "get_global_id") ? i + 4 : i + 1;
  }

  // Reads the index between `open` and `close`: i, or y * pitch + x in either order.
  bool read_index(std::size_t open, std::size_t close, ArrayUse& use) const {
    std::size_t begin = open + 1;
    if (const auto only = index_at(begin); only && after_term(begin) == close)
      return *only + 1 == look_.dimensions && look_.dimensions == 1;
    if (look_.dimensions != 2) return false;
    const auto is_row = [&](std::size_t from, std::size_t to, std::string& pitch) {
      const bool bracket = read_.is(from, "(") && read_.closing(from) + 1 == to;
      if (bracket) ++from, --to;
      const auto first = index_at(from);
      const std::size_t times = first ? after_term(from) : from + 1;
      if (!read_.is(times, "*")) return false;
      const auto second = index_at(times + 1);
      if (first && *first == 1 && times + 2 == to)
        pitch = read_.at(times + 1);
      else if (second && *second == 1 && after_term(times + 1) == to)
        pitch = read_.at(from);
      else
        return false;
      return !pitch.empty();
    };
    for (std::size_t plus = begin; plus < close; ++plus) {
      if (!read_.is(plus, "+") || read_.around(plus) != open) continue;
      std::string pitch;
      const auto left = index_at(begin), right = index_at(plus + 1);
      const bool row_first =
          right && *right == 0 && after_term(plus + 1) == close && is_row(begin, plus, pitch);
      const bool row_last = !row_first && left && *left == 0 && after_term(begin) == plus &&
                            is_row(plus + 1, close, pitch);
      if (!row_first && !row_last) return false;
      if (!use.pitch.empty() && use.pitch != pitch) return false;
      use.pitch = pitch;
      return true;
    }
    return false;
  }

  // Returns what follows an element that ends before `i`: '=': a store, '+': a change, 0: neither.
  char change_at(std::size_t i) const {
    while (read_.is(i, "[") || read_.is(i, "."))
      i = read_.is(i, "[") ? read_.closing(i) + 1 : i + 2;
    const std::string &one = read_.at(i), &two = read_.at(i + 1), &three = read_.at(i + 2);
    if (one == "=") return two == "=" ? '\0' : '=';
    if ((one == "<" || one == ">") && two == one && three == "=") return '+';
    const bool operand = three == "(" || (!three.empty() && is_word(three[0]));  // a[i] - -b
    if ((one == "+" || one == "-") && two == one) return operand ? '\0' : '+';
    const bool compound =
        one.size() == 1 && std::string("+-*/%&|^").find(one) != std::string::npos && two == "=";
    return compound ? '+' : '\0';
  }

  // Notes what a call does with the array in one of its arguments.
  void note_call(const std::string& function, std::size_t number, ArrayUse& use,
                 std::vector<std::string>& atomics) const {
    const auto starts = [&](const char* word) { return function.starts_with(word); };
    if (starts("atomic_") || starts("atom_")) {
      use.reads = use.writes = true;
      std::string what = function.substr(function.find('_') + 1);
      if (what == "inc" || what == "sub" || what == "dec") what = "add";
      atomics.push_back(what);
    } else if (starts("vstore")) {
      use.writes = true;
      atomics.emplace_back();
    } else if (starts("vload") || function == "prefetch") {
      use.reads = true;
    } else if (starts("async_work_group")) {
      (number == 0 ? use.writes : use.reads) = true;
      if (number == 0) atomics.emplace_back();
    } else if (takes_const(text_, function, number)) {
      use.reads = true;
    } else {
      use.unclear = true;
    }
  }

  ArrayUse array(const std::string& name) const {
    ArrayUse use;
    std::vector<std::string> atomics;  // of each write; empty: none
    bool named = false, by_index = true;
    for (std::size_t i = kernel_.body; i < read_.size(); ++i) {
      if (read_.at(i) != name || read_.is(i - 1, ".")) continue;
      named = true;
      const bool indexed = read_.is(i + 1, "[");
      const bool address = read_.is(i - 1, "&") && !is_name(read_.at(i - 2)) &&
                           !read_.is(i - 2, ")") && !read_.is(i - 2, "]") && !read_.is(i - 2, "&");
      const std::size_t open = read_.around(i);
      const bool in_call = open != std::string::npos && read_.is(open, "(") && open > 0 &&
                           is_name(read_.at(open - 1)) && !read_.is(open - 1, "if") &&
                           !read_.is(open - 1, "while") && !read_.is(open - 1, "for") &&
                           !read_.is(open - 1, "return");
      if (indexed) by_index &= read_index(i + 1, read_.closing(i + 1), use);
      if (indexed && !address) {
        const char change = change_at(i + 1);
        const bool stepped = (read_.is(i - 1, "+") && read_.is(i - 2, "+")) ||
                             (read_.is(i - 1, "-") && read_.is(i - 2, "-"));
        use.writes |= change != 0 || stepped;
        use.reads |= change != '=' || stepped;
        if (change != 0 || stepped) atomics.emplace_back();
        continue;
      }
      if (!indexed) by_index = false;
      // *p = .. and *(p + i) = ..
      const bool pointed =
          !indexed && (read_.is(i - 1, "*") || (open != std::string::npos && !in_call &&
                                                read_.is(open, "(") && read_.is(open - 1, "*")));
      if (pointed) {
        const char change = change_at(read_.is(i - 1, "*") ? i + 1 : read_.closing(open) + 1);
        use.writes |= change != 0;
        use.reads |= change != '=';
        if (change != 0) atomics.emplace_back();
      } else if (in_call) {
        note_call(read_.at(open - 1), argument_number(read_, open, i), use, atomics);
      } else {
        use.unclear = true;  // another pointer gets its address
      }
    }
    use.unclear |= !named;
    use.by_index = named && by_index && !use.unclear;
    if (!use.by_index) use.pitch.clear();
    if (!atomics.empty() && !use.unclear && !atomics.front().empty() &&
        std::count(atomics.begin(), atomics.end(), atomics.front()) ==
            static_cast<std::ptrdiff_t>(atomics.size()))
      use.atomic = atomics.front();
    return use;
  }

  ValueUse value(const std::string& name) const {
    ValueUse use;
    for (std::size_t i = kernel_.body; i < read_.size(); ++i) {
      if (read_.at(i) != name || read_.is(i - 1, ".")) continue;
      // index < name, name > index, index >= name, name <= index
      std::optional<unsigned> found;
      const bool before = read_.is(i - 1, "<") || (read_.is(i - 1, "=") && read_.is(i - 2, ">"));
      const bool after = read_.is(i + 1, ">") || (read_.is(i + 1, "<") && read_.is(i + 2, "="));
      if (before) {
        std::size_t left = i - (read_.is(i - 1, "<") ? 2 : 3);
        if (read_.is(left, ")") && read_.is(left - 3, "get_global_id")) left -= 3;
        found = index_at(left);
      } else if (after) {
        found = index_at(i + (read_.is(i + 1, ">") ? 2 : 3));
      }
      if (found && (!use.bounds || *use.bounds == *found))
        use.bounds = found;
      else
        use.otherwise = true;
    }
    return use;
  }

  const Words& text_;
  const Function& kernel_;
  const Tokens read_;
  KernelLook look_;
};

}  // namespace

std::vector<std::string> kernels_in(const std::string& text) {
  const Words words = words_of(without_comments(text));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "__kernel" && words[i] != "kernel") continue;
    for (std::size_t at = i + 1; at + 1 < words.size() && words[at] != "{" && words[at] != ";";
         ++at) {
      const std::string& word = words[at];
      const bool name = is_word(word[0]) && word != "void" && word != "__attribute__" &&
                        words[at + 1] == "(" && words[at - 1] != "(";
      if (!name) continue;
      names.push_back(word);
      break;
    }
  }
  return names;
}

KernelLook look_at(const std::string& text, const std::string& entry, const Words& arrays,
                   const Words& values) {
  const Words words = words_of(without_comments(text));
  const auto kernel = function_in(words, entry);
  if (kernel) return Look(words, *kernel).take(arrays, values);
  KernelLook look;
  for (const std::string& name : arrays) look.arrays[name].unclear = true;
  for (const std::string& name : values) look.values[name].otherwise = true;
  return look;
}

std::string type_behind(const std::string& text, const std::string& name) {
  const Words words = words_of(without_comments(text));
  const Tokens read(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "typedef") continue;
    std::size_t end = i;
    while (end < words.size() && !read.is(end, ";") && !read.is(end, "{")) ++end;
    if (!read.is(end, ";") || read.at(end - 1) != name) continue;
    std::string type;
    for (std::size_t k = i + 1; k + 1 < end; ++k) type += words[k];
    return type;
  }
  return "";
}

}  // namespace mgpu::kernel
