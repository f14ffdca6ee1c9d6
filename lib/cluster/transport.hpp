// How messages get from one rank to another, one thread at each end: by MPI, or by memory in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "lib/cluster/message.hpp"

namespace mgpu {

using RankNumber = std::uint32_t;

// Messages of one rank to another arrive whole and in order. Nothing waits but end(). Throws
// Error(device).
class Transport {
 public:
  virtual ~Transport() = default;
  virtual RankNumber rank() const = 0;
  virtual RankNumber size() const = 0;
  virtual std::string library() const = 0;  // what it is, for the record
  virtual void send(RankNumber to, Message message) = 0;
  // Hands over what has arrived; of a message that takes long to arrive, one of nothing for each
  // piece, too. False: nothing moves.
  virtual bool progress(const std::function<void(RankNumber from, Message message)>& deliver) = 0;
  virtual bool all_sent() const = 0;
  virtual void forget(RankNumber lost) = 0;  // nothing more is sent there
  virtual void end() = 0;                    // leaves the job when all others do
  virtual void abort(int code) = 0;          // ends all of the job, this process too
};

// Loads the plug-in and joins the job. Throws Error(device). The thread that called it makes all
// further calls.
std::unique_ptr<Transport> make_mpi_transport(const std::filesystem::path& plugin);

}  // namespace mgpu
