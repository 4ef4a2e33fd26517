// RUN: not tp-opt %s --tp-decompose-nn=keep=nn.lineal 2>&1 | FileCheck %s
// CHECK: error: tp-decompose-nn: expected names of operations with a decomposition in 'keep', got 'nn.lineal'
module {}
