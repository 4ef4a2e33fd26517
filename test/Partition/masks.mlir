// RUN: split-file %s %t
// RUN: tp-opt %t/not.mlir --tp-propagate-pipeline --tp-partition-pipeline | FileCheck %s --check-prefix=NOT
// RUN: tp-opt %t/infinite.mlir --tp-propagate-pipeline --tp-partition-pipeline | FileCheck %s --check-prefix=INFINITE
// RUN: tp-verify %t/not.mlir --stages partition,lower | FileCheck %s --check-prefix=EQUAL
// RUN: tp-verify %t/selected.mlir --stages partition,lower | FileCheck %s --check-prefix=EQUAL
// RUN: tp-verify %t/signed.mlir --stages partition,lower | FileCheck %s --check-prefix=EQUAL
// RUN: tp-verify %t/infinite.mlir --stages partition,lower | FileCheck %s --check-prefix=EQUAL
// RUN: tp-verify %t/mean.mlir --stages partition,lower | FileCheck %s --check-prefix=EQUAL

// The rule of a mask is that of the operation that it is: a sum of two truth
// values is an exclusive or, so that no mask of one is linear.

// EQUAL: partition @main: equal
// EQUAL: lower @main: equal

//--- not.mlir

tp.mesh @mesh <["tp"=4]>
// How many are false: the padding of a `not` is true.
// NOT: #[[MASK:.*]] = #tp.rule<["d0" 3, "d1" 9 indexed], ([0], [1]), ([0], [1]) -> ([0], [1])>
// NOT-LABEL: @main
// NOT: arith.xori
// NOT: linalg.generic {{.*}}tp.rule = #[[MASK]],
// NOT: arith.select %{{.*}}, %{{.*}}, %false
func.func @main(%m: tensor<3x9xi1> {tp.name = "m", tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<3xi64> {tp.name = "o"}) {
  %e0 = tensor.empty() : tensor<3x9xi1>
  %k = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<3x9xi1>) outs(%e0 : tensor<3x9xi1>) {
  ^bb0(%a: i1, %o: i1):
    %t = arith.constant true
    %r = arith.xori %a, %t : i1
    linalg.yield %r : i1
  } -> tensor<3x9xi1>
  %z = arith.constant dense<0> : tensor<3xi64>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%k : tensor<3x9xi1>) outs(%z : tensor<3xi64>) {
  ^bb0(%a: i1, %o: i64):
    %b = arith.extui %a : i1 to i64
    %s = arith.addi %o, %b : i64
    linalg.yield %s : i64
  } -> tensor<3xi64>
  return %n : tensor<3xi64>
}

//--- selected.mlir

tp.mesh @mesh <["tp"=7]>
// A comparison that is true of zeros chooses exponentials.
func.func @main(%x: tensor<10x2xbf16> {tp.name = "x", tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<2xbf16> {tp.name = "o"}) {
  %zero = arith.constant dense<0.0> : tensor<10x2xbf16>
  %k = arith.cmpf ule, %x, %zero : tensor<10x2xbf16>
  %e = math.exp %x : tensor<10x2xbf16>
  %z = arith.constant dense<0.0> : tensor<2xbf16>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%k, %e : tensor<10x2xi1>, tensor<10x2xbf16>) outs(%z : tensor<2xbf16>) {
  ^bb0(%a: i1, %v: bf16, %o: bf16):
    %c = arith.constant 0.0 : bf16
    %b = arith.select %a, %v, %c : bf16
    %s = arith.addf %o, %b : bf16
    linalg.yield %s : bf16
  } -> tensor<2xbf16>
  return %n : tensor<2xbf16>
}

//--- signed.mlir

tp.mesh @mesh <["tp"=3]>
// A true value is -1 where signs count; the largest of them too.
func.func @main(%x: tensor<5xi8> {tp.name = "x", tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) -> (tensor<f32> {tp.name = "sum"}, tensor<i32> {tp.name = "max"}) {
  %zero = arith.constant dense<0> : tensor<5xi8>
  %k = arith.cmpi eq, %x, %zero : tensor<5xi8>
  %z = arith.constant dense<0.0> : tensor<f32>
  %low = arith.constant dense<-9> : tensor<i32>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%k : tensor<5xi1>) outs(%z : tensor<f32>) {
  ^bb0(%a: i1, %o: f32):
    %b = arith.sitofp %a : i1 to f32
    %s = arith.addf %o, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %m = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%k : tensor<5xi1>) outs(%low : tensor<i32>) {
  ^bb0(%a: i1, %o: i32):
    %b = arith.extsi %a : i1 to i32
    %s = arith.maxsi %o, %b : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  return %n, %m : tensor<f32>, tensor<i32>
}

//--- infinite.mlir

tp.mesh @mesh <["tp"=4]>
// The rule of a product hangs on its constant, which a mask leaves as it is.
// INFINITE-DAG: #[[MASK:.*]] = #tp.rule<["d0" 9 indexed], ([0]) multilinear, ([0]) -> ([0])>
// INFINITE-DAG: #[[SUM:.*]] = #tp.rule<["d0" 3, "d1" 9 sum], ([0], [1]), ([1]), ([0]) initial -> ([0])>
// INFINITE-LABEL: @main
// INFINITE: linalg.generic {{.*}}tp.rule = #[[MASK]],
// INFINITE: linalg.generic {{.*}}tp.rule = #[[SUM]],
func.func @main(%x: tensor<3x9xf32> {tp.name = "x", tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<3xf32> {tp.name = "o"}) {
  %z = arith.constant dense<0.0> : tensor<3xf32>
  %c = arith.constant dense<0x7F800000> : tensor<9xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %c : tensor<3x9xf32>, tensor<9xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%a: f32, %v: f32, %o: f32):
    %e = arith.mulf %v, %a : f32
    %s = arith.addf %o, %e : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  return %n : tensor<3xf32>
}

//--- mean.mlir

tp.mesh @mesh <["tp"=2]>
// A count divides a sum, and whether any or all are true follows a reduction
// of truth values, which is made of all of them on each rank.
func.func @main(%x: tensor<7x3xf16> {tp.name = "x", tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<3xf16> {tp.name = "mean"}, tensor<3xi1> {tp.name = "any"}, tensor<3xi1> {tp.name = "all"}) {
  %half = arith.constant dense<-0.5> : tensor<7x3xf16>
  %k = arith.cmpf ogt, %x, %half : tensor<7x3xf16>
  %f = arith.uitofp %k : tensor<7x3xi1> to tensor<7x3xf16>
  %p = arith.mulf %f, %x : tensor<7x3xf16>
  %z = arith.constant dense<0.0> : tensor<3xf16>
  %false = arith.constant dense<false> : tensor<3xi1>
  %true = arith.constant dense<true> : tensor<3xi1>
  %n = linalg.reduce {arith.addf} ins(%f : tensor<7x3xf16>) outs(%z : tensor<3xf16>) dimensions = [0]
  %s = linalg.reduce {arith.addf} ins(%p : tensor<7x3xf16>) outs(%z : tensor<3xf16>) dimensions = [0]
  %any = linalg.reduce {arith.ori} ins(%k : tensor<7x3xi1>) outs(%false : tensor<3xi1>) dimensions = [0]
  %all = linalg.reduce {arith.andi} ins(%k : tensor<7x3xi1>) outs(%true : tensor<3xi1>) dimensions = [0]
  %mean = arith.divf %s, %n : tensor<3xf16>
  return %mean, %any, %all : tensor<3xf16>, tensor<3xi1>, tensor<3xi1>
}
