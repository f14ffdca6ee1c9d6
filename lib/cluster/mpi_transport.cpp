// Messages through a plug-in. The first piece of a message has its length, and all of a short
// message. The rest of a long one follows in pieces, received directly into place: a count of MPI
// is an int, and when many large transfers run at once none of them ends for seconds, during which
// there would be no sign of life.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/cluster/plugin/plugin.h"
#include "lib/cluster/transport.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kFirst = 4096;  // bytes of a message that go with its length
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 23,
                      kPiecesAtOnce = 64;  // most that is under way to a rank

class MpiTransport final : public Transport {
 public:
  MpiTransport(const mgpu_cluster_plugin& plugin, std::optional<bool> device_memory)
      : plugin_(plugin), device_memory_(device_memory) {
    int rank = 0, size = 0;
    if (const char* why = plugin_.begin(&rank, &size))
      throw Error(ErrorKind::device, std::string("MPI: ") + why);
    rank_ = static_cast<RankNumber>(rank);
    size_ = static_cast<RankNumber>(size);
  }

  RankNumber rank() const override { return rank_; }
  RankNumber size() const override { return size_; }
  std::string library() const override { return plugin_.library(); }

  void send(RankNumber to, Message message) override {
    Outgoing& outgoing = outgoing_[to];
    outgoing.queue.emplace_back(std::move(message));
    send_more(to, outgoing);
  }

  void send(RankNumber to, Message head, SentInPlace rest) override {
    Outgoing& outgoing = outgoing_[to];
    if (rest.begin) rest.begin();
    outgoing.queue.emplace_back(std::move(head), std::move(rest));
    send_more(to, outgoing);
  }

  std::optional<std::string> why_no_device_memory() const override {
    if (device_memory_ == false) return "MGPU_MPI_DEVICE_MEMORY is no";
    const int answer = device_memory_ ? 1 : plugin_.takes_device_memory();
    if (answer == 1) return std::nullopt;
    return library() + (answer == 0 ? " takes no device memory (MPIX_Query_cuda_support)"
                                    : " cannot be asked whether it takes device memory");
  }

  bool progress(const std::function<void(RankNumber, Message)>& deliver) override {
    bool moves = false;
    for (auto& [to, outgoing] : outgoing_) {
      send_more(to, outgoing);
      moves |= !outgoing.under_way.empty();
    }
    for (auto& [rank, incoming] : incoming_) moves |= finish(rank, incoming, deliver);
    // The position of the next piece is unknown until the first piece has arrived.
    for (int from = 0, size = 0; !first_under_way_;) {
      const int found = plugin_.waiting(&from, &size);
      if (found < 0) throw Error(ErrorKind::device, "MPI failed while it looked for messages");
      if (found == 0) break;
      const auto rank = static_cast<RankNumber>(from);
      take(rank, static_cast<std::size_t>(size));
      finish(rank, incoming_[rank], deliver);
      moves = true;
    }
    for (const auto& [rank, incoming] : incoming_) moves |= !incoming.empty();
    return moves;
  }

  bool all_sent() const override {
    return std::all_of(outgoing_.begin(), outgoing_.end(),
                       [](const auto& each) { return each.second.queue.empty(); });
  }
  // Drops the transfers of a rank, but keeps their memory: MPI may still use it.
  void forget(RankNumber lost) override {
    if (const auto found = incoming_.find(lost); found != incoming_.end()) {
      if (!found->second.empty() && found->second.back().first_transfer != nullptr)
        first_under_way_ = false;
      left_.push_back(std::move(found->second));
    }
    incoming_.erase(lost);
    if (const auto found = outgoing_.find(lost); found != outgoing_.end())
      given_up_.push_back(std::move(found->second));
    outgoing_.erase(lost);
  }
  void end() override { plugin_.end(); }
  void abort(int code) override { plugin_.abort(code); }

 private:
  struct Sending {
    explicit Sending(Message whole)
        : message(std::move(whole)), data(message), at(std::min(message.size(), kFirst)) {
      make_first(message, at, message.size());
    }
    Sending(const Message& head, SentInPlace rest) : data(rest.bytes), sent(std::move(rest.sent)) {
      make_first(head, head.size(), head.size() + data.size());
    }
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;

    // Makes the first piece: the length of the message, and its first bytes.
    void make_first(const Message& from, std::size_t bytes, std::uint64_t length) {
      first.resize(sizeof length + bytes);
      std::memcpy(first.data(), &length, sizeof length);
      std::copy_n(from.begin(), bytes, first.begin() + sizeof length);
    }

    Message first, message;
    std::span<const std::byte> data;  // has what follows, from `at` on
    std::function<void()> sent;       // called when nothing is under way any more
    bool begun = false;               // the first piece is on its way
    std::size_t at = 0;               // position in `data` of what is sent next
    std::size_t under_way = 0;
    bool is_all_begun() const { return begun && at == data.size(); }
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
  struct Receipt {  // a message that is being received
    Message first;
    void* first_transfer = nullptr;  // null: the first piece has arrived
    Message message;
    // Position of what is received next; bytes that have not arrived.
    std::size_t at = 0, missing = 0;
    std::deque<std::pair<void*, std::size_t>> pieces;
  };
  using Incoming = std::list<Receipt>;  // in each but the last, all pieces are at least under way

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
    outgoing.queue.remove_if([](const Sending& sending) {
      const bool is_over = sending.is_all_begun() && sending.under_way == 0;
      if (is_over && sending.sent) sending.sent();
      return is_over;
    });
    for (Sending& sending : outgoing.queue) {
      while (!sending.is_all_begun()) {
        if (outgoing.bytes >= kBytesAtOnce || outgoing.under_way.size() >= kPiecesAtOnce) return;
        begin_piece(to, outgoing, sending);
      }
    }
  }

  void begin_piece(RankNumber to, Outgoing& outgoing, Sending& sending) {
    const void* data = sending.first.data();
    std::size_t size = sending.first.size();
    if (sending.begun) {
      data = sending.data.data() + sending.at;
      size = std::min(kPiece, sending.data.size() - sending.at);
      sending.at += size;
    }
    sending.begun = true;
    void* handle = plugin_.send(static_cast<int>(to), data, static_cast<int>(size));
    if (handle == nullptr)
      throw Error(ErrorKind::device, "MPI refused to send to rank " + std::to_string(to));
    outgoing.under_way.push_back({handle, size, &sending});
    outgoing.bytes += size;
    ++sending.under_way;
  }

  void* receive(RankNumber from, std::byte* into, std::size_t size) {
    void* transfer = plugin_.receive(static_cast<int>(from), into, static_cast<int>(size));
    if (transfer == nullptr)
      throw Error(ErrorKind::device, "MPI refused to receive from rank " + std::to_string(from));
    return transfer;
  }

  // Receives the piece that was announced.
  void take(RankNumber from, std::size_t size) {
    Incoming& incoming = incoming_[from];
    if (incoming.empty() || incoming.back().at == incoming.back().message.size()) {
      Receipt& begun = incoming.emplace_back();
      begun.first.resize(size);
      begun.first_transfer = receive(from, begun.first.data(), size);
      first_under_way_ = true;
      return;
    }
    Receipt& receipt = incoming.back();
    if (size > receipt.message.size() - receipt.at)
      throw Error(ErrorKind::device, "a message is longer than it said");
    receipt.pieces.emplace_back(receive(from, receipt.message.data() + receipt.at, size), size);
    receipt.at += size;
  }

  void read_first(Receipt& receipt) {
    receipt.first_transfer = nullptr;
    first_under_way_ = false;
    std::uint64_t length = 0;
    if (receipt.first.size() < sizeof length)
      throw Error(ErrorKind::device, "a message has no length");
    std::memcpy(&length, receipt.first.data(), sizeof length);
    receipt.at = receipt.first.size() - sizeof length;
    if (length < receipt.at) throw Error(ErrorKind::device, "a message is longer than it said");
    receipt.message.resize(length);
    std::copy_n(receipt.first.begin() + sizeof length, receipt.at, receipt.message.begin());
    receipt.missing = length - receipt.at;
  }

  // Delivers what has arrived. Pieces of a long message are delivered as empty messages, which
  // serve as signs of life. Returns false if nothing has come.
  bool finish(RankNumber from, Incoming& incoming,
              const std::function<void(RankNumber, Message)>& deliver) {
    bool any = false;
    if (!incoming.empty() && incoming.back().first_transfer != nullptr &&
        over(incoming.back().first_transfer)) {
      read_first(incoming.back());
      any = true;
    }
    while (!incoming.empty()) {
      Receipt& receipt = incoming.front();
      for (; !receipt.pieces.empty() && over(receipt.pieces.front().first); any = true) {
        receipt.missing -= receipt.pieces.front().second;
        receipt.pieces.pop_front();
        if (receipt.missing > 0) deliver(from, {});
      }
      if (receipt.first_transfer != nullptr || receipt.missing > 0) break;
      Message message = std::move(receipt.message);
      incoming.pop_front();
      deliver(from, std::move(message));
    }
    return any;
  }

  const mgpu_cluster_plugin& plugin_;
  const std::optional<bool> device_memory_;
  RankNumber rank_ = 0, size_ = 0;
  std::map<RankNumber, Outgoing> outgoing_;
  std::list<Outgoing> given_up_;
  std::map<RankNumber, Incoming> incoming_;
  std::list<Incoming> left_;
  bool first_under_way_ = false;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const std::filesystem::path& plugin,
                                              std::optional<bool> device_memory) {
  // Open MPI opens shared objects of its own that need its symbols.
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw Error(ErrorKind::device, std::string("the MPI plug-in cannot be loaded: ") + dlerror());
  const auto entry =
      reinterpret_cast<mgpu_cluster_plugin_entry>(dlsym(library, "mgpu_cluster_plugin_table"));
  const mgpu_cluster_plugin* table = entry != nullptr ? entry() : nullptr;
  if (table == nullptr || table->version != MGPU_CLUSTER_PLUGIN_VERSION)
    throw Error(ErrorKind::device,
                plugin.string() + " is not a plug-in of this version of mgpu-bench");
  return std::make_unique<MpiTransport>(*table, device_memory);
}

}  // namespace mgpu
