// Format of the log that the profiling layer (lib/layer) writes, one file per process, and that
// `profile` reads. Plain data without OpenCL's headers; values of OpenCL are named CL_... below.
//
// A file is a FileHeader and then records. A record is its struct, which begins with a
// RecordHeader, and a tail of `size - fixed` bytes with the arrays and strings that the struct
// counts, in the order of its members. Records begin at multiples of 8 bytes: the tail ends with
// up to 7 bytes of zeros. All numbers have the byte order of the machine.
//
// Rules for readers:
// - A file may end anywhere, as its process may be killed: it is valid up to the last whole record.
// - Skip records of unknown kinds. Fields may be added at the end of a struct: read no more than
//   `fixed` bytes of it, and take the fields that are missing as 0.
// - Records of one thread are in order; those of different threads are not. Times of a command come
//   after its Command. A record may name an object (by id) or a command (by number) whose own
//   record comes later in the file or, if the process was killed, never.
// - Ids of objects are one sequence for all kinds. Id 0 and number 0 mean none, or unknown.
//
// Host times are nanoseconds of CLOCK_MONOTONIC. Device times are as the device's driver reports
// them, in nanoseconds with an origin of their own.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mgpu::command_log {

inline constexpr char kMagic[8] = {'M', 'G', 'P', 'U', 'L', 'O', 'G', '\n'};
inline constexpr std::uint32_t kVersion = 1;  // changes only if old readers would misread a file
// Variables that the layer reads; MGPU_BENCH_... would be options of the program.
inline constexpr char kFolderVariable[] = "MGPU_PROFILE_LOG";  // folder for PID.log
// "0": no time stamps of devices; queues and events are then exactly the program's.
inline constexpr char kTimesVariable[] = "MGPU_PROFILE_TIMES";
// Names of files: PID.log; PID-2.log and so on if that exists (a process that calls exec keeps its
// number).
inline constexpr char kFileSuffix[] = ".log";

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t size;  // of this struct: the first record begins there
};

enum class Kind : std::uint16_t {
  process = 1,
  thread = 2,
  device = 3,
  context = 4,
  queue = 5,
  program = 6,
  kernel = 7,
  memory = 8,
  released = 9,
  command = 10,
  times = 11,
  host_call = 12,
  user_event = 13,
  user_event_status = 14,
  clock_sample = 15,
  cost = 16,
  exit = 17,
  name = 18,
  extension = 19,
};

struct RecordHeader {
  Kind kind;
  std::uint16_t fixed;  // bytes of the struct, with this header; the tail begins there
  std::uint32_t size;   // bytes of the record with its tail, a multiple of 8
};

// The first record of a file.
struct Process {
  RecordHeader header;
  std::uint32_t pid, parent_pid;
  std::uint64_t start_ns;     // host time at which the layer started in this process
  std::uint64_t realtime_ns;  // CLOCK_REALTIME at the same moment
  std::int32_t mpi_rank;      // -1: no launcher of MPI has set one
  std::int32_t mpi_size;      // -1: unknown
  std::uint32_t times;        // 0: kTimesVariable turned time stamps off
  std::uint32_t forked;       // 1: a fork of a process that has a log; ids are those of the parent
  std::uint32_t host_bytes, command_line_bytes;
  // char host[host_bytes]: name of the machine, whose clock the host times are from
  // char command_line[command_line_bytes]: arguments, each ends with a zero byte
};

// A thread of the program that calls OpenCL.
struct Thread {
  RecordHeader header;
  std::uint32_t id;   // 1, 2, ... in this file
  std::uint32_t tid;  // of the operating system
  std::uint32_t name_bytes, reserved;
  // char name[name_bytes]
};

// A device that the program was told of or uses.
struct Device {
  RecordHeader header;
  std::uint32_t id;
  std::uint32_t parent;        // device that this is a part of
  std::uint32_t platform;      // 1, 2, ... in the order of clGetPlatformIDs
  std::uint32_t index;         // 1, 2, ... in the order of clGetDeviceIDs; 0: a part of a device
  std::uint64_t type;          // CL_DEVICE_TYPE
  std::uint64_t memory_bytes;  // CL_DEVICE_GLOBAL_MEM_SIZE
  std::uint64_t timer_resolution_ns;
  std::uint32_t vendor_id, compute_units, clock_mhz;
  std::uint32_t host_unified;  // 1: shares the host's memory
  std::uint32_t has_uuid;
  std::uint32_t pci_domain, pci_bus, pci_device, pci_function;
  std::uint32_t has_pci;
  std::uint8_t uuid[16];
  std::uint32_t name_bytes, vendor_bytes, driver_bytes, version_bytes, platform_name_bytes,
      platform_version_bytes;
  // char name[], vendor[], driver[], version[], platform_name[], platform_version[]
};

struct Context {
  RecordHeader header;
  std::uint32_t id, device_count;
  std::uint64_t time_ns;
  // uint32 devices[device_count]
};

struct Queue {
  RecordHeader header;
  std::uint32_t id, context, device;
  std::uint32_t times;  // 1: commands have device times
  std::uint64_t asked;  // CL_QUEUE_PROPERTIES that the program asked for
  std::uint64_t used;   // and those of the real queue: with CL_QUEUE_PROFILING_ENABLE (2)
  std::uint64_t time_ns;
};

struct Program {
  RecordHeader header;
  std::uint32_t id, context;
  std::uint64_t time_ns;
  std::uint64_t source_bytes;  // 0: not from source
};

struct Kernel {
  RecordHeader header;
  std::uint32_t id, program;
  std::uint64_t time_ns;
  std::uint32_t name_bytes, reserved;
  // char name[name_bytes]
};

enum class MemoryType : std::uint32_t { buffer = 1, image = 2, pipe = 3, svm = 4 };

struct Memory {
  RecordHeader header;
  std::uint32_t id, context;
  std::uint32_t parent;  // buffer that this is a part of: it takes no memory of its own
  MemoryType type;
  std::uint64_t time_ns;
  std::uint64_t bytes;
  std::uint64_t flags;  // CL_MEM_FLAGS: USE_HOST_PTR is 8, ALLOC_HOST_PTR 16, COPY_HOST_PTR 32
  std::uint64_t host_pointer;  // of USE_HOST_PTR, or of SVM
  std::uint64_t offset;        // in the parent
};

// The program released its last reference to an object. Commands in flight may still use it.
struct Released {
  RecordHeader header;
  std::uint32_t id, reserved;
  std::uint64_t time_ns;
};

// Host memory of a copy, as far as the layer knows.
enum class HostMemory : std::uint8_t {
  none = 0,      // the command has none
  pageable = 1,  // neither of the others: ordinary memory, or pinned by other means than OpenCL
  pinned = 2,    // inside a mapped region, or memory of a USE_HOST_PTR or ALLOC_HOST_PTR buffer
  svm = 3,
};

enum CommandFlags : std::uint8_t {
  kBlocking = 1,     // the call returned when the command was complete
  kEventAsked = 2,   // the program asked for the event
  kTimesFollow = 4,  // a Times record follows, unless the process ends first
  kMoreMemory = 8,   // it uses more memory objects than `memory` lists
  kMoreWaits = 16,   // it waits for more commands than `waits` lists
  kNoWaitList = 32,  // a barrier or marker without wait list: waits for all earlier commands
};

// A memory object of a command.
struct MemoryUse {
  std::uint32_t memory;
  std::uint32_t access;  // 1: reads, 2: writes, 3: both or unknown (arguments of kernels)
  std::uint64_t offset;  // in the object; 0 for images
  std::uint64_t bytes;   // 0: unknown
};

// A call that enqueued a command, or failed to.
struct Command {
  RecordHeader header;
  std::uint64_t number;            // 1, 2, ... in the order of the calls
  std::uint64_t begin_ns, end_ns;  // host times before and after the call
  std::uint32_t queue;
  std::uint32_t type;  // CL_EVENT_COMMAND_TYPE, such as CL_COMMAND_NDRANGE_KERNEL (0x11F0)
  std::uint32_t kernel;
  std::uint32_t thread;
  std::int32_t status;  // result of the call; if it is not 0, nothing was enqueued
  std::uint8_t flags;   // CommandFlags
  HostMemory host_memory;
  std::uint8_t dimensions;  // of the kernel's range, 0 to 3
  std::uint8_t reserved;
  std::uint64_t bytes;         // copied, filled, mapped or unmapped
  std::uint64_t host_pointer;  // of a copy or map
  std::uint32_t wait_count, memory_count;
  // uint64 offset[dimensions], global[dimensions], local[dimensions]: 0: not given
  // uint64 waits[wait_count]: numbers of commands and user events; 0: unknown, long complete
  // MemoryUse memory[memory_count]
};

// How a command ended.
struct Times {
  RecordHeader header;
  std::uint64_t number;
  std::uint64_t seen_ns;  // host time after the layer had seen that it was complete
  std::int32_t status;    // 0: complete; negative: the command failed with this error of OpenCL
  // Why there are no times: result of clGetEventProfilingInfo, or kGivenUp, too many commands were
  // incomplete. 0: there are times if `status` is 0, too.
  std::int32_t error;
  std::uint64_t queued, start, end;  // device times; `queued` 0: it was not asked for
};
inline constexpr std::int32_t kGivenUp = 1;

// A call in which the host waited or worked: clFinish, clWaitForEvents, clBuildProgram and other
// long ones always; any other call if it took at least kLongCall. Blocking commands are Commands.
struct HostCall {
  RecordHeader header;
  std::uint64_t begin_ns, end_ns;
  std::uint32_t name;  // of a Name
  std::uint32_t thread;
  std::uint32_t object;  // queue, program, ... of the call
  std::int32_t status;
  std::uint32_t wait_count, reserved;
  // uint64 waits[wait_count]: commands and user events that it waited for
};
inline constexpr std::uint64_t kLongCall = 20'000;  // ns

// A name that HostCalls refer to, such as "clFinish".
struct Name {
  RecordHeader header;
  std::uint32_t id, bytes;
  // char text[bytes]
};

// An event that the program makes and completes; it has a number like a command.
struct UserEvent {
  RecordHeader header;
  std::uint64_t number;
  std::uint64_t time_ns;
  std::uint32_t context, thread;
};

struct UserEventStatus {
  RecordHeader header;
  std::uint64_t number;
  std::uint64_t time_ns;
  std::int32_t status;  // 0: complete
  std::uint32_t thread;
};

// A device's clock, read between two readings of the host's: from clGetDeviceAndHostTimer, where
// that works. Other bounds are in every command: begin_ns <= host(queued) <= end_ns (drivers that
// stamp `queued` in the call) and host(end) <= seen_ns. A part of a device has its parent's clock.
struct ClockSample {
  RecordHeader header;
  std::uint32_t device, reserved;
  std::uint64_t before_ns, device_ns, after_ns;
};

// What the layer has cost so far. Sums since the start; the last record of a file counts.
struct Cost {
  RecordHeader header;
  std::uint64_t time_ns;
  std::uint64_t commands;    // Command records
  std::uint64_t timed;       // Times records with times
  std::uint64_t incomplete;  // commands whose completion the layer still awaits
  std::uint64_t given_up;    // Times records with kGivenUp
  std::uint64_t calls;       // wrapped calls of all kinds
  std::uint64_t layer_ns;  // time of enqueueing calls in the layer: an estimate by a sample of them
  std::uint64_t writer_ns;  // processor time of the layer's own thread
  std::uint64_t waits;      // times that a thread of the program had to empty its full buffer
  std::uint64_t polls;      // calls by which the program asked for the status of an event
};

// The process has begun to exit in order; records of exit handlers may follow.
struct Exit {
  RecordHeader header;
  std::uint64_t time_ns;
};

// The program asked for the address of this extension function, whose calls the layer does not see.
struct Extension {
  RecordHeader header;
  std::uint32_t bytes, reserved;
  // char name[bytes]
};

// Whether every byte of the records is a member's: there is no padding.
template <class... Records>
inline constexpr bool kPacked =
    ((std::has_unique_object_representations_v<Records> && sizeof(Records) % 8 == 0) && ...);
static_assert(kPacked<FileHeader, RecordHeader, Process, Thread, Device, Context, Queue, Program,
                      Kernel, Memory, Released, MemoryUse, Command, Times, HostCall, Name,
                      UserEvent, UserEventStatus, ClockSample, Cost, Exit, Extension>);

}  // namespace mgpu::command_log
