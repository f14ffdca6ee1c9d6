// The descriptor as written: a kernel, its arguments and how they are split. The keys are listed in
// suites/kernel/README.md.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suites/kernel/element.hpp"

namespace mgpu::kernel {

enum class MapKind {
  split,
  replicate,
  halo,
  slice,
  fixed,
  ragged,
  reduce,
  append,
  image,
  flag,
  local,
  scalar
};
enum class Access { read, write, readwrite, scratch };
enum class Edge { none, zero, clamp, periodic };
enum class Reduction { add, min, max, bit_xor, bit_or, bit_and };
enum class Address { rebased, whole };  // index 0 is the first item of the slice or of the array
enum class FillKind { zero, constant, uniform, normal, ramp, index, file, copy };

struct Fill {
  FillKind kind = FillKind::zero;
  std::uint64_t seed = 0;
  // Parameters of the kind: uniform: both bounds (integers reach `high`, too); normal: mean and
  // deviation; ramp: first value and step. The texts are their expressions.
  std::string low_text = "0", high_text = "1";
  double low = 0, high = 1;
  std::string value = "0";  // value of FillKind::constant
  std::string modulo;       // FillKind::index: element i is i modulo this; empty: i
  std::filesystem::path file;
  std::string of;  // FillKind::copy: the argument whose initial values these are
  // FillKind::uniform: `high` is not given, so that it depends on the type of each number.
  bool has_usual_bound = false;
};

struct Tolerance {
  double absolute = 0, relative = 0;
  std::uint64_t ulp = 0;  // units in the last place: number of representable values in between
  bool exact() const { return absolute == 0 && relative == 0 && ulp == 0; }
};

// Second kernel that combines accumulators: it replaces `into` by the combination of `into` and
// `from`.
struct CombinationText {
  std::string entry;  // empty: an operation combines them, no kernel
  // Tolerance of the comparison with one launch for all items; none: the descriptor's.
  std::optional<Tolerance> tolerance;
  // Type of the numbers that a structure consists of (f32 or f64), if a tolerance applies to it.
  Base of = Base::none;
};

// Argument whose expressions are still text: their values need the problem's size.
struct ArgumentText {
  std::string name, where;  // `where` names the key in messages
  ElementType type;
  MapKind map = MapKind::split;
  Access access = Access::read;
  std::vector<std::string> members;  // values of a structure's numbers that is a scalar
  std::string per_item = "1", before = "0", after = "0", size, start, length, scalar, offsets,
              counter, pivot, width, height;
  Edge edge = Edge::none;
  Reduction op = Reduction::add;
  CombinationText combine;
  std::string address;  // empty: the launch's
  Fill fill;
  bool normalized = false;         // kernels read an image's integers as numbers up to 1
  bool sparse = false;             // the kernel leaves elements of the output unwritten
  std::filesystem::path expected;  // file with the expected contents of an output
};

struct StageText {
  std::string entry, where;
  std::string name;  // by which `after` of others names it
  // Names of stages that it follows; missing: the one before it.
  std::optional<std::vector<std::string>> after;
  std::vector<std::string> args;  // argument names, in the order of the kernel's parameters
  std::vector<std::string> global, local;  // empty `local`: the device chooses
  std::vector<std::string> range;          // first item and end; empty: all items
};

// Iteration of the kernels: in every round but the first, the inputs named by `swap` have the
// contents that the paired outputs had after the round before.
struct RepeatText {
  std::string where, rounds;  // empty `rounds`: one round
  std::string flag;           // argument that ends the rounds when it is 0; empty: none
  std::vector<std::pair<std::string, std::string>> swap;
};

struct Descriptor {
  std::string name, file;        // both appear in messages
  std::filesystem::path folder;  // folder that relative paths start from
  std::string identity;          // hash of the whole descriptor
  std::vector<std::filesystem::path> kernels;
  std::string text;  // text of all kernel files, with #line directives
  std::string options;
  std::vector<std::filesystem::path> include;
  std::uint64_t n = 0, quick = 0;
  std::map<std::string, std::string> params;
  std::string items = "n", granularity = "1", unit = "items";
  Address address = Address::rebased;
  std::vector<StageText> stages;
  std::vector<ArgumentText> args;
  RepeatText repeat;
  std::string operations, bytes, operations_unit = "FLOP";
  Tolerance tolerance;
  std::string command;  // user's check; empty: none
};

bool is_identifier(std::string_view name);  // of OpenCL C
// Reads a descriptor. Throws Error(input) that names the file and the key.
Descriptor read_descriptor(const std::filesystem::path& file);
// Builds a descriptor from its tree and reads the kernel files; relative paths start at `folder`.
Descriptor descriptor_of(const nlohmann::json& tree, const std::string& name,
                         const std::filesystem::path& folder);

// Texts of a built-in example, which are not read from files.
struct NamedTexts {
  std::string_view descriptor_name, descriptor, kernel_name, kernel;
};
Descriptor built_in_descriptor(const NamedTexts& texts);

// Converts a T1 file (Kernel Tuner, KTT): an array with one element per work-item is split along
// the last axis, other arrays are replicated. Relative paths start at `folder`. Throws
// Error(input).
nlohmann::json from_t1(const nlohmann::json& t1, const std::string& name,
                       const std::filesystem::path& folder);
// Builds a descriptor from a T1 file, whose keys messages name.
Descriptor descriptor_of_t1(const nlohmann::json& t1, const std::string& name,
                            const std::filesystem::path& folder);
bool is_t1(const nlohmann::json& tree);

}  // namespace mgpu::kernel
