//===- BuildQuantized.cpp - Weights that a checkpoint has quantised -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weight of a linear layer as nn.dequantize of the tensors that its scheme
// stores it in. The program sees logical [outputs, inputs] tensors whatever the
// file's order is; #tp.storage says the rest.
//
// Two choices make every cut possible that the numbers allow: the scales of
// blocks of rows are read once for each row, so that rows may be cut anywhere
// (and a part of a fused projection need not begin with a block); and where
// heads will be cut, or the last group is short, a group of inputs is read as
// several that end with heads, or are whole.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace tp {

using Format = QuantizedScheme::Format;

static constexpr llvm::StringLiteral weightSuffix = ".weight";

/// The name of a tensor of a weight named `name`: `suffix` takes the place of
/// "weight", or stands behind the name of a stack.
static std::string getTensorName(const QuantizedScheme &scheme, StringRef name,
                                 StringRef suffix) {
  if (scheme.format != Format::Stack)
    name = name.drop_back(weightSuffix.size() - 1);
  return (name + suffix).str();
}

/// The end of the name of the tensor that holds the values.
static StringRef getValuesName(const QuantizedScheme &scheme) {
  switch (scheme.format) {
  case Format::Stack:
    return "_blocks";
  case Format::Packed:
    return "weight_packed";
  case Format::Plain:
  case Format::Block:
    return "weight";
  case Format::GPTQ:
  case Format::AWQ:
    return "qweight";
  }
  llvm_unreachable("unknown format");
}

static bool isFloat(const CheckpointTensor &tensor) {
  return tensor.dtype == "F32" || tensor.dtype == "BF16" ||
         tensor.dtype == "F16";
}

const QuantizedScheme *findScheme(const ModelConfig &config,
                                  const Checkpoint &checkpoint,
                                  ArrayRef<std::string> names) {
  if (!config.quantization)
    return nullptr;
  const QuantizedScheme *found = nullptr;
  bool isTied = config.tieEmbeddings;
  for (StringRef name : names) {
    StringRef module = name;
    bool isLinear = module.consume_back(weightSuffix);
    if (!isLinear)
      module = module.rsplit('.').first;
    bool isHead = llvm::is_contained(config.layout.heads, module);
    if (isHead && (isTied || !config.quantization->takesHead))
      continue;
    const QuantizedScheme *scheme = config.quantization->find(module);
    if (!scheme || isLinear == (scheme->format == Format::Stack))
      continue;
    // The files have the last word on what is quantised at all.
    const CheckpointTensor *plain = checkpoint.find(name);
    if (plain && isFloat(*plain))
      return nullptr;
    if (!found)
      found = scheme;
  }
  return found;
}

namespace {
/// Builds one weight.
class WeightBuilder {
public:
  WeightBuilder(ModelBuilder &m, const QuantizedScheme &scheme,
                const Spelling &spelling, ArrayRef<int64_t> shape,
                int64_t grain);
  Value build();

private:
  bool isTransposed() const {
    return scheme.format == Format::GPTQ || scheme.format == Format::AWQ;
  }
  StorageAttr storage(StringRef type, int64_t bits = 0, int64_t dim = 0,
                      int64_t offset = 0, ArrayRef<int64_t> repeat = {}) {
    // The order of the columns in a word of AWQ's.
    static constexpr int64_t interleaved[] = {0, 2, 4, 6, 1, 3, 5, 7};
    return StorageAttr::get(b.getContext(), b.getStringAttr(type), bits, dim,
                            scheme.format == Format::AWQ && bits
                                ? ArrayRef(interleaved)
                                : ArrayRef<int64_t>(),
                            offset, repeat);
  }
  /// A parameter [..., rows, columns] beside the weight.
  Value tensor(StringRef suffix, int64_t columns, Type element,
               StorageAttr storage, bool hasRows = true);
  /// The element type of a tensor in the files, or `otherwise`.
  StringRef typeOf(StringRef suffix, StringRef otherwise) const;
  SmallVector<std::string> namesWith(StringRef suffix) const;
  Value buildValues();
  Value buildScales(int64_t groups);
  Value buildZeros(int64_t groups);
  Value buildGroups();

  ModelBuilder &m;
  OpBuilder &b;
  const QuantizedScheme &scheme;
  const Spelling &spelling;
  SmallVector<int64_t> lead; ///< the dimensions before
  int64_t n, k, total, offset, step = 1;
  /// Inputs that share a scale, of the program and of an element of the file.
  int64_t group = 0, repeat = 1;
};
} // namespace

WeightBuilder::WeightBuilder(ModelBuilder &m, const QuantizedScheme &scheme,
                             const Spelling &spelling, ArrayRef<int64_t> shape,
                             int64_t grain)
    : m(m), b(m.builder), scheme(scheme), spelling(spelling),
      lead(shape.drop_back(2)), n(shape[shape.size() - 2]), k(shape.back()),
      total(n), offset(0) {
  if (spelling.box) {
    // A stack has the box of the file that is not quantised, [experts, inputs,
    // rows].
    size_t dim = lead.size() + (scheme.format == Format::Stack);
    total = spelling.box->shape[dim];
    offset = spelling.box->offsets[dim];
    if (!spelling.box->steps.empty())
      step = spelling.box->steps[dim];
  }
  if (scheme.columns == 0 || scheme.columns >= k)
    return;
  group = scheme.columns;
  if (scheme.isOrdered)
    return;
  int64_t unit = std::gcd(group, k);
  if (grain)
    unit = std::gcd(unit, grain);
  repeat = group / unit;
  group = unit;
}

SmallVector<std::string> WeightBuilder::namesWith(StringRef suffix) const {
  SmallVector<std::string> names;
  for (StringRef name : spelling.names)
    names.push_back(getTensorName(scheme, name, suffix));
  return names;
}

StringRef WeightBuilder::typeOf(StringRef suffix, StringRef otherwise) const {
  for (const std::string &name : namesWith(suffix))
    if (const CheckpointTensor *tensor = m.find(name, lead))
      return tensor->dtype;
  return otherwise;
}

Value WeightBuilder::tensor(StringRef suffix, int64_t columns, Type element,
                            StorageAttr storage, bool hasRows) {
  SmallVector<int64_t> shape(lead);
  ParameterBox box{lead, SmallVector<int64_t>(lead.size(), 0), {}};
  for (size_t d = 0; d < lead.size(); ++d)
    box.permutation.push_back(d);
  int64_t first = lead.size();
  shape.append({hasRows ? n : 1, columns});
  int64_t rows = hasRows ? total : 1, from = hasRows ? offset : 0;
  if (hasRows && step > 1) {
    box.steps.assign(shape.size(), 1);
    box.steps[first] = step;
  }
  if (isTransposed()) {
    box.shape.append({columns, rows});
    box.offsets.append({0, from});
    box.permutation.append({first + 1, first});
  } else {
    box.shape.append({rows, columns});
    box.offsets.append({from, 0});
    box.permutation.append({first, first + 1});
  }
  bool isWhole = !isTransposed() && rows == shape[first];
  return m.parameter(namesWith(suffix), shape, isWhole ? nullptr : &box,
                     element, storage);
}

Value WeightBuilder::buildValues() {
  Type element = b.getIntegerType(scheme.bits);
  if (scheme.isFloat)
    element = scheme.bits == 4 ? Type(Float4E2M1FNType::get(b.getContext()))
                               : Type(Float8E4M3FNType::get(b.getContext()));
  int64_t middle = int64_t(1) << (scheme.bits - 1), dim = lead.size();
  StorageAttr how;
  switch (scheme.format) {
  case Format::Stack:
    how = storage("U8", scheme.bits, dim + 1);
    break;
  case Format::Packed:
    how = scheme.isFloat ? storage("U8", scheme.bits, dim + 1)
                         : storage("I32", scheme.bits, dim + 1, middle);
    break;
  case Format::GPTQ:
    how = storage("I32", scheme.bits, dim, middle);
    break;
  case Format::AWQ:
    how = storage("I32", scheme.bits, dim + 1, middle);
    break;
  case Format::Plain:
  case Format::Block:
    how = storage(scheme.isFloat ? "F8_E4M3" : "I8");
    break;
  }
  return tensor(getValuesName(scheme), k, element, how);
}

/// The element type of scales that the files have, or would have.
static Type getScaleType(OpBuilder &b, StringRef fileType) {
  if (fileType == "BF16")
    return b.getBF16Type();
  if (fileType == "F16")
    return b.getF16Type();
  if (fileType == "F8_E8M0")
    return Float8E8M0FNUType::get(b.getContext());
  return b.getF32Type();
}

static StringRef getFileType(FloatKind kind) {
  return kind == FloatKind::F32    ? "F32"
         : kind == FloatKind::BF16 ? "BF16"
                                   : "F16";
}

Value WeightBuilder::buildScales(int64_t groups) {
  StringRef name = "weight_scale", type = getFileType(m.readType);
  // Exponents are bytes in the files.
  if (scheme.scaleType == QuantizedScheme::ScaleType::E8M0) {
    SmallVector<int64_t> counts;
    if (repeat > 1) {
      counts.assign(lead.size() + 1, 1);
      counts.push_back(repeat);
    }
    return tensor(scheme.format == Format::Stack ? "_scales" : name, groups,
                  Float8E8M0FNUType::get(b.getContext()),
                  storage("U8", 0, 0, 0, counts));
  }
  if (isTransposed())
    name = "scales", type = "F16";
  if (scheme.format == Format::Block) {
    type = "F32";
    bool isOld = typeOf("weight_scale_inv", "").empty() &&
                 !typeOf("weight_scale", "").empty();
    if (!isOld && (scheme.rows || !typeOf("weight_scale_inv", "").empty()))
      name = "weight_scale_inv";
  }
  type = typeOf(name, type);
  bool isBlock = scheme.rows > 1;
  SmallVector<int64_t> counts;
  if (isBlock || repeat > 1) {
    counts.assign(lead.size(), 1);
    counts.append({isBlock ? scheme.rows : 1, repeat});
    if (isTransposed())
      std::swap(counts[lead.size()], counts[lead.size() + 1]);
  }
  return tensor(name, groups, getScaleType(b, type),
                storage(type, 0, 0, 0, counts), /*hasRows=*/scheme.rows != 0);
}

Value WeightBuilder::buildZeros(int64_t groups) {
  if (scheme.isSymmetric)
    return {};
  int64_t middle = int64_t(1) << (scheme.bits - 1), dim = lead.size();
  SmallVector<int64_t> counts;
  if (repeat > 1) {
    counts.assign(lead.size() + 2, 1);
    counts[lead.size() + (isTransposed() ? 0 : 1)] = repeat;
  }
  bool hasRows = scheme.rows != 0;
  if (isTransposed())
    return tensor(
        "qzeros", groups, b.getI8Type(),
        storage("I32", scheme.bits, dim + 1, middle - scheme.zeroStep, counts));
  // Groups with a minimum have zero points of any value.
  if (typeOf("weight_zero_point", "") == "F32")
    return tensor("weight_zero_point", groups, b.getF32Type(),
                  storage("F32", 0, 0, 0, counts), hasRows);
  if (scheme.format == Format::Packed)
    return tensor("weight_zero_point", groups, b.getI8Type(),
                  storage("I32", scheme.bits, dim, middle, counts), hasRows);
  return tensor("weight_zero_point", groups, b.getI8Type(),
                storage("I8", 0, 0, 0, counts), hasRows);
}

Value WeightBuilder::buildGroups() {
  if (!scheme.isOrdered || group == 0)
    return {};
  StringRef suffix = isTransposed() ? "g_idx" : "weight_g_idx";
  return m.parameter(namesWith(suffix), {k}, nullptr, b.getI32Type(),
                     storage("I32"));
}

Value WeightBuilder::build() {
  int64_t groups = group ? int64_t(llvm::divideCeil(k, group)) : 1;
  Value values = buildValues(), scales = buildScales(groups),
        zeros = buildZeros(groups), order = buildGroups();
  if (scheme.packedGroups)
    for (Value numbers : {scales, zeros})
      if (auto parameter =
              numbers ? numbers.getDefiningOp<ParameterOp>() : ParameterOp())
        parameter->setAttr(packedGroupsAttrName,
                           b.getI64IntegerAttr(scheme.packedGroups));
  SmallVector<int64_t> sizes(lead.size(), 1);
  sizes.push_back(scheme.rows ? 1 : 0);
  sizes.push_back(order ? 0 : group);
  auto type =
      RankedTensorType::get(ModelBuilder::shapeOf(values), b.getF32Type());
  return nn::DequantizeOp::create(b, values.getLoc(), type, values, scales,
                                  zeros, order, sizes);
}

std::pair<const QuantizedScheme *, const Spelling *>
ModelBuilder::findQuantized(ArrayRef<Spelling> spellings,
                            ArrayRef<int64_t> shape) const {
  const Spelling *read = nullptr;
  const QuantizedScheme *scheme = nullptr;
  for (const Spelling &one : spellings) {
    SmallVector<std::string> names;
    for (const std::string &name : one.names)
      names.push_back(
          getTensorNames(instantiate(name, firstIteration), shape).front());
    const QuantizedScheme *found = findScheme(config, checkpoint, names);
    if (!found)
      continue;
    bool isHere = llvm::any_of(names, [&](StringRef name) {
      return has(getTensorName(*found, name, getValuesName(*found)));
    });
    if (!scheme || isHere)
      read = &one, scheme = found;
    if (isHere)
      break;
  }
  // A spelling that the files have in 16 bits is read.
  bool isPlain = llvm::any_of(spellings, [&](const Spelling &one) {
    return llvm::any_of(one.names, [&](const std::string &name) {
      const CheckpointTensor *tensor = find(name, shape.drop_back(2));
      return tensor && isFloat(*tensor);
    });
  });
  return isPlain ? std::pair<const QuantizedScheme *, const Spelling *>()
                 : std::pair(scheme, read);
}

Value ModelBuilder::weight(ArrayRef<Spelling> spellings,
                           ArrayRef<int64_t> shape, int64_t grain) {
  auto [scheme, read] = findQuantized(spellings, shape);
  if (!scheme)
    return parameter(spellings, shape);
  return WeightBuilder(*this, *scheme, *read, shape, grain).build();
}

Value ModelBuilder::roundInput(StringRef path, Value x,
                               ArrayRef<Spelling> spellings,
                               ArrayRef<int64_t> shape) {
  auto [scheme, read] = findQuantized(spellings, shape);
  if (!scheme || !scheme->activations || floatActivations ||
      scheme->activations->staysFloat)
    return x;
  const ActivationScheme &how = *scheme->activations;
  // Each expert has a scale of its own in the files.
  if (how.isStatic && shape.size() > 2)
    return x;
  Location loc = at(path);
  SmallVector<int64_t> sizes(shapeOf(x)), scaleShape = sizes;
  SmallVector<int64_t> group(sizes.size(), 1);
  Type element = how.isFloat ? Type(Float8E4M3FNType::get(builder.getContext()))
                             : Type(builder.getI8Type());
  int64_t k = sizes.back();
  Value scales;
  if (how.isStatic) {
    group.assign(sizes.size(), 0);
    scaleShape.assign(sizes.size(), 1);
    SmallVector<std::string> names;
    for (StringRef name : read->names)
      for (StringRef suffix : {"input_scale", "activation_scale"})
        if (scheme->format == Format::Block || suffix == "input_scale")
          names.push_back(
              (name.drop_back(weightSuffix.size()) + "." + suffix).str());
    StringRef type = "F32";
    for (const std::string &name : names)
      if (const CheckpointTensor *tensor = find(name, {}))
        type = tensor->dtype;
    auto storage =
        StorageAttr::get(builder.getContext(), builder.getStringAttr(type), 0,
                         0, ArrayRef<int64_t>(), 0, ArrayRef<int64_t>());
    scales =
        parameter(names, scaleShape, nullptr, builder.getF32Type(), storage);
  } else {
    bool isWhole = how.group == 0 || how.group >= k;
    group.back() = isWhole ? 0 : how.group;
    scaleShape.back() = isWhole ? 1 : int64_t(llvm::divideCeil(k, how.group));
    scales = nn::ActivationScalesOp::create(
        builder, loc, RankedTensorType::get(scaleShape, builder.getF32Type()),
        x, element, group.back(),
        how.bound ? builder.getF64FloatAttr(how.bound) : FloatAttr());
  }
  Value values = nn::QuantizeOp::create(
      builder, loc, RankedTensorType::get(sizes, element), x, scales,
      builder.getDenseI64ArrayAttr(group));
  return nn::DequantizeOp::create(
      builder, loc, RankedTensorType::get(sizes, builder.getF32Type()), values,
      scales, Value(), Value(), builder.getDenseI64ArrayAttr(group));
}

const CheckpointTensor *ModelBuilder::find(StringRef name,
                                           ArrayRef<int64_t> lead) const {
  return checkpoint.find(
      getTensorNames(instantiate(name, firstIteration), lead).front());
}

} // namespace tp
