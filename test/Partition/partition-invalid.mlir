// RUN: tp-opt %s --tp-insert-reshards --tp-partition --split-input-file --verify-diagnostics

tp.mesh @mesh <["tp"=4]>
// expected-error @+1 {{'func.func' op expected one block to partition}}
func.func @blocks() {
  cf.br ^bb1
^bb1:
  return
}
