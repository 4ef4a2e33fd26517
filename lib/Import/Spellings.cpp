//===- Spellings.cpp - Parameters that checkpoints hold in two forms ------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A projection may be a tensor of its own or a part of a fused one, the
// matrices of experts a tensor each or a stack. The program reads one form;
// what else is in the checkpoint is noted, so that it can be compared.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tp {

bool ModelBuilder::isThere(StringRef name, ArrayRef<int64_t> shape) const {
  return checkpoint.find(
      getTensorNames(instantiate(name, firstIteration), shape).front());
}

bool ModelBuilder::isAnywhere(StringRef name, ArrayRef<int64_t> shape) const {
  return llvm::any_of(
      llvm::seq(firstIteration, firstIteration + numIterations),
      [&](int64_t i) {
        return checkpoint.find(
            getTensorNames(instantiate(name, i), shape).front());
      });
}

void ModelBuilder::noteGroupedPart(StringRef whole, StringRef part,
                                   ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> sizes, int64_t row) {
  SmallVector<int64_t> offsets(shape.size(), 0);
  offsets[1] = row;
  for (const std::string &name : namesOf(part)) {
    if (!isAnywhere(name, sizes))
      continue;
    for (const std::string &fused : namesOf(whole))
      parts.push_back({name, fused, SmallVector<int64_t>(shape), offsets,
                       SmallVector<int64_t>(sizes), readType, firstIteration,
                       numIterations, /*joined=*/2});
  }
}

void ModelBuilder::notePart(const Spelling &read, const Spelling &other,
                            ArrayRef<int64_t> shape) {
  // The part is all of its own tensor, or the tensors of a stack.
  bool isPart = !read.box && !isStack(other.names.front());
  const std::optional<ParameterBox> &box = isPart ? other.box : read.box;
  SmallVector<int64_t> wholeShape(box ? box->shape
                                      : SmallVector<int64_t>(shape));
  SmallVector<int64_t> offsets(box ? box->offsets
                                   : SmallVector<int64_t>(shape.size(), 0));
  for (const std::string &name : other.names) {
    if (!isAnywhere(name, shape))
      continue;
    for (const std::string &own : read.names)
      parts.push_back({isPart ? own : name, isPart ? name : own, wholeShape,
                       offsets, SmallVector<int64_t>(shape), readType,
                       firstIteration, numIterations});
  }
}

Value ModelBuilder::parameter(ArrayRef<Spelling> spellings,
                              ArrayRef<int64_t> shape) {
  const Spelling *read = llvm::find_if(spellings, [&](const Spelling &one) {
    return llvm::any_of(one.names, [&](const std::string &name) {
      return isThere(name, one.box ? one.box->shape : shape);
    });
  });
  if (read == spellings.end())
    read = spellings.begin();
  for (const Spelling &other : spellings)
    if (&other != read)
      notePart(*read, other, shape);
  return parameter(read->names, shape, read->box ? &*read->box : nullptr);
}

Attribute ModelBuilder::describeParts() {
  Builder &b = builder;
  llvm::SetVector<Attribute> list;
  for (const TensorPart &part : parts) {
    Type type = getElementType(b.getContext(), part.type);
    auto sizes = [&](ArrayRef<int64_t> list) {
      return b.getDenseI64ArrayAttr(list);
    };
    SmallVector<NamedAttribute> fields{
        b.getNamedAttr("part", b.getStringAttr(part.part)),
        b.getNamedAttr("whole", b.getStringAttr(part.whole)),
        b.getNamedAttr("shape", sizes(part.shape)),
        b.getNamedAttr("offsets", sizes(part.offsets)),
        b.getNamedAttr("sizes", sizes(part.sizes)),
        b.getNamedAttr("type", TypeAttr::get(type)),
        b.getNamedAttr("first", b.getI64IntegerAttr(part.first)),
        b.getNamedAttr("count", b.getI64IntegerAttr(part.count))};
    if (part.joined > 1)
      fields.push_back(
          b.getNamedAttr("joined", b.getI64IntegerAttr(part.joined)));
    list.insert(b.getDictionaryAttr(fields));
  }
  return list.empty() ? Attribute() : b.getArrayAttr(list.getArrayRef());
}

} // namespace tp
