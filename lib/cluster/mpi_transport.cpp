// Messages by way of a plug-in. One of any length goes as a head, which says how long it is, and pieces: a count of MPI is an int.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/cluster/plugin/plugin.h"
#include "lib/cluster/transport.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 24;

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const mgpu_cluster_plugin& plugin) : plugin_(plugin) {
    int rank = 0, size = 0;
    if (const char* why = plugin_.begin(&rank, &size)) throw Error(ErrorKind::device, std::string("MPI: ") + why);
    rank_ = static_cast<RankNumber>(rank);
    size_ = static_cast<RankNumber>(size);
  }

  RankNumber rank() const override { return rank_; }
  RankNumber size() const override { return size_; }
  std::string library() const override { return plugin_.library(); }

  void send(RankNumber to, Message message) override {
    Sending& sending = sending_.emplace_back();
    sending.to = to;
    sending.length = message.size();
    sending.message = std::move(message);
    const auto send_piece = [&](const void* data, std::size_t size) {
      void* transfer = plugin_.send(static_cast<int>(to), data, static_cast<int>(size));
      if (transfer == nullptr) throw Error(ErrorKind::device, "MPI refused to send to rank " + std::to_string(to));
      sending.transfers.push_back(transfer);
    };
    send_piece(&sending.length, sizeof sending.length);
    for (std::size_t at = 0; at < sending.message.size(); at += kPiece)
      send_piece(sending.message.data() + at, std::min(kPiece, sending.message.size() - at));
  }

  bool progress(const std::function<void(RankNumber, Message)>& deliver) override {
    bool moved = false;
    for (auto at = sending_.begin(); at != sending_.end();) {
      at = is_over(at->transfers) ? sending_.erase(at) : std::next(at);
    }
    int from = 0, size = 0;
    for (int found = plugin_.waiting(&from, &size); found != 0; found = plugin_.waiting(&from, &size)) {
      if (found < 0) throw Error(ErrorKind::device, "MPI failed while it looked for messages");
      take(static_cast<RankNumber>(from), static_cast<std::size_t>(size));
      moved = true;
    }
    for (auto& [rank, incoming] : incoming_) {
      while (!incoming.pieces.empty() && over(incoming.pieces.front().transfer)) {
        Piece piece = std::move(incoming.pieces.front());
        incoming.pieces.pop_front();
        moved = true;
        assemble(rank, incoming, piece.bytes, deliver);
      }
    }
    return moved;
  }

  bool all_sent() const override { return sending_.empty(); }
  // What is under way stays in memory: MPI may still read it.
  void forget(RankNumber lost) override {
    for (auto at = sending_.begin(); at != sending_.end();) {
      const auto next = std::next(at);
      if (at->to == lost) given_up_.splice(given_up_.end(), sending_, at);
      at = next;
    }
  }
  void end() override { plugin_.end(); }
  void abort(int code) override { plugin_.abort(code); }

 private:
  struct Sending {
    RankNumber to = 0;
    std::uint64_t length = 0;  // the head
    Message message;
    std::vector<void*> transfers;
  };
  struct Piece {
    Message bytes;
    void* transfer = nullptr;
  };
  struct Incoming {
    std::deque<Piece> pieces;  // being received, in order
    Message message;           // of which so many bytes are still to come
    std::uint64_t missing = 0;
  };

  bool over(void* transfer) {
    const int state = plugin_.over(transfer);
    if (state < 0) throw Error(ErrorKind::device, "MPI failed in the middle of a message");
    return state == 1;
  }

  bool is_over(std::vector<void*>& transfers) {
    while (!transfers.empty() && over(transfers.back())) transfers.pop_back();
    return transfers.empty();
  }

  void take(RankNumber from, std::size_t size) {
    Piece& piece = incoming_[from].pieces.emplace_back();
    piece.bytes.resize(size);
    piece.transfer = plugin_.receive(static_cast<int>(from), piece.bytes.data(), static_cast<int>(size));
    if (piece.transfer == nullptr) throw Error(ErrorKind::device, "MPI refused to receive from rank " + std::to_string(from));
  }

  // Pieces of a long message, and its head, are handed over as messages of nothing: they are signs of life.
  static void assemble(RankNumber from, Incoming& incoming, const Message& piece,
                       const std::function<void(RankNumber, Message)>& deliver) {
    if (incoming.missing == 0) {
      std::memcpy(&incoming.missing, piece.data(), sizeof incoming.missing);
      incoming.message.reserve(incoming.missing);
    } else {
      incoming.missing -= piece.size();
      incoming.message.insert(incoming.message.end(), piece.begin(), piece.end());
    }
    deliver(from, incoming.missing == 0 ? std::exchange(incoming.message, {}) : Message());
  }

  const mgpu_cluster_plugin& plugin_;
  RankNumber rank_ = 0, size_ = 0;
  std::list<Sending> sending_, given_up_;
  std::map<RankNumber, Incoming> incoming_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const std::filesystem::path& plugin) {
  // Open MPI opens objects of its own that want to see its symbols.
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw Error(ErrorKind::device, std::string("the MPI plug-in cannot be loaded: ") + dlerror());
  const auto entry = reinterpret_cast<mgpu_cluster_plugin_entry>(dlsym(library, "mgpu_cluster_plugin_table"));
  const mgpu_cluster_plugin* table = entry != nullptr ? entry() : nullptr;
  if (table == nullptr || table->version != MGPU_CLUSTER_PLUGIN_VERSION)
    throw Error(ErrorKind::device, plugin.string() + " is not a plug-in of this version of mgpu-bench");
  return std::make_unique<MpiTransport>(*table);
}

}  // namespace mgpu
