// The ranks of a run <-> JSON. Internal to lib/report.
#pragma once

#include "lib/profile/cluster_record.hpp"
#include "lib/report/json_build.hpp"

namespace mgpu {

class JsonReader;

JsonValue cluster_json(const ClusterRecord& record);
ClusterRecord read_cluster(const JsonReader& j);

}  // namespace mgpu
