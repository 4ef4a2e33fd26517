// Sequences and batches that the ranks do not divide are padded, as a remark says.
//
// RUN: tp-opt %s --tp-annotate='plan=megatron-sp mesh=dp=2,tp=4' 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: tp-verify %s --mesh dp=2,tp=4 --plan megatron-sp 2>/dev/null | FileCheck %s

// CHECK: partition @main: equal
// REMARK: remark: a batch of 3 over 2 ranks is 2 on each, 1 of 4 padding
// REMARK: remark: a sequence of 6 over 4 ranks is 2 on each, 2 of 8 padding
func.func @main(%ids: tensor<3x6xi64>) -> tensor<3x6x64xf32> {
  %0 = tp.parameter "wte.weight" : tensor<131x64xf32>
  %1 = nn.embedding %ids, %0 : (tensor<3x6xi64>, tensor<131x64xf32>) -> tensor<3x6x64xf32>
  return %1 : tensor<3x6x64xf32>
}
