//===- ReadQuantization.cpp - Reading quantization_config -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each `quant_method` that is read. Every key is read, known
// to have no influence on the numbers, or refused.
//
//===----------------------------------------------------------------------===//

#include "ReadQuantization.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr int64_t maxGroup = 1 << 20;

static constexpr llvm::StringLiteral supported =
    "expected \"compressed-tensors\", \"fp8\", \"fbgemm_fp8\", \"modelopt\", "
    "\"gptq\", \"awq\", \"gguf\" or \"mxfp4\"";

void readModuleNames(ObjectReader &from, StringRef key,
                     ModuleNames::Style style, ModuleNames &names) {
  const json::Array *list = from.getArray(key);
  if (!list)
    return;
  for (const json::Value &value : *list) {
    std::optional<StringRef> entry = value.getAsString();
    std::string why = entry ? names.add(*entry, style) : "it is no string";
    if (!why.empty())
      from.error(key) << "unsupported entry " << showJson(value) << " of "
                      << from.getPath(key) << ": " << why;
  }
}

/// How wide numbers are that the recipe stores keys and values in.
std::string describeCache(const json::Object &scheme) {
  return llvm::itostr(scheme.getInteger("num_bits").value_or(8)) + "-bit " +
         scheme.getString("type").value_or("int").str();
}

namespace {
/// Reads one object.
class Reader {
public:
  Reader(ObjectReader &reader, QuantizationConfig &out)
      : reader(reader), out(out) {}

  void readCompressedTensors();
  void readFp8();
  void readFbgemm();
  void readGptq();
  void readAwq();
  void readMxfp4();

private:
  void readScheme(ObjectReader &group, StringRef format,
                  QuantizedScheme &scheme);
  void readWeights(ObjectReader &weights, StringRef format,
                   QuantizedScheme &scheme);
  ActivationScheme readActivations(ObjectReader &input);
  bool readStrategy(ObjectReader &weights, QuantizedScheme &scheme);
  /// One group of all linear layers but the head.
  QuantizedScheme &addAll() {
    QuantizationConfig::Group &group = out.groups.emplace_back();
    (void)group.targets.add("Linear", ModuleNames::Style::CompressedTensors);
    return group.scheme;
  }
  int64_t readGroupSize(ObjectReader &from) {
    int64_t size = from.getInt("group_size", 128, -1, maxGroup);
    if (size == 0)
      from.error("group_size") << "expected " << from.getPath("group_size")
                               << " to be -1 or at least 1, got 0";
    return std::max<int64_t>(0, size);
  }

  ObjectReader &reader;
  QuantizationConfig &out;
};
} // namespace

//===----------------------------------------------------------------------===//
// compressed-tensors
//===----------------------------------------------------------------------===//

/// Scales of such a type are read as what the files have.
static bool isFloatType(StringRef type) {
  return type == "torch.bfloat16" || type == "torch.float16" ||
         type == "torch.float32";
}

static bool isExponents(StringRef type) {
  return type == "torch.uint8" || type == "torch.float8_e8m0fnu";
}

/// Reads the recipe for activations: `input_activations` of a group.
ActivationScheme Reader::readActivations(ObjectReader &input) {
  ActivationScheme scheme;
  std::string type = input.getString("type").value_or("int");
  int64_t bits = input.getInt("num_bits", 8, 1, 16);
  std::string strategy = input.getString("strategy").value_or("tensor");
  bool isDynamic = input.getBool("dynamic", false);
  scheme.isFloat = type == "float";
  std::string scales = input.getString("scale_dtype").value_or("");
  // Recipes of 4 bits, and of scales that are powers of two.
  scheme.staysFloat =
      scheme.isFloat && (bits == 4 || (bits == 8 && isExponents(scales)));
  scheme.text = llvm::itostr(bits) + "-bit " + type +
                (isDynamic ? ", dynamic" : "") + ", per " + strategy;
  auto refuse = [&](StringRef key, const Twine &why) {
    if (scheme.refusal.empty() && !scheme.staysFloat)
      scheme.refusal = (input.getPath(key) + ": " + why).str();
  };
  if (bits != 8 || (type != "int" && type != "float"))
    refuse("num_bits", "expected 8 of type \"int\" or \"float\", got " +
                           Twine(bits) + " of type \"" + type + "\"");
  if (!input.getBool("symmetric", true))
    refuse("symmetric", "expected true, got false");
  if (strategy == "group" || strategy == "tensor_group") {
    scheme.group = input.getInt("group_size", 128, 1, maxGroup);
  } else {
    input.ignore({"group_size"});
    if (strategy == "tensor" && !isDynamic)
      scheme.isStatic = true;
    else if (strategy != "token")
      refuse("strategy", "expected \"token\", \"group\", or \"tensor\" that is "
                         "not dynamic, got \"" +
                             Twine(strategy) + "\"");
  }
  if (!scheme.isStatic && !isDynamic)
    refuse("dynamic",
           "expected true of strategy \"" + Twine(strategy) + "\", got false");
  if (!scheme.staysFloat && !scales.empty() && !isFloatType(scales))
    refuse("scale_dtype", "expected null or a float type of at least 16 bits, "
                          "got \"" +
                              Twine(scales) + "\"");
  input.ignore({"observer", "observer_kwargs", "block_structure", "actorder",
                "zp_dtype"});
  input.finish();
  return scheme;
}

bool Reader::readStrategy(ObjectReader &weights, QuantizedScheme &scheme) {
  std::optional<std::string> strategy = weights.getString("strategy");
  bool hasGroups = weights.has("group_size");
  std::string name = strategy ? *strategy : (hasGroups ? "group" : "tensor");
  if (name == "tensor") {
    scheme.rows = scheme.columns = 0;
  } else if (name == "channel") {
    scheme.rows = 1, scheme.columns = 0;
  } else if (name == "group" || name == "tensor_group") {
    scheme.rows = 1;
    scheme.columns = readGroupSize(weights);
  } else if (name == "block") {
    const json::Array *block = weights.getArray("block_structure");
    std::optional<int64_t> rows, columns;
    if (block && block->size() == 2) {
      rows = (*block)[0].getAsInteger();
      columns = (*block)[1].getAsInteger();
    }
    if (!rows || !columns || *rows < 1 || *columns < 1 || *rows > maxGroup ||
        *columns > maxGroup) {
      weights.error("block_structure")
          << "expected " << weights.getPath("block_structure")
          << " to be two sizes, such as [128, 128]";
      return false;
    }
    scheme.rows = *rows, scheme.columns = *columns;
    return true;
  } else {
    weights.error("strategy")
        << "unsupported " << weights.getPath("strategy") << " " << quoted(name)
        << "; expected \"tensor\", \"channel\", \"group\" or \"block\"";
    return false;
  }
  if (name != "group")
    weights.ignore({"group_size"});
  weights.ignore({"block_structure"});
  return true;
}

namespace {
/// The way in which a `format` of compressed-tensors stores values.
struct FormatRow {
  llvm::StringLiteral name;
  QuantizedScheme::Format format;
  bool integers, floats;
  int64_t bits, otherBits;
  QuantizedScheme::ScaleType scaleType;
  llvm::StringLiteral expected;
};
} // namespace

static const FormatRow *findFormat(StringRef name) {
  using Format = QuantizedScheme::Format;
  using Scales = QuantizedScheme::ScaleType;
  static constexpr FormatRow rows[] = {
      {"pack-quantized", Format::Packed, true, false, 4, 8, Scales::Float,
       "4 or 8 of type \"int\""},
      {"int-quantized", Format::Plain, true, true, 8, 8, Scales::Float,
       "8 of \"int\" or \"float\""},
      {"float-quantized", Format::Plain, true, true, 8, 8, Scales::Float,
       "8 of \"int\" or \"float\""},
      {"naive-quantized", Format::Plain, true, true, 8, 8, Scales::Float,
       "8 of \"int\" or \"float\""},
      {"nvfp4-pack-quantized", Format::Packed, false, true, 4, 4, Scales::E4M3,
       "4 of type \"float\""},
      {"mxfp4-pack-quantized", Format::Packed, false, true, 4, 4, Scales::E8M0,
       "4 of type \"float\""},
      {"mxfp8-quantized", Format::Plain, false, true, 8, 8, Scales::E8M0,
       "8 of type \"float\""},
  };
  const FormatRow *row = llvm::find_if(
      rows, [&](const FormatRow &one) { return one.name == name; });
  return row == std::end(rows) ? nullptr : row;
}

/// The types of scales and zero points must be those of the format.
static void readTypes(ObjectReader &weights, const FormatRow &row,
                      const QuantizedScheme &scheme) {
  using Scales = QuantizedScheme::ScaleType;
  std::string scales = weights.getString("scale_dtype").value_or("");
  bool fits = row.scaleType == Scales::E4M3   ? scales == "torch.float8_e4m3fn"
              : row.scaleType == Scales::E8M0 ? isExponents(scales)
                                              : isFloatType(scales);
  if (!scales.empty() && !fits)
    weights.error("scale_dtype")
        << "unsupported " << weights.getPath("scale_dtype") << " "
        << quoted(scales) << " in format " << quoted(row.name)
        << "; expected null or "
        << (row.scaleType == Scales::E4M3   ? "\"torch.float8_e4m3fn\""
            : row.scaleType == Scales::E8M0 ? "\"torch.uint8\""
                                            : "\"torch.bfloat16\"");
  // Without zero points nothing has that type.
  std::string zeros = weights.getString("zp_dtype").value_or("");
  if (!scheme.isSymmetric && !zeros.empty() && zeros != "torch.int8")
    weights.error("zp_dtype")
        << "unsupported " << weights.getPath("zp_dtype") << " " << quoted(zeros)
        << "; expected null or \"torch.int8\"";
}

void Reader::readWeights(ObjectReader &weights, StringRef format,
                         QuantizedScheme &scheme) {
  std::string type = weights.getString("type").value_or("int");
  scheme.isFloat = type == "float";
  scheme.bits = weights.getInt("num_bits", 8, 1, 16);
  scheme.isSymmetric = weights.getBool("symmetric", true);
  const FormatRow &row = *findFormat(format);
  bool fits = (type == "float" ? row.floats : row.integers) &&
              (scheme.bits == row.bits || scheme.bits == row.otherBits) &&
              (type == "int" || type == "float");
  if (!fits) {
    weights.error("num_bits")
        << "unsupported " << weights.getPath("num_bits") << " " << scheme.bits
        << " of type " << quoted(type) << " in format " << quoted(format)
        << "; expected " << row.expected;
    return;
  }
  scheme.format = row.format;
  scheme.scaleType = row.scaleType;
  if (row.scaleType == QuantizedScheme::ScaleType::E4M3) {
    scheme.outerScale = "weight_global_scale";
    scheme.dividesByOuter = true;
  }
  if (!readStrategy(weights, scheme))
    return;
  if (!scheme.isSymmetric && scheme.isFloat)
    weights.error("symmetric") << "unsupported " << weights.getPath("symmetric")
                               << " false of type \"float\"; expected true";
  const json::Value *order = weights.get("actorder");
  StringRef text = order ? order->getAsString().value_or("") : "";
  bool isSet = order && order->getAsBoolean() != false;
  // Only "group" leaves the columns of a group apart.
  scheme.isOrdered =
      text == "group" || (order && order->getAsBoolean() == true);
  if (isSet && !scheme.isOrdered && text != "weight" && text != "static" &&
      text != "dynamic")
    weights.error("actorder")
        << "unsupported " << weights.getPath("actorder") << " "
        << showJson(*order) << "; expected \"group\" or \"weight\"";
  scheme.isOrdered |= text == "dynamic";
  weights.require("dynamic", false,
                  "weights that are quantised at run time "
                  "are not supported");
  readTypes(weights, row, scheme);
  weights.ignore({"observer", "observer_kwargs"});
  weights.finish();
}

void Reader::readScheme(ObjectReader &group, StringRef format,
                        QuantizedScheme &scheme) {
  std::optional<std::string> own = group.getString("format");
  if (own)
    format = *own;
  if (!findFormat(format)) {
    group.error("format")
        << "unsupported compressed-tensors format " << quoted(format)
        << "; expected \"pack-quantized\", \"int-quantized\", "
           "\"float-quantized\", \"naive-quantized\", "
           "\"nvfp4-pack-quantized\", \"mxfp4-pack-quantized\" or "
           "\"mxfp8-quantized\": "
        << quantizationAdvice;
    return;
  }
  const json::Object *weights = group.getObject("weights");
  if (!weights) {
    group.error("weights") << "expected " << group.getPath("weights")
                           << " to be an object";
    return;
  }
  ObjectReader inner(reader.getFile(), *weights, group.getPath("weights"));
  readWeights(inner, format, scheme);
  group.join(inner);
  if (const json::Object *input = group.getObject("input_activations")) {
    ObjectReader values(reader.getFile(), *input,
                        group.getPath("input_activations"));
    scheme.activations = readActivations(values);
    group.join(values);
  }
  group.require("output_activations", nullptr,
                "results that are quantised are not supported");
}

void Reader::readCompressedTensors() {
  constexpr auto style = ModuleNames::Style::CompressedTensors;
  std::string format = reader.getString("format").value_or("");
  out.takesHead = true;
  readModuleNames(reader, "ignore", style, out.ignored);
  SmallVector<StringRef> names; // In an order of their own.
  const json::Object *groups = reader.getObject("config_groups");
  if (groups)
    for (const auto &entry : *groups)
      names.push_back(entry.first);
  llvm::sort(names);
  if (groups)
    for (StringRef name : names) {
      const json::Value &value = *groups->get(name);
      const json::Object *object = value.getAsObject();
      std::string path = reader.getPath("config_groups") + "." + name.str();
      if (!object) {
        reader.error("config_groups")
            << "unsupported " << path << " " << showJson(value)
            << ": expected an object with targets and weights";
        continue;
      }
      ObjectReader group(reader.getFile(), *object, path);
      QuantizationConfig::Group &made = out.groups.emplace_back();
      readModuleNames(group, "targets", style, made.targets);
      readScheme(group, format, made.scheme);
      if (!group.failed())
        group.finish();
      reader.join(group);
    }
  if (out.groups.empty() && !reader.failed())
    reader.error("config_groups")
        << "expected " << reader.getPath("config_groups")
        << " to be an object of groups";
  if (const json::Object *cache = reader.getObject("kv_cache_scheme"))
    out.cacheScheme = describeCache(*cache);
  for (StringRef key : {"sparsity_config", "transform_config"})
    if (const json::Object *object = reader.getObject(key)) {
      auto sparse = object->getString("format");
      if (!object->empty() && !(sparse && *sparse == "dense"))
        reader.error(key) << "unsupported " << reader.getPath(key) << " "
                          << showJson(json::Value(json::Object(*object)))
                          << ": " << quantizationAdvice;
    }
  reader.ignore({"quantization_status", "global_compression_ratio", "version",
                 "run_compressed"});
}

//===----------------------------------------------------------------------===//
// fp8, GPTQ, AWQ
//===----------------------------------------------------------------------===//

void Reader::readFp8() {
  QuantizedScheme &scheme = addAll();
  scheme.format = QuantizedScheme::Format::Block;
  scheme.isFloat = true;
  std::string format = reader.getString("fmt").value_or("e4m3");
  if (format != "e4m3" && format != "float8_e4m3fn")
    reader.error("fmt") << "unsupported " << reader.getPath("fmt") << " "
                        << quoted(format) << "; expected \"e4m3\"";
  scheme.rows = scheme.columns = 0;
  if (const json::Array *block = reader.getArray("weight_block_size")) {
    std::optional<int64_t> rows, columns;
    if (block->size() == 2) {
      rows = (*block)[0].getAsInteger();
      columns = (*block)[1].getAsInteger();
    }
    if (!rows || !columns || *rows < 1 || *columns < 1 || *rows > maxGroup ||
        *columns > maxGroup)
      reader.error("weight_block_size")
          << "expected " << reader.getPath("weight_block_size")
          << " to be two sizes, such as [128, 128], got "
          << showJson(json::Value(json::Array(*block)));
    else
      scheme.rows = *rows, scheme.columns = *columns;
  }
  std::string activations =
      reader.getString("activation_scheme").value_or("dynamic");
  if (activations == "dynamic" || activations == "static")
    scheme.activations = {"8-bit float, " + activations, /*refusal=*/"",
                          /*isFloat=*/true, scheme.columns,
                          activations == "static"};
  else
    reader.error("activation_scheme")
        << "unsupported " << reader.getPath("activation_scheme") << " "
        << quoted(activations) << "; expected \"dynamic\" or \"static\"";
  // Scales that are powers of two are stored as any others are.
  std::string scales = reader.getString("scale_fmt").value_or("ue8m0");
  if (scales != "ue8m0" && scales != "float")
    reader.error("scale_fmt")
        << "unsupported " << reader.getPath("scale_fmt") << " "
        << quoted(scales) << "; expected \"ue8m0\"";
  reader.require("is_checkpoint_fp8_serialized", true,
                 "weights that are quantised when they are loaded are not "
                 "supported");
  for (StringRef key : {"modules_to_not_convert", "ignored_layers"})
    readModuleNames(reader, key, ModuleNames::Style::Transformers, out.ignored);
  reader.ignore({"dequantize"});
}

void Reader::readFbgemm() {
  QuantizedScheme &scheme = addAll();
  scheme.format = QuantizedScheme::Format::Plain;
  scheme.isFloat = true;
  scheme.rows = 1, scheme.columns = 0;
  ActivationScheme activations;
  activations.isFloat = true;
  activations.bound = reader.getPositive("activation_scale_ub", 1200.0);
  activations.text = "8-bit float, dynamic, per token, of magnitudes up to " +
                     llvm::formatv("{0}", activations.bound).str();
  scheme.activations = std::move(activations);
  readModuleNames(reader, "modules_to_not_convert",
                  ModuleNames::Style::Transformers, out.ignored);
}

/// Keys of calibration and of other programs' kernels.
static constexpr llvm::StringLiteral producerKeys[] = {
    "damp_percent",
    "damp_auto_increment",
    "true_sequential",
    "static_groups",
    "model_name_or_path",
    "model_file_base_name",
    "model_seqlen",
    "dataset",
    "batch_size",
    "block_name_to_quantize",
    "cache_block_outputs",
    "exllama_config",
    "use_exllama",
    "use_cuda_fp16",
    "max_input_length",
    "module_name_preceding_first_block",
    "modules_in_block_to_quantize",
    "pad_token_id",
    "tokenizer",
    "disable_exllama",
    "backend",
    "meta",
    "is_marlin_format",
    "use_cuda_fp16",
    "do_fuse",
    "exllama_config",
    "fuse_max_seq_len",
    "modules_to_fuse",
    "mse"};

static int64_t readBits(ObjectReader &reader, ArrayRef<int64_t> choices) {
  int64_t bits = reader.getInt("bits", std::nullopt, 1, 16);
  if (!reader.failed() && !llvm::is_contained(choices, bits)) {
    auto diag = reader.error("bits");
    diag << "unsupported " << reader.getPath("bits") << " " << bits
         << "; expected ";
    llvm::interleave(choices, diag, " or ");
  }
  return bits;
}

void Reader::readGptq() {
  QuantizedScheme &scheme = addAll();
  scheme.format = QuantizedScheme::Format::GPTQ;
  scheme.bits = readBits(reader, {4, 8});
  scheme.columns = readGroupSize(reader);
  scheme.isSymmetric = false; // The zero points are there all the same.
  (void)reader.getBool("sym", true);
  scheme.isOrdered = reader.getBool("desc_act", false);
  std::string format = reader.getString("checkpoint_format").value_or("gptq");
  if (format == "gptq")
    scheme.zeroStep = 1;
  else if (format != "gptq_v2")
    reader.error("checkpoint_format")
        << "unsupported " << reader.getPath("checkpoint_format") << " "
        << quoted(format) << "; expected \"gptq\" or \"gptq_v2\"";
  out.takesHead = reader.getBool("lm_head", false);
  reader.require("dynamic", json::Object(),
                 "modules with settings of their own are not supported");
  reader.require("pack_dtype", "int32", "other words are not supported");
  for (StringRef key : {"quant_method", "format"})
    if (reader.has(key))
      (void)reader.getString(key);
  reader.ignore(producerKeys);
}

void Reader::readAwq() {
  QuantizedScheme &scheme = addAll();
  scheme.format = QuantizedScheme::Format::AWQ;
  scheme.bits = readBits(reader, {4});
  scheme.columns = readGroupSize(reader);
  scheme.isSymmetric = !reader.getBool("zero_point", true);
  if (scheme.isSymmetric)
    reader.error("zero_point") << "unsupported " << reader.getPath("zero_point")
                               << " false; expected true";
  std::string version = reader.getString("version").value_or("gemm");
  if (StringRef(version).lower() != "gemm")
    reader.error("version") << "unsupported " << reader.getPath("version")
                            << " " << quoted(version) << "; expected \"gemm\"";
  readModuleNames(reader, "modules_to_not_convert",
                  ModuleNames::Style::Transformers, out.ignored);
  reader.ignore(producerKeys);
}

/// gpt-oss: the experts alone, whose groups of 32 inputs share a power of two.
void Reader::readMxfp4() {
  QuantizedScheme &scheme = addAll();
  scheme.format = QuantizedScheme::Format::Stack;
  scheme.isFloat = true;
  scheme.bits = 4;
  scheme.scaleType = QuantizedScheme::ScaleType::E8M0;
  scheme.rows = 1, scheme.columns = 32;
  readModuleNames(reader, "modules_to_not_convert",
                  ModuleNames::Style::Transformers, out.ignored);
  reader.ignore({"dequantize"});
}

void readQuantization(ObjectReader &reader, ModelConfig &config) {
  const json::Value *value = reader.get("quantization_config");
  if (!value)
    return;
  const json::Object *object = reader.getObject("quantization_config");
  if (!object)
    return;
  ObjectReader inner(reader.getFile(), *object,
                     reader.getPath("quantization_config"));
  QuantizationConfig made;
  std::optional<std::string> method = inner.getString("quant_method");
  made.method = method.value_or("");
  Reader parts(inner, made);
  if (made.method == "compressed-tensors")
    parts.readCompressedTensors();
  else if (made.method == "fp8")
    parts.readFp8();
  else if (made.method == "fbgemm_fp8")
    parts.readFbgemm();
  else if (made.method == "modelopt")
    readModelOpt(inner, made);
  else if (made.method == "gptq")
    parts.readGptq();
  else if (made.method == "awq")
    parts.readAwq();
  else if (made.method == "gguf")
    made.takesHead = true;
  else if (made.method == "mxfp4" && config.layout.expertsAlternate)
    parts.readMxfp4();
  else if (made.method == "mxfp4")
    inner.error("quant_method")
        << "unsupported " << reader.getPath("quantization_config")
        << ": quant_method \"mxfp4\" is that of gpt-oss's experts, and not of "
           "model_type "
        << quoted(config.modelType) << "; " << quantizationAdvice;
  else
    inner.error(method ? "quant_method" : "")
        << "unsupported " << reader.getPath("quantization_config") << ": "
        << (method ? "quant_method " + quoted(*method)
                   : std::string("no quant_method"))
        << "; " << supported << ": " << quantizationAdvice;
  if (!inner.failed())
    inner.finish();
  reader.join(inner);
  config.quantization = std::move(made);
}

} // namespace tp
