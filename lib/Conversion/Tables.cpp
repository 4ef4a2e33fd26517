//===- Tables.cpp - What an artifact lists beside its code ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the tables from the scheduled program.
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Schedule/Epilogue.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"

using namespace mlir;
using namespace tp;

std::string tp::getTypeName(Type type) {
  if (type.isF32())
    return "f32";
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "f16";
  if (type.isInteger(32))
    return "i32";
  if (type.isInteger(64))
    return "i64";
  if (type.isInteger(8) || type.isInteger(1))
    return "i8";
  return "";
}

int64_t tp::getRepetitions(Operation *op) {
  int64_t count = 1;
  for (auto repeat = op->getParentOfType<RepeatOp>(); repeat;
       repeat = repeat->getParentOfType<RepeatOp>())
    count *= repeat.getCount();
  return count;
}

static func::FuncOp getCallee(func::CallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
}

LogicalResult tp::checkType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape() &&
      !getTypeName(tensor.getElementType()).empty())
    return success();
  return op->emitOpError("expected tensors of static shape with elements f32, "
                         "bf16, f16, i64, i32, i8 or i1, got ")
         << type;
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

LogicalResult Tables::addKernel(Operation *user, StringRef name) {
  if (!kernelOf.try_emplace(name, kernels.size()).second)
    return success();
  KernelEntry entry{name.str(), {}, 0};
  if (device == Device::Cuda) {
    auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kernelsModuleName);
    auto kernel =
        kernels ? kernels.lookupSymbol<gpu::GPUFuncOp>(name) : gpu::GPUFuncOp();
    std::optional<Launch> launch;
    if (kernel)
      launch = getLaunch(kernel);
    if (!launch)
      return user->emitOpError("expected gpu.func @")
             << name << " in gpu.module @" << kernelsModuleName
             << " with tp.grid and tp.block";
    entry.launch = *launch;
    entry.arguments = kernel.getNumArguments();
  }
  kernels.push_back(entry);
  return success();
}

/// Reads what the body of a GEMM does beside its product, which it returns. The
/// order in which a library does it is fixed.
static FailureOr<nn::LinearOp> readGemm(func::FuncOp callee, Device device,
                                        GemmEntry &entry) {
  nn::LinearOp linear;
  Value value; // computed so far
  enum { Product, Scaled, Activated, Added } step = Product;
  entry.activation = "none";
  entry.scale = 1;
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    if (!linear) {
      linear = dyn_cast<nn::LinearOp>(op);
      if (!linear)
        return op.emitOpError("expected nn.linear first in a GEMM");
      if (!llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>))
        return op.emitOpError("expected to read arguments of its GEMM alone");
      value = linear.getResult();
      continue;
    }
    auto next = Activated;
    auto gelu = dyn_cast<nn::GeluOp>(op);
    if (!llvm::is_contained(op.getOperands(), value))
      return op.emitOpError("expected to read what a GEMM computed before it");
    if (gelu) {
      entry.activation =
          gelu.getKind() == nn::GeluKind::Erf ? "gelu_erf" : "gelu_tanh";
    } else if (isa<nn::SiluOp>(op)) {
      entry.activation = "silu";
    } else if (isRelu(&op, value)) {
      entry.activation = "relu";
    } else if (std::optional<Scale> scale = matchScale(&op, value)) {
      if (device == Device::Cpu || linear.getBias())
        return op.emitOpError("scales a GEMM: expected one ")
               << (device == Device::Cpu ? "of a device" : "without a bias");
      entry.scale = scale->factor;
      next = Scaled;
    } else if (isa<arith::AddFOp>(op) &&
               llvm::any_of(op.getOperands(), llvm::IsaPred<BlockArgument>)) {
      entry.hasResidual = true;
      next = Added;
    } else {
      return op.emitOpError("is not known in a GEMM");
    }
    if (next <= step)
      return op.emitOpError("expected scale, activation and sum of a GEMM in "
                            "this order, each at most once");
    step = next;
    value = op.getResult(0);
  }
  if (!linear)
    return callee.emitOpError("expected nn.linear in a GEMM");
  Operation *end = body.getTerminator();
  if (end->getNumOperands() != 1 || end->getOperand(0) != value)
    return end->emitOpError("expected what a GEMM computes last");
  return linear;
}

LogicalResult Tables::addCall(func::CallOp call) {
  func::FuncOp callee = getCallee(call);
  auto kind =
      callee ? callee->getAttrOfType<StringAttr>(kernelAttrName) : StringAttr();
  if (!kind)
    return call.emitOpError("expected a kernel, got @") << call.getCallee();
  if (kind.getValue() == "rows") {
    if (failed(addKernel(call, call.getCallee())))
      return failure();
    for (Value operand : call.getOperands())
      if (auto parameter =
              getViewedTensor(operand).root.getDefiningOp<ParameterOp>())
        addParameter(parameter, -1);
    return success();
  }
  if (failed(verifyKernel(callee)))
    return failure();
  GemmEntry entry{};
  FailureOr<nn::LinearOp> found = readGemm(callee, device, entry);
  if (failed(found))
    return failure();
  nn::LinearOp linear = *found;
  auto x = cast<RankedTensorType>(linear.getInput().getType());
  auto w = cast<RankedTensorType>(linear.getWeight().getType());
  auto y = cast<RankedTensorType>(linear.getResult().getType());
  entry.n = w.getDimSize(0);
  entry.k = w.getDimSize(1);
  entry.m = x.getNumElements() / entry.k;
  entry.xType = getTypeName(x.getElementType());
  entry.wType = getTypeName(w.getElementType());
  entry.yType = getTypeName(y.getElementType());
  entry.hasBias = linear.getBias() != nullptr;
  entry.biasType =
      entry.hasBias
          ? getTypeName(cast<RankedTensorType>(linear.getBias().getType())
                            .getElementType())
          : "f32";
  auto operandOf = [&](Value value) {
    return call.getOperand(cast<BlockArgument>(value).getArgNumber());
  };
  Value weight = operandOf(linear.getWeight());
  auto parameter = weight.getDefiningOp<ParameterOp>();
  entry.weightIsParameter = parameter != nullptr;
  auto key = [](const GemmEntry &e) {
    return std::tuple(e.n, e.k, e.xType, e.wType, e.yType, e.biasType,
                      e.activation, e.scale, e.hasBias, e.hasResidual,
                      e.weightIsParameter);
  };
  size_t id = 0;
  while (id < gemms.size() && key(gemms[id]) != key(entry))
    ++id;
  if (id == gemms.size())
    gemms.push_back(entry);
  gemms[id].m = std::max(gemms[id].m, entry.m);
  gemmOf[call] = id;
  if (parameter)
    addParameter(parameter, id);
  // The weight, too, may be read as a plain tensor beside its product.
  for (Operation &op : callee.getBody().front().without_terminator())
    for (OpOperand &use : op.getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(use.get());
      bool isWeight =
          parameter && argument && &use == &linear.getWeightMutable();
      if (!argument || isWeight)
        continue;
      if (auto used = getViewedTensor(operandOf(argument))
                          .root.getDefiningOp<ParameterOp>())
        addParameter(used, -1);
    }
  return success();
}

LogicalResult Tables::addAttention(nn::AttentionOp op) {
  if (op.getLse() && !op.getLse().use_empty())
    return op.emitOpError("expected no use of the log-sum-exp: artifacts are "
                          "forward programs alone");
  Type type = op.getQuery().getType();
  for (Value operand : {op.getKey(), op.getValue()})
    if (getElementTypeOrSelf(operand) != getElementTypeOrSelf(type))
      return op.emitOpError("expected query, key and value of one type");
  if (device == Device::Cuda) {
    auto kernel = op->getAttrOfType<FlatSymbolRefAttr>(kernelAttrName);
    if (!kernel)
      return op.emitOpError("expected a kernel: run tp-generate-gpu-attention");
    auto combine = op->getAttrOfType<FlatSymbolRefAttr>(combineAttrName);
    if (failed(addKernel(op, kernel.getValue())) ||
        (combine && failed(addKernel(op, combine.getValue()))))
      return failure();
  }
  idOf[op] = attentions.size();
  attentions.push_back(op);
  return success();
}

/// Identifies a template: what is loaded and how it is kept.
static std::string getKey(ParameterOp op, int64_t gemm) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  NameRange names = getNames(op);
  stream << names.pattern << '|' << op.getSourceAttr() << '|' << op.getType()
         << '|' << op->getAttr(TPDialect::getShardingsAttrName()) << '|'
         << op->getAttr("tp.partial") << '|' << names.count << '|'
         << names.first << '|' << gemm;
  return key;
}

void Tables::addParameter(ParameterOp op, int64_t gemm) {
  auto [found, isNew] =
      parameterOf.try_emplace(getKey(op, gemm), parameters.size());
  if (!isNew)
    return;
  NameRange names = getNames(op);
  parameters.push_back({op, names.count, names.first, numSlots,
                        gemm < 0 ? "plain" : "gemm:" + std::to_string(gemm)});
  numSlots += names.count;
}

int64_t Tables::getSlot(ParameterOp op, int64_t gemm) const {
  return parameters[parameterOf.lookup(getKey(op, gemm))].base;
}

/// Elements as they lie in memory; booleans as bytes.
LogicalResult Tables::addConstant(Operation *op) {
  auto elements =
      dyn_cast<DenseElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  if (!elements)
    return success();
  constants.resize(llvm::alignTo(constants.size(), 64));
  constantOf[op] = constants.size();
  int64_t bytes = getElementBytes(elements.getElementType());
  for (APInt value :
       isa<FloatType>(elements.getElementType())
           ? llvm::map_to_vector(elements.getValues<APFloat>(),
                                 [](APFloat f) { return f.bitcastToAPInt(); })
           : llvm::to_vector(elements.getValues<APInt>()))
    for (int64_t i = 0; i < bytes; ++i)
      constants.push_back(
          char(value.lshr(8 * i).zextOrTrunc(8).getZExtValue()));
  return success();
}

FailureOr<Tables> Tables::build(ModuleOp module, Device device) {
  Tables tables;
  tables.module = module;
  tables.device = device;
  for (auto state : module.getOps<StateOp>())
    if (failed(checkType(state, state.getType())))
      return failure();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(kernelAttrName))
      continue;
    if (function.isExternal())
      return function.emitOpError("expected a body");
    tables.entries.push_back(function);
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                              function.getResultTypes()))
      if (failed(checkType(function, type)))
        return failure();
    WalkResult result = function.walk([&](Operation *op) {
      // What never runs needs nothing.
      if (getRepetitions(op) == 0)
        return WalkResult::advance();
      for (Type type : op->getResultTypes())
        if (isa<TensorType>(type) && failed(checkType(op, type)))
          return WalkResult::interrupt();
      LogicalResult added = success();
      if (auto call = dyn_cast<func::CallOp>(op)) {
        added = tables.addCall(call);
      } else if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
        added = tables.addAttention(attention);
      } else if (isa<CollectiveOpInterface>(op)) {
        tables.idOf[op] = tables.collectives.size();
        tables.collectives.push_back(op);
      } else if (isa<arith::ConstantOp>(op)) {
        bool isRead = llvm::any_of(op->getUsers(), [](Operation *user) {
          return !isa<arith::ConstantOp>(user);
        });
        if (isRead)
          added = tables.addConstant(op);
      }
      // Everything else that reads a parameter reads it as a plain tensor.
      if (isa<nn::AttentionOp, CollectiveOpInterface, RepeatOp>(op))
        for (Value operand : op->getOperands())
          if (auto parameter =
                  getViewedTensor(operand).root.getDefiningOp<ParameterOp>())
            tables.addParameter(parameter, -1);
      return failed(added) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return tables;
}
