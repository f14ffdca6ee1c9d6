// What is asked for: which stages, one after another, on how many records, in which batches, and
// who does what.
#pragma once

#include <string>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu::pipeline {

enum class Kind { hash, transform, product, reduction };
inline constexpr std::uint32_t reduced_width = 8;  // words that a reduction leaves of a record

struct Stage {
  Kind kind = Kind::hash;
  std::uint32_t passes = 1;  // how often it does its work: what it weighs
  std::uint32_t width = 0;   // words of a record before it
  std::uint32_t width_after() const { return kind == Kind::reduction ? reduced_width : width; }
  std::string name() const;  // "hash", "hash:8"
};

// How work is placed on devices; open: by what stages are measured to take (placement.hpp), and
// `data` before.
enum class Place { open, stages, data };

struct Problem {
  std::vector<Stage> stages;
  Place place = Place::open;
  std::uint64_t records = 0;
  std::uint64_t batch = 0;  // records of one; the last may have fewer
  std::uint64_t seed = 0;

  std::uint64_t batches() const { return ceil_div(records, batch); }
  std::uint64_t first(std::uint64_t b) const {
    return std::min(b * batch, records);
  }  // record of batch b
  std::uint64_t count(std::uint64_t b) const { return first(b + 1) - first(b); }
  std::uint32_t width() const { return stages.front().width; }
  std::uint32_t width_after() const { return stages.back().width_after(); }
  std::uint32_t widest() const;
  Bytes in_bytes() const { return records * width() * 4; }
  Bytes out_bytes() const { return records * width_after() * 4; }
  // The most that goes from one stage to the next of a batch.
  Bytes most_handed_over() const;
};

inline constexpr std::uint64_t most_records = std::uint64_t{1} << 31;
inline constexpr std::size_t most_stages = 16;
inline constexpr std::uint32_t most_passes = 1024, least_width = 8, most_width = 4096;
inline constexpr Bytes most_of_batch =
    Bytes{1} << 27;  // two of them lie in memory that devices share, of which 260 MiB do

// "hash:8,transform,..." Throws Error(usage).
std::vector<Stage> stages_of(const std::string& text, std::uint32_t width);
// Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);
Bytes host_bytes(const Problem& problem);

// Integer operations that a stage does on a record, as the roof of a device counts them.
double operations(const Stage& stage);

}  // namespace mgpu::pipeline
