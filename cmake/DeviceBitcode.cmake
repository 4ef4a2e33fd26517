# tp_device_bitcode(INPUT OUTPUT ARCHITECTURE [OPTIONS...]): compiles CUDA C++
# to NVPTX bitcode without a CUDA toolkit. At -O0 functions would be optnone.
# Line tables name the source as it lies in the project, wherever that is.
find_program(TP_CLANG NAMES clang++ clang++-22 HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
if(NOT TP_CLANG)
  find_program(TP_CLANG NAMES clang++-22 REQUIRED)
endif()

function(tp_device_bitcode input output architecture)
  file(RELATIVE_PATH shown ${PROJECT_SOURCE_DIR} ${input})
  add_custom_command(OUTPUT ${output}
    COMMAND ${TP_CLANG} -x cuda --cuda-path=/nonexistent -nocudainc -nocudalib
      --cuda-device-only --cuda-gpu-arch=${architecture}
      -Xclang -target-feature -Xclang +ptx80
      -std=c++20 -ffreestanding -fno-strict-aliasing -ffp-contract=off
      -O1 -gline-tables-only
      -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fdebug-compilation-dir=.
      -Wall -Wextra -Werror ${ARGN}
      -I${PROJECT_SOURCE_DIR}/runtime -I${PROJECT_SOURCE_DIR}/runtime/include
      -I${PROJECT_SOURCE_DIR}/kernels/device
      -MD -MF ${output}.d -emit-llvm -c ${input} -o ${output}
    DEPFILE ${output}.d DEPENDS ${input} VERBATIM
    COMMENT "Compiling ${shown}")
endfunction()
