// The fields of the file of `profile`.
#include <filesystem>
#include <fstream>

#include "lib/base/text_file.hpp"
#include "lib/report/profile_report.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

constexpr DocumentId kProfileId{"mgpu-bench/profile", 1};

bool times_known(const ProfiledDevice& of, bool) { return of.parts.unknown.empty(); }

template <auto Part>
Field<ProfiledDevice> device_part(const char* name, const char* meaning) {
  return field<&ProfiledDevice::parts, Part>(name, meaning).null_unless(times_known);
}

template <auto Member>
Field<ProfiledDevice> device_fact(const char* name, const char* meaning) {
  return field<&ProfiledDevice::device, &ProgramDevice::device, Member>(name, meaning);
}

}  // namespace

template <>
inline constexpr std::initializer_list<CallKind> kAllOf<CallKind> = {
    CallKind::enqueue, CallKind::wait, CallKind::flush, CallKind::build, CallKind::other};

template <>
const Description<ProgramProcess>& description<ProgramProcess>() {
  using P = ProgramProcess;
  static const Description<P> kProcess{
      {field<&P::id>("id", "number of the process").in("1"),
       field<&P::host>("host", "name of its machine"),
       field<&P::program>("program", "its command line"),
       field<&P::rank>("rank", "in an MPI job; absent: it is in none").if_any(),
       field<&P::trouble>("trouble", "why its log is not whole; absent: it is").if_any(),
       field<&P::recorded_calls>("calls", "calls of OpenCL that the layer saw").in("1"),
       field<&P::recording>("layer_ns", "time that enqueueing calls spent in the layer")}};
  return kProcess;
}

template <>
const Description<ProgramThread>& description<ProgramThread>() {
  using T = ProgramThread;
  static const Description<T> kThread{
      {field<&T::process>("process", "index into processes").in("1"),
       field<&T::id>("id", "number of the thread").in("1")}};
  return kThread;
}

template <>
const Description<HostCall>& description<HostCall>() {
  using C = HostCall;
  static const Description<C> kCall{
      {field<&C::thread>("thread", "index into threads").in("1"),
       field<&C::name>("call", "function of OpenCL"),
       field<&C::kind>("kind", "enqueue, wait (may block), flush, build or other"),
       field_as<Moment, &C::begin>("begin_ns", "since the part shown began"),
       field_as<Moment, &C::end>("end_ns", "since the part shown began")}};
  return kCall;
}

template <>
const Description<ProfiledDevice>& description<ProfiledDevice>() {
  using D = ProfiledDevice;
  using P = DeviceParts;
  static const Description<D> kDevice{
      {device_fact<&Device::id>("id", "platform:device, and .k after it for a part of it"),
       device_fact<&Device::name>("name", "as its driver names it"),
       device_fact<&Device::vendor>("vendor", "maker of the device"),
       device_fact<&Device::type>("type", "kind of device"),
       device_fact<&Device::platform>("platform", "name of the OpenCL platform"),
       device_fact<&Device::platform_version>("platform_version", "version of the platform"),
       device_fact<&Device::driver_version>("driver_version", "version of the driver"),
       device_fact<&Device::uuid>("uuid", "identity of the card; null: not reported"),
       device_fact<&Device::pci>("pci", "PCI address; null: not reported"),
       device_fact<&Device::compute_units>("compute_units", "number of compute units"),
       device_fact<&Device::global_memory>("global_memory_bytes", "memory of the device"),
       field<&D::device, &ProgramDevice::clock>("clock",
                                                "how its time stamps are converted to the host's "
                                                "clock"),
       field<&D::device, &ProgramDevice::has_queue>("has_queue",
                                                    "whether the program made a queue for it"),
       field<&D::device, &ProgramDevice::unstamped>(
           "unstamped", "why commands have no time stamps; absent: they have")
           .if_any(),
       field<&D::device, &ProgramDevice::memory, &ProgramMemory::peak>(
           "memory_peak_bytes", "most bytes of buffers, images and SVM that its commands used"),
       field<&D::device, &ProgramDevice::memory, &ProgramMemory::at_end>("memory_at_end_bytes",
                                                                         "never released"),
       field<&D::device, &ProgramDevice::memory, &ProgramMemory::allocations>("allocations",
                                                                              "their number")
           .in("1"),
       field<&D::commands>("commands", "number of its commands").in("1"),
       device_part<&P::busy>("busy_ns", "union of its commands"),
       device_part<&P::upload>("upload_ns", "uploads under no kernel"),
       device_part<&P::compute>("compute_ns", "kernels, and copies inside the device"),
       device_part<&P::download>("download_ns", "downloads under no kernel or upload"),
       device_part<&P::launch>("launch_ns", "work in flight, and no command running"),
       device_part<&P::idle>("idle_ns", "without work"),
       field_as<Moment, &D::parts, &P::residue>("residue_ns",
                                                "unaccounted time: makespan minus all other parts")
           .null_unless(times_known),
       device_part<&P::finish>("finish_ns", "end of its last command"),
       device_part<&P::transfer_hidden>("transfer_hidden_ns",
                                        "of transfer_total_ns, under kernels"),
       device_part<&P::transfer_total>("transfer_total_ns", "union of its uploads and downloads"),
       field<&D::parts, &P::bytes_in>("bytes_in", "uploaded").in("bytes"),
       field<&D::parts, &P::bytes_out>("bytes_out", "downloaded").in("bytes"),
       field<&D::parts, &P::unknown>("parts_reason",
                                     "why it is not known where its time went; absent: it is")
           .if_any()}};
  return kDevice;
}

template <>
const Description<ProgramCost>& description<ProgramCost>() {
  using C = ProgramCost;
  static const Description<C> kCost{
      {field<&C::name>("name", "what is removed, see lib/profile/README.md"),
       field<&C::time>("time_ns", "predicted makespan without it")}};
  return kCost;
}

template <>
const Description<ProgramShare>& description<ProgramShare>() {
  using S = ProgramShare;
  static const Description<S> kShare{
      {field<&S::device>("device", "index into devices"),
       field_as<Real<0, 1>, &S::now>("now", "of the work of kernels that several devices ran")
           .in("1"),
       field_as<Real<0, 1>, &S::balanced>("balanced", "share by its rate").in("1")}};
  return kShare;
}

template <>
const Description<ProgramCosts>& description<ProgramCosts>() {
  using C = ProgramCosts;
  static const Description<C> kCosts{
      {field<&C::held_back_by>("held_back_by",
                               "the cost whose removal would help most; none; unknown: time "
                               "stamps are impossible"),
       field<&C::costs>("without", "each cost that occurs"),
       field<&C::shares>("shares", "shares of the devices; empty: nothing could be balanced"),
       field<&C::small_copies>("small_copies", "copies of less than 64 KiB").in("1"),
       field<&C::pageable>("pageable_copies",
                           "copies from or to memory that is not known to be pinned")
           .in("1")}};
  return kCosts;
}

template <>
const Description<KernelFigures>& description<KernelFigures>() {
  using K = KernelFigures;
  static const Description<K> kKernel{
      {field<&K::name>("name", "of the kernel"), field<&K::device>("device", "index into devices"),
       field<&K::total>("total_ns", "sum over its launches"),
       field<&K::launch>("launch_ns", "of one launch; n: their number"),
       field<&K::items>("work_items", "of all launches").in("work-items")}};
  return kKernel;
}

template <>
const Description<CopyFigures>& description<CopyFigures>() {
  using C = CopyFigures;
  static const Description<C> kCopy{
      {field<&C::device>("device", "index into devices"),
       field<&C::kind>("kind", "upload, download; compute: inside the device"),
       field<&C::label>("label", "copy or fill, inside the device; absent: a transfer").if_any(),
       field<&C::copies>("copies", "their number").in("1"),
       field<&C::pageable>("pageable", "of them from or to memory that is not known to be pinned")
           .in("1"),
       field<&C::total>("total_ns", "sum of their times"),
       field<&C::bytes>("bytes", "sum of their sizes").in("bytes"),
       field<&C::smallest>("smallest_bytes", "size of the smallest")}};
  return kCopy;
}

template <>
const Description<WaitFigures>& description<WaitFigures>() {
  using W = WaitFigures;
  static const Description<W> kWait{
      {field<&W::call>("call", "function of OpenCL"),
       field<&W::what>("what", "what it waited for: a kernel, upload, download"),
       field<&W::calls>("calls", "their number").in("1"),
       field<&W::total>("total_ns", "sum of their times")}};
  return kWait;
}

template <>
const Description<BuildFigures>& description<BuildFigures>() {
  using B = BuildFigures;
  static const Description<B> kBuilds{{field<&B::count>("calls", "their number").in("1"),
                                       field<&B::total>("total_ns", "sum of their times")}};
  return kBuilds;
}

template <>
const Description<ProgramRecord::Builds>& description<ProgramRecord::Builds>() {
  using B = ProgramRecord::Builds;
  static const Description<B> kBuilds{{field<&B::count>("calls", "their number").in("1"),
                                       field<&B::time>("total_ns", "sum of their times")}};
  return kBuilds;
}

template <>
const Description<DeviceParts>& description<DeviceParts>() {
  using P = DeviceParts;
  static const Description<P> kParts{
      {field<&P::upload>("upload_ns", "uploads under no kernel"),
       field<&P::compute>("compute_ns", "kernels, and copies inside the device"),
       field<&P::download>("download_ns", "downloads under no kernel or upload"),
       field<&P::launch>("launch_ns", "work in flight, and no command running"),
       field<&P::idle>("idle_ns", "without work"),
       field_as<Moment, &P::residue>("residue_ns", "unaccounted time")}};
  return kParts;
}

template <>
const Description<ProfiledIteration>& description<ProfiledIteration>() {
  using I = ProfiledIteration;
  using F = IterationFigures;
  static const Description<I> kIteration{
      {field<&I::figures, &F::device>("device", "of the queue that repeats it; index into devices"),
       field<&I::figures, &F::count>("count", "number of iterations").in("1"),
       field<&I::figures, &F::commands>("commands", "of one iteration in that queue"),
       field<&I::figures, &F::time>("time_ns", "from the begin of one to that of the next"),
       field<&I::figures, &F::shown>("shown", "the one nearest the median, from 0").in("1"),
       field_as<Moment, &I::figures, &F::begin>("begin_ns", "of it, since the part shown began"),
       field<&I::figures, &F::length>("length_ns", "of it"),
       field<&I::parts>("per_device", "where the time of each device went in it")}};
  return kIteration;
}

template <>
const Description<ProfileReport>& description<ProfileReport>() {
  using R = ProfileReport;
  static const Description<R> kProfile{
      {document_id<R, kProfileId>(),
       field<&R::tool>("tool", "the program that profiled"),
       field<&R::started>("started", "when the program began, RFC 3339 in UTC")
           .if_any()
           .with_schema(R"({"format": "date-time"})"),
       field<&R::environment>("environment",
                              "facts of the machine and variables that change what is measured"),
       field<&R::program>("program", "words of the command line of the profiled program"),
       field<&R::exit_code>("exit_code", "of the program; 128 + N: signal N killed it").in("1"),
       field<&R::verdict>("summary", "what holds it back and what would help, in sentences"),
       field<&R::wall>("wall_ns", "from the program's start to its end"),
       field<&R::wall_without>("wall_without_layer_ns",
                               "of another run without the layer; absent: there was none")
           .if_any(),
       field<&R::before>("before_ns", "from its start to its first command"),
       field_as<Moment, &R::from>("from_ns", "begin of the part shown, since the first command"),
       field<&R::makespan>("makespan_ns",
                           "of the part shown; without --for, to the end of the last command"),
       field<&R::processes>("processes", "those that used OpenCL"),
       field<&R::devices>("devices", "those of its contexts and queues"),
       computed<[](const R& report) {
         std::map<std::string, double> known;
         for (const MetricInfo& metric : all_metrics())
           if (const auto value = report.metrics.*metric.value) known[metric.name] = *value;
         return known;
       }>("metrics", "those that are defined, as in results of run"),
       field<&R::costs>("costs", "the time without one cost at a time"),
       field<&R::kernels>("kernels", "by device, those that took longest first"),
       field<&R::copies>("copies", "by device and direction"),
       field<&R::waits>("waits", "calls in which threads waited for commands"),
       field<&R::builds>("builds", "builds of kernels"),
       field<&R::late_builds>("builds_after_first_command", "those of them"),
       field<&R::iterations>("iterations",
                             "the sequence of commands that the busiest queue repeats; absent: "
                             "none was found")
           .if_any(),
       field<&R::warnings>("warnings", "what is missing, or may not be right"),
       field<&R::threads>("threads", "of the program, those that called OpenCL"),
       field<&R::calls>("calls", "those that waited, built kernels, or took at least 20 us"),
       field<&R::timeline>("timeline",
                           "commands, and when each device had some in flight; as in results of "
                           "run, but times are since the part shown began")},
      "What a program did with OpenCL. Times are whole nanoseconds. These are all keys of this "
      "version of the tool: another may have more.",
      nullptr,
      [](const JsonReader& json, R& report) {
        json.at("metrics").members([&](const std::string& name, const JsonReader& value) {
          if (const MetricInfo* metric = find_metric(name))
            report.metrics.*metric->value = value.number();
        });
        const std::size_t devices = report.devices.size();
        const auto check = [&](const char* key, DeviceIndex device) {
          if (device.value >= devices) json.at(key).fail("no such device");
        };
        for (const KernelFigures& kernel : report.kernels) check("kernels", kernel.device);
        for (const CopyFigures& copy : report.copies) check("copies", copy.device);
        for (const ProgramShare& share : report.costs.shares) check("costs", share.device);
        if (report.iterations) {
          check("iterations", report.iterations->figures.device);
          if (report.iterations->parts.size() != devices)
            json.at("iterations").fail("not one of per_device for each device");
        }
        if (report.timeline.devices != devices) json.at("timeline").fail("other devices");
        for (const ProgramThread& thread : report.threads)
          if (thread.process >= report.processes.size()) json.at("threads").fail("no such process");
        for (const HostCall& call : report.calls)
          if (call.thread >= report.threads.size()) json.at("calls").fail("no such thread");
      }};
  return kProfile;
}

std::string profile_json(const ProfileReport& report) {
  return indented_json(Kind<ProfileReport>::write(report));
}

std::string profile_schema() {
  return schema_document<ProfileReport>(kProfileId, "mgpu-bench profile, the file of profile");
}

bool is_profile(const std::filesystem::path& file) {
  constexpr std::size_t kHead = 200;  // has the name of the schema
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;  // a pipe is read once
  std::string head(kHead, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), kHead);
  head.resize(static_cast<std::size_t>(in.gcount()));
  if (head.starts_with("\x1f\x8b")) {  // compressed
    try {
      head = read_text_file(file, FileKind::regular).substr(0, kHead);
    } catch (const Error&) {
      return false;
    }
  }
  return head.find("\"mgpu-bench/profile\"") != std::string::npos;
}

ProfileReport read_profile_value(const JsonReader& json) {
  json.expect(json.is_object(), "a JSON object");
  return Kind<ProfileReport>::read(json);
}

}  // namespace mgpu
