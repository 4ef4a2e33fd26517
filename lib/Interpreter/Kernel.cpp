//===- Kernel.cpp - Compile scalar bodies to bytecode ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the body: each operation becomes an instruction or two, each
// value a register. Values from above become captures.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Kernel.h"

#include "Opcode.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tp::interp {

class KernelBuilder {
public:
  explicit KernelBuilder(Kernel &kernel) : kernel(kernel) {}

  LogicalResult addArgument(BlockArgument argument);
  FailureOr<Register> addElementwiseArgument(Value operand);
  LogicalResult addOp(Operation *op);
  void addLoopIndex(Value value, int64_t dim);
  /// The register of a value; captures it if it is from above.
  FailureOr<Register> use(Value value, Operation *user);
  void widen(Value yielded, BlockArgument accumulator);

  DenseMap<Value, Register> registers;
  DenseMap<Value, unsigned> argumentNumbers;

private:
  FailureOr<Register> define(Value value);
  Register newRegister(bool isFloat) {
    return {isFloat, uint16_t(isFloat ? kernel.numFloatRegisters++
                                      : kernel.numIntRegisters++)};
  }
  Register integerConstant(int64_t value) {
    Register reg = newRegister(false);
    kernel.constants.push_back({reg, 0, value});
    return reg;
  }
  Register emitInt(Opcode opcode, Register a, Register b) {
    Register reg = newRegister(false);
    ElementType index{ElementType::Int, 64};
    kernel.instructions.push_back(
        {opcode, index, index, reg.index, a.index, b.index});
    return reg;
  }
  FailureOr<Register> addAffine(AffineExpr expr, ArrayRef<Register> dims,
                                ArrayRef<Register> symbols);
  LogicalResult addConstant(arith::ConstantOp op);
  LogicalResult addExtract(tensor::ExtractOp op);
  LogicalResult addWideMultiply(Operation *op, Opcode high);
  LogicalResult addIf(scf::IfOp op);
  LogicalResult addBranch(Block *branch, scf::IfOp op);
  /// The position of a jump, to where is not known yet.
  size_t addJump(Opcode opcode, Register condition) {
    kernel.hasJumps = true;
    kernel.instructions.push_back({opcode, {}, {}, 0, condition.index});
    return kernel.instructions.size() - 1;
  }
  void endJump(size_t jump) {
    kernel.instructions[jump].immediate = kernel.instructions.size();
  }

  Kernel &kernel;
  /// Position in `instructions` of the one that defines a value.
  DenseMap<Value, unsigned> definitions;
};

/// Operations with one instruction each, whose operands are registers.
static std::optional<Opcode> getOpcode(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Opcode>>(op)
#define FLOAT1(NAME, OP, VALUE) .Case<OP>([](auto) { return Opcode::NAME; })
#define FLOAT2(NAME, OP, VALUE) FLOAT1(NAME, OP, VALUE)
#define INT2(NAME, OP, VALUE) FLOAT1(NAME, OP, VALUE)
#define UNSIGNED2(NAME, OP, VALUE) FLOAT1(NAME, OP, VALUE)
#include "Opcodes.def"
      .Case<math::FmaOp>([](auto) { return Opcode::Fma; })
      .Case<math::FPowIOp>([](auto) { return Opcode::FPowI; })
      .Case<math::AbsIOp>([](auto) { return Opcode::AbsI; })
      .Case<arith::CmpFOp>([](auto) { return Opcode::CmpF; })
      .Case<arith::CmpIOp>([](auto) { return Opcode::CmpI; })
      .Case<arith::SelectOp>([](arith::SelectOp select) {
        auto type = getElementType(select.getType());
        return type && type->isFloat() ? Opcode::SelectF : Opcode::SelectI;
      })
      .Case<arith::SIToFPOp>([](auto) { return Opcode::SIToFP; })
      .Case<arith::UIToFPOp>([](auto) { return Opcode::UIToFP; })
      .Case<arith::FPToSIOp>([](auto) { return Opcode::FPToSI; })
      .Case<arith::FPToUIOp>([](auto) { return Opcode::FPToUI; })
      .Case<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp>(
          [](auto) { return Opcode::SignExtend; })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [](auto) { return Opcode::ZeroExtend; })
      .Case<arith::BitcastOp>([](arith::BitcastOp cast) {
        auto type = getElementType(cast.getType());
        return type && type->isFloat() ? Opcode::BitcastToFloat
                                       : Opcode::BitcastToInt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

bool Kernel::isSupported(Operation *op) { return getOpcode(op).has_value(); }

FailureOr<Register> KernelBuilder::define(Value value) {
  std::optional<ElementType> type = getElementType(value.getType());
  if (!type)
    return failure();
  return registers[value] = newRegister(type->isFloat());
}

LogicalResult KernelBuilder::addArgument(BlockArgument argument) {
  FailureOr<Register> reg = define(argument);
  if (failed(reg))
    return emitError(argument.getLoc())
           << "the interpreter has no element type " << argument.getType();
  argumentNumbers[argument] = kernel.arguments.size();
  kernel.arguments.push_back({*reg, false});
  return success();
}

FailureOr<Register> KernelBuilder::addElementwiseArgument(Value operand) {
  std::optional<ElementType> type = getElementType(operand.getType());
  if (!type)
    return failure();
  Register reg = newRegister(type->isFloat());
  kernel.arguments.push_back({reg, true});
  return reg;
}

static LogicalResult refuseType(Value value, Operation *user) {
  InFlightDiagnostic diag =
      user->emitError() << "the interpreter cannot use a value of type "
                        << value.getType() << " in the body of an operation";
  if (value.getDefiningOp() != user)
    diag.attachNote(value.getLoc()) << "the value is made here";
  return diag;
}

FailureOr<Register> KernelBuilder::use(Value value, Operation *user) {
  if (auto found = argumentNumbers.find(value); found != argumentNumbers.end())
    kernel.arguments[found->second].used = true;
  if (auto found = registers.find(value); found != registers.end())
    return found->second;
  if (isa<ShapedType>(value.getType()) || failed(define(value)))
    return refuseType(value, user);
  Register reg = registers[value];
  kernel.captured.push_back(value);
  kernel.captures.push_back({reg});
  return reg;
}

LogicalResult KernelBuilder::addConstant(arith::ConstantOp op) {
  FailureOr<Register> reg = define(op.getResult());
  if (failed(reg))
    return op.emitError() << "the interpreter has no type " << op.getType();
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    kernel.constants.push_back({*reg, number.getValueAsDouble(), 0});
  else if (auto integer = dyn_cast<IntegerAttr>(op.getValue()))
    kernel.constants.push_back({*reg, 0,
                                wrapTo(*getElementType(op.getType()),
                                       integer.getValue().getSExtValue())});
  else
    return op.emitError() << "the interpreter has no constant of type "
                          << op.getType() << " in the body of an operation";
  return success();
}

/// `value` is the loops' position in dimension `dim`.
void KernelBuilder::addLoopIndex(Value value, int64_t dim) {
  Instruction instruction;
  instruction.opcode = Opcode::LoopIndex;
  instruction.target = define(value)->index;
  instruction.immediate = dim;
  kernel.instructions.push_back(instruction);
}

LogicalResult KernelBuilder::addExtract(tensor::ExtractOp op) {
  // Neither a body nor a program has tensors that the interpreter does not.
  assert(op->getBlock() != op.getTensor().getParentBlock() &&
         "no operation of a body makes a tensor");
  Instruction instruction;
  std::optional<ElementType> type = getElementType(op.getType());
  instruction.opcode = type->isFloat() ? Opcode::ExtractF : Opcode::ExtractI;
  instruction.type = instruction.from = *type;
  // The tensor is captured; `a` is its position among the captured values.
  auto *known = llvm::find(kernel.captured, op.getTensor());
  instruction.a = known - kernel.captured.begin();
  if (known == kernel.captured.end()) {
    kernel.captured.push_back(op.getTensor());
    kernel.captures.push_back({std::nullopt});
  }
  SmallVector<uint16_t> indices;
  for (Value index : op.getIndices()) {
    FailureOr<Register> reg = use(index, op);
    if (failed(reg))
      return failure();
    indices.push_back(reg->index);
  }
  instruction.immediate = kernel.indices.size();
  llvm::append_range(kernel.indices, indices);
  FailureOr<Register> reg = define(op.getResult());
  instruction.target = reg->index;
  kernel.instructions.push_back(instruction);
  return success();
}

FailureOr<Register> KernelBuilder::addAffine(AffineExpr expr,
                                             ArrayRef<Register> dims,
                                             ArrayRef<Register> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return integerConstant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  FailureOr<Register> a = addAffine(binary.getLHS(), dims, symbols);
  FailureOr<Register> b = addAffine(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return emitInt(Opcode::AddI, *a, *b);
  case AffineExprKind::Mul:
    return emitInt(Opcode::MulI, *a, *b);
  case AffineExprKind::FloorDiv:
    return emitInt(Opcode::FloorDivSI, *a, *b);
  case AffineExprKind::CeilDiv:
    return emitInt(Opcode::CeilDivSI, *a, *b);
  default: {
    // x mod y = x - floordiv(x, y) * y.
    Register quotient = emitInt(Opcode::FloorDivSI, *a, *b);
    return emitInt(Opcode::SubI, *a, emitInt(Opcode::MulI, quotient, *b));
  }
  }
}

/// mul{s,u}i_extended: two results, the low and the high half.
LogicalResult KernelBuilder::addWideMultiply(Operation *op, Opcode high) {
  FailureOr<Register> a = use(op->getOperand(0), op);
  FailureOr<Register> b = use(op->getOperand(1), op);
  if (failed(a) || failed(b))
    return failure();
  ElementType type = *getElementType(op->getOperand(0).getType());
  FailureOr<Register> low = define(op->getResult(0));
  FailureOr<Register> top = define(op->getResult(1));
  kernel.instructions.push_back(
      {Opcode::MulI, type, type, low->index, a->index, b->index});
  kernel.instructions.push_back(
      {high, type, type, top->index, a->index, b->index});
  return success();
}

/// One of the two, whatever the other would do.
LogicalResult KernelBuilder::addIf(scf::IfOp op) {
  FailureOr<Register> condition = use(op.getCondition(), op);
  if (failed(condition))
    return failure();
  for (Value result : op.getResults())
    if (isa<ShapedType>(result.getType()) || failed(define(result)))
      return refuseType(result, op);
  size_t toElse = addJump(Opcode::JumpIfZero, *condition);
  if (failed(addBranch(op.thenBlock(), op)))
    return failure();
  size_t toEnd = addJump(Opcode::Jump, {});
  endJump(toElse);
  if (op.elseBlock() && failed(addBranch(op.elseBlock(), op)))
    return failure();
  endJump(toEnd);
  return success();
}

LogicalResult KernelBuilder::addBranch(Block *branch, scf::IfOp op) {
  for (Operation &inner : branch->without_terminator())
    if (failed(addOp(&inner)))
      return failure();
  Operation *yield = branch->getTerminator();
  for (auto [value, result] :
       llvm::zip_equal(yield->getOperands(), op.getResults())) {
    FailureOr<Register> from = use(value, yield);
    if (failed(from))
      return failure();
    ElementType type = *getElementType(result.getType());
    kernel.instructions.push_back(
        {from->isFloat ? Opcode::MoveF : Opcode::MoveI, type, type,
         registers[result].index, from->index});
  }
  return success();
}

LogicalResult KernelBuilder::addOp(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return addConstant(constant);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return addExtract(extract);
  if (auto branches = dyn_cast<scf::IfOp>(op))
    return addIf(branches);
  if (isa<arith::MulUIExtendedOp>(op))
    return addWideMultiply(op, Opcode::MulHighU);
  if (isa<arith::MulSIExtendedOp>(op))
    return addWideMultiply(op, Opcode::MulHighS);
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    addLoopIndex(index, index.getDim());
    return success();
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    SmallVector<Register> operands;
    for (Value operand : apply.getMapOperands()) {
      FailureOr<Register> reg = use(operand, op);
      if (failed(reg))
        return failure();
      operands.push_back(*reg);
    }
    AffineMap map = apply.getAffineMap();
    auto all = ArrayRef<Register>(operands);
    FailureOr<Register> reg =
        addAffine(map.getResult(0), all.take_front(map.getNumDims()),
                  all.drop_front(map.getNumDims()));
    registers[apply.getResult()] = *reg;
    return success();
  }
  std::optional<Opcode> opcode = getOpcode(op);
  if (!opcode)
    return op->emitError() << "the interpreter has no operation '"
                           << op->getName() << "' in the body of an operation";
  std::optional<ElementType> type = getElementType(op->getResult(0).getType());
  std::optional<ElementType> from = getElementType(op->getOperand(0).getType());
  if (!type || !from)
    return op->emitError() << "the interpreter has no element type of "
                           << (type ? op->getOperand(0).getType()
                                    : op->getResult(0).getType());
  Instruction instruction{*opcode, *type, *from};
  uint16_t *slots[] = {&instruction.a, &instruction.b, &instruction.c};
  for (auto [slot, operand] : llvm::zip(slots, op->getOperands())) {
    FailureOr<Register> reg = use(operand, op);
    if (failed(reg))
      return failure();
    *slot = reg->index;
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    instruction.immediate = int64_t(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    instruction.immediate = int64_t(compare.getPredicate());
  FailureOr<Register> reg = define(op->getResult(0));
  instruction.target = reg->index;
  definitions[op->getResult(0)] = kernel.instructions.size();
  kernel.instructions.push_back(instruction);
  return success();
}

/// Each step on the way from the accumulator to what is yielded is computed in
/// double and not rounded; nothing if some step is used elsewhere.
void KernelBuilder::widen(Value yielded, BlockArgument accumulator) {
  SmallVector<unsigned> steps;
  for (Value value = accumulator; value != yielded;) {
    if (!value.hasOneUse() || value.getUsers().begin()->getNumResults() != 1)
      return;
    value = value.getUsers().begin()->getResult(0);
    steps.push_back(definitions[value]);
  }
  if (!yielded.hasOneUse())
    return;
  for (unsigned step : steps)
    kernel.instructions[step].type = {ElementType::F64, 64};
  kernel.accumulators.back() = Kernel::Accumulator::Sum;
}

FailureOr<std::unique_ptr<Kernel>>
Kernel::compile(Block &body, unsigned firstOutput, ArrayRef<bool> wideOutputs) {
  auto kernel = std::make_unique<Kernel>();
  KernelBuilder builder(*kernel);
  for (BlockArgument argument : body.getArguments())
    if (failed(builder.addArgument(argument)))
      return failure();
  for (Operation &op : body.without_terminator())
    if (failed(builder.addOp(&op)))
      return failure();
  Operation *terminator = body.getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    FailureOr<Register> reg = builder.use(value, terminator);
    if (failed(reg))
      return failure();
    kernel->yields.push_back(*reg);
    kernel->accumulators.push_back(Accumulator::Rounded);
    if (wideOutputs[index])
      builder.widen(value, body.getArgument(firstOutput + index));
  }
  return kernel;
}

FailureOr<std::unique_ptr<Kernel>> Kernel::compileIndexed(Block &body) {
  auto kernel = std::make_unique<Kernel>();
  KernelBuilder builder(*kernel);
  for (BlockArgument argument : body.getArguments())
    builder.addLoopIndex(argument, argument.getArgNumber());
  for (Operation &op : body.without_terminator())
    if (failed(builder.addOp(&op)))
      return failure();
  Operation *terminator = body.getTerminator();
  for (Value value : terminator->getOperands()) {
    FailureOr<Register> reg = builder.use(value, terminator);
    if (failed(reg))
      return failure();
    kernel->yields.push_back(*reg);
    kernel->accumulators.push_back(Accumulator::Rounded);
  }
  return kernel;
}

FailureOr<std::unique_ptr<Kernel>> Kernel::compileElementwise(Operation *op) {
  auto kernel = std::make_unique<Kernel>();
  KernelBuilder builder(*kernel);
  for (Value operand : op->getOperands()) {
    FailureOr<Register> reg = builder.addElementwiseArgument(operand);
    if (failed(reg))
      return op->emitError()
             << "the interpreter has no element type of " << operand.getType();
    // A value used twice is two arguments with the same elements.
    builder.registers[operand] = *reg;
  }
  if (failed(builder.addOp(op)))
    return failure();
  for (Value result : op->getResults()) {
    kernel->yields.push_back(builder.registers[result]);
    kernel->accumulators.push_back(Accumulator::Rounded);
  }
  return kernel;
}

} // namespace tp::interp
