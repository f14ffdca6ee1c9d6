// The fields of result files: of the report, of its runs and of their parts.
#include "lib/report/record_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <variant>

#include "lib/base/error.hpp"
#include "lib/report/case_name.hpp"
#include "lib/report/fault_words.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/telemetry_json.hpp"

namespace mgpu {

template <>
inline constexpr std::initializer_list<Status> kAllOf<Status> = {
    Status::ok, Status::failed, Status::skipped, Status::unsupported};

JsonValue Kind<Mode>::write(Mode mode) { return JsonItem(to_string(mode)); }  // a copy

Mode Kind<Mode>::read(const JsonReader& json) {
  try {
    return mode_named(json.string());
  } catch (const Error& error) {
    json.fail(error.what());
  }
}

JsonItem Kind<ParamValue>::write(const ParamValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return finite_json(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::get<std::int64_t>(value);
}

ParamValue Kind<ParamValue>::read(const JsonReader& json) {
  if (json.is_string()) return json.string();
  if (json.is_whole()) return json.integer<std::int64_t>();
  return json.number();
}

JsonValue Kind<ParamValue>::schema(JsonValue&) {
  return json_object({{"type", json_list({"integer", "number", "string", "null"})}});
}

template <>
struct Kind<const MetricInfo*> {
  static JsonItem write(const MetricInfo* metric) { return metric->name; }
  static JsonValue schema(JsonValue&) { return type_schema("string"); }
};

namespace {

// Tells whether the case split work, unlike those of `links`.
bool is_split(const RunRecord& run) { return !run.link; }
bool is_ok(const RunRecord& run, bool) { return run.status == Status::ok; }
bool is_set_up(const RunRecord& run, bool zero) { return run.status == Status::ok || !zero; }
bool has_rate(const RunRecord& run, bool zero) { return run.status == Status::ok && !zero; }

void check_runs(const JsonReader& json, const char* name, std::size_t samples) {
  if (json.has(name) && json.at(name).size() != samples)
    json.at(name).fail("one for each sample expected");
}

}  // namespace

template <>
const Description<Summary>& description<Summary>() {
  static constexpr auto is_measured = [](const Summary& of, bool) { return of.n > 0; };
  static const Description<Summary> kSummary{
      {field<&Summary::n>("n", "number of samples").in("1"),
       field<&Summary::min>("min", "shortest").null_unless(is_measured),
       field<&Summary::median>("median", "median").null_unless(is_measured),
       field<&Summary::mean>("mean", "arithmetic mean").null_unless(is_measured),
       field<&Summary::stdev>("stdev", "standard deviation, of a sample (n - 1)")
           .null_unless(is_measured),
       field<&Summary::mad>("mad", "median of the absolute deviations from the median")
           .null_unless(is_measured),
       computed<[](const Summary& of) {
         const auto bound = [&](Nanos time) { return of.n ? std::optional(time) : std::nullopt; };
         return std::vector{bound(of.ci95_low), bound(of.ci95_high)};
       }>("ci95", "95 % interval of the median, from order statistics: low, high")
           .with_schema(R"({"minItems": 2, "maxItems": 2})")},
      "statistics of samples_ns; all but n are null where n is 0, as it is of a case that is not "
      "ok",
      nullptr,
      [](const JsonReader& json, Summary& of) {
        const auto time = [&](const JsonReader& bound) {
          return of.n > 0 || !bound.is_null() ? bound.duration() : Nanos{};
        };
        for (const char* name : {"min", "median", "mean", "stdev", "mad"}) time(json.at(name));
        std::vector<Nanos> bounds;
        json.at("ci95").elements([&](const JsonReader& bound) { bounds.push_back(time(bound)); });
        if (bounds.size() != 2) json.at("ci95").fail("two numbers expected");
        of.ci95_low = bounds[0];
        of.ci95_high = bounds[1];
      }};
  return kSummary;
}

constexpr std::int64_t kMostDemand = 1'000'000'000'000'000'000;  // operations, bytes

template <>
const Description<Demand>& description<Demand>() {
  static const Description<Demand> kDemand{
      {field_as<Finite<0, kMostDemand>, &Demand::fp32>(
           "fp32_ops", "single precision; multiply-adds count as two")
           .in("operations"),
       field_as<Finite<0, kMostDemand>, &Demand::fp64>("fp64_ops", "double precision")
           .in("operations"),
       field_as<Finite<0, kMostDemand>, &Demand::int32>("int32_ops", "32-bit integers")
           .in("operations"),
       field_as<Finite<0, kMostDemand>, &Demand::memory_bytes>("memory_bytes",
                                                               "bytes read and written")}};
  return kDemand;
}

template <>
const Description<LinkCeiling>& description<LinkCeiling>() {
  static const Description<LinkCeiling> kLink{
      {field_as<Finite<0, kMostDemand>, &LinkCeiling::bytes_up>("up_bytes", "to all devices"),
       field_as<Finite<0, kMostDemand>, &LinkCeiling::bytes_down>("down_bytes", "from all devices"),
       field_as<Finite<0, kMostDemand>, &LinkCeiling::up>("up_bytes_per_s",
                                                          "measured; 0: not known"),
       field_as<Finite<0, kMostDemand>, &LinkCeiling::down>("down_bytes_per_s",
                                                            "measured; 0: not known")}};
  return kLink;
}

namespace {

bool parts_known(const PerDevice& of, bool) { return of.parts.unknown.empty(); }
bool exchanges(const PerDevice& of) { return of.parts.exchanges; }
bool has_exchange_times(const PerDevice& of) {
  return of.parts.exchanges && (!of.parts.unknown.empty() || of.parts.exchange_times);
}

std::optional<Nanos> mean_slice(const PerDevice& of) {
  if (of.slice_total <= Nanos{}) return std::nullopt;
  return of.slice_total / std::max<std::int64_t>(of.parts.slices, 1);
}

template <auto... Path>
Field<PerDevice> part(const char* name, const char* meaning = "") {
  return field<&PerDevice::parts, Path...>(name, meaning).null_unless(parts_known);
}
template <auto Member>
Field<PerDevice> exchange_part(const char* name, const char* meaning) {
  return part<&DeviceParts::exchange_times, Member>(name, meaning).when(has_exchange_times);
}

}  // namespace

template <>
const Description<PerDevice::Pool>& description<PerDevice::Pool>() {
  using Pool = PerDevice::Pool;
  static const Description<Pool> kPool{
      {field<&Pool::reused>("reuses", "buffers of the problem that were given kept memory"),
       field<&Pool::evicted>("evictions", "pieces of kept memory that were freed to make room")}};
  return kPool;
}

template <>
const Description<PerDevice>& description<PerDevice>() {
  using Times = DeviceParts::ExchangeTimes;
  static const Description<PerDevice> kPerDevice{
      {field<&PerDevice::device>("device", "its id"),
       field<&PerDevice::alone>(
           "alone_ns", "median time of the whole problem on this device alone; null: not measured"),
       field_as<Real<0>, &PerDevice::contention>(
           "contention",
           "how many times as long an item took its probe with the others at work as without them; "
           "absent: not known")
           .in("x")
           .if_any(),
       field<&PerDevice::parts, &DeviceParts::items>("items", "items that it processed")
           .in("items"),
       field_as<Real<0, 1>, &PerDevice::share>("share", "items / all items").in("1"),
       field<&PerDevice::parts, &DeviceParts::slices>("slices",
                                                      "number of slices that it processed"),
       field_as<Prediction, &PerDevice::predicted>(
           "predicted_ns", "predicted end of its last command; null: not predicted"),
       part<&DeviceParts::busy>("busy_ns", "union of its commands"),
       part<&DeviceParts::upload>("upload_ns", "uploads under no kernel"),
       part<&DeviceParts::compute>("compute_ns", "kernels"),
       part<&DeviceParts::download>("download_ns", "downloads under no kernel or upload"),
       part<&DeviceParts::launch>("launch_ns", "work in flight, and no command running"),
       part<&DeviceParts::sync>("sync_ns",
                                "waiting for other devices and for the merge, by the host clock"),
       part<&DeviceParts::idle>("idle_ns", "without work, by the host clock"),
       part<&DeviceParts::wake>("wake_ns", "from the sample's begin until its worker's thread ran"),
       field_as<Moment, &PerDevice::parts, &DeviceParts::residue>(
           "residue_ns",
           "unaccounted time: makespan minus all other parts; negative: counted twice")
           .null_unless(parts_known),
       part<&DeviceParts::finish>(
           "finish_ns", "end of its last command before the merge, since the sample began"),
       part<&DeviceParts::transfer_hidden>("transfer_hidden_ns",
                                           "of transfer_total_ns, under kernels"),
       part<&DeviceParts::transfer_total>("transfer_total_ns",
                                          "union of its uploads and downloads"),
       part<&DeviceParts::exchange>(
           "exchange_ns",
           "exchanges with other devices, waiting included, under no other command; "
           "absent: it exchanges nothing")
           .when(exchanges),
       exchange_part<&Times::hidden>("exchange_hidden_ns", "of exchange_total_ns, under kernels"),
       exchange_part<&Times::total>("exchange_total_ns",
                                    "the union of its exchanges, waiting included"),
       exchange_part<&Times::waiting>("waiting_ns",
                                      "of exchange_ns, waiting for other devices or receiving"),
       field<&PerDevice::parts, &DeviceParts::bytes_sent>(
           "bytes_sent", "put into memory of other devices; stores of kernels are not counted")
           .in("bytes")
           .when(exchanges),
       field<&PerDevice::parts, &DeviceParts::bytes_received>("bytes_received",
                                                              "from other devices")
           .in("bytes")
           .when(exchanges),
       field<&PerDevice::parts, &DeviceParts::unknown>(
           "parts_reason", "why it is not known where its time went; absent: it is")
           .if_any(),
       field_as<Real<0>, &PerDevice::utilisation>("utilisation",
                                                  "compute_ns / makespan of the sample")
           .in("1")
           .null_unless(parts_known),
       field<&PerDevice::slice_total>("slices_total_ns",
                                      "sum over its slices, each from the start of its first "
                                      "command to the end of its last; two may overlap; absent: "
                                      "it had none, or their times are not known")
           .if_any(),
       computed<mean_slice>("slice_mean_ns", "slices_total_ns / slices").if_any(),
       field<&PerDevice::parts, &DeviceParts::bytes_in>("bytes_in", "uploaded in the sample")
           .in("bytes"),
       field<&PerDevice::parts, &DeviceParts::bytes_out>("bytes_out", "downloaded in the sample")
           .in("bytes"),
       field<&PerDevice::parts, &DeviceParts::in_place>(
           "in_place",
           "true: its kernels read the input, or some of it, in the host's memory, and it was not "
           "uploaded; absent: no")
           .if_any(),
       field<&PerDevice::bytes_resident>("bytes_resident", "device memory allocated for the case")
           .in("bytes"),
       field<&PerDevice::bytes_peak>("bytes_peak",
                                     "most device memory allocated at once for the case's problem, "
                                     "kept memory included; absent: not known")
           .in("bytes")
           .if_any(),
       field_as<Real<0>, &PerDevice::memory_used>(
           "memory_used", "bytes_peak / memory of the device that it may use; absent: not known")
           .in("1")
           .if_any(),
       field<&PerDevice::memory_saved>(
           "memory_saved",
           "1 - bytes_resident / bytes that the whole problem takes on one device alone; negative: "
           "buffers of exchanges take more than is saved; absent: not known")
           .in("1")
           .if_any(),
       field<&PerDevice::pool>(
           "pool", "use of freed memory that was kept (--memory-pool); absent: none was")
           .if_any(),
       field<&PerDevice::kernel_variant>("kernel_variant",
                                         "kernel and tile, where the suite has several")
           .if_any(),
       field<&PerDevice::demand>("demand",
                                 "least work of the whole problem on this device, by the kinds "
                                 "that calibrate measures, without transfers; absent: not known, "
                                 "or it took no part")
           .if_any(),
       field<&PerDevice::alone_samples>(
           "alone_samples_ns",
           "every time of this device alone; alone_ns is their median. Sample k of all cases was "
           "taken in one round")
           .if_any(),
       field_as<Each<Whole<std::uint32_t, 1>>, &PerDevice::alone_sample_runs>(
           "alone_sample_runs", "as sample_runs, of them")
           .if_any(),
       field<&PerDevice::busy_samples>(
           "busy_samples_ns",
           "the union of this device's commands, in each sample of the case, of samples of earlier "
           "runs by its own clock; null: its time stamps were impossible in it")
           .if_any()},
      "One device of the set during the sample shown. upload + compute + download + exchange + "
      "launch + sync + idle + wake + residue is the makespan of that sample; all of them are null "
      "where parts_reason is there.",
      "per_device",
      [](const JsonReader& json, PerDevice& of) {
        of.parts.exchanges = json.has("bytes_sent");
        check_runs(json, "alone_sample_runs", of.alone_samples.size());
      }};
  return kPerDevice;
}

template <>
const Description<Fault::BegunAgain>& description<Fault::BegunAgain>() {
  using BegunAgain = Fault::BegunAgain;
  static const Description<BegunAgain> kBegunAgain{
      {field<&BegunAgain::round>("round",
                                 "done in the state they began from: a checkpoint's, or 0"),
       field<&BegunAgain::after>("after_ns", "from when the fault was found to when they began")}};
  return kBegunAgain;
}

template <>
const Description<Fault>& description<Fault>() {
  static const Description<Fault> kFault{
      {field<&Fault::device>("device", "its id"),
       field<&Fault::kind>("kind", "hang: it did not answer in time")
           .with_schema(R"({"enum": ["error", "hang", "out_of_memory", "wrong_result"]})"),
       field<&Fault::phase>("phase", "what the device was doing")
           .with_schema(
               R"({"enum": ["set_up", "warm_up", "probe", "sample", "merge", "publish", "verify",
              "clock"]})"),
       field<&Fault::what>("what", "the message"),
       computed<[](const Fault& fault) { return fault_sentence(fault, nullptr); }>(
           "text", "all of it as a sentence; absent in older files")
           .when([](const Fault&) { return false; }),  // put_faults writes it: it knows the case
       field<&Fault::sample>("sample",
                             "index into disturbed_samples; null: outside what was sampled"),
       field<&Fault::at>("at_ns", "when it was found, since that sample's begin"),
       field<&Fault::detection>("detection_ns",
                                "from the device's last sign of life, or the submission of the "
                                "command that failed, until it was found"),
       field<&Fault::recovery>("recovery_ns", "from then until others had finished what was lost"),
       field<&Fault::items_lost>("items_lost", "given to it and without a result on the host")
           .in("items"),
       field<&Fault::items_redone>("items_redone", "of those, finished by others").in("items"),
       field<&Fault::efficiency_before>("efficiency_before",
                                        "of the case, with the devices it had before")
           .in("1"),
       field<&Fault::efficiency_after>("efficiency_after", "with those that were left").in("1"),
       field<&Fault::round>("round",
                            "of iterative work: how many iterations were done, as far as is known")
           .if_any(),
       field<&Fault::restarted>(
           "begun_again",
           "of the same work: how the others began the sample again; null: they did not")
           .when([](const Fault& fault) { return fault.round.has_value(); })},
      "What went wrong with a device, and what that cost.",
      "fault"};
  return kFault;
}

template <>
const Description<InvalidatedSample>& description<InvalidatedSample>() {
  using Sample = InvalidatedSample;
  static const Description<Sample> kSample{
      {field_as<Moment, &Sample::time>("time_ns", "including the recovery"),
       field<&Sample::verify>("verify", "whether its result is right; off: not compared"),
       field_as<TextOrNull, &Sample::reason>("reason", "why it has no result; null: it has one"),
       field<&Sample::devices>("devices",
                               "ids of the devices it ran on: what indices in its timeline mean"),
       field<&Sample::samples_before>(
           "samples_before",
           "how many samples of the case that a fault did not disturb were taken before it, those "
           "with devices that were lost later included; null: it was to warm up"),
       field<&Sample::timeline>(
           "timeline", "as the run's; null: it has no result, or the file holds no timelines")
           .null_unless([](const Sample& of, bool) { return of.timeline.devices > 0; })},
      "A sample in which a device was lost: no measure of the case, and in none of its figures.",
      "disturbed_sample",
      [](const JsonReader& json, Sample& of) {
        if (of.timeline.devices > of.devices.size())
          json.at("timeline").at("devices").fail("more than the sample's own list of devices");
      }};
  return kSample;
}

template <>
const Description<RebalanceRecord::Move>& description<RebalanceRecord::Move>() {
  using Move = RebalanceRecord::Move;
  static const Description<Move> kMove{
      {field_as<Whole<std::uint32_t, 1>, &Move::round>("round",
                                                       "iterations done before this rebalancing"),
       field<&Move::shares>("shares", "items of each device since").in("items")}};
  return kMove;
}

template <>
const Description<RebalanceRecord>& description<RebalanceRecord>() {
  static const Description<RebalanceRecord> kBorders{
      {field<&RebalanceRecord::sample>("sample", "its place in samples_ns"),
       field<&RebalanceRecord::first>("first", "items of each device at its beginning").in("items"),
       field<&RebalanceRecord::moves>("moves", "the rebalancings, in order")
           .with_schema(R"({"minItems": 1})")}};
  return kBorders;
}

template <>
const Description<MigrationRecord>& description<MigrationRecord>() {
  using Migration = MigrationRecord;
  static const Description<Migration> kMigration{
      {field<&Migration::sample>("sample", "its place in samples_ns"),
       field<&Migration::first>("first", "items of each device at its beginning").in("items"),
       field<&Migration::items>("items",
                                "computed by another device than at first; of iterative work, all "
                                "that changed their device at rebalancings")
           .in("items"),
       field<&Migration::bytes>("bytes",
                                "state or data that was sent to the new devices; 0: each holds all "
                                "inputs")
           .in("bytes"),
       field<&Migration::time>(
           "time_ns",
           "sum over the devices; of iterative work, from the decision to rebalance until the new "
           "state was there; else the time in which the strategy decided who gets what")}};
  return kMigration;
}

template <>
const Description<AdaptationRecord>& description<AdaptationRecord>() {
  using Adaptation = AdaptationRecord;
  static const Description<Adaptation> kAdaptation{
      {field<&Adaptation::sample>("sample", "its place in samples_ns"),
       field<&Adaptation::device>("device", "the id of the one that became slower"),
       field<&Adaptation::cause>("cause", "slow-down (--slow), or throttling: and its reasons"),
       field_as<Moment, &Adaptation::at>(
           "at_ns",
           "when, since the sample's begin; throttling: of the first reading that shows it"),
       field<&Adaptation::latency>(
           "latency_ns",
           "from then until work was first moved away from it; null: none was in this sample")}};
  return kAdaptation;
}

template <>
const Description<ChainPhases::Stage>& description<ChainPhases::Stage>() {
  using Stage = ChainPhases::Stage;
  static const Description<Stage> kStage{{field<&Stage::device>("device", "index into devices"),
                                          field<&Stage::kernel>("kernel", "name of the kernel"),
                                          field<&Stage::time>("time_ns", "of a batch, the mean")}};
  return kStage;
}

template <>
const Description<ChainPhases>& description<ChainPhases>() {
  using Chain = ChainPhases;
  static const Description<Chain> kChain{
      {field_as<Moment, &Chain::filling>("filling_ns",
                                         "until every device has begun its first batch"),
       field_as<Moment, &Chain::draining>("draining_ns",
                                          "since the first device has done its last batch"),
       field<&Chain::slowest>("slowest_device",
                              "whose kernels take longest for a batch; an index into devices"),
       field_as<Moment, &Chain::busy>("busy_ns", "its kernels of a batch, the mean"),
       field_as<Moment, &Chain::period>("period_ns", "from batch to batch there, the mean"),
       field<&Chain::stages>("stages", "launches of a batch, in order")
           .with_schema(R"({"minItems": 1})")},
      "",
      nullptr,
      [](const JsonReader& json, Chain& chain) {
        if (chain.stages.empty()) json.at("stages").fail("there are none");
      }};
  return kChain;
}

template <>
const Description<Findings::Figure>& description<Findings::Figure>() {
  static const Description<Findings::Figure> kFigure{
      {field<&Findings::Figure::name>("name", "what it is"),
       field<&Findings::Figure::value>("value", "its value, in the unit that its name says, if any")
           .in("1")}};
  return kFigure;
}

template <>
const Description<Findings::Milestone>& description<Findings::Milestone>() {
  static const Description<Findings::Milestone> kMilestone{
      {field<&Findings::Milestone::name>("name", "what was reached"),
       field<&Findings::Milestone::rounds>("rounds", "number of iterations until then"),
       field<&Findings::Milestone::time>("time_ns",
                                         "their part of the time of the median sample")}};
  return kMilestone;
}

template <>
const Description<Findings::Curve>& description<Findings::Curve>() {
  static const Description<Findings::Curve> kCurve{
      {field<&Findings::Curve::name>("name", "what it is"),
       field<&Findings::Curve::rounds>("rounds", "numbers of iterations"),
       field<&Findings::Curve::values>("values", "its value after each of them").in("1")},
      "",
      nullptr,
      [](const JsonReader& json, Findings::Curve& curve) {
        if (curve.rounds.size() != curve.values.size())
          json.at("values").fail("one per iteration expected");
      }};
  return kCurve;
}

template <>
const Description<Findings>& description<Findings>() {
  static const Description<Findings> kFindings{
      {field<&Findings::figures>("figures", "single values, such as an error"),
       field<&Findings::milestones>("milestones", "what was reached after a number of iterations"),
       field<&Findings::curves>("curves", "values after numbers of iterations")}};
  return kFindings;
}

template <>
const Description<VerifyRecord>& description<VerifyRecord>() {
  static const Description<VerifyRecord> kVerify{
      {field<&VerifyRecord::status>("status",
                                    "whether the result is right; off: it was not compared"),
       field<&VerifyRecord::method>("method", "how it was verified"),
       field<&VerifyRecord::digest>("digest", "the merged result in lower-case hex")
           .with_schema(R"({"pattern": "^[0-9a-f]*$"})"),
       field<&VerifyRecord::checked>(
           "samples_checked",
           "how many results were compared with the reference or with the verified digest"),
       field<&VerifyRecord::recomputed>("parts_recomputed",
                                        "devices' parts of samples that another device computed "
                                        "again with equal bits (--integrity)"),
       field<&VerifyRecord::found>(
           "found", "what the result is worth beyond being right; absent: nothing is known")
           .if_any()}};
  return kVerify;
}

template <>
const Description<WorkRecord>& description<WorkRecord>() {
  static const Description<WorkRecord> kWork{
      {field<&WorkRecord::items>("items", "number of items that are split among the devices")
           .in("items"),
       field<&WorkRecord::unit, &ItemUnit::name>("unit",
                                                 "what the items are to a user; absent: items")
           .if_any(),
       field<&WorkRecord::unit, &ItemUnit::count>("units",
                                                  "how many of these; absent: as many as items")
           .in("1")
           .if_any(),
       field_as<Real<0>, &WorkRecord::ops>("ops", "operations, in what rate.unit counts per second")
           .in("1"),
       field<&WorkRecord::bytes_in>("bytes_in", "size of the input").in("bytes"),
       field<&WorkRecord::bytes_out>("bytes_out", "size of the result").in("bytes"),
       field<&WorkRecord::ceiling>(
           "roof", "what roofline_fraction is a fraction of; absent where no ceiling is known")
           .if_any()
           .with_schema(R"({"enum": ["fp32", "fp64", "int32", "memory", "host link"]})"),
       field<&WorkRecord::ceiling_time>(
           "roof_ns",
           "least time by that ceiling; roofline_fraction is it / the median time. Each device "
           "takes demand / rate (devices[].capability) for the kind of work that takes it longest; "
           "all together take 1 / the sum of 1 / these times, or the time of the host link if that "
           "is longer. Absent where no ceiling is known")
           .if_any(),
       field<&WorkRecord::link>("host_link", "transfers that roof_ns includes; absent: none")
           .if_any()}};
  return kWork;
}

template <>
const Description<DoubtfulMetric>& description<DoubtfulMetric>() {
  using Doubt = DoubtfulMetric;
  static const Description<Doubt> kDoubt{
      {computed<[](const Doubt& doubt) { return doubt.metric; }>("metric", "its name in metrics"),
       field<&Doubt::limit>("limit", "what it can be at best").in("that of the metric"),
       computed<[](const Doubt& doubt) {
         return std::vector{doubt.interval.low, doubt.interval.high};
       }>("interval", "95 % interval of the metric, by round: low, high")
           .in("that of the metric")
           .with_schema(R"({"minItems": 2, "maxItems": 2})"),
       field<&Doubt::slight>("slight", "beyond by no more than medians of the same work differ"),
       field<&Doubt::beyond_noise>(
           "beyond_noise",
           "its whole interval is: the case is not ranked, and no requirement is met by it"),
       field<&Doubt::reason>("reason", "a sentence")}};
  return kDoubt;
}

template <>
const Description<Metrics>& description<Metrics>() {
  static const Description<Metrics> kMetrics{
      {many<Metrics>(
          [](const Field<Metrics>&, const Metrics& metrics, JsonValue& object) {
            for (const MetricInfo& metric : all_metrics())
              if (!metric.optional || metrics.*metric.value)
                put(object, metric.name, finite_json(metrics.*metric.value));
          },
          [](const Field<Metrics>&, const JsonReader& object, Metrics& metrics) {
            for (const MetricInfo& metric : all_metrics())
              if (!metric.optional || object.has(metric.name))
                metrics.*metric.value = Kind<std::optional<double>>::read(object.at(metric.name));
          },
          [](const Field<Metrics>&, JsonValue&) {
            JsonValue object = object_schema("");
            for (const MetricInfo& metric : all_metrics())
              add_property(object, metric.name, !metric.optional,
                           described(number_schema({}, {}), metric.definition,
                                     fmt::format(R"({{"unit": "{}"}})", metric.unit).c_str()));
            return object;
          })},
      "null: undefined, as balance is for one device. T is the time of the sample shown; speedup, "
      "efficiency, karp_flatt, prediction_error and roofline_fraction are of the median of all "
      "samples"};
  return kMetrics;
}

void check_sample(const JsonReader& json, const Fault& fault, std::size_t invalidated) {
  if (fault.sample && *fault.sample >= invalidated)
    json.at("sample").fail("no such disturbed sample");
}

namespace {

void check_samples(const JsonReader& json, const std::vector<Fault>& faults,
                   std::size_t invalidated) {
  auto fault = faults.begin();
  json.elements([&](const JsonReader& element) { check_sample(element, *fault++, invalidated); });
}

const Field<RunRecord> kTimeline{
    "timeline", "null: the case is not ok, or the file holds no timelines (--no-timeline)",
    [](const Field<RunRecord>&, const RunRecord& run, JsonValue& object) {
      JsonValue shown;
      if (run.status == Status::ok && run.timeline.devices > 0) {
        shown = Kind<Timeline>::write(run.timeline);
        put_points(run.telemetry_points, shown);
      }
      put(object, "timeline", std::move(shown));
    },
    [](const Field<RunRecord>&, const JsonReader& object, RunRecord& run) {
      const JsonReader json = object.at("timeline");
      if (json.is_null()) return;
      run.timeline = Kind<Timeline>::read(json);
      run.telemetry_points = read_points(json);
      if (run.timeline.devices > run.devices.size())
        json.at("devices").fail("more than the run's own list of devices");
    },
    [](const Field<RunRecord>&, JsonValue& definitions) {
      return nullable(Kind<Timeline>::schema(definitions));
    }};

// Rejects an impossible case: if it is damaged or made up, none of its figures can be believed.
// lib/report/contradictions.hpp finds figures that only differ from its samples.
void check_case(const JsonReader& j, const RunRecord& run) {
  if (run.status != Status::ok) return;
  if (run.samples.empty()) j.at("samples_ns").fail("none, and yet the case is ok");
  j.at("samples_ns").elements([](const JsonReader& sample) {
    if (sample.duration() <= Nanos{}) sample.fail("0 ns is no sample; expected: more");
  });
  if (run.verify.status == VerifyStatus::failed)
    j.at("verify").at("status").fail("failed, and yet the case is ok");
  if (is_split(run) && run.verify.status == VerifyStatus::passed && run.verify.digest.empty())
    j.at("verify").at("digest").fail("empty, and yet the result was verified");
  for (const auto metric : {&Metrics::speedup, &Metrics::ideal_speedup, &Metrics::efficiency})
    if (run.metrics.*metric && *(run.metrics.*metric) < 0)
      for (const MetricInfo& info : all_metrics())
        if (info.value == metric) j.at("metrics").at(info.name).fail("less than 0; expected: more");
}

void check_chain(const JsonReader& json, const RunRecord& run) {
  if (run.devices.empty()) json.fail("there are no devices");
  const auto last = static_cast<std::uint32_t>(run.devices.size()) - 1;  // index of the last device
  json.at("slowest_device").integer<std::uint32_t>(0, last);
  json.at("stages").elements(
      [&](const JsonReader& stage) { stage.at("device").integer<std::uint32_t>(0, last); });
}

void finish_run(const JsonReader& json, RunRecord& run) {
  check_runs(json, "sample_runs", run.samples.size());
  if (!run.samples.empty() && run.sample_index >= run.samples.size())
    json.at("sample_index").fail("no such sample");
  check_samples(json.at("faults"), run.faults, run.invalidated.size());
  if (run.chain) check_chain(json.at("chain"), run);
  check_case(json, run);
}

}  // namespace

namespace {

const RunRecord* case_of(const RunRecord& run) { return &run; }
const RunRecord* case_of(const Report&) { return nullptr; }

// Writes faults with their sentences, which depend on their case.
template <auto Member, typename Record>
void put_faults(const Field<Record>& field, const Record& record, JsonValue& object) {
  JsonValue list = json_list();
  for (const Fault& fault : record.*Member) {
    JsonValue one = Kind<Fault>::write(fault);
    put(one, "text", fault_sentence(fault, case_of(record)));
    append(list, std::move(one));
  }
  put(object, field.name, std::move(list));
}

template <auto Member>
auto faults_of(const char* meaning) {
  auto row = field<Member>("faults", meaning);
  row.write = put_faults<Member>;
  return row;
}

}  // namespace

template <>
const Description<LinkRecord::Share>& description<LinkRecord::Share>() {
  using Share = LinkRecord::Share;
  static const Description<Share> kShare{
      {field<&Share::device>("device", "its id"),
       field<&Share::bytes>("bytes", "bytes that it sent per sample, or moved from and to the host")
           .in("bytes"),
       field<&Share::samples>("samples_ns", "until this device had ended")}};
  return kShare;
}

template <>
const Description<LinkRecord>& description<LinkRecord>() {
  using Link = LinkRecord;
  static const Description<Link> kLink{
      {field<&Link::from>("from", "source of a transfer between two: a device's id, or host")
           .if_any(),
       field<&Link::to>("to", "its destination").if_any(),
       field_as<TextOrNull, &Link::path>(
           "path",
           "direct: a device writes into the other's memory; staged: through the host; host: CPUs, "
           "a copy there; mixed: pairs differ; null: between host and devices")
           .with_schema(R"({"enum": ["direct", "staged", "host", "mixed", null]})"),
       field<&Link::bytes>("bytes",
                           "moved per sample in total, or bytes of a collective's elements")
           .in("bytes"),
       field_as<Whole<std::uint64_t, 1, 1'000'000>, &Link::calls>(
           "calls", "enqueued together; a sample is the time of one of them"),
       field<&Link::wrong>("wrong",
                           "32-bit words, or elements of a collective, that arrived wrong"),
       field<&Link::steps>("steps",
                           "of a collective: signals that devices wait for one after another in "
                           "the longest chain of a call, counted as it was executed")
           .if_any()
           .in("1"),
       field<&Link::sent>("sent_bytes",
                          "of a collective: the most that a device sends to others per call, "
                          "counted as it was executed")
           .if_any(),
       field<&Link::nccl_tests>("nccl_tests_ns",
                                "of a collective: what nccl-tests printed for such a call, out of "
                                "place (links --compare-with)")
           .if_any(),
       field<&Link::devices>("devices", "shares of a transfer of all devices at once").if_any()}};
  return kLink;
}

template <>
const Description<LinkPath>& description<LinkPath>() {
  static const Description<LinkPath> kPath{
      {field<&LinkPath::from>("from", "source: id of a device"),
       field<&LinkPath::to>("to", "destination: id of a device"),
       field<&LinkPath::path>("path", "how data gets there")}};
  return kPath;
}

template <>
const Description<RunRecord>& description<RunRecord>() {
  static const Description<RunRecord> kRun{
      {computed<case_name>("case",
                           "its name, as in the rows of compare --json; absent in older files")
           .if_any(),
       field<&RunRecord::suite>("suite", "what is computed; of links: links, or the collective"),
       field<&RunRecord::size_name>("size_name", "the parameter that is the size").if_any(),
       field<&RunRecord::params>(
           "params", "parameters of the problem by name, its size among them; numbers are numbers"),
       field<&RunRecord::strategy>("strategy", "how work is split among the devices"),
       field<&RunRecord::strategy_params>("strategy_params", "parameters of the strategy by name"),
       field<&RunRecord::devices>("devices", "ids of the set it was measured on, unused ones too"),
       computed<asked_for, &RunRecord::devices_asked>("devices_asked",
                                                      "how many it was asked for: more than it has "
                                                      "when some were lost before it was measured"),
       field<&RunRecord::mode>("mode", "resident, end_to_end, or a mode of the suite's own")
           .with_schema(R"({"pattern": "^[a-z_]+$"})"),
       field<&RunRecord::status>("status", "only a case that is ok has figures"),
       field<&RunRecord::reason>("reason", "why not ok"),
       field<&RunRecord::link>("link", "what a case of links moved; absent: the case split work")
           .if_any(),
       group<RunRecord>(
           "setup_ns",
           "before the first sample, in none of its times; null: not done for a case that is not "
           "ok",
           {field<&RunRecord::setup, &SetupTimes::build>("build", "kernels, on the slowest device")
                .null_unless(is_set_up),
            field<&RunRecord::setup, &SetupTimes::alloc>("alloc", "buffers, on the slowest device")
                .null_unless(is_set_up),
            field<&RunRecord::setup, &SetupTimes::pin>("pin",
                                                       "pinning of the memory of the problem")
                .null_unless(is_set_up),
            field<&RunRecord::setup, &SetupTimes::upload>(
                "upload", "inputs that stay on the devices, on the slowest device")
                .null_unless(is_set_up)})
           .only_if(is_split),
       field<&RunRecord::samples>("samples_ns", "time of every sample, in order"),
       field_as<Each<Whole<std::uint32_t, 1>>, &RunRecord::sample_runs>(
           "sample_runs",
           "the number of the run that took each sample, counted from 1, where a run was resumed; "
           "absent: all were taken in the first")
           .if_any(),
       computed<[](const RunRecord& run) {
         std::vector<InvalidatedSample> samples = run.invalidated;
         for (InvalidatedSample& sample : samples)
           if (sample.devices.empty()) sample.devices = run.devices;
         return samples;
       },
                &RunRecord::invalidated>("disturbed_samples", "samples in which a device failed")
           .only_if(is_split),
       field<&RunRecord::sample_index>("sample_index",
                                       "the sample nearest the median, of those that the last run "
                                       "took: timeline and per-device "
                                       "figures are its; null: the case is not ok")
           .null_unless(is_ok)
           .only_if(is_split),
       field<&RunRecord::time>("time_ns"),
       field<&RunRecord::work>("work", "size of the problem"),
       group<RunRecord>("rate", "speed of the case",
                        {field_as<Real<0>, &RunRecord::rate>(
                             "value", "work.ops / median time; null: not ok, or unknown")
                             .in("that of rate.unit")
                             .null_unless(has_rate),
                         field<&RunRecord::rate_unit>("unit", "what the rate counts, per second")}),
       field<&RunRecord::merge>(
           "merge_ns", "merging partial results, of the sample shown; null: the case is not ok")
           .null_unless(is_ok)
           .only_if(is_split),
       group<RunRecord>(
           "plan", "the prediction and what it was made from",
           {field<&RunRecord::plan, &PlanRecord::decision>(
                "decision_ns",
                "time spent by the strategy in the sample shown; null: the case is not ok")
                .null_unless(is_ok),
            spread<&RunRecord::plan>()})
           .only_if(is_split),
       field<&RunRecord::per_device>("per_device", "one entry for each of devices, in their order")
           .only_if(is_split),
       field<&RunRecord::metrics>("metrics").only_if(is_split),
       computed<doubtful_metrics>(
           "doubtful_metrics", "metrics that are beyond what they can be at best; absent: none is")
           .if_any(),
       field<&RunRecord::worst_round>(
           "worst_round", "the round of worst_round_imbalance_percent; absent: there is none")
           .if_any(),
       field<&RunRecord::chain>("chain",
                                "of a chain of stages of which several devices have some, in the "
                                "sample that is shown; absent: there is none")
           .if_any(),
       field<&RunRecord::rebalances>("borders",
                                     "of iterative work, the samples of the last run in "
                                     "which shares were rebalanced; absent: in none")
           .if_any()
           .with_schema(R"({"minItems": 1})"),
       field<&RunRecord::migrations>("migrations",
                                     "samples of the last run in which work changed its device, by "
                                     "stealing or rebalancing; absent: in none")
           .if_any(),
       field<&RunRecord::adaptations>(
           "adaptations",
           "devices that became slower in mid-sample, in samples of the last run, under a strategy "
           "that moves work; absent: none is known to")
           .if_any(),
       group<RunRecord>(
           "bottleneck", "what limits the sample shown",
           {computed<[](const RunRecord& run) {
              return run.status == Status::ok ? run.bottleneck.name : std::string("unknown");
            },
                     &RunRecord::bottleneck, &Bottleneck::name>(
                "name",
                "unexplained: devices lose more than any what-if shows; unknown: time stamps of "
                "commands are impossible, or the case is not ok")
                .with_schema(R"({"enum": ["none", "unexplained", "unknown", "perfect_balance",
                         "free_transfers", "free_exchange", "free_launches", "free_merge",
                         "free_granularity", "free_contention", "perfect_occupancy"]})"),
            group<RunRecord>(
                "what_if_ns", "predicted time of the sample if one cost were gone; null: unknown",
                {field<&RunRecord::bottleneck, &Bottleneck::perfect_balance>(
                     "perfect_balance", "all devices finish together"),
                 field<&RunRecord::bottleneck, &Bottleneck::free_transfers>(
                     "free_transfers", "uploads and downloads take no time"),
                 field<&RunRecord::bottleneck, &Bottleneck::free_launches>(
                     "free_launches", "commands follow each other without gaps"),
                 field<&RunRecord::bottleneck, &Bottleneck::free_merge>(
                     "free_merge", "there is nothing to merge"),
                 field<&RunRecord::bottleneck, &Bottleneck::free_exchange>(
                     "free_exchange", "exchanges take no time; absent: devices exchange nothing")
                     .if_any(),
                 field<&RunRecord::bottleneck, &Bottleneck::free_granularity>(
                     "free_granularity",
                     "work can be split at any point; absent: pieces are small enough")
                     .if_any(),
                 field<&RunRecord::bottleneck, &Bottleneck::free_contention>(
                     "free_contention",
                     "kernels take no longer than alone; absent: not known, or fewer than two "
                     "devices had work")
                     .if_any(),
                 field<&RunRecord::bottleneck, &Bottleneck::perfect_occupancy>(
                     "perfect_occupancy",
                     "kernels take no longer per item than on the whole problem; absent: not "
                     "known, or "
                     "fewer than two devices had work, or not all are GPUs")
                     .if_any(),
                 field<&RunRecord::bottleneck, &Bottleneck::unexplained>(
                     "unexplained",
                     "T without the time that no other what-if explains; absent: that is little, "
                     "or a device was not measured alone")
                     .if_any()})})
           .only_if(is_split),
       field<&RunRecord::verify>("verify", "verification of the result"),
       faults_of<&RunRecord::faults>("failures of devices during the case"),
       field<&RunRecord::warnings>("warnings", "why figures may mislead, a sentence each"),
       field_as<Real<0>, &RunRecord::noise_floor>(
           "noise_floor",
           "so far, as a share, medians of this work on these devices lie apart from one "
           "measurement to the next, by calibrate; absent: not known")
           .in("1")
           .if_any(),
       field<&RunRecord::telemetry>("telemetry",
                                    "readings during all samples; null: nothing was read")
           .null_unless([](const RunRecord&, bool zero) { return !zero; })
           .only_if(is_split),
       field<&RunRecord::energy>("energy", "absent: --energy was not given").if_any(),
       kTimeline.only_if(is_split)},
      "",
      "run",
      finish_run,
      R"({"if": {"properties": {"status": {"const": "ok"}}},
          "then": {"properties": {"samples_ns": {"minItems": 1}}},
          "else": {"properties": {"reason": {"type": "string"}}},
          "allOf": [{"if": {"required": ["link"]},
                     "else": {"required": ["setup_ns", "disturbed_samples", "sample_index",
                                           "merge_ns", "plan", "per_device", "metrics",
                                           "bottleneck", "telemetry", "timeline"]}}]})"};
  return kRun;
}

template <>
struct Kind<ClockOffset> {
  static JsonValue write(const ClockOffset& offset) { return json_list({offset.low, offset.high}); }
  static ClockOffset read(const JsonReader& json) {
    const auto bounds = Each<Whole<std::int64_t>>::read(json);
    json.expect(bounds.size() == 2 && bounds.front() <= bounds.back(),
                "two bounds in ascending order");
    return {Nanos{bounds.front()}, Nanos{bounds.back()}};
  }
  static JsonValue schema(JsonValue&) {
    return described(list_schema(whole_schema({})), "", R"({"minItems": 2, "maxItems": 2})");
  }
};

template <>
const Description<NodeRecord>& description<NodeRecord>() {
  static const Description<NodeRecord> kNode{
      {field<&NodeRecord::node>("node", "its rank"),
       field<&NodeRecord::host>("host", "name of the machine"),
       field<&NodeRecord::begin>(
           "offset_begin_ns",
           "the clock of node 0 minus its own, when the run began, lies between these "
           "two; null: not known"),
       field<&NodeRecord::end>("offset_end_ns", "the same after the last group"),
       field<&NodeRecord::lost>("lost", "why it was lost; null: it was not"),
       field<&NodeRecord::exchange_memory>(
           "exchange_memory",
           "memory from which it handed data of exchanges with other nodes to the library: device, "
           "or host; absent: it exchanged none")
           .if_any(),
       field<&NodeRecord::exchange_memory_reason>("exchange_memory_reason", "why it is the host's")
           .if_any()}};
  return kNode;
}

template <>
const Description<ClusterRecord>& description<ClusterRecord>() {
  static const Description<ClusterRecord> kCluster{
      {field<&ClusterRecord::library>("library", "what carried their messages"),
       field<&ClusterRecord::nodes>("nodes", "one entry per rank")}};
  return kCluster;
}

template <>
const Description<ToolInfo>& description<ToolInfo>() {
  static const Description<ToolInfo> kTool{
      {field<&ToolInfo::version>("version", "version of mgpu-bench"),
       field<&ToolInfo::git>("git", "commit that it was built from"),
       field<&ToolInfo::argv>("argv", "command line")}};
  return kTool;
}

template <>
const Description<WatchedRecord>& description<WatchedRecord>() {
  static const Description<WatchedRecord> kWatched{
      {field<&WatchedRecord::of>("of", "host, or a device's id"),
       field_as<TextOrNull, &WatchedRecord::source>(
           "source",
           "NVML, sysfs, procfs; host: the host's figures are the device's; null: none, reason "
           "says why"),
       field_as<TextOrNull, &WatchedRecord::reason>(
           "reason", "why there is no source, or what the source does not report; null: neither")}};
  return kWatched;
}

namespace {

struct RunOfReport : Kind<RunRecord> {
  static JsonValue write(const RunRecord& run) {
    if (run.status == Status::ok) return Kind<RunRecord>::write(run);
    return Kind<RunRecord>::write(without_figures(run));
  }
};

}  // namespace

namespace {

// Facts of the machine, which are texts in the record; some are numbers in the file.
struct EnvironmentFacts {
  static JsonValue write(const std::map<std::string, std::string>& facts) {
    JsonValue object = json_object();
    for (const auto& [name, text] : facts) {
      const bool is_number = name == "cores" || name == "memory_bytes";
      if (const auto whole = number_of<std::int64_t>(text); is_number && whole)
        put(object, name, *whole);
      else if (const auto real = number_of<double>(text); is_number && real)
        put(object, name, *real);
      else
        put(object, name, text);
    }
    return object;
  }
  static std::map<std::string, std::string> read(const JsonReader& json) {
    std::map<std::string, std::string> facts;
    json.members([&](const std::string& name, const JsonReader& value) {
      facts[name] = value.is_number() ? param_text(Kind<ParamValue>::read(value)) : value.string();
    });
    return facts;
  }
  static JsonValue schema(JsonValue&) {
    return map_schema(json_object({{"type", json_list({"string", "number"})}}));
  }

 private:
  // Returns the number, if it is all of the text.
  template <typename T>
  static std::optional<T> number_of(const std::string& text) {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
  }
};

}  // namespace

template <>
const Description<SummaryLine>& description<SummaryLine>() {
  static const Description<SummaryLine> kLine{
      {field<&SummaryLine::title>("title", "title of the table"),
       field<&SummaryLine::text>("text", "sentences")}};
  return kLine;
}

template <>
const Description<Report>& description<Report>() {
  static const Description<Report> kReport{
      {document_id<Report, kResultId>(),
       field<&Report::complete>("complete",
                                "false while the run continues, or if it was interrupted"),
       field<&Report::id>("id",
                          "by which the journal next to the file until the run is "
                          "complete knows it")
           .if_any(),
       field<&Report::tool>(
           "tool", "the program that measured; of a merged file: all of its versions and commits"),
       field<&Report::started>("started",
                               "when the measurements began, RFC 3339 in UTC; of a run that was "
                               "resumed, the first time")
           .if_any()
           .with_schema(R"({"format": "date-time"})"),
       field<&Report::labels>("labels",
                              "of --label; commit: what was measured, by default the HEAD of the "
                              "git work tree that the run was started in")
           .if_any(),
       field_as<EnvironmentFacts, &Report::environment>(
           "environment",
           "facts of the machine and variables that change what is measured; cores and "
           "memory_bytes are numbers, in older files texts"),
       field<&Report::options>(
           "options",
           "options of run that say how samples were taken, given or by default, by name, with _ "
           "for -: times in nanoseconds, with _ns after the name; flags that were on as yes; "
           "without those that have no value"),
       field<&Report::defaults>("defaults",
                                "by suite, the parameters of a case where nothing is asked for, "
                                "without sizes: titles leave these out")
           .if_any(),
       field<&Report::devices>("devices", "devices of the run, in the order of their ranks"),
       field<&Report::cluster>("cluster",
                               "the ranks of a run on several; absent: it was one process")
           .if_any(),
       group<Report>("telemetry",
                     "what was looked at while samples ran, and how often; null: nothing was, "
                     "telemetry_reason says why",
                     {field<&Report::telemetry, &TelemetryRecord::interval>(
                          "interval_ns", "time between two readings"),
                      field<&Report::telemetry, &TelemetryRecord::watched>(
                          "watched", "the host and each device")})
           .null_unless(
               [](const Report& report, bool) { return report.telemetry.interval > Nanos{}; }),
       field_as<TextOrNull, &Report::telemetry, &TelemetryRecord::reason>(
           "telemetry_reason", "why telemetry is null; null: it is not"),
       faults_of<&Report::faults>("of no case: devices that could not be opened or set up"),
       field<&Report::exchange_notes>(
           "exchange_notes",
           "why devices that would exchange data are staged, or exchange "
           "none, a line for each reason; absent: there is nothing to say")
           .if_any(),
       field<&Report::paths>("paths", "path of each ordered pair of devices, as links found it")
           .if_any(),
       field_as<Each<RunOfReport>, &Report::runs>("runs", "the cases"),
       field<&Report::warnings>("warnings", "warnings that links printed").if_any(),
       field<&Report::failure>("failure", "reason why links ended early").if_any(),
       computed<[](const Report& report) { return summary_of(report); }>(
           "summary",
           "sentences per table, as the terminal has them: what won, by how much, "
           "and what holds it back; absent in older files")
           .when([](const Report& report) { return !is_links(report); })},
      "Times are whole nanoseconds. A figure that is undefined or not finite is null. Unknown keys "
      "may appear in any object and are to be ignored.",
      nullptr,
      [](const JsonReader& json, Report& report) {
        check_samples(json.at("faults"), report.faults, 0);
      }};
  return kReport;
}

}  // namespace mgpu
