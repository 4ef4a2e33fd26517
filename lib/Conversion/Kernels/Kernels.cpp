//===- Kernels.cpp - What generators and the step agree on ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Kernels.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Kernels/Kernels.h"

#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Schedule/RowKernels.h"

using namespace mlir;
using namespace tp;

void tp::setKernels(Operation *op, ArrayRef<std::string> names,
                    int64_t scratchBytes) {
  Builder builder(op->getContext());
  SmallVector<Attribute> symbols;
  for (StringRef name : names)
    symbols.push_back(FlatSymbolRefAttr::get(op->getContext(), name));
  op->setAttr(kernelAttrName, symbols.front());
  if (symbols.size() > 1)
    op->setAttr(thenAttrName,
                builder.getArrayAttr(ArrayRef(symbols).drop_front()));
  if (scratchBytes > 0)
    op->setAttr(scratchBytesAttrName, builder.getI64IntegerAttr(scratchBytes));
}

SmallVector<StringRef> tp::getKernels(Operation *op) {
  SmallVector<StringRef> names;
  if (auto first = op->getAttrOfType<FlatSymbolRefAttr>(kernelAttrName))
    names.push_back(first.getValue());
  if (auto then = op->getAttrOfType<ArrayAttr>(thenAttrName))
    for (auto symbol : then.getAsRange<FlatSymbolRefAttr>())
      names.push_back(symbol.getValue());
  return names;
}

/// True if the runtime can hold it.
static bool isHeld(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         !getTypeName(tensor.getElementType()).empty();
}

LogicalResult tp::checkType(Operation *op, Type type) {
  if (isHeld(type))
    return success();
  return op->emitOpError("expected tensors of static shape with elements f32, "
                         "bf16, f16, i64, i32, i8 or i1, got ")
         << type;
}

LogicalResult tp::checkEntryTypes(func::FuncOp entry) {
  auto check = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(types)) {
      if (isHeld(type))
        continue;
      InFlightDiagnostic diag = entry.emitOpError();
      diag << what << " " << index
           << ": expected a tensor of static shape with elements f32, bf16, "
              "f16, i64, i32, i8 or i1, got "
           << type;
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor && !isa<ShapedType>(type))
        return diag << "; a scalar is a tensor of rank 0, such as tensor<f32>";
      if (tensor && !tensor.hasStaticShape())
        return diag << "; a program has one shape: compile one for each length";
      return diag << "; cast inside of the program";
    }
    return success();
  };
  return success(succeeded(check(entry.getArgumentTypes(), "argument")) &&
                 succeeded(check(entry.getResultTypes(), "result")));
}

LogicalResult tp::verifyKernel(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expected a kernel with a body of one block");
  auto check = [&](TypeRange types) {
    return success(llvm::all_of(types, [&](Type type) {
      return !isa<TensorType>(type) || succeeded(checkType(kernel, type));
    }));
  };
  return success(succeeded(check(kernel.getArgumentTypes())) &&
                 succeeded(check(kernel.getResultTypes())));
}
