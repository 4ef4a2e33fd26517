// RUN: tp-opt --tp-explain %s -o %t.same | FileCheck %s
// RUN: tp-opt --tp-explain=json %s -o /dev/null | FileCheck %s --check-prefix=JSON
// RUN: tp-opt %s -o %t.before && diff %t.before %t.same

// Two layers of a padded MLP on two of four ranks, and one gather too many: the
// traffic is above the bound.

#rep = #tp.sharding<@mesh, [{}, {}]>
#rows = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#up = #tp.rule<["s" 8, "n" 15, "k" 16 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#down = #tp.rule<["s" 8, "n" 16, "k" 15 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>

tp.mesh @mesh <["dp"=2, "tp"=2]>

// CHECK: mesh dp=2,tp=2, 4 ranks
// CHECK: {{^}}@main{{$}}
// CHECK-NEXT: id  kind                axis          count       bytes     traffic  type
// CHECK-NEXT: 0  all_gather          tp                1       512 B       256 B  tensor<8x16xf32>
// CHECK-NEXT:   cause: conflict
// CHECK-NEXT:   annotation: x dim 0 on "tp"; at first; placed by tp-insert-reshards
// CHECK-NEXT: 1  all_gather          tp                1       512 B       256 B  tensor<8x16xf32>
// CHECK: {{^}}@main, layers.{i} x 2{{$}}
// CHECK: 2  all_reduce          tp                2       512 B       512 B  tensor<8x16xf32>
// CHECK-NEXT:   cause: partial sum of nn.linear over factor k
// CHECK-NEXT:   annotation: layers.{i}.down.weight dim 1 on "tp"; at layers.{i}.down; placed by tp-insert-reshards
// CHECK: totals of one run     count       bytes     traffic       bound
// CHECK-NEXT: all_gather                2     1.0 KiB       512 B       256 B
// CHECK-NEXT: all_reduce                2     1.0 KiB     1.0 KiB     1.0 KiB
// CHECK-NEXT: all                       4     2.0 KiB     1.5 KiB     1.2 KiB
// The even share of 15 x 16 x 2 x 2 elements of 4 bytes over 4 ranks; half of
// the excess is the other data-parallel half, the rest the padded row.
// CHECK: parameters per rank: 2.0 KiB, even share 960 B of 3.8 KiB (+113.33%: shared by some ranks 960 B, padding 128 B)
// CHECK-NEXT: arithmetic per rank: {{[0-9.]+ k?FLOP}}, even share {{[0-9.]+ k?FLOP}} of {{[0-9.]+ k?FLOP}} (+113.33%

// JSON: "mesh": "dp=2,tp=2",
// JSON-NEXT: "ranks": 4,
// JSON-NEXT: "collectives": [
// JSON: "id": 2,
// JSON-NEXT: "kind": "all_reduce",
// JSON-NEXT: "axis": "tp",
// JSON-NEXT: "type": "tensor<8x16xf32>",
// JSON-NEXT: "count": 2,
// JSON-NEXT: "bytes": 512,
// JSON-NEXT: "traffic": 512,
// JSON-NEXT: "messages": 2,
// JSON-NEXT: "cause": "partial sum of nn.linear over factor k",
// JSON-NEXT: "annotation": "layers.{i}.down.weight dim 1 on \"tp\"",
// JSON-NEXT: "location": "layers.{i}.down",
// JSON-NEXT: "pass": "tp-insert-reshards",
// JSON-NEXT: "function": "main",
// JSON-NEXT: "layer": "layers.{i} x 2"
// JSON: "totals": {
// JSON-NEXT: "all_gather": {
// JSON-NEXT:   "count": 2,
// JSON-NEXT:   "bytes": 1024,
// JSON-NEXT:   "traffic": 512,
// JSON-NEXT:   "bound": 256
// JSON: "traffic": 1536,
// JSON-NEXT: "bound": 1280,
// JSON-NEXT: "parameters": {
// JSON-NEXT:   "per_rank_bytes": 2048,
// JSON-NEXT:   "model_bytes": 3840,
// JSON-NEXT:   "ideal_bytes": 960,
// JSON: "flops": {
// JSON-NEXT:   "per_rank": 8192,
// JSON-NEXT:   "model": 15360,
// JSON-NEXT:   "ideal": 3840,

func.func @main(%x: tensor<4x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rows}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %g = tp.all_gather %x dim 0 over @mesh ["tp"] {from = #rows, to = #rep, ledger = #tp.ledger<0, cause = "conflict", annotation = "x dim 0 on \22tp\22", pass = "tp-insert-reshards">} : tensor<4x16xf32> -> tensor<8x16xf32> loc("first")
  %g2 = tp.all_gather %x dim 0 over @mesh ["tp"] {from = #rows, to = #rep, ledger = #tp.ledger<1, cause = "conflict", annotation = "x dim 0 on \22tp\22", pass = "tp-insert-reshards">} : tensor<4x16xf32> -> tensor<8x16xf32>
  %s = arith.addf %g, %g2 {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  %h = tp.repeat 2 times iter(%s) {tp.shardings = [#rep]} : (tensor<8x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%i: index, %c: tensor<8x16xf32>):
    %w0 = tp.parameter "layers.{i}.up.weight" {tp.global_type = tensor<15x16xf32>, tp.shardings = [#rows]} : tensor<8x16xf32>
    %w1 = tp.parameter "layers.{i}.down.weight" {tp.global_type = tensor<16x15xf32>, tp.shardings = [#col]} : tensor<16x8xf32>
    %u = nn.linear %c, %w0 {tp.rule = #up, tp.shardings = [#col]} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
    %d = nn.linear %u, %w1 {tp.rule = #down, tp.shardings = [#part]} : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<8x16xf32>
    %r = tp.all_reduce sum %d over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<2, cause = "partial sum of nn.linear over factor k", annotation = "layers.{i}.down.weight dim 1 on \22tp\22", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32> loc("layers.{i}.down")
    tp.yield %r : tensor<8x16xf32>
  } loc("layers.{i}")
  return %h : tensor<8x16xf32>
}
