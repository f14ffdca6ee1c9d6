// Commands run in process, on no device or on fake ones, with their output: a transcript. Its lines
// are
//   $ [NAME=VALUE ...] WORD ...   a command of the program; 'a b' and "a b" are one word
//   $- ...                        a command whose output is left out
//     TEXT                        its output (two blanks before it)
//   ! TEXT                        its output on standard error
//   = CODE                        its exit code, unless that is 0
//   =CODE TEXT                    its exit code and the one line that is all it printed: a refusal
//   ? FILE POINTER FIELD ...      a row per element of the list at a JSON pointer: these fields of
//                                 it; without fields the value there
//   > FILE                        a file of the lines that follow, "| " before each of them
//   npy FILE TYPE SHAPE V ...     a NumPy file: npy a.npy <f4 (2,3) 1 2 3 4 5 6; the last value is
//                                 repeated if there are fewer than SHAPE has
//   bytes FILE COUNT              a file of that many zeros
//   edit FROM TO OLD NEW ...      a copy of a file with OLD replaced by NEW; \n is a line end
//   check FILE                    the rules of traces that it breaks
//   cat FILE                      its text, decompressed if it is not plain
//   devices N                     the machine has N CPU devices from here on (none at first)
//   suites sum                    from here on the program has only this suite of tests/support
//   mask REGEX                    matches in the output become ".." from here on
//   # TEXT                        a comment
// Everything happens in an empty folder with links to tests, results and suites of the source tree;
// the name of that folder becomes TMP.
#pragma once

#include <string>
#include <string_view>

namespace mgpu::test {

// Returns the transcript with the present output of its commands. Throws std::runtime_error for a
// line that is none of the above.
std::string replayed(std::string_view transcript);

}  // namespace mgpu::test
