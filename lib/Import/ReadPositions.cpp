//===- ReadPositions.cpp - Rotation and windows of a config.json ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotation has two spellings, and in models whose local layers rotate by other
// frequencies one object for each kind of layer. Which layers have a window is
// said in four ways.
//
//===----------------------------------------------------------------------===//

#include "ReadPositions.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace tp {

/// A number that is missing, null or zero where it does not count.
static double readWeight(ObjectReader &reader, StringRef key) {
  const json::Value *value = reader.get(key);
  bool counts = value && value->getAsNumber() != 0.0;
  return counts ? reader.getPositive(key, std::nullopt) : 0;
}

/// The factor of Yarn, for the stretch of `factor` and a weight of its
/// logarithm.
static double getYarnScale(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

namespace {
/// The values of the rest of the file on which an object of rotation depends.
struct RopeContext {
  const ConfigKeys &keys;
  /// DeepSeek's attention, which multiplies its scores by `mscale_all_dim`
  /// whatever the type is.
  bool isLatent;
  int64_t headDim, maxPositions;
  /// The file's own `original_max_position_embeddings`, beside the object.
  std::optional<int64_t> original;

  /// The length of training. The file's own key counts before the object's.
  int64_t readOriginal(ObjectReader &reader) const {
    int64_t length = reader.getInt("original_max_position_embeddings",
                                   original.value_or(maxPositions), 1, maxSize);
    return original.value_or(length);
  }
};
} // namespace

static void readYarn(ObjectReader &reader, const RopeContext &context,
                     RopeConfig &rope) {
  rope.kind = RopeConfig::Kind::Yarn;
  rope.originalMaxPositions = context.readOriginal(reader);
  // A factor that is null is the ratio of the lengths.
  std::optional<double> ratio;
  if (reader.isPresent("factor"))
    ratio = double(context.maxPositions) / double(rope.originalMaxPositions);
  rope.factor = reader.getPositive("factor", ratio);
  rope.fastTurns = reader.getPositive("beta_fast", 32.0);
  rope.slowTurns = reader.getPositive("beta_slow", 1.0);
  rope.truncates = reader.getBool("truncate", true);
  double scale = readWeight(reader, "mscale"),
         all = readWeight(reader, "mscale_all_dim");
  rope.attentionFactor =
      scale != 0 && all != 0
          ? getYarnScale(rope.factor, scale) / getYarnScale(rope.factor, all)
          : getYarnScale(rope.factor, 1);
  if (reader.has("attention_factor"))
    rope.attentionFactor = reader.getPositive("attention_factor", std::nullopt);
  rope.scoreScale = all == 0 ? 1 : getYarnScale(rope.factor, all);
}

/// The positive numbers of a list.
static SmallVector<float> readFactors(ObjectReader &reader, StringRef key) {
  SmallVector<float> factors;
  const json::Array *list = reader.getArray(key);
  if (!list && !reader.failed())
    reader.error() << "missing " << reader.getPath(key)
                   << ": expected a list of positive numbers";
  for (const json::Value &value : list ? *list : json::Array()) {
    std::optional<double> number = value.getAsNumber();
    if (!number || !(*number > 0) || !std::isfinite(*number)) {
      reader.error(key) << "expected " << reader.getPath(key)
                        << " to be a list of positive numbers, got "
                        << showJson(value) << " in it";
      break;
    }
    factors.push_back(float(*number));
  }
  return factors;
}

static void readLongRope(ObjectReader &reader, const RopeContext &context,
                         RopeConfig &rope) {
  rope.kind = RopeConfig::Kind::Long;
  rope.originalMaxPositions = context.readOriginal(reader);
  rope.shortFactors = readFactors(reader, "short_factor");
  rope.longFactors = readFactors(reader, "long_factor");
  double stretch =
      double(context.maxPositions) / double(rope.originalMaxPositions);
  rope.factor = reader.getPositive("factor", stretch);
  double factor = 1;
  if (rope.factor > 1)
    factor = std::sqrt(1 + std::log(rope.factor) /
                               std::log(double(rope.originalMaxPositions)));
  rope.attentionFactor = reader.getPositive("attention_factor", factor);
}

static void readLlama3(ObjectReader &reader, const RopeContext &context,
                       RopeConfig &rope) {
  rope.kind = RopeConfig::Kind::Llama3;
  rope.factor = reader.getPositive("factor", std::nullopt);
  rope.lowFrequencyFactor = reader.getPositive("low_freq_factor", std::nullopt);
  rope.highFrequencyFactor =
      reader.getPositive("high_freq_factor", std::nullopt);
  rope.originalMaxPositions = context.readOriginal(reader);
  // Equal factors leave nothing between them.
  if (!reader.failed() && rope.highFrequencyFactor < rope.lowFrequencyFactor)
    reader.error("high_freq_factor")
        << "expected " << reader.getPath("high_freq_factor")
        << " to be at least " << reader.getPath("low_freq_factor") << ", got "
        << rope.highFrequencyFactor << " and " << rope.lowFrequencyFactor;
}

/// Alibaba's "ntk" (kexue.fm/archives/9706), fixed for all lengths: the base is
/// multiplied, and all frequencies are divided so that the lowest is stretched
/// by the factor.
static void readNtk(ObjectReader &reader, const RopeContext &context,
                    RopeConfig &rope) {
  reader.require("mixed_b", nullptr, "mixed frequencies are not supported");
  double factor = reader.getPositive("factor", std::nullopt);
  if (factor <= 1)
    return;
  rope.kind = RopeConfig::Kind::Linear;
  rope.theta *= factor;
  rope.factor = std::pow(factor, 2 / double(context.headDim));
}

/// Hunyuan's "dynamic" rotation, whose base is stretched for all lengths.
static void readAlpha(ObjectReader &reader, const RopeContext &context,
                      RopeConfig &rope) {
  rope.kind = RopeConfig::Kind::Default;
  double alpha = reader.getPositive("alpha", std::nullopt);
  reader.ignore({"factor"});
  double size = double(context.headDim);
  if (context.headDim <= 2)
    reader.error("alpha") << "expected " << reader.getPath("alpha")
                          << " beside a head size of more than 2, got "
                          << context.headDim;
  else
    rope.theta *= std::pow(alpha, size / (size - 2));
  if (!std::isfinite(rope.theta))
    reader.error("alpha") << "expected " << reader.getPath("alpha")
                          << " to leave the base of rotation finite, got "
                          << alpha;
}

/// A factor for each frequency.
static void checkFactors(ObjectReader &reader, const ModelConfig &config) {
  const RopeConfig &rope = config.rope;
  if (reader.failed() || rope.kind != RopeConfig::Kind::Long)
    return;
  size_t count = rope.getRotaryDim(config.headDim) / 2;
  StringRef object =
      reader.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  for (auto [key, list] : {std::pair("short_factor", &rope.shortFactors),
                           std::pair("long_factor", &rope.longFactors)})
    if (list->size() != count)
      reader.error(object) << "expected " << object << "." << key << " to have "
                           << count
                           << " entries, one for each pair that is rotated in "
                              "a head, got "
                           << list->size();
}

/// Reads what describes the stretching of frequencies.
static void readRopeScaling(ObjectReader &reader, StringRef typeKey,
                            const RopeContext &context, RopeConfig &rope) {
  using Kind = RopeConfig::Kind;
  std::string type = reader.getString(typeKey).value_or("default");
  // Phi-3 has two types, and older names of the second one.
  bool isPhi = context.keys.originalMaxPositions != 0;
  if (type == "default" || type == context.keys.plainRopeType) {
    rope.kind = Kind::Default;
  } else if (type == "longrope" || type == "su" || (isPhi && type == "yarn")) {
    readLongRope(reader, context, rope);
  } else if (isPhi) {
    reader.error(typeKey) << "unsupported " << reader.getPath(typeKey) << " "
                          << quoted(type)
                          << "; expected \"default\" or \"longrope\"";
  } else if (type == "dynamic" && context.keys.hasRopeAlpha &&
             reader.has("alpha")) {
    readAlpha(reader, context, rope);
  } else if (type == "ntk" && context.keys.hasNtk) {
    readNtk(reader, context, rope);
  } else if (type == "linear" || type == "dynamic") {
    // The second one stretches sequences beyond the model's limit alone.
    rope.kind = type == "linear" ? Kind::Linear : Kind::Dynamic;
    rope.factor = reader.getPositive("factor", std::nullopt);
    rope.originalMaxPositions = context.maxPositions;
  } else if (type == "proportional") {
    rope.kind = RopeConfig::Kind::Proportional;
    rope.factor = reader.getPositive("factor", 1.0);
    rope.originalMaxPositions = context.maxPositions;
  } else if (type == "llama3") {
    readLlama3(reader, context, rope);
  } else if (type == "yarn") {
    readYarn(reader, context, rope);
  } else {
    reader.error(typeKey)
        << "unsupported " << reader.getPath(typeKey) << " " << quoted(type)
        << "; expected \"default\", \"linear\", \"dynamic\", \"llama3\", "
           "\"yarn\", \"longrope\" or \"proportional\"";
  }
  if (context.isLatent && rope.kind != Kind::Default && rope.kind != Kind::Yarn)
    reader.require("mscale_all_dim", nullptr,
                   "scaled scores are supported with \"yarn\" alone");
}

/// How much of each head is rotated, by `key`.
static void readRotaryPart(ObjectReader &reader, StringRef key, bool isKnown,
                           RopeConfig &rope) {
  if (!isKnown)
    return reader.require(key, 1.0,
                          "rotating a part of each head is not supported");
  double part = reader.getPositive(key, rope.rotaryPart);
  if (part > 1)
    reader.error(key) << "expected " << reader.getPath(key)
                      << " to be the rotated part of a head, at most 1, got "
                      << showJson(part);
  rope.rotaryPart = std::min(part, 1.0);
}

/// Llama 4's, of queries far behind the length of training.
static void readQueryGrowth(ObjectReader &reader, const RopeContext &context,
                            RopeConfig &rope) {
  rope.queryGrowth = reader.getPositive("llama_4_scaling_beta", std::nullopt);
  rope.originalMaxPositions = context.readOriginal(reader);
}

/// An object of rotation: today's `rope_parameters`, or `rope_scaling` as older
/// files call it. What is missing in it is as in `base`. `transformers` ignores
/// keys that the type does not need.
static RopeConfig readRopeObject(const json::Object &object, StringRef name,
                                 const JsonFile &file,
                                 const RopeContext &context,
                                 const RopeConfig &base, ObjectReader &parent) {
  ObjectReader reader(file, object, name);
  RopeConfig rope;
  rope.rotaryPart = base.rotaryPart;
  rope.theta = reader.getPositive("rope_theta", base.theta);
  bool hasType = reader.has("rope_type");
  bool isProportional =
      reader.getString(hasType ? "rope_type" : "type") == "proportional";
  readRotaryPart(reader, "partial_rotary_factor",
                 isProportional || !context.keys.rotaryPart.key.empty(), rope);
  if (!hasType && !reader.has("type") && name == "rope_scaling")
    reader.error() << "missing rope_scaling.rope_type: expected a string";
  // Files written in between hold both, and the first one counts.
  if (hasType)
    reader.ignore({"type"});
  readRopeScaling(reader, hasType ? "rope_type" : "type", context, rope);
  // Text has the same position on all axes.
  if (!context.keys.plainRopeType.empty())
    reader.ignore({"mrope_section", "mrope_interleaved"});
  if (context.keys.hasQueryGrowth)
    readQueryGrowth(reader, context, rope);
  // An object in it is the rotation of some of the layers.
  reader.finish(
      [&](StringRef key) { return object.getObject(key) != nullptr; });
  parent.join(reader);
  return rope;
}

/// One object for layers with and one for layers without a window.
static void readRopesByLayer(const json::Object &object, const JsonFile &file,
                             const RopeContext &context, ObjectReader &parent,
                             ModelConfig &config) {
  ObjectReader reader(file, object, "rope_parameters");
  for (auto [key, rope] :
       {std::pair(StringRef("full_attention"), &config.rope),
        std::pair(StringRef("sliding_attention"), &*config.localRope)})
    if (const json::Object *one = reader.getObject(key))
      *rope = readRopeObject(*one, "rope_parameters." + key.str(), file,
                             context, *rope, reader);
  reader.finish();
  parent.join(reader);
}

int64_t ModelConfig::getPositionLimit() const {
  // 2.3 times 10 is a little less than 23.
  double reach = rope.factor * double(rope.originalMaxPositions) + 1e-6;
  int64_t most =
      std::max(maxPositions, int64_t(std::min(reach, double(maxSize))));
  return plainPositions ? std::min(most, *plainPositions) : most;
}

void boundPositions(ModelConfig &config, int64_t length, const Twine &reason) {
  if (config.plainPositions && *config.plainPositions <= length)
    return;
  config.plainPositions = length;
  config.plainReason = reason.str();
  config.maxPositions = std::min(config.maxPositions, length);
}

void readRope(ObjectReader &reader, const JsonFile &file,
              const ConfigKeys &keys, ModelConfig &config) {
  RopeContext context{keys, !config.layout.keyValueDown.empty(), config.headDim,
                      config.maxPositions, std::nullopt};
  if (keys.originalMaxPositions)
    context.original = keys.originalMaxPositions;
  if (reader.has("original_max_position_embeddings"))
    context.original = reader.getInt("original_max_position_embeddings",
                                     std::nullopt, 1, maxSize);

  RopeConfig old;
  StringRef thetaKey = keys.ropeTheta.key, partKey = keys.rotaryPart.key;
  if (thetaKey.empty()) {
    config.rope.theta = keys.ropeTheta.value;
    return;
  }
  old.theta = reader.getPositive(thetaKey, keys.ropeTheta.value);
  old.rotaryPart = keys.rotaryPart.value;
  readRotaryPart(reader, partKey.empty() ? "partial_rotary_factor" : partKey,
                 !partKey.empty(), old);
  const json::Object *scaling = reader.getObject("rope_scaling");
  bool hasScaling = scaling && !scaling->empty();
  if (hasScaling)
    old = readRopeObject(*scaling, "rope_scaling", file, context, old, reader);
  config.rope = old;
  if (keys.localTheta.value) {
    config.localRope.emplace();
    config.localRope->theta =
        keys.localTheta.key.empty()
            ? keys.localTheta.value
            : reader.getPositive(keys.localTheta.key, keys.localTheta.value);
  }

  const json::Object *parameters = reader.getObject("rope_parameters");
  if (parameters && config.localRope &&
      (parameters->getObject("full_attention") ||
       parameters->getObject("sliding_attention"))) {
    context.original = std::nullopt;
    readRopesByLayer(*parameters, file, context, reader, config);
  } else if (parameters && config.localRope && !parameters->empty()) {
    reader.error("rope_parameters")
        << "expected rope_parameters to have an object \"full_attention\" and "
           "one \"sliding_attention\", as layers with a window rotate by "
           "frequencies of their own";
  } else if (parameters) {
    config.rope = readRopeObject(*parameters, "rope_parameters", file, context,
                                 old, reader);
    // The object may leave out a key that stands beside it.
    bool contradicts =
        hasScaling ? config.rope != old
                   : (reader.has(thetaKey) && config.rope.theta != old.theta) ||
                         (!partKey.empty() && reader.has(partKey) &&
                          config.rope.rotaryPart != old.rotaryPart);
    if (!reader.failed() && contradicts)
      reader.error("rope_parameters")
          << "rope_parameters contradicts " << thetaKey << " and rope_scaling";
  }
  checkFactors(reader, config);
}

/// Reads which layers have the window if `layer_types` does not say so.
static void readWindowedLayers(ObjectReader &reader, const ConfigKeys &keys,
                               bool hasWindow, ModelConfig &config) {
  using enum WindowedLayers;
  WindowedLayers windowed = keys.windowed;
  int64_t bound = 0, period = keys.windowPeriod.value;
  if (windowed == Later || windowed == EvenEarlier)
    bound = reader.getInt(keys.windowBound.key, keys.windowBound.value, 0,
                          maxLayers);
  else if (keys.hasWindowSwitch)
    reader.ignore({"max_window_layers"});
  StringRef periodKey = keys.windowPeriod.key;
  if (reader.has("layer_types"))
    (void)reader.get(periodKey); // which nobody reads then
  else if (!periodKey.empty())
    period = reader.getInt(periodKey, period, 1, maxLayers);
  for (int64_t i = 0; hasWindow && i < config.numLayers; ++i)
    config.slides[i] = windowed == All || (windowed == Later && i >= bound) ||
                       (windowed == EvenEarlier && i % 2 == 0 && i < bound) ||
                       (windowed == Periodic && (i + 1) % period != 0) ||
                       (windowed == LaterInPeriod && i % period != 0);
}

/// Reads `layer_types`. If all layers have the window nothing reads it, so that
/// it has to agree.
static void readLayerTypes(ObjectReader &reader, const ConfigKeys &keys,
                           bool hasWindow, ModelConfig &config) {
  if (keys.hasOwnLayerTypes)
    return;
  const json::Array *types = reader.getArray("layer_types");
  if (!types)
    return;
  auto error = [&]() { return reader.error("layer_types"); };
  if (types->size() != static_cast<size_t>(config.numLayers)) {
    error() << "expected layer_types to have " << config.numLayers
            << " entries (num_hidden_layers), got " << types->size();
    return;
  }
  for (auto [i, type] : llvm::enumerate(*types)) {
    std::optional<StringRef> name = type.getAsString();
    auto isKind = [&](StringRef kind) { return !kind.empty() && name == kind; };
    bool convolves = isKind(keys.convKind) || isKind(keys.otherConvKind);
    if (convolves)
      config.convolves[i] = true;
    if (convolves || isKind(keys.boundedKind) || isKind(keys.otherFullKind))
      name = "full_attention";
    if (name != "full_attention" && name != "sliding_attention") {
      auto diag = error();
      diag << "unsupported layer_types[" << i << "] " << showJson(type)
           << "; expected ";
      if (!keys.convKind.empty())
        diag << '"' << keys.convKind << "\", ";
      diag << "\"full_attention\" or \"sliding_attention\"";
      return;
    }
    bool slides = name == "sliding_attention";
    if (slides && !hasWindow) {
      error() << "layer_types[" << i
              << "] is \"sliding_attention\" but no sliding_window is in use";
      return;
    }
    if (keys.windowed == WindowedLayers::All && slides != config.slides[i]) {
      error() << "layer_types[" << i << "] is \"" << *name
              << "\", but all layers of this model_type have the "
                 "sliding_window; remove layer_types or the window";
      return;
    }
    config.slides[i] = slides;
  }
}

void readSlidingWindow(ObjectReader &reader, const ConfigKeys &keys,
                       ModelConfig &config) {
  config.slides.assign(config.numLayers, false);
  if (!keys.convKind.empty())
    config.convolves.assign(config.numLayers, false);
  StringRef key = keys.window.key;
  if (key.empty()) {
    // The attention has none, but the cache would. One that is as long as the
    // longest sequence is none either.
    if (reader.has("sliding_window") &&
        reader.getInt("sliding_window", std::nullopt, 1, maxSize) <
            config.getPositionLimit())
      reader.require("sliding_window", nullptr,
                     "the attention of this model_type has no window");
    return readLayerTypes(reader, keys, /*hasWindow=*/false, config);
  }
  std::optional<int64_t> window;
  // A null window means none; the default is for a missing key.
  bool isOn =
      !keys.hasWindowSwitch || reader.getBool("use_sliding_window", false);
  if (isOn && reader.has(key))
    window = reader.getInt(key, std::nullopt, 1, maxSize);
  else if (isOn && keys.window.value && !reader.isPresent(key))
    window = keys.window.value;
  if (key == "sliding_window")
    reader.ignore({"sliding_window"});
  else
    reader.require("sliding_window", nullptr,
                   ("the window of this model_type is " + key).str());
  readWindowedLayers(reader, keys, window.has_value(), config);
  readLayerTypes(reader, keys, window.has_value(), config);
  if (llvm::is_contained(config.slides, true))
    config.slidingWindow = window;
}

} // namespace tp
