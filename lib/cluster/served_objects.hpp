// Objects that rank 0 has made on a device of this rank, by the numbers that it gave: buffers,
// kernels, pieces of memory that devices share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "lib/cluster/group_parts.hpp"
#include "lib/cluster/wire.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

class ServedObjects {
 public:
  explicit ServedObjects(GroupParts& parts) : parts_(parts) {}

  // Carries out a call that makes an object, or asks about one, and adds to the answer. Returns
  // false for any other call. Throws what DeviceResources throws.
  bool answer(Call call, DeviceResources& resources, Reader& in, Writer& out);
  Buffer& buffer(std::uint64_t number);
  Kernel& kernel(std::uint64_t number) { return *kernels_.at(number); }
  // Frees an object; may be called with a number that was never used. `may_be_in_flight`: commands
  // that will end at an unknown time may be using it, so that it is leaked.
  void free_buffer(std::uint64_t number, bool may_be_in_flight);
  void free_kernel(std::uint64_t number, bool may_be_in_flight);
  void leak_all();
  void free_all();

 private:
  struct Piece {
    std::shared_ptr<SharedPart> memory;
    Buffer* buffer = nullptr;
  };

  GroupParts& parts_;
  std::map<std::uint64_t, std::unique_ptr<Buffer>> buffers_;
  std::map<std::uint64_t, std::unique_ptr<Kernel>> kernels_;
  std::map<std::uint64_t, Piece> pieces_;
};

}  // namespace mgpu
