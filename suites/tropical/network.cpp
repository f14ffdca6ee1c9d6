#include "suites/tropical/network.hpp"

#include <cmath>

#include "lib/workload/npy.hpp"
#include "lib/workload/pages.hpp"
#include "suites/common/finite.hpp"
#include "suites/common/option_values.hpp"
#include "suites/common/uniform_element.hpp"
#include "suites/tropical/network_reference.hpp"

namespace mgpu::tropical {
namespace {

constexpr std::uint64_t inputs_apart = 0x1f83d9ab, teacher_apart = 0x5be0cd19;

NpyShape samples_of_file(const std::filesystem::path& file) {
  const NpyShape shape = read_npy_shape(file, "--input");
  if (shape.element == 4) return shape;
  throw Error(ErrorKind::input,
              "--input: " + file.string() + " has float64 numbers; expected: float32");
}

// Takes samples and width from the files. Throws Error(input).
void take_sizes(const SuiteParams& params, Network& network) {
  if (params.more_inputs.size() != 1)
    throw Error(ErrorKind::input, "--input: " + std::to_string(params.more_inputs.size() + 1) +
                                      " file(s); expected with --op network: X.npy,Y.npy");
  const NpyShape inputs = samples_of_file(*params.input),
                 targets = samples_of_file(params.more_inputs.front());
  if (inputs.rows != targets.rows || inputs.columns != targets.columns ||
      inputs.columns != network.width)
    throw Error(ErrorKind::input,
                "--input: " + std::to_string(inputs.rows) + " x " + std::to_string(inputs.columns) +
                    " inputs and " + std::to_string(targets.rows) + " x " +
                    std::to_string(targets.columns) + " targets; expected with --width " +
                    std::to_string(network.width) + ": a row of " + std::to_string(network.width) +
                    " numbers per sample in both");
  network.samples = inputs.rows;
}

void refuse_unused(const SuiteParams& params) {
  for (const auto& [option, value] : {std::pair{"precision", "fp32"},
                                      {"axis", "rows"},
                                      {"cols", "same"},
                                      {"inner", "same"},
                                      {"route", "none"},
                                      {"kernel", "auto"},
                                      {"density", "1"}})
    if (const std::string& given = params.options.at(option); given != value)
      throw refused_option(option,
                           "\"" + given + "\"; expected with --op network: " + std::string(value));
  if (params.has_flag("paths"))
    throw refused_option("paths", "a network has none; expected: --op product or apsp");
  if (params.has_flag("absolute-weights"))
    throw refused_option("absolute-weights", "\"yes\"; expected: with --op apsp and --input");
}

}  // namespace

Network network_of(const SuiteParams& params) {
  constexpr std::uint32_t most_layers = 8, most_width = 256;
  Network network;
  refuse_unused(params);
  network.layers = count_of_option(params, "layers", most_layers);
  network.width = count_of_option(params, "width", most_width);
  network.steps = count_of_option(params, "iterations", 1'000'000);
  const std::string& rate = params.options.at("learning-rate");
  network.rate = number_in(rate).value_or(-1);
  if (!(network.rate > 0 && network.rate <= 1e6))
    throw refused_option("learning-rate", "\"" + rate + "\"; expected: above 0, at most 1e6");
  network.maximum = params.options.at("semiring") == "max-plus";
  network.seed = params.seed;
  network.samples = params.size;
  if (params.input) take_sizes(params, network);
  if (network.samples < 1 || network.samples > most_samples)
    throw Error(params.input ? ErrorKind::input : ErrorKind::usage,
                (params.input ? "--input: " : "--size: ") + std::to_string(network.samples) +
                    " samples; expected with --op network: 1 to " + std::to_string(most_samples));
  return network;
}

Shape shape_of(const Network& network) {
  Shape shape;
  shape.items = network.samples;
  shape.unit = {"samples"};
  shape.rounds = network.steps;
  shape.result_on_devices = true;
  shape.ops = 2.0 * static_cast<double>(network.weights()) * static_cast<double>(network.samples) *
              network.steps;
  shape.rate_unit = "Op/s";
  shape.bytes_in = 2 * network.sample_bytes();
  shape.bytes_out = network.result_bytes();
  shape.spread_cost();
  return shape;
}

Bytes host_bytes_of(const Network& network) {
  return in_pages(2 * network.sample_bytes()) + in_pages(network.result_bytes());
}

void fill_samples(const Network& network, const SuiteParams& params, std::span<float> inputs,
                  std::span<float> targets) {
  if (params.input) {
    const NpyShape shape{network.samples, network.width};
    read_npy(*params.input, shape, std::as_writable_bytes(inputs));
    read_npy(params.more_inputs.front(), shape, std::as_writable_bytes(targets));
    refuse_non_finite("--input " + params.input->string(), shape, std::as_bytes(inputs));
    refuse_non_finite("--input " + params.more_inputs.front().string(), shape,
                      std::as_bytes(targets));
    return;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = std::fabs(uniform_element<float>(splitmix64(params.seed ^ inputs_apart, i), false));
  const std::vector<float> teacher = weights_of(network, network.seed ^ teacher_apart);
  parallel_for(network.samples, params.host_threads, [&](std::uint64_t n) {
    const auto made =
        outputs_of(network, teacher, inputs.subspan(n * network.width, network.width));
    std::copy(made.begin(), made.end(),
              targets.begin() + static_cast<std::ptrdiff_t>(n * network.width));
  });
}

std::vector<float> weights_of(const Network& network, std::uint64_t seed) {
  std::vector<float> weights(network.weights());
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = uniform_element<float>(splitmix64(seed, i), false) * 4;
  return weights;
}

}  // namespace mgpu::tropical
