//===- Tables.h - What an artifact lists beside its code --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers by which compiled code and runtime speak of the same GEMM,
// parameter, collective or kernel, and the manifest that says what each number
// means (docs/RuntimeABI.md). Everything is listed in program order, repeated
// layers once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_TABLES_H
#define TP_LIB_CONVERSION_TABLES_H

#include "LibrarySite.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Target/Target.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>

namespace tp {

/// A generated kernel.
struct KernelEntry {
  std::string name;
  Launch launch;         ///< on a device
  int64_t arguments = 0; ///< on a device
  std::string code;      ///< on a device: the symbol of its code
  /// On a device: those that a launch passes behind the call's.
  llvm::SmallVector<int64_t> numbers = {};
  llvm::SmallVector<KernelImage, 0> images = {};
  /// The places of the program that it computes, each once.
  std::vector<std::string> locations = {};
};

struct ParameterEntry {
  ParameterOp op; ///< one of the operations that name it
  int64_t count, first, base;
};

class Tables {
public:
  /// Reads the scheduled program; emits errors on what the runtime cannot do.
  static mlir::FailureOr<Tables> build(mlir::ModuleOp module,
                                       const Target &target);

  llvm::SmallVector<mlir::func::FuncOp> entries;
  llvm::SmallVector<mlir::Operation *> collectives;
  llvm::SmallVector<ParameterEntry> parameters;
  llvm::SmallVector<KernelEntry> kernels;
  /// Raw bytes of dense constants.
  std::string constants;

  /// The operations that a library computes in one call; none where it computes
  /// nothing.
  llvm::ArrayRef<LibrarySite> getSites(mlir::Operation *op) const {
    auto found = sitesOf.find(op);
    return found == sitesOf.end() ? llvm::ArrayRef<LibrarySite>()
                                  : found->second;
  }
  int64_t getCollective(mlir::Operation *op) const { return idOf.lookup(op); }
  /// The collective whose addends `meet` ends the reading of.
  int64_t getMeeting(MeetOp meet) const;
  /// True if the target has kernels in the place of a function.
  bool launches(llvm::StringRef function) const {
    return !target.getKernelPass(function).empty();
  }
  int64_t getKernel(llvm::StringRef name) const {
    return kernelOf.lookup(name);
  }
  /// First slot of a parameter.
  int64_t getSlot(ParameterOp op) const;
  /// Byte offset of a constant in the constants section.
  int64_t getConstantOffset(mlir::Operation *constant) const {
    return constantOf.lookup(constant);
  }

  /// The manifest; `target` is its target object.
  llvm::json::Value getManifest(mlir::ModuleOp module,
                                llvm::json::Object target) const;

private:
  /// Descriptions of what libraries compute, by the manifest's key, and where
  /// those that several calls share are in their list.
  std::map<llvm::StringRef, std::vector<llvm::json::Object>> libraries;
  /// The places of the program that each of them is called for.
  std::map<llvm::StringRef, std::vector<std::vector<std::string>>> placesOf;
  llvm::StringMap<int64_t> sharedOf;
  int64_t libraryScratch = 0;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LibrarySite>> sitesOf;
  llvm::DenseMap<mlir::Operation *, int64_t> idOf, constantOf;
  llvm::StringMap<int64_t> kernelOf;
  llvm::StringMap<size_t> parameterOf;
  int64_t numSlots = 0;
  mlir::ModuleOp module;
  const Target &target;
  TargetTraits traits;

  Tables(mlir::ModuleOp module, const Target &target)
      : module(module), target(target), traits(target.getTraits()) {}

  mlir::LogicalResult addKernel(mlir::Operation *user, llvm::StringRef name);
  mlir::LogicalResult addCall(mlir::func::CallOp call);
  mlir::LogicalResult addLibrary(mlir::Operation *op);
  mlir::LogicalResult addSite(LibrarySite &site);
  int64_t addDescription(LibraryDescription description);
  mlir::LogicalResult addLibraryKernels(mlir::Operation *op,
                                        llvm::StringRef pass);
  void addParameter(mlir::Value value);
  void numberCollectives();
  mlir::LogicalResult addConstant(mlir::Operation *op);
};

/// On the module after lowering: the manifest's text (without the target) and
/// the bytes of the constants section.
inline constexpr llvm::StringLiteral manifestAttrName = "tp.manifest";
inline constexpr llvm::StringLiteral constantsAttrName = "tp.constants";
/// On the module: functions of the entries, in order.
inline constexpr llvm::StringLiteral entriesAttrName = "tp.entries";

/// How often an operation runs in one step.
int64_t getRepetitions(mlir::Operation *op);
/// The axes of a list as the manifest writes them.
llvm::json::Array getAxes(AxisListAttr axes);

} // namespace tp

#endif // TP_LIB_CONVERSION_TABLES_H
