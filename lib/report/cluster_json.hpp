// The ranks of a run <-> JSON. Internal to lib/report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lib/profile/cluster_record.hpp"

namespace mgpu {

class JsonReader;

nlohmann::ordered_json cluster_json(const ClusterRecord& record);
ClusterRecord read_cluster(const JsonReader& j);

}  // namespace mgpu
