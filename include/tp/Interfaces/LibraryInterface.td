//===- LibraryInterface.td - What a library computes -------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an operation says of itself so that schedule and lower can leave it to a
// function of the runtime (tprt/abi.h) or to a kernel written for it alone.
// Passes ask for this interface, never for a kind of operation: docs/Adding.md
// says what a new one has to give.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_LIBRARYINTERFACE_TD
#define TP_INTERFACES_LIBRARYINTERFACE_TD

include "mlir/IR/OpBase.td"

def TP_LibraryOpInterface : OpInterface<"LibraryOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    An operation on tensors in memory that one function of the runtime computes:
    a GEMM, an attention. Schedule gives its operands and results places, lower
    calls the function with their addresses, and the manifest describes what
    the call does not say and the runtime wants to know before.
  }];
  let methods = [
    InterfaceMethod<[{
        The call: a function of tprt/abi.h (`tp/Interfaces/LibraryCalls.h` has
        one of each name) and its arguments behind `id`. Addresses are operands
        (the packed one as OpOperand) and results of the operation, or null.
      }], "::tp::LibraryCall", "getLibraryCall",
      (ins "const ::tp::LibraryUse &":$use)>,
    InterfaceMethod<[{
        What the manifest says of the operation, exactly where the function has
        an `id`; a function whose arguments say all needs no description. `use`
        is how the program has the operation: with what epilogue, and whether
        its packed operand is a parameter.
      }], "::std::optional<::tp::LibraryDescription>", "getLibraryDescription",
      (ins "const ::tp::LibraryUse &":$use), [{}], [{
        return ::std::nullopt;
      }]>,
    InterfaceMethod<[{
        Refuse, after emitting an error, what the function cannot do. The
        default refuses nothing.
      }], "::llvm::LogicalResult", "verifyLibraryForm",
      (ins), [{}], [{ return ::mlir::success(); }]>,
    InterfaceMethod<[{
        What schedule may join to the operation for the function to compute on
        its way out, of what the target knows. With an answer, even an empty
        one, the operation is outlined into a function with what joined it;
        without, it stays in the step.
      }], "::std::optional<::tp::EpilogueSet>", "getEpilogues",
      (ins "const ::tp::EpilogueSet &":$known), [{}], [{
        return ::std::nullopt;
      }]>,
    InterfaceMethod<[{
        The operand that the runtime packs for the function when it is a
        parameter (its address is then a handle); null if none is.
      }], "::mlir::OpOperand *", "getPackedOperand", (ins), [{}], [{
        return nullptr;
      }]>,
    InterfaceMethod<[{
        The operand that `result` may replace in its own memory, though the
        operation reads it: the successor of a state that is updated in part.
        Null if there is none.
      }], "::mlir::OpOperand *", "getReplacedOperand",
      (ins "unsigned":$result), [{}], [{ return nullptr; }]>,
    InterfaceMethod<[{
        How one call computes this operation and others of its kind that read
        the same operand: a function that is given how many they are, and the
        arguments of `getLibraryCall` of each, id first, eight bytes each.
        Nothing if each is a call of its own.
      }], "::std::optional<::tp::JoinedForm>", "getJoinedForm", (ins), [{}], [{
        return ::std::nullopt;
      }]>,
    InterfaceMethod<[{
        Multiplications and additions per element of the iteration space of its
        sharding rule (`isIterated`); 0 for what moves data alone.
      }], "double", "getFlopsPerPoint", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<[{
        The part of an operand, up to 1, that a call is expected to read where
        that depends on values: of the matrices of experts, those of the ones
        that some row uses.
      }], "double", "getReadPart", (ins "::mlir::OpOperand &":$operand), [{}],
      [{ return 1; }]>
  ];
}

def TP_ActivationOpInterface : OpInterface<"ActivationOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    An operation that a library may compute on the result of another before it
    writes it.
  }];
  let methods = [
    InterfaceMethod<"Its name in the manifest, and in an EpilogueSet",
      "::llvm::StringRef", "getActivation">
  ];
}

#endif // TP_INTERFACES_LIBRARYINTERFACE_TD
