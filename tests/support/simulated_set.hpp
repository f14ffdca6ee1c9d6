// Identical simulated devices on one node or several, and words that make some of them differ. An
// item takes a nanosecond unless a test says otherwise; rates are per nanosecond.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/plan/network.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"
#include "tests/support/pairs.hpp"

namespace mgpu::test {

constexpr double kOnePerNs = 1e9;  // items/s, or bytes/s

struct SimulatedSet {
  SimulatedSet(std::size_t devices, Items items, Items piece, const std::string& words = "")
      : estimates(devices) {
    request.items = items;
    for (DeviceEstimate& device : estimates) {
      device.items_per_s = kOnePerNs;
      device.score = 50;
      device.fits = items;
      device.pipeline = piece;
    }
    set(words);
  }

  // Applies words such as "end-to-end up=10 rate.1=0.25", to all devices or to the one with that
  // number. "nodes=2" spreads the devices evenly over nodes; node.1 is the rate of a node's link.
  void set(const std::string& words) {
    std::istringstream in(words);
    for (std::string word; in >> word;) set_one(word);
  }

  const PlanRequest& asked(bool with_network = true) {
    request.devices = estimates;
    request.network = with_network && !network.nodes.empty() ? &network : nullptr;
    return request;
  }
  Simulation shares(const std::vector<Items>& items) {
    const PlanRequest& real = asked();
    return simulate(real, *make_static_source(real, items));
  }
  Simulation under(const StrategyChoice& choice, bool with_network = true) {
    const PlanRequest& real = asked(with_network);
    return simulate(real, *begin_strategy(*choice.info, choice.params, real, {}));
  }
  Simulation under(const std::string& strategy) {
    return under(parse_strategies(strategy).front());
  }

  std::vector<DeviceEstimate> estimates;
  NodeNetwork network;
  PlanRequest request;

 private:
  void set_one(const std::string& word) {
    if (word == "end-to-end") request.mode = Mode::end_to_end;
    if (word == "resident") request.mode = Mode::resident;
    const std::size_t is = word.find('=');
    if (is == std::string::npos) return;
    const std::string name = word.substr(0, std::min(is, word.find('.')));
    const double value = std::stod(word.substr(is + 1)), rate = value * kOnePerNs;
    const Nanos time{static_cast<std::int64_t>(value)};
    const bool of_one = name.size() < is;
    const std::size_t one = of_one ? std::stoul(word.substr(name.size() + 1)) : 0;
    static const std::map<std::string, Nanos DeviceEstimate::*> times = {
        {"launch", &DeviceEstimate::launch},
        {"fixed", &DeviceEstimate::fixed},
        {"transfer", &DeviceEstimate::transfer},
        {"discount", &DeviceEstimate::first_slice_discount},
        {"minimum", &DeviceEstimate::minimum_slice},
        {"contention", &DeviceEstimate::per_peer_contention}};
    static const std::map<std::string, double DeviceEstimate::*> rates = {
        {"rate", &DeviceEstimate::items_per_s},
        {"up", &DeviceEstimate::up},
        {"down", &DeviceEstimate::down}};
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      if (of_one && i != one) continue;
      if (times.contains(name)) estimates[i].*times.at(name) = time;
      if (rates.contains(name)) estimates[i].*rates.at(name) = rate;
      if (name == "pipeline") estimates[i].pipeline = static_cast<Items>(value);
      if (name == "fits") estimates[i].fits = estimates[i].pipeline = static_cast<Items>(value);
      if (name == "free") estimates[i].free_memory = static_cast<Bytes>(value);
      if (name == "score") estimates[i].score = value;
    }
    if (times.contains(name) || rates.contains(name)) return;
    if (name == "pipeline" || name == "fits" || name == "free" || name == "score") return;
    if (name == "granularity") return void(request.granularity = static_cast<Items>(value));
    if (name == "in") return void(request.cost.in_bytes = value);
    if (name == "out") return void(request.cost.out_bytes = value);
    if (name == "replicated") return void(request.cost.replicated = static_cast<Bytes>(value));
    if (name == "link") return void(request.link_up = rate);
    if (name == "merge") return void(request.merge.fixed = time);
    if (name == "per_slice") return void(request.merge.per_slice = time);
    if (name == "nodes")
      return network.nodes.assign(static_cast<std::size_t>(value),
                                  {estimates.size() / static_cast<std::size_t>(value), 0});
    if (name == "latency") return void(network.latency = time);
    if (name == "hand_out") return void(network.hand_out = time);
    if (name == "root") return void(network.root_bytes_per_s = rate);
    if (name == "node") return void(network.nodes.at(one).bytes_per_s = rate);
    throw std::invalid_argument("no such word: " + word);
  }
};

// Checks simulated times that were computed by hand. A row has the number of devices, of items and
// of items per piece, words that make devices differ, a colon, each device's share, and after "="
// the makespan and the ends of the first devices: "2 1000 1000 rate.1=0.5 : 700 300 = 700 700 600".
// Lines without "=" between blanks are remarks.
inline void check_simulations(std::string_view table) {
  for (const auto& [given, expected] : pairs_of(table)) {
    CAPTURE(given);
    const std::size_t colon = given.find(" : ");
    REQUIRE(colon != std::string::npos);
    std::istringstream head(given.substr(0, colon)), tail(given.substr(colon + 3)), times(expected);
    std::size_t devices = 0;
    Items items = 0, piece = 0;
    head >> devices >> items >> piece;
    std::string words;
    std::getline(head, words);
    std::vector<Items> shares;
    for (Items share = 0; tail >> share;) shares.push_back(share);
    const Simulation simulated = SimulatedSet(devices, items, piece, words).shares(shares);
    std::int64_t time = 0;
    times >> time;
    CHECK(simulated.makespan.count() == time);
    for (std::size_t i = 0; times >> time; ++i)
      CHECK(simulated.devices.at(i).finish.count() == time);
  }
}

}  // namespace mgpu::test
