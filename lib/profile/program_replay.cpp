// Replays calls and commands in one order in which everything comes after what it waits for. Times
// are kept relative to what was waited for, so that a replay without change is exact.
#include "lib/profile/program_replay.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "lib/profile/replay_moment.hpp"

namespace mgpu {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
// Time between two calls that is no more than a loop around them and the layer take.
constexpr Nanos kLoop{5'000};

// A begin of a call, an end of a call, or a command.
struct Step {
  enum class What { begin, command, end } what = What::begin;
  std::uint32_t index = 0;
  Nanos key{};                 // not before that of anything it waits for
  std::uint64_t sequence = 0;  // orders steps of one key
};

// The steps of a record, ordered, and what follows from their order in the record.
class Steps {
 public:
  explicit Steps(const ProgramRecord& record)
      : record_(record),
        first_command_(record.calls.size() + 1, 0),
        previous_call_(record.calls.size(), kNone),
        previous_in_queue_(record.commands.size(), kNone),
        flush_(record.commands.size(), kNone),
        awaited_(record.calls.size(), kNone) {
    group_commands();
    visit();
    find_awaited();
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
      return a.key != b.key ? a.key < b.key : a.sequence < b.sequence;
    });
  }

  const std::vector<Step>& all() const { return steps_; }
  std::uint32_t previous_call(std::uint32_t call) const { return previous_call_[call]; }
  std::uint32_t previous_in_queue(std::uint32_t command) const {
    return previous_in_queue_[command];
  }
  std::uint32_t flush(std::uint32_t command) const { return flush_[command]; }
  // Returns the command whose end the thread waited for before the call, without a call that
  // blocks: it asked for the state of an event again and again, or another thread told it.
  std::uint32_t awaited(std::uint32_t call) const { return awaited_[call]; }

 private:
  // Lists the commands of each call, in their order.
  void group_commands() {
    for (const ProgramCommand& c : record_.commands) ++first_command_[c.call + 1];
    std::partial_sum(first_command_.begin(), first_command_.end(), first_command_.begin());
    of_call_.resize(record_.commands.size());
    std::vector<std::uint32_t> next = first_command_;
    for (std::uint32_t k = 0; k < record_.commands.size(); ++k)
      of_call_[next[record_.commands[k].call]++] = k;
  }

  void visit() {
    std::vector<std::uint32_t> order(record_.calls.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return record_.calls[a].begin < record_.calls[b].begin;
    });
    std::vector<std::uint32_t> last_of_thread(record_.threads.size(), kNone),
        last_of_queue(record_.queues.size(), kNone);
    std::vector<std::vector<std::uint32_t>> unflushed(record_.threads.size());
    std::vector<Nanos> end_key(record_.calls.size()), command_key(record_.commands.size());
    // The last call of each process to end, of those visited.
    std::vector<std::uint32_t> last_of_process(record_.processes.size(), kNone);
    std::vector<std::uint64_t> sequences(record_.calls.size());
    std::uint64_t sequence = 0;
    for (const std::uint32_t k : order) {
      sequences[k] = sequence += 3;
      const HostCall& call = record_.calls[k];
      const std::uint32_t process = record_.threads[call.thread].process;
      std::uint32_t& last = last_of_thread[call.thread];
      previous_call_[k] = last;
      if (last == kNone && last_of_process[process] != kNone &&
          record_.calls[last_of_process[process]].end <= call.begin)
        previous_call_[k] = last_of_process[process];
      last = k;
      Nanos key = call.begin;
      if (previous_call_[k] != kNone) key = std::max(key, end_key[previous_call_[k]]);
      steps_.push_back({Step::What::begin, k, key, sequence});
      for (std::uint32_t j = first_command_[k]; j < first_command_[k + 1]; ++j) {
        const std::uint32_t index = of_call_[j];
        const ProgramCommand& command = record_.commands[index];
        Nanos its = std::max(key, command.started);
        if (record_.queues[command.queue].in_order) {
          previous_in_queue_[index] = last_of_queue[command.queue];
          last_of_queue[command.queue] = index;
          if (previous_in_queue_[index] != kNone)
            its = std::max(its, command_key[previous_in_queue_[index]]);
        }
        for (const std::uint32_t before : command.after) its = std::max(its, command_key[before]);
        command_key[index] = its;
        if (call.kind == CallKind::enqueue) unflushed[call.thread].push_back(index);
      }
      if (call.kind == CallKind::flush || call.kind == CallKind::wait) {
        for (const std::uint32_t index : unflushed[call.thread])
          if (record_.commands[index].started >= call.begin) {
            flush_[index] = k;
            command_key[index] = std::max(command_key[index], key + Nanos{1});
          }
        unflushed[call.thread].clear();
      }
      Nanos end = std::max(key, call.end);
      for (const std::uint32_t command : call.waited) end = std::max(end, command_key[command]);
      end_key[k] = end;
      std::uint32_t& ended = last_of_process[process];
      if (ended == kNone || record_.calls[ended].end < call.end) ended = k;
    }
    // Keys of commands are final once all calls have been visited.
    for (std::uint32_t k = 0; k < record_.commands.size(); ++k)
      steps_.push_back(
          {Step::What::command, k, command_key[k], sequences[record_.commands[k].call] + 1});
    for (std::uint32_t k = 0; k < record_.calls.size(); ++k) {
      for (const std::uint32_t command : record_.calls[k].waited)
        end_key[k] = std::max(end_key[k], command_key[command]);
      steps_.push_back({Step::What::end, k, end_key[k], sequences[k] + 2});
    }
  }

  // A thread that does nothing between two calls and goes on when a command of its process has
  // just ended is taken to have waited for that command.
  void find_awaited() {
    constexpr Nanos kNoGap{20'000}, kJustEnded{100'000};
    std::vector<std::vector<std::pair<Nanos, std::uint32_t>>> ends(record_.processes.size());
    for (std::uint32_t k = 0; k < record_.commands.size(); ++k) {
      const ProgramCommand& c = record_.commands[k];
      if (!c.marker) ends[record_.queues[c.queue].process].emplace_back(c.ended, k);
    }
    for (auto& of_process : ends) std::sort(of_process.begin(), of_process.end());
    for (std::uint32_t k = 0; k < record_.calls.size(); ++k) {
      const HostCall& call = record_.calls[k];
      const Nanos idle_since =
          previous_call_[k] == kNone ? Nanos{} : record_.calls[previous_call_[k]].end;
      if (call.begin - idle_since < kNoGap) continue;
      const auto& of_process = ends[record_.threads[call.thread].process];
      const auto after =
          std::upper_bound(of_process.begin(), of_process.end(), std::pair{call.begin, kNone});
      if (after == of_process.begin()) continue;
      const auto& [ended, command] = *std::prev(after);
      if (ended > idle_since && call.begin - ended <= kJustEnded) awaited_[k] = command;
    }
  }

  const ProgramRecord& record_;
  std::vector<std::uint32_t> first_command_, of_call_;
  std::vector<std::uint32_t> previous_call_, previous_in_queue_, flush_, awaited_;
  std::vector<Step> steps_;
};

// What the commands of a device wait for if transfers run next to kernels.
struct Engines {
  std::array<ReplayMoment, 3> end{};  // latest end of uploads, kernels and downloads
  // Latest end of kernels when the last two groups of uploads began.
  Nanos before_group{}, before_last_group{};
  CommandKind last = CommandKind::download;
  std::uint64_t groups = 0;  // of uploads
  // Latest end of the downloads of a buffer after the last group of uploads, and before it.
  struct Reads {
    std::uint64_t group = 0;
    Nanos after{}, before{};
  };
  std::map<std::uint32_t, Reads> reads{};  // by buffer
};

std::size_t engine_of(CommandKind kind) { return static_cast<std::size_t>(kind) % 3; }

class ProgramReplay {
 public:
  ProgramReplay(const ProgramRecord& record, const ProgramChange& change)
      : record_(record),
        change_(change),
        steps_(record),
        begins_(record.calls.size()),
        ends_(record.calls.size()),
        commands_(record.commands.size()),
        last_on_(record.devices.size()),
        engines_(record.queues.size()) {
    if (change.at_once.empty()) return;
    at_once_calls_.resize(record.calls.size());
    for (std::size_t k = 0; k < record.commands.size(); ++k)
      if (change.at_once[k]) at_once_calls_[record.commands[k].call] = true;
  }

  Nanos makespan() {
    for (const Step& step : steps_.all()) {
      if (step.what == Step::What::begin)
        begin(step.index);
      else if (step.what == Step::What::command)
        run(step.index);
      else
        end(step.index);
    }
    ReplayMoment last;
    for (std::size_t k = 0; k < commands_.size(); ++k)
      if (commands_[k]) last.wait_for(*commands_[k]);
    for (std::size_t k = 0; k < ends_.size(); ++k)
      if (ends_[k] && record_.calls[k].kind != CallKind::other) last.wait_for(*ends_[k]);
    return last.replayed + (record_.makespan - last.recorded);
  }

 private:
  using Known = std::optional<ReplayMoment>;  // none: not replayed yet

  void begin(std::uint32_t index) {
    const HostCall& call = record_.calls[index];
    ReplayMoment ready;
    if (const std::uint32_t before = steps_.previous_call(index); before != kNone && ends_[before])
      ready.wait_for(*ends_[before]);
    if (const std::uint32_t command = steps_.awaited(index);
        command != kNone && commands_[command]) {
      const Nanos before = ready.replayed;
      ready.wait_for(*commands_[command]);
      if (change_.no_waits) ready.replayed = before;
    }
    Nanos gap = call.begin - ready.recorded;
    if (change_.no_host_work ||
        (gap < kLoop && is_at_once(index) && steps_.previous_call(index) != kNone &&
         is_at_once(steps_.previous_call(index))))
      gap = std::min(gap, Nanos{});
    begins_[index] = ReplayMoment{call.begin, saturating_add(ready.replayed, gap)};
  }

  void end(std::uint32_t index) {
    const HostCall& call = record_.calls[index];
    ReplayMoment ready = begins_[index].value_or(ReplayMoment{call.begin, call.begin});
    const Nanos begun = ready.replayed;
    for (const std::uint32_t command : call.waited)
      if (commands_[command]) ready.wait_for(*commands_[command]);
    const Nanos tail = call.end - ready.recorded;
    ReplayMoment end{call.end, saturating_add(ready.replayed, tail)};
    if (change_.no_waits && !call.waited.empty())
      end.replayed =
          std::min(end.replayed, saturating_add(begun, std::max(tail, Nanos{}) + work_in(index)));
    if (change_.no_builds && is_of_build(call)) end.replayed = begun;
    if (call.kind == CallKind::enqueue && is_at_once(index)) end.replayed = ready.replayed;
    ends_[index] = end;
  }

  // Returns how long a call worked until its own command began, with nothing before it in its
  // queue.
  Nanos work_in(std::uint32_t index) const {
    const HostCall& call = record_.calls[index];
    for (const std::uint32_t k : call.waited) {
      const ProgramCommand& c = record_.commands[k];
      const std::uint32_t before = steps_.previous_in_queue(k);
      if (c.call == index && (before == kNone || record_.commands[before].ended <= call.begin))
        return std::max(c.started - call.begin, Nanos{});
    }
    return {};
  }

  static bool is_of_build(const HostCall& call) {
    const std::string& name = call.name.text();
    return call.kind == CallKind::build || name.starts_with("clCreateProgram") ||
           name.starts_with("clCreateKernel");
  }
  // Tells whether the command that a call enqueued begins at once.
  bool is_at_once(std::uint32_t call) const {
    return !at_once_calls_.empty() && at_once_calls_[call];
  }

  void run(std::uint32_t index) {
    const ProgramCommand& c = record_.commands[index];
    ReplayMoment host = begins_[c.call].value_or(ReplayMoment{});
    if (const std::uint32_t flush = steps_.flush(index);
        flush != kNone && begins_[flush] && !change_.no_waits)
      host.wait_for(*begins_[flush]);
    ReplayMoment device;
    wait_for_queue(index, device);
    for (const std::uint32_t before : c.after)
      if (commands_[before]) device.wait_for(*commands_[before]);
    ReplayMoment& engine = last_on_[c.device.value][engine_of(c.kind)];
    if (!c.marker && engine.recorded <= c.started) device.wait_for(engine);

    const bool at_once = !change_.at_once.empty() && change_.at_once[index];
    const auto gap_after = [&](const ReplayMoment& ready, bool last) {
      const Nanos gap = c.started - ready.recorded;
      return saturating_add(ready.replayed, last && !at_once ? gap : std::min(gap, Nanos{}));
    };
    const bool by_host = host.recorded >= device.recorded;
    const Nanos started = std::max(gap_after(host, by_host), gap_after(device, !by_host));
    const Nanos length = change_.lengths.empty() ? c.ended - c.started : change_.lengths[index];
    const ReplayMoment end{c.ended, saturating_add(started, length)};
    commands_[index] = end;
    if (c.marker) return;
    engine.wait_for(end);
    Engines& queue = engines_[c.queue];
    queue.end[engine_of(c.kind)].wait_for(end);
    if (c.kind != CommandKind::download || c.memory == 0) return;
    Engines::Reads& reads = queue.reads[c.memory];
    if (reads.group != queue.groups)
      reads = {queue.groups, Nanos{}, std::max(reads.before, reads.after)};
    reads.after = std::max(reads.after, end.replayed);
  }

  // Waits for the previous command of an in-order queue or, if transfers run next to kernels, for
  // what the command needs of those before it.
  void wait_for_queue(std::uint32_t index, ReplayMoment& device) {
    const ProgramCommand& c = record_.commands[index];
    const std::uint32_t before = steps_.previous_in_queue(index);
    if (before == kNone || !commands_[before]) return;
    ReplayMoment previous = *commands_[before];
    if (change_.engines && !c.marker) previous.replayed = engines_before(c);
    device.wait_for(previous);
  }

  Nanos engines_before(const ProgramCommand& c) {
    Engines& queue = engines_[c.queue];
    const std::size_t engine = engine_of(c.kind);
    Nanos end = queue.end[engine].replayed;
    if (c.kind == CommandKind::upload) {
      if (queue.last != CommandKind::upload) {
        queue.before_last_group = queue.before_group;
        queue.before_group = queue.end[engine_of(CommandKind::compute)].replayed;
        ++queue.groups;
      }
      end = std::max({end, queue.before_last_group, queue.reads[c.memory].before});
    } else {
      end = std::max(end, queue.end[engine - 1].replayed);
    }
    queue.last = c.kind;
    return end;
  }

  const ProgramRecord& record_;
  const ProgramChange& change_;
  const Steps steps_;
  std::vector<Known> begins_, ends_, commands_;
  std::vector<std::array<ReplayMoment, 3>> last_on_;  // by device and engine
  std::vector<Engines> engines_;                      // by queue
  std::vector<bool> at_once_calls_;
};

}  // namespace

Nanos replay(const ProgramRecord& record, const ProgramChange& change) {
  return ProgramReplay(record, change).makespan();
}

}  // namespace mgpu
