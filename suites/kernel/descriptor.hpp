// What a descriptor says: a kernel, its arguments and how they are split, as written.
// suites/kernel/README.md has the keys.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "suites/kernel/element.hpp"

namespace mgpu::kernel {

enum class MapKind { split, replicate, halo, slice, fixed, ragged, reduce, append, local, scalar };
enum class Access { read, write, readwrite, scratch };
enum class Edge { none, zero, clamp, periodic };
enum class Reduction { add, min, max, bit_xor, bit_or, bit_and };
enum class Address { rebased, whole };  // index 0 is the slice's first item, or the array's
enum class FillKind { zero, constant, uniform, normal, ramp, index, file };

struct Fill {
  FillKind kind = FillKind::zero;
  std::uint64_t seed = 0;
  // The bounds of uniform values, both of which integers reach; mean and deviation of normal ones;
  // first value and step of a ramp.
  double low = 0, high = 1;
  std::string value = "0";  // of constant
  std::string modulo;       // of index: element i is i modulo this; empty: i
  std::filesystem::path file;
};

struct Tolerance {
  double absolute = 0, relative = 0;
  std::uint64_t ulp = 0;  // units in the last place: as many values of the type lie between
  bool exact() const { return absolute == 0 && relative == 0 && ulp == 0; }
};

// A second kernel that combines accumulators: it makes `into` the combination of `into` and `from`.
struct CombinationText {
  std::string entry;  // empty: there is none, an operation combines them
  std::optional<Tolerance>
      tolerance;  // how far that may be from one launch for all items; none: that of the descriptor
  Base of = Base::none;  // of a structure: the numbers that it consists of, f32 or f64, where they
                         // have a tolerance
};

// Expressions are kept as text: what they depend on is known only with the problem's size.
struct ArgumentText {
  std::string name, where;  // where: for messages
  ElementType type;
  MapKind map = MapKind::split;
  Access access = Access::read;
  std::string per_item = "1", before = "0", after = "0", size, start, length, scalar, offsets,
              counter;
  Edge edge = Edge::none;
  Reduction op = Reduction::add;
  CombinationText combine;
  std::string address;  // empty: as the launch says
  Fill fill;
  bool sparse = false;             // not every element of the output is written
  std::filesystem::path expected;  // of an output: what it shall be
};

struct StageText {
  std::string entry, where;
  std::vector<std::string> args;           // names, in the order of the kernel's parameters
  std::vector<std::string> global, local;  // local empty: the device chooses
};

// Rounds: the kernels again and again, where `swap` says which input becomes what was made of it in
// the round before.
struct RepeatText {
  std::string where, rounds;  // rounds empty: there is but one
  std::vector<std::pair<std::string, std::string>> swap;
};

struct Descriptor {
  std::string name, file;        // for messages
  std::filesystem::path folder;  // what its paths are relative to
  std::string identity;          // hash of all that it says
  std::vector<std::filesystem::path> kernels;
  std::string text;  // of these, with #line directives
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
  std::string command;  // of the user's check; empty: none
};

// Throws Error(input), naming file and key.
Descriptor read_descriptor(const std::filesystem::path& file);
// `folder`: what paths are relative to. `kernel_text` above: read, too.
Descriptor descriptor_of(const nlohmann::json& tree, const std::string& name,
                         const std::filesystem::path& folder);

// Texts that are not read from a file: those of the examples built in.
struct NamedTexts {
  std::string_view descriptor_name, descriptor, kernel_name, kernel;
};
Descriptor built_in_descriptor(const NamedTexts& texts);

// The same as a T1 file (Kernel Tuner, KTT) says it: an array of as many elements as there are
// work-items is split, others are replicated. Throws Error(input).
nlohmann::json from_t1(const nlohmann::json& t1, const std::string& name);
bool is_t1(const nlohmann::json& tree);

}  // namespace mgpu::kernel
