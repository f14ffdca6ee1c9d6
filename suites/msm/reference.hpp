// The independent reference for terms whose points are known multiples of the generator: one scalar
// multiplication by OpenSSL's generic curve arithmetic, whatever the number of terms. Shares no
// code with the kernels, nor with the host's points.
#pragma once

#include "suites/msm/terms.hpp"

namespace mgpu::msm {

// The sum of scalar i times (first + i * step) times the generator. Throws Error(internal) when
// OpenSSL fails.
PlainPoint reference_sum(Curve curve, std::span<const Scalar> scalars, const KnownLogs& logs);

}  // namespace mgpu::msm
