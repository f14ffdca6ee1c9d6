// JSON documents as texts: tests change, take away and look at single values of them, in tables,
// and include no JSON library for it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/plan/scenario.hpp"
#include "lib/report/record.hpp"

namespace mgpu::test {

// A value to put at a JSON pointer, as JSON; an empty one takes away what is there. A last "-" in
// the pointer appends to a list.
struct Edit {
  std::string at, value;
};

// The edits of a table: one a line, the pointer, blanks, the value.
std::vector<Edit> edits_of(std::string_view table);

// The lines of a table that are not empty, without the blanks around them.
std::vector<std::string> rows_of(std::string_view table);

// `json` after these edits, in one line.
std::string edited(const std::string& json, const std::vector<Edit>& edits);
std::string edited(const std::string& json, std::string_view table);

// What is at a pointer, in one line; empty where nothing is.
std::string json_at(const std::string& json, std::string_view pointer);

// Equal whatever the order of keys and the blanks between them.
bool same_json(std::string_view a, std::string_view b);

// Checks that each value of a table is at its pointer; where a row has none, that nothing is there.
void check_json(const std::string& json, std::string_view table);

// "runs[2].mode" of "/runs/2/mode".
std::string path_of(std::string_view pointer);

// A file's text, as it is read from one. Throws Error(input).
Report report_from_text(const std::string& text);
Scenario scenario_from_text(const std::string& text);

// What `read` says of a file with this text, after the file's name: one line of Error(input). Empty
// when it is accepted.
std::string refusal_of_file(const std::string& text, void (*read)(const std::string& file));
std::string refusal_of_result(const std::string& text);
std::string refusal_of_scenario(const std::string& text);

// Checks that each row's edit, alone, makes `refusal` of `json` begin with the path of the edited
// place. A row may go on with " => PATH & PART & ..": what the message begins with instead, if not
// empty, and what else is in it.
void check_refusals(const std::string& json, std::string (*refusal)(const std::string& text),
                    std::string_view table);

}  // namespace mgpu::test
