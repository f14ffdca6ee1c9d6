// Options and their consistency.
#include "suites/pac/problem.hpp"

#include <algorithm>
#include <charconv>
#include <numbers>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "suites/common/number_text.hpp"
#include "suites/pac/recordings.hpp"
#include "suites/pac/shifts.hpp"

namespace mgpu::pac {
namespace {

Error refused(const std::string& option, const std::string& value, const std::string& accepted) {
  return Error(ErrorKind::usage,
               "--" + option + ": " + in_quotes(value) + "; expected: " + accepted);
}

// Reads the whole text as a number.
bool read_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (;;) {
    const std::size_t colon = text.find(':');
    double value = 0;
    if (!read_number(text.substr(0, colon), value)) return {};
    numbers.push_back(value);
    if (colon == std::string_view::npos) return numbers;
    text.remove_prefix(colon + 1);
  }
}

Bands bands_of(const SuiteParams& params, const std::string& option, double half_width) {
  const std::string& text = params.options.at(option);
  const std::vector<double> numbers = numbers_in(text);
  const bool whole = numbers.size() == 3 && numbers[2] >= 1 && numbers[2] <= most_bands &&
                     numbers[2] == std::floor(numbers[2]);
  if (!whole || !(numbers[0] > 0) || numbers[1] < numbers[0])
    throw refused(option, text,
                  "LO:HI:N, from LO to HI Hz above 0, 1 to " + std::to_string(most_bands) +
                      " bands, like 2:20:10");
  return {numbers[0], numbers[1], half_width, static_cast<std::uint64_t>(numbers[2])};
}

std::uint64_t count_of(const SuiteParams& params, const std::string& option, std::uint64_t least,
                       std::uint64_t most) {
  const std::string& text = params.options.at(option);
  const std::uint64_t value = std::stoull(text);
  if (value < least || value > most)
    throw refused(option, text, std::to_string(least) + " to " + std::to_string(most));
  return value;
}

std::uint64_t given_or(const SuiteParams& params, const std::string& option,
                       std::uint64_t otherwise) {
  const std::string& text = params.options.at(option);
  return text == "auto" ? otherwise : std::stoull(text);
}

void check_bands(const Problem& problem, const SuiteParams& params) {
  const double nyquist = problem.fs / 2;
  for (const auto& [bands, option] :
       {std::pair{problem.phase, "pha"}, std::pair{problem.amplitude, "amp"}}) {
    const double most = nyquist / (1 + passes_nothing * bands.half_width);
    if (bands.centre(bands.count - 1) < most) continue;
    throw refused(option, params.options.at(option),
                  "centres below " + number_text(static_cast<float>(most)) + " Hz: wider up to " +
                      number_text(static_cast<float>(1 + passes_nothing * bands.half_width)) +
                      " times a centre must stay below half of --fs " + params.options.at("fs"));
  }
  const double cycles = static_cast<double>(problem.samples) / problem.fs * problem.phase.centre(0);
  if (cycles < least_cycles)
    throw refused("pha", params.options.at("pha"),
                  "a slowest phase of " + number_text(static_cast<float>(least_cycles)) +
                      " cycles or more: " + std::to_string(problem.samples) + " samples at " +
                      params.options.at("fs") + " Hz hold " +
                      number_text(static_cast<float>(cycles)));
}

void read_planted(Problem& problem, const SuiteParams& params) {
  const auto found = params.options.find("planted");  // absent from the record of a file
  if (found == params.options.end() || found->second == "none") return;
  const std::string& text = found->second;
  const auto nearest = [](const Bands& bands, double wanted) {
    double best = bands.centre(0);
    for (std::uint64_t band = 1; band < bands.count; ++band)
      if (std::abs(bands.centre(band) - wanted) < std::abs(best - wanted))
        best = bands.centre(band);
    return best;
  };
  problem.planted = true;
  if (text == "auto") {
    problem.planted_phase = nearest(problem.phase, 10);
    problem.planted_amplitude = nearest(problem.amplitude, 80);
    return;
  }
  const std::vector<double> numbers = numbers_in(text);
  if (params.input)
    throw refused("planted", text, "--planted without --input, whose series are as they are");
  if (numbers.size() != 2 || !(numbers[0] > 0) || !(numbers[1] > 0) || numbers[1] >= problem.fs / 2)
    throw refused("planted", text,
                  "none, or PHASE:AMPLITUDE in Hz below half of --fs " + params.options.at("fs") +
                      ", like 10:80");
  problem.planted_phase = numbers[0];
  problem.planted_amplitude = numbers[1];
}

// Reads how series are handed out. Both options are absent from the record of their defaults.
void read_loading(Problem& problem, const SuiteParams& params) {
  const auto given = [&](const char* option, const char* otherwise) -> const std::string* {
    const auto found = params.options.find(option);
    return found == params.options.end() || found->second == otherwise ? nullptr : &found->second;
  };
  const bool by_batch = problem.axis == Axis::batch;
  if (problem.in_files && !by_batch)
    throw refused("axis", params.options.at("axis"),
                  "batch, if --input is a folder, whose recordings are handed out as wholes");
  if (const std::string* batch = given("batch-size", "auto")) {
    problem.at_once = std::stoull(*batch);
    if (problem.at_once == 0 || !by_batch)
      throw refused("batch-size", *batch, "1 or more entries, with --axis batch");
  }
  if (const std::string* shuffle = given("shuffle", "none")) {
    problem.shuffle = std::stoull(*shuffle);
    if (!problem.in_files)
      throw refused("shuffle", *shuffle, "--shuffle with a folder of recordings, --input FOLDER");
  }
}

void read_extent(Problem& problem, const SuiteParams& params) {
  problem.batch = params.size;
  problem.channels = given_or(params, "channels", params.options.at("axis") == "channel" ? 8 : 1);
  problem.samples = given_or(params, "length", 2048);
  if (params.input) {
    const auto recordings = recordings_of(params);
    problem.in_files = recordings != nullptr;
    const SeriesShape shape =
        recordings ? recordings->shape() : shape_of_series(*params.input, params);
    problem.batch = shape.batch;
    problem.channels = shape.channels;
    problem.samples = shape.samples;
  }
  const std::string from = params.input ? "--input " + params.input->string() : "--length";
  if (problem.samples < least_samples || problem.samples > most_samples)
    throw Error(params.input ? ErrorKind::input : ErrorKind::usage,
                from + ": " + std::to_string(problem.samples) + " samples; expected: series of " +
                    std::to_string(least_samples) + " to " + std::to_string(most_samples));
  if (problem.channels < 1 || problem.channels > most_series)
    throw refused("channels", std::to_string(problem.channels),
                  "1 to " + std::to_string(most_series));
  if (problem.batch < 1 || problem.batch > most_series / problem.channels)
    throw refused("size", std::to_string(problem.batch),
                  "1 to " + std::to_string(most_series / problem.channels) + " with --channels " +
                      std::to_string(problem.channels));
}

}  // namespace

double response(const Bands& bands, std::uint64_t band, double frequency) {
  const double centre = bands.centre(band),
               away = std::abs(frequency - centre) / (centre * bands.half_width);
  if (away <= passes_all) return 1;
  if (away >= passes_nothing) return 0;
  return 0.5 *
         (1 + std::cos(std::numbers::pi * (away - passes_all) / (passes_nothing - passes_all)));
}

Items Problem::staged() const {
  constexpr Bytes enough = Bytes{64} << 20;
  return std::clamp<Items>(at_once > 0 ? at_once : enough / entry_bytes(), 1, batch);
}

Items Problem::items() const {
  return axis == Axis::batch ? batch : axis == Axis::channel ? channels : Items{shift_classes};
}

Result result_of(const Moments& moments, std::uint64_t surrogates) {
  const std::uint64_t mask = (std::uint64_t{1} << Moments::observed_bit) - 1;
  const std::uint64_t observed = moments.observed_and_sum >> Moments::observed_bit,
                      sum = moments.observed_and_sum & mask;
  Result result;
  result.index = static_cast<double>(observed) / Moments::steps;
  if (surrogates == 0) return result;
  const auto n = static_cast<double>(surrogates);
  result.mean = static_cast<double>(sum) / n / Moments::steps;
  __extension__ using Wide = unsigned __int128;
  const Wide spread =
      // Exact and never negative.
      Wide{surrogates} * moments.sum_of_squares - Wide{sum} * sum;
  result.deviation = std::sqrt(static_cast<double>(spread)) / n / Moments::steps;
  if (spread > 0) result.z = (result.index - result.mean) / result.deviation;
  return result;
}

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  problem.seed = params.seed;
  read_extent(problem, params);
  const std::string& fs = params.options.at("fs");
  std::from_chars(fs.data(), fs.data() + fs.size(), problem.fs);
  if (!(problem.fs > 0)) throw refused("fs", fs, "samples in a second, above 0");
  problem.phase = bands_of(params, "pha", 0.25);
  problem.amplitude = bands_of(params, "amp", 0.125);
  problem.surrogates = count_of(params, "perm", 0, most_surrogates);
  problem.bins = static_cast<unsigned>(count_of(params, "bins", least_bins, most_bins));
  const std::string &index = params.options.at("mi"), &axis = params.options.at("axis"),
                    &sums = params.options.at("sums");
  problem.index = index == "tort"        ? Index::tort
                  : index == "tensorpac" ? Index::tensorpac
                                         : Index::gpac_sum;
  problem.axis = axis == "batch"     ? Axis::batch
                 : axis == "channel" ? Axis::channel
                                     : Axis::permutation;
  read_loading(problem, params);
  for (const Method method : all_methods)
    if (sums == to_string(method)) problem.method = method;
  check_bands(problem, params);
  read_planted(problem, params);
  if (problem.method.value_or(Method::direct) != Method::direct && !can_transform(problem))
    throw refused(
        "sums", sums,
        "auto or direct; transforms where the samples of a series are a power of two from " +
            std::to_string(least_transformed) + " to " + std::to_string(most_transformed));
  return problem;
}

SeriesRows rows_of(const Problem& problem, const Slice& slice) {
  const auto channels = static_cast<std::uint32_t>(problem.channels);
  switch (problem.axis) {
    case Axis::batch:
      return {slice.size() * channels, channels, channels,
              static_cast<std::uint32_t>(slice.begin * channels)};
    case Axis::channel:
      return {slice.size() * problem.batch, static_cast<std::uint32_t>(slice.size()), channels,
              static_cast<std::uint32_t>(slice.begin)};
    default:
      return {problem.series(), channels, channels, 0};
  }
}

}  // namespace mgpu::pac
