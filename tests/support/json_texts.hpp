// JSON documents as texts: with them, tests change, remove and read single values given in tables,
// without including a JSON library.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/plan/scenario.hpp"
#include "lib/report/record.hpp"

namespace mgpu::test {

// A value to put at a JSON pointer, as JSON; an empty value removes what is there. A last "-" in
// the pointer appends to a list.
struct Edit {
  std::string at, value;
};

// Parses a table with one edit per line: the pointer, blanks and the value.
std::vector<Edit> edits_of(std::string_view table);

// Returns the non-empty lines of a table, without the blanks around them.
std::vector<std::string> rows_of(std::string_view table);

// Returns `json` after these edits, on one line.
std::string edited(const std::string& json, const std::vector<Edit>& edits);
std::string edited(const std::string& json, std::string_view table);

// Returns the value at a pointer, on one line; empty if there is none.
std::string json_at(const std::string& json, std::string_view pointer);

// Returns true if the documents are equal apart from the order of keys and blanks.
bool same_json(std::string_view a, std::string_view b);

// Checks that each value of a table is at its pointer; a row without a value checks that nothing is
// there.
void check_json(const std::string& json, std::string_view table);

// Returns the path of a pointer: "runs[2].mode" for "/runs/2/mode".
std::string path_of(std::string_view pointer);

// Parses a text as if it were read from a file. Throws Error(input).
Report report_from_text(const std::string& text);
Scenario scenario_from_text(const std::string& text);

// Returns the message, after the file's name, with which `read` refuses a file with this text: one
// line of Error(input). Empty if the file is accepted.
std::string refusal_of_file(const std::string& text, void (*read)(const std::string& file));
std::string refusal_of_result(const std::string& text);
std::string refusal_of_scenario(const std::string& text);

// Checks that each row's edit by itself makes `refusal` of `json` begin with the path of the edited
// place. A row may continue with " => PATH & PART & ..": a PATH that is not empty replaces the
// expected beginning, and the message must contain each PART.
void check_refusals(const std::string& json, std::string (*refusal)(const std::string& text),
                    std::string_view table);

}  // namespace mgpu::test
