// SHA-256 digest of a large result.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace mgpu {

// Returns the SHA-256 of `bytes` by OpenSSL, in lower-case hex.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace mgpu
