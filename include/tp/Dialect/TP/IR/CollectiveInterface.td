//===- CollectiveInterface.td - What all collectives share -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that count, merge, price, check and schedule reshard steps do so
// through these interfaces, whatever the row: what a row means is in
// tprt/collectives.h, what one operation does in its attributes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_COLLECTIVEINTERFACE_TD
#define TP_DIALECT_TP_IR_COLLECTIVEINTERFACE_TD

include "mlir/IR/OpBase.td"

def TP_ReshardStepOpInterface : OpInterface<"ReshardStepOpInterface"> {
  let cppNamespace = "::tp";
  let description = "An operation that is a row of the reshard table.";
  let methods = [
    InterfaceMethod<"The row of the table",
      "const ::tp::CollectiveRow &", "getRow", (ins), [{}], [{
        return ::tp::rowOf(ConcreteOp::kind);
      }]>,
    InterfaceMethod<"The mesh the groups are of",
      "::mlir::FlatSymbolRefAttr", "getGroupMesh", (ins), [{}], [{
        return $_op.getMeshAttr();
      }]>,
    InterfaceMethod<"The axes the groups span",
      "::tp::AxisListAttr", "getGroupAxes", (ins), [{}], [{
        return $_op.getAxes();
      }]>,
    InterfaceMethod<"Sharding of the global value before; may be null",
      "::tp::ShardingAttr", "getFromSharding", (ins), [{}], [{
        return $_op.getFromAttr();
      }]>,
    InterfaceMethod<"Sharding of the global value after; may be null",
      "::tp::ShardingAttr", "getToSharding", (ins), [{}], [{
        return $_op.getToAttr();
      }]>,
    InterfaceMethod<"The name of the reduction; null if the row has none",
      "::mlir::StringAttr", "getReductionName", (ins), [{}], [{
        if constexpr (::tp::rowOf(ConcreteOp::kind).reduces())
          return $_op.getReductionAttr();
        else
          return {};
      }]>,
    InterfaceMethod<"The dimension whose parts are put together; -1: none",
      "int64_t", "getGatheredDim", (ins), [{}], [{
        constexpr auto &row = ::tp::rowOf(ConcreteOp::kind);
        if constexpr (row.gathers() && row.cuts())
          return $_op.getGatherDim();
        else if constexpr (row.gathers())
          return $_op.getDim();
        else
          return -1;
      }]>,
    InterfaceMethod<"The dimension of which each rank gets a part; -1: none",
      "int64_t", "getCutDim", (ins), [{}], [{
        constexpr auto &row = ::tp::rowOf(ConcreteOp::kind);
        if constexpr (row.gathers() && row.cuts())
          return $_op.getSplitDim();
        else if constexpr (row.cuts())
          return $_op.getDim();
        else
          return -1;
      }]>,
    InterfaceMethod<"Source and target ranks, one after the other; null if the "
                    "row has none",
      "::mlir::DenseIntElementsAttr", "getRankPairs", (ins), [{}], [{
        if constexpr (::tp::rowOf(ConcreteOp::kind).permutes())
          return $_op.getPairs();
        else
          return {};
      }]>
  ];
  let verify = "return ::tp::detail::verifyStep($_op);";
}

def TP_CollectiveOpInterface
    : OpInterface<"CollectiveOpInterface", [TP_ReshardStepOpInterface]> {
  let cppNamespace = "::tp";
  let description = "A reshard step that moves data between ranks.";
  let methods = [
    InterfaceMethod<"Entry in the ledger; may be null",
      "::tp::LedgerAttr", "getLedgerEntry", (ins), [{}], [{
        return $_op.getLedgerAttr();
      }]>,
    InterfaceMethod<"Set the entry in the ledger",
      "void", "setLedgerEntry", (ins "::tp::LedgerAttr":$entry), [{}], [{
        $_op.setLedgerAttr(entry);
      }]>
  ];
}

#endif // TP_DIALECT_TP_IR_COLLECTIVEINTERFACE_TD
