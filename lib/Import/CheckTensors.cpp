//===- CheckTensors.cpp - A program's parameters and a checkpoint ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CheckTensors.h. Names, shapes and types come from the headers; values are
// read only of tensors that are there twice.
//
//===----------------------------------------------------------------------===//

#include "CheckTensors.h"

#include "JsonFile.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Import/CompareTensors.h"
#include "tp/Import/Import.h"
#include "tprt/names.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tp {

static std::string showShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  return text + "]";
}

/// The shape with its first `count` dimensions as one.
static SmallVector<int64_t> joinFirst(ArrayRef<int64_t> shape, int64_t count) {
  SmallVector<int64_t> joined(shape.drop_front(count - 1));
  for (int64_t size : shape.take_front(count - 1))
    joined.front() *= size;
  return joined;
}

/// Describes what is wrong with a tensor that stands for a parameter; empty if
/// nothing is.
static std::string checkTensor(const CheckpointTensor &tensor,
                               ArrayRef<int64_t> shape,
                               StorageAttr storage = {}) {
  bool fits = storage ? storage.accepts(tensor.shape, shape)
                      : ArrayRef(tensor.shape) == shape;
  if (!fits)
    return "expected shape " + showShape(shape) + " from config.json, got " +
           showShape(tensor.shape);
  StringRef type = storage ? storage.getFileType().getValue() : "F32";
  bool isFloat = type == "F32" || type == "BF16" || type == "F16";
  if (!isFloat)
    return tensor.dtype == type
               ? ""
               : "expected dtype " + type.str() +
                     " from quantization_config, got " + tensor.dtype;
  if (tensor.dtype != "F32" && tensor.dtype != "BF16" && tensor.dtype != "F16")
    return "expected dtype F32, BF16 or F16, got " + tensor.dtype;
  return "";
}

/// The name as --ignore takes it, for all layers and experts.
static std::string toPattern(StringRef name) {
  std::string text = tprt::replaceLayerNumbers(
      name, [](const tprt::LayerNumber &) { return "*"; });
  for (size_t at; (at = text.find("{e}")) != std::string::npos;)
    text.replace(at, 3, "*");
  return text;
}

namespace {
/// Describes what is wrong with a parameter: the first place, and how many
/// more.
struct Fault {
  std::string text, advice;
  int64_t count = 0;

  void add(const Twine &what, const Twine &how = "") {
    if (count++)
      return;
    text = what.str();
    advice = how.str();
  }
};

/// Checks all parameters of a program against a checkpoint.
class TensorChecker {
public:
  TensorChecker(Location loc, const Checkpoint &checkpoint,
                const TensorRequest &request)
      : loc(loc), checkpoint(checkpoint), request(request),
        comparer(checkpoint.getDirectory()) {}

  void check(const ParameterUse &use, ArrayRef<int64_t> iterations);
  void check(const TensorPart &part);
  /// Lists tensors that are unused, and those that are missing.
  void checkRest();
  bool isValid() const { return valid; }

private:
  std::string placeOf(const CheckpointTensor &tensor, StringRef name) const {
    return (checkpoint.getDirectory() + "/" + tensor.file + ": tensor " +
            quoted(name))
        .str();
  }
  void emit(const Fault &fault);
  void emitList(ArrayRef<std::string> names, StringRef verb, StringRef why,
                StringRef advice = "");
  /// The two are one parameter.
  void compare(const TensorBox &a, StringRef aName, const TensorBox &b,
               StringRef bName, ArrayRef<int64_t> sizes, const Twine &advice,
               Fault &fault);
  void checkOne(const ParameterUse &use, ArrayRef<std::string> names,
                const Twine &advice, Fault &fault);
  void checkPart(const TensorPart &part, StringRef partName,
                 StringRef wholeName, int64_t position, Fault &fault);

  Location loc;
  const Checkpoint &checkpoint;
  const TensorRequest &request;
  TensorComparer comparer;
  llvm::StringSet<> used;
  SmallVector<std::string> missing;
  bool valid = true;
};
} // namespace

/// One error for each parameter, however many layers have it wrong.
void TensorChecker::emit(const Fault &fault) {
  if (fault.count == 0)
    return;
  valid = false;
  auto diag = emitError(loc) << fault.text;
  if (fault.count > 1)
    diag << ", and so in " << fault.count - 1 << " more layers";
  if (!fault.advice.empty())
    diag << "; " << fault.advice;
}

void TensorChecker::compare(const TensorBox &a, StringRef aName,
                            const TensorBox &b, StringRef bName,
                            ArrayRef<int64_t> sizes, const Twine &advice,
                            Fault &fault) {
  llvm::Expected<bool> equal = comparer.areEqual(a, b, sizes, request.readType);
  if (!equal)
    fault.add(checkpoint.getDirectory() + ": cannot compare " + quoted(aName) +
              " with " + quoted(bName) + ": " +
              llvm::toString(equal.takeError()));
  else if (!*equal)
    fault.add(checkpoint.getDirectory() + ": tensors " + quoted(aName) +
                  " and " + quoted(bName) +
                  " stand for the same parameter but hold different values",
              advice);
}

/// A tensor by any of its names.
void TensorChecker::checkOne(const ParameterUse &use,
                             ArrayRef<std::string> names, const Twine &advice,
                             Fault &fault) {
  SmallVector<int64_t> whole(use.storage ? use.storage.getFileShape(use.shape)
                                         : use.shape);
  ArrayRef<int64_t> shape = getTensorShape(use.names[0], whole);
  SmallVector<int64_t> zeros(shape.size(), 0);
  StringRef firstName;
  const CheckpointTensor *first = nullptr;
  for (const std::string &name : names) {
    used.insert(name);
    const CheckpointTensor *tensor = checkpoint.find(name);
    if (!tensor)
      continue;
    std::string why = checkTensor(*tensor, shape, use.storage);
    if (!why.empty()) {
      fault.add(placeOf(*tensor, name) + ": " + why, advice);
    } else if (first && use.storage) {
      fault.add(checkpoint.getDirectory() + ": tensors " + quoted(firstName) +
                    " and " + quoted(name) +
                    " stand for the same quantised parameter",
                advice);
    } else if (first) {
      compare({first, first->shape, zeros}, firstName,
              {tensor, tensor->shape, zeros}, name, shape, advice, fault);
    }
    if (!first) {
      first = tensor;
      firstName = name;
    }
  }
  if (!first)
    missing.push_back(names.front());
}

/// `--ignore A` or `--ignore B`: which of two is not read.
static std::string adviseIgnoring(StringRef a, StringRef b) {
  return "give --ignore " + toPattern(a) + " or --ignore " + toPattern(b) +
         ", whichever is not to be read";
}

void TensorChecker::check(const ParameterUse &use,
                          ArrayRef<int64_t> iterations) {
  Fault fault;
  for (int64_t i : iterations) {
    SmallVector<SmallVector<std::string>> spellings;
    for (const std::string &pattern : use.names)
      spellings.push_back(getTensorNames(instantiate(pattern, i), use.shape));
    for (size_t e = 0; e < spellings[0].size(); ++e) {
      SmallVector<std::string> names;
      SmallVector<StringRef> found;
      for (auto [pattern, instances] : llvm::zip(use.names, spellings)) {
        names.push_back(instances[e]);
        if (checkpoint.find(instances[e]))
          found.push_back(pattern);
      }
      checkOne(use, names,
               found.size() > 1 ? adviseIgnoring(found[0], found[1]) : "",
               fault);
    }
  }
  emit(fault);
}

/// The tensor is position `position` of a stack's part, or all of the part.
void TensorChecker::checkPart(const TensorPart &part, StringRef partName,
                              StringRef wholeName, int64_t position,
                              Fault &fault) {
  const CheckpointTensor *own = checkpoint.find(partName),
                         *whole = checkpoint.find(wholeName);
  if (!own || !whole)
    return;
  used.insert(partName);
  used.insert(wholeName);
  SmallVector<int64_t> sizes(part.sizes), offsets(part.offsets),
      zeros(part.sizes.size(), 0);
  auto checkShape = [&](const CheckpointTensor &tensor, StringRef name,
                        StringRef pattern, ArrayRef<int64_t> shape) {
    std::string why = checkTensor(tensor, shape);
    if (!why.empty())
      fault.add(placeOf(tensor, name) + ": " + why,
                "--ignore " + toPattern(pattern) +
                    " reads the checkpoint without it");
    return why.empty();
  };
  ArrayRef<int64_t> ownShape = getTensorShape(part.part, part.sizes);
  if (!checkShape(*whole, wholeName, part.whole,
                  joinFirst(part.shape, part.joined)) ||
      !checkShape(*own, partName, part.part, joinFirst(ownShape, part.joined)))
    return;
  if (isStack(part.part)) {
    sizes[0] = 1;
    offsets[0] += position;
  }
  compare({whole, part.shape, offsets}, wholeName, {own, sizes, zeros},
          partName, sizes, adviseIgnoring(part.whole, part.part), fault);
}

void TensorChecker::check(const TensorPart &part) {
  Fault fault;
  for (int64_t i = part.first; i < part.first + part.count; ++i)
    for (auto [e, name] :
         llvm::enumerate(getTensorNames(instantiate(part.part, i), part.sizes)))
      checkPart(part, name, instantiate(part.whole, i), e, fault);
  emit(fault);
}

void TensorChecker::emitList(ArrayRef<std::string> names, StringRef verb,
                             StringRef why, StringRef advice) {
  if (names.empty())
    return;
  valid = false;
  auto diag = emitError(loc);
  diag << checkpoint.getDirectory() << ": the checkpoint " << verb << " "
       << names.size() << (names.size() == 1 ? " tensor" : " tensors")
       << " that " << why << ": ";
  listSome(diag, llvm::map_to_vector(names, [](const std::string &name) {
             return quoted(name);
           }));
  if (!advice.empty())
    diag << "; " << advice;
}

void TensorChecker::checkRest() {
  std::string advice;
  if (llvm::is_contained(missing, request.head))
    advice = "\"tie_word_embeddings\": true in config.json would make the "
             "table " +
             quoted(request.table) + " the head";
  bool isExcluded = llvm::any_of(missing, [&](const std::string &name) {
    return request.excluded.match(name);
  });
  if (isExcluded)
    advice = "--ignore leaves some of them out";
  emitList(missing, "lacks", "config.json asks for", advice);
  SmallVector<Glob> globs;
  for (const std::string &pattern : request.ignored)
    globs.push_back(llvm::cantFail(Glob::create(pattern)));
  SmallVector<std::string> unused;
  for (const auto &entry : checkpoint.getTensors())
    if (!used.contains(entry.first()) &&
        llvm::none_of(
            globs, [&](const Glob &glob) { return glob.match(entry.first()); }))
      unused.push_back(entry.first().str());
  llvm::sort(unused);
  emitList(unused, "has", "the model of config.json does not use",
           "--ignore NAME,... reads it without them");
}

LogicalResult checkTensors(MLIRContext *context, const Checkpoint &checkpoint,
                           const TensorRequest &request) {
  TensorChecker checker(UnknownLoc::get(context), checkpoint, request);
  // The three parts of a fused tensor are one tensor of the file, and several
  // runs of layers may have it, of one shape or of several.
  using Key = std::pair<StringRef, ArrayRef<int64_t>>;
  llvm::MapVector<Key, std::pair<const ParameterUse *, SetVector<int64_t>>>
      tensors;
  for (const ParameterUse &use : request.parameters) {
    auto &[first, iterations] = tensors[{use.names.front(), use.shape}];
    if (!first)
      first = &use;
    iterations.insert_range(llvm::seq(use.first, use.first + use.count));
  }
  for (auto &[key, tensor] : tensors)
    checker.check(*tensor.first, tensor.second.getArrayRef());
  for (const TensorPart &part : request.parts)
    checker.check(part);
  checker.checkRest();
  return success(checker.isValid());
}

//===----------------------------------------------------------------------===//
// Tensors that are left out
//===----------------------------------------------------------------------===//

void addNames(const ParameterUse &use, llvm::StringSet<> &names) {
  for (const std::string &pattern : use.names)
    for (int64_t i = use.first; i < use.first + use.count; ++i)
      for (const std::string &name :
           getTensorNames(instantiate(pattern, i), use.shape))
        names.insert(name);
}

LogicalResult checkMatches(Location loc, const TensorPatterns &excluded,
                           const llvm::StringSet<> &names, bool hasWeights) {
  for (const std::string &pattern : excluded.getUnmatched(names))
    return emitError(loc)
           << "--ignore: expected "
           << (hasWeights ? "a tensor of the checkpoint"
                          : "a name that a parameter of the program may have, "
                            "as there are no weights to look in")
           << ", got " << quoted(pattern) << ", which matches none";
  return success();
}

void noteExcluded(ModuleOp module, const TensorPatterns &excluded) {
  if (excluded.getGlobs().empty())
    return;
  Builder builder(module.getContext());
  SmallVector<Attribute> all;
  if (auto old = module->getAttrOfType<ArrayAttr>(excludedTensorsAttrName))
    llvm::append_range(all, old);
  for (const Glob &glob : excluded.getGlobs())
    all.push_back(builder.getStringAttr(glob.getText()));
  module->setAttr(excludedTensorsAttrName, builder.getArrayAttr(all));
}

std::vector<std::string> getExcludedTensors(ModuleOp module) {
  std::vector<std::string> texts;
  if (auto list = module->getAttrOfType<ArrayAttr>(excludedTensorsAttrName))
    for (auto text : list.getAsRange<StringAttr>())
      texts.push_back(text.getValue().str());
  return texts;
}

LogicalResult ignoreTensors(ModuleOp module, ArrayRef<std::string> patterns) {
  auto excluded =
      TensorPatterns::parse(module.getContext(), "--ignore", patterns);
  if (failed(excluded))
    return failure();
  llvm::StringSet<> names;
  module.walk([&](Operation *op) {
    for (const NameRange &range : getAllNames(op))
      for (int64_t i = range.first; i < range.first + range.count; ++i)
        for (const std::string &name :
             getTensorNames(instantiate(range.pattern, i),
                            getCheckpointType(op).getShape()))
          names.insert(name);
  });
  if (failed(checkMatches(module.getLoc(), *excluded, names,
                          /*hasWeights=*/false)))
    return failure();
  noteExcluded(module, *excluded);
  return success();
}

} // namespace tp
