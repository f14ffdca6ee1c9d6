// SHA-256 digest of a large result.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace mgpu {

// Returns the SHA-256 of `bytes` by OpenSSL, in lower-case hex. SHA-256 is sequential, and each
// case of a problem has the same result: recent digests are remembered, and recognised by hashes of
// parts that all threads of the host compute.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace mgpu
