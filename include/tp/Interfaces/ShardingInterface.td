//===- ShardingInterface.td - Operations that can be sharded -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an operation says of itself so that it can be sharded, decomposed and
// differentiated. Adding an op to the compiler means giving it these.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_SHARDINGINTERFACE_TD
#define TP_INTERFACES_SHARDINGINTERFACE_TD

include "mlir/IR/OpBase.td"

def TP_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    An operation with a sharding rule. Operations of other dialects get theirs
    from `tp::getShardingRule(Operation *)`, which also serves these.
  }];
  let methods = [
    InterfaceMethod<[{
        The rule for the operation's (global) types. Fails, after emitting an
        error on the operation, if the operation cannot be sharded at all.
      }], "::mlir::FailureOr<::tp::ShardingRule>", "getShardingRule", (ins)>,
    InterfaceMethod<[{
        The operation on this rank: `operands` and `resultTypes` are local. The
        default clones the operation with them; operations that read positions
        or name sizes in attributes adjust what changes.
      }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::mlir::TypeRange":$resultTypes, "const ::tp::LocalContext &":$context),
      [{}], [{
        return ::tp::cloneLocal($_op, builder, operands, resultTypes);
      }]>,
    InterfaceMethod<[{
        What the padding of factor `factor` holds in each result, given
        what they hold in each operand (PadState::None where an operand does not
        carry the factor: it holds logical values, of which nothing may be
        assumed, not even that they are finite). The default knows nothing: PadState::Anything.
      }], "::llvm::SmallVector<::tp::PadState>", "getPaddingStates",
      (ins "unsigned":$factor, "::llvm::ArrayRef<::tp::PadState>":$operands),
      [{}], [{
        return ::llvm::SmallVector<::tp::PadState>(
            $_op->getNumResults(), ::tp::PadState::Anything);
      }]>,
    InterfaceMethod<[{
        How one device may compute the positions of `factor` a part at a time
        although the rule has it whole, because ranks may not cut it. Nothing if
        it cannot: the default.
      }], "::std::optional<::tp::PartForm>", "getPartForm", (ins "unsigned":$factor),
      [{}], [{ return ::std::nullopt; }]>
  ];
}

def TP_DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    An operation whose meaning is a program in linalg, tensor, arith and math:
    its definition and its reference.
  }];
  let methods = [
    InterfaceMethod<[{
        Build the decomposition before the operation; returns one value for each
        result. Works on global and on local types alike.
      }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<[{
        Whether the decomposition may have the rows of the first operand cut,
        which the operation itself has whole for the sake of their statistics
        alone. tp-split-norms decides where it stands for the operation.
      }], "bool", "isSplittable", (ins), [{}], [{ return false; }]>
  ];
}

def TP_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::tp";
  let description = "An operation with a vector-Jacobian product.";
  let methods = [
    InterfaceMethod<[{
        Build the gradients of the operands from those of the results (null for
        results without one); returns null for operands without a gradient.
      }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildVjp",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$cotangents)>,
    InterfaceMethod<[{
        How many results beyond the first the operation may have for `buildVjp`
        to read: numbers in f32 of each row of the first operand, of its shape
        without the last dimension. An operation without them has fewer results.
      }], "unsigned", "getNumStatistics", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<[{
        Whether it takes about as long as reading its operands and writing its
        results does, so that its result is rather computed again than kept.
      }], "bool", "isCheap", (ins), [{}], [{ return false; }]>
  ];
}

def TP_IntegerOperandsOpInterface : OpInterface<"IntegerOperandsOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    An operation that reads integers as numbers of something: rows, classes,
    keys. Whoever makes up inputs for a program asks for what it accepts.
  }];
  let methods = [
    InterfaceMethod<"The numbers that `operand` may hold, if any are meant.",
      "::std::optional<::tp::IntegerRange>", "getIntegerRange",
      (ins "::mlir::OpOperand &":$operand)>
  ];
}

#endif // TP_INTERFACES_SHARDINGINTERFACE_TD
