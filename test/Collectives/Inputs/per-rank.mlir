// The program of executed.mlir on one of two ranks, with more collectives than
// it needs: each sum finished on its own, before a negation; gathers twice; a
// gather and a reduction that are cut again.
#rep = #tp.sharding<@mesh, [{}, {}]>
#row = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#neg = #tp.rule<["a" 8, "b" 16], ([0], [1]) multilinear -> ([0], [1])>
#add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["a" 8, "b" 64], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %v: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}, tensor<8x8xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #col}, tensor<8x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #rep}, tensor<4x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #row}) {
  %a = nn.linear %x, %v {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %a1 = tp.all_reduce sum %a over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "of a", annotation = "v", pass = "by hand">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %n = arith.negf %a1 {tp.rule = #neg, tp.shardings = [#rep]} : tensor<8x16xf32>
  %b = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %b1 = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "of b", annotation = "w", pass = "by hand">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s = arith.addf %n, %b1 {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  %c = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %c1 = tp.all_reduce sum %c over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<2, cause = "of c", annotation = "w", pass = "by hand">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %cn = arith.negf %c1 {tp.rule = #neg, tp.shardings = [#rep]} : tensor<8x16xf32>
  %t = tp.slice %cn dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<8x16xf32> -> tensor<8x8xf32>
  %g = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<3, cause = "g", annotation = "x", pass = "by hand">} : tensor<8x32xf32> -> tensor<8x64xf32>
  %h = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<4, cause = "h", annotation = "x", pass = "by hand">} : tensor<8x32xf32> -> tensor<8x64xf32>
  %q = arith.mulf %g, %h {tp.rule = #mul, tp.shardings = [#rep]} : tensor<8x64xf32>
  %k = tp.slice %h dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<8x64xf32> -> tensor<8x32xf32>
  %m = arith.mulf %k, %x {tp.rule = #mul, tp.shardings = [#col]} : tensor<8x32xf32>
  %mg = tp.all_gather %m dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<5, cause = "m", annotation = "x", pass = "by hand">} : tensor<8x32xf32> -> tensor<8x64xf32>
  %mr = tp.slice %mg dim 0 over @mesh ["tp"] {from = #rep, to = #row} : tensor<8x64xf32> -> tensor<4x64xf32>
  return %s, %t, %q, %mr : tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x64xf32>, tensor<4x64xf32>
}
