//===- Verify.cpp - What operations of the nn dialect accept
//----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape and type relations between operands and results. A message names the
// operand and gives the shape that the others ask for and the one found.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp::nn;

/// The shape as it is printed in types, in brackets: [1, 8, 64].
static std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(shape, stream);
  stream << ']';
  return text;
}

/// Fails, with a note where the operand that does not fit is made.
static LogicalResult refuse(InFlightDiagnostic diag, Operation *op,
                            StringRef what, Value value) {
  Operation *maker = value.getDefiningOp();
  if (maker && maker != op)
    diag.attachNote(maker->getLoc()) << what << " is made here";
  return diag;
}

LogicalResult tp::nn::expectShape(Operation *op, StringRef what, Value value,
                                  ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> got = typeOf(value).getShape();
  if (got == expected)
    return success();
  return refuse(op->emitOpError()
                    << "expected " << what << " of shape "
                    << formatShape(expected) << ", got " << formatShape(got),
                op, what, value);
}

LogicalResult tp::nn::expectElement(Operation *op, StringRef what, Value value,
                                    Type expected) {
  Type got = typeOf(value).getElementType();
  if (got == expected)
    return success();
  return refuse(op->emitOpError() << "expected " << what << " of element type "
                                  << expected << ", got " << got,
                op, what, value);
}

LogicalResult tp::nn::expect(Operation *op, StringRef what, Value value,
                             ArrayRef<int64_t> shape, Type element) {
  if (failed(expectShape(op, what, value, shape)))
    return failure();
  return expectElement(op, what, value, element);
}

LogicalResult tp::nn::expectRank(Operation *op, StringRef what, Value value,
                                 int64_t expected) {
  if (typeOf(value).getRank() == expected)
    return success();
  return refuse(op->emitOpError()
                    << "expected " << what << " of rank " << expected
                    << ", got rank " << typeOf(value).getRank(),
                op, what, value);
}

LogicalResult tp::nn::expectLastDimension(Operation *op, StringRef what,
                                          Value value) {
  if (typeOf(value).getRank() >= 1)
    return success();
  return refuse(op->emitOpError()
                    << "expected " << what << " of rank 1 or more, got rank 0",
                op, what, value);
}

Type tp::nn::getF32(Operation *op) {
  return Float32Type::get(op->getContext());
}

/// `epsilon` keeps a row of zeros finite.
static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (epsilon.isFinite() && !epsilon.isNegative())
    return success();
  SmallString<16> text;
  epsilon.toString(text);
  return op->emitOpError() << "expected an epsilon of 0 or more, got " << text;
}

LogicalResult RMSNormOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(expectLastDimension(*this, "input", getInput())) ||
      failed(expect(*this, "weight", getWeight(), {input.getShape().back()},
                    input.getElementType())) ||
      failed(expect(*this, "result", getResult(), input.getShape(),
                    input.getElementType())) ||
      failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  if (getRstd())
    return expect(*this, "rstd", getRstd(), input.getShape().drop_back(),
                  getF32(*this));
  return success();
}

LogicalResult LayerNormOp::verify() {
  RankedTensorType input = typeOf(getInput());
  Type element = input.getElementType();
  if (failed(expectLastDimension(*this, "input", getInput())))
    return failure();
  int64_t h = input.getShape().back();
  if (failed(expect(*this, "weight", getWeight(), {h}, element)) ||
      (getBias() && failed(expect(*this, "bias", getBias(), {h}, element))) ||
      failed(expect(*this, "result", getResult(), input.getShape(), element)) ||
      failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  size_t statistics = getStatistics().size();
  if (statistics != 0 && statistics != 2)
    return emitOpError() << "expected no statistics or two (mean and "
                            "reciprocal standard deviation), got "
                         << statistics;
  for (Value value : getStatistics())
    if (failed(expect(*this, "statistics", value, input.getShape().drop_back(),
                      getF32(*this))))
      return failure();
  return success();
}

LogicalResult RotaryTableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getInvFreq().getType());
  if (!type || type.getRank() != 1 || !type.getElementType().isF32())
    return emitOpError()
           << "expected inv_freq of rank 1 and element type f32, got "
           << getInvFreq().getType();
  if (failed(expectRank(*this, "cos", getCos(), 2)))
    return failure();
  SmallVector<int64_t> shape{typeOf(getCos()).getDimSize(0),
                             type.getDimSize(0)};
  if (failed(expect(*this, "cos", getCos(), shape, getF32(*this))))
    return failure();
  if (getPositions()) {
    if (getOffset())
      return emitOpError("expected 'offset' or 'positions', not both");
    if (failed(expectShape(*this, "positions", getPositions(), {shape[0]})))
      return failure();
  }
  return expect(*this, "sin", getSin(), shape, getF32(*this));
}

LogicalResult RotaryOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(expectRank(*this, "input", getInput(), 4)) ||
      failed(expectRank(*this, "cos", getCos(), 2)))
    return failure();
  int64_t r = typeOf(getCos()).getDimSize(1), d = input.getDimSize(3);
  SmallVector<int64_t> table{input.getDimSize(1), r};
  if (failed(expect(*this, "cos", getCos(), table, getF32(*this))) ||
      failed(expect(*this, "sin", getSin(), table, getF32(*this))) ||
      failed(expect(*this, "result", getResult(), input.getShape(),
                    input.getElementType())))
    return failure();
  if (r < 1 || 2 * r > d)
    return emitOpError() << "expected between 1 and " << d / 2
                         << " frequencies for a head size of " << d << ", got "
                         << r;
  return success();
}

LogicalResult tp::nn::expectPaddingRow(Operation *op,
                                       std::optional<int64_t> row, Value ids,
                                       int64_t numRows, Value offset) {
  if (!row)
    return success();
  // A part of a table does not know how many rows the whole one has.
  unsigned width = typeOf(ids).getElementTypeBitWidth();
  if (*row >= 0 && (offset ? llvm::isIntN(width, *row) : *row < numRows))
    return success();
  auto diag = op->emitOpError() << "expected padding_row to be ";
  if (offset)
    diag << "an id from 0 on of " << width << " bits";
  else
    diag << "a row of the table, in [0, " << numRows << ")";
  return diag << ", got " << *row;
}

LogicalResult EmbeddingOp::verify() {
  if (failed(expectRank(*this, "table", getTable(), 2)))
    return failure();
  RankedTensorType table = typeOf(getTable());
  SmallVector<int64_t> shape(typeOf(getIds()).getShape());
  shape.push_back(table.getDimSize(1));
  if (failed(expectPaddingRow(*this, getPaddingRow(), getIds(),
                              table.getDimSize(0), getOffset())))
    return failure();
  return expect(*this, "result", getResult(), shape, table.getElementType());
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(expectLastDimension(*this, "logits", getLogits())))
    return failure();
  ArrayRef<int64_t> rows = typeOf(getLogits()).getShape().drop_back();
  if (failed(expectShape(*this, "labels", getLabels(), rows)) ||
      failed(expect(*this, "loss", getLoss(), rows, getF32(*this))))
    return failure();
  if (getLse())
    return expect(*this, "lse", getLse(), rows, getF32(*this));
  return success();
}

LogicalResult SoftmaxOp::verify() {
  return expectLastDimension(*this, "input", getInput());
}

LogicalResult GeluOp::verify() { return success(); }
LogicalResult SiluOp::verify() { return success(); }

LogicalResult DropoutOp::verify() {
  double probability = getProbability().convertToDouble();
  if (!(probability >= 0.0 && probability < 1.0))
    return emitOpError() << "expected a probability of at least 0 and less "
                            "than 1, got "
                         << probability;
  size_t rank = typeOf(getInput()).getRank();
  if (!getOffsets().empty() && getOffsets().size() != rank)
    return emitOpError() << "expected " << rank
                         << " offsets, one per dimension, got "
                         << getOffsets().size();
  if (getOffsets().empty() != !getGlobalShape())
    return emitOpError("expected 'offsets' and 'global_shape' together");
  if (getGlobalShape() && getGlobalShape()->size() != rank)
    return emitOpError() << "expected global_shape of rank " << rank
                         << ", got rank " << getGlobalShape()->size();
  return success();
}
