// Messages by way of a plug-in. One of any length goes as a head, which says how long it is, and pieces: a count of MPI is an int, and
// of many large transfers at once none ends for seconds, in which there would be no sign of life.
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

constexpr std::size_t kPiece = std::size_t{1} << 22;
constexpr std::size_t kBytesAtOnce = 2 * kPiece, kPiecesAtOnce = 64;  // under way to a rank

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
    Outgoing& outgoing = outgoing_[to];
    outgoing.queue.push_back({message.size(), std::move(message)});
    send_more(to, outgoing);
  }

  bool progress(const std::function<void(RankNumber, Message)>& deliver) override {
    bool moved = false;
    for (auto& [to, outgoing] : outgoing_) send_more(to, outgoing);
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

  bool all_sent() const override {
    return std::all_of(outgoing_.begin(), outgoing_.end(), [](const auto& each) { return each.second.queue.empty(); });
  }
  // What is under way stays in memory: MPI may still read it.
  void forget(RankNumber lost) override {
    if (const auto found = outgoing_.find(lost); found != outgoing_.end()) given_up_.push_back(std::move(found->second));
    outgoing_.erase(lost);
  }
  void end() override { plugin_.end(); }
  void abort(int code) override { plugin_.abort(code); }

 private:
  struct Sending {
    std::uint64_t length = 0;  // the head
    Message message;
    bool begun = false;  // the head is on its way
    std::size_t at = 0;  // of the message, what is to be sent next
    std::size_t under_way = 0;
    bool is_all_begun() const { return begun && at == message.size(); }
  };
  struct Transfer {
    void* handle = nullptr;
    std::size_t bytes = 0;
    Sending* of = nullptr;
  };
  struct Outgoing {
    std::list<Sending> queue;
    std::deque<Transfer> under_way;
    std::size_t bytes = 0;
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

  void send_more(RankNumber to, Outgoing& outgoing) {
    while (!outgoing.under_way.empty() && over(outgoing.under_way.front().handle)) {
      outgoing.bytes -= outgoing.under_way.front().bytes;
      --outgoing.under_way.front().of->under_way;
      outgoing.under_way.pop_front();
    }
    outgoing.queue.remove_if([](const Sending& sending) { return sending.is_all_begun() && sending.under_way == 0; });
    for (Sending& sending : outgoing.queue) {
      while (!sending.is_all_begun()) {
        if (outgoing.bytes >= kBytesAtOnce || outgoing.under_way.size() >= kPiecesAtOnce) return;
        begin_piece(to, outgoing, sending);
      }
    }
  }

  void begin_piece(RankNumber to, Outgoing& outgoing, Sending& sending) {
    const void* data = &sending.length;
    std::size_t size = sizeof sending.length;
    if (sending.begun) {
      data = sending.message.data() + sending.at;
      size = std::min(kPiece, sending.message.size() - sending.at);
      sending.at += size;
    }
    sending.begun = true;
    void* handle = plugin_.send(static_cast<int>(to), data, static_cast<int>(size));
    if (handle == nullptr) throw Error(ErrorKind::device, "MPI refused to send to rank " + std::to_string(to));
    outgoing.under_way.push_back({handle, size, &sending});
    outgoing.bytes += size;
    ++sending.under_way;
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
  std::map<RankNumber, Outgoing> outgoing_;
  std::list<Outgoing> given_up_;
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
