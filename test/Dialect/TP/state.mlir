// What a state may say of its initial value, and back.
// RUN: tp-opt %s | tp-opt | FileCheck %s

// CHECK: tp.state @layers : tensor<4x3x2xf32> parameter "h.{i}.w" from 2 source <shape = [2, 5], offsets = [0, 1], permutation = [1, 0]> alternatives ["g.{i}.w"] sharding <@mesh, [{}, {"tp"}, {}]>
// CHECK: tp.state @addends : tensor<3xf32> parameter "b" sharding <@mesh, [{}], partial sum {"tp"}>
// CHECK: tp.state @largest : tensor<3xf32> ones sharding <@mesh, [{}], partial max {"tp"}>
tp.mesh @mesh <["tp"=2]>
tp.state @layers : tensor<4x3x2xf32> parameter "h.{i}.w" from 2 source <shape = [2, 5], offsets = [0, 1], permutation = [1, 0]> alternatives ["g.{i}.w"] sharding <@mesh, [{}, {"tp"}, {}]>
tp.state @addends : tensor<3xf32> parameter "b" sharding <@mesh, [{}], partial sum {"tp"}>
tp.state @largest : tensor<3xf32> ones sharding <@mesh, [{}], partial max {"tp"}>
