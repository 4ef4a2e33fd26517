//===- CollectiveInterface.td - What all collectives share -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that count, merge, price and schedule collectives do so through this
// interface, whatever the kind.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_COLLECTIVEINTERFACE_TD
#define TP_INTERFACES_COLLECTIVEINTERFACE_TD

include "mlir/IR/OpBase.td"

def TP_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::tp";
  let description = "An operation that moves data between ranks.";
  let methods = [
    InterfaceMethod<"The kind as the ledger prints it: all_reduce, ...",
      "::llvm::StringRef", "getCollectiveKind", (ins), [{}], [{
        return $_op->getName().stripDialect();
      }]>,
    InterfaceMethod<"The mesh the groups are of",
      "::mlir::FlatSymbolRefAttr", "getCollectiveMesh", (ins), [{}], [{
        return $_op.getMeshAttr();
      }]>,
    InterfaceMethod<"The axes the groups span",
      "::tp::AxisListAttr", "getCollectiveAxes", (ins), [{}], [{
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

#endif // TP_INTERFACES_COLLECTIVEINTERFACE_TD
