// The script of the fault-injecting OpenCL layer: which calls fail, and how.
//
// MGPU_FAULT_SCRIPT holds rules with ";" between them. A rule is words key=value, in any order:
//
//   device=ID     as `mgpu-bench devices` names it: 0:1 is the second device of the first platform,
//                 0:0.1 the second of the sub-devices one call made of 0:0; * is every device
//                 (default). Objects in a context of several devices belong to the first one.
//   call=NAME,..  functions (clFinish), or groups: open (contexts, queues), build (clBuildProgram),
//                 allocate (buffers), pin (maps), upload, launch, download, enqueue (every
//                 clEnqueue...), wait (clFinish, clWaitForEvents, and clGetEventInfo, with which
//                 programs poll), profile (time stamps), release, any (default)
//   kernel=NAME   only calls about this kernel
//   min=N max=N   only allocations and transfers of at least, at most N bytes
//   nth=N         only the N-th matching call of a device, from 1
//   from=N        the N-th and all later ones
//   every=N       the N-th, 2N-th, ...
//   p=X seed=N    each call with this probability, the same calls for the same seed (default: 1)
//   times=N       at most N times, all devices together
//   while=FILE     only while this file exists
//   after=K       counts no call of a device before the K-th rule of the script, which must precede
//                 this one, has applied to that device
//   arg=N bit=N   the argument of the kernel and the bit of a flip (default: by the seed)
//   do=ACTION     error:CODE     the call returns this OpenCL error and does nothing
//                 fail-alloc     error:-4, CL_MEM_OBJECT_ALLOCATION_FAILURE
//                 fail:CODE      the command is accepted, does nothing, and its event ends with
//                                this negative status; if it has no event, the next command in
//                                its queue with an event gets the status, and those between do
//                                nothing
//                 skip           the command is accepted, does nothing, and ends well
//                 delay:MS       the command, and those after it in its queue, begin later
//                 hang           it never begins
//                 delay-call:MS  the call takes longer; the meaning of delay for calls that enqueue
//                                nothing
//                 hang-call      the call never returns; the meaning of hang for those
//                 flip           one bit of an upload or a download is flipped in transit, or one
//                                bit in a buffer of a launch after it
//                 stamps:zero    all time stamps of the command are 0; stamps:backwards: it ends
//                                before it starts; stamps:huge: 2^62 is added to each
//                 vanish         clGetDeviceIDs does not list the device; others keep their names
//                 lose:CODE      the context is lost, as after a fault of an NVIDIA kernel: this
//                                call and all later ones return CODE (default -5,
//                                CL_OUT_OF_RESOURCES), commands not seen complete end with it; a
//                                new context works
//                 die:CODE       the same, for every context of the device, and no new one can be
//                                made
//                 note           only a line in the log
//   be=FILE       the device pretends to be the one that a file of facts describes: a path, or the
//                 name of a file in tests/layer/devices without ".toml". Goes with device= only,
//                 and is also true of sub-devices. The first rule with be= for a device decides.
//
// A device that pretends answers queries by its file (lie.hpp describes it) and enforces what they
// claim: work-group sizes of the device and of each kernel (CL_INVALID_WORK_GROUP_SIZE,
// CL_INVALID_WORK_ITEM_SIZE), local memory of a kernel (CL_OUT_OF_RESOURCES), the size of an
// allocation (CL_INVALID_BUFFER_SIZE) and of all (CL_MEM_OBJECT_ALLOCATION_FAILURE), programs with
// `double` (do not build without cl_khr_fp64), options and words that its compiler refuses,
// properties of queues, kinds of sub-devices, calls of a later OpenCL version
// (CL_INVALID_OPERATION), no compiler, not available. Time stamps are rounded down to its timer's
// resolution. It has no program binaries: PoCL takes seconds to make them. Its units, clock and
// speed are words only, and sub-devices have the real number of units. CL_DEVICE_PLATFORM is a
// platform with the file's facts, which clGetPlatformIDs does not list: two devices of one platform
// may pretend to be of two. The listed platform has the file's facts if all its devices pretend to
// be of one file, else its own.
//
// Every rule counts every call that matches its other words; the first rule that is due
// decides. A rule that cannot be read ends the process with exit code 125. MGPU_FAULT_LOG names a
// file that gets one line of JSON for each fault:
//   {"rule": 1, "device": "0:0.1", "call": "clEnqueueNDRangeKernel", "kernel": "leaves", "bytes":
//   0, "n": 40, "do": "error:-5", "ns": T}
// with n as counted by the rule and T of the monotonic clock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layer/lie.hpp"

namespace fault {

enum class Action {
  none,
  error,
  fail,
  skip,
  delay,
  hang,
  delay_call,
  hang_call,
  flip,
  stamps,
  vanish,
  lose,
  die,
  note
};

// One call, as rules see it.
struct Site {
  std::string_view call;
  std::string device;  // empty: none
  std::string kernel;
  std::size_t bytes = 0;
};

// The fault of a call.
struct Fault {
  Action action = Action::none;
  long value = 0;      // an OpenCL code, or milliseconds
  std::string stamps;  // zero, backwards, huge
  std::optional<unsigned> arg;
  std::uint64_t bit = 0;  // number of the flipped bit, modulo the number of bits
};

class Script {
 public:
  // Replaces all rules and counts. Throws std::invalid_argument that quotes the word it cannot
  // read.
  void read(std::string_view text, const std::string& log_file);
  // Counts the call and returns its fault. Thread-safe.
  Fault at(const Site& site);
  // Returns whether any device pretends to be another.
  bool has_lies() const { return has_lies_; }
  // Returns what a device pretends to be, or null. Thread-safe.
  std::shared_ptr<const Lie> lie(const std::string& device);

 private:
  struct Rule {
    std::string device = "*", kernel, file, action_text;
    std::vector<std::string> calls{"any"};
    std::size_t min = 0, max = SIZE_MAX;
    std::uint64_t nth = 0, from = 0, every = 0, seed = 1, times = UINT64_MAX, fired = 0;
    std::optional<double> p;
    std::optional<std::uint64_t> bit;
    Fault fault;
    std::shared_ptr<const Lie> lie;
    std::optional<std::size_t> after;
    std::map<std::string, std::uint64_t> counts;  // by device
    std::set<std::string> worked_on;              // device names
  };
  static Rule read_rule(std::string_view text, std::size_t above);
  static void read_word(Rule& rule, const std::string& key, const std::string& value);
  static void read_calls(Rule& rule, const std::string& text);
  static void read_action(Rule& rule, const std::string& text);
  static bool matches(const Rule& rule, const Site& site);
  static bool is_due(const Rule& rule, std::uint64_t n, std::uint64_t dice);
  void note(std::size_t rule, const Site& site, std::uint64_t n) const;

  std::mutex mutex_;
  std::vector<Rule> rules_;
  std::atomic<bool> has_lies_ = false;
  int log_ = -1;
};

// Returns true if `call` belongs to `group`, which is a group's name or that of a single function.
bool in_group(std::string_view call, std::string_view group);

}  // namespace fault
