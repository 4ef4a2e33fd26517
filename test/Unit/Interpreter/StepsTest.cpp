//===- StepsTest.cpp - Every row of the reshard table ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks tprt/collectives.h: the planner must find a use for every row, and each
// step of its plans must be an operation that prints and parses, passes the
// checks of partitioned programs, does in the interpreter what the simulator
// says, has the ledger's figures if it communicates, and leaves schedule's
// linalg if it does not. A row that one of them lacks fails here.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include "../Sharding/Simulate.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Partition/Derive.h"
#include "tp/Partition/Steps.h"
#include "tp/Schedule/Passes.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {

using Buffers = RankBuffers<double>;

/// A program of one step, @main from the local tensor to the local tensor.
OwningOpRef<ModuleOp> makeProgram(llvm::ArrayRef<int64_t> shape,
                                  const TensorSharding &from,
                                  const ReshardStep &step, const Mesh &mesh) {
  MLIRContext *context = &interp::getContext();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  llvm::SmallVector<MeshAxisAttr> axes;
  for (const Mesh::Axis &axis : mesh.getAxes())
    axes.push_back(MeshAxisAttr::get(context, builder.getStringAttr(axis.name),
                                     axis.size));
  MeshOp::create(builder, loc, builder.getStringAttr("mesh"),
                 MeshAttr::get(context, axes, {}));
  auto type = [&](const TensorSharding &sharding) {
    return RankedTensorType::get(getLocalShape(shape, sharding),
                                 builder.getF32Type());
  };
  auto function = func::FuncOp::create(
      builder, loc, "main",
      builder.getFunctionType({type(from)}, {type(step.result)}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  StringAttr text = builder.getStringAttr("test");
  Value result = buildStep(builder, loc, function.getArgument(0), shape, from,
                           step, mesh, FlatSymbolRefAttr::get(context, "mesh"),
                           LedgerAttr::get(context, 0, text, text, text));
  func::ReturnOp::create(builder, loc, result);
  return module;
}

class Walker {
public:
  Walker(llvm::ArrayRef<int64_t> shape, const Mesh &mesh, int64_t *count)
      : shape(shape), mesh(mesh), count(count) {}

  void checkPlan(const TensorSharding &from, const TensorSharding &to) {
    TensorSharding before = from;
    for (const ReshardStep &step : planReshard(shape, from, to, mesh).steps) {
      SCOPED_TRACE(std::string(step.getRow().id) + " from " +
                   toString(before, mesh) + " to " +
                   toString(step.result, mesh));
      ++count[size_t(step.kind)];
      checkStep(before, step);
      before = step.result;
    }
  }

private:
  void checkStep(const TensorSharding &from, const ReshardStep &step) {
    OwningOpRef<ModuleOp> module = makeProgram(shape, from, step, mesh);
    ASSERT_TRUE(succeeded(mlir::verify(*module)));
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    checkValues(from, step, text);
    module->walk([&](ReshardStepOpInterface op) {
      EXPECT_EQ(op.getRow().kind, step.kind);
      EXPECT_EQ(tp::checkStep(op, shape, from, step.result, mesh), "");
      auto collective = dyn_cast<CollectiveOpInterface>(op.getOperation());
      EXPECT_EQ(bool(collective), !step.getRow().isLocal());
      if (collective) {
        // Ranks send as much as others receive, but for rounding to pieces.
        int64_t bytes = 4 * getElementsReceived(shape, from, step, mesh);
        EXPECT_LE(getTraffic(collective, mesh), bytes);
        EXPECT_GT(getTraffic(collective, mesh), 0);
      }
    });
    if (step.getRow().isLocal())
      checkLowering(*module);
  }

  /// `text` on numbers in which padding shows, against the simulator.
  void checkValues(const TensorSharding &from, const ReshardStep &step,
                   const std::string &text) {
    int64_t elements = 1;
    for (int64_t size : shape)
      elements *= size;
    std::vector<double> global(elements);
    for (auto [i, value] : llvm::enumerate(global))
      value = double(i + 1);
    Buffers buffers = distribute<double>(global, shape, from, mesh);
    Buffers expected = applyStep(buffers, shape, from, step, mesh);
    RankTensors input;
    for (const std::vector<double> &values : buffers)
      input.push_back(makeTensor(getLocalShape(shape, from), values));
    InterpreterOptions options;
    options.numRanks = mesh.getNumRanks();
    auto results = runRanks(text, {input}, options);
    ASSERT_TRUE(succeeded(results));
    for (auto [rank, values] : llvm::enumerate(expected))
      EXPECT_EQ(getNumbers((*results)[0][rank]), values) << "rank " << rank;
  }

  void checkLowering(ModuleOp module) {
    PassManager passes(module.getContext());
    passes.addNestedPass<func::FuncOp>(createLowerToLinalg());
    ASSERT_TRUE(succeeded(passes.run(module)));
    module.walk([](ReshardStepOpInterface op) {
      ADD_FAILURE() << "tp-lower-to-linalg leaves a local step: "
                    << op->getName().getStringRef().str();
    });
  }

  llvm::SmallVector<int64_t> shape;
  const Mesh &mesh;
  /// The count of steps, by kind.
  int64_t *count;
};

} // namespace

/// Shardings of a matrix over two axes, sums and maxima.
static std::vector<TensorSharding> listShardings(llvm::ArrayRef<int64_t> shape,
                                                 const Mesh &mesh) {
  AxisRef x = mesh.getWhole(0), y = mesh.getWhole(1);
  TensorSharding whole = TensorSharding::replicated(2);
  std::vector<TensorSharding> shardings;
  for (const AxisList &first :
       {AxisList{}, AxisList{x}, AxisList{y}, AxisList{x, y}, AxisList{y, x}})
    for (const AxisList &second : {AxisList{}, AxisList{x}, AxisList{y}})
      for (const AxisList &partial : {AxisList{}, AxisList{x}, AxisList{y}})
        for (ReductionKind reduction :
             {ReductionKind::Sum, ReductionKind::Max}) {
          TensorSharding sharding = whole;
          sharding.dims[0].axes = first;
          sharding.dims[1].axes = second;
          sharding.partial = partial;
          sharding.reduction = reduction;
          if (verifySharding(shape, sharding, mesh).empty() &&
              !(partial.empty() && reduction != ReductionKind::Sum))
            shardings.push_back(sharding);
        }
  return shardings;
}

TEST(Steps, EveryRowIsWhatTheTableSays) {
  Mesh mesh({{"x", 2}, {"y", 3}});
  int64_t count[numCollectiveKinds] = {};
  using Shape = std::array<int64_t, 2>;
  for (Shape shape : {Shape{5, 6}, Shape{3, 5}}) {
    std::vector<TensorSharding> shardings = listShardings(shape, mesh);
    Walker walker(shape, mesh, count);
    for (const TensorSharding &from : shardings)
      for (const TensorSharding &to : shardings)
        walker.checkPlan(from, to);
  }
  for (const CollectiveRow &row : collectiveRows)
    EXPECT_GT(count[size_t(row.kind)], 0)
        << "no plan has a step of row " << row.id;
}
