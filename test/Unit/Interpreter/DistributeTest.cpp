//===- DistributeTest.cpp - Global tensors to ranks and back --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The box copies of the interpreter against the element-by-element definition
// of the algebra's simulator, uneven sizes, sub-axes, partial sums and another
// device order included; and a per-rank program that reads its parameter.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include "../Sharding/Simulate.h"
#include "tp/Interpreter/Distribute.h"

using namespace tp;
using namespace tp::interp;

static void check(llvm::ArrayRef<int64_t> shape, const TensorSharding &sharding,
                  const Mesh &mesh) {
  Tensor global = makeRandom(shape, 3);
  std::vector<double> numbers = getNumbers(global);
  RankBuffers<double> expected = tp::distribute<double>(
      llvm::ArrayRef<double>(numbers), shape, sharding, mesh);
  RankTensors locals = interp::distribute(global, sharding, mesh);
  ASSERT_EQ(locals.size(), expected.size());
  for (size_t rank = 0; rank < locals.size(); ++rank)
    EXPECT_EQ(getNumbers(locals[rank]), expected[rank])
        << toString(sharding, mesh) << " rank " << rank;
  EXPECT_EQ(getNumbers(interp::assemble(locals, shape, sharding, mesh)),
            numbers);
}

TEST(Distribute, AgreesWithTheSimulator) {
  Mesh mesh({{"x", 2}, {"y", 4}});
  Mesh ordered({{"x", 2}, {"y", 4}}, {0, 2, 4, 6, 1, 3, 5, 7});
  AxisRef x = mesh.getWhole(0), y = mesh.getWhole(1);
  AxisRef major{1, 1, 2}, minor{1, 2, 2};
  for (const Mesh &m : {mesh, ordered}) {
    auto make = [&](AxisList first, AxisList second, AxisList partial,
                    int64_t grain = 1) {
      TensorSharding sharding = TensorSharding::replicated(2);
      sharding.dims[0].axes = first;
      sharding.dims[1].axes = second;
      sharding.dims[1].grain = grain;
      sharding.partial = partial;
      return sharding;
    };
    check({6, 7}, make({}, {}, {}), m);
    check({6, 7}, make({x}, {y}, {}), m);
    check({5, 9}, make({y}, {x}, {}), m);
    check({3, 9}, make({major}, {x, minor}, {}), m);
    check({3, 9}, make({}, {y}, {x}), m);
    check({4, 18}, make({x}, {minor}, {major}, 6), m);
  }
}

TEST(Distribute, LocalParametersArePartsOfTheWhole) {
  const char *text = R"(
    tp.mesh @mesh <["tp"=2]>
    func.func @main() -> tensor<2x4xf32> {
      %w = tp.parameter "w.weight" {tp.global_type = tensor<3x4xf32>,
          tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<2x4xf32>
      return %w : tensor<2x4xf32>
    })";
  RandomParameters parameters(9);
  InterpreterOptions options;
  options.numRanks = 2;
  options.parameters = &parameters;
  auto results = runRanks(text, {}, options);
  ASSERT_TRUE(mlir::succeeded(results));
  ParameterRequest request;
  request.name = "w.weight";
  request.shape = {3, 4};
  request.type = kF32;
  auto whole = parameters.get(request, nullptr);
  const RankTensors &locals = (*results)[0];
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(locals[0].getFloat(i), whole->getFloat(i));
    EXPECT_EQ(locals[1].getFloat(i), i < 4 ? whole->getFloat(8 + i) : 0);
  }
}
