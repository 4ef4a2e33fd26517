// An accumulator that is cut unevenly, a ring buffer, a counter, and a state of
// three layers; two entries that share them.

#row = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
tp.mesh @mesh <["tp"=2]>
tp.state @total : tensor<13xf32> sharding <@mesh, [{"tp"}]>
tp.state @ring : tensor<7xf32> ones
tp.state @count : tensor<i64>
tp.state @layers : tensor<3x5xf32> sharding <@mesh, [{}, {"tp"}]>

func.func @add(%x: tensor<13xf32> {tp.name = "x", tp.sharding = #tp.sharding<@mesh, [{"tp"}]>},
               %total: tensor<13xf32> {tp.state = @total}, %ring: tensor<7xf32> {tp.state = @ring},
               %count: tensor<i64> {tp.state = @count})
    -> (tensor<13xf32> {tp.state = @total}, tensor<7xf32> {tp.state = @ring}, tensor<i64> {tp.state = @count}) {
  %new = arith.addf %total, %x : tensor<13xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  // What the lanes past the end hold may not count.
  %sum = linalg.reduce { arith.addf } ins(%new : tensor<13xf32>) outs(%init : tensor<f32>) dimensions = [0]
  %next = linalg.generic {indexing_maps = [#row, #none, #none, #row], iterator_types = ["parallel"]}
      ins(%ring, %count, %sum : tensor<7xf32>, tensor<i64>, tensor<f32>) outs(%ring : tensor<7xf32>) {
  ^bb0(%old: f32, %n: i64, %s: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %seven = arith.constant 7 : i64
    %at = arith.remsi %n, %seven : i64
    %here = arith.cmpi eq, %at, %j : i64
    %v = arith.select %here, %s, %old : f32
    linalg.yield %v : f32
  } -> tensor<7xf32>
  %one = arith.constant dense<1> : tensor<i64>
  %counted = arith.addi %count, %one : tensor<i64>
  return %new, %next, %counted : tensor<13xf32>, tensor<7xf32>, tensor<i64>
}

// Reads the old value after its successor in the text; makes lanes that are not zero.
func.func @decay(%total: tensor<13xf32> {tp.state = @total}, %layers: tensor<3x5xf32> {tp.state = @layers},
                 %y: tensor<5xf32> {tp.name = "y"})
    -> (tensor<13xf32> {tp.state = @total}, tensor<3x5xf32> {tp.state = @layers},
        tensor<13xf32> {tp.name = "before"}, tensor<5xf32> {tp.name = "last"}) {
  %half = arith.constant dense<0.5> : tensor<13xf32>
  %c = arith.constant dense<0.25> : tensor<13xf32>
  %less = arith.mulf %total, %half : tensor<13xf32>
  %new = arith.addf %less, %c : tensor<13xf32>
  %0:2 = tp.repeat 3 times iter(%y) stacked(%layers) : (tensor<5xf32>, tensor<3x5xf32>) -> (tensor<5xf32>, tensor<3x5xf32>) {
  ^bb0(%i: index, %carried: tensor<5xf32>, %slice: tensor<5xf32>):
    %h = arith.constant dense<0.5> : tensor<5xf32>
    %kept = arith.mulf %slice, %h : tensor<5xf32>
    %sum = arith.addf %kept, %carried : tensor<5xf32>
    %down = arith.mulf %sum, %h : tensor<5xf32>
    tp.yield %down, %sum : tensor<5xf32>, tensor<5xf32>
  }
  return %new, %0#1, %total, %0#0 : tensor<13xf32>, tensor<3x5xf32>, tensor<13xf32>, tensor<5xf32>
}
