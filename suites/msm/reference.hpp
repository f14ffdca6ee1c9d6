// The independent reference for terms whose points are known multiples of the generator: one scalar
// multiplication by OpenSSL's generic curve arithmetic for any number of terms. It shares no code
// with the kernels or with the host's points.
#pragma once

#include "suites/msm/terms.hpp"

namespace mgpu::msm {

// Returns the sum of scalar i times (first + i * step) times the generator. Throws Error(internal)
// if OpenSSL fails.
PlainPoint reference_sum(Curve curve, std::span<const Scalar> scalars, const KnownLogs& logs);

}  // namespace mgpu::msm
