//===- TPDialect.td - The parallelism dialect -------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect of parallelism: meshes, shardings, collectives and the repeated
// layer. It knows no transformer; the compute vocabulary is the nn dialect.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_TPDIALECT_TD
#define TP_DIALECT_TP_IR_TPDIALECT_TD

include "mlir/IR/OpBase.td"

def TP_Dialect : Dialect {
  let name = "tp";
  let cppNamespace = "::tp";
  let summary = "Parallelism: meshes, shardings, collectives, repeated layers";
  let description = [{
    The `tp` dialect says how tensors are spread over a mesh of ranks and which
    collectives move them. A sharding is an attribute per argument and result
    (`tp.sharding` on function arguments and results, `tp.shardings`, one entry
    per result, on operations), never an encoding of the tensor's type, which
    upstream patterns drop silently. Before partition all types are global;
    after it all types are local and every collective carries the shardings it
    leads from and to, and its entry in the ledger.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  // Patterns on upstream operations (UpstreamFolds.cpp).
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Discardable attribute on function arguments and results: ShardingAttr.
    static constexpr ::llvm::StringLiteral getShardingAttrName() {
      return "tp.sharding";
    }
    /// Discardable attribute on operations: an ArrayAttr of ShardingAttr, one
    /// per result (a UnitAttr stands for a result that is not a tensor).
    static constexpr ::llvm::StringLiteral getShardingsAttrName() {
      return "tp.shardings";
    }
    /// Discardable attribute on function arguments and results: the name users
    /// give the tensor by (`input_ids`, `logits`), a StringAttr.
    static constexpr ::llvm::StringLiteral getNameAttrName() {
      return "tp.name";
    }
    /// Discardable attribute on function arguments and results: the tp.state
    /// that it is the value or the successor of, a FlatSymbolRefAttr.
    static constexpr ::llvm::StringLiteral getStateAttrName() {
      return "tp.state";
    }
    /// Discardable attribute on function results: the loss, which the function
    /// is differentiated of, a UnitAttr.
    static constexpr ::llvm::StringLiteral getLossAttrName() {
      return "tp.loss";
    }
    /// Discardable attribute on function results: the parameter that it is the
    /// gradient of, a GradientAttr.
    static constexpr ::llvm::StringLiteral getGradientAttrName() {
      return "tp.gradient";
    }
    /// Discardable attribute on modules, a DictionaryAttr: the training step
    /// asked for, `optimizer` ("adamw" or "sgd"), `clip` and `momentum` (absent:
    /// none), and, when differentiate has made it, also `weights`, `loss_sum`
    /// and `tokens`, as the manifest's `training` says them, by symbols of
    /// states.
    static constexpr ::llvm::StringLiteral getTrainingAttrName() {
      return "tp.training";
    }
    /// Discardable attribute on functions and on tp.repeat: the communication
    /// allowed in it, a CommBudgetAttr.
    static constexpr ::llvm::StringLiteral getCommBudgetAttrName() {
      return "tp.comm_budget";
    }
    /// Discardable attribute on arguments and results of a per-rank function and
    /// on tp.parameter in it: the type before partition, a TypeAttr.
    static constexpr ::llvm::StringLiteral getGlobalTypeAttrName() {
      return "tp.global_type";
    }
    /// Discardable attribute on per-rank operations: the rule on global types,
    /// a RuleAttr.
    static constexpr ::llvm::StringLiteral getRuleAttrName() {
      return "tp.rule";
    }
    void registerAttributes();
  }];
}

#endif // TP_DIALECT_TP_IR_TPDIALECT_TD
