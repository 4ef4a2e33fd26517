//===- BindGpuKernels.cpp - Operations with kernels in CUDA C++ -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each operation of a kernel family its kernels; equal ones share them.
// Their bodies are bound when the kernels are compiled.
//
//===----------------------------------------------------------------------===//

#include "AbiKinds.h"
#include "Families/KernelFamily.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Schedule/RowKernels.h"

namespace tp {
#define GEN_PASS_DEF_BINDGPUKERNELS
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

ArrayRef<KernelFamily> tp::getKernelFamilies() {
#define TP_FAMILY(function, choose)                                            \
  {                                                                            \
    #function, abiKinds[TPRT_SLOT_##function], choose                          \
  }
  static constexpr KernelFamily families[] = {
      TP_FAMILY(cache_write, chooseCacheWrite),
      TP_FAMILY(embedding_backward, chooseEmbeddingBackward),
      TP_FAMILY(quantized_gemm, chooseQuantizedLinear),
      TP_FAMILY(sample_records, chooseSampleRecords),
      TP_FAMILY(sample_pick, chooseSamplePick),
  };
#undef TP_FAMILY
  return families;
}

static const KernelFamily *findFamily(StringRef function) {
  const KernelFamily *found =
      llvm::find_if(getKernelFamilies(), [&](const KernelFamily &family) {
        return family.function == function;
      });
  return found == getKernelFamilies().end() ? nullptr : found;
}

bool tp::hasKernelFamily(StringRef function) { return findFamily(function); }

namespace {
class Binder {
public:
  explicit Binder(ModuleOp module)
      : module(module), builder(module.getContext()) {}
  LogicalResult bind(Operation *op, const KernelFamily &family);

private:
  void declare(Operation *op, const KernelFamily &family,
               const FamilyChoice &choice, StringRef name);
  DictionaryAttr getShape(const FamilyChoice &choice);

  ModuleOp module;
  Builder builder;
  /// The number of each kernel's declaration without its name, per family.
  llvm::StringMap<SmallVector<Attribute>> known;
};
} // namespace

DictionaryAttr Binder::getShape(const FamilyChoice &choice) {
  NamedAttrList shape;
  for (auto [name, value] : choice.shape)
    shape.append(name, builder.getI64IntegerAttr(value));
  for (auto [name, value] : choice.factors)
    shape.append(name, builder.getF32FloatAttr(value));
  return shape.getDictionary(builder.getContext());
}

void Binder::declare(Operation *op, const KernelFamily &family,
                     const FamilyChoice &choice, StringRef name) {
  SmallVector<Type> parameters;
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  for (char kind : family.parameters)
    if (kind != '4') // the id, which kernels are not given
      parameters.push_back(kind == 'p' ? pointer : builder.getI64Type());
  if (choice.scratchBytes)
    parameters.push_back(pointer);
  for (const FamilyKernel &kernel : choice.kernels) {
    Operation *declared =
        declareKernel(getOrCreateKernelsModule(module), op->getLoc(),
                      (name + kernel.suffix).str(), parameters, kernel.launch,
                      {kernel.source, kernel.entry, getShape(choice)});
    for (const KernelImage &image : kernel.images)
      addKernelImage(declared, image);
  }
}

LogicalResult Binder::bind(Operation *op, const KernelFamily &family) {
  FailureOr<FamilyChoice> choice = family.choose(op);
  if (failed(choice))
    return failure();
  SmallVector<Attribute> key{getShape(*choice)};
  for (const FamilyKernel &kernel : choice->kernels) {
    key.push_back(builder.getStringAttr(kernel.entry));
    key.push_back(builder.getDenseI64ArrayAttr(kernel.launch.grid));
  }
  Attribute identity = builder.getArrayAttr(key);
  SmallVector<Attribute> &ones = known[family.function];
  size_t number = llvm::find(ones, identity) - ones.begin();
  std::string name = (family.function + "_" + Twine(number)).str();
  if (number == ones.size()) {
    ones.push_back(identity);
    declare(op, family, *choice, name);
  }
  SmallVector<std::string> names;
  for (const FamilyKernel &kernel : choice->kernels)
    names.push_back(name + kernel.suffix);
  setKernels(op, names, choice->scratchBytes);
  return success();
}

namespace {
struct BindGpuKernelsPass : tp::impl::BindGpuKernelsBase<BindGpuKernelsPass> {
  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())))
      return signalPassFailure();
    Binder binder(getOperation());
    WalkResult result = getOperation().walk([&](LibraryOpInterface op) {
      if (op->hasAttr(kernelAttrName))
        return WalkResult::advance(); // whoever wrote the program has chosen
      const KernelFamily *family = findFamily(op.getLibraryCall({}).name);
      if (family && failed(binder.bind(op, *family)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
