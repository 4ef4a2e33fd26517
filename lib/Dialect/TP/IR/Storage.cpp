//===- Storage.cpp - How checkpoints store quantised tensors --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import, the interpreter and the manifest ask #tp.storage where an element
// lies. The runtime's loader has the same arithmetic
// (runtime/tensors/Packed.h), without LLVM.
//
// Example: a [3, 10] tensor of 4 bits, packed along dimension 1 into I32, is a
// [3, 2] tensor of the file; element (2, 9) is in word 2 * 2 + 1 at bits 4-7.
//
//===----------------------------------------------------------------------===//

#include "Notes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "tprt/filetypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

static int64_t getWordBits(StringRef fileType) {
  for (const tprt::FileTypeRow &row : tprt::kFileTypes)
    if (fileType == row.name)
      return row.bytes * 8;
  return 0;
}

LogicalResult StorageAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringAttr fileType, int64_t bits,
                                  int64_t dim, ArrayRef<int64_t> order,
                                  int64_t offset, ArrayRef<int64_t> repeat) {
  int64_t word = getWordBits(fileType.getValue());
  if (!word)
    return emitError() << "expected an element type of safetensors, got "
                       << fileType;
  bool isPacked = bits != 0;
  if (isPacked && (bits < 1 || bits > word || word % bits != 0 || dim < 0))
    return emitError() << "expected bits that divide the " << word
                       << " of a word of " << fileType
                       << " and a dimension to pack, got bits = " << bits
                       << ", dim = " << dim;
  if (order.empty() || !isPacked) {
    if (!order.empty())
      return emitError() << "expected an order for packed elements only";
  } else {
    SmallVector<int64_t> sorted(order);
    llvm::sort(sorted);
    if (int64_t(order.size()) != word / bits ||
        !llvm::all_of(llvm::enumerate(sorted), [](auto at) {
          return int64_t(at.index()) == at.value();
        }))
      return emitError() << "expected the order to be one of 0.."
                         << word / bits - 1;
  }
  if (llvm::any_of(repeat, [](int64_t count) { return count < 1; }))
    return emitError() << "expected elements to be repeated at least once";
  return success();
}

int64_t StorageAttr::getElementsPerWord() const {
  return getBits() ? getWordBits(getFileType().getValue()) / getBits() : 1;
}

Attribute StorageAttr::parse(AsmParser &parser, Type) {
  std::string type;
  int64_t bits = 0, dim = 0, offset = 0;
  SmallVector<int64_t> order, repeat;
  SMLoc loc = parser.getCurrentLocation();
  auto parseList = [&](SmallVectorImpl<int64_t> &list) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(list.emplace_back());
    });
  };
  if (parser.parseLess() || parser.parseString(&type))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return {};
    ParseResult result =
        key == "bits"     ? parser.parseInteger(bits)
        : key == "dim"    ? parser.parseInteger(dim)
        : key == "offset" ? parser.parseInteger(offset)
        : key == "order"  ? parseList(order)
        : key == "repeat" ? parseList(repeat)
                          : parser.emitError(at, "expected bits, dim, order, "
                                                 "offset or repeat, got ")
                                << key;
    if (result)
      return {};
  }
  if (parser.parseGreater())
    return {};
  return StorageAttr::getChecked(
      [&] { return parser.emitError(loc); }, parser.getContext(),
      StringAttr::get(parser.getContext(), type), bits, dim, ArrayRef(order),
      offset, ArrayRef(repeat));
}

void StorageAttr::print(AsmPrinter &printer) const {
  printer << "<" << getFileType();
  auto printList = [&](StringRef key, ArrayRef<int64_t> list) {
    if (list.empty())
      return;
    printer << ", " << key << " = [";
    llvm::interleaveComma(list, printer);
    printer << "]";
  };
  if (getBits())
    printer << ", bits = " << getBits() << ", dim = " << getDim();
  printList("order", getOrder());
  if (getOffset())
    printer << ", offset = " << getOffset();
  printList("repeat", getRepeat());
  printer << ">";
}

bool StorageAttr::accepts(ArrayRef<int64_t> got,
                          ArrayRef<int64_t> expected) const {
  auto withoutOnes = [](ArrayRef<int64_t> shape) {
    return SmallVector<int64_t>(
        llvm::make_filter_range(shape, [](int64_t size) { return size != 1; }));
  };
  SmallVector<int64_t> found = withoutOnes(got), sizes = withoutOnes(expected);
  if (getBits() && found.size() == sizes.size() + 1 && found.size() > 1) {
    int64_t last = found.pop_back_val();
    found.back() *= last;
  }
  return found == sizes;
}

SmallVector<int64_t>
StorageAttr::getFileShape(ArrayRef<int64_t> unpacked) const {
  SmallVector<int64_t> shape(unpacked);
  for (auto [size, count] : llvm::zip(shape, getRepeat()))
    size = llvm::divideCeil(size, count);
  if (getBits() && getDim() < int64_t(shape.size()))
    shape[getDim()] = llvm::divideCeil(shape[getDim()], getElementsPerWord());
  return shape;
}

std::pair<int64_t, int64_t> StorageAttr::locate(ArrayRef<int64_t> unpacked,
                                                ArrayRef<int64_t> index) const {
  SmallVector<int64_t> shape = getFileShape(unpacked);
  int64_t position = 0, element = 0;
  for (auto [d, i] : llvm::enumerate(index)) {
    int64_t at = d < getRepeat().size() ? i / getRepeat()[d] : i;
    if (getBits() && int64_t(d) == getDim()) {
      element = at % getElementsPerWord();
      at /= getElementsPerWord();
    }
    position = position * shape[d] + at;
  }
  if (!getOrder().empty())
    element = llvm::find(getOrder(), element) - getOrder().begin();
  return {position, element};
}

LogicalResult tp::verifyStorage(Operation *op, StorageAttr storage,
                                RankedTensorType type) {
  if (!storage)
    return success();
  int64_t rank = type.getRank();
  if (storage.getBits() && storage.getDim() >= rank)
    return op->emitOpError() << "expected a packed dimension of " << type
                             << ", got " << storage.getDim();
  if (!storage.getRepeat().empty() &&
      int64_t(storage.getRepeat().size()) != rank)
    return op->emitOpError()
           << "expected " << rank << " counts of repeated elements for " << type
           << ", got " << storage.getRepeat().size();
  return success();
}
