// The problem: the stages, the records, the batches, and the placement.
#pragma once

#include <string>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu::pipeline {

enum class Kind { hash, transform, product, reduction, tropical, dual, clifford };
inline constexpr std::size_t kinds = 7;
inline constexpr std::uint32_t reduced_width = 8;  // words per record after a reduction

struct Stage {
  Kind kind = Kind::hash;
  std::uint32_t passes = 1;  // repetitions of the stage's work
  std::uint32_t width = 0;   // words per record before it
  std::uint32_t width_after() const { return kind == Kind::reduction ? reduced_width : width; }
  // Tells whether it computes with fp32 numbers; other stages take their bits as words.
  bool is_real() const { return kind >= Kind::tropical; }
  // Tells whether it computes each row of 16 words of a record by itself.
  bool by_rows() const { return kind == Kind::product || is_real(); }
  std::string name() const;  // "hash", "hash:8"
};

// How work is placed on devices. `open` is resolved by measuring stages (placement.hpp); until then
// it acts like `data`.
enum class Place { open, stages, data };

struct Problem {
  std::vector<Stage> stages;
  Place place = Place::open;
  std::uint64_t records = 0;
  std::uint64_t batch = 0;  // records per batch; the last may have fewer
  std::uint64_t seed = 0;
  bool fuse = false;  // all stages of a record in one launch

  // Tells whether stage s takes words as numbers of 2^-31. Records of a chain that begins with a
  // real stage are numbers already.
  bool takes_words(std::size_t s) const {
    return s > 0 && stages[s].is_real() && !stages[s - 1].is_real();
  }
  std::uint64_t batches() const { return ceil_div(records, batch); }
  // Returns the first record of batch b.
  std::uint64_t first(std::uint64_t b) const { return std::min(b * batch, records); }
  std::uint64_t count(std::uint64_t b) const { return first(b + 1) - first(b); }
  std::uint32_t width() const { return stages.front().width; }
  std::uint32_t width_after() const { return stages.back().width_after(); }
  std::uint32_t widest() const;
  Bytes in_bytes() const { return records * width() * 4; }
  Bytes out_bytes() const { return records * width_after() * 4; }
  // Returns the most bytes that one stage passes to the next per batch.
  Bytes most_handed_over() const;
};

inline constexpr std::uint64_t most_records = std::uint64_t{1} << 31;
inline constexpr std::size_t most_stages = 16;
inline constexpr std::uint32_t most_passes = 1024, least_width = 8, most_width = 4096;
// Two batches have to fit the memory that devices share, which has 260 MiB.
inline constexpr Bytes most_of_batch = Bytes{1} << 27;

// Parses "hash:8,transform,...". Throws Error(usage).
std::vector<Stage> stages_of(const std::string& text, std::uint32_t width);
// Reads the problem. Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);
Bytes host_bytes(const Problem& problem);

// Returns a stage's integer operations per record, counted as for a device's roofline ceiling.
double operations(const Stage& stage);

}  // namespace mgpu::pipeline
