// The fields of what commands print with --json.
#include "lib/report/documents.hpp"

#include "lib/report/json_build.hpp"
#include "lib/report/record_fields.hpp"
#include "lib/report/scaling_json.hpp"

namespace mgpu {

namespace {

constexpr DocumentId kDevicesId{"mgpu-bench/devices", 1};
// Not mgpu-bench/calibration: that is the schema of the cache's files, which have another layout
// and are private to the tool.
constexpr DocumentId kCalibrateId{"mgpu-bench/calibrate", 2};
constexpr DocumentId kListId{"mgpu-bench/list", 2};
constexpr DocumentId kScalingId{"mgpu-bench/scaling", 1};
constexpr DocumentId kPlanId{"mgpu-bench/plan", 1};

struct ScaledRow {
  ScalingRow row;
  double ops = 1;  // per item
};

bool is_placed(const ScaledRow& of, bool) { return of.row.time > Nanos{}; }

struct PlanDocument {
  std::vector<ListedPlan> plans;
};

// Writes all figures or none.
struct WholeCapability : KnownCapability {
  static JsonValue schema(JsonValue& definitions) {
    JsonValue choices = json_list();
    append(choices, json_of_text(R"({"type": "object", "maxProperties": 0})"));
    append(choices, Kind<Capability>::schema(definitions));
    return json_object({{"oneOf", std::move(choices)}});
  }
};

bool is_rated(const SuiteCalibration& suite, bool) { return suite.rate.has_value(); }
bool is_eligible(const TriedVariant& tried) { return tried.ops_per_s > 0; }

template <typename Record>
std::string document_text(const Record& record) {
  return indented_json(Kind<Record>::write(record));
}

}  // namespace

std::vector<ListedDevice> listed(const std::vector<Device>& devices,
                                 const std::vector<std::optional<Capability>>& capabilities) {
  std::vector<ListedDevice> all;
  for (const Device& device : devices)
    all.push_back({all.size(), device, capabilities[all.size()]});
  return all;
}

const char* to_string(CalibrationOrigin origin) {
  return origin == CalibrationOrigin::cached     ? "cached"
         : origin == CalibrationOrigin::measured ? "measured"
                                                 : "failed";
}

template <>
inline constexpr std::initializer_list<CalibrationOrigin> kAllOf<CalibrationOrigin> = {
    CalibrationOrigin::cached, CalibrationOrigin::measured, CalibrationOrigin::none};

template <>
const Description<ListedDevice>& description<ListedDevice>() {
  using D = ListedDevice;
  static const Description<D> kDevice{
      {field<&D::rank>("rank", "in this list, from 0"),
       field<&D::device, &Device::id>("id",
                                      "platform:device, and .k after it for sub-device k; of node "
                                      "N of a run on several, N/ before it"),
       spread<&D::device>(), field_as<WholeCapability, &D::capability>("capability"),
       field_as<Real<0>, &D::utilisation>(
           "utilisation",
           "share of its time in which it is busy now; absent: not known, as of CPUs")
           .in("1")
           .if_any(),
       field<&D::memory_used>("memory_used_bytes",
                              "of its memory, by all processes; absent: not known, as of CPUs")
           .if_any()}};
  return kDevice;
}

template <>
const Description<DevicesDocument>& description<DevicesDocument>() {
  using D = DevicesDocument;
  static const Description<D> kDevices{
      {document_id<D, kDevicesId>(), field<&D::devices>("devices"),
       field<&D::warnings>("warnings", "those printed on standard error")},
      "The devices in the order of their ranks: the best first, or as -d names them. Nothing was "
      "measured for it. A fact that a device does not report is null. "
      "These are all keys of this version of the tool: another may have more."};
  return kDevices;
}

template <>
const Description<CalibratedDevice>& description<CalibratedDevice>() {
  using D = CalibratedDevice;
  static const Description<D> kDevice{
      {spread<&D::listed>(), field<&D::free_memory>("free_memory_bytes", "when it was opened"),
       field<&D::origin>("from")}};
  return kDevice;
}

template <>
const Description<CalibratedLink>& description<CalibratedLink>() {
  using L = CalibratedLink;
  static const Description<L> kLink{
      {field<&L::link, &LinkCapability::devices>("devices", "ids"),
       computed<[](const L& of) { return of.link.up.all(); }>("up_bytes_per_s",
                                                              "in all, to the devices"),
       computed<[](const L& of) { return of.link.down.all(); }>("down_bytes_per_s",
                                                                "in all, from the devices"),
       computed<[](const L& of) { return of.link.up.by_count(); }>(
           "up_by_count",
           "of the first, the first two and so on at once; one figure only: of all of them"),
       computed<[](const L& of) { return of.link.down.by_count(); }>("down_by_count"),
       field<&L::origin>("from")}};
  return kLink;
}

template <>
const Description<CalibratedPair>& description<CalibratedPair>() {
  using P = CalibratedPair;
  static const Description<P> kPair{
      {field<&P::from>("from", "id"), field<&P::to>("to"), spread<&P::link>()}};
  return kPair;
}

template <>
const Description<CalibratedPeers>& description<CalibratedPeers>() {
  static const Description<CalibratedPeers> kPeers{
      {field<&CalibratedPeers::pairs>("pairs"), field<&CalibratedPeers::origin>("from")}};
  return kPeers;
}

template <>
const Description<SuiteCalibration>& description<SuiteCalibration>() {
  using S = SuiteCalibration;
  static const Description<S> kSuite{
      {field<&S::work>("work", "the suite with its options"), field<&S::device>("device", "id"),
       field<&S::rate, &SuiteRate::ops_per_s>("ops_per_s").null_unless(is_rated),
       field<&S::rate, &SuiteRate::unit>("unit", "of ops_per_s: nodes/s").null_unless(is_rated),
       field<&S::rate, &SuiteRate::slice>("slice_ns").null_unless(is_rated),
       field<&S::rate, &SuiteRate::fixed>("fixed_ns").null_unless(is_rated),
       field<&S::origin>("from")},
      "The rate of its kernels, its data on the device already. slice_ns is the marginal cost of a "
      "slice, fixed_ns what a sample costs in addition."};
  return kSuite;
}

template <>
const Description<NoiseCalibration>& description<NoiseCalibration>() {
  using N = NoiseCalibration;
  static const Description<N> kNoise{
      {field<&N::work>("work", "the suite with its options"),
       field<&N::share>("noise",
                        "so far, as a share, medians of this work lie apart from one measurement "
                        "to the next"),
       field<&N::origin>("from")}};
  return kNoise;
}

template <>
const Description<TriedVariant>& description<TriedVariant>() {
  using T = TriedVariant;
  static const Description<T> kTried{
      {field<&T::name>("variant"),
       field<&T::ops_per_s>("ops_per_s").null_unless([](const T& of, bool) {
         return is_eligible(of);
       }),
       field<&T::why>("reason", "why it was not eligible").null_unless([](const T& of, bool) {
         return !is_eligible(of);
       })}};
  return kTried;
}

template <>
const Description<Tuning>& description<Tuning>() {
  using T = Tuning;
  static const Description<T> kTuning{
      {field<&T::work>("work", "the suite with its options"), field<&T::device>("device", "id"),
       field_as<TextOrNull, &T::variant, &CachedVariant::name>(
           "variant",
           "the fastest, or the default where none is clearly faster; null: none works, or there "
           "was nothing to choose"),
       field<&T::unit>("unit", "of ops_per_s"), computed<[](const T& of) {
         return of.measured ? CalibrationOrigin::measured : CalibrationOrigin::cached;
       }>("from"),
       field<&T::tried>("tried", "the default first; empty: none was measured now")},
      "How a suite computes on a device: kernel and tile."};
  return kTuning;
}

template <>
const Description<CalibrateDocument>& description<CalibrateDocument>() {
  using D = CalibrateDocument;
  static const Description<D> kCalibrate{
      {document_id<D, kCalibrateId>(), field<&D::devices>("devices", "of the set, in its order"),
       field<&D::link>("link", "what all of them carry at once, in pinned memory; null: not known"),
       field<&D::peers>("peers",
                        "what each pair of them carries, one way each; null: one device, or not "
                        "known"),
       field<&D::suites>("suites", "each suite on each device alone"),
       field<&D::noise>("noise", "empty with --no-noise"),
       field<&D::tunings>("kernel_variants", "what --tune chose; empty without it"),
       field<&D::warnings>("warnings", "those printed on standard error")},
      "What the devices can do, alone and together, and each suite on them. Times are whole "
      "nanoseconds. What could not be measured is null. "
      "These are all keys of this version of the tool: another may have more."};
  return kCalibrate;
}

template <>
const Description<ListedOption>& description<ListedOption>() {
  using O = ListedOption;
  static const Description<O> kOption{
      {field<&O::name>("name", "without its dashes"),
       field<&O::values>("values",
                         "names it accepts; help says where a number or a file may stand too; no, "
                         "yes: a flag, which takes no value"),
       computed<[](const O& option) { return option.values.at(0); }>("default"),
       field<&O::help>("help")}};
  return kOption;
}

template <>
const Description<ListedSuite>& description<ListedSuite>() {
  using S = ListedSuite;
  static const Description<S> kSuite{
      {field<&S::name>("name"), field<&S::summary>("summary"),
       field<&S::size_name>("size_counts", "what --size counts: leaves"),
       field<&S::default_size>("default_size", "where no rate is known to choose one by"),
       field<&S::quick_size>("quick_size", "with --quick"), field<&S::modes>("modes"),
       field<&S::input>("input", "what the files of --input hold"), field<&S::options>("options")}};
  return kSuite;
}

template <>
const Description<StrategyParam>& description<StrategyParam>() {
  using P = StrategyParam;
  static constexpr auto kNumber = [](const P& param) { return param.choices.empty(); };
  static const Description<P> kParam{
      {field<&P::name>("name"), computed<[](const P& param) -> ParamValue {
         if (param.choices.empty()) return param.standard;
         return param.text(param.standard);
       }>("default"),
       field<&P::min>("min", "accepted too; of a number").when(kNumber),
       field<&P::max>("max", "accepted too; of a number").when(kNumber),
       field<&P::choices>("choices", "of one that is a name").if_any(), field<&P::help>("help")},
      "",
      nullptr,
      nullptr,
      R"({"oneOf": [{"required": ["min", "max"]}, {"required": ["choices"]}]})"};
  return kParam;
}

template <>
const Description<StrategyInfo>& description<StrategyInfo>() {
  using S = StrategyInfo;
  static const Description<S> kStrategy{{field<&S::name>("name"), field<&S::summary>("summary"),
                                         field<&S::params>("params", "as in -s NAME:PARAM=VALUE")}};
  return kStrategy;
}

template <>
const Description<MetricInfo>& description<MetricInfo>() {
  using M = MetricInfo;
  static const Description<M> kMetric{
      {computed<[](const M& metric) { return std::string(metric.name); }>(
           "name", "its key in the metrics of a result"),
       computed<[](const M& metric) { return std::string(metric.unit); }>(
           "unit", "x: times as fast; 1: a share or a quotient; %"),
       field<&M::higher_is_better>("higher_is_better"),
       field<&M::optional>("optional",
                           "results in which it is not defined for any device leave it out"),
       computed<[](const M& metric) { return std::string(metric.definition); }>("definition")}};
  return kMetric;
}

template <>
const Description<ListedResult>& description<ListedResult>() {
  using R = ListedResult;
  static const Description<R> kResult{
      {field<&R::name>("name", "what commands take in place of the file: last, last~1"),
       field<&R::started>("started", "RFC 3339 in UTC; empty: not known"),
       field<&R::what>("suites", "joined by +"), field<&R::cases>("cases"),
       field<&R::measured>("samples_ns", "all samples together"), field<&R::complete>("complete"),
       field_as<TextOrNull, &R::commit>("commit", "the label of that name; null: none"),
       field<&R::file>("file"),
       field_as<TextOrNull, &R::trouble>("unreadable", "why it cannot be read; null: it can")}};
  return kResult;
}

template <>
const Description<ListDocument>& description<ListDocument>() {
  using D = ListDocument;
  static const Description<D> kList{
      {document_id<D, kListId>(), field<&D::suites>("suites").if_any(),
       field<&D::strategies>("strategies", "what -s accepts by name").if_any(),
       field<&D::metrics>("metrics").if_any(),
       field<&D::results>("results", "saved results, the newest first").if_any()},
      "What this binary knows, under the word it was asked for. These are all keys of this version "
      "of the tool: another may have more.",
      nullptr,
      nullptr,
      R"({"oneOf": [{"required": ["suites"]}, {"required": ["strategies"]},
                    {"required": ["metrics"]}, {"required": ["results"]}]})"};
  return kList;
}

template <>
const Description<Candidate>& description<Candidate>() {
  using C = Candidate;
  static const Description<C> kCandidate{
      {computed<[](const C& of) { return of.strategy->name; }>("strategy"),
       field<&C::devices>("devices", "how many"), field<&C::predicted>("predicted_ns"),
       field<&C::joules>("energy_j", "predicted; absent: the power of a device is not known")
           .if_any()}};
  return kCandidate;
}

template <>
const Description<ListedPlan>& description<ListedPlan>() {
  using P = ListedPlan;
  static const Description<P> kPlan{
      {field<&P::suite>("suite"),
       many<P>([](const Field<P>&, const P& plan,
                  JsonValue& object) { put(object, plan.size_name, plan.size); },
               [](const Field<P>&, const JsonReader&, P&) {},
               [](const Field<P>&, JsonValue&) { return object_schema(""); }),
       field<&P::mode>("mode", "resident, end_to_end, or a mode of the suite's own"),
       computed<[](const P& plan) { return plan.choice.chosen.strategy->name; }>(
           "strategy",
           "the simplest one within 3 % of the least predicted time, with its default parameters"),
       field<&P::devices>("devices", "ids of those it would use, in the order of the set"),
       field<&P::items>("items", "shares of these devices; empty: not known before the sample"),
       field<&P::bottleneck>("bottleneck",
                             "as in the results of run; unknown: the sample was not simulated"),
       field<&P::choice, &PlanChoice::chosen, &Candidate::predicted>("predicted_ns",
                                                                     "of one sample"),
       field<&P::choice, &PlanChoice::reasons>("reasons", "sentences"),
       field<&P::choice, &PlanChoice::considered>(
           "considered",
           "all candidates, the best first; a candidate on N devices takes the N fastest ones"),
       field<&P::by_rule>("rule_of_thumb",
                          "equal shares on one device per 10,000 units of the size, at most four; "
                          "null: they cannot place the work")},
      "Its other key is what --size counts in this suite (leaves; list suites: size_counts), with "
      "the size.",
      nullptr,
      nullptr,
      R"({"minProperties": 11, "maxProperties": 11,
          "additionalProperties": {"type": "integer", "minimum": 1}})"};
  return kPlan;
}

template <>
const Description<PlanDocument>& description<PlanDocument>() {
  using D = PlanDocument;
  static const Description<D> kPlans{
      {document_id<D, kPlanId>(), field<&D::plans>("plans", "one for each mode")},
      "What -s auto would do with a problem, and why; nothing was run. Times are whole "
      "nanoseconds. These are all keys of this version of the tool: another may have more."};
  return kPlans;
}

template <>
inline constexpr std::initializer_list<Scales> kAllOf<Scales> = {Scales::strong, Scales::weak};

template <>
const Description<ScaledRow>& description<ScaledRow>() {
  using R = ScaledRow;
  static constexpr auto kRow = &R::row;
  static const Description<R> kScaled{
      {field<kRow, &ScalingRow::strategy>("strategy"), field<kRow, &ScalingRow::mode>("mode"),
       field<kRow, &ScalingRow::scales>("scaling"), field<kRow, &ScalingRow::nodes>("nodes"),
       field<kRow, &ScalingRow::devices>("devices", "of all nodes"),
       field<kRow, &ScalingRow::items>("items"),
       field<kRow, &ScalingRow::time>("time_ns", "of a sample; null: it could not be placed")
           .null_unless(is_placed),
       computed<[](const R& of) {
         return static_cast<double>(of.row.items) * of.ops / seconds(of.row.time);
       }>("rate", "work per second")
           .null_unless(is_placed),
       field<kRow, &ScalingRow::speedup>(
           "speedup",
           "items per second relative to those of the first row of the series that has a time")
           .null_unless(is_placed),
       field<kRow, &ScalingRow::efficiency>(
           "efficiency",
           "the speed-up, divided by how many times as fast the devices are together; 1 is perfect")
           .null_unless(is_placed),
       field<kRow, &ScalingRow::sending>(
           "sending_ns", "for how long the link of node 0 carried something to other nodes"),
       field<kRow, &ScalingRow::receiving>("receiving_ns", "the same from other nodes"),
       field<kRow, &ScalingRow::handing_out>(
           "handing_out_ns", "that handing out slices took node 0, of its hand_out_ns"),
       field_as<TextOrNull, kRow, &ScalingRow::why_not>("why_not", "why it could not be placed")}};
  return kScaled;
}

template <>
const Description<ScalingReport>& description<ScalingReport>() {
  using S = ScalingReport;
  static const Description<S> kScaling{
      {document_id<S, kScalingId>(), field<&S::tool>("tool", "version of the program"),
       field<&S::source>("simulated", "what devices and work were taken from"),
       field<&S::suite>("suite"), field<&S::unit>("unit", "of rates"),
       field<&S::size_unit>("size_unit", "what the items are to a user; default items").if_any(),
       field<&S::units_per_item>("units_per_item", "default 1").if_any(),
       computed<[](const S& of) {
         std::vector<ScaledRow> rows;
         for (const ScalingRow& row : of.rows) rows.push_back({row, of.ops});
         return rows;
       }>("rows",
          "by mode, strategy, and strong before weak: a series, over all numbers of nodes")},
      "One simulated sample for each strategy, mode and number of nodes, of the same work (strong) "
      "and of as much work a node (weak). Times are whole nanoseconds. "
      "These are all keys of this version of the tool: another may have more."};
  return kScaling;
}

std::string devices_json(const DevicesDocument& document) { return document_text(document); }
std::string calibrate_json(const CalibrateDocument& document) { return document_text(document); }
std::string list_json(const ListDocument& document) { return document_text(document); }
std::string plan_json(const std::vector<ListedPlan>& plans) {
  return document_text(PlanDocument{plans});
}

std::string scaling_json(const ScalingReport& report) { return document_text(report); }

std::string scaling_schema() {
  return schema_document<ScalingReport>(
      kScalingId, "mgpu-bench scaling, what simulate --nodes writes", Keys::named);
}

std::string devices_schema() {
  return schema_document<DevicesDocument>(
      kDevicesId, "mgpu-bench devices, what devices --json prints", Keys::named);
}
std::string calibrate_schema() {
  return schema_document<CalibrateDocument>(
      kCalibrateId, "mgpu-bench calibration, what calibrate --json prints", Keys::named);
}
std::string list_schema() {
  return schema_document<ListDocument>(kListId, "mgpu-bench list, what list --json prints",
                                       Keys::named);
}
std::string plan_schema() {
  return schema_document<PlanDocument>(kPlanId, "mgpu-bench plan, what plan --json prints",
                                       Keys::named);
}

}  // namespace mgpu
