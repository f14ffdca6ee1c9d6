// The fields of energy in result files.
#include "lib/report/record_fields.hpp"

namespace mgpu {

template <>
const Description<EnergyFigures>& description<EnergyFigures>() {
  using Of = EnergyFigures;
  static const Description<Of> kFigures{
      {field<&Of::of>("of", "host, or a device's id"),
       field<&Of::joules>("energy_j", "of one run; null: see reason"),
       field<&Of::half_width>("half_width_j", "of the 95 % interval"),
       field<&Of::idle_w>("idle_w", "power before the block, with the programs in memory"),
       field<&Of::step>("step_ns",
                        "from one step of the counter to the next; 0: there is no "
                        "counter, power was integrated"),
       field<&Of::by_power>("by_power_j",
                            "the same by the integral of the power; absent: not known")
           .if_any(),
       field<&Of::reason>("reason", "why it was not measured; absent: it was").if_any()},
      "Of the counter of a device or of the host's packages; pauses between runs are left out.",
      "energy_figures"};
  return kFigures;
}

template <>
const Description<EnergyRecord>& description<EnergyRecord>() {
  using Of = EnergyRecord;
  static const Description<Of> kEnergy{
      {field<&Of::joules>("energy_j", "of one run, by the devices that it uses; null: see reason"),
       field<&Of::half_width>("half_width_j", "of the 95 % interval"),
       field<&Of::parts>("parts_j", "energy_j of the runs in each of 8 parts of a block"),
       field<&Of::all_devices>("all_devices_j",
                               "with those of its set that idle; null: one has no counter"),
       field<&Of::host>("host_j",
                        "of the host's packages; null: they have no counter that may "
                        "be read"),
       field<&Of::per_unit>("per_unit_j", "per unit of the rate; null: there is none"),
       field<&Of::gain>("gain", "energy_j of the fastest device alone / energy_j").in("1"),
       computed<[](const Of& energy) { return energy.power(); }>(
           "power_w", "of the same devices while a run is under way"),
       computed<[](const Of& energy) { return energy.edp(); }>("edp_js", "energy x time of a run")
           .in("J s"),
       field<&Of::runs>("runs", "number of runs in two blocks"),
       field<&Of::window>("window_ns", "from the first of a block to its last, of both"),
       field<&Of::run>("run_ns", "mean time of one"),
       field<&Of::counters>("counters", "the host's, then those of all devices of the session"),
       field<&Of::reason>("reason", "why it was not measured; absent: it was").if_any()},
      "Measured in two blocks of runs of its own, not in the samples.",
      "energy"};
  return kEnergy;
}

}  // namespace mgpu
