// The digest of a large result.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace mgpu {

// SHA-256 by OpenSSL, in lower-case hex.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace mgpu
