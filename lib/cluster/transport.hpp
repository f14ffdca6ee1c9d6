// Transport of messages from one rank to another, with one thread at each end: by MPI, or by memory
// in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lib/cluster/message.hpp"

namespace mgpu {

using RankNumber = std::uint32_t;

// Bytes that are sent from where they are, such as memory of a device, and not copied into a
// message. The transport's thread calls `begin` before it reads them, and `sent` when the memory
// may change; both may be empty.
struct SentInPlace {
  std::span<const std::byte> bytes;  // not empty
  std::function<void()> begin, sent;
};

// Messages from one rank to another arrive whole and in order. Only end() waits. Throws
// Error(device).
class Transport {
 public:
  virtual ~Transport() = default;
  virtual RankNumber rank() const = 0;
  virtual RankNumber size() const = 0;
  virtual std::string library() const = 0;  // name and version, for the record
  virtual void send(RankNumber to, Message message) = 0;
  // Sends one message, which begins with `head` and ends with `rest`.
  virtual void send(RankNumber to, Message head, SentInPlace rest) = 0;
  // Returns why memory of devices cannot be sent in place; none: it can.
  virtual std::optional<std::string> why_no_device_memory() const = 0;
  // Delivers what has arrived, and an empty message for each piece of a message that takes long to
  // arrive. Returns false if nothing is moving.
  virtual bool progress(const std::function<void(RankNumber from, Message message)>& deliver) = 0;
  virtual bool all_sent() const = 0;
  virtual void forget(RankNumber lost) = 0;  // stops sending to a failed rank
  virtual void end() = 0;                    // leaves the job when all others do
  virtual void abort(int code) = 0;          // ends the whole job, this process too
};

// Loads the plug-in and joins the job. Throws Error(device). All further calls must come from the
// calling thread.
// `device_memory` replaces what the library says of memory of devices.
std::unique_ptr<Transport> make_mpi_transport(const std::filesystem::path& plugin,
                                              std::optional<bool> device_memory = {});

}  // namespace mgpu
